//! Graph statements with `.repeat`, `if` and `BREAK` carried out: a flat list of declarations and chains.
//!
//! Each statement keeps the names that it sees, because the copies of a `.repeat` differ in the value of its variable only.

use std::ops::ControlFlow;
use std::rc::Rc;

use diag::{Code, Diagnostic, Span};
use syntax::ast::{self, GraphStmt, NamePart, NameTemplate};

use crate::consts::{self, ConstEnv};
use crate::number::Number;
use crate::scope::{ConstValue, Diagnostics};
use crate::types::IntType;

/// Most statements of one graph after expansion, groups included.
pub const STATEMENTS_MAX: usize = 65_536;

/// A statement that is left after expansion, with its names.
pub struct Flat<'d, 'a> {
    /// The statement.
    pub stmt: FlatStmt<'a>,
    /// Parameters of the group and repeat variables.
    pub env: Rc<ConstEnv<'d, 'a>>,
}

/// What is left after expansion.
#[derive(Clone, Copy)]
pub enum FlatStmt<'a> {
    /// `Element :: name`.
    Instance(&'a ast::InstanceDecl),
    /// `a -> b`.
    Chain(&'a ast::Chain),
}

/// Expands the statements of one graph or group. `budget` counts down over the whole application.
pub fn expand<'d, 'a>(
    stmts: impl IntoIterator<Item = &'a GraphStmt>,
    env: &Rc<ConstEnv<'d, 'a>>,
    budget: &mut usize,
    diags: &mut Diagnostics,
) -> Vec<Flat<'d, 'a>> {
    let mut expander = Expander { flat: Vec::new(), budget, repeats: 0, diags };
    let _ = expander.stmts(stmts, env);
    expander.flat
}

/// A graph name with its holes filled.
pub fn name_text(name: &NameTemplate, env: &ConstEnv<'_, '_>) -> Result<String, Diagnostic> {
    let mut text = String::new();
    for part in &name.parts {
        match part {
            NamePart::Text(part) => text.push_str(part),
            NamePart::Var(var) => match env.names.get(var) {
                Some(value) => text.push_str(&Number::of(value).to_string()),
                None => return Err(unknown_variable(var, name.span)),
            },
        }
    }
    Ok(text)
}

struct Expander<'d, 'a, 'x> {
    flat: Vec<Flat<'d, 'a>>,
    budget: &'x mut usize,
    repeats: u32,
    diags: &'x mut Diagnostics,
}

/// `Break` leaves the innermost repeat.
type Flow = ControlFlow<()>;

impl<'d, 'a> Expander<'d, 'a, '_> {
    fn stmts(&mut self, stmts: impl IntoIterator<Item = &'a GraphStmt>, env: &Rc<ConstEnv<'d, 'a>>) -> Flow {
        for stmt in stmts {
            match stmt {
                GraphStmt::Instance(decl) => self.push(FlatStmt::Instance(decl), decl.span, env)?,
                GraphStmt::Chain(chain) => self.push(FlatStmt::Chain(chain), chain.span, env)?,
                GraphStmt::Repeat(repeat) => self.repeat(repeat, env)?,
                GraphStmt::Break(span) => {
                    if self.repeats == 0 {
                        let help = "write it inside `.repeat(i, lo, hi) { … }`";
                        self.diags.add(Diagnostic::new(Code::E0222, *span, "`BREAK` outside `.repeat`", help));
                    }
                    return Flow::Break(());
                }
                GraphStmt::If { cond, then, otherwise, .. } => {
                    if let Some(cond) = self.constant(cond, env) {
                        self.stmts(if cond.is_zero() { otherwise } else { then }, env)?;
                    }
                }
            }
        }
        Flow::Continue(())
    }

    fn push(&mut self, stmt: FlatStmt<'a>, span: Span, env: &Rc<ConstEnv<'d, 'a>>) -> Flow {
        if *self.budget == 0 {
            self.too_large(span);
            return Flow::Break(());
        }
        *self.budget -= 1;
        self.flat.push(Flat { stmt, env: Rc::clone(env) });
        Flow::Continue(())
    }

    /// Leaves the enclosing statements only when the graph has grown too large.
    fn repeat(&mut self, repeat: &'a ast::GraphRepeat, env: &Rc<ConstEnv<'d, 'a>>) -> Flow {
        let (Some(lo), Some(hi)) = (self.constant(&repeat.lo, env), self.constant(&repeat.hi, env)) else {
            return Flow::Continue(());
        };
        let (Some(lo), Some(hi)) = (lo.to_u64(), hi.to_u64()) else {
            let help = "let both bounds be from 0 to 2^64 - 1";
            self.diags.add(Diagnostic::new(
                Code::E0216,
                repeat.lo.span.to(repeat.hi.span),
                "bounds out of range",
                help,
            ));
            return Flow::Continue(());
        };
        self.repeats += 1;
        for at in lo..hi {
            if *self.budget == 0 {
                self.too_large(repeat.span);
                break;
            }
            *self.budget -= 1;
            let int = if at <= i32::MAX as u64 { IntType::INT } else { IntType::UINT64 };
            let value = ConstValue { value: at.into(), width: int.width, signed: int.signed };
            let mut names = env.names.clone();
            names.insert(repeat.var.text.clone(), value);
            let inner = Rc::new(ConstEnv { decls: env.decls, names });
            if self.stmts(&repeat.body, &inner).is_break() {
                break;
            }
        }
        self.repeats -= 1;
        if *self.budget == 0 { Flow::Break(()) } else { Flow::Continue(()) }
    }

    fn constant(&mut self, expr: &ast::Expr, env: &ConstEnv<'d, 'a>) -> Option<Number> {
        match consts::eval(expr, env) {
            Ok(value) => Some(Number::of(&value)),
            Err(diagnostic) => {
                self.diags.add(diagnostic);
                None
            }
        }
    }

    /// Once in an application: every group that is still open runs into the same bound.
    fn too_large(&mut self, span: Span) {
        if self.diags.has(Code::E0220) {
            return;
        }
        let message = format!("the graph has more than {STATEMENTS_MAX} statements after expansion");
        self.diags.add(Diagnostic::new(
            Code::E0220,
            span,
            message,
            "lower the bounds of `.repeat`, or nest groups less deeply",
        ));
    }
}

fn unknown_variable(var: &str, span: Span) -> Diagnostic {
    let message = format!("no repeat variable or parameter `{var}` here");
    let help = format!("write `.repeat({var}, lo, hi) {{ … }}` around it, or remove `${var}`");
    Diagnostic::new(Code::E0221, span, message, help)
}
