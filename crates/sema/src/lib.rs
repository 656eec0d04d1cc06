//! Name resolution, elaboration, type checking and lowering.
//!
//! Source text in, diagnostics and a design out: [`analyze`]. Files come through the [`loader::Loader`] trait.

pub mod analyze;
pub mod loader;
mod files;
mod library;
mod resolve;
pub mod scope;
mod elaborate;
mod expand;
mod boundary;
mod arguments;
mod ports;
mod connect;
mod check;
mod meta;
mod instances;
mod unused;
pub mod graph;
pub mod catalogue;
mod number;
pub mod suggest;
pub mod types;
pub mod consts;
pub mod lower;

pub use analyze::{Analysis, analyze};
pub use catalogue::ElementInfo;
pub use files::ParsedFile;
