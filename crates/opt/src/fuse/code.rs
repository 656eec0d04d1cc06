//! The body of a chain while it grows: ops are added at the end of the region that was opened last.
//!
//! Ops on bits are left out where constants decide; the rest of simplification is for the passes.

use ir::{Attr, Body, BodyKind, Op, Opcode, RegionId, Span, Value, ValueId, Width};

/// See above.
pub(super) struct Code {
    pub(super) body: Body,
    region: RegionId,
    /// By value: the constant that it is.
    constants: Vec<Option<u64>>,
}

/// A region that was opened, and the one around it.
#[must_use = "an opened region must be closed"]
pub(super) struct Opened {
    region: RegionId,
    outer: RegionId,
}

impl Code {
    pub(super) fn new() -> Code {
        let body = Body::new(BodyKind::Chain, &[]);
        Code { region: body.root, body, constants: Vec::new() }
    }

    /// The body, which yields these.
    pub(super) fn finish(mut self, yields: Vec<ValueId>) -> Body {
        assert_eq!(self.region, self.body.root, "every opened region is closed");
        self.body.regions[self.region.index()].yields = yields;
        self.body.compacted()
    }

    pub(super) fn open(&mut self, params: &[Width]) -> Opened {
        let region = self.body.add_region(params);
        Opened { region, outer: std::mem::replace(&mut self.region, region) }
    }

    pub(super) fn params(&self, opened: &Opened) -> Vec<ValueId> {
        self.body.region(opened.region).params.clone()
    }

    pub(super) fn close(&mut self, opened: Opened, yields: Vec<ValueId>) -> RegionId {
        assert_eq!(self.region, opened.region, "regions are closed in opposite order");
        self.body.regions[opened.region.index()].yields = yields;
        self.region = opened.outer;
        opened.region
    }

    pub(super) fn add(&mut self, op: Op, widths: &[Width]) -> Vec<ValueId> {
        let id = self.body.push(self.region, op, widths);
        self.body.op(id).results.clone()
    }

    /// `if` over two closed regions that yield values of these widths.
    pub(super) fn if_(&mut self, condition: ValueId, sides: [RegionId; 2], span: Option<Span>) -> Vec<ValueId> {
        let yields = &self.body.region(sides[0]).yields;
        let widths: Vec<Width> = yields.iter().map(|&value| self.body.width(value)).collect();
        let op = Op { regions: sides.to_vec(), span, ..plain(Opcode::If, Attr::None, vec![condition]) };
        self.add(op, &widths)
    }

    /// An op with one result and no regions.
    pub(super) fn value(&mut self, code: Opcode, operands: &[ValueId], width: Width) -> ValueId {
        self.add(plain(code, Attr::None, operands.to_vec()), &[width])[0]
    }

    pub(super) fn constant(&mut self, number: u64, width: Width) -> ValueId {
        let value = self.add(plain(Opcode::Const, Attr::Const(Value::from(number)), vec![]), &[width])[0];
        self.constants.resize(value.index() + 1, None);
        self.constants[value.index()] = Some(number);
        value
    }

    pub(super) fn bit(&mut self, bit: bool) -> ValueId {
        self.constant(bit.into(), Width::BOOL)
    }

    /// The number that a value is, if it was made by [`Self::constant`].
    pub(super) fn known(&self, value: ValueId) -> Option<u64> {
        self.constants.get(value.index()).copied().flatten()
    }

    pub(super) fn not(&mut self, a: ValueId) -> ValueId {
        match self.known(a) {
            Some(known) => self.bit(known == 0),
            None => self.value(Opcode::Not, &[a], Width::BOOL),
        }
    }

    pub(super) fn and(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.known(a), self.known(b)) {
            (Some(0), _) | (_, Some(1)) => a,
            (Some(1), _) | (_, Some(0)) => b,
            _ => self.value(Opcode::And, &[a, b], Width::BOOL),
        }
    }

    /// Of bits, or of numbers of which at most one is not 0.
    pub(super) fn or(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.known(a), self.known(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.value(Opcode::Or, &[a, b], self.body.width(a)),
        }
    }

    pub(super) fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        match self.known(condition) {
            Some(0) => no,
            Some(_) => yes,
            None => self.value(Opcode::Select, &[condition, yes, no], self.body.width(yes)),
        }
    }

    /// `a == number`.
    pub(super) fn is(&mut self, a: ValueId, number: u64) -> ValueId {
        let number = self.constant(number, self.body.width(a));
        self.value(Opcode::Eq, &[a, number], Width::BOOL)
    }
}

/// An op without regions.
pub(super) fn plain(code: Opcode, attr: Attr, operands: Vec<ValueId>) -> Op {
    Op { code, attr, operands, results: vec![], regions: vec![], span: None }
}
