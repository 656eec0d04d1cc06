//! Reads: what was read, or written to a register, is not read again while it cannot have changed.
//!
//! Each read looks at one place: a register, a memory, a local array, the inputs, the packet's window, a metadata field. What is
//! known of a place is forgotten when it may be written: at the end of an `if` that writes it, and throughout a `loop` that
//! writes it. Writes stay where they are.
//! Expects: a verified body. Ensures: same effects; no repeated read that [`REMEMBERED_MAX`] allows to remember.
//! Linear in ops, times the places written for each level of nesting. Test: `tests/opt/reads/`.

use std::collections::{BTreeMap, BTreeSet};

use ir::{Attr, Body, Op, Opcode, RegionId, Value, ValueId, Width};

use crate::places::{self, Place, asks_short, named, place_read, places_written};
use crate::rebuild::Rebuild;

/// Reads remembered of one place; more would make long bodies slow, and those read many different words.
pub const REMEMBERED_MAX: usize = 32;

/// Leaves out the repeated reads of a body.
pub fn run(body: &Body) -> Body {
    let mut pass = Pass {
        rebuild: Rebuild::new(body),
        written: places::written(body),
        known: BTreeMap::new(),
        view: Some(0),
        asks_short: asks_short(body),
    };
    let root = pass.rebuild.to.root;
    pass.region(body.root, root);
    pass.rebuild.to
}

/// A read that was done, in new names, and what it gave.
#[derive(Clone)]
struct Remembered {
    code: Opcode,
    attr: Attr,
    operands: Vec<ValueId>,
    /// Loads of different widths at one offset differ.
    widths: Vec<Width>,
    results: Vec<ValueId>,
    /// The window through which it looked at the packet.
    view: Option<u64>,
}

struct Pass<'a> {
    rebuild: Rebuild<'a>,
    written: Vec<BTreeSet<Place>>,
    known: BTreeMap<Place, Vec<Remembered>>,
    /// Window of the element that is at work in a chain, if it changed no length. Elsewhere 0 throughout.
    view: Option<u64>,
    asks_short: bool,
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
        if !op.regions.is_empty() {
            self.op_with_regions(op, to);
        } else if let Some(place) = place_read(op) {
            self.read(op, place, to);
        } else if op.code == Opcode::PktEnter {
            self.rebuild.copy(to, op);
            self.enter(op);
        } else {
            self.rebuild.copy(to, op);
            for place in places_written(op) {
                self.forget(place);
            }
            if let (Opcode::RegWrite, Some(place)) = (op.code, named(&op.attr)) {
                let results = self.rebuild.renamed_all(&op.operands);
                self.remember(place, Opcode::RegRead, op.attr.clone(), vec![], results);
            }
        }
    }

    /// Another element looks at the packet: at the same bytes, as far as both windows reach.
    fn enter(&mut self, op: &Op) {
        let window = self.rebuild.renamed(op.operands[0]);
        self.view = self.rebuild.constant(window).and_then(Value::to_u64);
        let asks_short = self.asks_short;
        if let Some(reads) = self.known.get_mut(&Place::Window) {
            reads.retain(|read| read.code == Opcode::PktLen || read.view.is_some() && !asks_short);
        }
    }

    /// Whether a read through another window gives the same through this one.
    fn sees(&self, read: &Remembered) -> bool {
        if read.view == self.view || read.code == Opcode::PktLen {
            return true;
        }
        let (Some(other), Some(own), &[offset], &[width]) =
            (read.view, self.view, &read.operands[..], &read.widths[..])
        else {
            return false;
        };
        let offset = self.rebuild.constant(offset).and_then(Value::to_u64);
        let end = offset.and_then(|offset| offset.checked_add(u64::from(width.bits() / 8)));
        read.code == Opcode::PktLoad && end.is_some_and(|end| end <= other.min(own))
    }

    fn forget(&mut self, place: Place) {
        self.known.remove(&place);
        if place == Place::View {
            self.view = None;
        }
    }

    fn read(&mut self, op: &Op, place: Place, to: RegionId) {
        let operands = self.rebuild.renamed_all(&op.operands);
        let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        let same = |other: &&Remembered| {
            other.code == op.code
                && other.operands == operands
                && other.attr == op.attr
                && other.widths == widths
                && (place != Place::Window || self.sees(other))
        };
        if let Some(earlier) = self.known.get(&place).and_then(|reads| reads.iter().find(same)) {
            let results = earlier.results.clone();
            self.rebuild.bind(&op.results, &results);
            return;
        }
        self.rebuild.copy(to, op);
        let results = self.rebuild.renamed_all(&op.results);
        self.remember(place, op.code, op.attr.clone(), operands, results);
    }

    fn remember(&mut self, place: Place, code: Opcode, attr: Attr, operands: Vec<ValueId>, results: Vec<ValueId>) {
        let widths = results.iter().map(|&result| self.rebuild.width(result)).collect();
        let reads = self.known.entry(place).or_default();
        if reads.len() < REMEMBERED_MAX {
            reads.push(Remembered { code, attr, operands, widths, results, view: self.view });
        }
    }

    fn op_with_regions(&mut self, op: &Op, to: RegionId) {
        let operands = self.rebuild.renamed_all(&op.operands);
        if op.code == Opcode::Loop {
            self.forget_written(op);
        }
        let mut regions = Vec::new();
        for &from in &op.regions {
            let before = (self.known.clone(), self.view);
            let inner = self.rebuild.copy_region(from);
            self.region(from, inner);
            (self.known, self.view) = before;
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
            for place in self.written[region.index()].clone() {
                self.forget(place);
            }
        }
    }
}
