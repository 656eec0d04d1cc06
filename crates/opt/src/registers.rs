//! Registers: a read of a register whose value is known uses that value.
//!
//! After `reg.write` or `reg.read` the register's value is known until it may be written again: at the end of an `if` that
//! writes it, and throughout a `loop` that writes it. Writes stay where they are.
//! Expects: a verified body. Ensures: same effects; no `reg.read` where the value is known.
//! Linear in ops, times nesting for the sets of written registers. Test: `tests/opt/registers/`.

use std::collections::{BTreeMap, BTreeSet};

use ir::{Attr, Body, Op, Opcode, RegionId, ValueId, VarId, Width};

use crate::rebuild::Rebuild;

/// Forwards register values of a body.
pub fn run(body: &Body) -> Body {
    let mut written = vec![BTreeSet::new(); body.regions.len()];
    collect_written(body, body.root, &mut written);
    let mut pass = Pass { rebuild: Rebuild::new(body), written, known: BTreeMap::new() };
    let root = pass.rebuild.to.root;
    pass.region(body.root, root);
    pass.rebuild.to
}

/// By region: the registers that it writes, inner regions included.
fn collect_written(body: &Body, region: RegionId, written: &mut Vec<BTreeSet<VarId>>) {
    let mut own = BTreeSet::new();
    for &op in &body.region(region).ops {
        let op = body.op(op);
        if let (Opcode::RegWrite, Attr::Var(var)) = (op.code, &op.attr) {
            own.insert(*var);
        }
        for &inner in &op.regions {
            collect_written(body, inner, written);
            own.extend(&written[inner.index()]);
        }
    }
    written[region.index()] = own;
}

struct Pass<'a> {
    rebuild: Rebuild<'a>,
    written: Vec<BTreeSet<VarId>>,
    /// New values that registers hold at this point.
    known: BTreeMap<VarId, ValueId>,
}

impl Pass<'_> {
    fn region(&mut self, from: RegionId, to: RegionId) {
        let body = self.rebuild.from;
        for &op in &body.region(from).ops {
            self.op(body.op(op), to);
        }
        let yields = self.rebuild.renamed_all(&body.region(from).yields);
        self.rebuild.set_yields(to, yields);
    }

    fn op(&mut self, op: &Op, to: RegionId) {
        match (op.code, &op.attr) {
            (Opcode::RegRead, Attr::Var(var)) => match self.known.get(var) {
                Some(&value) => self.rebuild.bind(&op.results, &[value]),
                None => {
                    self.rebuild.copy(to, op);
                    self.known.insert(*var, self.rebuild.renamed(op.results[0]));
                }
            },
            (Opcode::RegWrite, Attr::Var(var)) => {
                self.rebuild.copy(to, op);
                self.known.insert(*var, self.rebuild.renamed(op.operands[0]));
            }
            (Opcode::If | Opcode::Loop, _) => self.op_with_regions(op, to),
            _ => self.rebuild.copy(to, op),
        }
    }

    fn op_with_regions(&mut self, op: &Op, to: RegionId) {
        let operands = self.rebuild.renamed_all(&op.operands);
        if op.code == Opcode::Loop {
            self.forget_written(op);
        }
        let mut regions = Vec::new();
        for &from in &op.regions {
            let before = self.known.clone();
            let inner = self.rebuild.copy_region(from);
            self.region(from, inner);
            self.known = before;
            regions.push(inner);
        }
        self.forget_written(op);
        let copied = Op { code: op.code, attr: op.attr.clone(), operands, results: vec![], regions, span: op.span };
        let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        let results = self.rebuild.push(to, copied, &widths);
        self.rebuild.bind(&op.results, &results);
    }

    fn forget_written(&mut self, op: &Op) {
        for region in &op.regions {
            for var in &self.written[region.index()] {
                self.known.remove(var);
            }
        }
    }
}
