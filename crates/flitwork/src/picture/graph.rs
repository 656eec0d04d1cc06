//! The picture of an elaborated graph.

use ir::{BoundaryDirection, ChannelEnd, MessageKind, Param};
use sema::catalogue::ElementInfo;
use sema::graph::{DEPTH_DEFAULT, Graph, Instance};

use super::{Edge, Node, Picture, Shape};

/// Characters of a box's second line; longer ones end in `…`, the graph dump has all of it.
const DETAIL_CHARS_MAX: usize = 30;

/// Draws every instance and boundary port once, and `Drop` and `Idle` at each use: lines from all over to one bin would hide the rest.
///
/// Parameters are shown where they differ from the default that `library` gives.
pub fn of_graph(graph: &Graph, library: &[ElementInfo]) -> Picture {
    let boundaries = graph.boundaries.iter().map(|boundary| {
        let (n_inputs, n_outputs) = match boundary.direction {
            BoundaryDirection::In => (0, 1),
            BoundaryDirection::Out => (1, 0),
        };
        let detail = boundary.rate_bps.map_or(String::new(), rate_text);
        Node { name: boundary.name.clone(), detail, shape: Shape::Boundary, n_inputs, n_outputs }
    });
    let mut nodes: Vec<Node> = boundaries.collect();
    let first_instance = nodes.len();
    nodes.extend(graph.instances.iter().map(|instance| node(instance, library)));
    let mut edges = Vec::new();
    for channel in &graph.channels {
        let mut end = |end: ChannelEnd, name: &str, n_inputs: usize| match end {
            ChannelEnd::Element { element, port } => (first_instance + element.index(), port as usize),
            ChannelEnd::Boundary(boundary) => (boundary.index(), 0),
            ChannelEnd::Null => {
                let shape = Shape::Null;
                nodes.push(Node {
                    name: name.to_string(),
                    detail: String::new(),
                    shape,
                    n_inputs,
                    n_outputs: 1 - n_inputs,
                });
                (nodes.len() - 1, 0)
            }
        };
        let (from, from_port) = end(channel.from, "Idle", 0);
        let (to, to_port) = end(channel.to, "Drop", 1);
        let message = &graph.message_types[channel.to_type.index()];
        let message_label = match message.kind {
            MessageKind::Struct => message.name.as_str(),
            MessageKind::Flit | MessageKind::Packet => "",
        };
        let depth_label = if channel.depth == DEPTH_DEFAULT { String::new() } else { format!("*{}", channel.depth) };
        let arrow = if channel.lossy { "=>" } else { "->" };
        let (source, sink) = (graph.source_text(channel.from), graph.sink_text(channel.to));
        edges.push(Edge {
            from,
            from_port,
            to,
            to_port,
            lossy: channel.lossy,
            label: format!("{message_label}{depth_label}"),
            tooltip: format!("{source} {arrow} {sink}: {}, depth {}", message.name, channel.depth),
        });
    }
    Picture { title: graph.name.clone(), nodes, edges }
}

fn node(instance: &Instance, library: &[ElementInfo]) -> Node {
    let declared = library.iter().find(|info| info.name == instance.kind).map_or(&[][..], |info| &info.params);
    let is_default = |param: &Param| {
        declared.iter().any(|info| info.name == param.name && info.default.as_ref() == Some(&param.value))
    };
    let told = instance.params.iter().filter(|param| !is_default(param));
    let params: Vec<String> = told.map(|param| format!("{}={}", param.name, param.value)).collect();
    let full =
        if params.is_empty() { instance.kind.clone() } else { format!("{}({})", instance.kind, params.join(", ")) };
    let detail = match full.chars().count() > DETAIL_CHARS_MAX {
        true => format!("{}…", full.chars().take(DETAIL_CHARS_MAX - 1).collect::<String>()),
        false => full,
    };
    Node {
        name: instance.name.clone(),
        detail,
        shape: if instance.on_host { Shape::HostElement } else { Shape::Element },
        n_inputs: instance.inputs.len(),
        n_outputs: instance.outputs.len(),
    }
}

/// `10 Gbit/s` where that is exact, else bits.
fn rate_text(rate_bps: u64) -> String {
    let units = [(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s"), (1_000, "kbit/s")];
    match units.iter().find(|(unit, _)| rate_bps > 0 && rate_bps.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", rate_bps / unit),
        None => format!("{rate_bps} bit/s"),
    }
}
