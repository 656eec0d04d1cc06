//! Reads the text form of a design; its grammar stands in `text.rs`.
//!
//! This file reads what stands outside of bodies; `body.rs` reads bodies, `lexer.rs` splits the text. Names and numbers are
//! resolved here, everything else is left to the verifier: text that parses need not verify. Never panics, on any text.

mod body;
mod lexer;

use std::fmt;

use diag::{FileId, Position, Span};

use crate::{
    Body, BodyKind, Boundary, BoundaryDirection, BoundaryId, Channel, ChannelEnd, ChannelId, Design, Element,
    ElementId, Field, Handler, MessageKind, MessageType, MessageTypeId, MetaField, Param, Port, Signal, Timing, Value,
    Var, Width,
};
use lexer::{Placed, Token};

/// Why a text is not a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line and column, from 1.
    pub at: Position,
    /// What is wrong or was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads a design. It is not verified.
pub fn parse(text: &str) -> Result<Design, ParseError> {
    let mut parser = Parser { tokens: lexer::tokens(text)?, next: 0 };
    parser.design()
}

struct Parser {
    tokens: Vec<Placed>,
    next: usize,
}

/// Where a span is missing but must be: the start of the first file.
const NO_SPAN: Span = Span { file: FileId(0), start: 0, end: 0 };

impl Parser {
    fn design(&mut self) -> Result<Design, ParseError> {
        self.expect_word("design")?;
        let name = self.name()?;
        let mut files = Vec::new();
        while self.take_word("file") {
            files.push(self.text()?);
        }
        let mut meta = Vec::new();
        while self.take_word("meta") {
            let field = self.field()?;
            meta.push(MetaField { name: field.name, width: field.width, signed: field.signed });
            if meta.iter().map(|field: &MetaField| field.width.bits()).sum::<u32>() > 1024 {
                return Err(self.error("at most 1024 bits of metadata"));
            }
        }
        let mut design = Design { files, ..Design::new(&name, meta) };
        while self.take_word("type") {
            let name = self.name()?;
            let fields = self.list("{", "}", Parser::field)?;
            design.message_types.push(MessageType { name, kind: MessageKind::Struct, fields });
        }
        while self.take_word("boundary") {
            let boundary = self.boundary(&design)?;
            design.boundaries.push(boundary);
        }
        while self.take_word("element") {
            let element = self.element(&design)?;
            design.elements.push(element);
        }
        while self.take_word("channel") {
            let channel = self.channel(&design)?;
            design.channels.push(channel);
        }
        match self.peek() {
            Token::End => Ok(design),
            _ => {
                Err(self
                    .error("expected another part of the design, in the order file meta type boundary element channel"))
            }
        }
    }

    fn boundary(&mut self, design: &Design) -> Result<Boundary, ParseError> {
        let name = self.name()?;
        let direction = match self.word()?.as_str() {
            "in" => BoundaryDirection::In,
            "out" => BoundaryDirection::Out,
            _ => return Err(self.error_before("expected in or out")),
        };
        let message = self.message(design)?;
        let rate_bps = if self.take_word("rate") { Some(self.number()?) } else { None };
        let span = self.span()?.unwrap_or(NO_SPAN);
        Ok(Boundary { name, direction, rate_bps, message, span })
    }

    fn channel(&mut self, design: &Design) -> Result<Channel, ParseError> {
        if self.number::<usize>()? != design.channels.len() {
            return Err(self.error_before("channels are numbered from 0 in order"));
        }
        self.expect(":")?;
        let from = self.end(design)?;
        let from_type = self.message(design)?;
        self.expect("->")?;
        let to = self.end(design)?;
        let to_type = self.message(design)?;
        self.expect_word("depth")?;
        let depth = self.number()?;
        let lossy = self.take_word("lossy");
        let span = self.span()?.unwrap_or(NO_SPAN);
        Ok(Channel { from, to, from_type, to_type, depth, lossy, span })
    }

    fn end(&mut self, design: &Design) -> Result<ChannelEnd, ParseError> {
        if self.take_word("null") {
            return Ok(ChannelEnd::Null);
        }
        // Whether it is an element or a boundary shows only behind the name.
        let length = if *self.peek() == Token::Sign("#") { 2 } else { 1 };
        let is_element = self.peek_at(length) == &Token::Sign("[");
        if !is_element {
            let boundary = self.reference("boundary", design.boundaries.iter().map(|boundary| &*boundary.name))?;
            return Ok(ChannelEnd::Boundary(BoundaryId(boundary)));
        }
        let element = ElementId(self.reference("element", design.elements.iter().map(|element| &*element.name))?);
        self.expect("[")?;
        let port: u32 = self.number()?;
        let port = port.checked_sub(1).ok_or_else(|| self.error_before("ports count from 1"))?;
        self.expect("]")?;
        Ok(ChannelEnd::Element { element, port })
    }

    fn element(&mut self, design: &Design) -> Result<Element, ParseError> {
        let name = self.name()?;
        self.expect(":")?;
        let kind = self.name()?;
        let mut element = Element {
            name,
            kind,
            host_control: self.take_word("control"),
            autorun: self.take_word("autorun"),
            on_host: self.take_word("host"),
            params: vec![],
            inputs: vec![],
            outputs: vec![],
            vars: vec![],
            init: None,
            handler: Handler::Flit(Body::new(BodyKind::Flit, &[])),
            signals: vec![],
            timing: Timing::default(),
            hls_pragmas: vec![],
            native: None,
            span: self.span()?.unwrap_or(NO_SPAN),
        };
        self.expect("{")?;
        while self.take_word("param") {
            let name = self.name()?;
            self.expect("=")?;
            element.params.push(Param { name, value: self.text()? });
        }
        while self.take_word("input") {
            element.inputs.push(self.port(design)?);
        }
        while self.take_word("output") {
            element.outputs.push(self.port(design)?);
        }
        while self.take_word("var") {
            element.vars.push(self.var()?);
        }
        if self.take_word("timing") {
            element.timing.ii = if self.take_word("ii") { Some(self.number()?) } else { None };
            element.timing.always = self.take_word("always");
        }
        while self.take_word("pragma") {
            element.hls_pragmas.push(self.text()?);
        }
        if self.take_word("native") {
            element.native = Some(self.text()?);
        }
        if self.take_word("init") {
            element.init = Some(self.body(design, &element.vars, BodyKind::Init, &[])?);
        }
        element.handler = self.handler(design, &element.vars)?;
        while self.take_word("signal") {
            element.signals.push(self.signal(design, &element.vars)?);
        }
        self.expect("}")?;
        Ok(element)
    }

    fn handler(&mut self, design: &Design, vars: &[Var]) -> Result<Handler, ParseError> {
        if self.take_word("handler") {
            return Ok(Handler::Flit(self.body(design, vars, BodyKind::Flit, &[])?));
        }
        if !self.take_word("packet") {
            return Err(self.error("expected a part of an element, in the order param input output var timing pragma native init handler|packet signal"));
        }
        self.expect_word("window")?;
        let window = self.number()?;
        self.expect_word("grow")?;
        let grow = self.number()?;
        let store = if self.take_word("store") { Some(self.number()?) } else { None };
        let head = Box::new(self.body(design, vars, BodyKind::Packet, &[])?);
        let mut tail = None;
        if self.take_word("body") {
            let params = self.list("(", ")", Parser::typed_value)?;
            tail = Some(Box::new(self.body(design, vars, BodyKind::Tail, &params)?));
        }
        let mut end = None;
        if self.take_word("end") {
            end = Some(Box::new(self.body(design, vars, BodyKind::End, &[])?));
        }
        Ok(Handler::Packet { window, grow, store, head, tail, end })
    }

    fn signal(&mut self, design: &Design, vars: &[Var]) -> Result<Signal, ParseError> {
        let name = self.name()?;
        let args = self.list("(", ")", |parser| Ok((parser.value()?, parser.field()?, parser.default()?)))?;
        self.expect("->")?;
        let results = self.list("(", ")", Parser::field)?;
        let doc = if self.take_word("doc") { self.text()? } else { String::new() };
        let values: Vec<(Label, Width)> = args.iter().map(|(label, field, _)| (label.clone(), field.width)).collect();
        let body = self.body(design, vars, BodyKind::Signal, &values)?;
        let (params, defaults) = args.into_iter().map(|(_, field, default)| (field, default)).unzip();
        Ok(Signal { name, params, defaults, results, body, doc })
    }

    /// `= NUMBER`, or nothing.
    fn default(&mut self) -> Result<Option<Value>, ParseError> {
        if self.take("=") { self.big_number().map(Some) } else { Ok(None) }
    }

    fn port(&mut self, design: &Design) -> Result<Port, ParseError> {
        let message = self.message(design)?;
        let channel = if self.take_word("channel") { Some(ChannelId(self.number()?)) } else { None };
        Ok(Port { message, channel })
    }

    fn var(&mut self) -> Result<Var, ParseError> {
        let Field { name, width, signed } = self.field()?;
        let mut depth = None;
        if self.take("[") {
            depth = Some(self.number()?);
            self.expect("]")?;
        }
        let reset = if self.take("=") { self.list("[", "]", Parser::big_number)? } else { vec![] };
        Ok(Var { name, width, signed, depth, reset })
    }

    /// `NAME: u32` or `NAME: s32`.
    fn field(&mut self) -> Result<Field, ParseError> {
        let name = self.name()?;
        self.expect(":")?;
        let word = self.word()?;
        let (signed, digits) = match (word.strip_prefix('u'), word.strip_prefix('s')) {
            (Some(digits), _) => (false, digits),
            (_, Some(digits)) => (true, digits),
            _ => return Err(self.error_before("expected a type such as u32 or s32")),
        };
        let width = self.width(digits)?;
        Ok(Field { name, width, signed })
    }

    /// `i32`.
    fn value_width(&mut self) -> Result<Width, ParseError> {
        let word = self.word()?;
        let digits = word.strip_prefix('i').ok_or_else(|| self.error_before("expected a type such as i32"))?;
        self.width(digits)
    }

    fn width(&self, digits: &str) -> Result<Width, ParseError> {
        let bits = digits.parse().ok().and_then(Width::new);
        bits.ok_or_else(|| self.error_before("a width is 1 to 8192 bits"))
    }

    /// `%3: i32`.
    fn typed_value(&mut self) -> Result<(Label, Width), ParseError> {
        let label = self.value()?;
        self.expect(":")?;
        Ok((label, self.value_width()?))
    }

    fn message(&mut self, design: &Design) -> Result<MessageTypeId, ParseError> {
        let names = design.message_types.iter().map(|message| &*message.name);
        self.reference("message type", names).map(MessageTypeId)
    }

    /// A name that stands in the list, or `#N`; gives its position.
    fn reference<'n>(&mut self, what: &str, mut names: impl Iterator<Item = &'n str>) -> Result<u32, ParseError> {
        if self.take("#") {
            return self.number();
        }
        let name = self.name()?;
        let position = names.position(|other| other == name);
        position
            .map(|position| position as u32)
            .ok_or_else(|| self.error_before(&format!("no {what} has the name {name:?}")))
    }

    /// `@FILE:START..END`, if there is one.
    fn span(&mut self) -> Result<Option<Span>, ParseError> {
        if !self.take("@") {
            return Ok(None);
        }
        let file = FileId(self.number()?);
        self.expect(":")?;
        let start = self.number()?;
        self.expect("..")?;
        let end = self.number()?;
        Ok(Some(Span { file, start, end }))
    }

    // ---- tokens

    fn list<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        item: impl Fn(&mut Parser) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(item(self)?);
            if !self.take(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + ahead).min(last)].token
    }

    fn advance(&mut self) {
        // The last token is `End` and stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn take(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), ParseError> {
        if self.take(sign) { Ok(()) } else { Err(self.error(&format!("expected {sign}"))) }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        if found {
            self.advance();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.take_word(word) { Ok(()) } else { Err(self.error(&format!("expected {word}"))) }
    }

    fn word(&mut self) -> Result<String, ParseError> {
        let Token::Word(word) = self.peek() else { return Err(self.error("expected a word")) };
        let word = word.clone();
        self.advance();
        Ok(word)
    }

    fn name(&mut self) -> Result<String, ParseError> {
        let (Token::Word(name) | Token::Text(name)) = self.peek() else { return Err(self.error("expected a name")) };
        let name = name.clone();
        self.advance();
        Ok(name)
    }

    fn text(&mut self) -> Result<String, ParseError> {
        let Token::Text(text) = self.peek() else { return Err(self.error("expected a string")) };
        let text = text.clone();
        self.advance();
        Ok(text)
    }

    fn value(&mut self) -> Result<Label, ParseError> {
        let Token::Value(label) = self.peek() else { return Err(self.error("expected a value such as %3")) };
        let label = Label { name: label.clone(), at: self.tokens[self.next].at };
        self.advance();
        Ok(label)
    }

    fn big_number(&mut self) -> Result<Value, ParseError> {
        let number = match self.peek() {
            Token::Word(word) => Value::parse(word),
            _ => None,
        };
        let number = number.ok_or_else(|| self.error("expected a number"))?;
        self.advance();
        Ok(number)
    }

    fn number<N: TryFrom<u64>>(&mut self) -> Result<N, ParseError> {
        let number = self.big_number()?.to_u64().and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| self.error_before("the number is too large"))
    }

    /// An error at the next token.
    fn error(&self, message: &str) -> ParseError {
        ParseError { at: self.tokens[self.next].at, message: message.to_string() }
    }

    /// An error at the token that was just taken.
    fn error_before(&self, message: &str) -> ParseError {
        ParseError { at: self.tokens[self.next.saturating_sub(1)].at, message: message.to_string() }
    }
}

/// A value's name in the text, and where it stands.
#[derive(Clone, Debug)]
struct Label {
    name: String,
    at: Position,
}
