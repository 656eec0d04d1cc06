//! Adds ops to a body while folding what is known at compile time.
//!
//! [`Emitter`] stands at the end of one region. Constants are kept once, at the front of the root region, so that a value known
//! to be constant has the same id wherever it was met, and merging branches can compare ids. Pure ops over constants, the usual
//! identities and what was computed before disappear at once. [`Emitter::finish`] drops pure ops nobody uses and numbers the rest densely in order.

use std::collections::HashMap;

use diag::Span;
use ir::{Attr, Body, BodyKind, Local, Op, OpId, Opcode, RegionId, Value, ValueId, Width};

use super::ranges::Ranges;

/// Opcode, bit of an extract, operands and result width of a pure op.
type Computation = (Opcode, u32, Vec<ValueId>, Width);

/// Builds one body.
pub struct Emitter {
    /// The body as far as it is built.
    pub body: Body,
    region: RegionId,
    span: Option<Span>,
    constants: HashMap<(Width, Value), ValueId>,
    constant_ops: Vec<OpId>,
    known: HashMap<ValueId, Value>,
    definitions: HashMap<ValueId, OpId>,
    /// Pure ops by what they compute, and the region that they are in: usable while that region is open.
    computed: HashMap<Computation, (RegionId, ValueId)>,
    /// Regions around the end of the current one, which is the last.
    open_regions: Vec<RegionId>,
    /// What is known of values at the current place.
    pub ranges: Ranges,
}

impl Emitter {
    /// Starts a body; its root region has the given parameters.
    pub fn new(kind: BodyKind, params: &[Width]) -> Emitter {
        let body = Body::new(kind, params);
        let root = body.root;
        Emitter {
            region: root,
            body,
            span: None,
            constants: HashMap::new(),
            constant_ops: Vec::new(),
            known: HashMap::new(),
            definitions: HashMap::new(),
            computed: HashMap::new(),
            open_regions: vec![root],
            ranges: Ranges::default(),
        }
    }

    /// The parameters of the body.
    pub fn params(&self) -> Vec<ValueId> {
        self.body.region(self.body.root).params.clone()
    }

    /// The region at whose end ops are added.
    pub fn region(&self) -> RegionId {
        self.region
    }

    /// Opens a region and goes there; gives it and the region to go back to.
    pub fn open(&mut self, params: &[Width]) -> (RegionId, RegionId) {
        let opened = self.body.add_region(params);
        self.open_regions.push(opened);
        (opened, std::mem::replace(&mut self.region, opened))
    }

    /// Goes back to a region around this one, or once more into one that was closed.
    pub fn go_to(&mut self, region: RegionId) {
        match self.open_regions.iter().position(|&open| open == region) {
            Some(at) => self.open_regions.truncate(at + 1),
            None => self.open_regions.push(region),
        }
        self.region = region;
    }

    /// Sets the span that the following ops get; gives the one before.
    pub fn set_span(&mut self, span: Option<Span>) -> Option<Span> {
        std::mem::replace(&mut self.span, span)
    }

    /// Width of a value.
    pub fn width(&self, value: ValueId) -> Width {
        self.body.width(value)
    }

    /// The value if it is known at compile time.
    pub fn known(&self, value: ValueId) -> Option<&Value> {
        self.known.get(&value)
    }

    /// The value if it is known at compile time and fits 64 bits.
    pub fn known_u64(&self, value: ValueId) -> Option<u64> {
        self.known(value).and_then(Value::to_u64)
    }

    /// The op that defines a value; none for parameters.
    pub fn definition(&self, value: ValueId) -> Option<&Op> {
        self.definitions.get(&value).map(|&op| self.body.op(op))
    }

    /// A local array, zero when the body starts.
    pub fn add_local(&mut self, name: &str, width: Width, depth: u64) -> u32 {
        self.body.locals.push(Local { name: name.to_string(), width, depth });
        self.body.locals.len() as u32 - 1
    }

    /// A constant; the value must be below `2^width`.
    pub fn constant(&mut self, value: Value, width: Width) -> ValueId {
        if let Some(&id) = self.constants.get(&(width, value.clone())) {
            return id;
        }
        let id = self.body.add_value(width);
        let attr = Attr::Const(value.clone());
        self.body.ops.push(Op {
            code: Opcode::Const,
            attr,
            operands: vec![],
            results: vec![id],
            regions: vec![],
            span: None,
        });
        let op = OpId(self.body.ops.len() as u32 - 1);
        self.constant_ops.push(op);
        self.definitions.insert(id, op);
        self.known.insert(id, value.clone());
        self.constants.insert((width, value), id);
        id
    }

    /// A small constant.
    pub fn constant_u64(&mut self, value: u64, width: Width) -> ValueId {
        self.constant(Value::from(value).wrapped(width), width)
    }

    /// A constant of one bit.
    pub fn constant_bool(&mut self, value: bool) -> ValueId {
        self.constant_u64(u64::from(value), Width::BOOL)
    }

    /// Zero at a width.
    pub fn zero(&mut self, width: Width) -> ValueId {
        self.constant(Value::ZERO, width)
    }

    /// Adds an op with effects; gives its results.
    pub fn effect(&mut self, code: Opcode, attr: Attr, operands: Vec<ValueId>, results: &[Width]) -> Vec<ValueId> {
        self.push(Op { code, attr, operands, results: vec![], regions: vec![], span: self.span }, results)
    }

    /// Adds an op with effects and one result.
    pub fn ask(&mut self, code: Opcode, attr: Attr, operands: Vec<ValueId>, result: Width) -> ValueId {
        self.effect(code, attr, operands, &[result])[0]
    }

    /// Adds an `if` over two finished regions.
    pub fn if_op(&mut self, condition: ValueId, regions: [RegionId; 2], results: &[Width]) -> Vec<ValueId> {
        let op = Op {
            code: Opcode::If,
            attr: Attr::None,
            operands: vec![condition],
            results: vec![],
            regions: regions.to_vec(),
            span: self.span,
        };
        self.push(op, results)
    }

    /// Adds a `loop` over a finished region.
    pub fn loop_op(&mut self, initial: Vec<ValueId>, region: RegionId) -> Vec<ValueId> {
        let widths: Vec<Width> = initial.iter().map(|&value| self.width(value)).collect();
        let op = Op {
            code: Opcode::Loop,
            attr: Attr::None,
            operands: initial,
            results: vec![],
            regions: vec![region],
            span: self.span,
        };
        self.push(op, &widths)
    }

    /// Moves the ops of a region to the end of the current one.
    pub fn splice(&mut self, region: RegionId) {
        let ops = std::mem::take(&mut self.body.regions[region.index()].ops);
        self.body.regions[self.region.index()].ops.extend(ops);
    }

    /// Whether a region could as well be run always: pure ops and register reads only.
    pub fn is_speculative(&self, region: RegionId) -> bool {
        let ops = &self.body.region(region).ops;
        ops.iter().all(|&op| {
            let code = self.body.op(op).code;
            code.is_pure() || matches!(code, Opcode::RegRead | Opcode::MetaRead | Opcode::InReady | Opcode::InMask)
        })
    }

    /// Adds a pure op, or gives an equal value that is there already.
    pub fn pure(&mut self, code: Opcode, attr: Attr, operands: &[ValueId], result: Width) -> ValueId {
        let known: Option<Vec<(&Value, Width)>> =
            operands.iter().map(|value| self.known.get(value).map(|known| (known, self.width(*value)))).collect();
        if let Some(known) = known {
            let value = ir::eval::pure(code, &attr, &known, result);
            return self.constant(value, result);
        }
        if let Some(same) = self.simplified(code, &attr, operands, result) {
            return same;
        }
        let bit = if let Attr::Bit(bit) = attr { bit } else { 0 };
        let computation = (code, bit, operands.to_vec(), result);
        if let Some((region, value)) = self.computed.get(&computation)
            && self.open_regions.contains(region)
        {
            return *value;
        }
        let value = self.ask(code, attr, operands.to_vec(), result);
        self.computed.insert(computation, (self.region, value));
        value
    }

    /// A binary op of equal widths whose result has that width too, or a shift.
    pub fn binary(&mut self, code: Opcode, a: ValueId, b: ValueId) -> ValueId {
        self.pure(code, Attr::None, &[a, b], self.width(a))
    }

    /// A comparison.
    pub fn compare(&mut self, code: Opcode, a: ValueId, b: ValueId) -> ValueId {
        self.pure(code, Attr::None, &[a, b], Width::BOOL)
    }

    /// Complement; of one bit: logical not.
    pub fn not(&mut self, a: ValueId) -> ValueId {
        self.pure(Opcode::Not, Attr::None, &[a], self.width(a))
    }

    /// Second operand if the first is 1, else the third.
    pub fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.pure(Opcode::Select, Attr::None, &[condition, yes, no], self.width(yes))
    }

    /// `hi` above `lo`.
    pub fn concat(&mut self, hi: ValueId, lo: ValueId) -> ValueId {
        let width = Width::of(self.width(hi).bits() + self.width(lo).bits());
        self.pure(Opcode::Concat, Attr::None, &[hi, lo], width)
    }

    /// Bits from `bit` on.
    pub fn extract(&mut self, a: ValueId, bit: u32, width: Width) -> ValueId {
        if bit == 0 {
            return self.resize(a, width, false);
        }
        self.pure(Opcode::Extract, Attr::Bit(bit), &[a], width)
    }

    /// The value at another width: the low bits, or extended by zeros or the sign.
    pub fn resize(&mut self, a: ValueId, width: Width, signed: bool) -> ValueId {
        let code = match width.cmp(&self.width(a)) {
            std::cmp::Ordering::Equal => return a,
            std::cmp::Ordering::Less => Opcode::Trunc,
            std::cmp::Ordering::Greater if signed => Opcode::SExt,
            std::cmp::Ordering::Greater => Opcode::ZExt,
        };
        self.pure(code, Attr::None, &[a], width)
    }

    /// Whether the value is not 0.
    pub fn is_true(&mut self, a: ValueId) -> ValueId {
        if self.width(a) == Width::BOOL {
            return a;
        }
        let zero = self.zero(self.width(a));
        self.compare(Opcode::Ne, a, zero)
    }

    /// `a` with the bits from `bit` on replaced by `part`, as far as they lie inside.
    pub fn insert(&mut self, a: ValueId, bit: u32, part: ValueId) -> ValueId {
        let width = self.width(a).bits();
        let part_width = self.width(part).bits().min(width - bit);
        let mut result = self.resize(part, Width::of(part_width), false);
        if bit + part_width < width {
            let above = self.extract(a, bit + part_width, Width::of(width - bit - part_width));
            result = self.concat(above, result);
        }
        if bit > 0 {
            let below = self.extract(a, 0, Width::of(bit));
            result = self.concat(result, below);
        }
        result
    }

    /// `a` with the bits from a variable position on replaced by `part`; bits past the end are lost. The position must not have
    /// wrapped.
    pub fn insert_at(&mut self, a: ValueId, position: ValueId, part: ValueId) -> ValueId {
        let width = self.width(a);
        let ones = self.constant(Value::ones(self.width(part)), self.width(part));
        let ones = self.resize(ones, width, false);
        let mask = self.binary(Opcode::Shl, ones, position);
        let kept = self.not(mask);
        let kept = self.binary(Opcode::And, a, kept);
        let part = self.resize(part, width, false);
        let part = self.binary(Opcode::Shl, part, position);
        self.binary(Opcode::Or, kept, part)
    }

    /// Ends the body with what its root region yields.
    pub fn finish(mut self, yields: Vec<ValueId>) -> Body {
        let root = self.body.root.index();
        self.body.regions[root].yields = yields;
        let rest = std::mem::take(&mut self.body.regions[root].ops);
        self.body.regions[root].ops = self.constant_ops.into_iter().chain(rest).collect();
        super::finish::compact(self.body)
    }

    fn push(&mut self, op: Op, results: &[Width]) -> Vec<ValueId> {
        let id = self.body.push(self.region, op, results);
        let results = self.body.op(id).results.clone();
        for &result in &results {
            self.definitions.insert(result, id);
        }
        results
    }

    /// Identities that need no op.
    fn simplified(&mut self, code: Opcode, attr: &Attr, operands: &[ValueId], result: Width) -> Option<ValueId> {
        match *operands {
            [a] => self.simplified_unary(code, attr, a, result),
            [a, b] => self.simplified_binary(code, a, b),
            [condition, yes, no] => self.simplified_select(condition, yes, no),
            _ => None,
        }
    }

    fn simplified_unary(&mut self, code: Opcode, attr: &Attr, a: ValueId, result: Width) -> Option<ValueId> {
        let inner = self.definition(a)?;
        let (inner_code, inner_attr, source) = (inner.code, inner.attr.clone(), *inner.operands.first()?);
        match (code, inner_code) {
            (Opcode::Not, Opcode::Not) | (Opcode::ByteSwap, Opcode::ByteSwap) => Some(source),
            (Opcode::Trunc, Opcode::ZExt | Opcode::SExt | Opcode::Trunc) => {
                let signed = inner_code == Opcode::SExt;
                Some(self.resize(source, result, signed))
            }
            (Opcode::ZExt, Opcode::ZExt) => Some(self.resize(source, result, false)),
            (Opcode::SExt, Opcode::SExt) => Some(self.resize(source, result, true)),
            (Opcode::SExt, Opcode::ZExt) => Some(self.resize(source, result, false)),
            (Opcode::Trunc, Opcode::Extract) => match inner_attr {
                Attr::Bit(bit) => Some(self.extract(source, bit, result)),
                _ => None,
            },
            (Opcode::Trunc, Opcode::Concat) => {
                let low = self.definition(a)?.operands[1];
                (result <= self.width(low)).then(|| self.resize(low, result, false))
            }
            (Opcode::Extract, Opcode::Concat) => {
                let Attr::Bit(bit) = *attr else { return None };
                let low = self.definition(a)?.operands[1];
                let low_bits = self.width(low).bits();
                if bit >= low_bits {
                    return Some(self.extract(source, bit - low_bits, result));
                }
                (bit + result.bits() <= low_bits).then(|| self.extract(low, bit, result))
            }
            (Opcode::Extract, Opcode::Extract) => match (attr, inner_attr) {
                (Attr::Bit(outer), Attr::Bit(inner)) => Some(self.extract(source, outer + inner, result)),
                _ => None,
            },
            _ => None,
        }
    }

    fn simplified_binary(&mut self, code: Opcode, a: ValueId, b: ValueId) -> Option<ValueId> {
        let width = self.width(a);
        let is = |emitter: &Emitter, value: ValueId, number: &Value| emitter.known(value) == Some(number);
        let (zero, one, ones) = (Value::ZERO, Value::Small(1), Value::ones(width));
        let a_zero = is(self, a, &zero);
        let b_zero = is(self, b, &zero);
        match code {
            Opcode::Add | Opcode::Or | Opcode::Xor if b_zero => Some(a),
            Opcode::Add | Opcode::Or | Opcode::Xor if a_zero => Some(b),
            Opcode::Sub | Opcode::Shl | Opcode::LShr | Opcode::AShr if b_zero => Some(a),
            Opcode::Shl | Opcode::LShr | Opcode::AShr if a_zero => Some(a),
            Opcode::And | Opcode::Mul if a_zero => Some(a),
            Opcode::And | Opcode::Mul if b_zero => Some(b),
            Opcode::Mul if is(self, b, &one) => Some(a),
            Opcode::Mul if is(self, a, &one) => Some(b),
            Opcode::And if is(self, b, &ones) => Some(a),
            Opcode::And if is(self, a, &ones) => Some(b),
            Opcode::Or if width == Width::BOOL && is(self, b, &ones) => Some(b),
            Opcode::Or if width == Width::BOOL && is(self, a, &ones) => Some(a),
            Opcode::And | Opcode::Or if a == b => Some(a),
            Opcode::Eq | Opcode::ULe | Opcode::SLe if a == b => Some(self.constant_bool(true)),
            Opcode::Ne | Opcode::ULt | Opcode::SLt if a == b => Some(self.constant_bool(false)),
            Opcode::Ne if width == Width::BOOL && b_zero => Some(a),
            Opcode::Eq if width == Width::BOOL && b_zero => Some(self.not(a)),
            Opcode::Eq if width == Width::BOOL && is(self, b, &one) => Some(a),
            Opcode::Ne | Opcode::Eq if b_zero => {
                // `(int)flag != 0` is the flag itself.
                let inner = self.definition(a)?;
                let source = *inner.operands.first()?;
                if inner.code != Opcode::ZExt {
                    return None;
                }
                let zero = self.zero(self.width(source));
                Some(self.compare(code, source, zero))
            }
            _ => None,
        }
    }

    fn simplified_select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> Option<ValueId> {
        if yes == no {
            return Some(yes);
        }
        if let Some(known) = self.known(condition) {
            return Some(if known.is_zero() { no } else { yes });
        }
        if self.width(yes) != Width::BOOL {
            return None;
        }
        match (self.known_u64(yes), self.known_u64(no)) {
            (Some(1), Some(0)) => Some(condition),
            (Some(0), Some(1)) => Some(self.not(condition)),
            (Some(1), None) => Some(self.binary(Opcode::Or, condition, no)),
            (None, Some(0)) => Some(self.binary(Opcode::And, condition, yes)),
            _ => None,
        }
    }
}
