//! Designs of several elements, wired as graphs: chains, forks, merges, and now and then a way back.
//!
//! Elements are made one by one; each takes outputs that are still open. What is open at the end goes to boundary ports, to
//! `Drop`, or nowhere. Packet elements, flit elements and readers of structs stand in any order behind each other.

use super::body::{Manners, Place, Style, body};
use super::flit_body::{self, FlitPorts, flit_body, source_body};
use super::packet_body::packet_body;
use super::single::span;
use super::{Random, VERDICT};
use crate::{
    Body, BodyKind, Boundary, BoundaryDirection, BoundaryId, Channel, ChannelEnd, ChannelId, Design, Element,
    ElementId, Field, Handler, MessageKind, MessageType, MessageTypeId, MetaField, Port, Signal, Timing, Value, Var,
    Width,
};

/// What offsets, indices and lengths are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostility {
    /// As in code that means well: mostly in range.
    Friendly,
    /// Near every border: of the packet, the window, the memory, 31, 32 and 64 bits.
    Hostile,
}

const IN_NAMES: [&str; 3] = ["nic_in", "tor_in", "host_in"];
const OUT_NAMES: [&str; 3] = ["nic_out", "tor_out", "host_out"];
const W32: Width = Width::of(32);

/// A random design of one to about nine elements; `size` is about the number of ops of each body.
///
/// Every element that has signals is host-controlled. Boundary ports carry packets, one output perhaps [`VERDICT`]s.
pub fn graph(seed: u64, size: u32, hostility: Hostility) -> Design {
    let mut random = Random(seed);
    let design = Design { files: vec!["random.clnp".to_string()], ..Design::new("random", meta(&mut random)) };
    let mut graph = Graph { design, open: Vec::new(), spare: Vec::new(), hostility, random: &mut random };
    let field = |name: &str, bits, signed| Field { name: name.to_string(), width: Width::of(bits), signed };
    let fields = vec![field("key.src", 32, false), field("hit", 1, false), field("delta", 16, true)];
    graph.design.message_types.push(MessageType { name: "Verdict".to_string(), kind: MessageKind::Struct, fields });
    for name in &IN_NAMES[..1 + graph.random.below(2) as usize + graph.random.below(2) as usize] {
        let rate_bps = if graph.random.one_in(12) { Some(10_000_000_000) } else { None };
        let boundary = graph.boundary(name, BoundaryDirection::In, rate_bps, Design::PACKET);
        graph.open.push(Open { from: ChannelEnd::Boundary(boundary), message: Design::PACKET });
    }
    let n_elements = 1 + graph.random.below(4) + graph.random.below(6);
    for _ in 0..n_elements {
        graph.add_element(size);
    }
    graph.close();
    graph.design
}

fn meta(random: &mut Random) -> Vec<MetaField> {
    let field = |name: &str, bits, signed| MetaField { name: name.to_string(), width: Width::of(bits), signed };
    let mut fields = vec![field("flow", 32, false)];
    if random.one_in(2) {
        fields.push(field("score[0]", 9, true));
    }
    if random.one_in(4) {
        fields.push(field("key", 100, false));
    }
    if random.one_in(4) {
        fields.push(field("late", 64, false));
    }
    fields
}

/// An output without a channel.
#[derive(Clone, Copy)]
struct Open {
    from: ChannelEnd,
    message: MessageTypeId,
}

struct Graph<'r> {
    design: Design,
    open: Vec<Open>,
    /// Packet inputs without a channel, for ways back.
    spare: Vec<ChannelEnd>,
    hostility: Hostility,
    random: &'r mut Random,
}

/// Ports of an element to be made: message types, and the outputs that its inputs take.
struct Ports {
    inputs: Vec<(MessageTypeId, Option<Open>)>,
    outputs: Vec<MessageTypeId>,
}

impl Graph<'_> {
    fn boundary(
        &mut self,
        name: &str,
        direction: BoundaryDirection,
        rate_bps: Option<u64>,
        message: MessageTypeId,
    ) -> BoundaryId {
        let span = span(self.random);
        self.design.boundaries.push(Boundary { name: name.to_string(), direction, rate_bps, message, span });
        BoundaryId(self.design.boundaries.len() as u32 - 1)
    }

    fn add_element(&mut self, size: u32) {
        let has_packets = self.open.iter().any(|open| open.message != VERDICT);
        match self.random.below(24) {
            0 => self.add_source(),
            1..=5 if has_packets => self.add_flit_element(size),
            6 if self.open.iter().any(|open| open.message == VERDICT) => self.add_struct_reader(size),
            _ => self.add_packet_element(size),
        }
    }

    /// Takes an open output: the one made last, or any.
    fn take(&mut self, is_struct: bool) -> Option<Open> {
        let fits = |open: &Open| (open.message == VERDICT) == is_struct;
        let fitting: Vec<usize> = (0..self.open.len()).filter(|&at| fits(&self.open[at])).collect();
        let last = *fitting.last()?;
        let at = if self.random.one_in(2) { last } else { self.random.pick(&fitting) };
        Some(self.open.remove(at))
    }

    fn add_packet_element(&mut self, size: u32) {
        let mut ports = Ports { inputs: Vec::new(), outputs: Vec::new() };
        for i in 0..3 {
            if i == 0 || self.random.one_in(3) {
                ports.inputs.extend(self.take(false).map(|open| (Design::PACKET, Some(open))));
            }
        }
        if ports.inputs.is_empty() || self.random.one_in(12) {
            ports.inputs.push((Design::PACKET, None));
        }
        let n_outputs = self.random.pick(&[0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4]);
        ports.outputs = vec![Design::PACKET; n_outputs];
        let struct_output = self.random.one_in(7).then_some(n_outputs as u32 + 1);
        ports.outputs.extend(struct_output.map(|_| VERDICT));
        let window = self.random.pick(&[1, 14, 34, 64, 64, 64, 100, 128]);
        let grow = self.random.pick(&[0, 0, 4, 16, 64]);
        let store = if self.random.one_in(4) { Some(self.random.pick(&[60, 64, 1514, 2048, 65536])) } else { None };
        let manners = Manners { n_packet_outputs: n_outputs as u32, struct_output, window, hostility: self.hostility };
        let vars = vars(self.random);
        let place = Place { design: &self.design, vars: &vars, store: store.is_some(), style: Style::Graph(manners) };
        let (size, random) = (self.random.below(u64::from(size) + 1) as u32, &mut *self.random);
        let head = packet_body(BodyKind::Packet, &place, manners, size, random);
        let tail = random.one_in(8).then(|| tail_body(&place, size / 2, random));
        let end = random.one_in(6).then(|| body(BodyKind::End, &[], &[], &place, size / 2, random));
        let handler = Handler::Packet {
            window,
            grow,
            store,
            head: Box::new(head),
            tail: tail.map(Box::new),
            end: end.map(Box::new),
        };
        self.finish(ports, vars, handler, size, manners);
    }

    fn add_flit_element(&mut self, size: u32) {
        let Some(first) = self.take(false) else { return };
        let is_wild = self.random.one_in(8);
        let mut ports = Ports { inputs: vec![(Design::FLIT, Some(first))], outputs: vec![Design::FLIT] };
        if is_wild {
            // Effects of single elements want these ports.
            ports.inputs.push((VERDICT, self.take(true)));
            ports.outputs.push(VERDICT);
        } else {
            if self.random.one_in(5) {
                ports.inputs.extend(self.take(false).map(|open| (Design::FLIT, Some(open))));
            }
            if self.random.one_in(5) {
                ports.inputs.extend(self.take(true).map(|open| (VERDICT, Some(open))));
            }
            if self.random.one_in(4) {
                ports.outputs.push(Design::FLIT);
            }
            if self.random.one_in(8) {
                ports.outputs.push(VERDICT);
            }
        }
        self.add_handler(ports, is_wild, size);
    }

    fn add_struct_reader(&mut self, size: u32) {
        let Some(open) = self.take(true) else { return };
        let outputs = if self.random.one_in(2) { vec![VERDICT] } else { vec![] };
        self.add_handler(Ports { inputs: vec![(VERDICT, Some(open))], outputs }, false, size);
    }

    fn add_source(&mut self) {
        self.add_handler(Ports { inputs: vec![], outputs: vec![Design::FLIT] }, false, 0);
    }

    fn add_handler(&mut self, ports: Ports, is_wild: bool, size: u32) {
        let manners = Manners { n_packet_outputs: 0, struct_output: None, window: 64, hostility: self.hostility };
        let style = if is_wild { Style::Single } else { Style::Graph(manners) };
        let vars = [flit_body::vars(), vars(self.random)].concat();
        let place = Place { design: &self.design, vars: &vars, store: false, style };
        let (size, random) = (self.random.below(u64::from(size) + 1) as u32, &mut *self.random);
        let numbers = |types: &mut dyn Iterator<Item = MessageTypeId>, wanted| -> Vec<u32> {
            (1..).zip(types).filter(|&(_, message)| message == wanted).map(|(port, _)| port).collect()
        };
        let inputs = |wanted| numbers(&mut ports.inputs.iter().map(|&(message, _)| message), wanted);
        let outputs = |wanted| numbers(&mut ports.outputs.iter().copied(), wanted);
        let by_kind = FlitPorts {
            flit_inputs: inputs(Design::FLIT),
            struct_inputs: inputs(VERDICT),
            flit_outputs: outputs(Design::FLIT),
            struct_outputs: outputs(VERDICT),
        };
        let handler = if is_wild {
            body(BodyKind::Flit, &[], &[W32], &place, size, random)
        } else if ports.inputs.is_empty() {
            source_body(&by_kind, &place, random)
        } else {
            flit_body(&by_kind, &place, size, random)
        };
        self.finish(ports, vars, Handler::Flit(handler), size, manners);
    }

    /// Adds the element with signals, and its channels.
    fn finish(&mut self, ports: Ports, vars: Vec<Var>, handler: Handler, size: u32, manners: Manners) {
        let id = ElementId(self.design.elements.len() as u32);
        let place = Place { design: &self.design, vars: &vars, store: false, style: Style::Graph(manners) };
        let n_signals = self.random.pick(&[0, 0, 1, 2]);
        let random = &mut *self.random;
        let signals: Vec<Signal> = (0..n_signals).map(|i| signal(i, &place, size / 2, random)).collect();
        let init = random.one_in(4).then(|| body(BodyKind::Init, &[], &[], &place, size / 2, random));
        let always = matches!(handler, Handler::Flit(_)) && random.one_in(30);
        let element = Element {
            name: format!("e{}", id.0),
            kind: format!("Random{}", id.0),
            host_control: true,
            autorun: false,
            on_host: false,
            params: vec![],
            inputs: Vec::new(),
            outputs: ports.outputs.iter().map(|&message| Port { message, channel: None }).collect(),
            vars,
            init,
            handler,
            signals,
            timing: Timing { ii: None, always },
            hls_pragmas: vec![],
            native: None,
            span: span(random),
        };
        self.design.elements.push(element);
        for (port, (message, open)) in (0..).zip(ports.inputs) {
            let end = ChannelEnd::Element { element: id, port };
            let channel = match open {
                Some(open) => Some(self.connect(open, end, message)),
                None if message == Design::PACKET => {
                    self.spare.push(end);
                    None
                }
                None => None,
            };
            self.design.elements[id.index()].inputs.push(Port { message, channel });
        }
        let outputs = (0..).zip(ports.outputs);
        self.open
            .extend(outputs.map(|(port, message)| Open { from: ChannelEnd::Element { element: id, port }, message }));
    }

    /// A channel from an open output to a port; the reader's port is still to be told.
    fn connect(&mut self, open: Open, to: ChannelEnd, to_type: MessageTypeId) -> ChannelId {
        let id = ChannelId(self.design.channels.len() as u32);
        let depth = if self.random.one_in(3) { 1 + self.random.below(4) as u32 } else { 64 };
        let lossy = self.random.one_in(5);
        let span = span(self.random);
        self.design.channels.push(Channel {
            from: open.from,
            to,
            from_type: open.message,
            to_type,
            depth,
            lossy,
            span,
        });
        if let ChannelEnd::Element { element, port } = open.from {
            self.design.elements[element.index()].outputs[port as usize].channel = Some(id);
        }
        id
    }

    /// Leads every open output somewhere.
    fn close(&mut self) {
        for to in std::mem::take(&mut self.spare) {
            let ChannelEnd::Element { element, port } = to else { continue };
            let way_back = self.open.iter().position(|open| open.message == Design::PACKET && self.random.one_in(3));
            if let Some(at) = way_back {
                let open = self.open.remove(at);
                let channel = self.connect(open, to, Design::PACKET);
                self.design.elements[element.index()].inputs[port as usize].channel = Some(channel);
            }
        }
        let mut names = OUT_NAMES.iter();
        for open in std::mem::take(&mut self.open) {
            let goes_nowhere = matches!(open.from, ChannelEnd::Element { .. }) && self.random.one_in(8);
            if goes_nowhere {
                continue;
            }
            let name = if self.random.one_in(8) { None } else { names.next() };
            match name {
                None => {
                    self.connect(open, ChannelEnd::Null, open.message);
                }
                Some(name) => {
                    let rate = self.random.pick(&[1_000_000, 1_000_000_000, 10_000_000_000]);
                    let rate_bps = self.random.one_in(5).then_some(rate);
                    let message = if open.message == VERDICT { VERDICT } else { Design::PACKET };
                    let boundary = self.boundary(name, BoundaryDirection::Out, rate_bps, message);
                    self.connect(open, ChannelEnd::Boundary(boundary), message);
                }
            }
        }
    }
}

/// Registers and memories of several widths, and an array of structs.
fn vars(random: &mut Random) -> Vec<Var> {
    let mut vars = Vec::new();
    let n_vars = 1 + random.below(5);
    for i in 0..n_vars {
        let width = Width::of(random.pick(&[1, 8, 9, 16, 32, 32, 33, 64, 64, 65, 128, 200, 256, 520]));
        let depth = if random.one_in(2) { Some(random.pick(&[1, 2, 7, 16, 40, 1000])) } else { None };
        vars.push(var(format!("v{i}"), width, depth, random));
    }
    if random.one_in(3) {
        let depth = Some(random.pick(&[1, 8, 33, 64]));
        for (field, bits) in [("used", 1), ("key.src", 128), ("key.port", 16), ("seen", 64), ("wide", 130)] {
            vars.push(var(format!("table.{field}"), Width::of(bits), depth, random));
        }
    }
    vars
}

fn var(name: String, width: Width, depth: Option<u64>, random: &mut Random) -> Var {
    let n_reset = random.below(depth.unwrap_or(1).min(40) + 1);
    let reset = (0..n_reset).map(|_| random.value(width)).collect();
    Var { name, width, signed: random.one_in(2), depth, reset }
}

/// A `.body`: gives the piece back as it was, or something else.
fn tail_body(place: &Place<'_>, size: u32, random: &mut Random) -> Body {
    let w256 = Width::of(256);
    body(BodyKind::Tail, &[w256, W32, W32], &[w256], place, size, random)
}

fn signal(position: u32, place: &Place<'_>, size: u32, random: &mut Random) -> Signal {
    let field = |name: &str, width| Field { name: name.to_string(), width, signed: false };
    let params: Vec<Field> = ["x", "y"][..random.below(3) as usize]
        .iter()
        .map(|name| field(name, Width::of(random.pick(&[1, 32, 64, 130]))))
        .collect();
    let results: Vec<Field> = ["a", "b"][..random.below(3) as usize]
        .iter()
        .map(|name| field(name, Width::of(random.pick(&[1, 9, 64, 200]))))
        .collect();
    let widths = |fields: &[Field]| fields.iter().map(|field| field.width).collect::<Vec<_>>();
    Signal {
        name: format!("s{position}"),
        defaults: params.iter().map(|_| Some(Value::Small(1))).collect(),
        body: body(BodyKind::Signal, &widths(&params), &widths(&results), place, size, random),
        params,
        results,
        doc: String::new(),
    }
}
