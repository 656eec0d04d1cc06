//! From links to channels: group ports taken out, message types decided and compared.
//!
//! Several arrows through group ports make one channel: lossy if one of them is, as deep as the deepest that the user gave.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic};
use ir::{Channel, ChannelEnd, Design, ElementId, MessageKind, MessageTypeId};

use crate::elaborate::{Elaborated, End, RawLink, Role};
use crate::graph::DEPTH_DEFAULT;
use crate::scope::Diagnostics;

/// A channel, and whether the user gave its depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The channel.
    pub channel: Channel,
    /// A depth stands in the source.
    pub has_own_depth: bool,
}

/// The channels of an application, in order of their first arrow. Arrows into open group ports are left out; `check.rs`
/// reports those.
pub fn channels(elaborated: &Elaborated<'_>, diags: &mut Diagnostics) -> Vec<Joined> {
    let from_group: BTreeMap<End, &RawLink> =
        elaborated.links.iter().filter(|link| is_group(link.from)).map(|link| (link.from, link)).collect();
    let mut joined = Vec::new();
    for first in elaborated.links.iter().filter(|link| !is_group(link.from)) {
        let Some(whole) = follow(first, &from_group) else { continue };
        let (from_type, to_type) = types(&whole, elaborated);
        if !fit(from_type, to_type, elaborated) {
            diags.add(types_differ(&whole, (from_type, to_type), elaborated));
        }
        let channel = Channel {
            from: channel_end(whole.from),
            to: channel_end(whole.to),
            from_type,
            to_type,
            depth: whole.depth.unwrap_or(DEPTH_DEFAULT),
            lossy: whole.lossy,
            span: whole.span,
        };
        joined.push(Joined { channel, has_own_depth: whole.depth.is_some() });
    }
    joined
}

/// Lets `host_out` carry the struct messages of the element that sends to it: a program on the host reads records as well as
/// packets. The other ways out lead to wires, which take packets only.
pub fn set_host_messages(elaborated: &mut Elaborated<'_>) {
    let from_group: BTreeMap<End, &RawLink> =
        elaborated.links.iter().filter(|link| is_group(link.from)).map(|link| (link.from, link)).collect();
    let sources = elaborated.links.iter().filter(|link| !is_group(link.from));
    let mut messages = Vec::new();
    for link in sources.filter_map(|first| follow(first, &from_group)) {
        let (End::Node(at, port), End::Boundary(boundary)) = (link.from, link.to) else { continue };
        let message = elaborated.nodes[at].outputs[port as usize];
        let is_struct = elaborated.message_types.kind(message) == MessageKind::Struct;
        if is_struct && elaborated.boundaries[boundary].name == "host_out" {
            messages.push((boundary, message));
        }
    }
    for (boundary, message) in messages {
        elaborated.boundaries[boundary].message = message;
    }
}

fn is_group(end: End) -> bool {
    matches!(end, End::Group(..))
}

/// The link from its source to the first end that is no group port; nothing if a group port on the way is open.
fn follow(first: &RawLink, from_group: &BTreeMap<End, &RawLink>) -> Option<RawLink> {
    let mut whole = *first;
    // Groups wired to themselves could lead around for ever; each link is passed once at most.
    for _ in 0..=from_group.len() {
        if !is_group(whole.to) {
            return Some(whole);
        }
        let next = from_group.get(&whole.to)?;
        whole = RawLink { to: next.to, depth: whole.depth.max(next.depth), lossy: whole.lossy || next.lossy, ..whole };
    }
    None
}

fn channel_end(end: End) -> ChannelEnd {
    match end {
        End::Node(at, port) => ChannelEnd::Element { element: ElementId(at as u32), port },
        End::Boundary(at) => ChannelEnd::Boundary(ir::BoundaryId(at as u32)),
        End::Null => ChannelEnd::Null,
        End::Group(..) | End::Unknown => unreachable!("followed, and never put into a link"),
    }
}

/// What is written and what is read. `Drop` and `Idle` take the type of the other end.
fn types(link: &RawLink, elaborated: &Elaborated<'_>) -> (MessageTypeId, MessageTypeId) {
    let from = port_type(link.from, Role::Source, elaborated);
    let to = port_type(link.to, Role::Sink, elaborated);
    (from.or(to).unwrap_or(Design::FLIT), to.or(from).unwrap_or(Design::FLIT))
}

fn port_type(end: End, role: Role, elaborated: &Elaborated<'_>) -> Option<MessageTypeId> {
    match (end, role) {
        (End::Node(at, port), Role::Source) => Some(elaborated.nodes[at].outputs[port as usize]),
        (End::Node(at, port), Role::Sink) => Some(elaborated.nodes[at].inputs[port as usize]),
        (End::Boundary(at), _) => Some(elaborated.boundaries[at].message),
        (End::Group(..) | End::Null | End::Unknown, _) => None,
    }
}

fn fit(from: MessageTypeId, to: MessageTypeId, elaborated: &Elaborated<'_>) -> bool {
    let is_struct = |id| elaborated.message_types.kind(id) == MessageKind::Struct;
    from == to || (!is_struct(from) && !is_struct(to))
}

fn types_differ(link: &RawLink, types: (MessageTypeId, MessageTypeId), elaborated: &Elaborated<'_>) -> Diagnostic {
    let name = |id| elaborated.message_types.name(id);
    let (source, sink) = (port_text(link.from, Role::Source, elaborated), port_text(link.to, Role::Sink, elaborated));
    let message = format!("{source} sends `{}`, {sink} takes `{}`", name(types.0), name(types.1));
    let help = other_output(link.from, types.1, elaborated)
        .or_else(|| other_input(link.to, types.0, elaborated))
        .unwrap_or_else(|| {
            let (sent, taken) = (name(types.0), name(types.1));
            format!("put an element between them that takes `{sent}` and sends `{taken}`, or connect another element")
        });
    let mut report = Diagnostic::new(Code::E0206, link.span, message, help);
    if let End::Node(at, _) = link.from {
        report = report
            .related(elaborated.nodes[at].decl.outputs.span, format!("outputs of `{}`", elaborated.nodes[at].name));
    }
    if let End::Node(at, _) = link.to {
        report =
            report.related(elaborated.nodes[at].decl.inputs.span, format!("inputs of `{}`", elaborated.nodes[at].name));
    }
    report
}

/// "connect parse[1], which sends `packet`": another output of the source that would fit.
fn other_output(from: End, wanted: MessageTypeId, elaborated: &Elaborated<'_>) -> Option<String> {
    let End::Node(at, _) = from else { return None };
    let node = &elaborated.nodes[at];
    let port = node.outputs.iter().position(|&output| fit(output, wanted, elaborated))?;
    Some(format!(
        "connect `{}[{}]`, which sends `{}`",
        node.name,
        port + 1,
        elaborated.message_types.name(node.outputs[port])
    ))
}

fn other_input(to: End, wanted: MessageTypeId, elaborated: &Elaborated<'_>) -> Option<String> {
    let End::Node(at, _) = to else { return None };
    let node = &elaborated.nodes[at];
    let port = node.inputs.iter().position(|&input| fit(wanted, input, elaborated))?;
    Some(format!(
        "connect to `[{}]{}`, which takes `{}`",
        port + 1,
        node.name,
        elaborated.message_types.name(node.inputs[port])
    ))
}

fn port_text(end: End, role: Role, elaborated: &Elaborated<'_>) -> String {
    match (end, role) {
        (End::Node(at, port), Role::Source) => format!("`{}[{}]`", elaborated.nodes[at].name, port + 1),
        (End::Node(at, port), Role::Sink) => format!("`[{}]{}`", port + 1, elaborated.nodes[at].name),
        (End::Boundary(at), _) => format!("`{}`", elaborated.boundaries[at].name),
        (End::Group(..) | End::Null | End::Unknown, _) => {
            unreachable!("only ports with a type of their own can differ")
        }
    }
}
