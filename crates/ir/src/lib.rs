//! The intermediate representation: structured SSA over exact-width integers.
//!
//! A [`Design`] holds elements, typed channels and boundary ports. An element holds state and bodies; a [`Body`] is a tree of
//! regions of ops. Every op is declared once, in the table of `op.rs`; printer, parser, verifier and evaluation come from it.
//! Engines and back-ends take a [`Verified`] design only.

mod design;
mod body;
mod op;
pub mod side;
mod value;

pub use body::{Body, BodyKind, Local, Op, OpId, Region, RegionId, ValueId};
pub use design::{
    Boundary, BoundaryDirection, BoundaryId, Channel, ChannelEnd, ChannelId, Design, Element, ElementId, Field, Handler,
    MessageKind, MessageType, MessageTypeId, MetaField, Param, Port, Signal, Timing, Var, VarId,
};
pub use op::{Attr, Effect, Opcode, Shape};
pub use value::{Value, Width};
