//! Algebraic identities of single pure ops. Each rule gives a value that is there already, or fewer or plainer ops.

use ir::{Attr, Op, Opcode, Value, ValueId, Width, eval};

use crate::fold::Folder;
use crate::fold::compare::inverse;

impl Folder<'_> {
    /// The value of a pure op: an old one, a constant, or the result of ops that are added.
    pub(super) fn pure(&mut self, code: Opcode, attr: Attr, operands: &[ValueId], width: Width) -> ValueId {
        if let Some(value) = self.evaluated(code, &attr, operands, width) {
            return self.constant(value, width);
        }
        let simpler = match (code, operands) {
            (Opcode::Not | Opcode::Neg, &[a]) => self.complement(code, a, width),
            (Opcode::Select, &[condition, yes, no]) => self.select(condition, yes, no, width),
            (Opcode::ZExt | Opcode::SExt | Opcode::Trunc | Opcode::Extract | Opcode::ByteSwap, &[a]) => {
                self.bits(code, &attr, a, width)
            }
            (Opcode::Concat, &[hi, lo]) => self.concat(hi, lo, width),
            (Opcode::Eq | Opcode::Ne | Opcode::ULt | Opcode::ULe | Opcode::SLt | Opcode::SLe, &[a, b]) => {
                self.compare(code, a, b)
            }
            (_, &[a, b]) => self.binary(code, a, b, width),
            _ => None,
        };
        simpler.unwrap_or_else(|| self.plain(code, attr, operands, width))
    }

    /// Adds the op as it is.
    pub(super) fn plain(&mut self, code: Opcode, attr: Attr, operands: &[ValueId], width: Width) -> ValueId {
        let op = Op { code, attr, operands: operands.to_vec(), results: vec![], regions: vec![], span: self.span };
        self.rebuild.push(self.region, op, &[width])[0]
    }

    pub(super) fn op2(&mut self, code: Opcode, a: ValueId, b: ValueId, width: Width) -> ValueId {
        self.pure(code, Attr::None, &[a, b], width)
    }

    fn evaluated(&self, code: Opcode, attr: &Attr, operands: &[ValueId], width: Width) -> Option<Value> {
        let mut known = [(&Value::ZERO, Width::BOOL); 3];
        for (slot, &operand) in known.iter_mut().zip(operands) {
            *slot = (self.rebuild.constant(operand)?, self.rebuild.width(operand));
        }
        Some(eval::pure(code, attr, &known[..operands.len()], width))
    }

    fn complement(&mut self, code: Opcode, a: ValueId, width: Width) -> Option<ValueId> {
        if code == Opcode::Neg && width == Width::BOOL {
            return Some(a);
        }
        let op = self.rebuild.definition(a)?;
        if op.code == code {
            return Some(op.operands[0]);
        }
        if code == Opcode::Neg {
            return None;
        }
        let &[x, y] = &op.operands[..] else { return None };
        let (inverse, x, y) = inverse((op.code, x, y))?;
        Some(self.op2(inverse, x, y, width))
    }

    fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId, width: Width) -> Option<ValueId> {
        if let Some(known) = self.rebuild.constant(condition) {
            return Some(if known.is_zero() { no } else { yes });
        }
        if yes == no {
            return Some(yes);
        }
        if let Some(&[inner]) = self.operands_of(condition, Opcode::Not) {
            return Some(self.pure(Opcode::Select, Attr::None, &[inner, no, yes], width));
        }
        if let Some(&[inner, inner_yes, _]) = self.operands_of(yes, Opcode::Select)
            && inner == condition
        {
            return Some(self.pure(Opcode::Select, Attr::None, &[condition, inner_yes, no], width));
        }
        if let Some(&[inner, _, inner_no]) = self.operands_of(no, Opcode::Select)
            && inner == condition
        {
            return Some(self.pure(Opcode::Select, Attr::None, &[condition, yes, inner_no], width));
        }
        let yes_known = self.rebuild.constant(yes).and_then(Value::to_u64);
        let no_known = self.rebuild.constant(no).and_then(Value::to_u64);
        match (yes_known, no_known) {
            (Some(1), Some(0)) => Some(self.pure(Opcode::ZExt, Attr::None, &[condition], width)),
            (Some(0), Some(1)) => {
                let inverse = self.not(condition);
                Some(self.pure(Opcode::ZExt, Attr::None, &[inverse], width))
            }
            (Some(a), Some(b)) if a == b && yes_known.is_some() => Some(yes),
            _ if width == Width::BOOL => self.select_bit(condition, (yes, yes_known), (no, no_known)),
            _ => None,
        }
    }

    /// A choice between bits of which one is known.
    fn select_bit(
        &mut self,
        condition: ValueId,
        (yes, yes_known): (ValueId, Option<u64>),
        (no, no_known): (ValueId, Option<u64>),
    ) -> Option<ValueId> {
        let bit = Width::BOOL;
        match (yes_known, no_known) {
            (Some(1), _) => Some(self.op2(Opcode::Or, condition, no, bit)),
            (Some(_), _) => {
                let inverse = self.not(condition);
                Some(self.op2(Opcode::And, inverse, no, bit))
            }
            (_, Some(0)) => Some(self.op2(Opcode::And, condition, yes, bit)),
            (_, Some(_)) => {
                let inverse = self.not(condition);
                Some(self.op2(Opcode::Or, inverse, yes, bit))
            }
            (None, None) if yes == condition => Some(self.op2(Opcode::Or, condition, no, bit)),
            (None, None) if no == condition => Some(self.op2(Opcode::And, condition, yes, bit)),
            (None, None) => None,
        }
    }

    fn binary(&mut self, code: Opcode, a: ValueId, b: ValueId, width: Width) -> Option<ValueId> {
        if is_commutative(code) && self.rebuild.constant(a).is_some() {
            return Some(self.op2(code, b, a, width));
        }
        if a == b
            && let Some(result) = self.of_equals(code, a, width)
        {
            return Some(result);
        }
        if let Some(known) = self.rebuild.constant(b).cloned() {
            return self.with_constant(code, a, b, &known, width);
        }
        let zero_first = self.rebuild.constant(a).is_some_and(Value::is_zero);
        match code {
            Opcode::Sub if zero_first => Some(self.pure(Opcode::Neg, Attr::None, &[b], width)),
            Opcode::Shl | Opcode::LShr | Opcode::AShr if zero_first => Some(a),
            Opcode::Shl | Opcode::LShr | Opcode::AShr => self.shift_by_extended(code, a, b, width),
            _ => None,
        }
    }

    fn of_equals(&mut self, code: Opcode, a: ValueId, width: Width) -> Option<ValueId> {
        match code {
            Opcode::And | Opcode::Or => Some(a),
            Opcode::Sub | Opcode::Xor => Some(self.constant(Value::ZERO, width)),
            _ => None,
        }
    }

    /// The shift amount needs no zeros above it.
    fn shift_by_extended(&mut self, code: Opcode, a: ValueId, b: ValueId, width: Width) -> Option<ValueId> {
        let amount = *self.operands_of(b, Opcode::ZExt)?.first()?;
        Some(self.op2(code, a, amount, width))
    }

    fn with_constant(&mut self, code: Opcode, a: ValueId, b: ValueId, known: &Value, width: Width) -> Option<ValueId> {
        let is_zero = known.is_zero();
        let is_ones = *known == Value::ones(width);
        let is_one = *known == Value::from(1);
        match code {
            Opcode::Add | Opcode::Sub | Opcode::Or | Opcode::Xor if is_zero => Some(a),
            Opcode::Shl | Opcode::LShr | Opcode::AShr if is_zero => Some(a),
            Opcode::Mul | Opcode::And if is_zero => Some(b),
            Opcode::And if is_ones => Some(a),
            Opcode::Or if is_ones => Some(b),
            Opcode::Xor if is_ones => Some(self.not(a)),
            Opcode::Mul | Opcode::UDiv | Opcode::SDiv if is_one => Some(a),
            Opcode::URem if is_one => Some(self.constant(Value::ZERO, width)),
            Opcode::UDiv | Opcode::SDiv if is_zero => Some(self.constant(Value::ones(width), width)),
            Opcode::URem | Opcode::SRem if is_zero => Some(a),
            Opcode::Sub => {
                let negative = self.constant(known.wrapping_neg(width), width);
                Some(self.op2(Opcode::Add, a, negative, width))
            }
            Opcode::Mul | Opcode::UDiv | Opcode::URem => self.by_power_of_two(code, a, known, width),
            Opcode::Shl | Opcode::LShr if *known >= Value::from(u64::from(width.bits())) => {
                Some(self.constant(Value::ZERO, width))
            }
            Opcode::And if self.covers(known, a) => Some(a),
            Opcode::Add | Opcode::And | Opcode::Or | Opcode::Xor => self.reassociated(code, a, known, width),
            _ => None,
        }
    }

    fn by_power_of_two(&mut self, code: Opcode, a: ValueId, known: &Value, width: Width) -> Option<ValueId> {
        let exponent = known.significant_bits() - 1;
        let is_power = (0..exponent).all(|bit| !known.bit(bit));
        if !is_power {
            return None;
        }
        if code == Opcode::URem {
            let mask = self.constant(Value::ones(Width::new(exponent)?), width);
            return Some(self.op2(Opcode::And, a, mask, width));
        }
        let shift = if code == Opcode::Mul { Opcode::Shl } else { Opcode::LShr };
        let amount = self.constant(Value::from(u64::from(exponent)), Width::of(14));
        Some(self.op2(shift, a, amount, width))
    }

    /// `(x op k) op known` is `x op (k op known)`.
    fn reassociated(&mut self, code: Opcode, a: ValueId, known: &Value, width: Width) -> Option<ValueId> {
        let &[x, k] = self.operands_of(a, code)? else { return None };
        let inner = self.rebuild.constant(k)?;
        let both = eval::pure(code, &Attr::None, &[(inner, width), (known, width)], width);
        let both = self.constant(both, width);
        Some(self.op2(code, x, both, width))
    }

    /// Whether a mask keeps every bit that a value can have.
    fn covers(&self, mask: &Value, value: ValueId) -> bool {
        let bits = self.bits_max(value, 4);
        (0..bits).all(|bit| mask.bit(bit))
    }

    /// A bound for the significant bits of a value; looks through `depth` ops.
    pub(super) fn bits_max(&self, value: ValueId, depth: u32) -> u32 {
        let width = self.rebuild.width(value).bits();
        let (Some(op), Some(depth)) = (self.rebuild.definition(value), depth.checked_sub(1)) else { return width };
        let bound = |i: usize| self.bits_max(op.operands[i], depth);
        match op.code {
            Opcode::Const => self.rebuild.constant(value).map_or(width, Value::significant_bits),
            Opcode::ZExt => bound(0),
            Opcode::And => bound(0).min(bound(1)),
            Opcode::Or | Opcode::Xor => bound(0).max(bound(1)),
            Opcode::Select => bound(1).max(bound(2)),
            Opcode::URem => bound(0),
            Opcode::LShr => {
                let amount = self.rebuild.constant(op.operands[1]).and_then(Value::to_u64).unwrap_or(0);
                bound(0).saturating_sub(u32::try_from(amount).unwrap_or(u32::MAX))
            }
            _ => width,
        }
    }
}

fn is_commutative(code: Opcode) -> bool {
    matches!(code, Opcode::Add | Opcode::Mul | Opcode::And | Opcode::Or | Opcode::Xor)
}
