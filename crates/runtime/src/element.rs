//! An element at work: when it may fire, and what a firing moves.

use std::collections::BTreeMap;

use interp::{DropCause, Fate, Inputs, Trap};
use ir::{ElementId, Handler, MessageKind, Verified};

use crate::carried::{Carried, Pool};
use crate::channel::{Channel, Written};
use crate::convert::{EOP, SOP};
use crate::engine::Machine;
use crate::options::Engine;

/// Firings in a row that move no message and leave the element `always` firing, after which it waits for a port or the time.
///
/// It may count in every cycle for ever; in software nothing would come of it.
const SPINS_MAX: u32 = 4096;

/// Counters of an element.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElementCounts {
    pub(crate) firings: u64,
    pub(crate) packets_in: u64,
    pub(crate) packets_out: u64,
    pub(crate) messages_in: u64,
    pub(crate) messages_out: u64,
    pub(crate) framing_errors: u64,
    pub(crate) drops: BTreeMap<DropCause, u64>,
    /// Packets written to an output (from 0) without a channel.
    pub(crate) drops_unconnected: BTreeMap<u32, u64>,
}

/// What one turn of an element did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It could not fire.
    Idle,
    /// It fired and may have more to do.
    Fired,
    /// It fired in vain: it waits until a port or the time changes.
    Asleep,
}

pub(crate) struct ElementNode {
    pub(crate) machine: Machine,
    is_packet: bool,
    /// Longest packet that it stores.
    pub(crate) store: Option<u32>,
    inputs: Vec<Option<u32>>,
    outputs: Vec<Output>,
    /// Channels that must have room.
    lossless: Vec<u32>,
    mask: u32,
    always: bool,
    /// Has no inputs.
    pub(crate) is_source: bool,
    /// Input (from 0) at which a packet element looks first.
    pub(crate) next_input: usize,
    spins: u32,
    /// The wake-up that it asked for last.
    pub(crate) last_wake_ns: u64,
    pub(crate) counts: ElementCounts,
}

struct Output {
    channel: Option<u32>,
    kind: MessageKind,
    /// A flit with `sop` went out, its `eop` did not.
    inside_packet: bool,
}

/// What a turn works on, outside of the element.
pub(crate) struct Surroundings<'a> {
    pub(crate) channels: &'a mut [Channel],
    pub(crate) pool: &'a mut Pool,
    pub(crate) now_ns: u64,
    /// Nodes whose ports changed.
    pub(crate) woken: &'a mut Vec<Woken>,
}

/// A node whose port changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Woken {
    pub(crate) node: u32,
    /// Whether it could have waited for this; otherwise only an element that sleeps takes notice.
    pub(crate) waited: bool,
}

impl Surroundings<'_> {
    /// A message left the channel, which had room before or not.
    fn wake_writer(&mut self, channel: u32, had_room: bool) {
        self.woken.extend(self.channels[channel as usize].writer.map(|node| Woken { node, waited: !had_room }));
    }

    fn wake_reader(&mut self, channel: u32) {
        self.woken.extend(self.channels[channel as usize].reader.map(|node| Woken { node, waited: true }));
    }
}

struct Waiting<'a> {
    channels: &'a [Channel],
    inputs: &'a [Option<u32>],
}

impl Inputs for Waiting<'_> {
    fn front(&self, port: usize) -> &[u64] {
        let channel = self.inputs[port].expect("ready ports have a channel");
        self.channels[channel as usize].front()
    }
}

fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}

impl ElementNode {
    pub(crate) fn new(
        engine: Engine,
        verified: Verified<'_>,
        id: ElementId,
        options: interp::Options,
    ) -> Result<ElementNode, jit::Error> {
        let design = verified.design();
        let element = &design.elements[id.index()];
        let outputs: Vec<Output> = element
            .outputs
            .iter()
            .map(|port| Output {
                channel: port.channel.map(|channel| channel.0),
                kind: design.message_types[port.message.index()].kind,
                inside_packet: false,
            })
            .collect();
        let is_lossless = |&channel: &u32| !design.channels[channel as usize].lossy;
        Ok(ElementNode {
            machine: Machine::new(engine, verified, id, options)?,
            is_packet: matches!(element.handler, Handler::Packet { .. }),
            store: match element.handler {
                Handler::Packet { store, .. } => store,
                Handler::Flit(_) => None,
            },
            inputs: element.inputs.iter().map(|port| port.channel.map(|channel| channel.0)).collect(),
            lossless: outputs.iter().filter_map(|output| output.channel).filter(is_lossless).collect(),
            outputs,
            mask: u32::MAX,
            always: element.timing.always,
            is_source: element.inputs.is_empty(),
            next_input: 0,
            spins: 0,
            last_wake_ns: 0,
            counts: ElementCounts::default(),
        })
    }

    /// Inputs that hold a message.
    fn ready(&self, channels: &[Channel]) -> u32 {
        let mut ready = 0;
        for (port, channel) in self.inputs.iter().enumerate() {
            if let Some(channel) = channel {
                ready |= u32::from(channels[*channel as usize].is_readable()) << port;
            }
        }
        ready
    }

    /// Whether it may fire without input.
    fn starts_itself(&self, may_start: bool) -> bool {
        may_start && (self.always || self.is_source || self.mask == 0)
    }

    /// Whether a turn would find something to do, if there is room for what it writes.
    pub(crate) fn has_more(&self, channels: &[Channel], may_start: bool) -> bool {
        self.starts_itself(may_start) || self.ready(channels) & self.mask != 0
    }

    /// Fires once, if it may. `is_due`: a wake-up has come. `may_start`: it may fire without input if it is made for that.
    pub(crate) fn turn(&mut self, around: &mut Surroundings<'_>, is_due: bool, may_start: bool) -> Result<Turn, Trap> {
        if !self.lossless.iter().all(|&channel| around.channels[channel as usize].has_room()) {
            return Ok(Turn::Idle);
        }
        let ready = self.ready(around.channels);
        if !is_due && !self.starts_itself(may_start) && ready & self.mask == 0 {
            return Ok(Turn::Idle);
        }
        self.counts.firings += 1;
        let (moved, changed) = match self.is_packet {
            true => self.fire_packet(around, ready)?,
            false => self.fire_flit(around, ready)?,
        };
        if moved {
            self.spins = 0;
            return Ok(Turn::Fired);
        }
        let spins_in_vain = (self.always || self.is_source) && self.spins >= SPINS_MAX;
        if !changed || spins_in_vain {
            self.spins = 0;
            return Ok(Turn::Asleep);
        }
        self.spins += 1;
        Ok(Turn::Fired)
    }

    /// Tells whether a message moved and whether anything that the next firing sees changed.
    fn fire_flit(&mut self, around: &mut Surroundings<'_>, ready: u32) -> Result<(bool, bool), Trap> {
        let waiting = Waiting { channels: around.channels, inputs: &self.inputs };
        let firing = self.machine.fire(around.now_ns, ready, &waiting)?;
        self.mask = firing.mask;
        for port in bits(firing.consumed) {
            let channel = self.inputs[port].expect("consumed ports have a channel");
            let queue = &mut around.channels[channel as usize];
            self.counts.packets_in += u64::from(queue.front_ends_packet());
            self.counts.messages_in += u64::from(queue.carries_structs());
            let had_room = queue.has_room();
            queue.pop_message(around.pool);
            around.wake_writer(channel, had_room);
        }
        let (mut accepted, mut refused) = (0, 0);
        for port in bits(firing.written) {
            match self.write_message(port, around) {
                Written::Accepted => accepted |= 1 << port,
                Written::Refused => refused |= 1 << port,
            }
        }
        if firing.written != 0 {
            self.machine.set_outcome(accepted, refused);
        }
        Ok((firing.consumed | firing.written != 0, firing.changed))
    }

    /// Moves the message that the machine wrote to an output (from 0) into its channel.
    fn write_message(&mut self, port: usize, around: &mut Surroundings<'_>) -> Written {
        let message = self.machine.output(port);
        let output = &mut self.outputs[port];
        let counts = &mut self.counts;
        let ends_packet = match output.kind {
            MessageKind::Struct => {
                counts.messages_out += 1;
                false
            }
            MessageKind::Flit | MessageKind::Packet => {
                let (is_first, is_last) = (message[SOP] != 0, message[EOP] != 0);
                counts.framing_errors += u64::from(is_first == output.inside_packet);
                output.inside_packet = !is_last;
                is_last
            }
        };
        counts.packets_out += u64::from(ends_packet);
        let Some(channel) = output.channel else {
            if ends_packet {
                *counts.drops_unconnected.entry(port as u32).or_default() += 1;
            }
            return Written::Refused;
        };
        let written = around.channels[channel as usize].write_message(message, around.now_ns, around.pool);
        around.wake_reader(channel);
        written
    }

    /// As [`Self::fire_flit`]. Inputs take turns, packet by packet.
    fn fire_packet(&mut self, around: &mut Surroundings<'_>, ready: u32) -> Result<(bool, bool), Trap> {
        let later = ready & u32::MAX.checked_shl(self.next_input as u32).unwrap_or(0);
        let candidates = if later != 0 { later } else { ready };
        let (in_port, mut carried) = if candidates == 0 {
            let mut carried = around.pool.take();
            carried.packet.time_ns = around.now_ns;
            (0, carried)
        } else {
            let port = candidates.trailing_zeros() as usize;
            let channel = self.inputs[port].expect("ready ports have a channel");
            let had_room = around.channels[channel as usize].has_room();
            let carried = around.channels[channel as usize].pop_packet();
            around.wake_writer(channel, had_room);
            self.next_input = port + 1;
            self.counts.packets_in += 1;
            (port as u32 + 1, carried)
        };
        let firing = self.machine.fire_packet(around.now_ns, in_port, &mut carried.packet)?;
        for port in bits(firing.written) {
            self.write_message(port, around);
        }
        let made_nothing = firing.fate == Fate::Nothing;
        match firing.fate {
            Fate::Emitted(ports) => self.emit(carried, ports, around),
            Fate::Dropped(cause) => {
                around.pool.give(carried);
                match self.counts.drops.get_mut(&cause) {
                    Some(packets) => *packets += 1,
                    None => {
                        self.counts.drops.insert(cause, 1);
                    }
                }
            }
            Fate::Nothing => around.pool.give(carried),
        }
        Ok((in_port != 0 || !made_nothing || firing.written != 0, firing.changed))
    }

    /// Sends a packet to every output of a mask: the packet itself to the last one, copies to the others.
    pub(crate) fn emit(&mut self, carried: Box<Carried>, ports: u32, around: &mut Surroundings<'_>) {
        let last = u32::BITS - 1 - ports.leading_zeros();
        for port in bits(ports & !(1 << last)) {
            let copy = around.pool.copy(&carried);
            self.emit_one(copy, port, around);
        }
        self.emit_one(carried, last as usize, around);
    }

    fn emit_one(&mut self, carried: Box<Carried>, port: usize, around: &mut Surroundings<'_>) {
        self.counts.packets_out += 1;
        let Some(channel) = self.outputs[port].channel else {
            around.pool.give(carried);
            *self.counts.drops_unconnected.entry(port as u32).or_default() += 1;
            return;
        };
        around.channels[channel as usize].write_packet(carried, around.pool);
        around.wake_reader(channel);
    }

    /// The channel at an output, from 0.
    pub(crate) fn output_channel(&self, port: usize) -> u32 {
        self.outputs[port].channel.expect("packets leave a chain through channels")
    }

    /// Packets that fired it in a chain.
    pub(crate) fn count_passed(&mut self, n_packets: u64) {
        self.counts.firings += n_packets;
        self.counts.packets_in += n_packets;
    }

    /// Packets that it dropped in a chain.
    pub(crate) fn count_drop(&mut self, cause: DropCause, n_packets: u64) {
        *self.counts.drops.entry(cause).or_default() += n_packets;
    }

    /// Packets that it wrote, in a chain, to an output (from 0) without a channel.
    pub(crate) fn count_unconnected(&mut self, port: u32, n_packets: u64) {
        self.counts.packets_out += n_packets;
        *self.counts.drops_unconnected.entry(port).or_default() += n_packets;
    }

    /// Packets that it dropped itself; a write to an unconnected output comes after it.
    fn dropped(&self) -> u64 {
        self.counts.drops.values().sum()
    }

    /// Packets written or dropped beyond those consumed.
    pub(crate) fn created(&self) -> u64 {
        (self.counts.packets_out + self.dropped()).saturating_sub(self.counts.packets_in)
    }

    /// Packets consumed beyond those written and dropped.
    pub(crate) fn ended(&self) -> u64 {
        self.counts.packets_in.saturating_sub(self.counts.packets_out + self.dropped())
    }
}
