//! Lines of pieces to text: indents, breaks that are kept, breaks that long lines need, aligned trailing comments.

use super::spacing::space_after;
use crate::parser::{Annotated, Role};
use crate::token::TokenKind;

/// Lines longer than this are broken where they can be.
const COLUMNS_MAX: usize = 110;

const INDENT_COLUMNS: usize = 4;

/// Trailing comments of neighbouring lines are aligned if the code before them differs by no more than this.
const ALIGN_COLUMNS_MAX: usize = 30;

/// A token or comment of a line.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    Token {
        at: usize,
        /// The line breaks before it.
        breaks: bool,
        /// It must stay on the line of the token before.
        glued: bool,
    },
    Comment {
        start: usize,
        end: usize,
        /// Column in the source, by which the later lines of a block comment are moved along.
        column: usize,
        breaks: bool,
        /// It follows something on its line.
        trails: bool,
        /// What follows it on its line in the source stays there.
        joins_next: bool,
    },
}

/// A statement or declaration, which may become several lines of text.
pub(super) struct Line {
    /// In levels.
    pub indent: usize,
    pub blank_before: bool,
    pub pieces: Vec<Piece>,
}

/// A line of text, its trailing comment apart.
struct Printed {
    code: String,
    comment: String,
    blank_before: bool,
    /// Columns before the `::` of an instance declaration, else 0.
    colons_at: usize,
}

/// The text of all lines.
pub(super) fn print(lines: &[Line], text: &str, parsed: &Annotated) -> String {
    let mut printed = Vec::new();
    for line in lines {
        Wrapper { text, parsed, line, printed: &mut printed }.run();
    }
    align_instances(&mut printed);
    let mut out = String::with_capacity(text.len());
    let columns = comment_columns(&printed);
    for (line, column) in printed.iter().zip(columns) {
        if line.blank_before && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line.code);
        if !line.comment.is_empty() {
            let n_spaces = column - line.code.chars().count();
            out.push_str(&" ".repeat(n_spaces));
            out.push_str(&line.comment);
        }
        out.push('\n');
    }
    out
}

/// Puts the `::` of neighbouring instance declarations into one column.
fn align_instances(lines: &mut [Printed]) {
    let indent = |line: &Printed| line.code.len() - line.code.trim_start().len();
    let mut first = 0;
    while first < lines.len() {
        let mut end = first + 1;
        while end < lines.len()
            && lines[end].colons_at > 0
            && lines[first].colons_at > 0
            && !lines[end].blank_before
            && indent(&lines[end]) == indent(&lines[first])
        {
            end += 1;
        }
        let most = lines[first..end].iter().map(|line| line.colons_at).max().unwrap_or(0);
        for line in &mut lines[first..end] {
            line.code.insert_str(line.colons_at, &" ".repeat(most - line.colons_at));
        }
        first = end;
    }
}

/// For each line the column of its trailing comment: runs of neighbours share one.
fn comment_columns(lines: &[Printed]) -> Vec<usize> {
    let widths: Vec<usize> = lines.iter().map(|line| line.code.chars().count()).collect();
    let mut columns = vec![0; lines.len()];
    let mut first = 0;
    while first < lines.len() {
        let mut end = first;
        let (mut least, mut most) = (usize::MAX, 0);
        while end < lines.len() && !lines[end].comment.is_empty() && (end == first || !lines[end].blank_before) {
            let (low, high) = (least.min(widths[end]), most.max(widths[end]));
            if high - low > ALIGN_COLUMNS_MAX {
                break;
            }
            (least, most) = (low, high);
            end += 1;
        }
        let end = end.max(first + 1);
        columns[first..end].fill(most + 2);
        first = end;
    }
    columns
}

/// Columns of pieces on one line without breaks.
pub(super) fn width(indent: usize, pieces: &[Piece], text: &str, parsed: &Annotated) -> usize {
    let mut columns = indent * INDENT_COLUMNS;
    for (n, piece) in pieces.iter().enumerate() {
        let space = n > 0 && space_between(&pieces[n - 1], piece, text, parsed);
        columns += usize::from(space) + piece_text(piece, text, parsed).chars().count();
    }
    columns
}

fn piece_text<'a>(piece: &Piece, text: &'a str, parsed: &Annotated) -> &'a str {
    match *piece {
        Piece::Token { at, .. } => {
            let token = parsed.tokens[at];
            &text[token.start as usize..token.end as usize]
        }
        Piece::Comment { start, end, .. } => &text[start..end],
    }
}

fn space_between(left: &Piece, right: &Piece, text: &str, parsed: &Annotated) -> bool {
    match (left, right) {
        (Piece::Token { at: left, .. }, Piece::Token { .. }) => space_after(*left, text, parsed),
        (Piece::Comment { .. }, Piece::Token { at, .. }) => {
            !matches!(parsed.tokens[*at].kind, TokenKind::Comma | TokenKind::Semi | TokenKind::RParen)
        }
        (_, Piece::Comment { .. }) => true,
    }
}

struct Wrapper<'a> {
    text: &'a str,
    parsed: &'a Annotated,
    line: &'a Line,
    printed: &'a mut Vec<Printed>,
}

/// Open brackets and what indents the next line of text.
#[derive(Clone, Default)]
struct Brackets {
    /// For each open bracket the line of text on which it was opened.
    opened_on: Vec<usize>,
    /// The statement goes on outside of brackets.
    goes_on: bool,
}

impl Wrapper<'_> {
    fn run(&mut self) {
        let pieces = &self.line.pieces;
        let trailing = match pieces.as_slice() {
            [.., _, Piece::Comment { trails: true, breaks: false, start, end, .. }]
                if !self.text[*start..*end].contains('\n') =>
            {
                1
            }
            _ => 0,
        };
        let code = &pieces[..pieces.len() - trailing];
        let mut brackets = Brackets::default();
        let mut first = 0;
        let mut n_printed = 0;
        while first < code.len() {
            let indent = INDENT_COLUMNS * (self.line.indent + self.continuation(&mut brackets, code[first], n_printed));
            let end = self.line_end(code, first, indent, &mut brackets, n_printed);
            let comment = match pieces.last() {
                Some(piece) if trailing == 1 && end == code.len() => piece_text(piece, self.text, self.parsed),
                _ => "",
            };
            let printed = Printed {
                code: self.text_of(&code[first..end], indent),
                comment: comment.to_owned(),
                blank_before: self.line.blank_before && first == 0,
                colons_at: if first == 0 { self.colons_at(&code[..end], indent) } else { 0 },
            };
            self.printed.push(printed);
            first = end;
            n_printed += 1;
        }
    }

    /// Columns before the `::` if this declares an instance.
    fn colons_at(&self, code: &[Piece], indent: usize) -> usize {
        let mut tokens = code.iter().take(3).map_while(|piece| match piece {
            Piece::Token { at, .. } => Some(*at),
            Piece::Comment { .. } => None,
        });
        let (roles, tokens_of) = (&self.parsed.roles, &self.parsed.tokens);
        match tokens.position(|at| roles[at] == Role::InstanceFlag && tokens_of[at].kind == TokenKind::ColonColon) {
            Some(n) => width(0, &code[..n], self.text, self.parsed) + indent + 1,
            None => 0,
        }
    }

    /// Levels by which a line of text that begins with `piece` is indented further than the statement.
    fn continuation(&self, brackets: &mut Brackets, piece: Piece, n_printed: usize) -> usize {
        if n_printed == 0 {
            return 0;
        }
        let closes = self.closes(piece);
        let open = brackets.opened_on.len() - usize::from(closes && !brackets.opened_on.is_empty());
        if open == 0 && !closes {
            brackets.goes_on = true;
        }
        let mut lines = brackets.opened_on[..open].to_vec();
        lines.dedup();
        lines.len() + usize::from(brackets.goes_on)
    }

    /// The end of the line of text that begins with piece `first`; leaves `brackets` as they are there.
    fn line_end(
        &self,
        code: &[Piece],
        first: usize,
        indent: usize,
        brackets: &mut Brackets,
        n_printed: usize,
    ) -> usize {
        let mut columns = indent;
        let mut best: Option<(usize, (bool, usize), Brackets)> = None;
        for (n, piece) in code.iter().enumerate().skip(first) {
            if n > first {
                if breaks(piece) {
                    return n;
                }
                let rank = self.break_rank(&code[n - 1], piece, brackets.opened_on.len());
                if let Some(rank) = rank
                    && best.as_ref().is_none_or(|(_, least, _)| rank <= *least)
                {
                    best = Some((n, rank, brackets.clone()));
                }
                columns += usize::from(space_between(&code[n - 1], piece, self.text, self.parsed));
            }
            columns += piece_text(piece, self.text, self.parsed).chars().count();
            let overflows = columns > COLUMNS_MAX && !matches!(piece, Piece::Comment { .. });
            if overflows && let Some((at, _, then)) = best {
                *brackets = then;
                return at;
            }
            if self.closes(*piece) {
                brackets.opened_on.pop();
            } else if self.opens(*piece) {
                brackets.opened_on.push(n_printed);
            }
        }
        code.len()
    }

    /// How bad a break between two pieces is, if one is allowed: after `=` or `(` is worse than elsewhere, deep is worse
    /// than shallow.
    fn break_rank(&self, left: &Piece, right: &Piece, depth: usize) -> Option<(bool, usize)> {
        use TokenKind::*;
        let (Piece::Token { at: left, .. }, Piece::Token { at: right, glued: false, .. }) = (left, right) else {
            return None;
        };
        let (left_kind, left_role) = (self.parsed.tokens[*left].kind, self.parsed.roles[*left]);
        let right_kind = self.parsed.tokens[*right].kind;
        if matches!(right_kind, Arrow | FatArrow) {
            return Some((false, depth));
        }
        if left_role != Role::Plain && left_role != Role::ListOpen || matches!(self.parsed.roles[*right], Role::Postfix)
        {
            return None;
        }
        match left_kind {
            Comma | AndAnd | OrOr | Plus | Minus | Star | Slash | Percent | And | Or | Caret | EqEq | Ne | Le | Ge
            | Lt | Gt | Shl => Some((false, depth)),
            Str if right_kind == Str => Some((false, depth)),
            Eq | PlusEq | MinusEq | AndEq | OrEq | CaretEq => Some((true, depth)),
            LBrace if left_role == Role::ListOpen && right_kind != RBrace => Some((true, depth)),
            _ => None,
        }
    }

    fn opens(&self, piece: Piece) -> bool {
        let Piece::Token { at, .. } = piece else { return false };
        let role = self.parsed.roles[at];
        matches!(self.parsed.tokens[at].kind, TokenKind::LParen | TokenKind::LBracket)
            || matches!(role, Role::ListOpen | Role::NamesOpen | Role::AngleOpen | Role::PortsOpen)
    }

    fn closes(&self, piece: Piece) -> bool {
        let Piece::Token { at, .. } = piece else { return false };
        let role = self.parsed.roles[at];
        matches!(self.parsed.tokens[at].kind, TokenKind::RParen | TokenKind::RBracket)
            || matches!(role, Role::ListClose | Role::NamesClose | Role::AngleClose | Role::PortsClose)
    }

    fn text_of(&self, pieces: &[Piece], indent: usize) -> String {
        let mut out = " ".repeat(indent);
        for (n, piece) in pieces.iter().enumerate() {
            if n > 0 && space_between(&pieces[n - 1], piece, self.text, self.parsed) {
                out.push(' ');
            }
            match *piece {
                Piece::Comment { start, end, column, .. } => {
                    let line_start = out.rfind('\n').map_or(0, |at| at + 1);
                    let moved_by = (out.len() - line_start) as isize - column as isize;
                    push_comment(&mut out, &self.text[start..end], moved_by);
                }
                Piece::Token { .. } => out.push_str(piece_text(piece, self.text, self.parsed)),
            }
        }
        out
    }
}

fn breaks(piece: &Piece) -> bool {
    match *piece {
        Piece::Token { breaks, .. } | Piece::Comment { breaks, .. } => breaks,
    }
}

/// A comment, the later lines of a block comment moved along with its first.
fn push_comment(out: &mut String, comment: &str, moved_by: isize) {
    for (n, line) in comment.split('\n').enumerate() {
        let line = line.trim_end();
        if n == 0 {
            out.push_str(line);
            continue;
        }
        out.push('\n');
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let n_spaces = (blanks as isize + moved_by).max(0) as usize;
        if !line.is_empty() {
            out.push_str(&" ".repeat(n_spaces));
            out.push_str(&line[blanks..]);
        }
    }
}
