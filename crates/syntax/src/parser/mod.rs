//! Recursive descent from tokens to the tree.
//!
//! A parse function that reports a fault returns [`Reported`]; the nearest statement, section or declaration loop catches it,
//! skips to the next border and goes on, so one fault gives one report. Nesting is bounded by [`DEPTH_MAX`] and the height of
//! an expression by [`HEIGHT_MAX`], so neither this parser nor a recursive walk over its tree can overflow the stack. There is
//! no backtracking, and lookahead is bounded: time is linear in the text.
//!
//! While it parses, it notes for the formatter what each token turned out to be ([`Role`]) and which ones begin a line ([`LineStart`]).

mod declarations;
mod expressions;
mod graph;
mod items;
mod primary;
mod sections;
mod statements;
mod types;
mod words;

use diag::{Code, Diagnostic, FileId, Span};

use crate::ast::{self, Ident};
use crate::lexer::{self, Lexed};
use crate::token::{Comment, Token, TokenKind};

/// Deepest nesting of brackets, statements and operators.
const DEPTH_MAX: u32 = 200;

/// Highest expression tree: also bounds long chains such as `a + b + …`, which nest to the left.
const HEIGHT_MAX: u32 = 400;

/// A tree and what was wrong.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What could be made of the text.
    pub file: ast::File,
    /// Syntax errors and warnings in source order, each once.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses one file. Any text gives a tree; faulty parts are left out of it or are [`ast::ExprKind::Error`].
pub fn parse(file: FileId, text: &str) -> Parsed {
    let annotated = parse_annotated(file, text);
    Parsed { file: annotated.file, diagnostics: annotated.diagnostics }
}

/// A parsed file with what the formatter needs.
pub(crate) struct Annotated {
    pub file: ast::File,
    pub diagnostics: Vec<Diagnostic>,
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    /// One per token.
    pub roles: Vec<Role>,
    /// One per token: how it stands to its line.
    pub line_starts: Vec<LineStart>,
    /// One per token: if it begins a statement without braces under an `if` or loop, the token after that statement.
    pub sub_ends: Vec<u32>,
}

/// Parses and keeps tokens, comments and roles.
pub(crate) fn parse_annotated(file: FileId, text: &str) -> Annotated {
    let Lexed { tokens, comments, diagnostics, faulty } = lexer::lex(file, text);
    let n_tokens = tokens.len();
    let mut parser = Parser {
        file,
        text,
        tokens,
        comments,
        diagnostics,
        faulty,
        roles: vec![Role::Plain; n_tokens],
        line_starts: vec![LineStart::No; n_tokens],
        sub_ends: vec![0; n_tokens],
        pos: 0,
        depth: 0,
        height: 0,
        stops: Stops::default(),
        unclosed_at: None,
        line_indent: 0,
        open_indents: Vec::new(),
        outdented: None,
        stray_braces_expected: 0,
        depth_reported: false,
        refused: None,
        statement_start: 0,
    };
    let tree = parser.source_file();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|diagnostic| (diagnostic.primary.span.start, diagnostic.code));
    diagnostics.dedup();
    Annotated {
        file: tree,
        diagnostics,
        tokens: parser.tokens,
        comments: parser.comments,
        roles: parser.roles,
        line_starts: parser.line_starts,
        sub_ends: parser.sub_ends,
    }
}

/// What a token turned out to be, where its spelling does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Spaced by its spelling.
    Plain,
    /// An operator before its operand.
    Prefix,
    /// An operator after its operand, or a later part of a joined operator or name: no space before it.
    Postfix,
    /// Opens the braces of a block, whose statements stand on lines of their own.
    BlockOpen,
    /// Closes them.
    BlockClose,
    /// Opens a braced list of values.
    ListOpen,
    /// Closes it.
    ListClose,
    /// Opens the names of an enum, or verbatim text.
    NamesOpen,
    /// Closes them.
    NamesClose,
    /// `<` of type arguments.
    AngleOpen,
    /// `>` of type arguments.
    AngleClose,
    /// `<` of the ports of an element.
    PortsOpen,
    /// `>` of the ports of an element.
    PortsClose,
    /// `(` with a space before it: after a section's or instance's name.
    SpacedParen,
    /// `)` of a cast.
    CastClose,
    /// `:` after a label, in a header field or a port group: space after, none before.
    LabelColon,
    /// `:` of a bit slice.
    SliceColon,
    /// `*` before a channel depth: no spaces.
    DepthStar,
    /// `;` between the parts of a `for`.
    ForSemi,
    /// `::`, `@` or `&` of an instance.
    InstanceFlag,
    /// `]` after which the target of a chain node follows.
    PortClose,
}

/// Whether a token begins a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineStart {
    /// It stands inside a statement.
    No,
    /// It begins a statement, declaration, section, label or field.
    Statement,
    /// It begins the statement under an `if` or loop, which may stand on the same line.
    Sub,
    /// It is an `else`.
    Else,
}

/// The fault has been reported; unwinds to the next border.
pub(crate) struct Reported;

type Parse<T> = Result<T, Reported>;

/// Operators at which the expression being parsed ends, unless they stand in brackets.
#[derive(Clone, Copy, Debug, Default)]
struct Stops {
    /// `>`, `>=`, `>>`: inside `<…>`.
    greater: bool,
    /// `+`: between port groups.
    plus: bool,
    /// `*`: before a channel depth.
    star: bool,
    /// `Name {`: after a condition whose `)` may be missing.
    brace: bool,
}

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
    diagnostics: Vec<Diagnostic>,
    /// Places that the lexer has reported.
    faulty: Vec<(u32, u32)>,
    roles: Vec<Role>,
    line_starts: Vec<LineStart>,
    sub_ends: Vec<u32>,
    pos: usize,
    depth: u32,
    /// Height of the expression parsed last.
    height: u32,
    stops: Stops,
    /// Where a missing brace was reported: the braces around it are taken as closed too.
    unclosed_at: Option<usize>,
    /// Columns of white space before the current line.
    line_indent: u32,
    /// Open blocks: where, and the indent of the line.
    open_indents: Vec<(u32, u32)>,
    /// The first block whose `}` stands further left than the line that opened it: its own `}` may be missing.
    outdented: Option<(Span, Span)>,
    /// Unmatched `}` that an earlier report explains.
    stray_braces_expected: u32,
    depth_reported: bool,
    /// The last refused construct and the statement that it stood in: one report per kind and statement.
    refused: Option<(Code, usize)>,
    /// First token of the statement being parsed.
    statement_start: usize,
}

// Looking at tokens.
impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    fn kind(&self) -> TokenKind {
        self.tokens[self.pos].kind
    }

    /// The token `ahead` places further, or the end.
    fn token_at(&self, ahead: usize) -> Token {
        self.tokens[(self.pos + ahead).min(self.tokens.len() - 1)]
    }

    fn kind_at(&self, ahead: usize) -> TokenKind {
        self.token_at(ahead).kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The word at this place, or "" if there is none.
    fn word(&self) -> &'a str {
        self.word_at(0)
    }

    fn word_at(&self, ahead: usize) -> &'a str {
        let token = self.token_at(ahead);
        if token.kind == TokenKind::Ident { self.text_of(token) } else { "" }
    }

    fn at_word(&self, word: &str) -> bool {
        self.word() == word
    }

    /// Whether the token `ahead` places further stands on the same line as the one before it.
    fn same_line(&self, ahead: usize) -> bool {
        !self.token_at(ahead).line_break
    }

    /// Whether that token touches the one before it.
    fn adjacent(&self, ahead: usize) -> bool {
        let at = (self.pos + ahead).min(self.tokens.len() - 1);
        at > 0 && self.tokens[at - 1].end == self.tokens[at].start
    }

    fn span_of(&self, token: Token) -> Span {
        Span { file: self.file, start: token.start, end: token.end }
    }

    fn span(&self) -> Span {
        self.span_of(self.token())
    }

    /// The span of the token before; empty at the start of the file.
    fn previous_span(&self) -> Span {
        match self.pos.checked_sub(1) {
            Some(at) => self.span_of(self.tokens[at]),
            None => Span { file: self.file, start: 0, end: 0 },
        }
    }

    /// From `start` to the last token taken.
    fn since(&self, start: Span) -> Span {
        let end = self.previous_span().end.max(start.end);
        Span { end, ..start }
    }

    /// The current token in words, for "expected …, found …".
    fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::Pragma | TokenKind::Raw => token.kind.text().to_owned(),
            TokenKind::Str => "a string".to_owned(),
            _ => format!("`{}`", self.text_of(token)),
        }
    }
}

// Taking tokens.
impl Parser<'_> {
    fn bump(&mut self) -> Span {
        let span = self.span();
        if !self.at(TokenKind::End) {
            if self.token().line_break {
                let before = &self.text.as_bytes()[..span.start as usize];
                self.line_indent = before.iter().rev().take_while(|&&byte| matches!(byte, b' ' | b'\t')).count() as u32;
            }
            self.pos += 1;
        }
        span
    }

    fn bump_as(&mut self, role: Role) -> Span {
        self.roles[self.pos] = role;
        self.bump()
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let here = self.at(kind);
        if here {
            self.bump();
        }
        here
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let here = self.at_word(word);
        if here {
            self.bump();
        }
        here
    }

    fn expect(&mut self, kind: TokenKind, help: &str) -> Parse<Span> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(&format!("`{}`", kind.text()), help)) }
    }

    /// A name that is no reserved word. `what` says whose, as in "a name for the element".
    fn ident(&mut self, what: &str, help: &str) -> Parse<Ident> {
        if !self.at(TokenKind::Ident) {
            return Err(self.unexpected(what, help));
        }
        let word = self.word();
        if words::is_reserved(word) {
            let message = format!("`{word}` is a reserved word");
            let help = format!("choose another name, such as `{word}_`");
            self.report(Diagnostic::new(Code::E0114, self.span(), message, help).label(format!("expected {what}")));
            self.bump();
            return Ok(Ident { text: word.to_owned(), span: self.previous_span() });
        }
        let text = word.to_owned();
        Ok(Ident { text, span: self.bump() })
    }

    /// The closing bracket that belongs to the one at `open`.
    fn close(&mut self, kind: TokenKind, open: Span) -> Parse<Span> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        let ends_statement =
            matches!(self.kind(), TokenKind::Semi | TokenKind::LBrace | TokenKind::RBrace | TokenKind::End)
                || self.begins_statement();
        if ends_statement {
            return Err(self.missing_bracket(kind, open));
        }
        let help = format!("separate with `,` or close with `{}`; check for a missing operator", kind.text());
        Err(self.unexpected(&format!("`,` or `{}`", kind.text()), &help))
    }

    /// Reports a closing bracket that is missing behind the token before.
    fn missing_bracket(&mut self, kind: TokenKind, open: Span) -> Reported {
        let text = kind.text();
        let message = format!("missing `{text}`");
        let help = format!("close what was opened with `{}`", &self.text[open.start as usize..open.end as usize]);
        let at = self.previous_span().after();
        let diagnostic = Diagnostic::new(Code::E0104, at, message, help).label(format!("expected `{text}`"));
        self.report(diagnostic.related(open, "opened here"))
    }

    /// A `;`. If it is missing at the end of a line or block, that is reported and the parse goes on.
    fn semicolon(&mut self, after: &str) -> Parse<()> {
        if self.eat(TokenKind::Semi) {
            return Ok(());
        }
        if self.token().line_break || matches!(self.kind(), TokenKind::RBrace | TokenKind::End) {
            let message = format!("missing `;` after {after}");
            let at = self.previous_span().after();
            self.report(Diagnostic::new(Code::E0102, at, message, "add `;` here").label("expected `;`"));
            return Ok(());
        }
        Err(self.unexpected("`;`", &format!("end {after} with `;`, or add the missing operator")))
    }
}

// Reports and recovery.
impl Parser<'_> {
    /// Records a fault, unless the lexer or an earlier report has explained it.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let start = diagnostic.primary.span.start;
        let range = self.faulty.partition_point(|&(from, _)| from <= start);
        let explained = range.checked_sub(1).is_some_and(|at| start <= self.faulty[at].1);
        if !explained {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    fn unexpected(&mut self, expected: &str, help: &str) -> Reported {
        let message = format!("expected {expected}, found {}", self.found());
        // What the file lacks at its end belongs behind its last word, not on an empty line.
        let at_end = self.at(TokenKind::End) && self.pos > 0;
        let span = if at_end { self.previous_span().after() } else { self.span() };
        self.report(Diagnostic::new(Code::E0101, span, message, help).label(format!("expected {expected}")))
    }

    /// Reports a construct that the language leaves out; one of a kind per statement.
    fn refuse(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Reported {
        if self.refused == Some((code, self.statement_start)) {
            return Reported;
        }
        self.refused = Some((code, self.statement_start));
        self.report(Diagnostic::new(code, span, message, help))
    }

    /// Runs `parse` one level deeper, or reports that the text is nested too deeply.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&mut self) -> Reported {
        if !self.depth_reported {
            self.depth_reported = true;
            let message = "this is nested too deeply";
            let help = format!(
                "at most {DEPTH_MAX} levels and {HEIGHT_MAX} operators in a chain: use a function, variables or a table"
            );
            self.report(Diagnostic::new(Code::E0113, self.span(), message, help));
            self.skip_declaration();
        }
        Reported
    }

    /// Skips to the next declaration of the file, and takes everything that is open as closed there.
    ///
    /// What is left of a text that is nested too deeply has no shape: each of its braces and keywords would be an error of its own.
    fn skip_declaration(&mut self) {
        let from = self.span().start;
        while !self.at(TokenKind::End) && !self.at_top_directive() {
            self.bump();
        }
        self.unclosed_at = Some(self.pos);
        let to = self.span().start;
        let begin = self.faulty.partition_point(|&(start, _)| start < from);
        let end = self.faulty.partition_point(|&(start, _)| start <= to);
        self.faulty.splice(begin..end, [(from, to)]);
    }

    /// Sets the height of the expression that was just built.
    fn grown(&mut self, height: u32) -> Parse<()> {
        self.height = height;
        if height > HEIGHT_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Runs `parse` with other stops, for example none inside brackets.
    fn with_stops<T>(&mut self, stops: Stops, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.stops, stops);
        let result = parse(self);
        self.stops = outer;
        result
    }

    /// Reports the innermost unclosed brace once; the ones around it are taken as closed too.
    fn unclosed_brace(&mut self, open: Span) {
        if self.unclosed_at == Some(self.pos) {
            return;
        }
        self.unclosed_at = Some(self.pos);
        let found = match self.kind() {
            TokenKind::End => "before the end of the file".to_owned(),
            _ => format!("before {}", self.found_directive()),
        };
        let diagnostic =
            Diagnostic::new(Code::E0103, self.span(), "missing `}`", "close the block that was opened above with `}`");
        let diagnostic = diagnostic.label(format!("expected `}}` {found}"));
        // A block inside the open one that ended too far left has probably taken its `}`.
        let diagnostic = match self.outdented.take().filter(|(inner, _)| inner.start > open.start) {
            Some((inner, close)) => diagnostic
                .related(inner, "this `{` seems not to be closed")
                .related(close, "this `}` has another indent"),
            None => diagnostic.related(open, "this `{` is not closed"),
        };
        self.report(diagnostic);
    }

    fn found_directive(&self) -> String {
        if self.at(TokenKind::Dot) { format!("`.{}`", self.word_at(1)) } else { self.found() }
    }

    /// Whether a keyword on a new line begins a statement here.
    fn begins_statement(&self) -> bool {
        self.token().line_break && words::begins_statement(self.word())
    }

    /// Skips to the end of a broken statement: past its `;` or its braces, before a `}`, a statement or a section.
    fn skip_statement(&mut self) {
        let start = self.pos;
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::RBrace => return,
                TokenKind::Semi => {
                    self.bump();
                    return;
                }
                TokenKind::LBrace => {
                    self.skip_braces();
                    return;
                }
                _ if self.pos > start && (self.begins_statement() || self.at_section() || self.at_top_directive()) => {
                    return;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Skips `{ … }` with everything in it.
    fn skip_braces(&mut self) {
        let mut depth = 0_u32;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::LBrace => depth += 1,
                TokenKind::RBrace => depth -= 1,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips `( … )` with everything in it, if it stands here.
    fn skip_parens(&mut self) {
        let mut depth = 0_u32;
        loop {
            match self.kind() {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth = depth.saturating_sub(1),
                TokenKind::End | TokenKind::LBrace | TokenKind::RBrace => return,
                _ => {}
            }
            if depth == 0 && !self.at(TokenKind::RParen) {
                return;
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// `.handler` and its like.
    fn at_section(&self) -> bool {
        self.at(TokenKind::Dot) && self.token().line_break && words::SECTIONS.contains(&self.word_at(1))
    }

    /// `.element` and its like, or `import`.
    fn at_top_directive(&self) -> bool {
        let directive = self.at(TokenKind::Dot) && words::TOP_DIRECTIVES.contains(&self.word_at(1));
        let import = self.at_word("import") && self.kind_at(1) == TokenKind::Str;
        self.token().line_break && (directive || import)
    }
}
