//! The space between two neighbouring tokens of a line.

use crate::parser::{Annotated, LineStart, Role};
use crate::token::TokenKind;

/// Whether a space stands between the tokens `left` and `left + 1`.
pub(super) fn space_after(left: usize, text: &str, parsed: &Annotated) -> bool {
    let right = left + 1;
    let (l, r) = (parsed.tokens[left], parsed.tokens[right]);
    let (left_role, right_role) = (parsed.roles[left], parsed.roles[right]);
    let left_text = &text[l.start as usize..l.end as usize];
    let right_text = &text[r.start as usize..r.end as usize];
    if matches!(l.kind, TokenKind::Raw) || matches!(r.kind, TokenKind::Raw) {
        return false;
    }
    let by_role = tight_after(l.kind, left_role) || tight_before(left, right, text, parsed);
    if !by_role {
        return !empty_braces(l.kind, r.kind);
    }
    // Postfix parts of one operator or name belong together; all else must not grow into one token.
    let one_token = right_role == Role::Postfix && l.end == r.start;
    !one_token && would_merge(left_text, right_text)
}

fn empty_braces(left: TokenKind, right: TokenKind) -> bool {
    left == TokenKind::LBrace && right == TokenKind::RBrace
}

fn tight_after(kind: TokenKind, role: Role) -> bool {
    match role {
        Role::Prefix | Role::AngleOpen | Role::PortsOpen | Role::CastClose | Role::SliceColon | Role::DepthStar => true,
        Role::ListOpen | Role::PortClose => true,
        _ => {
            matches!(
                kind,
                TokenKind::LParen | TokenKind::LBracket | TokenKind::ColonColon | TokenKind::Dot | TokenKind::DotDot
            ) && role != Role::InstanceFlag
        }
    }
}

fn tight_before(left: usize, right: usize, text: &str, parsed: &Annotated) -> bool {
    let (l, r) = (parsed.tokens[left], parsed.tokens[right]);
    let (left_role, right_role) = (parsed.roles[left], parsed.roles[right]);
    match right_role {
        Role::Postfix | Role::AngleOpen | Role::AngleClose | Role::PortsClose | Role::SliceColon => return true,
        Role::LabelColon | Role::DepthStar | Role::ListClose | Role::ForSemi => {
            // `for (;;)` and `for (a; ; b)`.
            return !(right_role == Role::ForSemi && left_role == Role::ForSemi && l.end < r.start)
                || l.kind == TokenKind::LParen;
        }
        Role::SpacedParen | Role::Prefix | Role::PortsOpen | Role::NamesOpen | Role::NamesClose => return false,
        _ => {}
    }
    let word = &text[l.start as usize..l.end as usize];
    let after_name = match l.kind {
        TokenKind::Ident => {
            !matches!(word, "if" | "for" | "while" | "switch" | "return" | "case" | "else" | "in" | "do" | "const")
        }
        TokenKind::Dollar => true,
        TokenKind::Int => left_role == Role::Postfix,
        TokenKind::RParen | TokenKind::RBracket => left_role != Role::CastClose,
        TokenKind::Gt => left_role == Role::AngleClose,
        _ => false,
    };
    let is_link = matches!(parsed.line_starts[right], LineStart::Statement | LineStart::Sub | LineStart::Else);
    match r.kind {
        TokenKind::Semi | TokenKind::Comma | TokenKind::RParen | TokenKind::RBracket => true,
        // `Element :: name` declares, `ns::name` qualifies: as the user wrote it, since both parse alike in places.
        TokenKind::ColonColon => !is_instance(left, right, parsed),
        TokenKind::Dot => !is_link,
        TokenKind::DotDot => true,
        TokenKind::LParen | TokenKind::LBracket => after_name && !is_link,
        TokenKind::LBrace => right_role == Role::ListOpen && after_name,
        _ => l.kind == TokenKind::ColonColon && !is_instance(left.saturating_sub(1), left, parsed),
    }
}

/// Whether the `::` at `colons` declares an instance: it then follows the first name of a line, or `host` and a name.
fn is_instance(left: usize, colons: usize, parsed: &Annotated) -> bool {
    parsed.roles[colons] == Role::InstanceFlag && left < colons
}

/// Whether two texts side by side would be read as other tokens.
fn would_merge(left: &str, right: &str) -> bool {
    let (Some(l), Some(r)) = (left.chars().next_back(), right.chars().next()) else { return false };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let repeats = l == r && matches!(l, '+' | '-' | '&' | '|' | '<' | '=' | ':' | '.' | '/');
    let forms = matches!((l, r), ('-', '>') | ('=', '>') | ('/', '*') | ('*', '/'))
        || r == '=' && !is_word(l) && !matches!(l, ')' | ']' | '}');
    let number_dot = l.is_ascii_digit()
        && right.starts_with('.')
        && !right.starts_with("..")
        && left.starts_with(|c: char| c.is_ascii_digit());
    is_word(l) && is_word(r) || repeats && !(l == ':' && left == "::" && is_word(r)) || forms || number_dot
}
