//! Boundary ports at work: rates, link layers, counters.

use std::collections::BTreeMap;

use interp::{Flags, Packet};
use ir::{Field, MessageTypeId, Value};
use packet::capture::Frame;
use packet::link::{self, Entry, LinkType};

use crate::carried::{Carried, Pool};
use crate::convert::Assembler;
use crate::io::{Filled, IoError, MessageSink, PacketSink, PacketSource};

const NS_PER_S: u128 = 1_000_000_000;
/// Packets asked for at a time.
const BATCH: usize = 64;

/// When a port is free again: each packet takes its wire length times 8 over the rate.
///
/// Kept exactly, as a whole number of nanoseconds and a fraction in units of `1 / rate`, so that rounding never adds up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateClock {
    rate_bps: Option<u64>,
    free_ns: u64,
    fraction: u64,
}

impl RateClock {
    pub(crate) fn new(rate_bps: Option<u64>) -> RateClock {
        RateClock { rate_bps, free_ns: 0, fraction: 0 }
    }

    /// Whether it has a rate.
    pub(crate) fn is_limited(&self) -> bool {
        self.rate_bps.is_some()
    }

    /// The first nanosecond at which the next packet may pass.
    pub(crate) fn free_at_ns(&self) -> u64 {
        self.free_ns.saturating_add(u64::from(self.fraction > 0))
    }

    /// A packet passes at `now_ns`, which is not before [`Self::free_at_ns`].
    pub(crate) fn pass(&mut self, now_ns: u64, wire_bytes: u64) {
        let Some(rate_bps) = self.rate_bps else { return };
        // A port that has just become free goes on from the exact instant, not from the nanosecond after it.
        if now_ns > self.free_at_ns() {
            (self.free_ns, self.fraction) = (now_ns, 0);
        }
        let total = u128::from(self.fraction) + u128::from(wire_bytes) * 8 * NS_PER_S;
        // Stamps of damaged captures may lie at the end of time; there it stays.
        let taken_ns = u64::try_from(total / u128::from(rate_bps)).unwrap_or(u64::MAX);
        self.free_ns = self.free_ns.saturating_add(taken_ns);
        self.fraction = (total % u128::from(rate_bps)) as u64;
    }
}

/// Counters of a boundary port.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundaryCounts {
    pub(crate) packets: u64,
    pub(crate) captured_bytes: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) messages: u64,
    pub(crate) late_stamps: u64,
    pub(crate) drops: BTreeMap<String, u64>,
}

impl BoundaryCounts {
    fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.captured_bytes += packet.len() as u64;
        self.wire_bytes += u64::from(packet.wire_len());
    }

    pub(crate) fn drop(&mut self, reason: &str) {
        match self.drops.get_mut(reason) {
            Some(packets) => *packets += 1,
            None => {
                self.drops.insert(reason.to_string(), 1);
            }
        }
    }
}

/// A packet about to run through a chain.
pub(crate) struct Arrived {
    pub(crate) carried: Box<Carried>,
    pub(crate) now_ns: u64,
    pub(crate) entry: u32,
    /// The input port, by position.
    pub(crate) port: usize,
    /// As it was before its link header was converted.
    captured_bytes: u64,
    wire_bytes: u64,
}

/// An input port.
pub(crate) struct InPort<'d> {
    pub(crate) name: String,
    /// Carries packets or flits, not structs.
    pub(crate) takes_packets: bool,
    /// As the sideband has it: `BoundaryId` plus 1.
    pub(crate) number: u8,
    pub(crate) source: Option<Box<dyn PacketSource + 'd>>,
    /// The next packet, read but not entered.
    pub(crate) next: Option<Box<Carried>>,
    /// Packets read together; those before `n_taken` were taken out.
    pub(crate) batch: Vec<Packet>,
    /// Packets that arrived but did not enter, the first one last; they come before `next`.
    pub(crate) returned: Vec<Arrived>,
    pub(crate) n_filled: usize,
    pub(crate) n_taken: usize,
    pub(crate) bytes_read: u64,
    pub(crate) rate: RateClock,
    pub(crate) channel: Option<u32>,
    pub(crate) counts: BoundaryCounts,
    /// Latest stamp that entered.
    pub(crate) stamp_max_ns: u64,
}

impl InPort<'_> {
    /// Reads the next packet if there is none waiting. An error is given once; nothing is read after it.
    pub(crate) fn fetch(&mut self, pool: &mut Pool) -> Result<(), IoError> {
        if !self.has_more() {
            self.refill()?;
        }
        self.take_next(pool);
        Ok(())
    }

    /// Takes the next packet out of the batch, if there is one and none is waiting.
    pub(crate) fn take_next(&mut self, pool: &mut Pool) {
        if self.next.is_none() && self.n_taken < self.n_filled {
            let mut carried = pool.take();
            std::mem::swap(&mut carried.packet, &mut self.batch[self.n_taken]);
            self.n_taken += 1;
            self.next = Some(carried);
        }
    }

    /// Whether packets were read that have not entered.
    pub(crate) fn has_more(&self) -> bool {
        self.next.is_some() || !self.returned.is_empty() || self.n_taken < self.n_filled
    }

    /// Whether the next packet must be asked for.
    pub(crate) fn is_drained(&self) -> bool {
        self.source.is_some() && !self.has_more()
    }

    fn refill(&mut self) -> Result<(), IoError> {
        let Some(source) = &mut self.source else { return Ok(()) };
        self.batch.resize(BATCH, Packet::default());
        self.batch.iter_mut().for_each(Packet::clear);
        (self.n_filled, self.n_taken) = (0, 0);
        let outcome = source.fill(&mut self.batch);
        self.bytes_read = source.bytes_read();
        match outcome {
            Ok(Filled::Packets(n_filled)) => self.n_filled = n_filled,
            Ok(Filled::NotYet) => {}
            Ok(Filled::End) | Err(_) => self.source = None,
        }
        outcome.map(|_| ())
    }

    /// When the waiting packet arrives.
    pub(crate) fn arrival_ns(&self) -> Option<u64> {
        let first = self.returned.last().map(|arrived| &arrived.carried).or(self.next.as_ref());
        first.map(|carried| carried.packet.time_ns.max(self.rate.free_at_ns()))
    }

    /// Takes the waiting packet out, as the graph sees it, without counting it.
    pub(crate) fn arrive(&mut self, now_ns: u64, entry: u32, port: usize) -> Arrived {
        if let Some(arrived) = self.returned.pop() {
            return Arrived { now_ns, ..arrived };
        }
        let mut carried = self.next.take().expect("callers look first");
        let packet = &mut carried.packet;
        let (captured_bytes, wire_bytes) = (packet.len() as u64, u64::from(packet.wire_len()));
        self.convert(&mut carried);
        Arrived { carried, now_ns, entry, port, captured_bytes, wire_bytes }
    }

    /// Counts a packet that arrived.
    pub(crate) fn admit(&mut self, arrived: &Arrived) {
        self.counts.packets += 1;
        self.counts.captured_bytes += arrived.captured_bytes;
        self.counts.wire_bytes += arrived.wire_bytes;
        let stamp_ns = arrived.carried.packet.time_ns;
        self.counts.late_stamps += u64::from(stamp_ns < self.stamp_max_ns);
        self.stamp_max_ns = self.stamp_max_ns.max(stamp_ns);
    }

    /// Takes a packet back that arrived but did not enter; the last one first.
    pub(crate) fn give_back(&mut self, arrived: Arrived) {
        self.returned.push(arrived);
    }

    /// Takes the waiting packet in, as the graph sees it.
    pub(crate) fn enter(&mut self, now_ns: u64) -> Box<Carried> {
        if let Some(arrived) = self.returned.pop() {
            self.admit(&arrived);
            return arrived.carried;
        }
        let mut carried = self.next.take().expect("callers look first");
        let packet = &mut carried.packet;
        self.counts.count(packet);
        self.counts.late_stamps += u64::from(packet.time_ns < self.stamp_max_ns);
        self.stamp_max_ns = self.stamp_max_ns.max(packet.time_ns);
        self.rate.pass(now_ns, u64::from(packet.wire_len()));
        self.convert(&mut carried);
        carried
    }

    /// Shows a packet as a frame of Ethernet.
    fn convert(&self, carried: &mut Carried) {
        let packet = &mut carried.packet;
        packet.in_boundary = self.number;
        packet.meta.clear();
        match link::enter(LinkType(packet.link_type), packet.bytes()) {
            Entry::Ethernet => {}
            Entry::Converted { strip, header, info } => {
                packet.remove(0, strip);
                packet.insert(0, header.len());
                packet.bytes_mut()[..header.len()].copy_from_slice(&header);
                packet.flags.set(Flags::ETHERNET_ADDED, true);
                carried.link = Some(info);
            }
            Entry::Opaque => packet.flags.set(Flags::OPAQUE, true),
        }
    }
}

/// An output port.
pub(crate) struct OutPort<'d> {
    pub(crate) name: String,
    pub(crate) message: MessageTypeId,
    pub(crate) sink: Option<Box<dyn PacketSink + 'd>>,
    pub(crate) message_sink: Option<Box<dyn MessageSink + 'd>>,
    pub(crate) rate: RateClock,
    pub(crate) channel: Option<u32>,
    /// For a channel of flits.
    pub(crate) assembler: Assembler,
    pub(crate) counts: BoundaryCounts,
}

impl OutPort<'_> {
    /// Passes a struct message on. It takes no time at a port with a rate, which is that of packets.
    pub(crate) fn pass_message(&mut self, now_ns: u64, fields: &[Field], words: &[u64]) -> Result<(), IoError> {
        self.counts.messages += 1;
        let Some(sink) = &mut self.message_sink else { return Ok(()) };
        let mut rest = words;
        let mut next = |field: &Field| {
            let (limbs, behind) = rest.split_at(field.width.limbs());
            rest = behind;
            Value::from_limbs(limbs)
        };
        let values: Vec<Value> = fields.iter().map(&mut next).collect();
        sink.write(now_ns, fields, &values)
    }

    /// Writes a packet out, as it looked on its own link layer.
    pub(crate) fn leave(&mut self, carried: &mut Carried, now_ns: u64) -> Result<(), IoError> {
        let link_type = match restore_link(carried) {
            Ok(link_type) => link_type,
            Err(reason) => {
                self.counts.drop(&reason);
                return Ok(());
            }
        };
        let packet = &carried.packet;
        self.counts.count(packet);
        self.rate.pass(now_ns, u64::from(packet.wire_len()));
        let Some(sink) = &mut self.sink else { return Ok(()) };
        sink.write(Frame { link_type, time_ns: now_ns, orig_len: packet.wire_len(), data: packet.bytes() })
    }
}

/// Puts the packet's own link header back; gives its link type, or why it cannot leave.
fn restore_link(carried: &mut Carried) -> Result<LinkType, String> {
    let packet = &mut carried.packet;
    let own_type = LinkType(packet.link_type);
    if packet.flags.has(Flags::OPAQUE) {
        return Ok(own_type);
    }
    if !packet.flags.has(Flags::ETHERNET_ADDED) {
        return Ok(LinkType::ETHERNET);
    }
    // A packet that went through flits has lost its own header; an empty frame of its type gives a plain one.
    let info = carried.link.or_else(|| match link::enter(own_type, &[]) {
        Entry::Converted { info, .. } => Some(info),
        Entry::Ethernet | Entry::Opaque => None,
    });
    let Some(info) = info else { return Ok(LinkType::ETHERNET) };
    let exit = link::leave(&info, packet.bytes()).map_err(|error| error.to_string())?;
    packet.remove(0, exit.strip);
    packet.insert(0, exit.header().len());
    packet.bytes_mut()[..exit.header().len()].copy_from_slice(exit.header());
    Ok(info.link_type())
}

#[cfg(test)]
mod tests {
    use super::RateClock;

    #[test]
    fn the_end_of_time_is_no_obstacle() {
        let mut clock = RateClock::new(Some(1));
        clock.pass(5, u64::from(u32::MAX));
        assert_eq!(clock.free_at_ns(), u64::MAX);
        clock.pass(u64::MAX, 1);
        assert_eq!(clock.free_at_ns(), u64::MAX);
    }

    #[test]
    fn ten_gigabit_packets_do_not_drift() {
        // 64 bytes at 10 Gbit/s take 51.2 ns, so five take 256 ns exactly.
        let mut clock = RateClock::new(Some(10_000_000_000));
        let mut times = Vec::new();
        for _ in 0..6 {
            let now = clock.free_at_ns().max(1000);
            times.push(now);
            clock.pass(now, 64);
        }
        assert_eq!(times, [1000, 1052, 1103, 1154, 1205, 1256]);
    }
}
