//! Passes over the intermediate representation.
//!
//! One pass a file, each a function from a body to a body; [`pipeline`] holds their order. Every pass copies the body with a
//! [`rebuild::Rebuild`] and leaves out or replaces what it can, so arenas stay dense and in canonical order.

pub mod cse;
pub mod dce;
pub mod fold;
pub mod fuse;
pub mod pipeline;
mod places;
mod quick;
pub mod reads;
mod rebuild;
pub mod runs;
