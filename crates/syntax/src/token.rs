//! Tokens: what the lexer makes and the parser reads.
//!
//! A token is a kind and a byte range; its text is looked up in the source. `>` is always a token of its own, so that
//! `static_cast<uint<8>>(x)` needs no splitting; the parser joins adjacent ones into shifts.

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// First byte after it.
    pub end: u32,
    /// A line ends between the token before and this one.
    pub line_break: bool,
}

/// A comment; comments are not tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comment {
    /// First byte.
    pub start: u32,
    /// First byte after it; a line comment ends before its newline.
    pub end: u32,
}

macro_rules! token_kinds {
    ($($name:ident $text:literal,)*) => {
        /// Kinds of tokens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum TokenKind {
            /// A name or keyword.
            Ident,
            /// An integer literal with its suffix.
            Int,
            /// A floating-point literal, which the parser refuses.
            Float,
            /// `'a'`.
            Char,
            /// `"…"`.
            Str,
            /// `$name` or `${name}`.
            Dollar,
            /// A whole `#pragma` line.
            Pragma,
            /// The text between the braces of `.hls_pragma`.
            Raw,
            /// The end of the file.
            End,
            $(#[doc = $text] $name,)*
        }

        impl TokenKind {
            /// The spelling of punctuation, a few words for the rest.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    TokenKind::Ident => "a name",
                    TokenKind::Int => "a number",
                    TokenKind::Float => "a floating-point number",
                    TokenKind::Char => "a character",
                    TokenKind::Str => "a string",
                    TokenKind::Dollar => "a `$` name",
                    TokenKind::Pragma => "a `#pragma`",
                    TokenKind::Raw => "verbatim text",
                    TokenKind::End => "the end of the file",
                    $(TokenKind::$name => $text,)*
                }
            }
        }
    };
}

token_kinds! {
    LBrace "{", RBrace "}", LParen "(", RParen ")", LBracket "[", RBracket "]",
    Semi ";", Comma ",", Dot ".", DotDot "..", Ellipsis "...", Colon ":", ColonColon "::", Question "?", At "@",
    Arrow "->", FatArrow "=>",
    Tilde "~", Bang "!", Plus "+", Minus "-", Star "*", Slash "/", Percent "%", And "&", Or "|", Caret "^",
    Lt "<", Gt ">", Le "<=", Ge ">=", EqEq "==", Ne "!=", AndAnd "&&", OrOr "||", Shl "<<", PlusPlus "++", MinusMinus "--",
    Eq "=", PlusEq "+=", MinusEq "-=", StarEq "*=", SlashEq "/=", PercentEq "%=", AndEq "&=", OrEq "|=", CaretEq "^=",
    ShlEq "<<=",
}
