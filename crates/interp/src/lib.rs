//! The reference interpreter: runs the bodies of one element.
//!
//! A [`Machine`] is an element's state and its bodies in an internal form: instructions over a frame of 64-bit slots, values of
//! up to 64 bits in one slot. It knows nothing of channels: it is given the messages that wait at its inputs, or a [`Packet`],
//! and tells what it consumed and wrote. It is plain on purpose, because it judges every other engine.

mod code;
mod compile;
mod exec;
mod machine;
mod memory;
mod packet_env;
mod wide;

pub use ir::engine::{
    Bounds, DropCause, Fate, Firing, Flags, Inputs, Options, PIECE_BYTES, Packet, PacketFiring, Trap, TrapKind,
    data_of, message_words, put_data,
};
pub use machine::Machine;
