//! Which elements of a design make a chain, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use ir::{
    Body, BoundaryDirection, Channel, ChannelEnd, ChannelId, Design, Element, ElementId, Handler, MessageKind, Opcode,
};

use super::emits::Emits;

/// Ops of all members: more would take a code generator too long.
const OPS_MAX: usize = 12_000;

/// The members of a chain and the ways between them.
pub(super) struct Selection {
    pub(super) entries: Vec<ChannelId>,
    /// In topological order, with what each may emit.
    pub(super) members: Vec<(ElementId, Emits)>,
    /// By member: the channels from entries and members, by input, from 0.
    pub(super) incoming: BTreeMap<ElementId, Vec<(u32, ChannelId)>>,
}

/// Selects what is reachable from boundary inputs; None if that is nothing.
pub(super) fn select(design: &Design) -> Option<Selection> {
    let candidates = reachable(design, &|_| true);
    let order = topological(design, &candidates);
    let kept: BTreeSet<ElementId> = order.iter().copied().collect();
    let members = reachable(design, &|id| kept.contains(&id));
    let entries: Vec<ChannelId> =
        entries(design, &|id| members.contains_key(&id)).map(|(channel, _)| channel).collect();
    let mut incoming: BTreeMap<ElementId, Vec<(u32, ChannelId)>> = BTreeMap::new();
    let between = members.iter().flat_map(|(&id, emits)| {
        emits.ports.iter().filter_map(move |&port| design.elements[id.index()].outputs[port as usize].channel)
    });
    for channel in entries.iter().copied().chain(between) {
        if let Some((id, port)) = packet_reader(design, channel)
            && members.contains_key(&id)
        {
            incoming.entry(id).or_default().push((port, channel));
        }
    }
    incoming.values_mut().for_each(|ports| ports.sort_unstable());
    let mut members = members;
    let in_order = order.into_iter().filter_map(|id| members.remove(&id).map(|emits| (id, emits)));
    let members: Vec<(ElementId, Emits)> = in_order.collect();
    (!members.is_empty()).then_some(Selection { entries, members, incoming })
}

/// Channels from boundary inputs to elements that are taken, with those elements.
fn entries<'a>(
    design: &'a Design,
    takes: &'a dyn Fn(ElementId) -> bool,
) -> impl Iterator<Item = (ChannelId, ElementId)> + 'a {
    let from_boundary = |channel: &Channel| match channel.from {
        ChannelEnd::Boundary(id) => design.boundaries[id.index()].direction == BoundaryDirection::In,
        ChannelEnd::Element { .. } | ChannelEnd::Null => false,
    };
    let ids = (0..design.channels.len() as u32).map(ChannelId);
    ids.filter(move |&id| from_boundary(&design.channels[id.index()])).filter_map(move |id| {
        let (element, _) = packet_reader(design, id)?;
        takes(element).then_some((id, element))
    })
}

/// The element and its input, from 0, that reads whole packets as they were written to the channel.
pub(super) fn packet_reader(design: &Design, channel: ChannelId) -> Option<(ElementId, u32)> {
    let Channel { to, from_type, to_type, depth, .. } = design.channels[channel.index()];
    let carries = from_type == Design::PACKET && to_type == Design::PACKET && depth > 0;
    match to {
        ChannelEnd::Element { element, port } if carries => Some((element, port)),
        ChannelEnd::Element { .. } | ChannelEnd::Boundary(_) | ChannelEnd::Null => None,
    }
}

/// Fusable elements that packets reach from boundary inputs through such elements only.
fn reachable(design: &Design, takes: &dyn Fn(ElementId) -> bool) -> BTreeMap<ElementId, Emits> {
    let mut found = BTreeMap::new();
    let mut n_ops = 0;
    let mut pending: std::collections::VecDeque<ElementId> =
        entries(design, takes).map(|(_, element)| element).collect();
    while let Some(id) = pending.pop_front() {
        let element = &design.elements[id.index()];
        if found.contains_key(&id) || !takes(id) || !is_fusable(design, element) {
            continue;
        }
        n_ops += bodies(element).map(|body| body.ops.len()).sum::<usize>();
        if n_ops > OPS_MAX {
            break;
        }
        let emits = Emits::of(design, element);
        pending.extend(readers(design, element, &emits));
        found.insert(id, emits);
    }
    found
}

/// The elements that an element's packets may go to.
fn readers<'a>(design: &'a Design, element: &'a Element, emits: &'a Emits) -> impl Iterator<Item = ElementId> + 'a {
    let channels = emits.ports.iter().filter_map(|&port| element.outputs[port as usize].channel);
    channels.filter_map(|channel| packet_reader(design, channel)).map(|(id, _)| id)
}

/// What runs for a packet: head and end.
pub(super) fn bodies(element: &Element) -> impl Iterator<Item = &Body> {
    let (head, end) = match &element.handler {
        Handler::Packet { head, end, .. } => (Some(&**head), end.as_deref()),
        Handler::Flit(_) => (None, None),
    };
    head.into_iter().chain(end)
}

/// Whether the element is a function from a packet to its fate, apart from its state.
fn is_fusable(design: &Design, element: &Element) -> bool {
    let Handler::Packet { tail: None, .. } = &element.handler else { return false };
    let takes_packets = |port: &ir::Port| design.message_types[port.message.index()].kind == MessageKind::Packet;
    let asks_more = |body: &Body| body.ops.iter().any(|op| matches!(op.code, Opcode::WakeAt | Opcode::OutWrite));
    !element.timing.always
        && !element.inputs.is_empty()
        && element.outputs.len() <= 32
        && element.inputs.iter().all(takes_packets)
        && !bodies(element).any(asks_more)
}

/// The elements that are on no cycle of candidates, each before those that its packets go to.
fn topological(design: &Design, candidates: &BTreeMap<ElementId, Emits>) -> Vec<ElementId> {
    let follows = |id: &ElementId| -> Vec<ElementId> {
        let to = readers(design, &design.elements[id.index()], &candidates[id]);
        let to: BTreeSet<ElementId> = to.filter(|to| candidates.contains_key(to)).collect();
        to.into_iter().collect()
    };
    let next: BTreeMap<ElementId, Vec<ElementId>> = candidates.keys().map(|id| (*id, follows(id))).collect();
    let on_cycle = |start: ElementId| {
        let mut seen = BTreeSet::new();
        let mut pending = next[&start].clone();
        while let Some(id) = pending.pop() {
            if id == start {
                return true;
            }
            if seen.insert(id) {
                pending.extend(&next[&id]);
            }
        }
        false
    };
    let free: BTreeSet<ElementId> = candidates.keys().copied().filter(|&id| !on_cycle(id)).collect();
    let mut n_before: BTreeMap<ElementId, usize> = free.iter().map(|&id| (id, 0)).collect();
    let inner = |id: &ElementId| next[id].iter().copied().filter(|to| free.contains(to)).collect::<Vec<ElementId>>();
    for to in free.iter().flat_map(inner) {
        *n_before.entry(to).or_default() += 1;
    }
    let mut ready: BTreeSet<ElementId> = free.iter().copied().filter(|id| n_before[id] == 0).collect();
    let mut order = Vec::new();
    while let Some(id) = ready.pop_first() {
        order.push(id);
        for to in inner(&id) {
            let left = n_before.get_mut(&to).expect("counted above");
            *left -= 1;
            if *left == 0 {
                ready.insert(to);
            }
        }
    }
    order
}
