//! Batches of packets for the programs written by hand.
//!
//! Packets are copied from the trace into 32 buffers that are used again and again, as a network card or the runtime's memory source
//! fills them. A program then does all of its work on a batch at once: it can begin the table reads of all packets before it needs the first.

use std::hint::black_box;

use crate::traffic::{CHUNK, GAP_NS, Trace};

/// Packets of a batch.
pub const BATCH: usize = 32;
/// Bytes from one buffer to the next; not a power of two, so that the headers of all buffers find room in the first-level cache.
const BUFFER_BYTES: usize = 2048 + 2 * CHUNK;
/// Outputs that a program may have.
pub const N_OUTPUTS: usize = 3;
/// What a program says of a packet that it does not forward.
pub const DROPPED: u8 = 0;

/// The bytes of one buffer.
pub type Frame = [u8; BUFFER_BYTES];

/// 32 packets.
pub struct Batch {
    pub frames: Vec<Frame>,
    /// Length of each packet.
    pub lengths: [u32; BATCH],
    /// Whether a packet is marked in error.
    pub errors: [bool; BATCH],
    /// When the first packet entered; each next one did [`GAP_NS`] later.
    pub start_ns: u64,
    /// Output of each packet, from 1, or [`DROPPED`].
    pub outputs: [u8; BATCH],
}

/// Work that is done on batches, in two halves: between them the next batch comes in, while the memory answers.
pub trait Program {
    /// What the first half tells the second.
    type Plan;

    /// Looks at a batch, and begins the table reads that the second half needs.
    fn begin(&mut self, batch: &Batch) -> Self::Plan;

    /// Does the rest: changes frames, sets outputs.
    fn finish(&mut self, batch: &mut Batch, plan: Self::Plan);
}

/// Runs a program over a trace, round and round.
pub struct Driver<'t> {
    trace: &'t Trace,
    /// The batch that comes in, and the one before it.
    batches: [Batch; 2],
    place: usize,
    now_ns: u64,
    /// Packets for each output; place 0 counts those dropped.
    pub n_packets: [u64; N_OUTPUTS + 1],
}

impl<'t> Driver<'t> {
    /// At the first packet of a trace, which enters now. The trace is whole batches long.
    pub fn new(trace: &'t Trace, now_ns: u64) -> Driver<'t> {
        assert!(trace.n_packets.is_multiple_of(BATCH) && trace.packet_bytes <= BUFFER_BYTES, "traces fit");
        let batch = || Batch {
            frames: vec![[0; BUFFER_BYTES]; BATCH],
            lengths: [0; BATCH],
            errors: [false; BATCH],
            start_ns: now_ns,
            outputs: [DROPPED; BATCH],
        };
        Driver { trace, batches: [batch(), batch()], place: 0, now_ns, n_packets: [0; N_OUTPUTS + 1] }
    }

    /// Runs some batches, to the end of the last.
    pub fn run(&mut self, program: &mut impl Program, n_batches: usize) {
        self.run_shown(program, n_batches, |batch| {
            black_box(batch);
        });
    }

    /// Runs some batches, and shows each when it is through.
    #[inline(always)]
    pub fn run_shown<P: Program>(&mut self, program: &mut P, n_batches: usize, mut show: impl FnMut(&mut Batch)) {
        let Driver { trace, batches: [even, odd], place, now_ns, n_packets } = self;
        let (mut incoming, mut waiting) = (even, odd);
        let mut plan: Option<P::Plan> = None;
        for _ in 0..n_batches {
            receive(incoming, trace, *place);
            incoming.start_ns = *now_ns;
            *now_ns += BATCH as u64 * GAP_NS;
            *place = if *place + BATCH == trace.n_packets { 0 } else { *place + BATCH };
            let next = program.begin(incoming);
            if let Some(plan) = plan.replace(next) {
                program.finish(waiting, plan);
                count(waiting, n_packets);
                show(waiting);
            }
            std::mem::swap(&mut incoming, &mut waiting);
        }
        if let Some(plan) = plan {
            program.finish(waiting, plan);
            count(waiting, n_packets);
            show(waiting);
        }
    }
}

/// Copies packets in, from a place on.
#[inline(always)]
fn receive(batch: &mut Batch, trace: &Trace, place: usize) {
    if trace.packet_bytes <= CHUNK {
        let frames = batch.frames.iter_mut().map(|frame| frame.as_chunks_mut::<CHUNK>().0);
        for (frame, from) in frames.zip(trace.all_chunks(place)) {
            frame[0] = *from;
        }
    } else {
        for (at, frame) in batch.frames.iter_mut().enumerate() {
            for (to, from) in frame.as_chunks_mut::<CHUNK>().0.iter_mut().zip(trace.chunks(place + at)) {
                *to = *from;
            }
        }
    }
    batch.lengths = [trace.packet_bytes as u32; BATCH];
    batch.errors = [false; BATCH];
}

/// Counts what leaves.
#[inline(always)]
fn count(batch: &Batch, n_packets: &mut [u64; N_OUTPUTS + 1]) {
    for (output, n_packets) in (0u8..).zip(n_packets) {
        let mut here = 0;
        for chosen in batch.outputs {
            here += u8::from(chosen == output);
        }
        *n_packets += u64::from(here);
    }
}

/// Two bytes in network order; `AT` is known where this is compiled, so nothing is checked when it runs.
#[inline(always)]
pub fn be16<const AT: usize>(frame: &Frame) -> u16 {
    u16::from_be_bytes([frame[AT], frame[AT + 1]])
}

/// Four bytes in network order.
#[inline(always)]
pub fn be32<const AT: usize>(frame: &Frame) -> u32 {
    u32::from_be_bytes([frame[AT], frame[AT + 1], frame[AT + 2], frame[AT + 3]])
}

/// Replaces two bytes.
#[inline(always)]
pub fn set_be16<const AT: usize>(frame: &mut Frame, value: u16) {
    frame[AT..AT + 2].copy_from_slice(&value.to_be_bytes());
}

/// Replaces four bytes.
#[inline(always)]
pub fn set_be32<const AT: usize>(frame: &mut Frame, value: u32) {
    frame[AT..AT + 4].copy_from_slice(&value.to_be_bytes());
}

/// Folds a sum of 16-bit words to 16 bits, carries added in.
#[inline(always)]
pub fn fold(sum: u32) -> u16 {
    // The upper half of a number plus the same with its halves exchanged is the sum of the halves with its carry.
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

/// Whether the checksum of an IPv4 header of 20 bytes is right. In either order of bytes the sum comes out all ones.
#[inline(always)]
pub fn header_is_sound(frame: &Frame) -> bool {
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| frame[at + byte]));
    let last = u32::from_ne_bytes([frame[30], frame[31], frame[32], frame[33]]);
    let (sum, carry) = word(14).overflowing_add(word(22));
    let (sum, carry_2) = sum.overflowing_add(u64::from(last) + u64::from(carry));
    // Cannot carry again: a carry leaves less than 2^33.
    let sum = sum + u64::from(carry_2);
    let halves = (sum & 0xffff_ffff) + (sum >> 32);
    let words = (halves & 0xffff) + (halves >> 16 & 0xffff) + (halves >> 32);
    (words & 0xffff) + (words >> 16) == 0xffff
}

/// The 5-tuple of a plain packet, as one word of addresses and one of ports and protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Source and destination address.
    pub addresses: u64,
    /// Source port, destination port, protocol.
    pub ports: u64,
}

impl Key {
    #[inline(always)]
    pub fn src(self) -> u32 {
        (self.addresses >> 32) as u32
    }

    #[inline(always)]
    pub fn dst(self) -> u32 {
        self.addresses as u32
    }

    #[inline(always)]
    pub fn sport(self) -> usize {
        (self.ports >> 24) as usize & 0xffff
    }

    #[inline(always)]
    pub fn dport(self) -> usize {
        (self.ports >> 8) as usize & 0xffff
    }

    #[inline(always)]
    pub fn protocol(self) -> u8 {
        self.ports as u8
    }

    /// A hash for tables: two multiplications, their high halves mixed in.
    #[inline(always)]
    pub fn hash(self) -> usize {
        let a = self.addresses.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let b = (self.ports ^ a ^ (a >> 29)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (b ^ (b >> 32)) as usize
    }
}

/// The 5-tuple of a packet that is plain: untagged, IPv4 without options, no fragment, TCP or UDP, lengths that agree. All others are
/// for a slower path that these programs do not have.
#[inline(always)]
pub fn plain_key(frame: &Frame, packet_bytes: u32) -> Option<Key> {
    let protocol = frame[23];
    // EtherType and the first byte of the header; flags and offset. One comparison each.
    let is_ipv4 = be32::<12>(frame) & 0xffff_ff00 == 0x0800_4500;
    let is_whole = be16::<20>(frame) & 0x3fff == 0;
    let has_ports = protocol == 6 || protocol == 17;
    let is_plain = packet_bytes >= 38 && is_ipv4 & is_whole & has_ports & (be16::<16>(frame) >= 24);
    let addresses = u64::from(be32::<26>(frame)) << 32 | u64::from(be32::<30>(frame));
    let ports = u64::from(be32::<34>(frame)) << 8 | u64::from(protocol);
    is_plain.then_some(Key { addresses, ports })
}

#[cfg(test)]
mod tests {
    use super::{BUFFER_BYTES, fold, header_is_sound};
    use crate::random::Random;

    /// The sum of RFC 1071 §1, word by word.
    fn ones_complement_sum(words: impl Iterator<Item = u32>) -> u32 {
        words.fold(0, |sum, word| {
            let sum = sum + word;
            (sum & 0xffff) + (sum >> 16)
        })
    }

    #[test]
    fn headers_are_sound_when_their_words_sum_to_all_ones() {
        let mut random = Random::new(5);
        let mut frame = [0; BUFFER_BYTES];
        let mut n_sound = 0;
        for round in 0..10_000 {
            frame[14..34].fill_with(|| random.bits() as u8);
            let words = |frame: &[u8]| -> Vec<u32> {
                frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).collect()
            };
            if round % 2 == 0 {
                frame[24..26].fill(0);
                let sum = ones_complement_sum(words(&frame).into_iter()) as u16;
                frame[24..26].copy_from_slice(&(!sum).to_be_bytes());
            }
            let expected = ones_complement_sum(words(&frame).into_iter()) == 0xffff;
            assert_eq!(header_is_sound(&frame), expected, "{:?}", &frame[14..34]);
            n_sound += u32::from(expected);
        }
        assert!(n_sound >= 5_000, "every second header was made sound");
    }

    #[test]
    fn sums_fold_with_their_carries() {
        let halves = |sum: u32| [sum >> 16, sum & 0xffff].into_iter();
        for sum in [0, 1, 0xffff, 0x1_0000, 0x1_ffff, 0xffff_0000, 0xffff_0001, 0xffff_ffff, 0x1234_fedc] {
            assert_eq!(u32::from(fold(sum)), ones_complement_sum(halves(sum)), "{sum:x}");
        }
    }
}
