//! Words of the text form.

use diag::Position;

use crate::parse::ParseError;
use crate::text::is_name_char;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A bare name, keyword or number: letters, digits, `_` and `.`.
    Word(String),
    /// A quoted string, escapes resolved.
    Text(String),
    /// `%` and what follows it.
    Value(String),
    /// `->`, `..` or one character.
    Sign(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub struct Placed {
    pub token: Token,
    pub at: Position,
}

/// Splits the text; the last token is `End`.
pub fn tokens(text: &str) -> Result<Vec<Placed>, ParseError> {
    let mut lexer = Lexer { rest: text, at: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let at = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push(Placed { token, at });
        if end {
            return Ok(tokens);
        }
    }
}

const SIGNS: [&str; 15] = ["->", "..", "{", "}", "(", ")", "[", "]", ":", ",", "=", "@", "#", "-", "."];

struct Lexer<'a> {
    rest: &'a str,
    at: Position,
}

impl Lexer<'_> {
    fn token(&mut self) -> Result<Token, ParseError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        match first {
            '"' => {
                self.bump();
                self.string()
            }
            '%' => {
                self.bump();
                let label = self.word();
                if label.is_empty() { Err(self.error("a number or name after %")) } else { Ok(Token::Value(label)) }
            }
            c if c != '.' && is_name_char(c) => Ok(Token::Word(self.word())),
            _ => match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
                Some(sign) => {
                    sign.chars().for_each(|_| self.bump());
                    Ok(Token::Sign(sign))
                }
                None => Err(self.error(&format!("no {first:?} here"))),
            },
        }
    }

    /// A run of name characters; `..` ends it, so that `3..7` is a range.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.chars().next().filter(|&c| is_name_char(c)) {
            if self.rest.starts_with("..") {
                break;
            }
            word.push(c);
            self.bump();
        }
        word
    }

    fn string(&mut self) -> Result<Token, ParseError> {
        let mut text = String::new();
        loop {
            match self.take() {
                None => return Err(self.error("the string is not closed")),
                Some('"') => return Ok(Token::Text(text)),
                Some('\\') => text.push(self.escape()?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        match self.take() {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') => {
                let inner = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(digits, _)| digits);
                let c = inner.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
                let (Some(inner), Some(c)) = (inner, c) else { return Err(self.error("\\u{hex digits}")) };
                (0..inner.chars().count() + 2).for_each(|_| self.bump());
                Ok(c)
            }
            _ => Err(self.error("an escape is one of \\n \\t \\\" \\\\ \\u{…}")),
        }
    }

    fn skip_blank(&mut self) {
        loop {
            while self.rest.starts_with(|c: char| c.is_ascii_whitespace()) {
                self.bump();
            }
            if !self.rest.starts_with("//") {
                return;
            }
            while !self.rest.is_empty() && !self.rest.starts_with('\n') {
                self.bump();
            }
        }
    }

    fn bump(&mut self) {
        self.take();
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn error(&self, message: &str) -> ParseError {
        ParseError { at: self.at, message: message.to_string() }
    }
}
