//! Expressions: assignment, `?:`, and binary operators by precedence climbing.

use diag::{Code, Diagnostic, Span};

use super::{Parse, Parser, Role, Stops};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::token::TokenKind;

/// An infix operator at the current place.
#[derive(Clone, Copy)]
struct Infix {
    op: BinaryOp,
    /// Binds tighter if higher.
    power: u8,
    /// `>>` is two tokens.
    n_tokens: u8,
}

impl Parser<'_> {
    /// An expression without commas, under the current stops.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(|p| p.assignment())
    }

    /// An expression inside brackets, where every operator is allowed.
    pub(super) fn bracketed_expr(&mut self) -> Parse<Expr> {
        self.with_stops(Stops::default(), |p| p.expr())
    }

    /// `( expression )` after `if`, `while`, `switch`.
    pub(super) fn condition(&mut self, what: &str) -> Parse<Expr> {
        let help = format!("put the {what} in parentheses");
        let open = self.expect(TokenKind::LParen, &help)?;
        let stops = Stops { brace: true, ..Stops::default() };
        let cond = self.with_stops(stops, |p| p.expr())?;
        if self.at(TokenKind::Semi) {
            let span = self.span();
            return Err(self.report(
                Diagnostic::new(
                    Code::E0104,
                    span,
                    "missing `)`",
                    "close the parenthesis; a declaration belongs on a line before the statement",
                )
                .label("expected `)`")
                .related(open, "opened here"),
            ));
        }
        self.close(TokenKind::RParen, open)?;
        Ok(cond)
    }

    /// Warns about `if (a = b)`.
    pub(super) fn warn_assignment(&mut self, cond: &Expr) {
        if let ExprKind::Assign { op: None, .. } = cond.kind {
            let help = "write `==` to compare, or assign on the line before";
            self.report(Diagnostic::new(Code::W0101, cond.span, "this condition assigns", help).label("`=` assigns"));
        }
    }

    fn assignment(&mut self) -> Parse<Expr> {
        let target = self.conditional()?;
        let Some((op, n_tokens)) = self.assign_op() else { return Ok(target) };
        let height = self.height;
        for at in 0..n_tokens {
            self.roles[self.pos + at] = if at == 0 { Role::Plain } else { Role::Postfix };
        }
        (0..n_tokens).for_each(|_| {
            self.bump();
        });
        let value = if self.at(TokenKind::LBrace) { self.braces(None)? } else { self.expr()? };
        self.grown(height.max(self.height) + 1)?;
        let span = target.span.to(value.span);
        Ok(Expr { kind: ExprKind::Assign { op, target: Box::new(target), value: Box::new(value) }, span })
    }

    /// The assignment operator here and how many tokens it is.
    fn assign_op(&self) -> Option<(Option<BinaryOp>, usize)> {
        let op = match self.kind() {
            TokenKind::Eq => None,
            TokenKind::PlusEq => Some(BinaryOp::Add),
            TokenKind::MinusEq => Some(BinaryOp::Sub),
            TokenKind::StarEq => Some(BinaryOp::Mul),
            TokenKind::SlashEq => Some(BinaryOp::Div),
            TokenKind::PercentEq => Some(BinaryOp::Rem),
            TokenKind::AndEq => Some(BinaryOp::BitAnd),
            TokenKind::OrEq => Some(BinaryOp::BitOr),
            TokenKind::CaretEq => Some(BinaryOp::BitXor),
            TokenKind::ShlEq => Some(BinaryOp::Shl),
            TokenKind::Gt if !self.stops.greater && self.kind_at(1) == TokenKind::Ge && self.adjacent(1) => {
                return Some((Some(BinaryOp::Shr), 2));
            }
            _ => return None,
        };
        Some((op, 1))
    }

    fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.binary(0)?;
        if !self.at(TokenKind::Question) {
            return Ok(cond);
        }
        let mut height = self.height;
        self.bump();
        let then = self.expr()?;
        height = height.max(self.height);
        if !self.at(TokenKind::Colon) {
            return Err(self.unexpected("`:`", "write `condition ? a : b`"));
        }
        self.bump();
        let otherwise = self.nested(|p| p.conditional())?;
        self.grown(height.max(self.height) + 1)?;
        let span = cond.span.to(otherwise.span);
        Ok(Expr { kind: ExprKind::Conditional(Box::new(cond), Box::new(then), Box::new(otherwise)), span })
    }

    fn binary(&mut self, power_min: u8) -> Parse<Expr> {
        let mut left = self.unary()?;
        while let Some(infix) = self.infix().filter(|infix| infix.power >= power_min) {
            let height = self.height;
            self.bump();
            if infix.n_tokens == 2 {
                self.bump_as(Role::Postfix);
            }
            let right = self.nested(|p| p.binary(infix.power + 1))?;
            self.grown(height.max(self.height) + 1)?;
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(infix.op, Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    fn infix(&self) -> Option<Infix> {
        let stops = self.stops;
        let (op, power) = match self.kind() {
            TokenKind::OrOr => (BinaryOp::Or, 0),
            TokenKind::AndAnd => (BinaryOp::And, 1),
            TokenKind::Or => (BinaryOp::BitOr, 2),
            TokenKind::Caret => (BinaryOp::BitXor, 3),
            TokenKind::And => (BinaryOp::BitAnd, 4),
            TokenKind::EqEq => (BinaryOp::Eq, 5),
            TokenKind::Ne => (BinaryOp::Ne, 5),
            TokenKind::Lt => (BinaryOp::Lt, 6),
            TokenKind::Le => (BinaryOp::Le, 6),
            TokenKind::Ge if !stops.greater => (BinaryOp::Ge, 6),
            TokenKind::Gt if !stops.greater => return self.greater(),
            TokenKind::Shl => (BinaryOp::Shl, 7),
            TokenKind::Plus if !stops.plus => (BinaryOp::Add, 8),
            TokenKind::Minus => (BinaryOp::Sub, 8),
            TokenKind::Star if !stops.star => (BinaryOp::Mul, 9),
            TokenKind::Slash => (BinaryOp::Div, 9),
            TokenKind::Percent => (BinaryOp::Rem, 9),
            _ => return None,
        };
        Some(Infix { op, power, n_tokens: 1 })
    }

    /// `>` or `>>`; `>>=` is no infix operator.
    fn greater(&self) -> Option<Infix> {
        match self.kind_at(1) {
            TokenKind::Ge if self.adjacent(1) => None,
            TokenKind::Gt if self.adjacent(1) => Some(Infix { op: BinaryOp::Shr, power: 7, n_tokens: 2 }),
            _ => Some(Infix { op: BinaryOp::Gt, power: 6, n_tokens: 1 }),
        }
    }

    /// Reports `a = 1, b = 2;`.
    pub(super) fn refuse_comma(&mut self) {
        if self.at(TokenKind::Comma) {
            let span: Span = self.span();
            self.refuse(
                Code::E0124,
                span,
                "the comma operator is not part of the language",
                "write two statements, each with its `;`",
            );
            while self.eat(TokenKind::Comma) {
                if self.expr().is_err() {
                    return;
                }
            }
        }
    }
}
