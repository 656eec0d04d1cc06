//! Common subexpressions.
//!
//! An op that was already computed where its value is visible is not computed again. That holds for pure ops and for reads that
//! cannot change within a firing, such as `now`.
//! Expects: a verified body. Ensures: no two such ops with equal code, attribute, operands and width where one sees the other.
//! Linear in ops. Test: `tests/opt/cse/`.

use ir::{Attr, Body, Op, OpId, Opcode, RegionId, ValueId, Width};

use crate::quick::QuickMap;
use crate::rebuild::Rebuild;

/// Removes common subexpressions of a body.
pub fn run(body: &Body) -> Body {
    let mut pass = Pass { rebuild: Rebuild::new(body), known: QuickMap::default(), scope: Vec::new() };
    let root = pass.rebuild.to.root;
    pass.region(body.root, root);
    pass.rebuild.to
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    code: Opcode,
    attr: Attr,
    operands: Vec<ValueId>,
    width: Width,
}

struct Pass<'a> {
    rebuild: Rebuild<'a>,
    known: QuickMap<Key, ValueId>,
    /// Keys in the order in which they became known; a region forgets its own when it ends.
    scope: Vec<Key>,
}

impl Pass<'_> {
    fn region(&mut self, from: RegionId, to: RegionId) {
        let n_known = self.scope.len();
        let body = self.rebuild.from;
        for &op in &body.region(from).ops {
            self.op(op, to);
        }
        let yields = self.rebuild.renamed_all(&body.region(from).yields);
        self.rebuild.set_yields(to, yields);
        for key in self.scope.drain(n_known..) {
            self.known.remove(&key);
        }
    }

    fn op(&mut self, id: OpId, to: RegionId) {
        let op = self.rebuild.from.op(id);
        if !op.regions.is_empty() {
            self.op_with_regions(op, to);
            return;
        }
        if !op.code.is_pure() && !is_constant_in_firing(op.code) {
            self.rebuild.copy(to, op);
            return;
        }
        let mut operands = self.rebuild.renamed_all(&op.operands);
        if is_commutative(op.code) {
            operands.sort_unstable();
        }
        let width = self.rebuild.from.width(op.results[0]);
        let key = Key { code: op.code, attr: op.attr.clone(), operands, width };
        if let Some(&value) = self.known.get(&key) {
            self.rebuild.bind(&op.results, &[value]);
            return;
        }
        self.rebuild.copy(to, op);
        self.known.insert(key.clone(), self.rebuild.renamed(op.results[0]));
        self.scope.push(key);
    }

    fn op_with_regions(&mut self, op: &Op, to: RegionId) {
        let operands = self.rebuild.renamed_all(&op.operands);
        let regions = op.regions.iter().map(|&region| self.inner_region(region)).collect();
        let copied = Op { code: op.code, attr: op.attr.clone(), operands, results: vec![], regions, span: op.span };
        let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        let results = self.rebuild.push(to, copied, &widths);
        self.rebuild.bind(&op.results, &results);
    }

    fn inner_region(&mut self, from: RegionId) -> RegionId {
        let to = self.rebuild.copy_region(from);
        self.region(from, to);
        to
    }
}

/// Whether a read gives the same however often and wherever a firing asks.
fn is_constant_in_firing(code: Opcode) -> bool {
    matches!(
        code,
        Opcode::Now
            | Opcode::LastMask
            | Opcode::OutFailed
            | Opcode::OutWritten
            | Opcode::PktTime
            | Opcode::PktInPort
    )
}

fn is_commutative(code: Opcode) -> bool {
    matches!(code, Opcode::Add | Opcode::Mul | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Eq | Opcode::Ne)
}
