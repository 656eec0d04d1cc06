//! One firing: what an engine is asked, and what it tells.

use crate::{Design, MessageTypeId};

use super::DropCause;

/// Bytes of the pieces that `.body` sees.
pub const PIECE_BYTES: usize = 32;

/// What stops a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the first access out of an array's range is a [`Trap`].
    pub bounds: Bounds,
    /// How often loops may go round in one firing, all together.
    pub loop_rounds_max: u64,
    /// Whether an engine that has [`crate::Twin`]s runs them instead of the bodies that they stand for.
    pub twins: bool,
}

/// What an access out of an array's range does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Reads give 0, writes are ignored: what the language says.
    Lenient,
    /// Stops the run.
    Strict,
}

impl Default for Options {
    fn default() -> Options {
        Options { bounds: Bounds::Lenient, loop_rounds_max: 1 << 26, twins: true }
    }
}

/// The messages that wait at an element's inputs. Ports count from 0.
pub trait Inputs {
    /// The oldest message at a port that was said to be ready: its fields in order, each in 64-bit limbs.
    fn front(&self, port: usize) -> &[u64];
}

/// What one firing of a flit handler did. Masks have bit `i` for port `i + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// Inputs whose message was consumed.
    pub consumed: u32,
    /// Outputs written; see the engine's output.
    pub written: u32,
    /// Inputs that may fire it next; 0: fires without input.
    pub mask: u32,
    /// Whether anything that the next firing can see changed: state, mask, outcome of writes.
    pub changed: bool,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It leaves through these packet outputs (bit `i` for port `i + 1`; not 0), as a copy each.
    Emitted(u32),
    /// It is dropped.
    Dropped(DropCause),
    /// The firing had no packet and made none.
    Nothing,
}

/// What one firing of a packet handler did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketFiring {
    /// What became of the packet.
    pub fate: Fate,
    /// Struct outputs written; see the engine's output.
    pub written: u32,
    /// Whether the state changed.
    pub changed: bool,
}

/// Words of a message in the form of [`Inputs::front`].
pub fn message_words(design: &Design, message: MessageTypeId) -> usize {
    design.message_types[message.index()].fields.iter().map(|field| field.width.limbs()).sum()
}

/// Up to 32 bytes as the data of a flit: byte `i` in bits `8 * i .. 8 * i + 8`.
#[inline]
pub fn data_of(bytes: &[u8]) -> [u64; 4] {
    let mut padded = [0; PIECE_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    let (words, _) = padded.as_chunks::<8>();
    [0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i]))
}

/// The first bytes of a flit's data.
#[inline]
pub fn put_data(data: &[u64], bytes: &mut [u8]) {
    for (chunk, word) in bytes.chunks_mut(8).zip(data) {
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}
