//! Copies a body op by op under new names: what every pass is made of.

use ir::{Attr, Body, Local, Op, OpId, Opcode, RegionId, Value, ValueId, Width};

/// A body that is read, one that is written, and which new value stands for which old one.
pub struct Rebuild<'a> {
    /// Read.
    pub from: &'a Body,
    /// Written.
    pub to: Body,
    /// By old value.
    renamed: Vec<Option<ValueId>>,
    /// By new value: the op that gives it; none for parameters.
    definitions: Vec<Option<OpId>>,
    /// By old local array: the new position, if locals were left out.
    local_positions: Option<Vec<u32>>,
}

impl<'a> Rebuild<'a> {
    /// Starts the copy with the parameters of the body; its root region is still empty.
    pub fn new(from: &'a Body) -> Rebuild<'a> {
        let params = &from.region(from.root).params;
        let widths: Vec<Width> = params.iter().map(|&param| from.width(param)).collect();
        let mut to = Body { locals: from.locals.clone(), ..Body::new(from.kind, &widths) };
        to.ops.reserve(from.ops.len());
        to.values.reserve(from.values.len());
        to.regions.reserve(from.regions.len());
        let mut rebuild = Rebuild {
            from,
            renamed: vec![None; from.values.len()],
            definitions: vec![None; widths.len()],
            local_positions: None,
            to,
        };
        let new = rebuild.to.region(rebuild.to.root).params.clone();
        rebuild.bind(params, &new);
        rebuild
    }

    /// From here on the new values stand for the old ones.
    pub fn bind(&mut self, old: &[ValueId], new: &[ValueId]) {
        assert_eq!(old.len(), new.len(), "one new value for each old one");
        for (old, new) in old.iter().zip(new) {
            self.renamed[old.index()] = Some(*new);
        }
    }

    /// What stands for an old value.
    pub fn renamed(&self, old: ValueId) -> ValueId {
        self.renamed[old.index()].expect("a verified body defines values before their use")
    }

    /// What stands for old values.
    pub fn renamed_all(&self, old: &[ValueId]) -> Vec<ValueId> {
        old.iter().map(|&value| self.renamed(value)).collect()
    }

    /// A fresh region with parameters of these widths.
    pub fn add_region(&mut self, params: &[Width]) -> RegionId {
        let region = self.to.add_region(params);
        self.definitions.resize(self.to.values.len(), None);
        region
    }

    /// A fresh region with the parameters of an old one, which they stand for.
    pub fn copy_region(&mut self, old: RegionId) -> RegionId {
        let params = &self.from.region(old).params;
        let widths: Vec<Width> = params.iter().map(|&param| self.from.width(param)).collect();
        let region = self.add_region(&widths);
        let new = self.to.region(region).params.clone();
        self.bind(params, &new);
        region
    }

    /// The copy has these local arrays; `positions` gives the position of each old one that ops still name.
    pub fn rename_locals(&mut self, locals: Vec<Local>, positions: Vec<u32>) {
        self.to.locals = locals;
        self.local_positions = Some(positions);
    }

    /// Sets what a new region yields.
    pub fn set_yields(&mut self, region: RegionId, yields: Vec<ValueId>) {
        self.to.regions[region.index()].yields = yields;
    }

    /// Adds an op; gives its results.
    pub fn push(&mut self, region: RegionId, op: Op, widths: &[Width]) -> Vec<ValueId> {
        let id = self.to.push(region, op, widths);
        self.definitions.resize(self.to.values.len(), Some(id));
        self.to.op(id).results.clone()
    }

    /// Copies an op without regions; its results are bound to the old ones.
    pub fn copy(&mut self, region: RegionId, op: &Op) {
        let operands = self.renamed_all(&op.operands);
        let attr = match (&op.attr, &self.local_positions) {
            (Attr::Local(local), Some(positions)) => Attr::Local(positions[*local as usize]),
            (attr, _) => attr.clone(),
        };
        let copied = Op { code: op.code, attr, operands, results: vec![], regions: vec![], span: op.span };
        let widths: Vec<Width> = op.results.iter().map(|&result| self.from.width(result)).collect();
        let results = self.push(region, copied, &widths);
        self.bind(&op.results, &results);
    }

    /// The op that gives a new value; none for a parameter.
    pub fn definition(&self, value: ValueId) -> Option<&Op> {
        self.definitions[value.index()].map(|op| self.to.op(op))
    }

    /// A new value that is known at compile time.
    pub fn constant(&self, value: ValueId) -> Option<&Value> {
        match self.definition(value) {
            Some(Op { code: Opcode::Const, attr: Attr::Const(value), .. }) => Some(value),
            _ => None,
        }
    }

    /// Width of a new value.
    pub fn width(&self, value: ValueId) -> Width {
        self.to.width(value)
    }
}
