//! The run: elements, channels, boundary ports and the clock.
//!
//! Nodes with something to do stand in one queue and get a turn each: an element fires once, an output port passes one message.
//! When the queue is empty, nothing can fire, and the next event makes time move on: a control line, a wake-up, an output port
//! that becomes free, or an arrival, in this order at one instant.

mod chain;
mod live;
mod setup;
mod turns;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;

use ir::{Value, Verified};

use crate::boundary::{InPort, OutPort};
use crate::carried::Pool;
use crate::channel::Channel;
use crate::control::{Control, ControlError, LISTING_NEXT, LISTING_VALID, SignalCall, SignalError, SignalTable};
use crate::element::{ElementNode, Woken};
use crate::error::{RunError, SourceFailure};
use crate::io::TraceSink;
use crate::options::{Clock, Hooks, Options, Outcome, Progress};

const PACKETS_PER_PROGRESS: u64 = 4096;
const NS_PER_S: u64 = 1_000_000_000;
/// How many of the last firings an error about a livelock names.
const RECENT: usize = 64;
/// After so many entries a listing is taken for endless: twice the routes of the Internet.
const LISTING_CALLS_MAX: u64 = 1 << 21;

/// One run of a design.
pub struct Runtime<'d> {
    pub(crate) design: Verified<'d>,
    options: Options,
    pub(crate) channels: Vec<Channel>,
    pub(crate) elements: Vec<ElementNode>,
    pub(crate) in_ports: Vec<InPort<'d>>,
    pub(crate) out_ports: Vec<OutPort<'d>>,
    pool: Pool,
    chain: Option<Box<chain::ChainRun>>,
    trace: Option<Box<dyn TraceSink + 'd>>,
    /// Nodes that may have something to do; elements first, then output ports.
    queue: VecDeque<u32>,
    nodes: Vec<NodeState>,
    /// Elements put to sleep since time last moved on; may name some that are awake again.
    sleepers: Vec<u32>,
    /// Kept for its memory.
    woken: Vec<Woken>,
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

/// What [`Runtime::step`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It took an event.
    Event,
    /// Nothing can be done before this time, or before a source has a packet.
    Wait { until_ns: Option<u64> },
    /// Nothing is left to do.
    End,
}

/// What makes time move on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Control,
    Wake,
    Arrival { port: usize },
}

impl<'d> Runtime<'d> {
    fn trap(&self, element_idx: usize, body: &str, trap: interp::Trap) -> RunError {
        let element = self.design.design().elements[element_idx].name.clone();
        RunError::Trap { element, body: body.to_string(), trap }
    }

    /// Schedules the signals of a control file, to be called before the run or at their times. If any line is bad, nothing of
    /// the file is applied and its bad lines are given, up to a hundred.
    ///
    /// A file replaces the one loaded before it, whose lines are called only if their time has come.
    pub fn load_control(&mut self, text: String) -> Result<(), Vec<ControlError>> {
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text);
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
        let outcome = self.run_to_end(hooks);
        self.take_counts();
        outcome
    }

    fn run_to_end(&mut self, hooks: &mut Hooks<'_>) -> Result<Outcome, RunError> {
        self.begin()?;
        let mut stopped = false;
        let mut progress_at = self.n_entered;
        loop {
            if hooks.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                stopped = true;
                break;
            }
            if self.is_between_batches() {
                self.between_batches(hooks)?;
            }
            match self.step()? {
                Step::Event => {}
                Step::Wait { until_ns } => self.wait(hooks, until_ns)?,
                Step::End => break,
            }
            if self.n_entered - progress_at >= PACKETS_PER_PROGRESS {
                progress_at = self.n_entered;
                if let Some(progress) = &mut hooks.progress {
                    progress(self.progress());
                }
            }
        }
        if stopped && self.options.clock == Clock::Wall {
            self.end_live()?;
        }
        self.take_counts();
        self.flush()?;
        if let Some(progress) = &mut hooks.progress {
            progress(self.progress());
        }
        debug_assert!(self.report().totals.balance(), "packets unaccounted for: {:?}", self.report().totals);
        let waiting = self.in_ports.iter().filter(|port| !stopped && port.has_more());
        let blocked_inputs = waiting.map(|port| port.name.clone()).collect();
        Ok(Outcome { stopped, source_failures: std::mem::take(&mut self.source_failures), blocked_inputs })
    }

    /// Runs until `n_packets` more have entered and run through; gives whether there is more to do.
    pub fn run_packets(&mut self, n_packets: u64) -> Result<bool, RunError> {
        self.begin()?;
        let goal = self.n_entered + n_packets;
        while self.n_entered < goal {
            match self.step()? {
                Step::Event => {}
                Step::Wait { .. } | Step::End => {
                    self.take_counts();
                    return Ok(false);
                }
            }
        }
        self.settle()?;
        self.take_counts();
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
        Some(self.elements[idx].machine.state())
    }

    /// Sets the clock to the first packet or control line and calls the signals that come before the run.
    fn begin(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        self.fetch();
        let first_packet = match self.options.clock {
            Clock::Packets => self.in_ports.iter().filter_map(InPort::arrival_ns).min(),
            Clock::Wall => Some(live::now_ns()),
        };
        self.control.fix_times(first_packet.unwrap_or(0));
        let first_line = self.control.next_time();
        let start_ns = match self.options.clock {
            Clock::Packets => first_packet.into_iter().chain(first_line).min().unwrap_or(0),
            Clock::Wall => first_packet.unwrap_or(0),
        };
        (self.start_ns, self.now_ns, self.last_entry_ns) = (start_ns, start_ns, start_ns);
        while let Some(call) = self.control.next_untimed(&self.signals) {
            self.call(call)?;
        }
        (0..self.nodes.len() as u32).for_each(|node| self.enqueue(node));
        Ok(())
    }

    /// Calls a line of the control file.
    fn call(&mut self, call: crate::control::Call) -> Result<(), RunError> {
        let mut calls = std::mem::take(&mut self.calls);
        let outcome = self.call_into(call, &mut calls);
        self.calls = calls;
        outcome
    }

    /// Calls a signal, or goes through its listing; adds what is worth a word to `calls`.
    fn call_into(&mut self, call: crate::control::Call, calls: &mut Vec<SignalCall>) -> Result<(), RunError> {
        let mut values = call.values;
        let mut n_listed = 0;
        loop {
            let results = self.invoke(call.target.element as usize, call.target.signal as usize, &values)?;
            let result = |wanted: &str| results.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
            let next = result(LISTING_NEXT);
            let is_entry = call.cursor.is_none() || result(LISTING_VALID) != Some(Value::ZERO);
            // Lines that fill a table come by the million; what is worth a word is that one was refused.
            let is_single = call.line == 0;
            if is_entry && (is_single || tells_something(&results)) {
                let element = &self.design.design().elements[call.target.element as usize];
                let signal = element.signals[call.target.signal as usize].name.clone();
                let instance = element.name.clone();
                calls.push(SignalCall { line: call.line, time_ns: self.now_ns, instance, signal, results });
            }
            let (Some(cursor), Some(next)) = (call.cursor, next) else { break };
            // A cursor that comes round to 0 ends the listing; one that does not move would never end it.
            if next == Value::ZERO || next == values[cursor] {
                break;
            }
            values[cursor] = next;
            n_listed += 1;
            if n_listed == LISTING_CALLS_MAX {
                let element = self.design.design().elements[call.target.element as usize].name.clone();
                return Err(RunError::Livelock { elements: vec![element], firings: n_listed, now_ns: self.now_ns });
            }
        }
        Ok(())
    }

    /// Lets everything fire that can, then takes the next event, if there is one whose time has come.
    fn step(&mut self) -> Result<Step, RunError> {
        self.settle()?;
        self.fetch();
        if self.run_batch()? {
            return Ok(Step::Event);
        }
        let wall_ns = self.options.clock.now_ns();
        let Some((time_ns, event)) = self.next_event() else {
            if self.more_may_come() {
                return Ok(Step::Wait { until_ns: None });
            }
            let Some(call) = self.control.next_end(&self.signals) else { return Ok(Step::End) };
            self.call(call)?;
            self.wake_up();
            return Ok(Step::Event);
        };
        let time_ns = match wall_ns {
            Some(wall_ns) if time_ns > wall_ns.max(self.now_ns) => {
                return Ok(Step::Wait { until_ns: Some(time_ns) });
            }
            Some(wall_ns) => wall_ns.max(self.now_ns),
            None => time_ns,
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
        Ok(Step::Event)
    }

    /// Reads the next packet of every input port that has none waiting.
    fn fetch(&mut self) {
        // A live port that has nothing must not be asked before every packet of another.
        if self.options.clock == Clock::Wall && !self.is_between_batches() {
            self.in_ports.iter_mut().for_each(|port| port.take_next(&mut self.pool));
            return;
        }
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
        let goes_on = arrival.is_some() || (self.options.clock == Clock::Wall && self.more_may_come());
        let limit = if goes_on { u64::MAX } else { self.wake_limit_ns() };
        let source_limit = if goes_on { u64::MAX } else { self.source_limit_ns().min(limit) };
        let due = |wakes: &BinaryHeap<Reverse<(u64, u32)>>, limit: u64| {
            wakes.peek().map(|&Reverse((time, _))| time).filter(|&time| time < limit)
        };
        let out_frees = self
            .out_ports
            .iter()
            .filter(|port| port.channel.is_some_and(|channel| self.channels[channel as usize].is_readable()));
        let wake = out_frees
            .map(|port| port.rate.free_at_ns())
            .chain(due(&self.wakes, limit))
            .chain(due(&self.source_wakes, source_limit))
            .min();
        let control = self.control.next_time();
        let events =
            [control.map(|time| (time, EventKind::Control)), wake.map(|time| (time, EventKind::Wake)), arrival];
        events.into_iter().flatten().map(|(time, event)| (time.max(self.now_ns), event)).min()
    }

    /// Whether packets should be asked for before any other enters.
    fn is_between_batches(&self) -> bool {
        let mut ports = self.in_ports.iter();
        match self.options.clock {
            // The ports' packets enter in the order of their times.
            Clock::Packets => ports.any(InPort::is_drained),
            Clock::Wall => !(0..self.in_ports.len()).any(|port| {
                self.in_ports[port].has_more()
                    && self.in_ports[port].rate.free_at_ns() <= self.now_ns
                    && self.can_enter(port)
            }),
        }
    }

    /// Whether a source that has no packet now may have one later.
    fn more_may_come(&self) -> bool {
        self.in_ports.iter().any(InPort::is_drained)
    }

    fn inputs_are_exhausted(&self) -> bool {
        self.in_ports.iter().all(|port| port.source.is_none() && !port.has_more())
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
            let due = [(&mut self.wakes, u64::MAX), (&mut self.source_wakes, source_limit)].into_iter().find_map(
                |(wakes, limit)| {
                    while let Some(&Reverse((time, element))) = wakes.peek()
                        && time <= self.now_ns
                    {
                        wakes.pop();
                        if time < limit {
                            return Some(element);
                        }
                    }
                    None
                },
            );
            let Some(element) = due else { break };
            self.nodes[element as usize].is_due = true;
            self.enqueue(element);
        }
        let n_elements = self.elements.len();
        for idx in 0..self.out_ports.len() {
            // Only a message that waited for its port has reason to leave because of the time.
            let waits =
                self.out_ports[idx].channel.is_some_and(|channel| self.channels[channel as usize].is_readable());
            if waits {
                self.enqueue((n_elements + idx) as u32);
            }
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
}

/// Whether the results of a signal say more than that it did as it was told.
fn tells_something(results: &[(String, Value)]) -> bool {
    match results {
        [] => false,
        [(name, value)] => name != "ok" || *value == Value::ZERO,
        _ => true,
    }
}
