//! Statements of graphs: instances, chains, `.repeat` and `if`.
//!
//! A statement ends with its line or `;`. A chain goes on in the next line if a line ends or begins with an arrow.

use diag::{Code, Diagnostic, Span};

use super::{LineStart, Parse, Parser, Reported, Role, Stops, words};
use crate::ast::{
    Chain, ChainNode, Expr, GraphRepeat, GraphStmt, Ident, InstanceArg, InstanceConfig, InstanceDecl, Link, NamePart,
    NameTemplate, NodeTarget,
};
use crate::token::TokenKind;

/// Ports that may have settings.
const BOUNDARIES: [&str; 6] = ["nic_in", "nic_out", "tor_in", "tor_out", "host_in", "host_out"];

const STATEMENT_HELP: &str = "write an instance, `Element :: name`, or a connection, `a -> b[1] -> [2]c`";

impl Parser<'_> {
    /// Statements up to the `}` of the block opened at `open`, which is taken.
    pub(super) fn graph_block(&mut self, open: Span) -> Vec<GraphStmt> {
        let mut stmts = Vec::new();
        while !self.graph_block_ends(open) {
            let before = self.begin_statement();
            if self.eat(TokenKind::Semi) || self.eat(TokenKind::Pragma) {
                continue;
            }
            match self.nested(|p| p.graph_statement()) {
                Ok(stmt) => stmts.push(stmt),
                Err(Reported) => {
                    self.skip_graph_statement(before);
                    if self.pos == before {
                        self.bump();
                    }
                }
            }
        }
        self.close_block(open);
        stmts
    }

    fn graph_block_ends(&mut self, open: Span) -> bool {
        if self.at(TokenKind::RBrace) {
            return true;
        }
        let unclosed = self.at(TokenKind::End) || self.at_top_directive();
        if unclosed {
            self.unclosed_brace(open);
        }
        unclosed
    }

    /// Skips to the end of a broken statement that began with token `start`: past its line, its `;` or its braces.
    ///
    /// Inside its open brackets, lines belong to it until one begins a statement: the bracket is probably what is missing.
    pub(super) fn skip_graph_statement(&mut self, start: usize) {
        let mut depth = 0_u32;
        for at in start..self.pos {
            depth = nesting(depth, self.tokens[at].kind);
        }
        loop {
            let new_line = self.pos > start && self.token().line_break;
            if new_line && (depth == 0 || self.begins_graph_statement()) {
                return;
            }
            match self.kind() {
                TokenKind::End | TokenKind::RBrace => return,
                TokenKind::Semi => {
                    self.bump();
                    return;
                }
                TokenKind::LBrace => {
                    self.skip_braces();
                    if depth == 0 {
                        return;
                    }
                }
                kind => {
                    depth = nesting(depth, kind);
                    self.bump();
                }
            }
        }
    }

    /// Whether the line that begins here is a statement of a graph, perhaps one that is broken at its arrow or its `::`.
    ///
    /// Looks no further than this line.
    pub(super) fn begins_graph_statement(&self) -> bool {
        let is_directive = self.at(TokenKind::Dot)
            && (self.word_at(1) == "repeat" || words::TOP_DIRECTIVES.contains(&self.word_at(1)));
        let is_import = self.at_word("import") && self.kind_at(1) == TokenKind::Str;
        self.token().line_break
            && (is_directive
                || is_import
                || self.begins_statement()
                || self.begins_instance()
                || self.begins_settings()
                || self.begins_chain())
    }

    /// Whether `Element ::` or `Element :` begins the line here.
    fn begins_instance(&self) -> bool {
        let at = usize::from(self.at_word("host") && self.kind_at(1) == TokenKind::Ident);
        self.token().line_break
            && self.kind_at(at) == TokenKind::Ident
            && self.same_line(at + 1)
            && matches!(self.kind_at(at + 1), TokenKind::ColonColon | TokenKind::Colon)
    }

    fn begins_settings(&self) -> bool {
        BOUNDARIES.contains(&self.word()) && self.kind_at(1) == TokenKind::LParen && self.same_line(1)
    }

    /// Whether a node and an arrow, perhaps a misspelt one, begin the line here.
    fn begins_chain(&self) -> bool {
        let after_input = self.brackets_end(0, TokenKind::LBracket);
        if !matches!(self.kind_at(after_input), TokenKind::Ident | TokenKind::Dollar) {
            return false;
        }
        let mut at = after_input + 1;
        while self.same_line(at)
            && self.adjacent(at)
            && matches!(self.kind_at(at), TokenKind::Ident | TokenKind::Int | TokenKind::Dollar)
        {
            at += 1;
        }
        while self.same_line(at) && matches!(self.kind_at(at), TokenKind::At | TokenKind::And) {
            at += 1;
        }
        at = self.brackets_end(at, TokenKind::LParen);
        at = self.brackets_end(at, TokenKind::LBracket);
        let misspelt = match self.kind_at(at) {
            TokenKind::Minus | TokenKind::Eq => self.kind_at(at + 1) == TokenKind::Gt,
            TokenKind::Lt => self.kind_at(at + 1) == TokenKind::Minus,
            TokenKind::MinusMinus => true,
            _ => false,
        };
        self.same_line(at) && (misspelt || matches!(self.kind_at(at), TokenKind::Arrow | TokenKind::FatArrow))
    }

    /// How far ahead the brackets end that open with `open` at `ahead`: `ahead` itself if none do, or not on the same line.
    fn brackets_end(&self, ahead: usize, open: TokenKind) -> usize {
        if self.kind_at(ahead) != open || (ahead > 0 && !self.same_line(ahead)) {
            return ahead;
        }
        let (mut at, mut depth) = (ahead + 1, 1);
        while depth > 0 {
            if !self.same_line(at) || self.kind_at(at) == TokenKind::End {
                return ahead;
            }
            depth = nesting(depth, self.kind_at(at));
            at += 1;
        }
        at
    }

    /// One statement of a graph.
    pub(super) fn graph_statement(&mut self) -> Parse<GraphStmt> {
        match self.word() {
            "BREAK" => {
                let span = self.bump();
                self.end_of_statement()?;
                return Ok(GraphStmt::Break(span));
            }
            "if" => return self.graph_if(),
            "for" | "while" | "return" | "switch" | "do" => {
                let help = "a graph is instances and connections; use `.repeat(i, 0, 4) { … }`, and put code into a `.handler`";
                let message = format!("`{}` does not belong into a graph", self.word());
                let reported = self.report(Diagnostic::new(Code::E0126, self.span(), message, help));
                self.bump();
                self.skip_parens();
                return Err(reported);
            }
            _ => {}
        }
        if self.at(TokenKind::Dot) {
            return self.graph_directive();
        }
        let on_host =
            self.at_word("host") && self.kind_at(1) == TokenKind::Ident && self.kind_at(2) == TokenKind::ColonColon;
        if on_host || self.kind_at(1) == TokenKind::ColonColon {
            return Ok(GraphStmt::Instance(self.instance(on_host)?));
        }
        if BOUNDARIES.contains(&self.word()) && self.kind_at(1) == TokenKind::LParen {
            return Ok(GraphStmt::Instance(self.boundary_settings()?));
        }
        Ok(GraphStmt::Chain(self.chain()?))
    }

    fn graph_directive(&mut self) -> Parse<GraphStmt> {
        let word = self.word_at(1);
        let start = self.span();
        if word == "repeat" {
            let head = self.repeat_head()?;
            let open = self.open_block("what is repeated")?;
            let body = self.graph_block(open);
            let span = self.since(start);
            return Ok(GraphStmt::Repeat(GraphRepeat { var: head.var, lo: head.lo, hi: head.hi, body, span }));
        }
        let span = if word.is_empty() { start } else { start.to(self.span_of(self.token_at(1))) };
        let help = match words::nearest(word, ["repeat"]) {
            Some(near) => format!("did you mean `.{near}`?"),
            None => "a graph knows `.repeat(i, lo, hi) { … }`; elements and groups are declared outside it".to_owned(),
        };
        Err(self.report(Diagnostic::new(Code::E0111, span, format!("unknown directive `.{word}`"), help)))
    }

    fn graph_if(&mut self) -> Parse<GraphStmt> {
        let start = self.bump();
        let cond = self.condition("condition")?;
        self.warn_assignment(&cond);
        let then = self.graph_branch()?;
        let otherwise = if self.at_word("else") {
            self.line_starts[self.pos] = LineStart::Else;
            self.bump();
            if self.at_word("if") { vec![self.nested(|p| p.graph_if())?] } else { self.graph_branch()? }
        } else {
            Vec::new()
        };
        Ok(GraphStmt::If { cond, then, otherwise, span: self.since(start) })
    }

    /// `{ … }` or one statement.
    fn graph_branch(&mut self) -> Parse<Vec<GraphStmt>> {
        if self.at(TokenKind::LBrace) {
            let open = self.open_block("the statements")?;
            return Ok(self.graph_block(open));
        }
        let first = self.pos;
        let stmt = self.nested(|p| p.graph_statement())?;
        self.mark_sub_statement(first);
        Ok(vec![stmt])
    }

    /// The end of a line, `;`, or `}`.
    fn end_of_statement(&mut self) -> Parse<()> {
        if self.eat(TokenKind::Semi) || self.token().line_break {
            return Ok(());
        }
        match self.kind() {
            TokenKind::RBrace | TokenKind::End => Ok(()),
            TokenKind::Minus | TokenKind::Eq | TokenKind::Lt => {
                Err(self
                    .unexpected("`->`, `=>` or the end of the line", "connect with `->` (lossless) or `=>` (lossy)"))
            }
            _ => Err(self.unexpected(
                "the end of the line",
                "write each statement of a graph on its own line, or separate them with `;`",
            )),
        }
    }

    /// `Element :: a, b @ (1, 1, 14)`.
    fn instance(&mut self, on_host: bool) -> Parse<InstanceDecl> {
        let start = self.span();
        if on_host {
            self.bump();
        }
        let element = self.ident("the name of an element", STATEMENT_HELP)?;
        self.bump_as(Role::InstanceFlag);
        let mut names = vec![self.name_template()?];
        while self.eat(TokenKind::Comma) {
            names.push(self.name_template()?);
        }
        let flags = (0..).take_while(|&n| matches!(self.kind_at(n), TokenKind::At | TokenKind::And)).count();
        if self.kind_at(flags) == TokenKind::LParen {
            self.roles[self.pos + flags] = Role::SpacedParen;
        }
        let config = self.instance_config()?;
        let span = self.since(start);
        if matches!(self.kind(), TokenKind::Arrow | TokenKind::FatArrow) {
            let diagnostic = Diagnostic::new(
                Code::E0126,
                self.span(),
                "a declaration and a connection in one statement",
                "declare the instance on its own line, then connect it by its name",
            );
            return Err(self.report(diagnostic));
        }
        self.end_of_statement()?;
        Ok(InstanceDecl { on_host, element, names, config, span })
    }

    /// `nic_out (rate = 1'000'000'000)`: an instance declaration without names.
    fn boundary_settings(&mut self) -> Parse<InstanceDecl> {
        let start = self.span();
        let element = self.ident("a boundary port", STATEMENT_HELP)?;
        let flags = (0..).take_while(|&n| matches!(self.kind_at(n), TokenKind::At | TokenKind::And)).count();
        if self.kind_at(flags) == TokenKind::LParen {
            self.roles[self.pos + flags] = Role::SpacedParen;
        }
        let config = self.instance_config()?;
        let span = self.since(start);
        if matches!(self.kind(), TokenKind::Arrow | TokenKind::FatArrow) {
            let help = "write the settings on their own line, then connect the port by its name";
            return Err(self.report(Diagnostic::new(
                Code::E0126,
                span,
                "settings and a connection in one statement",
                help,
            )));
        }
        self.end_of_statement()?;
        Ok(InstanceDecl { on_host: false, element, names: Vec::new(), config, span })
    }

    /// A name with `$i` parts that touch each other.
    fn name_template(&mut self) -> Parse<NameTemplate> {
        let start = self.span();
        let mut parts = Vec::new();
        while parts.is_empty() || self.adjacent(0) {
            if !parts.is_empty() && matches!(self.kind(), TokenKind::Ident | TokenKind::Int | TokenKind::Dollar) {
                self.roles[self.pos] = Role::Postfix;
            }
            match self.kind() {
                TokenKind::Dollar => {
                    parts.push(NamePart::Var(self.dollar_name().text));
                    self.bump();
                }
                TokenKind::Ident if parts.is_empty() => {
                    parts.push(NamePart::Text(self.ident("a name", STATEMENT_HELP)?.text))
                }
                TokenKind::Ident | TokenKind::Int if !parts.is_empty() => {
                    parts.push(NamePart::Text(self.text_of(self.token()).to_owned()));
                    self.bump();
                }
                _ if parts.is_empty() => return Err(self.unexpected("a name", STATEMENT_HELP)),
                _ => break,
            }
        }
        Ok(NameTemplate { parts, span: self.since(start) })
    }

    /// `@`, `&` and `(in, out*depth, …)`, as far as they stand on the same line.
    fn instance_config(&mut self) -> Parse<InstanceConfig> {
        let mut config = InstanceConfig::default();
        let start = self.span();
        while self.same_line(0) && matches!(self.kind(), TokenKind::At | TokenKind::And) {
            if self.at(TokenKind::At) {
                config.host_control = true;
            } else {
                config.autorun = true;
            }
            self.bump_as(Role::InstanceFlag);
        }
        if self.same_line(0) && self.at(TokenKind::LParen) {
            self.instance_arguments(&mut config)?;
        }
        if self.span() != start {
            config.span = Some(self.since(start));
        }
        Ok(config)
    }

    fn instance_arguments(&mut self, config: &mut InstanceConfig) -> Parse<()> {
        let open = self.bump();
        let mut position = 0;
        while !self.at(TokenKind::RParen) {
            if self.begins_graph_statement() {
                return Err(self.missing_bracket(TokenKind::RParen, open));
            }
            let is_named = self.at(TokenKind::Ident) && self.kind_at(1) == TokenKind::Eq;
            if is_named {
                let name = Ident { text: self.word().to_owned(), span: self.bump() };
                self.bump();
                let value = self.bracketed_expr()?;
                config.args.push(InstanceArg { name: Some(name), value });
            } else if config.args.iter().any(|arg| arg.name.is_some()) {
                let help = "put arguments without a name first";
                return Err(self.unexpected("`NAME = value`", help));
            } else {
                self.positional_argument(config, position)?;
                position += 1;
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if self.begins_graph_statement() {
            return Err(self.missing_bracket(TokenKind::RParen, open));
        }
        if self.at(TokenKind::Colon) {
            return Err(self.unexpected("`,` or `)`", "arguments with a name are written `NAME = value`"));
        }
        self.close(TokenKind::RParen, open)?;
        Ok(())
    }

    fn positional_argument(&mut self, config: &mut InstanceConfig, position: usize) -> Parse<()> {
        match position {
            0 => config.n_inputs = Some(self.bracketed_expr()?),
            1 => {
                config.n_outputs = Some(self.before_star()?);
                config.depth = self.depth_after_star()?;
            }
            _ => {
                let value = self.bracketed_expr()?;
                config.args.push(InstanceArg { name: None, value });
            }
        }
        Ok(())
    }

    /// An expression that ends before a `*` outside parentheses.
    fn before_star(&mut self) -> Parse<Expr> {
        let stops = Stops { star: true, ..Stops::default() };
        self.with_stops(stops, |p| p.expr())
    }

    /// `*depth`, if it stands here.
    fn depth_after_star(&mut self) -> Parse<Option<Expr>> {
        if !self.at(TokenKind::Star) {
            return Ok(None);
        }
        self.bump_as(Role::DepthStar);
        self.bracketed_expr().map(Some)
    }

    /// `a[1] -> [2]b => c`.
    fn chain(&mut self) -> Parse<Chain> {
        let start = self.span();
        let mut nodes = vec![self.chain_node()?];
        let mut links = Vec::new();
        while matches!(self.kind(), TokenKind::Arrow | TokenKind::FatArrow) {
            let lossy = self.at(TokenKind::FatArrow);
            links.push(Link { lossy, span: self.bump() });
            if self.begins_instance() {
                return Err(self.arrow_to_nothing());
            }
            nodes.push(self.chain_node()?);
        }
        let span = self.since(start);
        if links.is_empty() {
            return Err(self.no_link(&nodes[0], span));
        }
        self.end_of_statement()?;
        Ok(Chain { nodes, links, span })
    }

    /// Reports an arrow at the end of a line after which a declaration follows.
    fn arrow_to_nothing(&mut self) -> Reported {
        let help = "write the receiver after the arrow; a chain may go on in the next line";
        let span = self.previous_span();
        self.report(Diagnostic::new(Code::E0126, span, "this arrow leads to nothing", help))
    }

    /// Reports a statement that is only one node.
    fn no_link(&mut self, node: &ChainNode, span: Span) -> Reported {
        if let NodeTarget::Name(NameTemplate { parts, span }) = &node.target
            && let [NamePart::Text(word)] = parts.as_slice()
        {
            let near = words::nearest(word, words::TOP_DIRECTIVES.iter().chain(&["repeat"]).copied());
            let looks_like_directive =
                matches!(self.kind(), TokenKind::Ident | TokenKind::Str | TokenKind::LBrace) && self.same_line(0);
            if let Some(near) = near.filter(|_| looks_like_directive) {
                let message = format!("unknown directive `{word}`");
                return self.report(Diagnostic::new(Code::E0111, *span, message, format!("did you mean `.{near}`?")));
            }
        }
        if self.at(TokenKind::Lt) && self.kind_at(1) == TokenKind::Minus {
            let help = "arrows point from the sender to the receiver: write `sender -> receiver`";
            return self.report(Diagnostic::new(Code::E0126, self.span(), "`<-` is no arrow", help));
        }
        let parted = matches!(self.kind(), TokenKind::Minus | TokenKind::Eq) && self.kind_at(1) == TokenKind::Gt;
        if parted && self.same_line(0) {
            let arrow = if self.at(TokenKind::Minus) { "->" } else { "=>" };
            let help = format!("write `{arrow}` without a space in it");
            let span = self.span().to(self.span_of(self.token_at(1)));
            let message = format!("`{}` is no arrow", &self.text[span.start as usize..span.end as usize]);
            return self.report(Diagnostic::new(Code::E0126, span, message, help));
        }
        if self.at(TokenKind::Colon) && self.same_line(0) {
            return self.unexpected("`->`, `=>` or `::`", "declare an instance with two colons: `Element :: name`");
        }
        if self.at(TokenKind::MinusMinus) || (self.at(TokenKind::Minus) && self.same_line(0)) {
            return self.unexpected("`->` or `=>`", "arrows are `->` (lossless) and `=>` (lossy)");
        }
        if self.at(TokenKind::Eq) && self.same_line(0) {
            return self.unexpected("`->`, `=>` or `::`", "declare an instance with `Element :: name (1, 1)`");
        }
        if self.at(TokenKind::Dot) && self.same_line(0) {
            let help =
                "signals are called from the control file: `@end name.signal`; a graph is instances and connections";
            return self.unexpected("`->`, `=>` or `::`", help);
        }
        if self.token().line_break || matches!(self.kind(), TokenKind::End | TokenKind::Semi | TokenKind::RBrace) {
            return self.report(Diagnostic::new(Code::E0126, span, "this is connected to nothing", STATEMENT_HELP));
        }
        self.unexpected("`->`, `=>` or `::`", STATEMENT_HELP)
    }

    /// `[in]name[out*depth]` or `[in]Element(…)[out*depth]`.
    fn chain_node(&mut self) -> Parse<ChainNode> {
        let start = self.span();
        let mut input = None;
        if self.at(TokenKind::LBracket) {
            let open = self.bump();
            input = Some(self.bracketed_expr()?);
            self.close_on_line(open)?;
            self.roles[self.pos - 1] = Role::PortClose;
        }
        let target = self.node_target()?;
        let (mut output, mut depth) = (None, None);
        if self.at(TokenKind::LBracket) && self.same_line(0) {
            let open = self.bump();
            output = Some(self.before_star()?);
            depth = self.depth_after_star()?;
            self.close_on_line(open)?;
        }
        Ok(ChainNode { input, target, output, depth, span: self.since(start) })
    }

    /// The `]` of a port.
    fn close_on_line(&mut self, open: Span) -> Parse<Span> {
        let is_missing = matches!(self.kind(), TokenKind::Arrow | TokenKind::FatArrow) || self.begins_graph_statement();
        if is_missing {
            return Err(self.missing_bracket(TokenKind::RBracket, open));
        }
        self.close(TokenKind::RBracket, open)
    }

    fn node_target(&mut self) -> Parse<NodeTarget> {
        if !matches!(self.kind(), TokenKind::Ident | TokenKind::Dollar) {
            return Err(self.unexpected("the name of an instance, element or boundary port", STATEMENT_HELP));
        }
        let name = self.name_template()?;
        let configured = self.same_line(0) && matches!(self.kind(), TokenKind::At | TokenKind::And | TokenKind::LParen);
        if !configured {
            return Ok(NodeTarget::Name(name));
        }
        let [NamePart::Text(text)] = name.parts.as_slice() else {
            let help = "an anonymous instance begins with the name of an element";
            return Err(self.unexpected("an arrow or the end of the line", help));
        };
        let element = Ident { text: text.clone(), span: name.span };
        Ok(NodeTarget::Anonymous(element, self.instance_config()?))
    }
}

/// The depth of parentheses and square brackets after a token of that kind.
fn nesting(depth: u32, kind: TokenKind) -> u32 {
    match kind {
        TokenKind::LParen | TokenKind::LBracket => depth + 1,
        TokenKind::RParen | TokenKind::RBracket => depth.saturating_sub(1),
        _ => depth,
    }
}
