//! Declarations at file level, and documentation comments.

use diag::{Code, Diagnostic, Span};

use super::{Parse, Parser, Reported, Role, Stops, words};
use crate::ast::{
    AliasDecl, BinaryOp, Doc, ElementDecl, Expr, ExprKind, File, GroupDecl, HeaderDecl, Import, Item, ParamDecl,
    PortGroup, PortList, Section,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// The whole file.
    pub(super) fn source_file(&mut self) -> File {
        let mut items = Vec::new();
        while !self.at(TokenKind::End) {
            let before = self.begin_statement();
            let result = self.item_into(&mut items);
            if result.is_err() {
                self.skip_item();
                if self.pos == before {
                    self.bump();
                }
            }
        }
        File { items }
    }

    fn item_into(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        match self.kind() {
            TokenKind::Semi | TokenKind::Pragma => {
                self.bump();
                return Ok(());
            }
            TokenKind::Dot => return self.directive_into(items),
            TokenKind::RBrace => return Err(self.stray_brace()),
            _ => {}
        }
        match self.word() {
            "import" if self.kind_at(1) != TokenKind::ColonColon => items.push(Item::Import(self.import()?)),
            "struct" | "enum" if self.declares_type() => items.push(self.type_item()?),
            "element" | "element_group" | "header" | "alias"
                if self.kind_at(1) == TokenKind::Ident && self.same_line(1) =>
            {
                return self.missing_dot(items);
            }
            word => {
                if let Some(refused) = words::refused(word).filter(|refused| refused.code != Code::E0116) {
                    let span = self.bump();
                    return Err(self.refuse(refused.code, span, refused.message, refused.help));
                }
                if self.file_declaration_ahead() {
                    return self.const_or_function(items);
                }
                return self.graph_item(items);
            }
        }
        Ok(())
    }

    /// A statement of the graph. A broken one ends with its line; what is no statement at all is skipped as a declaration.
    fn graph_item(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let start = self.pos;
        let is_statement = self.begins_graph_statement();
        match self.graph_statement() {
            Ok(stmt) => items.push(Item::Graph(stmt)),
            Err(Reported) if is_statement => self.skip_graph_statement(start),
            Err(Reported) => return Err(Reported),
        }
        Ok(())
    }

    fn directive_into(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let doc = self.doc();
        match self.word_at(1) {
            "element" => items.push(Item::Element(self.element_decl(doc)?)),
            "element_group" => items.push(Item::Group(self.group_decl(doc)?)),
            "alias" => items.push(Item::Alias(self.alias_decl()?)),
            "header" => items.push(Item::Header(self.header_decl(doc)?)),
            "import" | "include" => {
                self.bump();
                let import = self.import()?;
                items.push(Item::Import(import));
            }
            "struct" => {
                self.bump();
                items.push(self.type_item()?);
            }
            "repeat" => return self.graph_item(items),
            word if words::SECTIONS.contains(&word) => return Err(self.stray_section()),
            word => return Err(self.unknown_directive(word)),
        }
        Ok(())
    }

    fn unknown_directive(&mut self, word: &str) -> Reported {
        let start = self.bump();
        let span = if word.is_empty() { start } else { start.to(self.bump()) };
        let known = words::TOP_DIRECTIVES.iter().chain(&["repeat"]).copied();
        let help = match words::nearest(word, known.clone()) {
            Some(near) => format!("did you mean `.{near}`?"),
            None => format!("a file knows {}", listed(known)),
        };
        self.report(Diagnostic::new(Code::E0111, span, format!("unknown directive `.{word}`"), help))
    }

    /// `element Name …`: the dot is forgotten.
    fn missing_dot(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let word = self.word();
        let help = format!("write `.{word}`");
        self.report(Diagnostic::new(Code::E0111, self.span(), format!("`{word}` needs a dot"), help));
        let doc = self.doc();
        items.push(match word {
            "element" => Item::Element(self.element_decl(doc)?),
            "element_group" => Item::Group(self.group_decl(doc)?),
            "alias" => Item::Alias(self.alias_decl()?),
            _ => Item::Header(self.header_decl(doc)?),
        });
        Ok(())
    }

    fn stray_section(&mut self) -> Reported {
        let word = self.word_at(1).to_owned();
        let span = self.bump().to(self.bump());
        let help = "put it inside the braces of an element; check whether a `}` above closes the element too early";
        let message = format!("`.{word}` outside an element");
        if self.stray_braces_expected == 0 {
            self.report(Diagnostic::new(Code::E0112, span, message, help));
        }
        self.stray_braces_expected = 1;
        Reported
    }

    fn stray_brace(&mut self) -> Reported {
        self.roles[self.pos] = Role::BlockClose;
        if self.stray_braces_expected > 0 {
            self.stray_braces_expected -= 1;
            self.bump();
            return Reported;
        }
        let span = self.bump();
        self.report(Diagnostic::new(
            Code::E0105,
            span,
            "this `}` closes nothing",
            "remove it, or add the missing `{` above",
        ))
    }

    /// Skips to where the next declaration or graph statement may begin.
    fn skip_item(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Semi => {
                    self.bump();
                    return;
                }
                TokenKind::LBrace => {
                    self.skip_braces();
                    return;
                }
                TokenKind::RBrace => return,
                TokenKind::Dot if self.token().line_break => return,
                // Graph statements end with their line; in a broken declaration a `{` or `;` comes first.
                TokenKind::Ident if self.token().line_break && !self.rest_is_declaration() => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Whether, after a broken declaration, the line here looks like the rest of it rather than a new statement.
    fn rest_is_declaration(&self) -> bool {
        let next = self.kind_at(1);
        !matches!(
            next,
            TokenKind::ColonColon | TokenKind::Arrow | TokenKind::FatArrow | TokenKind::LBracket | TokenKind::Str
        ) && !self.declaration_ahead()
            && !matches!(self.word(), "struct" | "enum" | "import" | "host")
            && !self.begins_graph_statement()
    }

    /// `import "path";`, with the word as the current token.
    fn import(&mut self) -> Parse<Import> {
        let start = self.bump();
        if !self.at(TokenKind::Str) {
            return Err(self.unexpected("a path in quotes", "write `import \"core/Pass.clnp\";`"));
        }
        let path_span = self.span();
        let path = self.text_of(self.token()).trim_matches('"').to_owned();
        self.bump();
        self.eat(TokenKind::Semi);
        Ok(Import { path, path_span, span: self.since(start) })
    }

    fn type_item(&mut self) -> Parse<Item> {
        if self.at_word("enum") {
            let declared = self.enum_decl()?;
            self.eat(TokenKind::Semi);
            return Ok(Item::Enum(declared));
        }
        let declared = self.struct_decl()?;
        if self.at(TokenKind::Ident) && self.same_line(0) {
            let span = self.span();
            return Err(self.global_variable(span));
        }
        self.eat(TokenKind::Semi);
        Ok(Item::Struct(declared))
    }

    fn global_variable(&mut self, span: Span) -> Reported {
        let help = "declare it in the `.state` of an element, or make it a constant with `constexpr`";
        self.report(Diagnostic::new(Code::E0130, span, "there are no variables at file level", help))
    }

    /// Whether a constant or function, rather than a graph statement, begins here.
    fn file_declaration_ahead(&self) -> bool {
        if words::is_specifier(self.word()) || self.at_word("auto") {
            return true;
        }
        let Some((end, builtin)) = self.type_end(0) else { return false };
        if builtin {
            return true;
        }
        if self.at_word("host") && self.kind_at(2) == TokenKind::ColonColon {
            return false;
        }
        let pointer = usize::from(matches!(self.kind_at(end), TokenKind::Star | TokenKind::And));
        let named = self.kind_at(end + pointer) == TokenKind::Ident && self.same_line(end + pointer);
        named
            && matches!(
                self.kind_at(end + pointer + 1),
                TokenKind::LParen | TokenKind::Eq | TokenKind::Semi | TokenKind::LBracket
            )
    }

    fn const_or_function(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let doc = self.doc();
        let start = self.span();
        let specifiers = self.specifiers();
        if matches!(self.word(), "struct" | "enum") && self.declares_type() {
            items.push(self.type_item()?);
            return Ok(());
        }
        let ty = self.type_expr()?;
        if self.at(TokenKind::Ident) && self.kind_at(1) == TokenKind::LParen {
            let function = self.function(doc, start, ty)?;
            items.push(Item::Function(function));
            return Ok(());
        }
        let name = self.span();
        let declarators = self.declarators("a name for the constant or function")?;
        if !specifiers.constant && !specifiers.constexpr {
            return Err(self.global_variable(name));
        }
        self.semicolon("the constant")?;
        let constants = self.constants(&ty, declarators);
        items.extend(constants.into_iter().map(Item::Const));
        Ok(())
    }

    fn alias_decl(&mut self) -> Parse<AliasDecl> {
        const HELP: &str = "write `.alias NewName = Element;`";
        let start = self.directive();
        let name = self.ident("a name for the alias", HELP)?;
        self.expect(TokenKind::Eq, HELP)?;
        let target = self.ident("the name of an element", HELP)?;
        self.eat(TokenKind::Semi);
        Ok(AliasDecl { name, target, span: self.since(start) })
    }

    /// Takes the dot, which a report may have found missing, and the word after it.
    fn directive(&mut self) -> Span {
        let start = self.span();
        self.eat(TokenKind::Dot);
        self.bump();
        start
    }

    fn header_decl(&mut self, doc: Doc) -> Parse<HeaderDecl> {
        let start = self.directive();
        let name = self.ident("a name for the header", "write `.header Name { field: 8; … }`, with widths in bits")?;
        let open = self.open_block("the fields")?;
        let mut fields = Vec::new();
        while !self.at_block_end(open) {
            let before = self.begin_statement();
            match self.header_field() {
                Ok(field) => fields.push(field),
                Err(Reported) => self.recover(before),
            }
        }
        self.close_block(open);
        self.eat(TokenKind::Semi);
        Ok(HeaderDecl { doc, name, fields, span: self.since(start) })
    }

    fn header_field(&mut self) -> Parse<(crate::ast::Ident, Expr)> {
        const HELP: &str = "a field is `name: bits;`, for example `ttl: 8;`";
        if self.declaration_ahead() && self.kind_at(1) != TokenKind::Colon {
            return Err(self.unexpected("a field name and `:`", HELP));
        }
        let name = self.ident("a field name", HELP)?;
        if !self.at(TokenKind::Colon) {
            return Err(self.unexpected("`:`", HELP));
        }
        self.bump_as(Role::LabelColon);
        let width = self.bracketed_expr()?;
        self.semicolon("the field")?;
        Ok((name, width))
    }

    fn element_decl(&mut self, doc: Doc) -> Parse<ElementDecl> {
        const HELP: &str = "write `.element Name <1, 1> { … }`";
        let start = self.directive();
        let name = self.ident("a name for the element", HELP)?;
        let (inputs, outputs) = match self.port_lists(HELP)? {
            Some(lists) => lists,
            None => return Err(self.unexpected("`<`", "say how many ports it has: `.element Name <1, 1> { … }`")),
        };
        let params = self.params()?;
        let open = self.open_block("the sections")?;
        let sections = self.sections(open);
        self.eat(TokenKind::Semi);
        Ok(ElementDecl { doc, name, inputs, outputs, params, sections, span: self.since(start) })
    }

    fn sections(&mut self, open: Span) -> Vec<Section> {
        let mut sections = Vec::new();
        loop {
            if self.at(TokenKind::RBrace) {
                break;
            }
            if self.at(TokenKind::End) || self.at_top_directive() {
                self.unclosed_brace(open);
                break;
            }
            let before = self.begin_statement();
            if self.eat(TokenKind::Semi) || self.eat(TokenKind::Pragma) {
                continue;
            }
            match self.section() {
                Ok(section) => sections.push(section),
                Err(Reported) => {
                    self.skip_section();
                    if self.pos == before {
                        self.bump();
                    }
                }
            }
        }
        self.close_block(open);
        sections
    }

    /// Skips to the next section or the end of the element.
    fn skip_section(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::RBrace => return,
                TokenKind::LBrace => {
                    self.skip_braces();
                    return;
                }
                TokenKind::Dot if self.token().line_break => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    fn group_decl(&mut self, doc: Doc) -> Parse<GroupDecl> {
        const HELP: &str = "write `.element_group Name <1, 1> { … }`";
        let start = self.directive();
        let name = self.ident("a name for the group", HELP)?;
        let (inputs, outputs) = self.port_lists(HELP)?.unzip();
        let params = self.params()?;
        let open = self.open_block("the statements")?;
        let body = self.graph_block(open);
        self.eat(TokenKind::Semi);
        Ok(GroupDecl { doc, name, inputs, outputs, params, body, span: self.since(start) })
    }

    /// `<in, out>`, if it stands here.
    fn port_lists(&mut self, help: &str) -> Parse<Option<(PortList, PortList)>> {
        if !self.at(TokenKind::Lt) {
            return Ok(None);
        }
        self.bump_as(Role::PortsOpen);
        let inputs = self.port_list()?;
        if !self.at(TokenKind::Comma) {
            return Err(self.unexpected("`,`", help));
        }
        self.bump();
        let outputs = self.port_list()?;
        self.angle_close()?;
        self.roles[self.pos - 1] = Role::PortsClose;
        Ok(Some((inputs, outputs)))
    }

    /// Groups joined by `+`. Without any type, `+` is an addition in one group.
    fn port_list(&mut self) -> Parse<PortList> {
        let start = self.span();
        let mut groups = vec![self.port_group()?];
        while self.eat(TokenKind::Plus) {
            groups.push(self.port_group()?);
            // The groups may become one sum, which must not be too high.
            self.grown(self.height.saturating_add(groups.len() as u32))?;
        }
        let span = self.since(start);
        if groups.len() > 1 && groups.iter().all(|group| group.ty.is_none()) {
            let sum = groups.into_iter().map(|group| group.count).reduce(|a, b| {
                let span = a.span.to(b.span);
                Expr { kind: ExprKind::Binary(BinaryOp::Add, Box::new(a), Box::new(b)), span }
            });
            groups = sum.into_iter().map(|count| PortGroup { count, ty: None }).collect();
        }
        Ok(PortList { groups, span })
    }

    fn port_group(&mut self) -> Parse<PortGroup> {
        let stops = Stops { greater: true, plus: true, ..Stops::default() };
        let count = self.with_stops(stops, |p| p.expr())?;
        let ty = if self.at(TokenKind::Colon) {
            self.bump_as(Role::LabelColon);
            Some(self.type_expr()?)
        } else {
            None
        };
        Ok(PortGroup { count, ty })
    }

    /// `(uint DEPTH = 16 in 1..4096, bool STRICT = false)`, if it stands here.
    fn params(&mut self) -> Parse<Vec<ParamDecl>> {
        let mut params = Vec::new();
        if !self.at(TokenKind::LParen) {
            return Ok(params);
        }
        let open = self.bump();
        while !self.at(TokenKind::RParen) {
            params.push(self.param()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::RParen, open)?;
        Ok(params)
    }

    fn param(&mut self) -> Parse<ParamDecl> {
        const HELP: &str = "a parameter is `uint NAME = default in lowest..highest`";
        let start = self.span();
        let ty = self.type_expr()?;
        let name = self.ident("a name for the parameter", HELP)?;
        let default = if self.eat(TokenKind::Eq) { Some(self.bracketed_expr()?) } else { None };
        let range = if self.eat_word("in") {
            let lowest = self.bracketed_expr()?;
            self.expect(TokenKind::DotDot, HELP)?;
            Some((lowest, self.bracketed_expr()?))
        } else {
            None
        };
        Ok(ParamDecl { ty, name, default, range, span: self.since(start) })
    }

    /// The comment block directly above the current token, without its markers.
    ///
    /// It must stand on lines of its own. Licence tags (`SPDX-…`) are no documentation.
    pub(super) fn doc(&self) -> Doc {
        let mut below = self.token().start;
        let mut at = self.comments.partition_point(|comment| comment.start < below);
        let mut lines: Vec<String> = Vec::new();
        while let Some(comment) = at.checked_sub(1).map(|n| self.comments[n]) {
            let gap = &self.text[comment.end as usize..below as usize];
            let before = self.text[..comment.start as usize].trim_end_matches(is_blank);
            let on_own_line = before.is_empty() || before.ends_with('\n');
            let adjoins = gap.chars().all(|c| c == '\n' || is_blank(c)) && gap.matches('\n').count() <= 1;
            if !on_own_line || !adjoins {
                break;
            }
            let text = &self.text[comment.start as usize..comment.end as usize];
            let is_block = text.starts_with("/*");
            if is_block && !lines.is_empty() {
                break;
            }
            lines.extend(comment_lines(text).into_iter().rev());
            (below, at) = (comment.start, at - 1);
            if is_block {
                break;
            }
        }
        lines.retain(|line| !line.starts_with("SPDX-"));
        lines.reverse();
        lines.join("\n").trim().to_owned()
    }
}

/// White space within a line, as the lexer skips it.
fn is_blank(c: char) -> bool {
    c != '\n' && (c.is_whitespace() || c == '\u{feff}')
}

/// The text of a comment by lines, markers removed.
fn comment_lines(comment: &str) -> Vec<String> {
    if let Some(line) = comment.strip_prefix("//") {
        let line = line.trim_start_matches(['/', '!']);
        return vec![line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()];
    }
    let inner = comment.trim_start_matches("/*").trim_start_matches('*').trim_end_matches("*/");
    let strip = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix('*').unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line).to_owned()
    };
    inner.lines().map(strip).collect()
}

/// Directives in words: "`.a`, `.b` and `.c`".
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut quoted: Vec<String> = names.map(|name| format!("`.{name}`")).collect();
    let last = quoted.pop().unwrap_or_default();
    format!("{} and {last}", quoted.join(", "))
}
