//! Name resolution, elaboration, type checking and lowering.
//!
//! Source text in, diagnostics and a design out. Files come through the [`Loader`] trait.

pub mod scope;
