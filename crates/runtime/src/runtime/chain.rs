//! The straight way: packets that meet nothing but the elements of a chain, a batch at a time.
//!
//! The event loop lets one packet run through before the next enters, so while all channels are empty a chain does the same in one
//! call. What it leaves over is done here: packets that leave, packets that go on in the event loop, and counters.
//! Used only in the time of packets; real-time runs take the event loop.

use ir::{Chain, ChannelEnd, Counter, ElementId, chain};

use super::Runtime;
use crate::boundary::Arrived;
use crate::element::Surroundings;
use crate::engine::Machine;
use crate::error::RunError;
use crate::options::Clock;

/// Packets run through a chain together.
const BATCH: usize = 32;

/// A chain and what it needs at its ends.
pub(super) struct ChainRun {
    code: jit::Chain,
    reasons: Vec<String>,
    /// By input port: the entry that its channel is.
    entries: Vec<Option<u32>>,
    /// Counters when they were last looked at.
    seen: Vec<u64>,
    batch: Vec<Arrived>,
}

/// Where a packet of a batch goes.
#[derive(Clone, Copy)]
struct Left {
    exit: Option<(ElementId, u32)>,
    has_stopped: bool,
}

impl Runtime<'_> {
    /// Runs the elements of a chain of this design as one. Nothing else changes: results, counters and state are those of the elements.
    /// Nothing is done on the interpreter, whose business is to judge, nor with strict bounds: chains are made of optimised code, which
    /// leaves out accesses that nothing comes of.
    pub fn use_chain(&mut self, chain: &Chain) -> Result<(), RunError> {
        let machines: Option<Vec<&jit::Machine>> =
            self.elements.iter().map(|element| element.machine.native()).collect();
        let Some(machines) = machines.filter(|_| self.options.bounds == interp::Bounds::Lenient) else { return Ok(()) };
        let code =
            jit::Chain::new(self.design, chain, &machines, self.options.of_engine()).map_err(RunError::Engine)?;
        let entry = |channel: u32| chain.entries.iter().position(|entry| entry.0 == channel).map(|entry| entry as u32);
        let seen = code.counters().map(|(_, value)| value).collect();
        self.chain = Some(Box::new(ChainRun {
            code,
            reasons: chain.reasons.clone(),
            entries: self.in_ports.iter().map(|port| port.channel.and_then(entry)).collect(),
            seen,
            batch: Vec::with_capacity(BATCH),
        }));
        Ok(())
    }

    /// Takes packets as far as they may run through the chain and runs them; gives whether there were any.
    pub(super) fn run_batch(&mut self) -> Result<bool, RunError> {
        if self.chain.is_none() || !self.is_calm() {
            return Ok(false);
        }
        let Some(mut chain) = self.chain.take() else { return Ok(false) };
        let limit_ns = self.next_turn_ns();
        while chain.batch.len() < BATCH
            && let Some(arrived) = self.next_arrived(&chain.entries, limit_ns)
        {
            chain.batch.push(arrived);
        }
        let is_some = !chain.batch.is_empty();
        let outcome = if is_some { self.run_arrived(&mut chain) } else { Ok(()) };
        self.chain = Some(chain);
        outcome.map(|()| is_some)
    }

    /// Whether no packet is under way and none can set itself off.
    fn is_calm(&self) -> bool {
        self.options.clock == Clock::Packets
            && self.trace.is_none()
            && self.sleepers.is_empty()
            && self.queue.is_empty()
            && self.channels.iter().all(crate::channel::Channel::is_empty)
    }

    /// When something other than an arrival happens next.
    fn next_turn_ns(&self) -> u64 {
        let wakes = [&self.wakes, &self.source_wakes].map(|wakes| wakes.peek().map(|wake| wake.0.0));
        wakes.into_iter().flatten().chain(self.control.next_time()).min().unwrap_or(u64::MAX)
    }

    /// The next packet, if it arrives before the limit and enters the chain.
    fn next_arrived(&mut self, entries: &[Option<u32>], limit_ns: u64) -> Option<Arrived> {
        self.in_ports.iter_mut().for_each(|port| port.take_next(&mut self.pool));
        // A port that has to be read first may have an earlier one.
        if self.in_ports.iter().any(|port| port.is_drained()) {
            return None;
        }
        let arrivals =
            self.in_ports.iter().enumerate().filter_map(|(port, in_port)| Some((in_port.arrival_ns()?, port)));
        let (time_ns, port) = arrivals.min()?;
        let time_ns = time_ns.max(self.now_ns);
        let entry = entries[port]?;
        let in_port = &mut self.in_ports[port];
        if time_ns >= limit_ns || in_port.rate.is_limited() {
            return None;
        }
        self.now_ns = time_ns;
        Some(in_port.arrive(time_ns, entry, port))
    }

    /// Runs the batch, with the event loop's help where the chain stops. After an error the rest is gone: the run ends.
    fn run_arrived(&mut self, chain: &mut ChainRun) -> Result<(), RunError> {
        let mut batch = std::mem::take(&mut chain.batch);
        let mut done = 0;
        while done < batch.len() {
            let mut failure = None;
            let (left, trap) = run_code(&mut chain.code, &mut batch[done..]);
            for (arrived, left) in batch[done..].iter_mut().zip(&left) {
                self.admit(arrived);
                // All that the chain has done is counted, even if a sink fails in between.
                let outcome = self.deliver(chain, arrived, *left);
                failure = failure.or(outcome.err());
            }
            done += left.len();
            if let Some(failure) = failure {
                return Err(failure);
            }
            if let Some(trap) = trap {
                self.admit(&batch[done]);
                self.count_chain(chain);
                return Err(self.trap(trap.element.index(), "handler", trap.trap));
            }
            let has_stopped = left.last().is_some_and(|left| left.has_stopped);
            if let Some(next) = batch.get(done).filter(|_| has_stopped)
                && (!self.is_calm() || self.next_turn_ns() <= next.now_ns)
            {
                break;
            }
        }
        // The others wait until the packets before them are out of the way.
        for arrived in batch.drain(done..).rev() {
            self.in_ports[arrived.port].give_back(arrived);
        }
        batch.drain(..).for_each(|arrived| self.pool.give(arrived.carried));
        chain.batch = batch;
        Ok(())
    }

    /// Counts a packet that has entered.
    fn admit(&mut self, arrived: &Arrived) {
        self.n_entered += 1;
        (self.now_ns, self.last_entry_ns) = (arrived.now_ns, arrived.now_ns);
        self.firings_at_instant = 0;
        let in_port = &mut self.in_ports[arrived.port];
        in_port.admit(arrived);
        let channel = in_port.channel.expect("entries are channels");
        let queue = &mut self.channels[channel as usize];
        queue.counts.count_passed(1);
        if let Some(reader) = queue.reader {
            self.elements[reader as usize].count_passed(1);
        }
    }

    fn deliver(&mut self, chain: &mut ChainRun, arrived: &mut Arrived, left: Left) -> Result<(), RunError> {
        let Some((element, ports)) = left.exit else { return Ok(()) };
        if left.has_stopped {
            return self.finish(chain, arrived, element, ports);
        }
        let channel = self.elements[element.index()].output_channel(ports.trailing_zeros() as usize);
        let ir::Channel { to: ChannelEnd::Boundary(_), .. } = self.design.design().channels[channel as usize] else {
            unreachable!("a packet that does not stop leaves through a boundary port")
        };
        let node = self.channels[channel as usize].reader.expect("an output port reads it");
        let port = &mut self.out_ports[node as usize - self.elements.len()];
        port.leave(&mut arrived.carried, arrived.now_ns).map_err(|source| {
            port.sink = None;
            RunError::Sink { boundary: port.name.clone(), source }
        })
    }

    /// Goes on in the event loop with a packet that leaves an element.
    fn finish(
        &mut self,
        chain: &mut ChainRun,
        arrived: &mut Arrived,
        element: ElementId,
        ports: u32,
    ) -> Result<(), RunError> {
        self.count_chain(chain);
        let node = &mut self.elements[element.index()];
        if ports == 0 {
            node.count_drop(interp::DropCause::NoSuchPort(chain.code.no_port()), 1);
            return Ok(());
        }
        let carried = std::mem::take(&mut arrived.carried);
        let mut around = Surroundings {
            channels: &mut self.channels,
            pool: &mut self.pool,
            now_ns: self.now_ns,
            woken: &mut self.woken,
        };
        node.emit(carried, ports, &mut around);
        self.poke_woken();
        self.settle()
    }

    /// Adds what the chain counted to the counters of elements and channels.
    pub(super) fn take_counts(&mut self) {
        let Some(mut chain) = self.chain.take() else { return };
        self.count_chain(&mut chain);
        self.chain = Some(chain);
    }

    fn count_chain(&mut self, chain: &mut ChainRun) {
        let counters: Vec<(Counter, u64)> = chain.code.counters().collect();
        for (&(counter, value), seen) in counters.iter().zip(&mut chain.seen) {
            let n_packets = value.wrapping_sub(std::mem::replace(seen, value));
            match counter {
                Counter::LastInput(element) if value != 0 => self.elements[element.index()].next_input = value as usize,
                _ if n_packets == 0 => {}
                Counter::LastInput(_) => {}
                Counter::Channel(channel) => self.count_channel(channel.0, n_packets),
                Counter::Unconnected(element, port) => {
                    self.elements[element.index()].count_unconnected(port, n_packets)
                }
                Counter::Dropped(element, cause) => {
                    let store = self.elements[element.index()].store;
                    let cause = drop_cause(cause, &chain.reasons, store);
                    self.elements[element.index()].count_drop(cause, n_packets);
                }
            }
        }
        chain.code.forget_last_inputs();
        for ((counter, _), seen) in counters.iter().zip(&mut chain.seen) {
            if matches!(counter, Counter::LastInput(_)) {
                *seen = 0;
            }
        }
    }

    fn count_channel(&mut self, channel: u32, n_packets: u64) {
        let queue = &mut self.channels[channel as usize];
        let (writer, reader) = (queue.writer, queue.reader);
        if self.design.design().channels[channel as usize].to == ChannelEnd::Null {
            queue.counts.count_discarded(n_packets);
        } else {
            queue.counts.count_passed(n_packets);
        }
        let n_elements = self.elements.len();
        if let Some(writer) = writer {
            self.elements[writer as usize].counts.packets_out += n_packets;
        }
        if let Some(reader) = reader.filter(|&reader| (reader as usize) < n_elements) {
            self.elements[reader as usize].count_passed(n_packets);
        }
    }
}

/// Runs packets from the front, up to one that stops or traps; gives where those done go.
fn run_code(code: &mut jit::Chain, batch: &mut [Arrived]) -> (Vec<Left>, Option<jit::ChainTrap>) {
    let n_words = code.meta_words();
    let mut slots = Vec::with_capacity(BATCH);
    for Arrived { carried, now_ns, entry, .. } in batch {
        carried.packet.meta.resize(n_words, 0);
        slots.push(jit::Slot::new(&mut carried.packet, *now_ns, *entry));
    }
    let (n_done, trap) = match code.run(&mut slots) {
        Ok(n_done) => (n_done, None),
        Err(trap) => (trap.n_done, Some(trap)),
    };
    let left = |slot: &jit::Slot<'_>| Left { exit: slot.exit(), has_stopped: slot.has_stopped() };
    (slots[..n_done].iter().map(left).collect(), trap)
}

/// The cause with a number of a chain.
fn drop_cause(number: u32, reasons: &[String], store: Option<u32>) -> interp::DropCause {
    use interp::DropCause;
    match number {
        chain::CAUSE_NO_PORT => unreachable!("a chain stops for a port that does not exist"),
        chain::CAUSE_NO_ROOM => DropCause::NoRoomToGrow,
        chain::CAUSE_PUSH_OUTSIDE => DropCause::PushOutside,
        chain::CAUSE_POP_OUTSIDE => DropCause::PopOutside,
        chain::CAUSE_APPEND => DropCause::AppendPastStore,
        chain::CAUSE_LONG => DropCause::LongerThanStore(store.unwrap_or(0)),
        chain::CAUSE_UNDECIDED => DropCause::Undecided,
        own => DropCause::Element(reasons[(own - chain::FIRST_OWN_CAUSE) as usize].clone()),
    }
}

impl Machine {
    /// Its native form, if it is one.
    fn native(&self) -> Option<&jit::Machine> {
        match self {
            Machine::Interp(_) => None,
            Machine::Jit(machine) => Some(machine),
        }
    }
}
