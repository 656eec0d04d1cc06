//! The intermediate representation: structured SSA over exact-width integers.
//!
//! A [`Design`] holds elements, typed channels and boundary ports. An element holds state and bodies; a [`Body`] is a tree of
//! regions of ops. Every op is declared once, in the table of `op.rs`; printer, parser, verifier and evaluation come from it.
//! Engines and back-ends take a [`Verified`] design only.

mod body;
mod builder;
pub mod chain;
mod design;
mod digits;
pub mod engine;
pub mod eval;
#[cfg(feature = "generate")]
pub mod generate;
mod ids;
mod limbs;
mod op;
mod parse;
mod reference;
pub mod side;
mod text;
mod twin;
mod value;
mod verify;

pub use diag::Span;

pub use body::{Body, BodyKind, Local, Op, OpId, Region, RegionId, ValueId};
pub use builder::{Builder, Opened};
pub use chain::{Chain, ChainVar, Counter};
pub use design::{
    Boundary, BoundaryDirection, BoundaryId, Channel, ChannelEnd, ChannelId, Design, Element, ElementId, Field,
    Handler, MessageKind, MessageType, MessageTypeId, MetaField, Param, Port, Signal, Timing, Var, VarId,
};
pub use op::{Attr, AttrKind, Effect, Opcode, Shape, bytes_width};
pub use parse::{ParseError, parse};
pub use reference::reference_page;
pub use text::{Spans, print};
pub use twin::{TWINS, Twin, TwinVar};
pub use value::{Value, Width};
pub use verify::{MAX_NESTING, Verified, VerifyError, verify, verify_chain};
