//! Operands: literals, names, casts, calls, members, elements, braces, and prefix and postfix operators.

use diag::{Code, Diagnostic, Span};

use super::{Parse, Parser, Reported, Role, Stops, words};
use crate::ast::{Expr, ExprKind, Ident, IntLiteral, SizeOfArg, TypeExpr, TypeKind, UnaryOp};
use crate::literal;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn unary(&mut self) -> Parse<Expr> {
        let op = match self.kind() {
            TokenKind::Minus => UnaryOp::Neg,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::Tilde => UnaryOp::BitNot,
            TokenKind::Bang => UnaryOp::Not,
            TokenKind::And => UnaryOp::AddressOf,
            TokenKind::Star => UnaryOp::Deref,
            TokenKind::PlusPlus | TokenKind::MinusMinus => return self.prefix_step(),
            TokenKind::LParen if self.cast_ahead() => return self.c_cast(),
            _ => return self.postfix(),
        };
        let start = self.bump_as(Role::Prefix);
        let operand = self.nested(|p| p.unary())?;
        self.grown(self.height + 1)?;
        let span = start.to(operand.span);
        if op == UnaryOp::Deref {
            let help = "name the variable, or index the array: `a[0]`";
            self.refuse(Code::E0115, span, "pointers are not part of the language", help);
            return Ok(Expr { kind: ExprKind::Error, span });
        }
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span })
    }

    /// `++x`, `--x`.
    fn prefix_step(&mut self) -> Parse<Expr> {
        let increment = self.at(TokenKind::PlusPlus);
        let start = self.bump_as(Role::Prefix);
        let target = self.nested(|p| p.unary())?;
        self.grown(self.height + 1)?;
        let span = start.to(target.span);
        Ok(Expr { kind: ExprKind::IncDec { increment, prefix: true, target: Box::new(target) }, span })
    }

    /// Whether `(` begins a cast: `(T)` with a built-in type, or `(Name)` before a token that can only begin an operand.
    ///
    /// `(Name) - x` is a subtraction, `(Name)x`, `(Name)~x` and `(Name)(x)` are casts.
    fn cast_ahead(&self) -> bool {
        let Some((end, builtin)) = self.type_end(1) else { return false };
        let mut at = end;
        while self.kind_at(at) == TokenKind::Star {
            at += 1;
        }
        if self.kind_at(at) != TokenKind::RParen || (at > end && !builtin) {
            return false;
        }
        let operand = matches!(
            self.kind_at(at + 1),
            TokenKind::Ident
                | TokenKind::Int
                | TokenKind::Char
                | TokenKind::Dollar
                | TokenKind::Tilde
                | TokenKind::Bang
                | TokenKind::LParen
        );
        builtin || (operand && self.same_line(at + 1))
    }

    fn c_cast(&mut self) -> Parse<Expr> {
        let start = self.bump();
        let ty = self.type_expr()?;
        self.bump_as(Role::CastClose);
        let operand = if self.at(TokenKind::LBrace) { self.braces(None)? } else { self.nested(|p| p.unary())? };
        self.cast(ty, operand, start)
    }

    fn cast(&mut self, ty: TypeExpr, operand: Expr, start: Span) -> Parse<Expr> {
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::Cast(ty, Box::new(operand)), span: self.since(start) })
    }

    fn postfix(&mut self) -> Parse<Expr> {
        let mut expr = self.primary()?;
        loop {
            let height = self.height;
            let start = expr.span;
            let kind = match self.kind() {
                TokenKind::Dot if !self.at_section() => self.member(expr)?,
                TokenKind::Arrow if self.kind_at(1) == TokenKind::Ident => self.member(expr)?,
                TokenKind::LBracket if self.same_line(0) => self.element(expr)?,
                TokenKind::LParen => self.call(expr, Vec::new())?,
                TokenKind::PlusPlus | TokenKind::MinusMinus if self.same_line(0) => {
                    let increment = self.at(TokenKind::PlusPlus);
                    self.bump_as(Role::Postfix);
                    ExprKind::IncDec { increment, prefix: false, target: Box::new(expr) }
                }
                _ => return Ok(expr),
            };
            self.grown(height.max(self.height) + 1)?;
            expr = Expr { kind, span: self.since(start) };
        }
    }

    /// `.name`, with type arguments and a call if `.name<T>(` follows.
    fn member(&mut self, object: Expr) -> Parse<ExprKind> {
        if self.at(TokenKind::Arrow) {
            let span = self.span();
            self.refuse(Code::E0115, span, "pointers are not part of the language", "write `.` before the field");
        }
        self.bump();
        let name = match self.kind() {
            // Members may be called as they like: `pkt.drop`, `f.error`.
            TokenKind::Ident => Ident { text: self.word().to_owned(), span: self.bump() },
            _ => return Err(self.unexpected("a field or function name", "write the name after the dot: `f.sop()`")),
        };
        let start = object.span;
        let is_generic =
            self.at(TokenKind::Lt) && self.angle_end(0).is_some_and(|n| self.kind_at(n) == TokenKind::LParen);
        if !is_generic {
            return Ok(ExprKind::Field(Box::new(object), name));
        }
        let callee = Expr { kind: ExprKind::Field(Box::new(object), name), span: self.since(start) };
        self.bump_as(Role::AngleOpen);
        let mut type_args = vec![self.type_expr()?];
        while self.eat(TokenKind::Comma) {
            type_args.push(self.type_expr()?);
        }
        self.angle_close()?;
        self.call(callee, type_args)
    }

    /// `[i]`, `[hi:lo]`.
    fn element(&mut self, array: Expr) -> Parse<ExprKind> {
        let open = self.bump();
        let index = self.bracketed_expr()?;
        if !self.at(TokenKind::Colon) {
            self.close(TokenKind::RBracket, open)?;
            return Ok(ExprKind::Index(Box::new(array), Box::new(index)));
        }
        let height = self.height;
        self.bump_as(Role::SliceColon);
        let low = self.bracketed_expr()?;
        self.height = self.height.max(height);
        self.close(TokenKind::RBracket, open)?;
        Ok(ExprKind::Slice(Box::new(array), Box::new(index), Box::new(low)))
    }

    fn call(&mut self, callee: Expr, type_args: Vec<TypeExpr>) -> Parse<ExprKind> {
        let open = self.bump();
        let mut args = Vec::new();
        let mut height = 0;
        while !self.at(TokenKind::RParen) {
            args.push(self.with_stops(Stops::default(), |p| p.initializer())?);
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
            if self.at(TokenKind::RParen) {
                return Err(self.unexpected("an argument", "remove the comma, or write the argument after it"));
            }
        }
        self.close(TokenKind::RParen, open)?;
        self.height = height;
        Ok(ExprKind::Call { callee: Box::new(callee), type_args, args })
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = self.token();
        let span = self.span();
        self.height = 1;
        let kind = match token.kind {
            TokenKind::Int => match literal::int(self.text_of(token)) {
                Ok(value) => ExprKind::Int(value),
                Err(_) => ExprKind::Error,
            },
            TokenKind::Char => {
                let value = literal::unescape(self.text_of(token).trim_matches('\''));
                match value.ok().and_then(|text| text.chars().next()) {
                    Some(c) => ExprKind::Char(u32::from(c) as u8),
                    None => self.quote_or_error(token),
                }
            }
            TokenKind::Float => {
                let help = "use fixed point: an integer that counts fractions, such as 1/65536";
                self.refuse(Code::E0116, span, "floating point is not part of the language", help);
                ExprKind::Error
            }
            TokenKind::Str => return Ok(self.string()),
            TokenKind::Dollar => ExprKind::Dollar(self.dollar_name()),
            TokenKind::Ident => return self.name_or_keyword(),
            TokenKind::ColonColon if self.kind_at(1) == TokenKind::Ident => return self.name_or_keyword(),
            TokenKind::LParen => return self.parenthesised(),
            TokenKind::LBracket => return self.refuse_lambda(),
            TokenKind::LBrace => return self.braces(None),
            _ => {
                let help = "write a value here: a name, a number, a call or something in parentheses";
                return Err(self.unexpected("an expression", help));
            }
        };
        self.bump();
        Ok(Expr { kind, span })
    }

    /// `'\''`, which loses its quote to trimming; anything else here is a fault that the lexer has reported.
    fn quote_or_error(&self, token: crate::token::Token) -> ExprKind {
        if self.text_of(token) == r"'\''" { ExprKind::Char(b'\'') } else { ExprKind::Error }
    }

    /// One string, or several in a row, which are joined.
    fn string(&mut self) -> Expr {
        let start = self.span();
        let mut value = String::new();
        while self.at(TokenKind::Str) {
            let text = self.text_of(self.token());
            let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or("");
            value.push_str(&literal::unescape(inner).unwrap_or_default());
            self.bump();
        }
        Expr { kind: ExprKind::Str(value), span: self.since(start) }
    }

    /// The name of the `$i` or `${i}` here, which is not taken.
    pub(super) fn dollar_name(&self) -> Ident {
        let text = self.text_of(self.token()).trim_start_matches('$').trim_matches(['{', '}']).to_owned();
        Ident { text, span: self.span() }
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let open = self.bump();
        let inner = self.bracketed_expr()?;
        if self.at(TokenKind::Comma) {
            let span = self.span();
            let help = "separate the parts with statements; `concat(a, b)` joins bits";
            return Err(self.refuse(Code::E0124, span, "the comma operator is not part of the language", help));
        }
        self.close(TokenKind::RParen, open)?;
        Ok(Expr { kind: inner.kind, span: self.since(open) })
    }

    fn refuse_lambda(&mut self) -> Parse<Expr> {
        let start = self.span();
        while !matches!(
            self.kind(),
            TokenKind::RBracket | TokenKind::Semi | TokenKind::LBrace | TokenKind::RBrace | TokenKind::End
        ) {
            self.bump();
        }
        self.eat(TokenKind::RBracket);
        let is_lambda = matches!(self.kind(), TokenKind::LParen | TokenKind::LBrace);
        if !is_lambda {
            let message = "expected an expression, found `[`";
            let help = "put the array before the index: `a[i]`";
            return Err(self.report(Diagnostic::new(Code::E0101, start, message, help).label("expected an expression")));
        }
        let span = self.since(start);
        let help = "declare a function at file level and call it; it is inlined";
        self.refuse(Code::E0120, span, "lambdas are not part of the language", help);
        self.skip_parens();
        while !matches!(self.kind(), TokenKind::LBrace | TokenKind::Semi | TokenKind::RBrace | TokenKind::End) {
            self.bump();
        }
        if self.at(TokenKind::LBrace) {
            self.skip_braces();
        }
        Ok(Expr { kind: ExprKind::Error, span: self.since(start) })
    }

    fn name_or_keyword(&mut self) -> Parse<Expr> {
        let start = self.span();
        match self.word() {
            "true" | "false" => {
                let value = self.at_word("true");
                let span = self.bump();
                return Ok(Expr { kind: ExprKind::Bool(value), span });
            }
            "sizeof" => return self.size_of(),
            "static_cast" => return self.static_cast(),
            "malloc" | "calloc" | "realloc" | "free" if self.kind_at(1) == TokenKind::LParen => {
                let help = "declare an array of the largest size in `.state` and keep a count of the used entries";
                return Err(self.refuse(Code::E0119, start, "there is no heap", help));
            }
            word => {
                if let Some(refused) = words::refused(word) {
                    return self.refused_operand(refused);
                }
            }
        }
        let in_type = self
            .type_end(0)
            .filter(|&(end, builtin)| builtin && matches!(self.kind_at(end), TokenKind::LParen | TokenKind::LBrace));
        if in_type.is_some() {
            return self.functional_cast();
        }
        let qualifier = self.namespace_prefix();
        self.plain_name(qualifier, start)
    }

    fn refused_operand(&mut self, refused: words::Refused) -> Parse<Expr> {
        let span = self.bump();
        self.refuse(refused.code, span, refused.message, refused.help);
        let stands_for_value = self.text_of(self.tokens[self.pos - 1]) == "nullptr"
            || &self.text[span.start as usize..span.end as usize] == "NULL";
        if stands_for_value { Ok(Expr { kind: ExprKind::Error, span }) } else { Err(Reported) }
    }

    fn plain_name(&mut self, qualifier: Option<Ident>, start: Span) -> Parse<Expr> {
        let word = self.word();
        if words::begins_statement(word)
            || matches!(word, "else" | "struct" | "enum" | "const" | "constexpr" | "static")
        {
            let help = "write a value here: a name, a number, a call or something in parentheses";
            return Err(self.unexpected("an expression", help));
        }
        let name = Ident { text: word.to_owned(), span: self.span() };
        let qualifier = qualifier.filter(|_| !words::is_builtin(word));
        self.bump();
        let is_list = self.at(TokenKind::LBrace)
            && self.same_line(0)
            && (!self.stops.brace || self.kind_at(1) == TokenKind::RBrace);
        if is_list {
            let ty = TypeExpr { kind: TypeKind::Name(name.text), span: name.span };
            return self.braces(Some(ty));
        }
        Ok(Expr { kind: ExprKind::Name { qualifier, name }, span: self.since(start) })
    }

    /// `uint32_t(x)`, `uint<48>(x)`, `flit_t{}`, `uint8_t{3}`.
    fn functional_cast(&mut self) -> Parse<Expr> {
        let start = self.span();
        let ty = self.type_expr()?;
        let is_scalar = match &ty.kind {
            TypeKind::Name(name) => words::is_scalar_type(name),
            TypeKind::UInt(_) | TypeKind::Int(_) => true,
            TypeKind::Auto | TypeKind::Void => false,
        };
        if self.at(TokenKind::LBrace) {
            let braces = self.braces(Some(ty.clone()))?;
            return match braces.kind {
                ExprKind::Braces { ty: Some(ty), mut elems }
                    if is_scalar && elems.len() == 1 && elems[0].0.is_none() =>
                {
                    let (_, value) = elems.pop().expect("one element");
                    self.cast(ty, value, start)
                }
                kind => Ok(Expr { kind, span: braces.span }),
            };
        }
        let open = self.expect(TokenKind::LParen, "put the value in parentheses")?;
        if self.at(TokenKind::RParen) {
            // `uint8_t()` is 0, as `uint8_t{}` is.
            self.bump();
            let zero = IntLiteral { limbs: Vec::new(), unsigned: false, long: false, non_decimal: false };
            self.height = 1;
            let kind = if is_scalar {
                ExprKind::Int(zero)
            } else {
                ExprKind::Braces { ty: Some(ty.clone()), elems: Vec::new() }
            };
            let value = Expr { kind, span: self.since(start) };
            return if is_scalar { self.cast(ty, value, start) } else { Ok(value) };
        }
        let value = self.with_stops(Stops::default(), |p| p.initializer())?;
        self.close(TokenKind::RParen, open)?;
        self.cast(ty, value, start)
    }

    fn static_cast(&mut self) -> Parse<Expr> {
        let start = self.bump();
        if !self.at(TokenKind::Lt) {
            return Err(self.unexpected("`<`", "write `static_cast<uint32_t>(value)`, or `uint32_t(value)`"));
        }
        self.bump_as(Role::AngleOpen);
        let ty = self.type_expr()?;
        self.angle_close()?;
        let open = self.expect(TokenKind::LParen, "write `static_cast<uint32_t>(value)`, or `uint32_t(value)`")?;
        let value = self.bracketed_expr()?;
        self.close(TokenKind::RParen, open)?;
        self.cast(ty, value, start)
    }

    fn size_of(&mut self) -> Parse<Expr> {
        let start = self.bump();
        let open = self.expect(TokenKind::LParen, "write `sizeof(type)` or `sizeof(expression)`")?;
        let is_type = self.type_end(0).is_some_and(|(end, builtin)| builtin && self.kind_at(end) == TokenKind::RParen);
        let arg = if is_type { SizeOfArg::Type(self.type_expr()?) } else { SizeOfArg::Expr(self.bracketed_expr()?) };
        self.close(TokenKind::RParen, open)?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::SizeOf(Box::new(arg)), span: self.since(start) })
    }

    /// `{a, b}`, `{.x = 1}`, `{}`.
    pub(super) fn braces(&mut self, ty: Option<TypeExpr>) -> Parse<Expr> {
        let stops = Stops::default();
        self.nested(|p| p.with_stops(stops, |p| p.brace_list(ty).inspect_err(|_| p.skip_list())))
    }

    fn brace_list(&mut self, ty: Option<TypeExpr>) -> Parse<Expr> {
        let open = self.bump_as(Role::ListOpen);
        let start = ty.as_ref().map_or(open, |ty| ty.span);
        let mut elems = Vec::new();
        let mut height = 1;
        while !self.at(TokenKind::RBrace) {
            let designated = self.at(TokenKind::Dot) && self.kind_at(1) == TokenKind::Ident;
            let field = if designated { Some(self.designator()?) } else { None };
            elems.push((field, self.initializer()?));
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close_list(open, Role::ListClose)?;
        self.grown(height + 1)?;
        Ok(Expr { kind: ExprKind::Braces { ty, elems }, span: self.since(start) })
    }

    fn designator(&mut self) -> Parse<Ident> {
        self.bump_as(Role::Prefix);
        let name = Ident { text: self.word().to_owned(), span: self.bump() };
        self.expect(TokenKind::Eq, "write `.field = value`")?;
        Ok(name)
    }
}
