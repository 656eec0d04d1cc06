//! A channel: a bounded queue in the reader's messages, and the converter in front of it.
//!
//! A lossless channel tells its writer whether there is room; a lossy one takes or refuses. A lossy flit channel shows its
//! reader whole packets only, so that it can take a packet back to its `sop` when it fills up in the middle.

use std::collections::VecDeque;

use ir::{ChannelEnd, Design, MessageKind};

use crate::carried::{Carried, Pool};
use crate::convert::{Assembled, Assembler, EOP, SOP, Splitter};
use crate::ring::Ring;

/// Counters of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelCounts {
    pub(crate) messages: u64,
    pub(crate) packets: u64,
    pub(crate) messages_max: u64,
    pub(crate) messages_refused: u64,
    /// Packets refused because it was full.
    pub(crate) dropped_full: u64,
    /// Packets written to `Drop`.
    pub(crate) dropped_null: u64,
    /// Packets without `sop`.
    pub(crate) dropped_no_start: u64,
}

impl ChannelCounts {
    /// Packets that passed one after the other.
    pub(crate) fn count_passed(&mut self, n_packets: u64) {
        self.messages += n_packets;
        self.packets += n_packets;
        self.messages_max = self.messages_max.max(1);
    }

    /// Packets written to `Drop`.
    pub(crate) fn count_discarded(&mut self, n_packets: u64) {
        self.messages += n_packets;
        self.packets += n_packets;
        self.dropped_null += n_packets;
    }
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Accepted,
    Refused,
}

#[derive(Debug)]
pub(crate) struct Channel {
    queue: Queue,
    depth: usize,
    lossy: bool,
    /// Kept up to date by [`Channel::look`], because they are asked for far more often than they change.
    has_room: bool,
    is_readable: bool,
    pub(crate) counts: ChannelCounts,
    /// Node to be woken when there is room.
    pub(crate) writer: Option<u32>,
    /// Node to be woken when there is a message.
    pub(crate) reader: Option<u32>,
}

#[derive(Debug)]
enum Queue {
    /// Into `Drop`.
    Null(MessageKind),
    Packets {
        packets: VecDeque<Box<Carried>>,
        /// For a writer of flits.
        assembler: Assembler,
    },
    Flits {
        ring: Ring,
        /// For a writer of packets.
        splitter: Splitter,
        /// Flits that the reader may see; fewer than there are only in a lossy channel.
        n_visible: usize,
        /// The rest of the packet being written goes nowhere.
        dropping: bool,
    },
    Structs(Ring),
}

impl Channel {
    pub(crate) fn new(design: &Design, channel: &ir::Channel) -> Channel {
        let words = || interp::message_words(design, channel.to_type).max(1);
        let queue = match design.message_types[channel.to_type.index()].kind {
            kind if channel.to == ChannelEnd::Null => Queue::Null(kind),
            MessageKind::Packet => Queue::Packets { packets: VecDeque::new(), assembler: Assembler::default() },
            MessageKind::Flit => {
                let (ring, splitter) = (Ring::new(words()), Splitter::default());
                Queue::Flits { ring, splitter, n_visible: 0, dropping: false }
            }
            MessageKind::Struct => Queue::Structs(Ring::new(words())),
        };
        let counts = ChannelCounts::default();
        let (depth, lossy) = (channel.depth as usize, channel.lossy);
        let mut channel =
            Channel { queue, depth, lossy, has_room: false, is_readable: false, counts, writer: None, reader: None };
        channel.look();
        channel
    }

    /// Notes whether there is room and whether there is a message.
    #[inline]
    fn look(&mut self) {
        let (has_room, is_readable) = match &self.queue {
            Queue::Null(_) => (true, false),
            Queue::Packets { packets, .. } => (packets.len() < self.depth, !packets.is_empty()),
            Queue::Flits { ring, splitter, n_visible, .. } => {
                (splitter.is_empty() && ring.len() < self.depth, *n_visible > 0)
            }
            Queue::Structs(ring) => (ring.len() < self.depth, ring.len() > 0),
        };
        self.has_room = self.lossy || has_room;
        self.is_readable = is_readable;
    }

    /// Whether a write of one message, or of one packet, would be taken.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.has_room
    }

    /// Whether the reader finds a message.
    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        self.is_readable
    }

    /// Whether nothing is in it, not even part of a packet.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.queue {
            Queue::Null(_) => true,
            Queue::Packets { packets, assembler } => packets.is_empty() && assembler.is_empty(),
            Queue::Flits { ring, splitter, .. } => ring.len() == 0 && splitter.is_empty(),
            Queue::Structs(ring) => ring.len() == 0,
        }
    }

    /// The oldest message of a channel of flits or structs.
    pub(crate) fn front(&self) -> &[u64] {
        match &self.queue {
            Queue::Flits { ring, .. } | Queue::Structs(ring) => ring.get(0),
            Queue::Null(_) | Queue::Packets { .. } => unreachable!("packet readers take packets"),
        }
    }

    /// Whether the oldest message ends a packet.
    pub(crate) fn front_ends_packet(&self) -> bool {
        match &self.queue {
            Queue::Flits { ring, .. } => ring.get(0)[EOP] != 0,
            Queue::Packets { .. } => true,
            Queue::Structs(_) | Queue::Null(_) => false,
        }
    }

    pub(crate) fn carries_structs(&self) -> bool {
        matches!(self.queue, Queue::Structs(_) | Queue::Null(MessageKind::Struct))
    }

    pub(crate) fn carries_packets(&self) -> bool {
        matches!(self.queue, Queue::Packets { .. })
    }

    /// Removes the oldest message of a channel of flits or structs.
    pub(crate) fn pop_message(&mut self, pool: &mut Pool) {
        match &mut self.queue {
            Queue::Flits { ring, n_visible, .. } => {
                ring.pop();
                *n_visible -= 1;
                self.refill(pool);
            }
            Queue::Structs(ring) => ring.pop(),
            Queue::Null(_) | Queue::Packets { .. } => unreachable!("packet readers take packets"),
        }
        self.look();
    }

    /// Takes the oldest packet of a channel of packets.
    pub(crate) fn pop_packet(&mut self) -> Box<Carried> {
        let packet = match &mut self.queue {
            Queue::Packets { packets, .. } => packets.pop_front().expect("callers look first"),
            Queue::Null(_) | Queue::Flits { .. } | Queue::Structs(_) => {
                unreachable!("only packet readers take packets")
            }
        };
        self.look();
        packet
    }

    /// Moves flits of the packet in the converter up, as far as there is room.
    fn refill(&mut self, pool: &mut Pool) {
        let Queue::Flits { ring, splitter, n_visible, .. } = &mut self.queue else { return };
        while !splitter.is_empty() && ring.len() < self.depth {
            splitter.next_flit(ring.push(), pool);
            *n_visible += 1;
            self.counts.messages += 1;
        }
        self.counts.messages_max = self.counts.messages_max.max(ring.len() as u64);
    }

    /// Writes a packet. The caller has asked for room if the channel is lossless.
    pub(crate) fn write_packet(&mut self, carried: Box<Carried>, pool: &mut Pool) -> Written {
        let written = self.put_packet(carried, pool);
        self.look();
        written
    }

    fn put_packet(&mut self, carried: Box<Carried>, pool: &mut Pool) -> Written {
        self.counts.packets += 1;
        match &mut self.queue {
            Queue::Null(_) => {
                self.counts.messages += 1;
                self.counts.dropped_null += 1;
                pool.give(carried);
            }
            Queue::Packets { packets, .. } => {
                if packets.len() >= self.depth {
                    return self.refuse(carried, pool);
                }
                packets.push_back(carried);
                self.counts.messages += 1;
                self.counts.messages_max = self.counts.messages_max.max(packets.len() as u64);
            }
            Queue::Flits { splitter, .. } => {
                // A packet longer than the channel passes through bit by bit, so only one that waits is in the way.
                if !splitter.is_empty() {
                    return self.refuse(carried, pool);
                }
                splitter.start(carried);
                self.refill(pool);
            }
            Queue::Structs(_) => unreachable!("structs are written as messages"),
        }
        Written::Accepted
    }

    fn refuse(&mut self, carried: Box<Carried>, pool: &mut Pool) -> Written {
        debug_assert!(self.lossy, "writers of lossless channels ask for room");
        self.counts.dropped_full += 1;
        pool.give(carried);
        Written::Refused
    }

    /// Writes a flit or a struct. The caller has asked for room if the channel is lossless.
    pub(crate) fn write_message(&mut self, message: &[u64], now_ns: u64, pool: &mut Pool) -> Written {
        let written = self.put_message(message, now_ns, pool);
        self.look();
        written
    }

    fn put_message(&mut self, message: &[u64], now_ns: u64, pool: &mut Pool) -> Written {
        match &mut self.queue {
            Queue::Null(kind) => {
                self.counts.messages += 1;
                if *kind != MessageKind::Struct && message[EOP] != 0 {
                    self.counts.packets += 1;
                    self.counts.dropped_null += 1;
                }
                Written::Accepted
            }
            Queue::Packets { .. } => self.write_flit_of_packet(message, now_ns, pool),
            Queue::Flits { .. } => self.write_flit(message),
            Queue::Structs(ring) => {
                if ring.len() >= self.depth {
                    debug_assert!(self.lossy, "writers of lossless channels ask for room");
                    self.counts.messages_refused += 1;
                    return Written::Refused;
                }
                ring.push().copy_from_slice(message);
                self.counts.messages += 1;
                self.counts.messages_max = self.counts.messages_max.max(ring.len() as u64);
                Written::Accepted
            }
        }
    }

    fn write_flit_of_packet(&mut self, flit: &[u64], now_ns: u64, pool: &mut Pool) -> Written {
        let Queue::Packets { assembler, .. } = &mut self.queue else { unreachable!("the caller looked") };
        match assembler.feed(flit, now_ns, pool) {
            Assembled::Partial => Written::Accepted,
            Assembled::Packet(carried) => self.put_packet(carried, pool),
            Assembled::NoStart => {
                self.counts.packets += 1;
                self.counts.dropped_no_start += 1;
                Written::Refused
            }
        }
    }

    fn write_flit(&mut self, flit: &[u64]) -> Written {
        let Queue::Flits { ring, n_visible, dropping, .. } = &mut self.queue else { unreachable!("the caller looked") };
        let (is_first, is_last) = (flit[SOP] != 0, flit[EOP] != 0);
        self.counts.packets += u64::from(is_last);
        if is_first {
            // A packet before it that never ended stays as it is: mending frames is for elements.
            *n_visible = ring.len();
            *dropping = false;
        }
        if *dropping || ring.len() >= self.depth {
            debug_assert!(self.lossy, "writers of lossless channels ask for room");
            let n_back = ring.len() - *n_visible;
            ring.take_back(n_back);
            self.counts.messages -= n_back as u64;
            self.counts.dropped_full += u64::from(is_last);
            *dropping = !is_last;
            return Written::Refused;
        }
        ring.push().copy_from_slice(flit);
        if !self.lossy || is_last {
            *n_visible = ring.len();
        }
        self.counts.messages += 1;
        self.counts.messages_max = self.counts.messages_max.max(ring.len() as u64);
        Written::Accepted
    }

    /// Packets whose end is in the channel.
    pub(crate) fn held(&self) -> u64 {
        match &self.queue {
            Queue::Null(_) | Queue::Structs(_) => 0,
            Queue::Packets { packets, .. } => packets.len() as u64,
            Queue::Flits { ring, splitter, .. } => {
                let ends = (0..ring.len()).filter(|&message_idx| ring.get(message_idx)[EOP] != 0).count();
                ends as u64 + splitter.held()
            }
        }
    }
}
