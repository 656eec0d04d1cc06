//! Name resolution, elaboration, type checking and lowering.
//!
//! Source text in, diagnostics and a design out: [`analyze`]. Files come through the [`loader::Loader`] trait.

pub mod analyze;
mod arguments;
mod boundary;
pub mod catalogue;
mod check;
mod connect;
pub mod consts;
mod elaborate;
mod expand;
mod files;
pub mod graph;
mod instances;
mod library;
pub mod loader;
pub mod lower;
mod meta;
mod number;
mod ports;
mod resolve;
pub mod scope;
pub mod suggest;
pub mod types;
mod unused;

pub use analyze::{Analysis, analyze};
pub use catalogue::ElementInfo;
pub use files::ParsedFile;
