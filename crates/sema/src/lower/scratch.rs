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

/// The value of a literal that needs no lowering.
pub fn literal(expr: &Expr) -> Option<ConstValue> {
    let ExprKind::Int(literal) = &expr.kind else { return None };
    let small = literal.limbs.first().copied().unwrap_or(0);
    let plain = literal.limbs.len() <= 1 && small <= i32::MAX as u64 && !literal.unsigned && !literal.long;
    plain.then(|| ConstValue { value: small.into(), width: ir::Width::of(32), signed: true })
}

impl Lowerer<'_, '_> {
    /// The value of a constant expression of integer type.
    pub fn const_expr(&mut self, expr: &Expr) -> Res<ConstValue> {
        self.const_expr_here(expr)
    }
}
