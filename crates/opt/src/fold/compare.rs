//! Identities of comparisons.

use ir::{Attr, Opcode, Value, ValueId, Width, eval};

use crate::fold::Folder;

/// A comparison and what it compares.
pub(super) type Comparison = (Opcode, ValueId, ValueId);

/// The comparison that holds where this one does not; None if it is no comparison.
pub(super) fn inverse((code, a, b): Comparison) -> Option<Comparison> {
    match code {
        Opcode::Eq => Some((Opcode::Ne, a, b)),
        Opcode::Ne => Some((Opcode::Eq, a, b)),
        Opcode::ULt => Some((Opcode::ULe, b, a)),
        Opcode::ULe => Some((Opcode::ULt, b, a)),
        Opcode::SLt => Some((Opcode::SLe, b, a)),
        Opcode::SLe => Some((Opcode::SLt, b, a)),
        _ => None,
    }
}

impl Folder<'_> {
    pub(super) fn compare(&mut self, code: Opcode, a: ValueId, b: ValueId) -> Option<ValueId> {
        if let Some(&known) = self.facts.comparisons.get(&(code, a, b)) {
            return Some(self.bool_constant(known));
        }
        if a == b {
            let holds = matches!(code, Opcode::Eq | Opcode::ULe | Opcode::SLe);
            return Some(self.bool_constant(holds));
        }
        let is_equality = matches!(code, Opcode::Eq | Opcode::Ne);
        if is_equality && self.rebuild.constant(a).is_some() {
            return Some(self.op2(code, b, a, Width::BOOL));
        }
        if let Some(known) = self.rebuild.constant(b).cloned() {
            return self.compare_constant(code, a, &known);
        }
        if let Some(known) = self.rebuild.constant(a).cloned() {
            return self.constant_compare(code, &known, b);
        }
        // Zeros above both sides decide nothing; they also make a signed comparison unsigned.
        let &[x] = self.operands_of(a, Opcode::ZExt)? else { return None };
        let &[y] = self.operands_of(b, Opcode::ZExt)? else { return None };
        let same = self.rebuild.width(x) == self.rebuild.width(y);
        same.then(|| self.op2(unsigned(code), x, y, Width::BOOL))
    }

    /// `a code known`.
    fn compare_constant(&mut self, code: Opcode, a: ValueId, known: &Value) -> Option<ValueId> {
        let width = self.rebuild.width(a);
        if width == Width::BOOL && matches!(code, Opcode::Eq | Opcode::Ne) {
            let same = (code == Opcode::Eq) != known.is_zero();
            return Some(if same { a } else { self.not(a) });
        }
        if let Some(result) = self.compare_choice(code, a, known) {
            return Some(result);
        }
        if let Some(&[x]) = self.operands_of(a, Opcode::ZExt) {
            return self.compare_extended(code, x, known, width);
        }
        let one = *known == Value::from(1);
        match code {
            Opcode::ULt if known.is_zero() => Some(self.bool_constant(false)),
            Opcode::ULe if *known == Value::ones(width) => Some(self.bool_constant(true)),
            Opcode::ULt if one => Some(self.compare_zero(Opcode::Eq, a)),
            Opcode::ULe if known.is_zero() => Some(self.compare_zero(Opcode::Eq, a)),
            Opcode::Eq | Opcode::Ne => self.compare_sum(code, a, known, width),
            _ => None,
        }
    }

    /// `known code b`.
    fn constant_compare(&mut self, code: Opcode, known: &Value, b: ValueId) -> Option<ValueId> {
        let width = self.rebuild.width(b);
        match code {
            Opcode::ULe if known.is_zero() => return Some(self.bool_constant(true)),
            Opcode::ULt if known.is_zero() => return Some(self.compare_zero(Opcode::Ne, b)),
            Opcode::ULt if *known == Value::ones(width) => return Some(self.bool_constant(false)),
            _ => {}
        }
        let &[y] = self.operands_of(b, Opcode::ZExt)? else { return None };
        let narrow = self.rebuild.width(y);
        let is_signed = matches!(code, Opcode::SLt | Opcode::SLe);
        if is_signed && known.is_negative(width) {
            return Some(self.bool_constant(true));
        }
        if !known.fits(narrow) {
            return Some(self.bool_constant(false));
        }
        let known = self.constant(known.clone(), narrow);
        Some(self.op2(unsigned(code), known, y, Width::BOOL))
    }

    fn compare_zero(&mut self, code: Opcode, a: ValueId) -> ValueId {
        let zero = self.constant(Value::ZERO, self.rebuild.width(a));
        self.op2(code, a, zero, Width::BOOL)
    }

    /// `zext(x) code known`: the zeros decide, or play no part.
    fn compare_extended(&mut self, code: Opcode, x: ValueId, known: &Value, width: Width) -> Option<ValueId> {
        let narrow = self.rebuild.width(x);
        let is_signed = matches!(code, Opcode::SLt | Opcode::SLe);
        if is_signed && known.is_negative(width) {
            return Some(self.bool_constant(false));
        }
        if !known.fits(narrow) {
            return Some(self.bool_constant(code != Opcode::Eq));
        }
        let known = self.constant(known.clone(), narrow);
        Some(self.op2(unsigned(code), x, known, Width::BOOL))
    }

    /// `select(c, k1, k2) code known` is `c`, its inverse, or known.
    fn compare_choice(&mut self, code: Opcode, a: ValueId, known: &Value) -> Option<ValueId> {
        let &[condition, yes, no] = self.operands_of(a, Opcode::Select)? else { return None };
        let width = self.rebuild.width(a);
        let holds = |value: ValueId| {
            let value = self.rebuild.constant(value)?;
            Some(!eval::pure(code, &Attr::None, &[(value, width), (known, width)], Width::BOOL).is_zero())
        };
        match (holds(yes)?, holds(no)?) {
            (true, true) => Some(self.bool_constant(true)),
            (true, false) => Some(condition),
            (false, true) => Some(self.not(condition)),
            (false, false) => Some(self.bool_constant(false)),
        }
    }

    /// `x + k == known` is `x == known - k`; the same for exclusive or.
    fn compare_sum(&mut self, code: Opcode, a: ValueId, known: &Value, width: Width) -> Option<ValueId> {
        let op = self.rebuild.definition(a)?;
        let undo = match op.code {
            Opcode::Add => Opcode::Sub,
            Opcode::Xor => Opcode::Xor,
            _ => return None,
        };
        let &[x, k] = &op.operands[..] else { return None };
        let k = self.rebuild.constant(k)?;
        let other = eval::pure(undo, &Attr::None, &[(known, width), (k, width)], width);
        let other = self.constant(other, width);
        Some(self.op2(code, x, other, Width::BOOL))
    }
}

fn unsigned(code: Opcode) -> Opcode {
    match code {
        Opcode::SLt => Opcode::ULt,
        Opcode::SLe => Opcode::ULe,
        other => other,
    }
}
