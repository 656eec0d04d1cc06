//! The sections of an element: `.state`, `.handler`, `.packet`, `.signal` and their like.

use diag::{Code, Diagnostic, Span};

use super::items::listed;
use super::{Parse, Parser, Reported, Role, words};
use crate::ast::{
    Ident, PacketOptions, Section, SectionKind, SignalDecl, StateDecl, StructDecl, TimingDecl, TypeExpr, TypeKind,
    VarDecl,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// One section, from its dot to its closing brace.
    pub(super) fn section(&mut self) -> Parse<Section> {
        let doc = self.doc();
        let start = self.span();
        let known = words::SECTIONS.iter().copied();
        if self.at(TokenKind::Ident) && words::SECTIONS.contains(&self.word()) {
            let help = format!("write `.{}`", self.word());
            self.report(Diagnostic::new(Code::E0111, start, format!("`{}` needs a dot", self.word()), help));
        } else if !self.at(TokenKind::Dot) {
            let help = format!("an element is made of {}; statements go inside `.handler` or `.packet`", listed(known));
            return Err(self.unexpected("a section", &help));
        } else {
            self.bump();
        }
        let word = self.word();
        let name_span = start.to(self.span());
        if !words::SECTIONS.contains(&word) {
            let help = match words::nearest(word, known.clone()) {
                Some(near) => format!("did you mean `.{near}`?"),
                None => format!("an element is made of {}", listed(known)),
            };
            let message = format!("unknown section `.{word}`");
            return Err(self.report(Diagnostic::new(Code::E0111, name_span, message, help)));
        }
        self.bump();
        if self.at(TokenKind::LParen) {
            self.roles[self.pos] = Role::SpacedParen;
        }
        let kind = self.section_kind(word, doc, name_span)?;
        Ok(Section { kind, span: self.since(start), name_span })
    }

    fn section_kind(&mut self, word: &str, doc: String, name_span: Span) -> Parse<SectionKind> {
        Ok(match word {
            "state" => SectionKind::State(self.state()?),
            "meta" => SectionKind::Meta(self.meta()?),
            "init" => SectionKind::Init(self.block("the code")?),
            "handler" => SectionKind::Handler(self.block("the code")?),
            "packet" => {
                let options = self.packet_options(name_span)?;
                SectionKind::Packet(options, self.block("the code")?)
            }
            "body" => {
                let params = if self.at(TokenKind::LParen) { self.parameters()? } else { Vec::new() };
                SectionKind::Body(params, self.block("the code")?)
            }
            "end" => SectionKind::End(self.block("the code")?),
            "signal" => SectionKind::Signal(self.signal(doc)?),
            "timing" => SectionKind::Timing(self.timing()?),
            "hls_pragma" => SectionKind::HlsPragma(self.hls_pragma()?),
            "native" => SectionKind::Native(self.native()?),
            other => unreachable!("`{other}` is not in the list of sections"),
        })
    }

    fn state(&mut self) -> Parse<Vec<StateDecl>> {
        let open = self.open_block("the declarations")?;
        let mut decls = Vec::new();
        while !self.at_block_end(open) {
            let before = self.begin_statement();
            if self.nested(|p| p.state_decl(&mut decls)).is_err() {
                self.recover(before);
            }
        }
        self.close_block(open);
        Ok(decls)
    }

    fn state_decl(&mut self, decls: &mut Vec<StateDecl>) -> Parse<()> {
        if self.eat(TokenKind::Semi) || self.eat(TokenKind::Pragma) {
            return Ok(());
        }
        if self.at_word("typedef") && self.word_at(1) == "struct" {
            return self.typedef_struct(decls);
        }
        let specifiers = self.specifiers();
        if matches!(self.word(), "struct" | "enum") && self.declares_type() {
            return self.state_type(decls);
        }
        if let Some(refused) = words::refused(self.word()).filter(|refused| refused.code != Code::E0116) {
            let span = self.bump();
            return Err(self.refuse(refused.code, span, refused.message, refused.help));
        }
        let is_code =
            words::begins_statement(self.word()) || !self.at(TokenKind::Ident) && !self.at(TokenKind::ColonColon);
        if is_code
            || !(specifiers.constant || specifiers.constexpr || self.type_end(0).is_some() && self.declaration_ahead())
        {
            let help = "declare variables here: `uint32_t count;`; statements go into `.init` or `.handler`";
            return Err(self.report(Diagnostic::new(
                Code::E0130,
                self.span(),
                "`.state` holds declarations only",
                help,
            )));
        }
        // ClickNP's short form leaves the type of a constant out: `constexpr N = 4;`.
        let ty = if specifiers.constexpr && self.at(TokenKind::Ident) && self.kind_at(1) == TokenKind::Eq {
            TypeExpr { kind: TypeKind::Auto, span: self.span() }
        } else {
            self.type_expr()?
        };
        let declarators = self.declarators("a name for the variable")?;
        if self.at(TokenKind::LParen) || self.at(TokenKind::LBrace) {
            let span = self.span();
            let help = "declare the function at file level, above the element";
            return Err(self.report(Diagnostic::new(Code::E0130, span, "`.state` holds declarations only", help)));
        }
        self.semicolon("the declaration")?;
        if specifiers.constant || specifiers.constexpr {
            let constants = self.constants(&ty, declarators);
            decls.extend(constants.into_iter().map(StateDecl::Const));
        } else {
            let variables = self.variables(&ty, false, declarators);
            decls.extend(variables.into_iter().map(StateDecl::Var));
        }
        Ok(())
    }

    /// `struct E { … } table[8];`, `enum { A, B };`.
    fn state_type(&mut self, decls: &mut Vec<StateDecl>) -> Parse<()> {
        if self.at_word("enum") {
            let declared = self.enum_decl()?;
            let ty = declared.name.as_ref().map(|name| self.type_named(name));
            decls.push(StateDecl::Enum(declared));
            if let Some(ty) = ty.filter(|_| self.at(TokenKind::Ident) && self.same_line(0)) {
                let declarators = self.declarators("a name for the variable")?;
                let variables = self.variables(&ty, false, declarators);
                decls.extend(variables.into_iter().map(StateDecl::Var));
            }
            self.eat(TokenKind::Semi);
            return Ok(());
        }
        let declared = self.struct_decl()?;
        let variables = self.trailing_variables(&declared)?;
        decls.push(StateDecl::Struct(declared));
        decls.extend(variables.into_iter().map(StateDecl::Var));
        self.eat(TokenKind::Semi);
        Ok(())
    }

    fn trailing_variables(&mut self, declared: &StructDecl) -> Parse<Vec<VarDecl>> {
        if !self.at(TokenKind::Ident) || !self.same_line(0) {
            return Ok(Vec::new());
        }
        let ty = self.type_named(&declared.name);
        let declarators = self.declarators("a name for the variable")?;
        Ok(self.variables(&ty, false, declarators))
    }

    /// `typedef struct { … } Name;` is `struct Name { … };`.
    fn typedef_struct(&mut self, decls: &mut Vec<StateDecl>) -> Parse<()> {
        self.bump();
        let mut declared = self.struct_decl()?;
        declared.name = self.ident("a name for the struct", "write `struct Name { … };`")?;
        decls.push(StateDecl::Struct(declared));
        self.eat(TokenKind::Semi);
        Ok(())
    }

    fn meta(&mut self) -> Parse<Vec<VarDecl>> {
        let open = self.open_block("the fields")?;
        let mut fields = Vec::new();
        while !self.at_block_end(open) {
            let before = self.begin_statement();
            match self.meta_field() {
                Ok(declared) => fields.extend(declared),
                Err(Reported) => self.recover(before),
            }
        }
        self.close_block(open);
        Ok(fields)
    }

    fn meta_field(&mut self) -> Parse<Vec<VarDecl>> {
        if self.eat(TokenKind::Semi) {
            return Ok(Vec::new());
        }
        let ty = self.type_expr()?;
        let declarators = self.declarators("a name for the field")?;
        self.semicolon("the field")?;
        Ok(self.variables(&ty, false, declarators))
    }

    /// `(64, grow = 16, store = 2048)`, if it stands here.
    fn packet_options(&mut self, name_span: Span) -> Parse<PacketOptions> {
        const HELP: &str = "write `.packet (64, grow = 16, store = 2048)`: window, then options, all in bytes";
        let mut options = PacketOptions { window: None, grow: None, store: None, span: name_span };
        if !self.at(TokenKind::LParen) {
            return Ok(options);
        }
        let open = self.bump();
        while !self.at(TokenKind::RParen) {
            let is_named = self.at(TokenKind::Ident) && self.kind_at(1) == TokenKind::Eq;
            let name = if is_named { self.word() } else { "window" };
            let name_span = self.span();
            let slot = match name {
                "window" => &mut options.window,
                "grow" => &mut options.grow,
                "store" => &mut options.store,
                other => {
                    let help = match words::nearest(other, ["grow", "store", "window"]) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => HELP.to_owned(),
                    };
                    let message = format!("unknown option `{other}` of `.packet`");
                    return Err(self.report(Diagnostic::new(Code::E0128, name_span, message, help)));
                }
            };
            if slot.is_some() {
                let message = format!("`.packet` has two values for `{name}`");
                return Err(self.report(Diagnostic::new(Code::E0128, name_span, message, HELP)));
            }
            if is_named {
                self.bump();
                self.bump();
            }
            *slot = Some(self.bracketed_expr()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::RParen, open)?;
        options.span = self.since(open);
        Ok(options)
    }

    fn signal(&mut self, doc: String) -> Parse<SignalDecl> {
        const HELP: &str =
            "write `.signal name(uint<32> ip) -> (bool ok) { … }`, or `.signal (uint cmd, uint p) { … }`";
        if !self.at(TokenKind::Ident) {
            let params = if self.at(TokenKind::LParen) { self.parameters()? } else { Vec::new() };
            if self.at(TokenKind::Arrow) {
                return Err(
                    self.unexpected("`{`", "a signal with results needs a name: `.signal read() -> (uint64_t n)`")
                );
            }
            return Ok(SignalDecl::Raw { params, body: self.block("the code")? });
        }
        // Nothing in the language refers to a signal by name, so words that are only refused C++ may name one: `delete`.
        let name = if words::refused(self.word()).is_some() {
            Ident { text: self.word().to_owned(), span: self.bump() }
        } else {
            self.ident("a name for the signal", HELP)?
        };
        let params = self.arguments()?;
        let mut results = Vec::new();
        if self.eat(TokenKind::Arrow) {
            if !self.at(TokenKind::LParen) {
                return Err(self.unexpected("`(`", "results have names: `-> (bool ok)`"));
            }
            results = self.parameters()?;
        }
        let body = self.block("the code")?;
        Ok(SignalDecl::Typed { doc, name, params, results, body })
    }

    fn timing(&mut self) -> Parse<TimingDecl> {
        let open = self.open_block("the promises")?;
        let mut timing = TimingDecl::default();
        while !self.at_block_end(open) {
            let before = self.begin_statement();
            if self.timing_entry(&mut timing).is_err() {
                self.recover(before);
            }
        }
        self.close_block(open);
        Ok(timing)
    }

    fn timing_entry(&mut self, timing: &mut TimingDecl) -> Parse<()> {
        const HELP: &str = "`.timing` knows `ii = 1;` (the initiation interval) and `always;`";
        let span = self.span();
        match self.word() {
            _ if self.eat(TokenKind::Semi) => return Ok(()),
            "ii" if timing.ii.is_none() => {
                self.bump();
                self.expect(TokenKind::Eq, HELP)?;
                timing.ii = Some(self.bracketed_expr()?);
            }
            "always" if timing.always.is_none() => timing.always = Some(self.bump()),
            "ii" | "always" => {
                let message = format!("`.timing` says `{}` twice", self.word());
                return Err(self.report(Diagnostic::new(Code::E0128, span, message, HELP)));
            }
            "" => return Err(self.unexpected("`ii` or `always`", HELP)),
            other => {
                let message = format!("unknown option `{other}` of `.timing`");
                return Err(self.report(Diagnostic::new(Code::E0128, span, message, HELP)));
            }
        }
        self.semicolon("the option")
    }

    /// `crypto::aes_ctr`, perhaps with a semicolon.
    fn native(&mut self) -> Parse<Ident> {
        const WHAT: &str = "the name of a kernel";
        const HELP: &str = "write `.native crypto::aes_ctr`";
        let mut name = self.ident(WHAT, HELP)?;
        while self.eat(TokenKind::ColonColon) {
            let part = self.ident(WHAT, HELP)?;
            name = Ident { text: format!("{}::{}", name.text, part.text), span: name.span.to(part.span) };
        }
        self.eat(TokenKind::Semi);
        Ok(name)
    }

    fn hls_pragma(&mut self) -> Parse<String> {
        if !self.at(TokenKind::LBrace) {
            return Err(self.unexpected("`{`", "put the directives between `{` and `}`"));
        }
        let open = self.bump_as(Role::NamesOpen);
        let text = match self.kind() {
            TokenKind::Raw => self.text_of(self.token()).to_owned(),
            _ => String::new(),
        };
        self.eat(TokenKind::Raw);
        if self.at(TokenKind::RBrace) {
            self.bump_as(Role::NamesClose);
        } else {
            self.unclosed_brace(open);
        }
        Ok(text)
    }
}
