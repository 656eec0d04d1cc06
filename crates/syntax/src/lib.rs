//! Lexer, recovering parser, syntax tree and formatter of the Flitwork language.
//!
//! [`parse`] turns any text into an [`ast::File`] and diagnostics; it never fails. [`format`] lays a file out canonically
//! and [`dump`] prints its tree.

pub mod ast;
mod dump;
mod format;
mod lexer;
mod literal;
mod parser;
mod token;

pub use dump::dump;
pub use format::format;
pub use parser::{Parsed, parse};
