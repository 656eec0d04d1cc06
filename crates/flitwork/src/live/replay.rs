//! Captures and generators as traffic: again and again, and at the pace of their stamps.

use std::cell::Cell;
use std::rc::Rc;

use runtime::{Filled, IoError, Packet, PacketSource};

use super::clock::now_ns;

/// A source opened anew for each round.
pub type Round<'s> = Box<dyn FnMut() -> Result<Box<dyn PacketSource>, IoError> + 's>;

/// Packets of a capture, several times, with stamps that go on from round to round.
pub struct Looped<'s> {
    open: Round<'s>,
    source: Option<Box<dyn PacketSource>>,
    /// Rounds still to begin; absent: without end.
    n_rounds: Option<u64>,
    /// Added to the stamps of this round.
    shift_ns: u64,
    first_ns: u64,
    last_ns: u64,
    n_packets: u64,
    bytes_read_before: u64,
}

impl<'s> Looped<'s> {
    /// Plays what `open` opens `n_rounds` times, or without end.
    pub fn new(open: Round<'s>, n_rounds: Option<u64>) -> Looped<'s> {
        let (shift_ns, first_ns, last_ns) = (0, 0, 0);
        Looped { open, source: None, n_rounds, shift_ns, first_ns, last_ns, n_packets: 0, bytes_read_before: 0 }
    }

    /// Ends a round; gives whether there can be another.
    fn end_round(&mut self) -> bool {
        self.bytes_read_before += self.source.take().map_or(0, |source| source.bytes_read());
        let span_ns = self.last_ns.saturating_sub(self.first_ns);
        // The first packet follows the last at the mean distance.
        let gap_ns = if self.n_packets > 1 { span_ns / (self.n_packets - 1) } else { 0 };
        self.shift_ns = self.shift_ns.saturating_add(span_ns).saturating_add(gap_ns);
        // A capture without packets would be opened for ever.
        std::mem::take(&mut self.n_packets) > 0
    }
}

impl PacketSource for Looped<'_> {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        loop {
            let source = match &mut self.source {
                Some(source) => source,
                None => {
                    match &mut self.n_rounds {
                        Some(0) => return Ok(Filled::End),
                        Some(n_rounds) => *n_rounds -= 1,
                        None => {}
                    }
                    self.source.insert((self.open)()?)
                }
            };
            match source.fill(packets)? {
                Filled::Packets(n_filled) => {
                    for packet in &mut packets[..n_filled] {
                        if self.n_packets == 0 {
                            (self.first_ns, self.last_ns) = (packet.time_ns, packet.time_ns);
                        }
                        self.n_packets += 1;
                        self.last_ns = self.last_ns.max(packet.time_ns);
                        packet.time_ns = packet.time_ns.saturating_add(self.shift_ns);
                    }
                    return Ok(Filled::Packets(n_filled));
                }
                Filled::NotYet => return Ok(Filled::NotYet),
                Filled::End if self.end_round() => {}
                Filled::End => return Ok(Filled::End),
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read_before + self.source.as_ref().map_or(0, |source| source.bytes_read())
    }
}

/// When a source that waits has its next packet; absent if it does not wait.
pub type Due = Rc<Cell<Option<u64>>>;

/// A source in real time: its first packet comes at once, each other one as much later as its stamp says.
pub struct Paced<S> {
    source: S,
    held: Vec<Packet>,
    n_held: usize,
    next: usize,
    /// What turns a stamp into the time at which the packet comes; known from the first packet on.
    shift_ns: Option<i128>,
    due: Due,
}

impl<S: PacketSource> Paced<S> {
    /// Paces `source`.
    pub fn new(source: S) -> Paced<S> {
        const HELD: usize = 64;
        let held = vec![Packet::default(); HELD];
        let due = Rc::new(Cell::new(None));
        Paced { source, held, n_held: 0, next: 0, shift_ns: None, due }
    }

    /// For whoever waits until the next packet.
    pub fn due(&self) -> Due {
        Rc::clone(&self.due)
    }

    fn refill(&mut self) -> Option<Result<Filled, IoError>> {
        self.held.iter_mut().for_each(Packet::clear);
        (self.n_held, self.next) = (0, 0);
        match self.source.fill(&mut self.held) {
            Ok(Filled::Packets(n_held)) => self.n_held = n_held,
            other => return Some(other),
        }
        let now_ns = now_ns();
        let first_ns = self.held[0].time_ns;
        let shift_ns = *self.shift_ns.get_or_insert(i128::from(now_ns) - i128::from(first_ns));
        for packet in &mut self.held[..self.n_held] {
            packet.time_ns = u64::try_from(i128::from(packet.time_ns) + shift_ns).unwrap_or(u64::MAX);
        }
        None
    }
}

impl<S: PacketSource> PacketSource for Paced<S> {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        self.due.set(None);
        if self.next == self.n_held
            && let Some(outcome) = self.refill()
        {
            return outcome;
        }
        let now_ns = now_ns();
        let mut n_given = 0;
        while n_given < packets.len() && self.next < self.n_held && self.held[self.next].time_ns <= now_ns {
            std::mem::swap(&mut packets[n_given], &mut self.held[self.next]);
            (n_given, self.next) = (n_given + 1, self.next + 1);
        }
        if n_given > 0 {
            return Ok(Filled::Packets(n_given));
        }
        self.due.set(Some(self.held[self.next].time_ns));
        Ok(Filled::NotYet)
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}

/// A source that ends when this much time has passed since its first packet.
pub struct Until<S> {
    source: S,
    duration_ns: u64,
    first_ns: Option<u64>,
}

impl<S: PacketSource> Until<S> {
    /// Cuts `source` off.
    pub fn new(source: S, duration_ns: u64) -> Until<S> {
        Until { source, duration_ns, first_ns: None }
    }
}

impl<S: PacketSource> PacketSource for Until<S> {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let Filled::Packets(n_filled) = self.source.fill(packets)? else { return Ok(Filled::End) };
        let first_ns = *self.first_ns.get_or_insert(packets[0].time_ns);
        let end_ns = first_ns.saturating_add(self.duration_ns);
        match packets[..n_filled].iter().position(|packet| packet.time_ns >= end_ns) {
            Some(0) => Ok(Filled::End),
            Some(n_before) => Ok(Filled::Packets(n_before)),
            None => Ok(Filled::Packets(n_filled)),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}
