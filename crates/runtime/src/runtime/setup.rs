//! Setting a run up: elements, channels and ports from the design, sources and sinks from the caller.

use std::collections::{BinaryHeap, VecDeque};

use ir::{BoundaryDirection, BoundaryId, ChannelEnd, ElementId, MessageKind, Verified};

use super::{NodeState, RECENT, Runtime};
use crate::boundary::{BoundaryCounts, InPort, OutPort, RateClock};
use crate::carried::Pool;
use crate::channel::Channel;
use crate::control::{Control, SignalTable};
use crate::convert::Assembler;
use crate::element::ElementNode;
use crate::error::RunError;
use crate::io::{MessageSink, PacketSink, PacketSource, TraceSink};
use crate::options::Options;

impl<'d> Runtime<'d> {
    /// Sets up a run and runs `.init` of every element.
    pub fn new(design: Verified<'d>, options: Options) -> Result<Runtime<'d>, RunError> {
        let limits = options.of_engine();
        let d = design.design();
        if let Some(element) = d.elements.iter().find(|element| element.inputs.len().max(element.outputs.len()) > 32) {
            return Err(RunError::TooManyPorts { element: element.name.clone(), span: element.span });
        }
        let ids = (0..d.elements.len() as u32).map(ElementId);
        let nodes = ids.map(|id| ElementNode::new(options.engine, design, id, limits));
        let elements: Vec<ElementNode> = nodes.collect::<Result<_, _>>().map_err(RunError::Engine)?;
        let mut channels: Vec<Channel> = d.channels.iter().map(|channel| Channel::new(d, channel)).collect();
        let (in_ports, out_ports) = boundary_ports(design);
        let mut out_idx = vec![0; d.boundaries.len()];
        for (idx, port) in out_ports.iter().enumerate() {
            out_idx[port.0.index()] = idx as u32;
        }
        for (channel, queue) in d.channels.iter().zip(&mut channels) {
            let n_elements = elements.len() as u32;
            let node = |end: ChannelEnd| match end {
                ChannelEnd::Element { element, .. } => Some(element.0),
                ChannelEnd::Boundary(boundary)
                    if d.boundaries[boundary.index()].direction == BoundaryDirection::Out =>
                {
                    Some(n_elements + out_idx[boundary.index()])
                }
                ChannelEnd::Boundary(_) | ChannelEnd::Null => None,
            };
            (queue.writer, queue.reader) = (node(channel.from), node(channel.to));
        }
        let out_ports: Vec<OutPort<'d>> = out_ports.into_iter().map(|(_, port)| port).collect();
        let mut runtime = Runtime {
            nodes: vec![NodeState::default(); elements.len() + out_ports.len()],
            signals: SignalTable::new(design),
            design,
            options,
            channels,
            elements,
            in_ports,
            out_ports,
            pool: Pool::default(),
            chain: None,
            trace: None,
            queue: VecDeque::new(),
            sleepers: Vec::new(),
            woken: Vec::new(),
            wakes: BinaryHeap::new(),
            source_wakes: BinaryHeap::new(),
            control: Control::default(),
            calls: Vec::new(),
            now_ns: 0,
            start_ns: 0,
            last_entry_ns: 0,
            has_begun: false,
            has_sources: false,
            n_entered: 0,
            firings_at_instant: 0,
            recent: [0; RECENT],
            source_failures: Vec::new(),
        };
        for idx in 0..runtime.elements.len() {
            let outcome = runtime.elements[idx].machine.init();
            outcome.map_err(|trap| runtime.trap(idx, "init", trap))?;
            runtime.pass_traces(idx);
        }
        Ok(runtime)
    }

    /// Gives an input port its packets. A port without a source stays silent; one that carries structs takes none.
    pub fn attach_source(&mut self, boundary: &str, source: Box<dyn PacketSource + 'd>) -> Result<(), RunError> {
        let mut ports = self.in_ports.iter_mut().filter(|port| port.takes_packets);
        match ports.find(|port| port.name == boundary) {
            Some(port) => port.source = Some(source),
            None => {
                let ports = self.in_ports.iter().filter(|port| port.takes_packets);
                let known = ports.map(|port| port.name.clone()).collect();
                return Err(RunError::NoSuchBoundary { name: boundary.to_string(), known });
            }
        }
        self.has_sources = true;
        Ok(())
    }

    fn out_port(&mut self, boundary: &str) -> Result<&mut OutPort<'d>, RunError> {
        let known: Vec<String> = self.out_ports.iter().map(|port| port.name.clone()).collect();
        let found = self.out_ports.iter_mut().find(|port| port.name == boundary);
        found.ok_or_else(|| RunError::NoSuchBoundary { name: boundary.to_string(), known })
    }

    /// Takes the packets of an output port. Without a sink they are counted only.
    pub fn attach_sink(&mut self, boundary: &str, sink: Box<dyn PacketSink + 'd>) -> Result<(), RunError> {
        self.out_port(boundary)?.sink = Some(sink);
        Ok(())
    }

    /// Takes the messages of an output port that carries structs.
    pub fn attach_message_sink(&mut self, boundary: &str, sink: Box<dyn MessageSink + 'd>) -> Result<(), RunError> {
        self.out_port(boundary)?.message_sink = Some(sink);
        Ok(())
    }

    /// Takes the output of `trace`.
    pub fn attach_trace(&mut self, sink: Box<dyn TraceSink + 'd>) {
        let says_something = |element: &ir::Element| {
            element.bodies().iter().any(|(_, body)| body.ops.iter().any(|op| op.code == ir::Opcode::Trace))
        };
        // Most designs trace nothing.
        if !self.design.elements.iter().any(says_something) {
            return;
        }
        self.trace = Some(sink);
        self.elements.iter_mut().for_each(|element| element.machine.listen());
    }
}

type Ports<'d> = (Vec<InPort<'d>>, Vec<(BoundaryId, OutPort<'d>)>);

fn boundary_ports<'d>(design: Verified<'d>) -> Ports<'d> {
    let mut ports: Ports<'d> = (Vec::new(), Vec::new());
    for (idx, boundary) in design.design().boundaries.iter().enumerate() {
        let id = BoundaryId(idx as u32);
        let channels = &design.design().channels;
        let end = ChannelEnd::Boundary(id);
        let channel =
            channels.iter().position(|channel| channel.from == end || channel.to == end).map(|idx| idx as u32);
        let (name, rate) = (boundary.name.clone(), RateClock::new(boundary.rate_bps));
        match boundary.direction {
            BoundaryDirection::In => ports.0.push(InPort {
                name,
                takes_packets: design.message_types[boundary.message.index()].kind != MessageKind::Struct,
                number: u8::try_from(idx + 1).unwrap_or(u8::MAX),
                source: None,
                next: None,
                returned: Vec::new(),
                batch: Vec::new(),
                n_filled: 0,
                n_taken: 0,
                bytes_read: 0,
                rate,
                channel,
                counts: BoundaryCounts::default(),
                stamp_max_ns: 0,
            }),
            BoundaryDirection::Out => ports.1.push((
                id,
                OutPort {
                    name,
                    message: boundary.message,
                    sink: None,
                    message_sink: None,
                    rate,
                    channel,
                    assembler: Assembler::default(),
                    counts: BoundaryCounts::default(),
                },
            )),
        }
    }
    ports
}
