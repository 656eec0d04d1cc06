//! Lexer, recovering parser, syntax tree and formatter of the Flitwork language.
//!
//! [`parse`] turns any text into an [`ast::File`] and diagnostics; it never fails. [`format`] lays a file out canonically
//! and [`dump`] prints its tree.

pub mod ast;
mod token;
mod literal;
mod lexer;
mod parser;
mod dump;
mod format;

pub use dump::dump;
pub use format::format;
pub use parser::{Parsed, parse};
