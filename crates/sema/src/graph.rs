//! The elaborated graph: every instance, channel and boundary port, groups inlined, counts and types decided.
//!
//! It is what `dump --stage graph` prints and what pictures are drawn from; together with the lowered bodies of its instances
//! it becomes an [`ir::Design`].

use std::fmt::Write as _;

use diag::Span;
use ir::{Boundary, BoundaryDirection, Channel, ChannelEnd, MessageType, MessageTypeId, Param};

/// Depth in messages of a channel for which the user gives none.
pub const DEPTH_DEFAULT: u32 = 64;

/// An application's graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The application's name: the file stem, or the folder of an `app.clnp`.
    pub name: String,
    /// Element instances in source order; [`ir::ElementId`] is the position.
    pub instances: Vec<Instance>,
    /// Channels in source order.
    pub channels: Vec<Channel>,
    /// Boundary ports in order of first use.
    pub boundaries: Vec<Boundary>,
    /// Message types; 0 is `flit_t`, 1 is `packet`.
    pub message_types: Vec<MessageType>,
}

/// An element instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Groups as path: `encap/push`; anonymous ones `Tee#1`.
    pub name: String,
    /// The element's own name, aliases followed.
    pub kind: String,
    /// Parameter values.
    pub params: Vec<Param>,
    /// `@`.
    pub host_control: bool,
    /// `&`.
    pub autorun: bool,
    /// `host`.
    pub on_host: bool,
    /// Message type of each input; `PORT_1` is index 0.
    pub inputs: Vec<MessageTypeId>,
    /// Message type of each output.
    pub outputs: Vec<MessageTypeId>,
    /// The instance declaration.
    pub span: Span,
}

impl Graph {
    /// How a channel end is written in a chain: `parse[2]`, `nic_in`, `Drop`, `Idle`.
    pub fn source_text(&self, end: ChannelEnd) -> String {
        match end {
            ChannelEnd::Element { element, port } => format!("{}[{}]", self.instances[element.index()].name, port + 1),
            ChannelEnd::Boundary(boundary) => self.boundaries[boundary.index()].name.clone(),
            ChannelEnd::Null => "Idle".to_string(),
        }
    }

    /// How the reading end of a channel is written: `[2]mux`, `nic_out`, `Drop`.
    pub fn sink_text(&self, end: ChannelEnd) -> String {
        match end {
            ChannelEnd::Element { element, port } => format!("[{}]{}", port + 1, self.instances[element.index()].name),
            ChannelEnd::Boundary(boundary) => self.boundaries[boundary.index()].name.clone(),
            ChannelEnd::Null => "Drop".to_string(),
        }
    }

    fn type_names(&self, ports: &[MessageTypeId]) -> String {
        let names: Vec<&str> = ports.iter().map(|port| self.message_types[port.index()].name.as_str()).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    }
}

/// The graph as text, one line an item: boundaries, instances, channels.
pub fn to_text(graph: &Graph) -> String {
    let mut text = format!("graph {}\n", graph.name);
    for boundary in &graph.boundaries {
        let way = match boundary.direction {
            BoundaryDirection::In => "in",
            BoundaryDirection::Out => "out",
        };
        let rate = boundary.rate_bps.map_or(String::new(), |rate| format!(" (rate = {rate})"));
        line(&mut text, format_args!("boundary {way} {}{rate}", boundary.name));
    }
    for instance in &graph.instances {
        line(&mut text, format_args!("{}", instance_text(graph, instance)));
    }
    for channel in &graph.channels {
        let arrow = if channel.lossy { "=>" } else { "->" };
        let (from, to) = (graph.source_text(channel.from), graph.sink_text(channel.to));
        let written = &graph.message_types[channel.from_type.index()].name;
        let read = &graph.message_types[channel.to_type.index()].name;
        let types = if written == read { written.clone() } else { format!("{written} as {read}") };
        line(&mut text, format_args!("channel {from} {arrow} {to}: {types}, depth {}", channel.depth));
    }
    text
}

fn instance_text(graph: &Graph, instance: &Instance) -> String {
    let host = if instance.on_host { "host " } else { "" };
    let control = if instance.host_control { " @" } else { "" };
    let autorun = if instance.autorun { " &" } else { "" };
    let params: Vec<String> = instance.params.iter().map(|param| format!("{} = {}", param.name, param.value)).collect();
    let (inputs, outputs) = (graph.type_names(&instance.inputs), graph.type_names(&instance.outputs));
    format!(
        "instance {host}{} :: {}{control}{autorun} ({}) in: {inputs}; out: {outputs}",
        instance.kind,
        instance.name,
        params.join(", ")
    )
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("strings take all text");
}
