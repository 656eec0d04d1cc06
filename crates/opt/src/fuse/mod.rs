//! Fusion: the packet elements that packets reach from boundary inputs become one body, an [`ir::Chain`].
//!
//! A member that packets reach in one way only stands inside the branch that leads to it, so what that branch knows holds in it. The
//! others follow at the top, in topological order, each inside an `if` that asks whether the packet got there.
//! Expects: a verified design. Ensures: a chain that `ir::verify_chain` accepts and that does to each packet what the members do,
//! one after the other. Members without a place in it: those on a cycle, those with a `.body`, and those that wake up by themselves,
//! read flits or write structs; packets that go there leave the chain. Linear in ops, times the depth of their nesting.
//! Test: `tests/opt/fuse/`, `crates/opt/tests/chains.rs`.

mod code;
mod emits;
mod member;
mod names;
mod select;

use std::collections::{BTreeMap, BTreeSet};

use ir::chain::{CAUSE_NO_PORT, CAUSE_UNDECIDED};
use ir::{
    Attr, Boundary, Chain, ChainVar, ChannelEnd, ChannelId, Counter, Design, ElementId, MessageKind, Op, Opcode,
    ValueId, Width,
};

use crate::fuse::code::{Code, plain};
use crate::fuse::emits::Emits;
use crate::fuse::member::Fate;
use crate::fuse::names::Names;
use crate::fuse::select::{Selection, packet_reader, select};

const MASK: Width = Width::of(32);
const COUNTER: Width = Width::of(64);
/// Members inside of each other's branches. Deeper ones stand at the top, because regions must not nest too deeply.
const NESTED_MAX: usize = 24;

/// Makes a chain of a design; None if no boundary input leads to an element that can be in one.
pub fn run(design: &Design) -> Option<Chain> {
    let selection = select(design)?;
    let mut fuser = Fuser::new(design, &selection);
    let body = fuser.root();
    let Fuser { names, order, .. } = fuser;
    Some(Chain { entries: selection.entries, members: order, vars: names.vars, reasons: names.reasons, body })
}

struct Fuser<'a> {
    design: &'a Design,
    selection: &'a Selection,
    emits: BTreeMap<ElementId, &'a Emits>,
    /// Members that stand in the branch that leads to them.
    nested: BTreeSet<ElementId>,
    /// By member: the channels to members at the top by which a packet may leave it or the members in its branches.
    joins: BTreeMap<ElementId, Vec<ChannelId>>,
    code: Code,
    names: Names,
    /// Members in the order of their code.
    order: Vec<ElementId>,
}

/// Where the packet is behind some code: values.
struct Outcome {
    exit: ValueId,
    ports: ValueId,
    stop: ValueId,
    /// Whether it went into each of the member's `joins`.
    joins: Vec<ValueId>,
}

impl Outcome {
    fn values(&self) -> Vec<ValueId> {
        [&[self.exit, self.ports, self.stop], &self.joins[..]].concat()
    }

    fn from_values(values: &[ValueId]) -> Outcome {
        Outcome { exit: values[0], ports: values[1], stop: values[2], joins: values[3..].to_vec() }
    }
}

/// Where an output leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nowhere: the packet is counted.
    Counted(Counter),
    /// To a member.
    Member(ChannelId, ElementId),
    /// Out of the graph, at once.
    Out(ChannelId),
    /// To whatever the event loop has to see to.
    Outside,
}

impl<'a> Fuser<'a> {
    fn new(design: &'a Design, selection: &'a Selection) -> Fuser<'a> {
        let emits: BTreeMap<ElementId, &Emits> = selection.members.iter().map(|(id, emits)| (*id, emits)).collect();
        let mut fuser = Fuser {
            design,
            selection,
            emits,
            nested: BTreeSet::new(),
            joins: BTreeMap::new(),
            code: Code::new(),
            names: Names::default(),
            order: Vec::new(),
        };
        fuser.find_nested();
        fuser.find_joins();
        fuser
    }

    fn find_nested(&mut self) {
        let mut depths: BTreeMap<ElementId, usize> = BTreeMap::new();
        for (id, _) in &self.selection.members {
            let depth = match self.selection.incoming[id][..] {
                [(_, channel)] => match self.design.channels[channel.index()].from {
                    ChannelEnd::Element { element, .. } => depths[&element] + 1,
                    ChannelEnd::Boundary(_) | ChannelEnd::Null => 0,
                },
                _ => 0,
            };
            let is_nested = depth > 0 && depth < NESTED_MAX;
            depths.insert(*id, if is_nested { depth } else { 0 });
            if is_nested {
                self.nested.insert(*id);
            }
        }
    }

    fn find_joins(&mut self) {
        for (id, emits) in self.selection.members.iter().rev() {
            let mut joins = Vec::new();
            for &port in &emits.ports {
                if let Way::Member(channel, to) = self.way(*id, port) {
                    match self.nested.contains(&to) {
                        true => joins.extend(&self.joins[&to]),
                        false => joins.push(channel),
                    }
                }
            }
            self.joins.insert(*id, joins);
        }
    }

    fn way(&self, id: ElementId, port: u32) -> Way {
        let Some(channel_id) = self.design.elements[id.index()].outputs[port as usize].channel else {
            return Way::Counted(Counter::Unconnected(id, port));
        };
        let channel = &self.design.channels[channel_id.index()];
        match channel.to {
            ChannelEnd::Null => Way::Counted(Counter::Channel(channel_id)),
            ChannelEnd::Element { .. } => match packet_reader(self.design, channel_id) {
                Some((to, _)) if self.emits.contains_key(&to) => Way::Member(channel_id, to),
                _ => Way::Outside,
            },
            ChannelEnd::Boundary(boundary) => {
                let Boundary { rate_bps, message, .. } = &self.design.boundaries[boundary.index()];
                let kind = |message: ir::MessageTypeId| self.design.message_types[message.index()].kind;
                let is_plain = kind(*message) == MessageKind::Packet
                    && kind(channel.from_type) == MessageKind::Packet
                    && kind(channel.to_type) == MessageKind::Packet;
                if rate_bps.is_none() && is_plain && channel.depth > 0 { Way::Out(channel_id) } else { Way::Outside }
            }
        }
    }

    /// The whole body: the members at the top, each if the packet gets there.
    fn root(&mut self) -> ir::Body {
        let entry = self.code.value(Opcode::PktInPort, &[], MASK);
        let mut arrived: BTreeMap<ChannelId, ValueId> = BTreeMap::new();
        for (idx, &channel) in self.selection.entries.iter().enumerate() {
            let arrives = self.code.is(entry, idx as u64 + 1);
            arrived.insert(channel, arrives);
        }
        let mut end = self.nowhere(0);
        let members = self.selection.members.iter().map(|(id, _)| *id);
        let at_top: Vec<ElementId> = members.filter(|id| !self.nested.contains(id)).collect();
        for id in at_top {
            let ways = &self.selection.incoming[&id];
            let mut arrives = self.code.bit(false);
            let mut in_port = self.code.constant(u64::from(ways[0].0) + 1, MASK);
            for (idx, (port, channel)) in ways.iter().enumerate() {
                let here = arrived[channel];
                if idx > 0 {
                    let number = self.code.constant(u64::from(*port) + 1, MASK);
                    in_port = self.code.select(here, number, in_port);
                }
                arrives = self.code.or(arrives, here);
            }
            let takes_all = self.selection.entries.iter().all(|entry| ways.iter().any(|(_, way)| way == entry));
            if takes_all && ways.len() == self.selection.entries.len() {
                arrives = self.code.bit(true);
            }
            let n_joins = self.joins[&id].len();
            let outcome = self.branch(arrives, |fuser| fuser.member(id, in_port), |fuser| fuser.nowhere(n_joins));
            end.exit = self.code.or(end.exit, outcome.exit);
            end.ports = self.code.or(end.ports, outcome.ports);
            end.stop = self.code.or(end.stop, outcome.stop);
            arrived.extend(self.joins[&id].iter().copied().zip(outcome.joins));
        }
        let yields = vec![end.exit, end.ports, end.stop];
        std::mem::replace(&mut self.code, Code::new()).finish(yields)
    }

    /// One side or the other; both have as many joins.
    fn branch(
        &mut self,
        condition: ValueId,
        yes: impl FnOnce(&mut Self) -> Outcome,
        no: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        match self.code.known(condition) {
            Some(0) => return no(self),
            Some(_) => return yes(self),
            None => {}
        }
        let opened = self.code.open(&[]);
        let outcome = yes(self);
        let yes = self.code.close(opened, outcome.values());
        let opened = self.code.open(&[]);
        let outcome = no(self);
        let no = self.code.close(opened, outcome.values());
        Outcome::from_values(&self.code.if_(condition, [yes, no], None))
    }

    /// The packet is over, or did not get here.
    fn nowhere(&mut self, n_joins: usize) -> Outcome {
        let (zero, no) = (self.code.constant(0, MASK), self.code.bit(false));
        Outcome { exit: zero, ports: zero, stop: no, joins: vec![no; n_joins] }
    }

    /// It leaves a member through outputs.
    fn exit(&mut self, id: ElementId, ports: ValueId, stop: bool) -> Outcome {
        let exit = self.code.constant(u64::from(id.0) + 1, MASK);
        let stop = self.code.bit(stop);
        Outcome { exit, ports, stop, ..self.nowhere(self.joins[&id].len()) }
    }

    fn count(&mut self, counter: Counter) {
        let var = Attr::Var(self.names.var(ChainVar::Counter(counter)));
        let count = self.code.add(plain(Opcode::RegRead, var.clone(), vec![]), &[COUNTER])[0];
        let one = self.code.constant(1, COUNTER);
        let next = self.code.value(Opcode::Add, &[count, one], COUNTER);
        self.code.add(plain(Opcode::RegWrite, var, vec![next]), &[]);
    }

    /// The code of a member and of those in its branches.
    fn member(&mut self, id: ElementId, in_port: ValueId) -> Outcome {
        self.order.push(id);
        let (design, emits) = (self.design, self.emits[&id]);
        let element = &design.elements[id.index()];
        if element.inputs.iter().filter(|input| input.channel.is_some()).count() > 1 {
            let var = Attr::Var(self.names.var(ChainVar::Counter(Counter::LastInput(id))));
            let number = self.code.value(Opcode::ZExt, &[in_port], COUNTER);
            self.code.add(plain(Opcode::RegWrite, var, vec![number]), &[]);
        }
        let (fate, causes) = member::add(&mut self.code, &mut self.names, (id, element, emits), in_port);
        let stays = self.code.not(fate.dropped);
        self.branch(stays, |fuser| fuser.send(id, emits, &fate), |fuser| fuser.dropped(id, &causes, fate.cause))
    }

    /// Counts a dropped packet by its cause, one of these.
    fn dropped(&mut self, id: ElementId, causes: &[u32], cause: ValueId) -> Outcome {
        let Some((&number, others)) = causes.split_first() else { return self.nowhere(self.joins[&id].len()) };
        let is_this = if others.is_empty() { self.code.bit(true) } else { self.code.is(cause, number.into()) };
        self.branch(
            is_this,
            |fuser| {
                if number == CAUSE_NO_PORT {
                    // The event loop counts it, with the number of the port.
                    let none = fuser.code.constant(0, MASK);
                    return fuser.exit(id, none, true);
                }
                fuser.count(Counter::Dropped(id, number));
                fuser.nowhere(fuser.joins[&id].len())
            },
            |fuser| fuser.dropped(id, others, cause),
        )
    }

    /// Sends a packet that was not dropped where it was emitted to.
    fn send(&mut self, id: ElementId, emits: &Emits, fate: &Fate) -> Outcome {
        let bits = emits.ports.iter().copied().zip(fate.emitted.iter().copied());
        if emits.at_most_once {
            return self.send_once(id, &bits.collect::<Vec<(u32, ValueId)>>());
        }
        let (mut real, mut any) = (Vec::new(), self.code.bit(false));
        for (port, bit) in bits {
            any = self.code.or(any, bit);
            match self.way(id, port) {
                Way::Counted(counter) => self.if_only(bit, |fuser| fuser.count(counter)),
                Way::Member(..) | Way::Out(_) | Way::Outside => real.push((port, bit)),
            }
        }
        let undecided = self.code.not(any);
        self.if_only(undecided, |fuser| fuser.count(Counter::Dropped(id, CAUSE_UNDECIDED)));
        if real.len() < 2 {
            return self.send_real(id, &real);
        }
        let mut ports = self.code.constant(0, MASK);
        for &(port, bit) in &real {
            let (set, unset) = (self.code.constant(1 << port, MASK), self.code.constant(0, MASK));
            let here = self.code.select(bit, set, unset);
            ports = self.code.or(ports, here);
        }
        let several = self.several(&real);
        self.branch(several, |fuser| fuser.exit(id, ports, true), |fuser| fuser.send_real(id, &real))
    }

    /// Whether more than one of the bits is 1.
    fn several(&mut self, real: &[(u32, ValueId)]) -> ValueId {
        let (mut any, mut several) = (self.code.bit(false), self.code.bit(false));
        for &(_, bit) in real {
            let again = self.code.and(any, bit);
            several = self.code.or(several, again);
            any = self.code.or(any, bit);
        }
        several
    }

    /// As `send`, where at most one bit is 1.
    fn send_once(&mut self, id: ElementId, bits: &[(u32, ValueId)]) -> Outcome {
        let Some((&(port, bit), others)) = bits.split_first() else {
            self.count(Counter::Dropped(id, CAUSE_UNDECIDED));
            return self.nowhere(self.joins[&id].len());
        };
        self.branch(bit, |fuser| fuser.send_to(id, port), |fuser| fuser.send_once(id, others))
    }

    /// As `send_once`, if it is not undecided.
    fn send_real(&mut self, id: ElementId, bits: &[(u32, ValueId)]) -> Outcome {
        let Some((&(port, bit), others)) = bits.split_first() else {
            return self.nowhere(self.joins[&id].len());
        };
        self.branch(bit, |fuser| fuser.send_to(id, port), |fuser| fuser.send_real(id, others))
    }

    /// Sends the packet through one output alone.
    fn send_to(&mut self, id: ElementId, port: u32) -> Outcome {
        match self.way(id, port) {
            Way::Counted(counter) => {
                self.count(counter);
                self.nowhere(self.joins[&id].len())
            }
            Way::Member(channel, to) => {
                self.count(Counter::Channel(channel));
                self.enter(id, channel, to)
            }
            Way::Out(channel) => {
                self.count(Counter::Channel(channel));
                let ports = self.code.constant(1 << port, MASK);
                self.exit(id, ports, false)
            }
            Way::Outside => {
                let ports = self.code.constant(1 << port, MASK);
                self.exit(id, ports, true)
            }
        }
    }

    /// The packet goes on to another member: here, or later at the top.
    fn enter(&mut self, id: ElementId, channel: ChannelId, to: ElementId) -> Outcome {
        let mut outcome = self.nowhere(self.joins[&id].len());
        let mut inner: BTreeMap<ChannelId, ValueId> = BTreeMap::new();
        if self.nested.contains(&to) {
            let in_port = self.code.constant(u64::from(self.selection.incoming[&to][0].0) + 1, MASK);
            let there = self.member(to, in_port);
            inner.extend(self.joins[&to].iter().copied().zip(there.joins));
            (outcome.exit, outcome.ports, outcome.stop) = (there.exit, there.ports, there.stop);
        } else {
            inner.insert(channel, self.code.bit(true));
        }
        for (join, bit) in self.joins[&id].iter().zip(&mut outcome.joins) {
            if let Some(&arrives) = inner.get(join) {
                *bit = arrives;
            }
        }
        outcome
    }

    /// Something that is done only if a bit is 1.
    fn if_only(&mut self, condition: ValueId, then: impl FnOnce(&mut Self)) {
        match self.code.known(condition) {
            Some(0) => return,
            Some(_) => return then(self),
            None => {}
        }
        let opened = self.code.open(&[]);
        then(self);
        let yes = self.code.close(opened, vec![]);
        let opened = self.code.open(&[]);
        let no = self.code.close(opened, vec![]);
        self.code.add(Op { regions: vec![yes, no], ..plain(Opcode::If, Attr::None, vec![condition]) }, &[]);
    }
}
