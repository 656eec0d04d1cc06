//! Source spans, diagnostics, the table of error codes and their rendering.
//!
//! Everything that tells a user about a fault in their own files goes through a [`Diagnostic`]: a code from the table in
//! `codes.rs`, a primary span, a one-line message and what to do about it. Nothing here reads files or prints.

mod codes;
mod diagnostic;
mod render;
mod source;

pub use codes::Code;
pub use diagnostic::{Diagnostic, Label, Severity};
pub use render::{RenderStyle, render};
pub use source::{FileId, Position, SourceFile, SourceMap, Span};
