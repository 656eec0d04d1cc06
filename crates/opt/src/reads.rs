//! Reads: what was read, or written to a register, is not read again while it cannot have changed.
//!
//! Each read looks at one place: a register, a memory, a local array, the inputs, the packet's window, a metadata field. What is
//! known of a place is forgotten when it may be written: at the end of an `if` that writes it, and throughout a `loop` that
//! writes it. Writes stay where they are.
//! Expects: a verified body. Ensures: same effects; no repeated read that [`REMEMBERED_MAX`] allows to remember.
//! Linear in ops, times the places written for each level of nesting. Test: `tests/opt/reads/`.

use std::collections::{BTreeMap, BTreeSet};

use ir::{Attr, Body, Op, Opcode, RegionId, ValueId, Width};

use crate::rebuild::Rebuild;

/// Reads remembered of one place; more would make long bodies slow, and those read many different words.
pub const REMEMBERED_MAX: usize = 32;

/// Leaves out the repeated reads of a body.
pub fn run(body: &Body) -> Body {
    let mut written = vec![BTreeSet::new(); body.regions.len()];
    collect_written(body, body.root, &mut written);
    let mut pass = Pass { rebuild: Rebuild::new(body), written, known: BTreeMap::new() };
    let root = pass.rebuild.to.root;
    pass.region(body.root, root);
    pass.rebuild.to
}

/// What a read looks at and a write changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Var(u32),
    Local(u32),
    Meta(u32),
    /// The messages that wait at the inputs.
    Inputs,
    /// The packet's bytes and length.
    Window,
}

/// The place that an op reads, if reading twice gives the same. Not `pkt.short`, which each load may change.
fn place_read(op: &Op) -> Option<Place> {
    match op.code {
        Opcode::RegRead | Opcode::MemRead | Opcode::LocalRead | Opcode::MetaRead => named(&op.attr),
        Opcode::InReady | Opcode::InMask | Opcode::InPeek => Some(Place::Inputs),
        Opcode::PktAvail | Opcode::PktLoad | Opcode::PktLen => Some(Place::Window),
        _ => None,
    }
}

fn place_written(op: &Op) -> Option<Place> {
    match op.code {
        Opcode::RegWrite | Opcode::MemWrite | Opcode::LocalWrite | Opcode::LocalClear | Opcode::MetaWrite => {
            named(&op.attr)
        }
        Opcode::InRead | Opcode::InClear => Some(Place::Inputs),
        Opcode::PktStore
        | Opcode::PktPush
        | Opcode::PktPop
        | Opcode::PktPushAt
        | Opcode::PktPopAt
        | Opcode::PktTruncate
        | Opcode::PktAppend
        | Opcode::PktEnter => Some(Place::Window),
        _ => None,
    }
}

fn named(attr: &Attr) -> Option<Place> {
    match attr {
        Attr::Var(var) => Some(Place::Var(var.0)),
        Attr::Local(local) => Some(Place::Local(*local)),
        Attr::Meta(field) => Some(Place::Meta(*field)),
        Attr::None | Attr::Const(_) | Attr::Bit(_) | Attr::Message(_) | Attr::Text(_) => None,
    }
}

/// By region: the places that it writes, inner regions included.
fn collect_written(body: &Body, region: RegionId, written: &mut Vec<BTreeSet<Place>>) {
    let mut own = BTreeSet::new();
    for &op in &body.region(region).ops {
        let op = body.op(op);
        own.extend(place_written(op));
        for &inner in &op.regions {
            collect_written(body, inner, written);
            own.extend(&written[inner.index()]);
        }
    }
    written[region.index()] = own;
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
}

struct Pass<'a> {
    rebuild: Rebuild<'a>,
    written: Vec<BTreeSet<Place>>,
    known: BTreeMap<Place, Vec<Remembered>>,
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
        } else {
            self.rebuild.copy(to, op);
            if let Some(place) = place_written(op) {
                self.known.remove(&place);
            }
            if let (Opcode::RegWrite, Some(place)) = (op.code, named(&op.attr)) {
                let results = self.rebuild.renamed_all(&op.operands);
                self.remember(place, Opcode::RegRead, op.attr.clone(), vec![], results);
            }
        }
    }

    fn read(&mut self, op: &Op, place: Place, to: RegionId) {
        let operands = self.rebuild.renamed_all(&op.operands);
        let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        let same = |other: &&Remembered| {
            other.code == op.code && other.operands == operands && other.attr == op.attr && other.widths == widths
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
            reads.push(Remembered { code, attr, operands, widths, results });
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
            for place in &self.written[region.index()] {
                self.known.remove(place);
            }
        }
    }
}
