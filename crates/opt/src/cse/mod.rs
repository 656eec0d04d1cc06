//! Common subexpressions.
//!
//! Values get numbers: two with one number are equal wherever both are known. A number stands for an op and the numbers of its
//! operands; for a read, also for the version of the place that it reads; for a result of an `if`, for the condition's number and
//! those of what its sides yield. A value whose number is that of a visible one is replaced by it.
//! Expects: a verified body. Ensures: no two ops without effects that compute or read the same where one sees the other; what is
//! left unused is for `dce`. Linear in ops; loops also times the depth of their nesting. Test: `tests/opt/cse/`.

mod loops;
mod versions;

use std::collections::BTreeSet;

use ir::{Attr, Body, Op, OpId, Opcode, RegionId, Value, ValueId, Width};

use crate::cse::loops::{Attrs, LoopKey};
use crate::cse::versions::Versions;
use crate::places::{self, Place, asks_short, place_read, places_written};
use crate::quick::QuickMap;
use crate::rebuild::Rebuild;

/// Removes common subexpressions of a body.
pub fn run(body: &Body) -> Body {
    let mut pass = Pass {
        rebuild: Rebuild::new(body),
        numbers: Vec::new(),
        n_numbers: 0,
        known: QuickMap::default(),
        known_loops: QuickMap::default(),
        visible: QuickMap::default(),
        scope: Vec::new(),
        written: places::written(body),
        versions: Versions::default(),
        attrs: Attrs::default(),
        asks_short: asks_short(body),
    };
    let root = pass.rebuild.to.root;
    pass.number_params(root);
    pass.region(body.root, root);
    pass.rebuild.to
}

/// What a value is; equal keys have one number. Operands are numbers of values.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    code: Opcode,
    attr: Attr,
    operands: Vec<u32>,
    width: Width,
    /// Of the place read.
    version: u64,
}

struct Pass<'a> {
    rebuild: Rebuild<'a>,
    /// By new value.
    numbers: Vec<u32>,
    n_numbers: u32,
    known: QuickMap<Key, u32>,
    /// Numbers of the first results.
    known_loops: QuickMap<LoopKey, u32>,
    /// By number: a value that is visible here.
    visible: QuickMap<u32, ValueId>,
    /// Numbers in the order in which they became visible; a region forgets its own when it ends.
    scope: Vec<u32>,
    /// By old region.
    written: Vec<BTreeSet<Place>>,
    versions: Versions,
    attrs: Attrs,
    asks_short: bool,
}

impl Pass<'_> {
    fn region(&mut self, from: RegionId, to: RegionId) {
        let n_visible = self.scope.len();
        let body = self.rebuild.from;
        for &op in &body.region(from).ops {
            self.op(op, to);
        }
        let yields = self.rebuild.renamed_all(&body.region(from).yields);
        self.rebuild.set_yields(to, yields);
        for number in self.scope.drain(n_visible..) {
            self.visible.remove(&number);
        }
    }

    fn op(&mut self, id: OpId, to: RegionId) {
        let op = self.rebuild.from.op(id);
        match op.code {
            Opcode::If => self.copy_if(op, to),
            Opcode::Loop => self.copy_loop(op, to),
            _ => match (place_read(op), &op.results[..]) {
                (place, &[result]) if place.is_some() || op.code.is_pure() || is_constant_in_firing(op.code) => {
                    self.compute(op, result, place, to);
                }
                _ => {
                    self.rebuild.copy(to, op);
                    self.write(op);
                    self.number_afresh(&op.results);
                }
            },
        }
    }

    /// An op that computes or reads one value.
    fn compute(&mut self, op: &Op, result: ValueId, place: Option<Place>, to: RegionId) {
        let mut operands: Vec<u32> = op.operands.iter().map(|&operand| self.number_of_old(operand)).collect();
        if is_commutative(op.code) {
            operands.sort_unstable();
        }
        let width = self.rebuild.from.width(result);
        let version = place.map_or(0, |place| self.versions.of(place));
        let number = self.number(Key { code: op.code, attr: op.attr.clone(), operands, width, version });
        if let Some(&value) = self.visible.get(&number) {
            self.rebuild.bind(&[result], &[value]);
            return;
        }
        self.rebuild.copy(to, op);
        self.show(self.rebuild.renamed(result), number);
    }

    fn copy_if(&mut self, op: &Op, to: RegionId) {
        let condition = self.number_of_old(op.operands[0]);
        let operands = self.rebuild.renamed_all(&op.operands);
        let before = self.versions.snapshot();
        let regions: Vec<RegionId> = op
            .regions
            .iter()
            .map(|&from| {
                self.versions.restore(&before);
                self.inner_region(from)
            })
            .collect();
        self.versions.restore(&before);
        self.write_regions(op);
        let results = self.push(op, operands, regions.clone(), to);
        for (position, (&old, &new)) in op.results.iter().zip(&results).enumerate() {
            let [yes, no] =
                [0, 1].map(|side| self.numbers[self.rebuild.to.region(regions[side]).yields[position].index()]);
            let number = if yes == no {
                yes
            } else {
                let width = self.rebuild.width(new);
                let operands = vec![condition, yes, no];
                self.number(Key { code: Opcode::If, attr: Attr::None, operands, width, version: 0 })
            };
            self.settle(old, new, number);
        }
    }

    fn copy_loop(&mut self, op: &Op, to: RegionId) {
        let operands = self.rebuild.renamed_all(&op.operands);
        self.write_regions(op);
        let before = self.versions.snapshot();
        let inner = self.inner_region(op.regions[0]);
        self.versions.restore(&before);
        self.write_regions(op);
        let results = self.push(op, operands, vec![inner], to);
        let &added = self.rebuild.to.region(to).ops.last().expect("the op was just added");
        let body = &self.rebuild.to;
        let key = loops::key(body, body.op(added), &self.numbers, &self.versions, &mut self.attrs);
        let first = match key {
            Some(key) => *self.known_loops.entry(key).or_insert(self.n_numbers),
            None => self.n_numbers,
        };
        self.n_numbers = self.n_numbers.max(first + results.len() as u32);
        for (number, (&old, &new)) in (first..).zip(op.results.iter().zip(&results)) {
            self.settle(old, new, number);
        }
    }

    /// A copy of an op with regions; gives its results.
    fn push(&mut self, op: &Op, operands: Vec<ValueId>, regions: Vec<RegionId>, to: RegionId) -> Vec<ValueId> {
        let copied = Op { code: op.code, attr: op.attr.clone(), operands, results: vec![], regions, span: op.span };
        let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        self.rebuild.push(to, copied, &widths)
    }

    fn inner_region(&mut self, from: RegionId) -> RegionId {
        let to = self.rebuild.copy_region(from);
        self.number_params(to);
        self.region(from, to);
        to
    }

    // ---- numbers

    fn number(&mut self, key: Key) -> u32 {
        let next = self.n_numbers;
        let number = *self.known.entry(key).or_insert(next);
        self.n_numbers = next.max(number + 1);
        number
    }

    fn number_of_old(&self, old: ValueId) -> u32 {
        self.numbers[self.rebuild.renamed(old).index()]
    }

    fn number_params(&mut self, region: RegionId) {
        for param in self.rebuild.to.region(region).params.clone() {
            self.show_afresh(param);
        }
    }

    fn number_afresh(&mut self, old: &[ValueId]) {
        for &result in old {
            self.show_afresh(self.rebuild.renamed(result));
        }
    }

    fn show_afresh(&mut self, value: ValueId) {
        self.show(value, self.n_numbers);
        self.n_numbers += 1;
    }

    /// A new value becomes visible.
    fn show(&mut self, value: ValueId, number: u32) {
        self.set_number(value, number);
        self.visible.insert(number, value);
        self.scope.push(number);
    }

    fn set_number(&mut self, value: ValueId, number: u32) {
        if self.numbers.len() <= value.index() {
            self.numbers.resize(value.index() + 1, u32::MAX);
        }
        self.numbers[value.index()] = number;
    }

    /// A result of an op with regions: a visible value with its number stands for it, or else it does itself.
    fn settle(&mut self, old: ValueId, new: ValueId, number: u32) {
        match self.visible.get(&number) {
            Some(&value) => {
                self.set_number(new, number);
                self.rebuild.bind(&[old], &[value]);
            }
            None => {
                self.show(new, number);
                self.rebuild.bind(&[old], &[new]);
            }
        }
    }

    // ---- writes

    /// Notes what an op without regions writes.
    fn write(&mut self, op: &Op) {
        if op.code != Opcode::PktEnter {
            places_written(op).for_each(|place| self.versions.write(place));
            return;
        }
        if self.asks_short {
            // A load that is left out would not set what this member asks.
            self.versions.forget_views();
        }
        let window = self.rebuild.renamed(op.operands[0]);
        self.versions.enter(self.rebuild.constant(window).and_then(Value::to_u64));
    }

    /// Whatever the regions of an op write is written.
    fn write_regions(&mut self, op: &Op) {
        for region in &op.regions {
            for &place in &self.written[region.index()] {
                self.versions.write(place);
            }
        }
    }
}

/// Whether a read gives the same however often and wherever a firing asks.
fn is_constant_in_firing(code: Opcode) -> bool {
    matches!(
        code,
        Opcode::Now | Opcode::LastMask | Opcode::OutFailed | Opcode::OutWritten | Opcode::PktTime | Opcode::PktInPort
    )
}

fn is_commutative(code: Opcode) -> bool {
    matches!(code, Opcode::Add | Opcode::Mul | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Eq | Opcode::Ne)
}
