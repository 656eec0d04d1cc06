//! Flit runs: flit elements that forward whatever comes become packet elements, for software engines.
//!
//! Such an element has one input and writes each flit, as it is, to the same outputs. Where its flits are made of whole packets, it
//! forwards those packets: the flits need not be made.
//! Expects: a verified design. Ensures: a verified design through which the same packets go, with the same counts of packets. What
//! counts flits counts packets at the elements and channels that were changed: firings, messages, depth. Packets keep what flits
//! lose, see [`forwarders`]. Linear in ops and channels. Test: `tests/opt/runs/`.

use std::collections::BTreeSet;

use ir::{
    Attr, Body, BodyKind, Builder, ChannelEnd, Design, Element, ElementId, Handler, MessageKind, MessageTypeId, Op,
    Opcode, RegionId, Value, ValueId, Width,
};

/// Replaces the elements that [`forwarders`] finds.
pub fn run(design: &Design) -> Design {
    let found = forwarders(design);
    let mut changed = design.clone();
    for &id in &found {
        let outputs = forwards(&design.elements[id.index()]).expect("forwarders forward");
        forward_packets(&mut changed.elements[id.index()], &outputs);
    }
    let takes_packets = |end: ChannelEnd| match end {
        ChannelEnd::Element { element, .. } => found.contains(&element),
        ChannelEnd::Boundary(_) | ChannelEnd::Null => false,
    };
    for channel in &mut changed.channels {
        if takes_packets(channel.from) {
            channel.from_type = Design::PACKET;
        }
        let ends = channel.to == ChannelEnd::Null && takes_packets(channel.from);
        if ends || takes_packets(channel.to) {
            channel.to_type = Design::PACKET;
        }
    }
    changed
}

/// The flit elements that only forward whole packets.
///
/// Packets that go through flits lose two things that are not in them: by how much a damaged capture understates a length
/// (`Packet::excess`), and the header of a link layer other than Ethernet. Whoever runs the changed design takes them away where
/// packets enter these elements.
pub fn forwarders(design: &Design) -> BTreeSet<ElementId> {
    let ids = (0..design.elements.len() as u32).map(ElementId);
    let mut found: BTreeSet<ElementId> = ids.filter(|id| forwards(&design.elements[id.index()]).is_some()).collect();
    loop {
        let gets_packets = |id: &ElementId| {
            let input = design.elements[id.index()].inputs[0];
            let Some(channel) = input.channel.map(|channel| &design.channels[channel.index()]) else { return false };
            match channel.from {
                ChannelEnd::Element { element, .. } => {
                    found.contains(&element) || kind(design, channel.from_type) == MessageKind::Packet
                }
                ChannelEnd::Boundary(_) => kind(design, channel.from_type) == MessageKind::Packet,
                ChannelEnd::Null => false,
            }
        };
        let kept: BTreeSet<ElementId> = found.iter().copied().filter(gets_packets).collect();
        if kept.len() == found.len() {
            return kept;
        }
        found = kept;
    }
}

fn kind(design: &Design, message: MessageTypeId) -> MessageKind {
    design.message_types[message.index()].kind
}

/// The outputs, from 0, to which a flit element writes each flit as it came; None if it does anything else.
fn forwards(element: &Element) -> Option<BTreeSet<u32>> {
    let Handler::Flit(body) = &element.handler else { return None };
    let [input] = &element.inputs[..] else { return None };
    let is_flit = |port: &ir::Port| port.message == Design::FLIT;
    if !is_flit(input) || !element.outputs.iter().all(is_flit) || element.timing.always {
        return None;
    }
    let outputs = Pattern { body }.outputs()?;
    let exist = outputs.iter().all(|&port| (port as usize) < element.outputs.len());
    (exist && !outputs.is_empty()).then_some(outputs)
}

/// The one form that is known: if there is a flit, it is read and written; it waits for the next.
struct Pattern<'a> {
    body: &'a Body,
}

impl Pattern<'_> {
    fn outputs(&self) -> Option<BTreeSet<u32>> {
        let [test, choice] = self.ops(self.body.root)[..] else { return None };
        let root = self.body.region(self.body.root);
        let waits = self.is_one(*root.yields.first()?);
        let asks = test.code == Opcode::InReady && self.is_one(test.operands[0]);
        if !waits || !asks || choice.code != Opcode::If || choice.operands != test.results {
            return None;
        }
        if !self.ops(choice.regions[1]).is_empty() {
            return None;
        }
        let inside = self.ops(choice.regions[0]);
        let (read, writes) = inside.split_first()?;
        if read.code != Opcode::InRead || !self.is_one(read.operands[0]) {
            return None;
        }
        writes.iter().map(|write| self.port(write, &read.results)).collect()
    }

    /// The output, from 0, to which an op writes these fields.
    fn port(&self, write: &Op, fields: &[ValueId]) -> Option<u32> {
        let (&port, written) = write.operands.split_first()?;
        if write.code != Opcode::OutWrite || written != fields {
            return None;
        }
        u32::try_from(self.constant(port)?).ok()?.checked_sub(1)
    }

    /// The ops of a region that are no constants.
    fn ops(&self, region: RegionId) -> Vec<&Op> {
        let ops = self.body.region(region).ops.iter().map(|&op| self.body.op(op));
        ops.filter(|op| op.code != Opcode::Const).collect()
    }

    fn is_one(&self, value: ValueId) -> bool {
        self.constant(value) == Some(1)
    }

    fn constant(&self, value: ValueId) -> Option<u64> {
        let op = self.body.ops.iter().find(|op| op.results.first() == Some(&value))?;
        match (op.code, &op.attr) {
            (Opcode::Const, Attr::Const(known)) => Value::to_u64(known),
            _ => None,
        }
    }
}

/// Makes an element forward packets to outputs, from 0.
fn forward_packets(element: &mut Element, outputs: &BTreeSet<u32>) {
    let mut builder = Builder::new(BodyKind::Packet, &[]);
    for &port in outputs {
        let port = builder.const_u64(u64::from(port) + 1, Width::of(32));
        builder.emit(port);
    }
    let head = Box::new(builder.finish(vec![]));
    element.handler = Handler::Packet { window: 0, grow: 0, store: None, head, tail: None, end: None };
    element.inputs.iter_mut().chain(&mut element.outputs).for_each(|port| port.message = Design::PACKET);
}
