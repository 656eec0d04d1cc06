//! Numbers a finished body densely, without the pure ops that nobody uses.
//!
//! Lowering tries things (a condition for its value range, the right side of `&&`) and leaves unused ops behind; a body must be
//! dense and read well as text.

use std::collections::HashMap;

use ir::{Body, Op, OpId, Opcode, Region, RegionId, ValueId, Width};

/// The same body with live ops only; ids count up in order of the text.
pub fn compact(body: Body) -> Body {
    let live = live_ops(&body);
    let mut copy = Copier {
        old: &body,
        live,
        new: Body { values: vec![], ops: vec![], regions: vec![], locals: body.locals.clone(), ..body.clone() },
        values: HashMap::new(),
    };
    copy.new.root = copy.region(body.root);
    copy.new
}

fn is_removable(op: &Op) -> bool {
    op.code.is_pure() || matches!(op.code, Opcode::RegRead | Opcode::MetaRead)
}

/// By op: whether it has an effect or its results are used by one that lives.
fn live_ops(body: &Body) -> Vec<bool> {
    let mut live = vec![false; body.ops.len()];
    let mut used = vec![false; body.values.len()];
    // Ops in order of the text; walking backwards meets uses before definitions, except around loops, whose carried values
    // are defined by the region and used by its yields: those count as used.
    mark_region(body, body.root, &mut live, &mut used);
    live
}

fn mark_region(body: &Body, region: RegionId, live: &mut [bool], used: &mut [bool]) {
    let region = body.region(region);
    for value in &region.yields {
        used[value.index()] = true;
    }
    for &id in region.ops.iter().rev() {
        let op = body.op(id);
        if is_removable(op) && !op.results.iter().any(|result| used[result.index()]) {
            continue;
        }
        live[id.index()] = true;
        for operand in &op.operands {
            used[operand.index()] = true;
        }
        for &inner in op.regions.iter().rev() {
            mark_region(body, inner, live, used);
        }
    }
}

struct Copier<'a> {
    old: &'a Body,
    live: Vec<bool>,
    new: Body,
    values: HashMap<ValueId, ValueId>,
}

impl Copier<'_> {
    fn region(&mut self, old: RegionId) -> RegionId {
        let source = self.old.region(old);
        let params = source.params.iter().map(|&value| self.define(value)).collect();
        self.new.regions.push(Region { params, ..Region::default() });
        let id = RegionId(self.new.regions.len() as u32 - 1);
        for &op in &source.ops {
            if self.live[op.index()] {
                let op = self.op(op);
                self.new.regions[id.index()].ops.push(op);
            }
        }
        self.new.regions[id.index()].yields = source.yields.iter().map(|value| self.values[value]).collect();
        id
    }

    fn op(&mut self, old: OpId) -> OpId {
        let source = self.old.op(old);
        let operands = source.operands.iter().map(|value| self.values[value]).collect();
        let id = OpId(self.new.ops.len() as u32);
        self.new.ops.push(Op { operands, results: vec![], regions: vec![], ..source.clone() });
        let regions = source.regions.iter().map(|&region| self.region(region)).collect();
        let results = source.results.iter().map(|&value| self.define(value)).collect();
        let op = &mut self.new.ops[id.index()];
        op.regions = regions;
        op.results = results;
        id
    }

    fn define(&mut self, old: ValueId) -> ValueId {
        let width: Width = self.old.width(old);
        let new = self.new.add_value(width);
        self.values.insert(old, new);
        new
    }
}
