//! Lexer, recovering parser, syntax tree and formatter of the Flitwork language.
//!
//! [`parse`] turns any text into an [`ast::File`] and diagnostics; it never fails.

pub mod ast;
mod token;
mod literal;
mod lexer;
mod parser;
mod dump;

pub use dump::dump;
pub use parser::{Parsed, parse};
