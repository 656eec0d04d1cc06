//! Types: C integer spellings, exact widths, names; and telling where a type ends without parsing it.

use diag::{Code, Span};

use super::{Parse, Parser, Role, Stops, words};
use crate::ast::{Ident, TypeExpr, TypeKind};
use crate::token::TokenKind;

/// Tokens looked at to find the end of `<…>`: bounds lookahead; real type arguments are far shorter.
const ANGLE_TOKENS_MAX: usize = 64;

impl Parser<'_> {
    /// A type. Spellings of C integers come out as one name each: `unsigned long` is `uint64_t`.
    ///
    /// Pointers are reported and read as what they point to.
    pub(super) fn type_expr(&mut self) -> Parse<TypeExpr> {
        while words::is_specifier(self.word()) || matches!(self.word(), "struct" | "enum") {
            self.bump();
        }
        let start = self.span();
        if !self.at(TokenKind::Ident) {
            return Err(self.unexpected(
                "a type",
                "write a type such as `uint32_t`, `uint<48>`, `flit_t` or the name of a struct",
            ));
        }
        self.namespace_prefix();
        let kind = self.type_kind(start)?;
        let span = self.since(start);
        self.eat_word("const");
        if self.at(TokenKind::Star) {
            self.refuse_pointer();
            while self.eat(TokenKind::Star) || self.eat_word("const") {}
        }
        Ok(TypeExpr { kind, span })
    }

    /// Reports the `*` of a pointer type.
    pub(super) fn refuse_pointer(&mut self) {
        let help = "use an array and an index, or a `&` parameter: `void f(uint32_t &x)`, `void f(uint8_t data[32])`";
        let span = self.span();
        self.refuse(Code::E0115, span, "pointers are not part of the language", help);
    }

    /// Takes `a::b::` and returns the last name of it.
    pub(super) fn namespace_prefix(&mut self) -> Option<Ident> {
        let mut last = None;
        if self.at(TokenKind::ColonColon) && self.kind_at(1) == TokenKind::Ident {
            self.bump();
        }
        while self.at(TokenKind::Ident)
            && self.kind_at(1) == TokenKind::ColonColon
            && self.kind_at(2) == TokenKind::Ident
        {
            let text = self.word().to_owned();
            last = Some(Ident { text, span: self.bump() });
            self.bump();
        }
        last
    }

    fn type_kind(&mut self, start: Span) -> Parse<TypeKind> {
        let word = self.word();
        if let Some(refused) = words::refused(word) {
            let span = self.bump();
            self.refuse(refused.code, span, refused.message, refused.help);
            // A stand-in, so that the declaration after it is still read.
            return if refused.code == Code::E0116 {
                Ok(TypeKind::Name("int".to_owned()))
            } else {
                Err(super::Reported)
            };
        }
        if words::begins_statement(word) || matches!(word, "else" | "true" | "false" | "sizeof" | "static_cast") {
            return Err(self.unexpected(
                "a type",
                "write a type such as `uint32_t`, `uint<48>`, `flit_t` or the name of a struct",
            ));
        }
        if matches!(word, "uint" | "int") && self.kind_at(1) == TokenKind::Lt {
            self.bump();
            let width = Box::new(self.angle_argument()?);
            return Ok(if word == "uint" { TypeKind::UInt(width) } else { TypeKind::Int(width) });
        }
        if words::is_c_integer_word(word) {
            return Ok(TypeKind::Name(self.c_integer().to_owned()));
        }
        self.bump();
        if self.at(TokenKind::Lt) && self.angle_end(0).is_some() {
            self.refuse_template_type(start);
        }
        Ok(match word {
            "auto" => TypeKind::Auto,
            "void" => TypeKind::Void,
            "uchar" => TypeKind::Name("uint8_t".to_owned()),
            "ushort" => TypeKind::Name("uint16_t".to_owned()),
            "ulong" => TypeKind::Name("uint64_t".to_owned()),
            name => TypeKind::Name(name.to_owned()),
        })
    }

    /// `<` expression `>`.
    pub(super) fn angle_argument(&mut self) -> Parse<crate::ast::Expr> {
        self.bump_as(Role::AngleOpen);
        let stops = Stops { greater: true, ..Stops::default() };
        let first = self.pos;
        let width = self.with_stops(stops, |p| p.expr())?;
        // A type is copied for each variable declared with it, so its width must stay small.
        if self.pos - first > ANGLE_TOKENS_MAX {
            return Err(self.too_deep());
        }
        self.angle_close()?;
        Ok(width)
    }

    pub(super) fn angle_close(&mut self) -> Parse<()> {
        if self.at(TokenKind::Gt) {
            self.bump_as(Role::AngleClose);
            return Ok(());
        }
        Err(self.unexpected("`>`", "close with `>`; put comparisons and shifts inside `<…>` in parentheses"))
    }

    /// `T<…>` of a C++ template.
    fn refuse_template_type(&mut self, start: Span) {
        let n_tokens = self.angle_end(0).unwrap_or(0);
        for _ in 0..n_tokens {
            self.bump();
        }
        let message = format!(
            "unknown type `{}`: templates are not part of the language",
            &self.text[start.start as usize..self.previous_span().end as usize]
        );
        let help = "use an exact width such as `uint<1024>`, an array, or a `struct`";
        let span = self.since(start);
        self.refuse(Code::E0122, span, message, help);
    }

    /// A run of `unsigned`, `long`, `int`, … as one name.
    fn c_integer(&mut self) -> &'static str {
        let (mut unsigned, mut signed, mut char, mut short, mut long) = (false, false, false, false, false);
        while words::is_c_integer_word(self.word()) {
            match self.word() {
                "unsigned" | "uint" => unsigned = true,
                "signed" => signed = true,
                "char" => char = true,
                "short" => short = true,
                "long" => long = true,
                _ => {}
            }
            self.bump();
        }
        match (char, short, long, unsigned) {
            (true, _, _, true) => "uint8_t",
            (true, _, _, false) if signed => "int8_t",
            (true, _, _, false) => "char",
            (_, true, _, true) => "uint16_t",
            (_, true, _, false) => "int16_t",
            (_, _, true, true) => "uint64_t",
            (_, _, true, false) => "int64_t",
            (_, _, _, true) => "uint",
            (_, _, _, false) => "int",
        }
    }

    /// How many tokens from `ahead` to the `>` that closes the `<` there, if one does within a few tokens.
    pub(super) fn angle_end(&self, ahead: usize) -> Option<usize> {
        let mut depth = 0_u32;
        for n in ahead..ahead + ANGLE_TOKENS_MAX {
            match self.kind_at(n) {
                TokenKind::Lt => depth += 1,
                TokenKind::Gt => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(n + 1 - ahead);
                    }
                }
                TokenKind::Semi | TokenKind::LBrace | TokenKind::RBrace | TokenKind::End => return None,
                TokenKind::AndAnd | TokenKind::OrOr | TokenKind::Eq => return None,
                _ => {}
            }
        }
        None
    }

    /// If a type could stand `ahead`: the place after it, and whether it is a built-in one.
    pub(super) fn type_end(&self, ahead: usize) -> Option<(usize, bool)> {
        let mut at = ahead;
        while words::is_specifier(self.word_at(at)) {
            at += 1;
        }
        while self.kind_at(at) == TokenKind::Ident && self.kind_at(at + 1) == TokenKind::ColonColon {
            at += 2;
        }
        let word = self.word_at(at);
        if word.is_empty() {
            return None;
        }
        if matches!(word, "uint" | "int") && self.kind_at(at + 1) == TokenKind::Lt {
            return Some((at + 1 + self.angle_end(at + 1)?, true));
        }
        let builtin = words::is_builtin_type(word) || matches!(word, "float" | "double" | "half");
        if words::is_c_integer_word(word) {
            while words::is_c_integer_word(self.word_at(at)) {
                at += 1;
            }
        } else {
            at += 1;
        }
        if self.word_at(at) == "const" {
            at += 1;
        }
        Some((at, builtin))
    }

    /// Whether a declaration, rather than an expression, begins here.
    ///
    /// A built-in type begins one unless `(`, `{` or `.` follows (a cast or a member). Another name does if a second name
    /// follows on the same line. `a * b;`, `a & b = …` and `a<b> c` would be useless as expressions: they are read as
    /// pointer, reference and template declarations and refused.
    pub(super) fn declaration_ahead(&self) -> bool {
        if words::is_specifier(self.word()) || self.at_word("auto") {
            return true;
        }
        let Some((end, builtin)) = self.type_end(0) else { return false };
        let next = self.kind_at(end);
        if builtin {
            return !matches!(next, TokenKind::LParen | TokenKind::LBrace | TokenKind::Dot | TokenKind::ColonColon);
        }
        let declarator_end = |at: usize| matches!(self.kind_at(at), TokenKind::Semi | TokenKind::Eq);
        match next {
            TokenKind::Ident => {
                self.same_line(end) && !words::begins_statement(self.word_at(end)) && self.word_at(end) != "else"
            }
            TokenKind::Star | TokenKind::And => self.kind_at(end + 1) == TokenKind::Ident && declarator_end(end + 2),
            TokenKind::Lt => self.angle_end(end).is_some_and(|n| self.kind_at(end + n) == TokenKind::Ident),
            _ => false,
        }
    }
}
