//! A member's bodies inside of the chain's.
//!
//! Its state, local arrays, reasons and input number get the names that they have in the chain. What `emit` and `drop` mark becomes
//! values that `if`s and `loop`s pass on, so that passes see it; whether a change of length dropped the packet is asked.

use ir::chain::{CAUSE_LONG, CAUSE_NO_PORT, FIRST_OWN_CAUSE};
use ir::{Attr, Body, ChainVar, Element, ElementId, Handler, Op, Opcode, RegionId, ValueId, Width};

use super::MASK;
use super::code::{Code, plain};
use super::emits::{EmitPort, Emits, constants};
use super::names::Names;

/// What became of the packet so far.
#[derive(Clone)]
pub(super) struct Fate {
    /// By position in [`Emits::ports`]: whether it was emitted there.
    pub(super) emitted: Vec<ValueId>,
    pub(super) dropped: ValueId,
    /// Number of the first cause, if it was dropped.
    pub(super) cause: ValueId,
}

/// The parts of a [`Fate`], as a mask: its outputs by position, and this one for the rest.
type Parts = u64;
const DROP: Parts = 1 << 32;

impl Fate {
    fn parts(&self, parts: Parts) -> Vec<ValueId> {
        let emitted = self.emitted.iter().enumerate().filter(|(idx, _)| parts >> idx & 1 == 1).map(|(_, &bit)| bit);
        let drop = [self.dropped, self.cause].into_iter().filter(|_| parts & DROP != 0);
        emitted.chain(drop).collect()
    }

    fn set_parts(&mut self, parts: Parts, values: &[ValueId]) {
        let emitted = self.emitted.iter_mut().enumerate().filter(|(idx, _)| parts >> idx & 1 == 1).map(|(_, bit)| bit);
        let drop = [&mut self.dropped, &mut self.cause].into_iter().filter(|_| parts & DROP != 0);
        for (part, &value) in emitted.chain(drop).zip(values) {
            *part = value;
        }
    }
}

/// Adds an element's view, its head and its end; gives the packet's fate. `in_port` is the number of its input.
pub(super) fn add(
    code: &mut Code,
    names: &mut Names,
    member: (ElementId, &Element, &Emits),
    in_port: ValueId,
) -> (Fate, Vec<u32>) {
    let (id, element, emits) = member;
    let Handler::Packet { window, grow, store, head, end, .. } = &element.handler else {
        unreachable!("members are packet elements")
    };
    let limits = [*window, *grow, store.unwrap_or(0)].map(|limit| code.constant(limit.into(), MASK));
    code.add(Op { span: Some(element.span), ..plain(Opcode::PktEnter, Attr::None, limits.to_vec()) }, &[]);
    let no = code.bit(false);
    let cause = code.constant(u64::from(CAUSE_LONG), MASK);
    let mut fate = Fate { emitted: vec![no; emits.ports.len()], dropped: no, cause };
    if store.is_some() {
        let length = code.value(Opcode::PktLen, &[], MASK);
        fate.dropped = code.value(Opcode::ULt, &[limits[2], length], Width::BOOL);
    }
    let mut causes = emits.causes.clone();
    for body in [Some(head), end.as_ref()].into_iter().flatten() {
        let mut copy = Copy {
            code,
            names,
            id,
            emits,
            in_port,
            from: body,
            constants: constants(body),
            renamed: vec![None; body.values.len()],
            first_local: 0,
            causes: &mut causes,
        };
        copy.first_local = copy.code.body.locals.len() as u32;
        copy.code.body.locals.extend(body.locals.iter().cloned());
        copy.unless_dropped(&mut fate);
    }
    (fate, causes)
}

/// Copies one body.
struct Copy<'a> {
    code: &'a mut Code,
    names: &'a mut Names,
    id: ElementId,
    emits: &'a Emits,
    in_port: ValueId,
    from: &'a Body,
    /// By old value.
    constants: Vec<Option<u64>>,
    renamed: Vec<Option<ValueId>>,
    /// Position of the body's first local array in the chain's.
    first_local: u32,
    /// Numbers of the causes that may occur.
    causes: &'a mut Vec<u32>,
}

impl Copy<'_> {
    /// The whole body, if the packet is still there.
    fn unless_dropped(&mut self, fate: &mut Fate) {
        let root = self.from.root;
        if self.code.known(fate.dropped) == Some(0) {
            return self.region(root, fate);
        }
        let parts = self.parts_changed(root);
        let goes_on = self.code.not(fate.dropped);
        let runs = self.code.open(&[]);
        let mut inside = fate.clone();
        self.region(root, &mut inside);
        let runs = self.code.close(runs, inside.parts(parts));
        let rests = self.code.open(&[]);
        let rests = self.code.close(rests, fate.parts(parts));
        let results = self.code.if_(goes_on, [runs, rests], None);
        fate.set_parts(parts, &results);
    }

    /// The parts of the fate that the ops of a region, inner regions included, may change.
    fn parts_changed(&self, region: RegionId) -> Parts {
        let all = ((1 << self.emits.ports.len()) - 1) | DROP;
        let ops = self.from.region(region).ops.iter().map(|&op| self.from.op(op));
        ops.fold(0, |parts, op| {
            let own = match op.code {
                Opcode::Emit => match self.emits.port(self.constants[op.operands[0].index()]) {
                    EmitPort::Output(port) => 1 << self.emits.position(port),
                    EmitPort::Unproven => all,
                },
                Opcode::Drop
                | Opcode::PktPush
                | Opcode::PktPushAt
                | Opcode::PktPop
                | Opcode::PktPopAt
                | Opcode::PktAppend => DROP,
                _ => 0,
            };
            op.regions.iter().fold(parts | own, |parts, &inner| parts | self.parts_changed(inner))
        })
    }

    fn region(&mut self, region: RegionId, fate: &mut Fate) {
        let from = self.from;
        for &op in &from.region(region).ops {
            self.op(from.op(op), fate);
        }
    }

    fn op(&mut self, op: &Op, fate: &mut Fate) {
        match op.code {
            Opcode::If => self.copy_if(op, fate),
            Opcode::Loop => self.copy_loop(op, fate),
            Opcode::Emit => self.emit(op, fate),
            Opcode::Drop => {
                let Attr::Text(reason) = &op.attr else { unreachable!("`drop` has a reason") };
                let cause = FIRST_OWN_CAUSE + self.names.reason(reason);
                if !self.causes.contains(&cause) {
                    self.causes.push(cause);
                }
                let cause = self.code.constant(cause.into(), MASK);
                let yes = self.code.bit(true);
                self.drop(yes, cause, fate);
            }
            Opcode::PktInPort => self.renamed[op.results[0].index()] = Some(self.in_port),
            // Chains run only where nobody listens.
            Opcode::Trace => {}
            Opcode::PktPush | Opcode::PktPushAt | Opcode::PktPop | Opcode::PktPopAt | Opcode::PktAppend => {
                self.copy(op);
                let cause = self.code.value(Opcode::PktDropped, &[], MASK);
                let stays = self.code.is(cause, 0);
                let dropped = self.code.not(stays);
                self.drop(dropped, cause, fate);
            }
            _ => self.copy(op),
        }
    }

    /// Drops the packet for a cause if the bit says so and nothing did before.
    fn drop(&mut self, bit: ValueId, cause: ValueId, fate: &mut Fate) {
        fate.cause = self.code.select(fate.dropped, fate.cause, cause);
        fate.dropped = self.code.or(fate.dropped, bit);
    }

    fn emit(&mut self, op: &Op, fate: &mut Fate) {
        let port = op.operands[0];
        if let EmitPort::Output(port) = self.emits.port(self.constants[port.index()]) {
            fate.emitted[self.emits.position(port)] = self.code.bit(true);
            return;
        }
        let port = self.renamed(port);
        let mut exists = self.code.bit(false);
        for (idx, &output) in self.emits.ports.iter().enumerate() {
            let is_here = self.code.is(port, u64::from(output) + 1);
            fate.emitted[idx] = self.code.or(fate.emitted[idx], is_here);
            exists = self.code.or(exists, is_here);
        }
        // The engine keeps the number of a port that does not exist, which is every port of a chain.
        let missing = self.code.not(exists);
        let stays = self.code.not(fate.dropped);
        let is_first = self.code.and(missing, stays);
        let reports = self.code.open(&[]);
        self.code.add(Op { span: op.span, ..plain(Opcode::Emit, Attr::None, vec![port]) }, &[]);
        let reports = self.code.close(reports, vec![]);
        let passes = self.code.open(&[]);
        let passes = self.code.close(passes, vec![]);
        self.code.if_(is_first, [reports, passes], op.span);
        let cause = self.code.constant(CAUSE_NO_PORT.into(), MASK);
        self.drop(missing, cause, fate);
    }

    fn copy_if(&mut self, op: &Op, fate: &mut Fate) {
        let parts = op.regions.iter().fold(0, |parts, &region| parts | self.parts_changed(region));
        let condition = self.renamed(op.operands[0]);
        let sides = [0, 1].map(|side| {
            let opened = self.code.open(&[]);
            let mut inside = fate.clone();
            self.region(op.regions[side], &mut inside);
            let yields = self.all_renamed(&self.from.region(op.regions[side]).yields);
            self.code.close(opened, [yields, inside.parts(parts)].concat())
        });
        let results = self.code.if_(condition, sides, op.span);
        self.bind_with_fate(op, &results, parts, fate);
    }

    fn copy_loop(&mut self, op: &Op, fate: &mut Fate) {
        let region = self.from.region(op.regions[0]);
        let parts = self.parts_changed(op.regions[0]);
        let initial = [self.all_renamed(&op.operands), fate.parts(parts)].concat();
        let widths: Vec<Width> = initial.iter().map(|&value| self.code.body.width(value)).collect();
        let opened = self.code.open(&widths);
        let params = self.code.params(&opened);
        let (carried, marks) = params.split_at(op.operands.len());
        self.bind(&region.params, carried);
        let mut inside = fate.clone();
        inside.set_parts(parts, marks);
        self.region(op.regions[0], &mut inside);
        let yields = self.all_renamed(&region.yields);
        let inner = self.code.close(opened, [yields, inside.parts(parts)].concat());
        let copied = Op { regions: vec![inner], span: op.span, ..plain(Opcode::Loop, Attr::None, initial) };
        let results = self.code.add(copied, &widths);
        self.bind_with_fate(op, &results, parts, fate);
    }

    fn bind_with_fate(&mut self, op: &Op, results: &[ValueId], parts: Parts, fate: &mut Fate) {
        let (own, marks) = results.split_at(op.results.len());
        self.bind(&op.results, own);
        fate.set_parts(parts, marks);
    }

    /// An op without regions.
    fn copy(&mut self, op: &Op) {
        let attr = match &op.attr {
            Attr::Var(var) => Attr::Var(self.names.var(ChainVar::Member(self.id, *var))),
            Attr::Local(local) => Attr::Local(self.first_local + local),
            other => other.clone(),
        };
        let operands = self.all_renamed(&op.operands);
        let widths: Vec<Width> = op.results.iter().map(|&result| self.from.width(result)).collect();
        let results = match self.constants_of(op) {
            Some(known) => vec![self.code.constant(known, widths[0])],
            None => self.code.add(Op { span: op.span, ..plain(op.code, attr, operands) }, &widths),
        };
        self.bind(&op.results, &results);
    }

    fn constants_of(&self, op: &Op) -> Option<u64> {
        self.constants[op.results.first()?.index()]
    }

    fn bind(&mut self, old: &[ValueId], new: &[ValueId]) {
        for (old, new) in old.iter().zip(new) {
            self.renamed[old.index()] = Some(*new);
        }
    }

    fn renamed(&self, old: ValueId) -> ValueId {
        self.renamed[old.index()].expect("a verified body defines values before their use")
    }

    fn all_renamed(&self, old: &[ValueId]) -> Vec<ValueId> {
        old.iter().map(|&value| self.renamed(value)).collect()
    }
}
