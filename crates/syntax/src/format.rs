//! The one layout of Flitwork source.
//!
//! Tokens and comments are kept as they are and only the white space between them is chosen: one statement a line, four spaces
//! a level, at most one blank line in a row. Breaks inside a statement and blocks on one line stay where the user put them,
//! as long as they fit. So formatting cannot change what a file means, and formatting twice changes nothing.

mod spacing;
mod wrap;

use diag::{Diagnostic, FileId, Severity};

use crate::parser::{Annotated, LineStart, Role, parse_annotated};
use crate::token::TokenKind;
use wrap::{Line, Piece};

/// A block stays on one line if that line ends before this column.
const ONE_LINE_COLUMNS: usize = 100;

/// Formats a file.
///
/// # Errors
/// A file with syntax errors is not formatted; its diagnostics speak of it as `FileId(0)`.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse_annotated(FileId(0), text);
    if parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error) {
        return Err(parsed.diagnostics);
    }
    let closers = closing_braces(&parsed);
    let mut formatter = Formatter {
        text,
        parsed: &parsed,
        closers,
        levels: Vec::new(),
        lines: Vec::new(),
        open: None,
        inline_until: 0,
        previous_end: 0,
        after_open: true,
        break_next: false,
    };
    formatter.run();
    Ok(wrap::print(&formatter.lines, text, &parsed))
}

/// What the indent of a line is made of.
enum Level {
    /// Inside braces; labels of a `switch` stand one level out of the statements.
    Block { has_labels: bool },
    /// A statement under an `if` or loop, until this token.
    Sub { end: usize },
}

struct Formatter<'a> {
    text: &'a str,
    parsed: &'a Annotated,
    /// For each token that opens a block: the one that closes it; else 0.
    closers: Vec<usize>,
    levels: Vec<Level>,
    lines: Vec<Line>,
    /// The line being filled.
    open: Option<Line>,
    /// Tokens before this one belong to the open line: they are in a block on one line, or share the line of a label.
    inline_until: usize,
    /// Where the last token or comment ended in the source.
    previous_end: usize,
    /// No blank line here: a block or the file has just begun.
    after_open: bool,
    /// The next token must not join the line, which ends with a line comment or `#pragma`.
    break_next: bool,
}

impl Formatter<'_> {
    fn run(&mut self) {
        let mut next_comment = 0;
        for at in 0..self.parsed.tokens.len() {
            let token = self.parsed.tokens[at];
            while let Some(comment) = self.parsed.comments.get(next_comment).filter(|c| c.start < token.start) {
                self.comment(comment.start as usize, comment.end as usize, at);
                next_comment += 1;
            }
            if token.kind == TokenKind::End {
                break;
            }
            self.token(at);
        }
        self.flush();
    }

    fn token(&mut self, at: usize) {
        let token = self.parsed.tokens[at];
        while matches!(self.levels.last(), Some(Level::Sub { end }) if *end <= at) {
            self.levels.pop();
        }
        if self.starts_line(at) {
            let closes = self.parsed.roles[at] == Role::BlockClose;
            if closes {
                self.leave_block();
            }
            let is_sub = self.parsed.line_starts[at] == LineStart::Sub;
            if is_sub {
                self.levels.push(Level::Sub { end: self.parsed.sub_ends[at] as usize });
            }
            let blank = self.blank_before(token.start as usize)
                && !closes
                && self.parsed.line_starts[at] == LineStart::Statement;
            self.flush();
            self.open = Some(Line { indent: self.indent_of(at), blank_before: blank, pieces: Vec::new() });
        }
        let inside = at < self.inline_until;
        let breaks = !inside && (self.break_next || token.line_break && self.may_keep_break(at));
        self.push(Piece::Token { at, breaks, glued: inside });
        self.break_next = token.kind == TokenKind::Pragma;
        self.previous_end = token.end as usize;
        self.after_open = false;
        match self.parsed.roles[at] {
            Role::BlockOpen if !inside => self.enter_block(at),
            Role::LabelColon if !inside && self.is_label_line() => self.join_arm(at),
            _ => {}
        }
    }

    /// Whether the token begins a line of its own in the output.
    fn starts_line(&mut self, at: usize) -> bool {
        let token = self.parsed.tokens[at];
        let Some(open) = &self.open else { return true };
        if at < self.inline_until {
            return false;
        }
        if matches!(open.pieces.as_slice(), [.., Piece::Comment { joins_next: true, .. }]) {
            return false;
        }
        if self.parsed.roles[at] == Role::BlockClose {
            return true;
        }
        let after_block = at > 0 && self.parsed.roles[at - 1] == Role::BlockClose;
        match self.parsed.line_starts[at] {
            LineStart::No => false,
            LineStart::Statement => {
                token.kind != TokenKind::Semi || self.break_next || at == 0 || self.opens_block(at - 1)
            }
            LineStart::Sub => token.line_break || self.break_next,
            LineStart::Else => self.break_next || !after_block && token.line_break,
        }
    }

    /// Whether the token opens a block whose statements stand on lines of their own.
    fn opens_block(&self, at: usize) -> bool {
        self.parsed.roles[at] == Role::BlockOpen && at >= self.inline_until
    }

    fn enter_block(&mut self, at: usize) {
        let close = self.closers[at];
        let is_empty = close == at + 1 && !self.has_comment(at, close);
        if is_empty || self.fits_one_line(at, close) {
            self.inline_until = close + 1;
        } else {
            self.levels.push(Level::Block { has_labels: false });
            self.after_open = true;
        }
    }

    fn leave_block(&mut self) {
        while let Some(Level::Sub { .. }) = self.levels.pop() {}
    }

    /// Whether the block was on one line in the source and still is, with everything before it.
    fn fits_one_line(&self, open: usize, close: usize) -> bool {
        let is_declaration =
            self.levels.is_empty() && self.open.as_ref().is_some_and(|line| self.declares_element(line));
        let tokens = &self.parsed.tokens[open + 1..=close];
        if is_declaration || tokens.iter().any(|token| token.line_break || token.kind == TokenKind::Pragma) {
            return false;
        }
        !self.has_comment(open, close) && self.width_with(open + 1, close + 1) <= ONE_LINE_COLUMNS
    }

    fn declares_element(&self, line: &Line) -> bool {
        let word = |n: usize| match line.pieces.get(n) {
            Some(Piece::Token { at, .. }) => {
                let token = self.parsed.tokens[*at];
                &self.text[token.start as usize..token.end as usize]
            }
            Some(Piece::Comment { .. }) | None => "",
        };
        word(0) == "." && matches!(word(1), "element" | "element_group")
    }

    /// Whether a comment stands between two tokens.
    fn has_comment(&self, open: usize, close: usize) -> bool {
        let (from, to) = (self.parsed.tokens[open].end, self.parsed.tokens[close].start);
        let first = self.parsed.comments.partition_point(|comment| comment.start < from);
        self.parsed.comments.get(first).is_some_and(|comment| comment.start < to)
    }

    /// Columns of the open line if the tokens of a range join it, without any breaks.
    fn width_with(&self, from: usize, to: usize) -> usize {
        let Some(open) = &self.open else { return 0 };
        let mut pieces = open.pieces.clone();
        for at in from..to {
            pieces.push(Piece::Token { at, breaks: false, glued: true });
            // Long ones need not be measured to the end, which keeps nested blocks linear.
            if pieces.len() > open.pieces.len() + ONE_LINE_COLUMNS {
                return usize::MAX;
            }
        }
        wrap::width(open.indent, &pieces, self.text, self.parsed)
    }

    /// Whether the open line begins with a `switch` label.
    fn is_label_line(&self) -> bool {
        let first = self.open.as_ref().and_then(|line| line.pieces.first());
        matches!(first, Some(Piece::Token { at, .. }) if self.is_label(*at))
    }

    fn is_label(&self, at: usize) -> bool {
        let token = self.parsed.tokens[at];
        let word = &self.text[token.start as usize..token.end as usize];
        self.parsed.line_starts[at] == LineStart::Statement && matches!(word, "case" | "default")
    }

    /// After a label: the statements that share its line in the source stay there if they fit.
    fn join_arm(&mut self, colon: usize) {
        let tokens = &self.parsed.tokens;
        let mut end = colon + 1;
        let mut depth = 0_u32;
        loop {
            let role = self.parsed.roles[end];
            let next_arm = self.is_label(end) && self.parsed.roles[end - 1] != Role::LabelColon;
            if tokens[end].line_break
                || tokens[end].kind == TokenKind::End
                || depth == 0 && (role == Role::BlockClose || next_arm)
            {
                break;
            }
            match role {
                Role::BlockOpen => depth += 1,
                Role::BlockClose => depth -= 1,
                _ => {}
            }
            end += 1;
            if end > colon + ONE_LINE_COLUMNS {
                return;
            }
        }
        let is_whole = depth == 0 && !self.has_comment(colon, end - 1);
        if is_whole && self.width_with(colon + 1, end) <= ONE_LINE_COLUMNS {
            self.inline_until = end;
        }
    }

    fn indent_of(&mut self, at: usize) -> usize {
        let is_label = self.is_label(at);
        if is_label && let Some(Level::Block { has_labels }) = self.levels.last_mut() {
            *has_labels = true;
            return self.indent() - 1;
        }
        self.indent()
    }

    fn indent(&self) -> usize {
        let depth = |level: &Level| match level {
            Level::Block { has_labels } => 1 + usize::from(*has_labels),
            Level::Sub { .. } => 1,
        };
        self.levels.iter().map(depth).sum()
    }

    /// Whether the user's break before this token, inside a statement, is kept.
    fn may_keep_break(&self, at: usize) -> bool {
        let role = self.parsed.roles[at];
        let kind = self.parsed.tokens[at].kind;
        let previous = at.checked_sub(1).map(|n| (self.parsed.tokens[n].kind, self.parsed.roles[n]));
        let starts = self.parsed.line_starts[at] != LineStart::No;
        let tight = matches!(
            role,
            Role::Postfix | Role::BlockOpen | Role::SliceColon | Role::LabelColon | Role::DepthStar | Role::ForSemi
        ) || matches!(kind, TokenKind::Semi | TokenKind::Comma | TokenKind::LParen | TokenKind::ColonColon)
            || kind == TokenKind::LBracket
                && role == Role::Plain
                && !matches!(previous, Some((TokenKind::Arrow | TokenKind::FatArrow, _)));
        let after = matches!(previous, Some((TokenKind::Dot | TokenKind::ColonColon, _)))
            || matches!(previous, Some((_, Role::Prefix | Role::AngleOpen | Role::PortClose | Role::BlockClose)));
        !starts && !tight && !after
    }

    /// Whether a blank line stands in the source before this place and may stand in the output.
    fn blank_before(&self, start: usize) -> bool {
        let gap = self.text.get(self.previous_end..start).unwrap_or("");
        !self.after_open && gap.bytes().filter(|&byte| byte == b'\n').count() >= 2
    }

    fn comment(&mut self, start: usize, end: usize, next: usize) {
        let gap_before = self.text.get(self.previous_end..start).unwrap_or("");
        let begins_line = gap_before.contains('\n') || self.previous_end == 0;
        let text = &self.text[start..end];
        let is_line = text.starts_with("//");
        let rest = &self.text[end..];
        let rest = rest.trim_start_matches(|c: char| c != '\n' && (c.is_whitespace() || c == '\u{feff}'));
        let ends_line = rest.is_empty() || rest.starts_with('\n');
        let next_starts = self.parsed.tokens[next].kind == TokenKind::End
            || self.parsed.line_starts[next] != LineStart::No
            || self.parsed.roles[next] == Role::BlockClose;
        let joins_next = !is_line && !text.contains('\n') && !ends_line && self.parsed.roles[next] != Role::BlockClose;
        // Only the later lines of a comment need it; a line is then searched no further than to the comment before.
        let column = match text.contains('\n') {
            true => start - self.text[..start].rfind('\n').map_or(0, |n| n + 1),
            false => 0,
        };
        let joined = self
            .open
            .as_ref()
            .is_some_and(|line| matches!(line.pieces.last(), Some(Piece::Comment { joins_next: true, .. })));
        if begins_line && next_starts && !joined {
            let blank = self.blank_before(start);
            self.flush();
            self.open = Some(Line { indent: self.comment_indent(next), blank_before: blank, pieces: Vec::new() });
            self.push(Piece::Comment { start, end, column, breaks: false, trails: false, joins_next });
        } else {
            let breaks = begins_line && !joined;
            let joins_next = joins_next && joined;
            self.push(Piece::Comment { start, end, column, breaks, trails: !begins_line, joins_next });
        }
        self.break_next = is_line || self.text[start..end].contains('\n') || (begins_line && ends_line);
        self.previous_end = end;
        self.after_open = false;
    }

    /// The indent of a comment on its own line before a token.
    fn comment_indent(&mut self, next: usize) -> usize {
        while matches!(self.levels.last(), Some(Level::Sub { end }) if *end <= next) {
            self.levels.pop();
        }
        let before_label = self.parsed.tokens[next].kind != TokenKind::End && self.is_label(next);
        let before_sub = self.parsed.line_starts[next] == LineStart::Sub;
        match self.levels.last() {
            Some(Level::Block { has_labels: true }) if before_label => self.indent() - 1,
            _ => self.indent() + usize::from(before_sub),
        }
    }

    fn push(&mut self, piece: Piece) {
        let open = self.open.get_or_insert_with(|| Line { indent: 0, blank_before: false, pieces: Vec::new() });
        open.pieces.push(piece);
    }

    fn flush(&mut self) {
        if let Some(line) = self.open.take() {
            self.lines.push(line);
        }
    }
}

/// For each token that opens a block: the token that closes it.
fn closing_braces(parsed: &Annotated) -> Vec<usize> {
    let mut closers = vec![0; parsed.tokens.len()];
    let mut open = Vec::new();
    for (at, role) in parsed.roles.iter().enumerate() {
        match role {
            Role::BlockOpen => open.push(at),
            Role::BlockClose => {
                if let Some(opener) = open.pop() {
                    closers[opener] = at;
                }
            }
            _ => {}
        }
    }
    closers
}
