//! From a body to Cranelift's form.
//!
//! Expects: a verified body. Ensures: code that computes what `ir::eval` and the op table say, that reads and writes only the
//! context, the state block and its memories, the valid bytes of the packet, the frame and the messages.
//! A value of up to 64 bits is one register with its unused bits 0, a wider one a few registers, one of more than 512 bits
//! lies in the frame.

mod access;
mod body;
mod chain;
mod facts;
mod long;
mod narrow;
mod packet;
mod ports;
mod region;
mod state;
mod value;
mod wide;

pub(crate) use body::{Compiled, ElementInput, Tables, TrapSite, Vars, compile};
pub(crate) use chain::compile_chain;
