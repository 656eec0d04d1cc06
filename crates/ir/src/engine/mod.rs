//! What every engine takes and gives: packets, firings, traps and limits.
//!
//! An engine runs the bodies of one element. It is given the messages that wait at the inputs, or a [`Packet`], and tells what
//! it consumed and wrote. The runtime, which owns everything between elements, speaks to engines in these types alone.

mod drop_cause;
mod firing;
mod packet;
mod trap;

pub use drop_cause::DropCause;
pub use firing::{Bounds, Fate, Firing, Inputs, Options, PIECE_BYTES, PacketFiring, data_of, message_words, put_data};
pub use packet::{Flags, Packet};
pub use trap::{Trap, TrapKind};
