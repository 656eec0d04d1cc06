//! Constant evaluation.
//!
//! A constant expression is lowered like any other expression, into a scratch body, and that body is run: so constants and
//! run-time code cannot disagree about promotions, shifts or divisions, and constant functions with loops work. The run is
//! bounded in steps.

use std::collections::BTreeMap;

use diag::Diagnostic;
use syntax::ast;

use crate::lower::scratch;
use crate::scope::{ConstValue, Decls};

/// What a constant expression may name.
pub struct ConstEnv<'d, 'a> {
    /// File-level constants, enums, structs and functions.
    pub decls: &'d Decls<'a>,
    /// Parameters and repeat variables (`$i` and `i` both find `i`).
    pub names: BTreeMap<String, ConstValue>,
}

/// The value of a constant expression of an integer type.
///
/// Errors are reports about the expression: an unknown name, something that is not constant, a type that is no integer.
pub fn eval(expr: &ast::Expr, env: &ConstEnv<'_, '_>) -> Result<ConstValue, Diagnostic> {
    scratch::value_of(expr, env.decls, &env.names)
}
