//! Statements, expressions and types as s-expressions.

use super::{Lines, constant, enumeration, variable};
use crate::ast::{BinaryOp, Block, Expr, ExprKind, IntLiteral, SizeOfArg, Stmt, StmtKind, TypeExpr, TypeKind, UnaryOp};

impl Lines {
    pub(super) fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty => self.line("(empty)"),
            StmtKind::Vars(decls) => decls.iter().for_each(|decl| self.line(&variable(decl))),
            StmtKind::Const(decl) => self.line(&constant(decl)),
            StmtKind::Struct(decl) => self.structure(decl),
            StmtKind::Enum(decl) => self.line(&enumeration(decl)),
            StmtKind::Expr(e) => self.line(&expr(e)),
            StmtKind::Block(block) => self.node("block", |out| out.block(block)),
            StmtKind::If { cond, then, otherwise } => self.node(&format!("if {}", expr(cond)), |out| {
                out.node("then", |out| out.branch(then));
                if let Some(otherwise) = otherwise {
                    out.node("else", |out| out.branch(otherwise));
                }
            }),
            StmtKind::For { init, cond, step, body } => self.node("for", |out| {
                if let Some(init) = init {
                    out.node("init", |out| out.stmt(init));
                }
                if let Some(cond) = cond {
                    out.line(&format!("(while {})", expr(cond)));
                }
                step.iter().for_each(|e| out.line(&format!("(step {})", expr(e))));
                out.node("do", |out| out.branch(body));
            }),
            StmtKind::While { cond, body } => self.node(&format!("while {}", expr(cond)), |out| out.branch(body)),
            StmtKind::DoWhile { body, cond } => self.node(&format!("do-while {}", expr(cond)), |out| out.branch(body)),
            StmtKind::Switch { value, arms } => self.node(&format!("switch {}", expr(value)), |out| {
                for arm in arms {
                    let labels = arm.labels.iter().map(|(label, _)| label.as_ref().map_or("default".to_owned(), expr));
                    out.node(&format!("case [{}]", labels.collect::<Vec<_>>().join(" ")), |out| {
                        arm.body.iter().for_each(|stmt| out.stmt(stmt));
                    });
                }
            }),
            StmtKind::Break => self.line("(break)"),
            StmtKind::Continue => self.line("(continue)"),
            StmtKind::Return(None) => self.line("(return)"),
            StmtKind::Return(Some(value)) => self.line(&format!("(return {})", expr(value))),
            StmtKind::Repeat { var, lo, hi, body } => {
                self.node(&format!("repeat {} {} {}", var.text, expr(lo), expr(hi)), |out| out.block(body));
            }
            StmtKind::RepeatBreak => self.line("(BREAK)"),
            StmtKind::Pragma(text) => self.line(&format!("(pragma {text:?})")),
        }
    }

    /// The statement under an `if` or loop; a block's statements without the block.
    fn branch(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Block(block) => self.block(block),
            _ => self.stmt(stmt),
        }
    }
}

/// A type on one line.
pub(super) fn ty(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Name(name) => name.clone(),
        TypeKind::UInt(width) => format!("uint<{}>", expr(width)),
        TypeKind::Int(width) => format!("int<{}>", expr(width)),
        TypeKind::Auto => "auto".to_owned(),
        TypeKind::Void => "void".to_owned(),
    }
}

/// An expression on one line.
pub(super) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(literal) => int(literal),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Char(byte) => format!("{:?}", char::from(*byte)),
        ExprKind::Str(text) => format!("{text:?}"),
        ExprKind::Name { qualifier: Some(qualifier), name } => format!("{}::{}", qualifier.text, name.text),
        ExprKind::Name { qualifier: None, name } => name.text.clone(),
        ExprKind::Dollar(name) => format!("${}", name.text),
        ExprKind::Field(object, name) => format!("(. {} {})", expr(object), name.text),
        ExprKind::Index(array, index) => format!("(index {} {})", expr(array), expr(index)),
        ExprKind::Slice(array, high, low) => format!("(slice {} {} {})", expr(array), expr(high), expr(low)),
        ExprKind::Call { callee, type_args, args } => {
            let types: String = type_args.iter().map(|arg| format!(" <{}>", ty(arg))).collect();
            let args: String = args.iter().map(|arg| format!(" {}", expr(arg))).collect();
            format!("(call {}{types}{args})", expr(callee))
        }
        ExprKind::Cast(target, value) => format!("(cast {} {})", ty(target), expr(value)),
        ExprKind::SizeOf(arg) => match arg.as_ref() {
            SizeOfArg::Type(of) => format!("(sizeof-type {})", ty(of)),
            SizeOfArg::Expr(of) => format!("(sizeof {})", expr(of)),
        },
        ExprKind::Unary(op, operand) => format!("({} {})", unary(*op), expr(operand)),
        ExprKind::IncDec { increment, prefix, target } => {
            let sign = if *increment { "++" } else { "--" };
            let (before, after) = if *prefix { (sign, "") } else { ("", sign) };
            format!("({before}_{after} {})", expr(target))
        }
        ExprKind::Binary(op, a, b) => format!("({} {} {})", binary(*op), expr(a), expr(b)),
        ExprKind::Assign { op, target, value } => {
            format!("({}= {} {})", op.map_or("", binary), expr(target), expr(value))
        }
        ExprKind::Conditional(cond, a, b) => format!("(? {} {} {})", expr(cond), expr(a), expr(b)),
        ExprKind::Braces { ty: of, elems } => {
            let of = of.as_ref().map_or(String::new(), |of| format!(" {}", ty(of)));
            let elems: String = elems
                .iter()
                .map(|(field, value)| match field {
                    Some(field) => format!(" (.{} {})", field.text, expr(value)),
                    None => format!(" {}", expr(value)),
                })
                .collect();
            format!("(braces{of}{elems})")
        }
        ExprKind::Error => "(error)".to_owned(),
    }
}

/// Decimal up to 64 bits, hexadecimal beyond, with what the spelling says about the type.
fn int(literal: &IntLiteral) -> String {
    let digits = match literal.limbs.as_slice() {
        [] => "0".to_owned(),
        [only] => only.to_string(),
        [rest @ .., top] => {
            let rest: String = rest.iter().rev().map(|limb| format!("{limb:016x}")).collect();
            format!("0x{top:x}{rest}")
        }
    };
    let unsigned = if literal.unsigned { "u" } else { "" };
    let long = if literal.long { "ll" } else { "" };
    let based = if literal.non_decimal { "'" } else { "" };
    format!("{digits}{unsigned}{long}{based}")
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "neg",
        UnaryOp::Plus => "plus",
        UnaryOp::BitNot => "~",
        UnaryOp::Not => "!",
        UnaryOp::AddressOf => "address",
        UnaryOp::Deref => "deref",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::BitOr => "|",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}
