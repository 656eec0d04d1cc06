//! Native code for the bodies of elements.
//!
//! A [`Machine`] is one element at work, as `interp::Machine` is, but its bodies are machine code made by Cranelift. The only
//! user of Cranelift. Code reaches the packet's bytes, the state and the messages by pointer, each access checked against its
//! bound where the bound is not known when compiling; what happens seldom (a packet that grows, a trace) calls functions of `callees.rs`.
//! Where an element names a native twin, that runs instead of its `.body` (`twins.rs`).
//!
//! Unsafe code lives in `machine.rs`, `chain.rs`, `memory.rs`, `callees.rs` and `code.rs` alone.

mod callees;
mod chain;
mod code;
mod context;
mod error;
mod layout;
mod limbs;
mod lower;
mod machine;
mod memory;
mod slot;
mod twins;

pub use chain::{Chain, ChainTrap};
pub use error::Error;
pub use machine::Machine;
pub use slot::Slot;
