//! The run: elements, channels, boundary ports and the clock.
//!
//! Nodes with something to do stand in one queue and get a turn each: an element fires once, an output port passes one message.
//! When the queue is empty, nothing can fire, and the next event makes time move on: a control line, a wake-up, an output port
//! that becomes free, or an arrival, in this order at one instant.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;

use ir::{BoundaryDirection, BoundaryId, ChannelEnd, ElementId, Value, Verified};

use crate::boundary::{BoundaryCounts, InPort, OutPort, RateClock};
use crate::carried::Pool;
use crate::channel::Channel;
use crate::control::{Control, ControlError, LISTING_NEXT, LISTING_VALID, SignalCall, SignalError, SignalTable};
use crate::convert::{Assembled, Assembler};
use crate::element::{ElementNode, Surroundings, Turn};
use crate::error::{RunError, SourceFailure};
use crate::io::{MessageSink, PacketSink, PacketSource, TraceSink};
use crate::options::{Hooks, Options, Outcome, Progress};

const PACKETS_PER_PROGRESS: u64 = 4096;
const NS_PER_S: u64 = 1_000_000_000;
/// How many of the last firings an error about a livelock names.
const RECENT: usize = 64;

/// One run of a design.
pub struct Runtime<'d> {
    pub(crate) design: Verified<'d>,
    options: Options,
    pub(crate) channels: Vec<Channel>,
    pub(crate) elements: Vec<ElementNode>,
    pub(crate) in_ports: Vec<InPort<'d>>,
    pub(crate) out_ports: Vec<OutPort<'d>>,
    pool: Pool,
    trace: Option<Box<dyn TraceSink + 'd>>,
    /// Nodes that may have something to do; elements first, then output ports.
    queue: VecDeque<u32>,
    nodes: Vec<NodeState>,
    /// Elements put to sleep since time last moved on; may name some that are awake again.
    sleepers: Vec<u32>,
    /// Kept for its memory.
    woken: Vec<u32>,
    /// Wake-ups of elements with inputs.
    wakes: BinaryHeap<Reverse<(u64, u32)>>,
    /// Wake-ups of elements without inputs.
    source_wakes: BinaryHeap<Reverse<(u64, u32)>>,
    signals: SignalTable,
    control: Control,
    calls: Vec<SignalCall>,
    pub(crate) now_ns: u64,
    pub(crate) start_ns: u64,
    last_entry_ns: u64,
    has_begun: bool,
    has_sources: bool,
    n_entered: u64,
    firings_at_instant: u64,
    recent: [u32; RECENT],
    source_failures: Vec<SourceFailure>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeState {
    is_queued: bool,
    is_asleep: bool,
    /// A wake-up has come.
    is_due: bool,
}

/// What makes time move on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Control,
    Wake,
    Arrival { port: usize },
}

impl<'d> Runtime<'d> {
    /// Sets up a run and runs `.init` of every element.
    pub fn new(design: Verified<'d>, options: Options) -> Result<Runtime<'d>, RunError> {
        let limits = interp::Options { bounds: options.bounds, loop_rounds_max: options.loop_rounds_max };
        let d = design.design();
        if let Some(element) = d.elements.iter().find(|element| element.inputs.len().max(element.outputs.len()) > 32) {
            return Err(RunError::TooManyPorts { element: element.name.clone(), span: element.span });
        }
        let ids = (0..d.elements.len() as u32).map(ElementId);
        let elements: Vec<ElementNode> = ids.map(|id| ElementNode::new(d, id, limits)).collect();
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
                ChannelEnd::Boundary(boundary) if d.boundaries[boundary.index()].direction == BoundaryDirection::Out => {
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

    fn trap(&self, element_idx: usize, body: &str, trap: interp::Trap) -> RunError {
        let element = self.design.design().elements[element_idx].name.clone();
        RunError::Trap { element, body: body.to_string(), trap }
    }

    /// Gives an input port its packets. A port without a source stays silent.
    pub fn attach_source(&mut self, boundary: &str, source: Box<dyn PacketSource + 'd>) -> Result<(), RunError> {
        let known = || self.in_ports.iter().map(|port| port.name.clone()).collect();
        let Some(idx) = self.in_ports.iter().position(|port| port.name == boundary) else {
            return Err(RunError::NoSuchBoundary { name: boundary.to_string(), known: known() });
        };
        self.in_ports[idx].source = Some(source);
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
        self.trace = Some(sink);
    }

    /// Schedules the signals of a control file, to be called before the run or at their times. If any line is bad, nothing of
    /// the file is applied and all its bad lines are given.
    ///
    /// A file replaces the one loaded before it, whose lines are called only if their time has come.
    pub fn load_control(&mut self, text: String) -> Result<(), Vec<ControlError>> {
        self.control = Control::new(&self.signals, text)?;
        Ok(())
    }

    /// Calls a signal now, between two firings: before, during (see [`Runtime::run_packets`]) or after the run. Arguments are
    /// given by name, in any order, and may be those of a control file; gives the results by name.
    pub fn call_signal(
        &mut self,
        instance: &str,
        signal: &str,
        arguments: &[(&str, Value)],
    ) -> Result<Vec<(String, Value)>, SignalError> {
        let (target, values) = self.signals.resolve(instance, signal, arguments)?;
        self.invoke(target.element as usize, target.signal as usize, &values)
            .map_err(|error| SignalError { message: error.to_string() })
    }

    fn invoke(&mut self, element: usize, signal: usize, values: &[Value]) -> Result<Vec<(String, Value)>, RunError> {
        let outcome = self.elements[element].machine.call_signal(signal, self.now_ns, values);
        let declared = &self.design.design().elements[element].signals[signal];
        let results = outcome.map_err(|trap| self.trap(element, &format!("signal {}", declared.name), trap))?;
        self.pass_traces(element);
        self.take_wakes(element);
        self.poke(element as u32);
        Ok(declared.results.iter().map(|field| field.name.clone()).zip(results).collect())
    }

    /// Runs to the end, or until stopped.
    pub fn run(&mut self, hooks: &mut Hooks<'_>) -> Result<Outcome, RunError> {
        self.begin()?;
        let mut stopped = false;
        let mut progress_at = self.n_entered;
        loop {
            if hooks.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                stopped = true;
                break;
            }
            if !self.step()? {
                break;
            }
            if self.n_entered - progress_at >= PACKETS_PER_PROGRESS {
                progress_at = self.n_entered;
                if let Some(progress) = &mut hooks.progress {
                    progress(self.progress());
                }
            }
        }
        if let Some(progress) = &mut hooks.progress {
            progress(self.progress());
        }
        debug_assert!(self.report().totals.balance(), "packets unaccounted for: {:?}", self.report().totals);
        let waiting = self.in_ports.iter().filter(|port| !stopped && port.next.is_some());
        let blocked_inputs = waiting.map(|port| port.name.clone()).collect();
        Ok(Outcome { stopped, source_failures: std::mem::take(&mut self.source_failures), blocked_inputs })
    }

    /// Runs until `n_packets` more have entered and run through; gives whether there is more to do.
    pub fn run_packets(&mut self, n_packets: u64) -> Result<bool, RunError> {
        self.begin()?;
        let goal = self.n_entered + n_packets;
        while self.n_entered < goal {
            if !self.step()? {
                return Ok(false);
            }
        }
        self.settle()?;
        Ok(true)
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let bytes_read = self.in_ports.iter().map(|port| port.bytes_read).sum();
        Progress { packets: self.n_entered, bytes_read, now_ns: self.now_ns }
    }

    /// The signals called from control files so far.
    pub fn signal_calls(&self) -> &[SignalCall] {
        &self.calls
    }

    /// State of an element: each variable with its words, one for a register. For tests and tools.
    pub fn state(&self, instance: &str) -> Option<Vec<(&str, Vec<Value>)>> {
        let idx = self.design.design().elements.iter().position(|element| element.name == instance)?;
        Some(self.elements[idx].machine.state().collect())
    }

    /// Sets the clock to the first packet or control line and calls the signals that come before the run.
    fn begin(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        self.fetch();
        let first_packet = self.in_ports.iter().filter_map(InPort::arrival_ns).min();
        self.control.fix_times(first_packet.unwrap_or(0));
        let first_line = self.control.next_time();
        let start_ns = first_packet.into_iter().chain(first_line).min().unwrap_or(0);
        (self.start_ns, self.now_ns, self.last_entry_ns) = (start_ns, start_ns, start_ns);
        while let Some(call) = self.control.next_untimed(&self.signals) {
            self.call(call)?;
        }
        (0..self.nodes.len() as u32).for_each(|node| self.enqueue(node));
        Ok(())
    }

    fn call(&mut self, call: crate::control::Call) -> Result<(), RunError> {
        let mut values = call.values;
        loop {
            let results = self.invoke(call.target.element as usize, call.target.signal as usize, &values)?;
            let result = |wanted: &str| results.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
            let next = result(LISTING_NEXT);
            let is_entry = call.cursor.is_none() || result(LISTING_VALID) != Some(Value::ZERO);
            // Lines that fill a table come by the million; what is worth a word is that one was refused.
            if is_entry && tells_something(&results) {
                let element = &self.design.design().elements[call.target.element as usize];
                let signal = element.signals[call.target.signal as usize].name.clone();
                let instance = element.name.clone();
                self.calls.push(SignalCall { line: call.line, time_ns: self.now_ns, instance, signal, results });
            }
            let (Some(cursor), Some(next)) = (call.cursor, next) else { break };
            // A cursor that comes round to 0 ends the listing; one that does not move would never end it.
            if next == Value::ZERO || next == values[cursor] {
                break;
            }
            values[cursor] = next;
        }
        Ok(())
    }

    /// Lets everything fire that can, then takes the next event; gives whether there was one.
    fn step(&mut self) -> Result<bool, RunError> {
        self.settle()?;
        self.fetch();
        let Some((time_ns, event)) = self.next_event() else {
            let Some(call) = self.control.next_end(&self.signals) else { return Ok(false) };
            self.call(call)?;
            self.wake_up();
            return Ok(true);
        };
        let moves_on = time_ns > self.now_ns;
        if moves_on {
            self.now_ns = time_ns;
            self.firings_at_instant = 0;
        }
        match event {
            EventKind::Control => {
                while let Some(call) = self.control.next_timed(&self.signals, self.now_ns) {
                    self.call(call)?;
                }
                self.wake_up();
            }
            EventKind::Wake => self.wake_up(),
            EventKind::Arrival { port } => {
                if moves_on {
                    // What the new time sets off comes before the packet.
                    self.wake_up();
                    self.settle()?;
                }
                if self.can_enter(port) {
                    self.enter(port);
                }
            }
        }
        Ok(true)
    }

    /// Reads the next packet of every input port that has none waiting.
    fn fetch(&mut self) {
        for port in &mut self.in_ports {
            if let Err(source) = port.fetch(&mut self.pool) {
                self.source_failures.push(SourceFailure { boundary: port.name.clone(), source });
            }
        }
    }

    fn can_enter(&self, port: usize) -> bool {
        let channel = self.in_ports[port].channel;
        channel.is_none_or(|channel| self.channels[channel as usize].has_room())
    }

    fn next_event(&mut self) -> Option<(u64, EventKind)> {
        let open = (0..self.in_ports.len()).filter(|&port| self.can_enter(port));
        let arrivals = open.filter_map(|port| Some((self.in_ports[port].arrival_ns()?, EventKind::Arrival { port })));
        // Late stamps do not turn time back, but they do come first.
        let arrival = arrivals.min();
        let limit = if arrival.is_some() { u64::MAX } else { self.wake_limit_ns() };
        let source_limit = if arrival.is_some() { u64::MAX } else { self.source_limit_ns().min(limit) };
        let due = |wakes: &BinaryHeap<Reverse<(u64, u32)>>, limit: u64| {
            wakes.peek().map(|&Reverse((time, _))| time).filter(|&time| time < limit)
        };
        let out_frees = self.out_ports.iter().filter(|port| {
            port.channel.is_some_and(|channel| self.channels[channel as usize].is_readable())
        });
        let wake = out_frees
            .map(|port| port.rate.free_at_ns())
            .chain(due(&self.wakes, limit))
            .chain(due(&self.source_wakes, source_limit))
            .min();
        let control = self.control.next_time();
        let events = [control.map(|time| (time, EventKind::Control)), wake.map(|time| (time, EventKind::Wake)), arrival];
        events.into_iter().flatten().map(|(time, event)| (time.max(self.now_ns), event)).min()
    }

    fn inputs_are_exhausted(&self) -> bool {
        self.in_ports.iter().all(|port| port.source.is_none() && port.next.is_none())
    }

    /// From when on elements without inputs are silent.
    fn source_limit_ns(&self) -> u64 {
        match self.options.duration_ns {
            Some(duration_ns) => self.start_ns.saturating_add(duration_ns),
            None if !self.has_sources => self.start_ns.saturating_add(NS_PER_S),
            None if self.inputs_are_exhausted() => self.last_entry_ns.saturating_add(1),
            None => u64::MAX,
        }
    }

    /// From when on wake-ups are ignored, if no packet can enter any more.
    fn wake_limit_ns(&self) -> u64 {
        let source_limit = self.source_limit_ns();
        let last_ns = if source_limit == u64::MAX { self.last_entry_ns } else { source_limit.max(self.last_entry_ns) };
        last_ns.saturating_add(self.options.linger_ns).saturating_add(1)
    }

    /// Wakes what waits for time to move on, or for a time that has come.
    fn wake_up(&mut self) {
        for node in std::mem::take(&mut self.sleepers) {
            if self.nodes[node as usize].is_asleep {
                self.poke(node);
            }
        }
        let source_limit = self.source_limit_ns();
        loop {
            let due = [(&mut self.wakes, u64::MAX), (&mut self.source_wakes, source_limit)].into_iter().find_map(|(wakes, limit)| {
                while let Some(&Reverse((time, element))) = wakes.peek()
                    && time <= self.now_ns
                {
                    wakes.pop();
                    if time < limit {
                        return Some(element);
                    }
                }
                None
            });
            let Some(element) = due else { break };
            self.nodes[element as usize].is_due = true;
            self.enqueue(element);
        }
        let n_elements = self.elements.len();
        for idx in 0..self.out_ports.len() {
            self.enqueue((n_elements + idx) as u32);
        }
    }

    fn enter(&mut self, port: usize) {
        let in_port = &mut self.in_ports[port];
        let carried = in_port.enter(self.now_ns);
        self.n_entered += 1;
        self.last_entry_ns = self.now_ns;
        self.firings_at_instant = 0;
        match in_port.channel {
            None => {
                in_port.counts.drop("the port is not connected");
                self.pool.give(carried);
            }
            Some(channel) => {
                let queue = &mut self.channels[channel as usize];
                queue.write_packet(carried, &mut self.pool);
                if let Some(reader) = queue.reader {
                    self.poke(reader);
                }
            }
        }
    }

    fn enqueue(&mut self, node: u32) {
        let state = &mut self.nodes[node as usize];
        if !std::mem::replace(&mut state.is_queued, true) {
            self.queue.push_back(node);
        }
    }

    /// A port of the node changed.
    fn poke(&mut self, node: u32) {
        self.nodes[node as usize].is_asleep = false;
        self.enqueue(node);
    }

    /// Gives turns until nothing can fire.
    fn settle(&mut self) -> Result<(), RunError> {
        while let Some(node) = self.queue.pop_front() {
            self.nodes[node as usize].is_queued = false;
            match (node as usize).checked_sub(self.elements.len()) {
                None => self.turn_element(node as usize)?,
                Some(out_port) => self.turn_out_port(out_port)?,
            }
        }
        Ok(())
    }

    fn turn_element(&mut self, idx: usize) -> Result<(), RunError> {
        let NodeState { is_asleep, is_due, .. } = self.nodes[idx];
        if is_asleep && !is_due {
            return Ok(());
        }
        let may_start = !self.elements[idx].is_source || self.now_ns < self.source_limit_ns();
        let mut around = Surroundings {
            channels: &mut self.channels,
            pool: &mut self.pool,
            now_ns: self.now_ns,
            woken: &mut self.woken,
        };
        let turn = self.elements[idx].turn(&mut around, is_due, may_start);
        let turn = turn.map_err(|trap| self.trap(idx, "handler", trap))?;
        if turn == Turn::Idle {
            return Ok(());
        }
        self.nodes[idx].is_due = false;
        self.recent[self.firings_at_instant as usize % RECENT] = idx as u32;
        self.firings_at_instant += 1;
        self.poke_woken();
        self.pass_traces(idx);
        self.take_wakes(idx);
        if turn == Turn::Asleep {
            self.nodes[idx].is_asleep = true;
            self.sleepers.push(idx as u32);
        } else {
            self.enqueue(idx as u32);
        }
        if self.firings_at_instant >= self.options.firings_per_instant_max {
            return Err(self.livelock());
        }
        Ok(())
    }

    fn poke_woken(&mut self) {
        let mut woken = std::mem::take(&mut self.woken);
        woken.drain(..).for_each(|node| self.poke(node));
        self.woken = woken;
    }

    fn pass_traces(&mut self, idx: usize) {
        let lines = self.elements[idx].machine.take_traces();
        let Some(trace) = &mut self.trace else { return };
        let name = &self.design.design().elements[idx].name;
        lines.for_each(|line| trace.trace(self.now_ns, name, &line));
    }

    fn take_wakes(&mut self, idx: usize) {
        let element = &mut self.elements[idx];
        let wakes = if element.is_source { &mut self.source_wakes } else { &mut self.wakes };
        for time_ns in element.machine.take_wakes() {
            if time_ns > self.now_ns {
                // Elements ask for the same time again and again while they wait.
                if element.last_wake_ns != time_ns {
                    element.last_wake_ns = time_ns;
                    wakes.push(Reverse((time_ns, idx as u32)));
                }
            } else {
                self.nodes[idx].is_due = true;
            }
        }
        if self.nodes[idx].is_due {
            self.enqueue(idx as u32);
        }
    }

    fn livelock(&self) -> RunError {
        let mut recent = self.recent.to_vec();
        recent.sort_unstable();
        recent.dedup();
        let elements = recent.iter().map(|&idx| self.design.design().elements[idx as usize].name.clone()).collect();
        RunError::Livelock { elements, firings: self.firings_at_instant, now_ns: self.now_ns }
    }

    /// Passes one message out, if there is one and the port is free.
    fn turn_out_port(&mut self, idx: usize) -> Result<(), RunError> {
        let port = &mut self.out_ports[idx];
        let Some(channel) = port.channel else { return Ok(()) };
        let queue = &mut self.channels[channel as usize];
        if !queue.is_readable() || port.rate.free_at_ns() > self.now_ns {
            return Ok(());
        }
        let outcome = if queue.carries_packets() {
            let mut carried = queue.pop_packet();
            let outcome = port.leave(&mut carried, self.now_ns);
            self.pool.give(carried);
            outcome
        } else if queue.carries_structs() {
            let fields = &self.design.design().message_types[port.message.index()].fields;
            let outcome = port.pass_message(self.now_ns, fields, queue.front());
            queue.pop_message(&mut self.pool);
            outcome
        } else {
            let assembled = port.assembler.feed(queue.front(), self.now_ns, &mut self.pool);
            queue.pop_message(&mut self.pool);
            match assembled {
                Assembled::Partial => Ok(()),
                Assembled::NoStart => {
                    port.counts.drop("no start of packet");
                    Ok(())
                }
                Assembled::Packet(mut carried) => {
                    let outcome = port.leave(&mut carried, self.now_ns);
                    self.pool.give(carried);
                    outcome
                }
            }
        };
        outcome.map_err(|source| RunError::Sink { boundary: port.name.clone(), source })?;
        if let Some(writer) = queue.writer {
            self.poke(writer);
        }
        self.enqueue((self.elements.len() + idx) as u32);
        Ok(())
    }
}

type Ports<'d> = (Vec<InPort<'d>>, Vec<(BoundaryId, OutPort<'d>)>);

fn boundary_ports<'d>(design: Verified<'d>) -> Ports<'d> {
    let mut ports: Ports<'d> = (Vec::new(), Vec::new());
    for (idx, boundary) in design.design().boundaries.iter().enumerate() {
        let id = BoundaryId(idx as u32);
        let channels = &design.design().channels;
        let end = ChannelEnd::Boundary(id);
        let channel = channels.iter().position(|channel| channel.from == end || channel.to == end).map(|idx| idx as u32);
        let (name, rate) = (boundary.name.clone(), RateClock::new(boundary.rate_bps));
        match boundary.direction {
            BoundaryDirection::In => ports.0.push(InPort {
                name,
                number: u8::try_from(idx + 1).unwrap_or(u8::MAX),
                source: None,
                next: None,
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

/// Whether the results of a signal say more than that it did as it was told.
fn tells_something(results: &[(String, Value)]) -> bool {
    match results {
        [] => false,
        [(name, value)] => name != "ok" || *value == Value::ZERO,
        _ => true,
    }
}
