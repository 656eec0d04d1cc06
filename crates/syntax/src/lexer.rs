//! Text to tokens and comments.
//!
//! Never fails: what cannot be a token is reported once and left out. Preprocessor lines other than `#pragma` are reported
//! and skipped here, because no later stage could make sense of them. Linear in the text.

use diag::{Code, Diagnostic, FileId, Span};

use crate::literal::{self, IntFault, WIDTH_BITS_MAX};
use crate::token::{Comment, Token, TokenKind};

/// What the lexer made of a file.
pub(crate) struct Lexed {
    /// All tokens, the last of kind `End`.
    pub tokens: Vec<Token>,
    /// All comments in order.
    pub comments: Vec<Comment>,
    /// Faults of single tokens.
    pub diagnostics: Vec<Diagnostic>,
    /// Byte ranges in which the parser should not complain again: each faulty place up to the token after it.
    pub faulty: Vec<(u32, u32)>,
}

/// Splits a text into tokens.
pub(crate) fn lex(file: FileId, text: &str) -> Lexed {
    let out = Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new(), faulty: Vec::new() };
    let mut lexer = Lexer { file, text, bytes: text.as_bytes(), at: 0, line_break: false, out };
    while lexer.at < lexer.bytes.len() {
        lexer.next();
    }
    lexer.push(TokenKind::End, lexer.at);
    lexer.widen_faults();
    lexer.out
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line_break: bool,
    out: Lexed,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let line_break = std::mem::replace(&mut self.line_break, false);
        self.out.tokens.push(Token { kind, start: start as u32, end: self.at as u32, line_break });
    }

    fn report(&mut self, code: Code, start: usize, end: usize, message: impl Into<String>, help: impl Into<String>) {
        let span = Span { file: self.file, start: start as u32, end: end as u32 };
        self.out.diagnostics.push(Diagnostic::new(code, span, message, help));
        self.out.faulty.push((span.start, span.end));
    }

    /// Extends each faulty range over the token that follows it: a parser that stumbles there does so because of the fault.
    fn widen_faults(&mut self) {
        for range in &mut self.out.faulty {
            let next = self.out.tokens.partition_point(|token| token.start < range.1);
            range.1 = self.out.tokens.get(next).map_or(range.1, |token| token.end.max(token.start + 1));
        }
    }

    fn next(&mut self) {
        let start = self.at;
        match self.peek(0) {
            b'\n' => {
                self.line_break = true;
                self.at += 1;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
            b'/' if self.peek(1) == b'/' => self.line_comment(start),
            b'/' if self.peek(1) == b'*' => self.block_comment(start),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.ident(start),
            b'0'..=b'9' => self.number(start),
            b'.' if self.peek(1).is_ascii_digit() && !self.after_operand(start) => self.number(start),
            b'"' => self.string(start),
            b'\'' => self.character(start),
            b'$' => self.dollar(start),
            b'#' => self.preprocessor(start),
            _ => self.punctuation(start),
        }
    }

    /// Whether the byte before `start` ends an operand, so that a dot is a member access or a range.
    fn after_operand(&self, start: usize) -> bool {
        start > 0
            && matches!(self.bytes[start - 1], b'.' | b')' | b']' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9')
    }

    fn line_end(&self, from: usize) -> usize {
        self.bytes[from..].iter().position(|&b| b == b'\n').map_or(self.bytes.len(), |n| from + n)
    }

    fn line_comment(&mut self, start: usize) {
        self.at = self.line_end(start);
        let end = start + self.text[start..self.at].trim_end().len();
        self.out.comments.push(Comment { start: start as u32, end: end as u32 });
    }

    fn block_comment(&mut self, start: usize) {
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = self.bytes.len();
                let help = "end the comment with `*/`";
                self.report(Code::E0106, start, start + 2, "this comment never ends", help);
                let fault = self.out.faulty.last_mut().expect("just reported");
                fault.1 = self.text.len() as u32;
            }
        }
        self.line_break |= self.text[start..self.at].contains('\n');
        self.out.comments.push(Comment { start: start as u32, end: self.at as u32 });
    }

    fn skip_word(&mut self) {
        while matches!(self.peek(0), b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9') {
            self.at += 1;
        }
    }

    fn ident(&mut self, start: usize) {
        self.skip_word();
        if self.foreign_letter() {
            return self.foreign_word(start);
        }
        let after_dot = self.out.tokens.last().is_some_and(|token| token.kind == TokenKind::Dot);
        self.push(TokenKind::Ident, start);
        if after_dot && &self.text[start..self.at] == "hls_pragma" {
            self.raw_section();
        }
    }

    fn foreign_letter(&self) -> bool {
        self.peek(0) >= 0x80 && self.text[self.at..].starts_with(char::is_alphanumeric)
    }

    /// A name with letters outside ASCII: one fault, and a name to go on with.
    fn foreign_word(&mut self, start: usize) {
        let rest = &self.text[start..];
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at = start + length;
        let message = format!("`{}` is no name", &self.text[start..self.at]);
        self.report(
            Code::E0110,
            start,
            self.at,
            message,
            "names are made of the letters A to Z and a to z, digits and `_`",
        );
        self.push(TokenKind::Ident, start);
    }

    /// The braces after `.hls_pragma` and what is between them, which is not ours to read.
    fn raw_section(&mut self) {
        let open = self.text[self.at..].find(|c: char| !c.is_whitespace()).map_or(self.bytes.len(), |n| self.at + n);
        if self.bytes.get(open) != Some(&b'{') {
            return;
        }
        self.line_break = self.text[self.at..open].contains('\n');
        self.at = open + 1;
        self.push(TokenKind::LBrace, open);
        let start = self.at;
        let mut depth = 0_u32;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'{' => depth += 1,
                b'}' if depth == 0 => break,
                b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.push(TokenKind::Raw, start);
    }

    fn number(&mut self, start: usize) {
        let hexadecimal = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        let mut float = false;
        loop {
            let (here, next) = (self.peek(0), self.peek(1));
            let exponent_sign = !hexadecimal && matches!(here, b'e' | b'E') && matches!(next, b'+' | b'-');
            match here {
                _ if exponent_sign => self.at += 2,
                b'\'' if next.is_ascii_alphanumeric() => self.at += 1,
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.at += 1,
                b'.' if !float && next != b'.' && !next.is_ascii_alphabetic() && next != b'_' => {
                    float = true;
                    self.at += 1;
                }
                _ => break,
            }
        }
        let text = &self.text[start..self.at];
        let binary = text.starts_with("0b") || text.starts_with("0B");
        let exponent = !hexadecimal && !binary && text.contains(['e', 'E']);
        if float || exponent {
            self.push(TokenKind::Float, start);
            return;
        }
        self.push(TokenKind::Int, start);
        if let Err(fault) = literal::int(text) {
            self.bad_number(start, fault);
        }
    }

    fn bad_number(&mut self, start: usize, fault: IntFault) {
        let text = &self.text[start..self.at];
        let (code, message, help) = match fault {
            IntFault::TooWide => (
                Code::E0109,
                format!("this number needs more than {WIDTH_BITS_MAX} bits"),
                format!("the widest integer is `uint<{WIDTH_BITS_MAX}>`; split the value over an array"),
            ),
            IntFault::NoDigits => {
                (Code::E0108, format!("`{text}` has no digits"), "write a digit after the prefix".into())
            }
            IntFault::BadDigit('_') => {
                let help = format!("separate digits with `'`: `{}`", text.replace('_', "'"));
                (Code::E0108, format!("`_` in the number `{text}`"), help)
            }
            IntFault::BadDigit(digit) => {
                let help = match text.as_bytes() {
                    [b'0', b'0'..=b'9', ..] => "a leading 0 means octal: leave it out for a decimal number",
                    [b'0', b'b' | b'B', ..] => "binary digits are 0 and 1",
                    _ => "digits may be followed by `u`, `l`, `ul`, `ll` or `ull`; a name cannot begin with a digit",
                };
                (Code::E0108, format!("`{digit}` is not a digit of the number `{text}`"), help.into())
            }
        };
        self.report(code, start, self.at, message, help);
    }

    /// Runs to the closing quote on this line. `false`: there is none.
    fn quoted(&mut self, start: usize, quote: u8) -> bool {
        self.at = start + 1;
        loop {
            match self.peek(0) {
                b'\\' if self.at + 1 < self.bytes.len() && self.peek(1) != b'\n' => self.at += 2,
                b'\n' => return false,
                _ if self.at >= self.bytes.len() => return false,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return true;
                    }
                }
            }
            // A backslash may stand before a character of several bytes.
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
    }

    fn string(&mut self, start: usize) {
        let closed = self.quoted(start, b'"');
        self.push(TokenKind::Str, start);
        if !closed {
            let help = "close the string with `\"` on the same line";
            self.report(Code::E0107, start, self.at, "this string never ends", help);
        } else if let Err(escape) = literal::unescape(&self.text[start + 1..self.at - 1]) {
            self.bad_escape(start, &escape);
        }
    }

    fn bad_escape(&mut self, start: usize, escape: &str) {
        let message = format!("unknown escape `{escape}`");
        let help = r#"the escapes are \n \t \r \0 \\ \' \" and \x followed by two hexadecimal digits"#;
        self.report(Code::E0125, start, self.at, message, help);
    }

    fn character(&mut self, start: usize) {
        let closed = self.quoted(start, b'\'');
        self.push(TokenKind::Char, start);
        if !closed {
            let help = "close it with `'`: `'a'`";
            self.report(Code::E0107, start, self.at, "this character literal never ends", help);
            return;
        }
        match literal::unescape(&self.text[start + 1..self.at - 1]) {
            Err(escape) => self.bad_escape(start, &escape),
            Ok(value) if value.chars().count() == 1 && value.chars().all(|c| u32::from(c) < 256) => {}
            Ok(_) => {
                let help = "a character literal holds one character of one byte, such as `'a'`; strings take `\"`";
                self.report(Code::E0125, start, self.at, "not one character", help);
            }
        }
    }

    fn dollar(&mut self, start: usize) {
        self.at += 1;
        let braced = self.peek(0) == b'{';
        self.at += usize::from(braced);
        let name_at = self.at;
        self.skip_word();
        let named = self.at > name_at && !self.bytes[name_at].is_ascii_digit();
        let closed = !braced || self.peek(0) == b'}';
        self.at += usize::from(braced && closed);
        if named && closed {
            self.push(TokenKind::Dollar, start);
        } else {
            // The rest of a `${…}` belongs to it: its `}` closes nothing else.
            let rest = &self.text[self.at..self.line_end(self.at)];
            if let Some(length) = rest.find('}').filter(|_| braced) {
                self.at += length + 1;
            }
            let message = if named { "`${…}` holds more than a name" } else { "`$` without a name" };
            let help = "write `$i` or `${i}` with the variable of the surrounding `.repeat`";
            self.report(Code::E0110, start, self.at, message, help);
        }
    }

    /// A `#` line with its continuations. Only `#pragma` becomes a token.
    fn preprocessor(&mut self, start: usize) {
        let mut end = self.line_end(start);
        while self.text[start..end].trim_end().ends_with('\\') && end < self.bytes.len() {
            end = self.line_end(end + 1);
        }
        let line = self.text[start..end].trim_end();
        let directive = line[1..].trim_start();
        let word_end = directive.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(directive.len());
        let (word, rest) = directive.split_at(word_end);
        self.at = start + line.len();
        match word {
            "pragma" => {
                self.at = start + pragma_length(line);
                self.push(TokenKind::Pragma, start);
                return;
            }
            "define" => {
                let help = define_help(rest.trim());
                self.report(Code::E0121, start, self.at, "macros are not part of the language", help);
            }
            "include" => {
                let path = rest.trim().trim_matches(['"', '<', '>']);
                let help = if path.ends_with(".clnp") {
                    format!("write `import \"{path}\";`")
                } else {
                    "remove the line: built-ins need no header, and elements come with `import \"path.clnp\";`"
                        .to_string()
                };
                self.report(Code::E0121, start, self.at, "`#include` is not part of the language", help);
            }
            _ => {
                let message = format!("`#{word}` is not part of the language");
                let help = "only `#pragma` lines are kept; use `constexpr`, element parameters and `if` on constants";
                self.report(Code::E0121, start, self.at, message, help);
            }
        }
        // The line is gone as a whole: what follows it is no consequence of it.
        self.out.faulty.pop();
    }

    fn punctuation(&mut self, start: usize) {
        use TokenKind::*;
        let (kind, length) = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'<', b'<', b'=') => (ShlEq, 3),
            (b'.', b'.', b'.') => (Ellipsis, 3),
            (b'.', b'.', _) => (DotDot, 2),
            (b':', b':', _) => (ColonColon, 2),
            (b'-', b'>', _) => (Arrow, 2),
            (b'=', b'>', _) => (FatArrow, 2),
            (b'<', b'=', _) => (Le, 2),
            (b'>', b'=', _) => (Ge, 2),
            (b'=', b'=', _) => (EqEq, 2),
            (b'!', b'=', _) => (Ne, 2),
            (b'&', b'&', _) => (AndAnd, 2),
            (b'|', b'|', _) => (OrOr, 2),
            (b'<', b'<', _) => (Shl, 2),
            (b'+', b'+', _) => (PlusPlus, 2),
            (b'-', b'-', _) => (MinusMinus, 2),
            (b'+', b'=', _) => (PlusEq, 2),
            (b'-', b'=', _) => (MinusEq, 2),
            (b'*', b'=', _) => (StarEq, 2),
            (b'/', b'=', _) => (SlashEq, 2),
            (b'%', b'=', _) => (PercentEq, 2),
            (b'&', b'=', _) => (AndEq, 2),
            (b'|', b'=', _) => (OrEq, 2),
            (b'^', b'=', _) => (CaretEq, 2),
            (b'{', ..) => (LBrace, 1),
            (b'}', ..) => (RBrace, 1),
            (b'(', ..) => (LParen, 1),
            (b')', ..) => (RParen, 1),
            (b'[', ..) => (LBracket, 1),
            (b']', ..) => (RBracket, 1),
            (b';', ..) => (Semi, 1),
            (b',', ..) => (Comma, 1),
            (b'.', ..) => (Dot, 1),
            (b':', ..) => (Colon, 1),
            (b'?', ..) => (Question, 1),
            (b'@', ..) => (At, 1),
            (b'~', ..) => (Tilde, 1),
            (b'!', ..) => (Bang, 1),
            (b'+', ..) => (Plus, 1),
            (b'-', ..) => (Minus, 1),
            (b'*', ..) => (Star, 1),
            (b'/', ..) => (Slash, 1),
            (b'%', ..) => (Percent, 1),
            (b'&', ..) => (And, 1),
            (b'|', ..) => (Or, 1),
            (b'^', ..) => (Caret, 1),
            (b'<', ..) => (Lt, 1),
            (b'>', ..) => (Gt, 1),
            (b'=', ..) => (Eq, 1),
            _ => return self.unknown(start),
        };
        self.at += length;
        self.push(kind, start);
    }

    /// Characters that begin no token; a run of them is one report.
    fn unknown(&mut self, start: usize) {
        if self.foreign_letter() {
            return self.foreign_word(start);
        }
        let rest = &self.text[start..];
        let unknown = |c: char| !c.is_ascii() && !c.is_whitespace() || matches!(c, '`' | '\\') || c.is_ascii_control();
        if rest.starts_with(|c: char| c.is_whitespace() || c == '\u{feff}') {
            self.at += rest.chars().next().map_or(1, char::len_utf8);
            return;
        }
        let length = rest.find(|c: char| !unknown(c) || c.is_whitespace()).unwrap_or(rest.len());
        self.at += length.max(rest.chars().next().map_or(1, char::len_utf8));
        let found = &self.text[start..self.at];
        let help = match found.chars().next() {
            Some('“' | '”' | '„') => "write strings with plain quotes: `\"`",
            Some('‘' | '’') => "write characters with plain quotes: `'`",
            Some('–' | '—' | '−') => "write minus as `-`",
            Some('→') => "write the arrow as `->`",
            Some('⇒') => "write the arrow as `=>`",
            _ => "remove it; names are made of letters, digits and `_`",
        };
        let message = format!("`{}` has no meaning here", found.escape_debug());
        self.report(Code::E0110, start, self.at, message, help);
    }
}

/// Length of a `#pragma` line: up to a `}` that it does not open, or to a comment.
fn pragma_length(line: &str) -> usize {
    let mut depth = 0_u32;
    for (at, c) in line.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return line[..at].trim_end().len(),
            '}' => depth -= 1,
            '/' if line[at..].starts_with("//") || line[at..].starts_with("/*") => return line[..at].trim_end().len(),
            _ => {}
        }
    }
    line.len()
}

fn define_help(definition: &str) -> String {
    let name_end = definition.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(definition.len());
    let (name, value) = definition.split_at(name_end);
    match value.trim() {
        "" => format!("write `constexpr bool {name} = true;`"),
        value if value.starts_with('(') && value.contains(") ") => {
            format!("write a function: `uint32_t {name}(uint32_t x) {{ return …; }}`")
        }
        value => format!("write `constexpr uint32_t {name} = {value};`"),
    }
}
