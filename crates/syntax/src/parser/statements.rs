//! Statements of bodies.

use diag::{Code, Diagnostic, Span};

use super::{LineStart, Parse, Parser, Reported, Role, words};
use crate::ast::{Block, Expr, Ident, Stmt, StmtKind, SwitchArm, TypeExpr, TypeKind};
use crate::token::TokenKind;

/// `.repeat(var, lo, hi)`.
pub(super) struct RepeatHead {
    pub var: Ident,
    pub lo: Expr,
    pub hi: Expr,
}

/// Initialisation, condition and steps of a `for`.
type ForHeader = (Option<Box<Stmt>>, Option<Expr>, Vec<Expr>);

impl Parser<'_> {
    /// `{ … }`.
    pub(super) fn block(&mut self, what: &str) -> Parse<Block> {
        self.nested(|p| {
            let open = p.open_block(what)?;
            Ok(p.block_rest(open))
        })
    }

    fn block_rest(&mut self, open: Span) -> Block {
        let mut stmts = Vec::new();
        while !self.at_block_end(open) {
            self.statement_into(&mut stmts);
        }
        self.close_block(open);
        Block { stmts, span: self.since(open) }
    }

    /// One statement, or the several that a declaration of constants makes. A broken one is skipped.
    fn statement_into(&mut self, stmts: &mut Vec<Stmt>) {
        let before = self.begin_statement();
        let result = self.nested(|p| p.statements(stmts));
        if result.is_err() {
            self.recover(before);
        }
    }

    /// The one statement under an `if`, `else` or loop.
    fn sub_statement(&mut self, after: &str) -> Parse<Box<Stmt>> {
        if self.at(TokenKind::Semi) && self.same_line(0) {
            let help = "remove the `;`, or write `{}` if nothing is to be done";
            let message = format!("nothing is done after this {after}");
            self.report(Diagnostic::new(Code::W0102, self.span(), message, help).label("this `;` is the whole body"));
        }
        let first = self.pos;
        let start = self.span();
        let mut stmts = Vec::new();
        self.nested(|p| p.statements(&mut stmts))?;
        self.mark_sub_statement(first);
        let one = match (stmts.pop(), stmts.is_empty()) {
            (Some(one), true) => one,
            (None, _) => Stmt { kind: StmtKind::Empty, span: self.since(start) },
            (Some(last), false) => {
                stmts.push(last);
                let span = self.since(start);
                Stmt { kind: StmtKind::Block(Block { stmts, span }), span }
            }
        };
        Ok(Box::new(one))
    }

    /// Notes for the formatter that the tokens from `first` to here are a statement under another one.
    pub(super) fn mark_sub_statement(&mut self, first: usize) {
        if self.tokens[first].kind != TokenKind::LBrace {
            self.line_starts[first] = LineStart::Sub;
            self.sub_ends[first] = self.pos as u32;
        }
    }

    fn statements(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        let start = self.span();
        if words::is_specifier(self.word()) {
            return self.const_or_var(stmts, start);
        }
        if matches!(self.word(), "struct" | "enum") && self.declares_type() {
            return self.local_type(stmts, start);
        }
        let kind = self.statement_kind()?;
        stmts.push(Stmt { kind, span: self.since(start) });
        Ok(())
    }

    /// Whether `struct` or `enum` here has a body, rather than naming a type.
    pub(super) fn declares_type(&self) -> bool {
        let body_at = |n: usize| self.kind_at(n) == TokenKind::LBrace;
        let scoped = self.at_word("enum") && matches!(self.word_at(1), "class" | "struct");
        let has_base = self.kind_at(2) == TokenKind::Colon || self.kind_at(1) == TokenKind::Colon;
        scoped || body_at(1) || body_at(2) || has_base
    }

    fn const_or_var(&mut self, stmts: &mut Vec<Stmt>, start: Span) -> Parse<()> {
        let specifiers = self.specifiers();
        if let Some(span) = specifiers.is_static.filter(|_| !specifiers.constexpr && !specifiers.constant) {
            let help = "declare it in `.state`, which keeps its value between firings";
            return Err(self.refuse(Code::E0123, span, "a body cannot have static variables", help));
        }
        if self.at_word("struct") && self.declares_type() {
            return self.local_type(stmts, start);
        }
        let ty = self.type_expr()?;
        let declarators = self.declarators("a name for the variable")?;
        self.semicolon("the declaration")?;
        let span = self.since(start);
        if specifiers.constexpr {
            for constant in self.constants(&ty, declarators) {
                stmts.push(Stmt { span, kind: StmtKind::Const(constant) });
            }
        } else {
            let variables = self.variables(&ty, specifiers.constant, declarators);
            stmts.push(Stmt { span, kind: StmtKind::Vars(variables) });
        }
        Ok(())
    }

    fn local_type(&mut self, stmts: &mut Vec<Stmt>, start: Span) -> Parse<()> {
        if self.at_word("enum") {
            let declared = self.enum_decl()?;
            self.eat(TokenKind::Semi);
            stmts.push(Stmt { kind: StmtKind::Enum(declared), span: self.since(start) });
            return Ok(());
        }
        let declared = self.struct_decl()?;
        let ty = self.type_named(&declared.name);
        let variables = if self.at(TokenKind::Ident) && self.same_line(0) {
            let declarators = self.declarators("a name for the variable")?;
            self.variables(&ty, false, declarators)
        } else {
            Vec::new()
        };
        self.eat(TokenKind::Semi);
        let span = self.since(start);
        stmts.push(Stmt { kind: StmtKind::Struct(declared), span });
        if !variables.is_empty() {
            stmts.push(Stmt { kind: StmtKind::Vars(variables), span });
        }
        Ok(())
    }

    fn statement_kind(&mut self) -> Parse<StmtKind> {
        match self.kind() {
            TokenKind::Semi => {
                self.bump();
                return Ok(StmtKind::Empty);
            }
            TokenKind::LBrace => return Ok(StmtKind::Block(self.block("the statements")?)),
            TokenKind::Pragma => {
                let text = self.text_of(self.token()).to_owned();
                self.bump();
                return Ok(StmtKind::Pragma(text));
            }
            TokenKind::Dot => return self.body_directive(),
            _ => {}
        }
        match self.word() {
            "if" => self.if_statement(),
            "for" => self.for_statement(),
            "while" => self.while_statement(),
            "do" => self.do_statement(),
            "switch" => self.switch_statement(),
            "break" => self.jump(StmtKind::Break),
            "continue" => self.jump(StmtKind::Continue),
            "BREAK" => {
                self.bump();
                self.eat(TokenKind::Semi);
                Ok(StmtKind::RepeatBreak)
            }
            "return" => self.return_statement(),
            "else" => {
                let help = "an `else` follows the statement of an `if` directly; check the braces and `;` before it";
                let span = self.bump();
                Err(self.report(Diagnostic::new(Code::E0101, span, "`else` without `if`", help)))
            }
            "case" | "default" => {
                let help = "labels stand in the braces of a `switch`";
                let message = format!("`{}` outside `switch`", self.word());
                Err(self.report(Diagnostic::new(Code::E0101, self.span(), message, help)))
            }
            _ => self.declaration_or_expression(),
        }
    }

    fn declaration_or_expression(&mut self) -> Parse<StmtKind> {
        if let Some(refused) = words::refused(self.word()).filter(|refused| refused.code != Code::E0116) {
            return Err(self.refused_statement(refused));
        }
        if self.declaration_ahead() {
            let ty = self.type_expr()?;
            let declarators = self.declarators("a name for the variable")?;
            self.semicolon("the declaration")?;
            return Ok(StmtKind::Vars(self.variables(&ty, false, declarators)));
        }
        let is_label = self.at(TokenKind::Ident) && self.kind_at(1) == TokenKind::Colon;
        if is_label && !words::is_reserved(self.word()) {
            let span = self.bump();
            self.bump();
            let help = "remove the label; use `break`, `continue`, or a variable and `switch`";
            self.refuse(Code::E0117, span, "labels and `goto` are not part of the language", help);
            return Ok(StmtKind::Empty);
        }
        let expr = self.expr()?;
        self.refuse_comma();
        self.semicolon("the statement")?;
        Ok(StmtKind::Expr(expr))
    }

    fn refused_statement(&mut self, refused: words::Refused) -> Reported {
        let is_try = self.at_word("try");
        let span = self.bump();
        self.refuse(refused.code, span, refused.message, refused.help);
        if is_try && self.at(TokenKind::LBrace) {
            self.skip_braces();
            while self.eat_word("catch") {
                self.skip_parens();
                if self.at(TokenKind::LBrace) {
                    self.skip_braces();
                }
            }
            // The whole construct is gone; what follows is a statement of its own.
            self.line_starts[self.pos] = LineStart::Statement;
            self.statement_start = self.pos;
        }
        Reported
    }

    fn jump(&mut self, kind: StmtKind) -> Parse<StmtKind> {
        let word = self.word().to_owned();
        self.bump();
        self.semicolon(&format!("`{word}`"))?;
        Ok(kind)
    }

    fn return_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let value = match self.kind() {
            TokenKind::Semi | TokenKind::RBrace => None,
            _ if self.begins_statement() => None,
            _ => Some(self.initializer()?),
        };
        self.semicolon("`return`")?;
        Ok(StmtKind::Return(value))
    }

    fn if_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        self.eat_word("constexpr");
        let cond = self.condition("condition")?;
        self.warn_assignment(&cond);
        let then = self.sub_statement("`if`")?;
        let otherwise = if self.at_word("else") {
            self.line_starts[self.pos] = LineStart::Else;
            self.bump();
            if self.at_word("if") {
                let start = self.span();
                let kind = self.nested(|p| p.if_statement())?;
                Some(Box::new(Stmt { kind, span: self.since(start) }))
            } else {
                Some(self.sub_statement("`else`")?)
            }
        } else {
            None
        };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    fn while_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let cond = self.condition("condition")?;
        self.warn_assignment(&cond);
        let body = self.sub_statement("`while`")?;
        Ok(StmtKind::While { cond, body })
    }

    fn do_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let body = self.sub_statement("`do`")?;
        if !self.eat_word("while") {
            return Err(self.unexpected("`while`", "write `do { … } while (condition);`"));
        }
        let cond = self.condition("condition")?;
        self.semicolon("`do … while (…)`")?;
        Ok(StmtKind::DoWhile { body, cond })
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        const HELP: &str = "write `for (uint32_t i = 0; i < n; ++i) { … }`";
        let open = self.expect(TokenKind::LParen, HELP)?;
        let (init, cond, step) = self.for_header(open, HELP).inspect_err(|_| self.skip_for_header())?;
        let body = self.sub_statement("`for`")?;
        Ok(StmtKind::For { init, cond, step, body })
    }

    /// After a fault in the header of a `for`: skips past its `)`, so that its `;` end no statement.
    fn skip_for_header(&mut self) {
        let mut depth = 0_u32;
        while !matches!(self.kind(), TokenKind::LBrace | TokenKind::RBrace | TokenKind::End) && !self.begins_statement()
        {
            match self.kind() {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen if depth == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::RParen => depth -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    fn for_header(&mut self, open: Span, help: &str) -> Parse<ForHeader> {
        let init = self.for_init()?;
        if self.at(TokenKind::Colon) {
            let span = self.span();
            let help = "count with an index: `for (uint32_t i = 0; i < n; ++i)`";
            return Err(self.refuse(Code::E0123, span, "range-based `for` is not part of the language", help));
        }
        self.for_semicolon(help)?;
        let cond = if self.at(TokenKind::Semi) { None } else { Some(self.bracketed_expr()?) };
        self.for_semicolon(help)?;
        let mut step = Vec::new();
        while !self.at(TokenKind::RParen) {
            step.push(self.bracketed_expr()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::RParen, open)?;
        Ok((init, cond, step))
    }

    fn for_semicolon(&mut self, help: &str) -> Parse<()> {
        if self.at(TokenKind::Semi) {
            self.bump_as(Role::ForSemi);
            return Ok(());
        }
        Err(self.unexpected("`;`", help))
    }

    /// The first part of a `for`. Several expressions become a block of expression statements.
    fn for_init(&mut self) -> Parse<Option<Box<Stmt>>> {
        if self.at(TokenKind::Semi) {
            return Ok(None);
        }
        let start = self.span();
        let kind = if self.declaration_ahead() {
            let specifiers = self.specifiers();
            let ty = self.type_expr()?;
            let declarators = self.declarators("a name for the variable")?;
            StmtKind::Vars(self.variables(&ty, specifiers.constant || specifiers.constexpr, declarators))
        } else {
            let mut exprs = vec![self.bracketed_expr()?];
            while self.eat(TokenKind::Comma) {
                exprs.push(self.bracketed_expr()?);
            }
            self.expression_statements(exprs, start)
        };
        Ok(Some(Box::new(Stmt { kind, span: self.since(start) })))
    }

    fn expression_statements(&self, mut exprs: Vec<Expr>, start: Span) -> StmtKind {
        if exprs.len() == 1 {
            let only = exprs.pop().expect("one expression");
            return StmtKind::Expr(only);
        }
        let stmts = exprs.into_iter().map(|e| Stmt { span: e.span, kind: StmtKind::Expr(e) }).collect();
        StmtKind::Block(Block { stmts, span: self.since(start) })
    }

    fn switch_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let value = self.condition("value")?;
        let open = self.open_block("the cases")?;
        let mut arms: Vec<SwitchArm> = Vec::new();
        while !self.at_block_end(open) {
            if matches!(self.word(), "case" | "default") {
                let before = self.begin_statement();
                match self.switch_label() {
                    Ok(label) => match arms.last_mut() {
                        Some(arm) if arm.body.is_empty() => arm.labels.push(label),
                        _ => arms.push(SwitchArm { labels: vec![label], body: Vec::new() }),
                    },
                    Err(Reported) => self.recover(before),
                }
                continue;
            }
            match arms.pop() {
                Some(mut arm) => {
                    self.statement_into(&mut arm.body);
                    arms.push(arm);
                }
                None => {
                    let help = "begin with `case value:` or `default:`";
                    let before = self.begin_statement();
                    let diagnostic =
                        Diagnostic::new(Code::E0129, self.span(), "a statement before the first `case`", help);
                    self.report(diagnostic);
                    self.recover(before);
                }
            }
        }
        self.close_block(open);
        Ok(StmtKind::Switch { value, arms })
    }

    fn switch_label(&mut self) -> Parse<(Option<Expr>, Span)> {
        let is_default = self.at_word("default");
        let start = self.bump();
        let value = if is_default { None } else { Some(self.bracketed_expr()?) };
        if !self.at(TokenKind::Colon) {
            return Err(self.unexpected("`:`", "write `case value:`; several values are several labels"));
        }
        self.bump_as(Role::LabelColon);
        Ok((value, self.since(start)))
    }

    /// `.repeat(…) { … }`, `.unroll` before a loop.
    fn body_directive(&mut self) -> Parse<StmtKind> {
        match self.word_at(1) {
            "repeat" => {
                let head = self.repeat_head()?;
                let body = self.block("what is repeated")?;
                Ok(StmtKind::Repeat { var: head.var, lo: head.lo, hi: head.hi, body })
            }
            "unroll" => {
                self.bump();
                self.bump();
                self.skip_unroll_count();
                self.line_starts[self.pos] = LineStart::Statement;
                self.nested(|p| p.statement_kind())
            }
            word => {
                let message = if word.is_empty() {
                    "a statement cannot begin with `.`".to_owned()
                } else {
                    format!("unknown directive `.{word}`")
                };
                let span = self.bump();
                let span = if word.is_empty() { span } else { span.to(self.bump()) };
                let help = match words::nearest(word, words::BODY_DIRECTIVES.iter().copied()) {
                    Some(near) => format!("did you mean `.{near}`?"),
                    None => "a body knows `.repeat(i, lo, hi) { … }` and `.unroll`".to_owned(),
                };
                self.skip_parens();
                Err(self.report(Diagnostic::new(Code::E0111, span, message, help)))
            }
        }
    }

    /// The count that may follow `.unroll`, which compilers here choose themselves.
    fn skip_unroll_count(&mut self) {
        if self.at(TokenKind::LParen) {
            self.skip_parens();
        } else if self.at(TokenKind::Int) {
            self.bump();
        }
        self.eat(TokenKind::Semi);
    }

    /// `.repeat(var, lo, hi)`.
    pub(super) fn repeat_head(&mut self) -> Parse<RepeatHead> {
        const HELP: &str = "write `.repeat(i, 0, 4) { … $i … }`; the upper bound is excluded";
        self.bump();
        self.bump();
        let open = self.expect(TokenKind::LParen, HELP)?;
        let var = match self.kind() {
            TokenKind::Dollar => {
                let var = self.dollar_name();
                self.bump();
                var
            }
            _ => self.ident("a variable", HELP)?,
        };
        self.expect(TokenKind::Comma, HELP)?;
        let lo = self.bracketed_expr()?;
        self.expect(TokenKind::Comma, HELP)?;
        let hi = self.bracketed_expr()?;
        self.close(TokenKind::RParen, open)?;
        Ok(RepeatHead { var, lo, hi })
    }

    /// The type that a struct's name stands for.
    pub(super) fn type_named(&self, name: &Ident) -> TypeExpr {
        TypeExpr { kind: TypeKind::Name(name.text.clone()), span: name.span }
    }
}
