//! Lexer, recovering parser, syntax tree and formatter of the Flitwork language.

pub mod ast;
