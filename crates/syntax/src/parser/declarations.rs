//! Variables, constants, structs, enums, functions and their parameters.

use diag::{Code, Diagnostic, Span};

use super::{LineStart, Parse, Parser, Role, words};
use crate::ast::{
    ConstDecl, EnumDecl, Expr, ExprKind, FnParam, FunctionDecl, Ident, IntLiteral, StructDecl, TypeExpr, VarDecl,
};
use crate::token::TokenKind;

/// Specifiers before a declaration.
#[derive(Clone, Copy, Default)]
pub(super) struct Specifiers {
    pub constant: bool,
    pub constexpr: bool,
    /// Where `static` stands.
    pub is_static: Option<Span>,
}

/// One name of a declaration: `name[4] = {…}`.
pub(super) struct Declarator {
    name: Ident,
    dims: Vec<Option<Expr>>,
    init: Option<Expr>,
    span: Span,
}

impl Parser<'_> {
    /// Takes `static const …` before a declaration.
    pub(super) fn specifiers(&mut self) -> Specifiers {
        let mut specifiers = Specifiers::default();
        while words::is_specifier(self.word()) {
            match self.word() {
                "const" => specifiers.constant = true,
                "constexpr" => specifiers.constexpr = true,
                "static" => specifiers.is_static = Some(self.span()),
                _ => {}
            }
            self.bump();
        }
        specifiers
    }

    /// `a, b[4] = {…}` after a type, up to the `;` (not taken).
    pub(super) fn declarators(&mut self, what: &str) -> Parse<Vec<Declarator>> {
        let mut all = vec![self.declarator(what)?];
        while self.eat(TokenKind::Comma) {
            all.push(self.declarator(what)?);
        }
        Ok(all)
    }

    fn declarator(&mut self, what: &str) -> Parse<Declarator> {
        let start = self.span();
        if self.at(TokenKind::Star) {
            self.refuse_pointer();
            while self.eat(TokenKind::Star) || self.eat_word("const") {}
        } else if matches!(self.kind(), TokenKind::And | TokenKind::AndAnd) {
            let help = "copy the value, change the copy and write it back, or use the array and index in place";
            self.refuse(Code::E0131, start, "references are not part of the language, except as parameters", help);
            self.bump_as(Role::Prefix);
        }
        let name = self.ident(what, "a declaration is a type, a name and an optional value: `uint32_t count = 0;`")?;
        let mut dims = Vec::new();
        while self.at(TokenKind::LBracket) {
            let open = self.bump();
            let size = if self.at(TokenKind::RBracket) { None } else { Some(self.bracketed_expr()?) };
            self.close(TokenKind::RBracket, open)?;
            dims.push(size);
        }
        let init = match self.kind() {
            TokenKind::Eq => {
                self.bump();
                Some(self.initializer()?)
            }
            TokenKind::LBrace => Some(self.braces(None)?),
            TokenKind::LParen => {
                let open = self.bump();
                let value = self.bracketed_expr()?;
                self.close(TokenKind::RParen, open)?;
                Some(value)
            }
            _ => None,
        };
        Ok(Declarator { name, dims, init, span: self.since(start) })
    }

    /// An expression or braces.
    pub(super) fn initializer(&mut self) -> Parse<Expr> {
        if self.at(TokenKind::LBrace) { self.braces(None) } else { self.expr() }
    }

    /// Variables out of declarators: an empty `[]` takes its size from the braces.
    pub(super) fn variables(&mut self, ty: &TypeExpr, is_const: bool, declarators: Vec<Declarator>) -> Vec<VarDecl> {
        declarators.into_iter().map(|one| self.variable(ty.clone(), is_const, one)).collect()
    }

    fn variable(&mut self, ty: TypeExpr, is_const: bool, declarator: Declarator) -> VarDecl {
        let Declarator { name, dims, init, span } = declarator;
        let n_elements = match init.as_ref().map(|e| &e.kind) {
            Some(ExprKind::Braces { elems, .. }) => Some(elems.len() as u64),
            _ => None,
        };
        let mut sized = Vec::new();
        for (at, dim) in dims.into_iter().enumerate() {
            match (dim, n_elements) {
                (Some(size), _) => sized.push(size),
                (None, Some(n)) if at == 0 => sized.push(int_literal(n, name.span)),
                (None, _) => {
                    let message = format!("the array `{}` has no size", name.text);
                    let diagnostic = Diagnostic::new(
                        Code::E0127,
                        name.span,
                        message,
                        "write the number of elements between the brackets",
                    );
                    self.report(diagnostic);
                    sized.push(Expr { kind: ExprKind::Error, span: name.span });
                }
            }
        }
        VarDecl { ty, is_const, name, dims: sized, init, span }
    }

    /// Constants out of declarators; one without a value is reported and left out.
    pub(super) fn constants(&mut self, ty: &TypeExpr, declarators: Vec<Declarator>) -> Vec<ConstDecl> {
        let mut constants = Vec::new();
        for Declarator { name, dims, init, span } in declarators {
            let Some(value) = init else {
                let message = format!("the constant `{}` has no value", name.text);
                let help = format!("write `{} = …` with a constant expression", name.text);
                self.report(Diagnostic::new(Code::E0127, name.span, message, help));
                continue;
            };
            constants.push(ConstDecl { ty: ty.clone(), name, dims, value, span });
        }
        constants
    }

    /// `struct Name { … }`, up to its closing brace. Without a name it is called after its first variable: `struct x`.
    pub(super) fn struct_decl(&mut self) -> Parse<StructDecl> {
        let start = self.bump();
        let name = if self.at(TokenKind::LBrace) {
            None
        } else {
            Some(self.ident("a name for the struct", "write `struct Name { uint32_t field; };`")?)
        };
        if self.at(TokenKind::Colon) {
            let span = self.span();
            let help = "list the base's fields, or make it a field";
            self.refuse(Code::E0123, span, "structs cannot inherit", help);
            while !matches!(self.kind(), TokenKind::LBrace | TokenKind::Semi | TokenKind::End) {
                self.bump();
            }
        }
        let fields = self.nested(|p| p.struct_fields())?;
        let name = match name {
            Some(name) => name,
            None if self.at(TokenKind::Ident) && self.same_line(0) => {
                Ident { text: format!("struct {}", self.word()), span: start }
            }
            None => {
                let help = "write `struct Name { … };`, or a variable after the `}`";
                let diagnostic = Diagnostic::new(Code::E0101, start, "this struct has no name", help);
                self.report(diagnostic);
                Ident { text: "struct".to_owned(), span: start }
            }
        };
        Ok(StructDecl { name, fields, span: self.since(start) })
    }

    fn struct_fields(&mut self) -> Parse<Vec<VarDecl>> {
        let open = self.open_block("the struct's fields")?;
        let mut fields = Vec::new();
        while !self.at_block_end(open) {
            let before = self.begin_statement();
            if self.field_line(&mut fields).is_err() {
                self.recover(before);
            }
        }
        self.close_block(open);
        Ok(fields)
    }

    fn field_line(&mut self, fields: &mut Vec<VarDecl>) -> Parse<()> {
        if self.eat(TokenKind::Semi) || self.eat(TokenKind::Pragma) {
            return Ok(());
        }
        if matches!(self.word(), "struct" | "enum") && matches!(self.kind_at(2), TokenKind::LBrace) {
            let span = self.span();
            let help = "declare the inner type before this struct, then a field of it";
            return Err(self.refuse(Code::E0123, span, "a type cannot be declared inside a struct", help));
        }
        self.specifiers();
        let ty = self.type_expr()?;
        if self.at(TokenKind::Ident) && self.kind_at(1) == TokenKind::LParen || self.at(TokenKind::LParen) {
            let span = self.span();
            let help = "declare a function at file level that takes the struct: `void f(Entry &e) { … }`";
            return Err(self.refuse(Code::E0123, span, "a struct cannot have functions", help));
        }
        let declarators = self.declarators("a name for the field")?;
        if self.at(TokenKind::Colon) {
            let span = self.span();
            return Err(self.refuse(
                Code::E0123,
                span,
                "bit-fields are not part of the language",
                "give the field an exact width: `uint<3> flags;`",
            ));
        }
        self.semicolon("the field")?;
        let declared = self.variables(&ty, false, declarators);
        fields.extend(declared);
        Ok(())
    }

    /// `enum [class] [Name] [: type] { A, B = 2 }`, up to its closing brace.
    pub(super) fn enum_decl(&mut self) -> Parse<EnumDecl> {
        let start = self.bump();
        let scoped = self.eat_word("class") || self.eat_word("struct");
        let name = match self.kind() {
            TokenKind::Ident => Some(self.ident("a name for the enum", "write `enum Name { A, B };`")?),
            _ => None,
        };
        let underlying = if self.eat(TokenKind::Colon) { Some(self.type_expr()?) } else { None };
        if !self.at(TokenKind::LBrace) {
            return Err(self.unexpected("`{`", "list the values: `enum Name { A, B };`"));
        }
        let open = self.bump_as(Role::NamesOpen);
        let values = self.enum_values(open).inspect_err(|_| self.skip_list())?;
        Ok(EnumDecl { name, scoped, underlying, values, span: self.since(start) })
    }

    fn enum_values(&mut self, open: Span) -> Parse<Vec<(Ident, Option<Expr>)>> {
        let mut values = Vec::new();
        while !self.at(TokenKind::RBrace) {
            let name = self
                .ident("a name for the value", "values are names with an optional `= number`, separated by commas")?;
            let value = if self.eat(TokenKind::Eq) { Some(self.bracketed_expr()?) } else { None };
            values.push((name, value));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close_list(open, Role::NamesClose)?;
        Ok(values)
    }

    /// After a fault in a braced list: skips past its `}`, unless a `;` comes first.
    pub(super) fn skip_list(&mut self) {
        /// A list that goes on further is taken for one without an end; this keeps the search linear.
        const LIST_TOKENS_MAX: usize = 4096;
        let mut depth = 0_u32;
        for at in (self.pos..self.tokens.len()).take(LIST_TOKENS_MAX) {
            match self.tokens[at].kind {
                TokenKind::LBrace => depth += 1,
                TokenKind::RBrace if depth == 0 => {
                    self.pos = at + 1;
                    return;
                }
                TokenKind::RBrace => depth -= 1,
                TokenKind::Semi | TokenKind::End => return,
                _ => {}
            }
        }
    }

    /// The `}` of a list.
    pub(super) fn close_list(&mut self, open: Span, role: Role) -> Parse<()> {
        if self.at(TokenKind::RBrace) {
            self.roles[self.pos] = role;
        }
        self.close(TokenKind::RBrace, open).map(|_| ())
    }

    /// The rest of a function after its result type.
    pub(super) fn function(&mut self, doc: String, start: Span, result: TypeExpr) -> Parse<FunctionDecl> {
        let name = self.ident("a name for the function", "write `uint32_t name(uint32_t x) { … }`")?;
        let params = self.parameters()?;
        if self.at(TokenKind::Semi) {
            let span = self.since(start);
            self.bump();
            let message = format!("the function `{}` has no body", name.text);
            let help =
                "write the body here; functions may be called before they are declared, so no prototype is needed";
            return Err(self.report(Diagnostic::new(Code::E0101, span, message, help)));
        }
        self.eat_word("const");
        let body = self.block("the function's body")?;
        Ok(FunctionDecl { doc, result, name, params, body, span: self.since(start) })
    }

    /// `(uint32_t x, uint8_t &y, uint8_t data[32])`.
    pub(super) fn parameters(&mut self) -> Parse<Vec<FnParam>> {
        let params = self.arguments()?;
        for default in params.iter().filter_map(|param| param.default.as_ref()) {
            let help = "only the arguments of typed signals have default values";
            self.report(Diagnostic::new(Code::E0101, default.span, "a default value is not expected here", help));
        }
        Ok(params)
    }

    /// The same with default values: `(uint32_t x = 5)`.
    pub(super) fn arguments(&mut self) -> Parse<Vec<FnParam>> {
        let open = self.expect(TokenKind::LParen, "list the parameters in parentheses: `(uint32_t x)`, or `()`")?;
        let mut params = Vec::new();
        if self.at_word("void") && self.kind_at(1) == TokenKind::RParen {
            self.bump();
        }
        while !self.at(TokenKind::RParen) {
            params.push(self.parameter()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::RParen, open)?;
        Ok(params)
    }

    fn parameter(&mut self) -> Parse<FnParam> {
        let ty = self.type_expr()?;
        let by_reference = self.at(TokenKind::And);
        if by_reference {
            self.bump_as(Role::Prefix);
        }
        let name = self.ident("a name for the parameter", "each parameter is a type and a name: `uint32_t x`")?;
        let mut dims = Vec::new();
        while self.at(TokenKind::LBracket) {
            let open = self.bump();
            if self.at(TokenKind::RBracket) {
                let message = format!("the array `{}` has no size", name.text);
                let help = "write the number of elements between the brackets";
                return Err(self.report(Diagnostic::new(Code::E0127, name.span, message, help)));
            }
            dims.push(self.bracketed_expr()?);
            self.close(TokenKind::RBracket, open)?;
        }
        let default = if self.eat(TokenKind::Eq) { Some(self.initializer()?) } else { None };
        Ok(FnParam { ty, by_reference, name, dims, default })
    }

    /// Marks the current token as the first of a statement and returns its place, for [`Parser::recover`].
    pub(super) fn begin_statement(&mut self) -> usize {
        self.line_starts[self.pos] = LineStart::Statement;
        self.statement_start = self.pos;
        self.pos
    }

    /// After a report: skips to the next border, and past at least one token.
    pub(super) fn recover(&mut self, before: usize) {
        self.skip_statement();
        if self.pos == before {
            self.bump();
        }
    }

    /// `{` of a block.
    pub(super) fn open_block(&mut self, what: &str) -> Parse<Span> {
        if self.at(TokenKind::LBrace) {
            let open = self.bump_as(Role::BlockOpen);
            self.open_indents.push((open.start, self.line_indent));
            return Ok(open);
        }
        let help = format!("put {what} between `{{` and `}}`");
        Err(self.unexpected("`{`", &help))
    }

    /// Whether the block opened at `open` ends here; a missing brace is reported.
    pub(super) fn at_block_end(&mut self, open: Span) -> bool {
        if self.at(TokenKind::RBrace) {
            return true;
        }
        let unclosed = self.at(TokenKind::End) || self.at_section() || self.at_top_directive();
        if unclosed {
            self.unclosed_brace(open);
        }
        unclosed
    }

    /// Takes the `}` of the block opened at `open`, if it is there.
    pub(super) fn close_block(&mut self, open: Span) {
        if !self.at(TokenKind::RBrace) {
            return;
        }
        let begins_line = self.token().line_break;
        let close = self.bump_as(Role::BlockClose);
        while let Some((start, indent)) = self.open_indents.pop() {
            if start == open.start {
                let outdented = begins_line && self.line_indent < indent;
                if outdented && self.outdented.is_none() {
                    self.outdented = Some((open, close));
                }
                return;
            }
        }
    }
}

fn int_literal(value: u64, span: Span) -> Expr {
    let limbs = if value == 0 { Vec::new() } else { vec![value] };
    Expr { kind: ExprKind::Int(IntLiteral { limbs, unsigned: false, long: false, non_decimal: false }), span }
}
