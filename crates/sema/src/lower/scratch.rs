//! Lowering without an element: constants and types for the graph.

use std::collections::BTreeMap;

use diag::Diagnostic;
use syntax::ast::{Expr, ExprKind};

use super::{Lowerer, Res, on_large_stack};
use crate::scope::{ConstValue, Decls};

/// Lowers with only file-level names and the given parameters; the error is the first report.
pub fn with<R: Send>(
    decls: &Decls<'_>,
    names: &BTreeMap<String, ConstValue>,
    f: impl FnOnce(&mut Lowerer<'_, '_>) -> Res<R> + Send,
) -> Result<R, Diagnostic> {
    on_large_stack(|| {
        let mut lowerer = Lowerer::new(decls, None, names.clone());
        match f(&mut lowerer) {
            Ok(result) => Ok(result),
            Err(_) => Err(lowerer.reports.into_iter().next().expect("a failure is reported")),
        }
    })
}

/// Like [`with`], for an expression; small ones do not need the large stack.
pub fn value_of(
    expr: &Expr,
    decls: &Decls<'_>,
    names: &BTreeMap<String, ConstValue>,
) -> Result<ConstValue, Diagnostic> {
    if !is_small(expr, names, SMALL_DEPTH) {
        return with(decls, names, |lowerer| lowerer.const_expr_here(expr));
    }
    let mut lowerer = Lowerer::new(decls, None, names.clone());
    match lowerer.const_expr_here(expr) {
        Ok(value) => Ok(value),
        Err(_) => Err(lowerer.reports.into_iter().next().expect("a failure is reported")),
    }
}

/// Nesting up to which an expression is small.
const SMALL_DEPTH: u32 = 12;

/// Whether an expression is made of few levels of literals, given names and operators.
fn is_small(expr: &Expr, names: &BTreeMap<String, ConstValue>, depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    let inner = |expr: &Expr| is_small(expr, names, depth - 1);
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Char(_) => true,
        ExprKind::Name { qualifier: None, name } | ExprKind::Dollar(name) => names.contains_key(&name.text),
        ExprKind::Unary(_, a) => inner(a),
        ExprKind::Binary(_, a, b) => inner(a) && inner(b),
        ExprKind::Conditional(a, b, c) => inner(a) && inner(b) && inner(c),
        _ => false,
    }
}
