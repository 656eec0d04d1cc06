//! The text form of a design: the printer. `parse.rs` reads it back.
//!
//! Grammar, line by line (`crates/ir/tests/text/all_parts.ir` shows all of it):
//!
//! ```text
//! design NAME                            then, in this order, any number of
//! file "app.clnp"
//! meta NAME: u32                         u32 unsigned, s32 two's complement
//! type NAME { NAME: u32, … }             struct messages; flit_t and packet are there already
//! boundary NAME in|out TYPE [rate N] SPAN
//! element NAME: KIND [control] [autorun] [host] SPAN { … }
//! channel N: END TYPE -> END TYPE depth N [lossy] SPAN
//! ```
//!
//! In an element: `param NAME = "16"`, `input TYPE [channel N]`, `output …`, `var NAME: u32 [[DEPTH]] [= [1, 2]]`,
//! `timing [ii N] [always]`, `pragma "…"`, and bodies: `init {…}`, `handler {…}`, `packet window N grow N [store N] {…}`,
//! `body (%0: i256, …) {…}`, `end {…}`, `signal NAME(%0 ARG: u32 [= DEFAULT]) -> (NAME: u1) [doc "…"] {…}`.
//!
//! In a body: `local NAME: i8[32]`, then ops `%3: i32 = add %1, %2 SPAN`, an attribute before the operands
//! (`mem.write table, %1, %2`), `%5: i8 = if %1 SPAN {…} else {…}`, `%7: i8 = loop (%6: i8 = %1) SPAN {…}`; a region ends
//! with `yield %1, %2` if it yields anything. A channel end is `NAME[1]` (ports count from 1, as in the language), a boundary's
//! name, or `null`. A span is `@FILE:START..END`. Names are bare words or strings; `#N` names by position what a name does not
//! name uniquely. `//` begins a comment.

use std::fmt::Write;

use diag::Span;

use crate::{
    Attr, Body, BoundaryDirection, Channel, ChannelEnd, Design, Element, Field, Handler, MessageTypeId, Op, Opcode,
    Port, RegionId, Shape, Signal, Value, ValueId, Var,
};

/// Whether the text shows where ops come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spans {
    /// Exact: the text parses back to an equal design.
    Show,
    /// Easier to read; parses back to a design without spans.
    Omit,
}

/// The text form of a design.
///
/// For a verified design whose bodies are compact ([`Body::compacted`]), `parse(&print(&design, Spans::Show))` equals it.
pub fn print(design: &Design, spans: Spans) -> String {
    let mut printer = Printer { design, spans, text: String::new(), indent: 0 };
    printer.design();
    printer.text
}

struct Printer<'a> {
    design: &'a Design,
    spans: Spans,
    text: String,
    indent: usize,
}

impl<'a> Printer<'a> {
    fn design(&mut self) {
        let design = self.design;
        self.line(format_args!("design {}", name(&design.name)));
        for file in &design.files {
            self.line(format_args!("file {}", quoted(file)));
        }
        for field in &design.meta {
            let field = Field { name: field.name.clone(), width: field.width, signed: field.signed };
            self.line(format_args!("meta {}", field_text(&field)));
        }
        for message in design.message_types.iter().skip(2) {
            self.line(format_args!("type {} {{ {} }}", name(&message.name), fields_text(&message.fields)));
        }
        for boundary in &design.boundaries {
            let direction = match boundary.direction {
                BoundaryDirection::In => "in",
                BoundaryDirection::Out => "out",
            };
            let rate = boundary.rate_bps.map_or(String::new(), |rate| format!(" rate {rate}"));
            let (message, span) = (self.message(boundary.message), self.span(Some(boundary.span)));
            self.line(format_args!("boundary {} {direction} {message}{rate}{span}", name(&boundary.name)));
        }
        for element in &design.elements {
            self.element(element);
        }
        for (i, channel) in design.channels.iter().enumerate() {
            self.channel(i, channel);
        }
    }

    fn channel(&mut self, i: usize, channel: &Channel) {
        let (from, to) = (self.end(channel.from), self.end(channel.to));
        let (from_type, to_type) = (self.message(channel.from_type), self.message(channel.to_type));
        let lossy = if channel.lossy { " lossy" } else { "" };
        let span = self.span(Some(channel.span));
        self.line(format_args!(
            "channel {i}: {from} {from_type} -> {to} {to_type} depth {}{lossy}{span}",
            channel.depth
        ));
    }

    fn end(&self, end: ChannelEnd) -> String {
        match end {
            ChannelEnd::Null => "null".to_string(),
            ChannelEnd::Boundary(id) => {
                reference(self.design.boundaries.iter().map(|boundary| &*boundary.name), id.index())
            }
            ChannelEnd::Element { element, port } => {
                let element = reference(self.design.elements.iter().map(|element| &*element.name), element.index());
                format!("{element}[{}]", u64::from(port) + 1)
            }
        }
    }

    fn message(&self, id: MessageTypeId) -> String {
        reference(self.design.message_types.iter().map(|message| &*message.name), id.index())
    }

    fn element(&mut self, element: &'a Element) {
        let flag = |set, word| if set { word } else { "" };
        let control = flag(element.host_control, " control");
        let autorun = flag(element.autorun, " autorun");
        let host = flag(element.on_host, " host");
        let span = self.span(Some(element.span));
        let (title, kind) = (name(&element.name), name(&element.kind));
        self.line(format_args!(""));
        self.line(format_args!("element {title}: {kind}{control}{autorun}{host}{span} {{"));
        self.indent += 1;
        for param in &element.params {
            self.line(format_args!("param {} = {}", name(&param.name), quoted(&param.value)));
        }
        self.ports("input", &element.inputs);
        self.ports("output", &element.outputs);
        for var in &element.vars {
            self.var(var);
        }
        if element.timing.ii.is_some() || element.timing.always {
            let ii = element.timing.ii.map_or(String::new(), |ii| format!(" ii {ii}"));
            self.line(format_args!("timing{ii}{}", flag(element.timing.always, " always")));
        }
        for pragma in &element.hls_pragmas {
            self.line(format_args!("pragma {}", quoted(pragma)));
        }
        if let Some(native) = &element.native {
            self.line(format_args!("native {}", quoted(native)));
        }
        self.bodies(element);
        self.indent -= 1;
        self.line(format_args!("}}"));
    }

    fn bodies(&mut self, element: &'a Element) {
        if let Some(init) = &element.init {
            self.body(element, init, "init");
        }
        match &element.handler {
            Handler::Flit(body) => self.body(element, body, "handler"),
            Handler::Packet { window, grow, store, head, tail, end } => {
                let store = store.map_or(String::new(), |store| format!(" store {store}"));
                self.body(element, head, &format!("packet window {window} grow {grow}{store}"));
                if let Some(tail) = tail {
                    self.body(element, tail, &format!("body ({})", self.params(tail, tail.root)));
                }
                if let Some(end) = end {
                    self.body(element, end, "end");
                }
            }
        }
        for signal in &element.signals {
            self.signal(element, signal);
        }
    }

    fn signal(&mut self, element: &'a Element, signal: &'a Signal) {
        let params = &signal.body.region(signal.body.root).params;
        let args: Vec<String> = params
            .iter()
            .zip(signal.params.iter().zip(&signal.defaults))
            .map(|(value, (field, default))| {
                let default = default.as_ref().map_or(String::new(), |default| format!(" = {}", number(default)));
                format!("%{} {}{default}", value.0, field_text(field))
            })
            .collect();
        let doc = if signal.doc.is_empty() { String::new() } else { format!(" doc {}", quoted(&signal.doc)) };
        let (args, results) = (args.join(", "), fields_text(&signal.results));
        self.body(element, &signal.body, &format!("signal {}({args}) -> ({results}){doc}", name(&signal.name)));
    }

    fn ports(&mut self, word: &str, ports: &[Port]) {
        for port in ports {
            let channel = port.channel.map_or(String::new(), |channel| format!(" channel {}", channel.0));
            let message = self.message(port.message);
            self.line(format_args!("{word} {message}{channel}"));
        }
    }

    fn var(&mut self, var: &Var) {
        let field = field_text(&Field { name: var.name.clone(), width: var.width, signed: var.signed });
        let depth = var.depth.map_or(String::new(), |depth| format!(" [{depth}]"));
        if var.reset.is_empty() {
            self.line(format_args!("var {field}{depth}"));
            return;
        }
        let words: Vec<String> = var.reset.iter().map(number).collect();
        if words.iter().map(|word| word.len() + 2).sum::<usize>() <= 80 {
            self.line(format_args!("var {field}{depth} = [{}]", words.join(", ")));
            return;
        }
        self.line(format_args!("var {field}{depth} = ["));
        self.indent += 1;
        for words in words.chunks(RESETS_PER_LINE) {
            self.line(format_args!("{},", words.join(", ")));
        }
        self.indent -= 1;
        self.line(format_args!("]"));
    }

    fn body(&mut self, element: &'a Element, body: &'a Body, title: &str) {
        self.line(format_args!("{title} {{"));
        self.indent += 1;
        for local in &body.locals {
            self.line(format_args!("local {}: i{}[{}]", name(&local.name), local.width.bits(), local.depth));
        }
        self.indent -= 1;
        self.region(element, body, body.root);
        self.line(format_args!("}}"));
    }

    fn region(&mut self, element: &'a Element, body: &'a Body, id: RegionId) {
        self.indent += 1;
        let region = body.region(id);
        for &op in &region.ops {
            self.op(element, body, body.op(op));
        }
        if !region.yields.is_empty() {
            self.line(format_args!("yield {}", values(&region.yields)));
        }
        self.indent -= 1;
    }

    fn op(&mut self, element: &'a Element, body: &'a Body, op: &'a Op) {
        let mut text = String::new();
        if !op.results.is_empty() {
            text = format!("{} = ", typed(body, &op.results));
        }
        text += op.code.name();
        let span = self.span(op.span);
        match op.code.shape() {
            Shape::If => {
                self.line(format_args!("{text} {}{span} {{", values(&op.operands)));
                self.region(element, body, op.regions[0]);
                let otherwise = body.region(op.regions[1]);
                if !otherwise.ops.is_empty() || !otherwise.yields.is_empty() {
                    self.line(format_args!("}} else {{"));
                    self.region(element, body, op.regions[1]);
                }
                self.line(format_args!("}}"));
            }
            Shape::Loop => {
                let params = &body.region(op.regions[0]).params;
                let carried: Vec<String> = (params.iter().zip(&op.operands))
                    .map(|(param, initial)| format!("{} = %{}", typed(body, &[*param]), initial.0))
                    .collect();
                self.line(format_args!("{text} ({}){span} {{", carried.join(", ")));
                self.region(element, body, op.regions[0]);
                self.line(format_args!("}}"));
            }
            _ => {
                let attr = self.attr(element, body, &op.attr);
                let operands = op.operands.iter().map(|value| format!("%{}", value.0));
                let items: Vec<String> = attr.into_iter().chain(operands).collect();
                let gap = if items.is_empty() { "" } else { " " };
                self.line(format_args!("{text}{gap}{}{span}", items.join(", ")));
            }
        }
    }

    fn attr(&self, element: &Element, body: &Body, attr: &Attr) -> Option<String> {
        match attr {
            Attr::None => None,
            Attr::Const(value) => Some(number(value)),
            Attr::Bit(bit) => Some(bit.to_string()),
            Attr::Var(var) => Some(reference(element.vars.iter().map(|var| &*var.name), var.index())),
            Attr::Local(local) => Some(reference(body.locals.iter().map(|local| &*local.name), *local as usize)),
            Attr::Message(message) => Some(self.message(*message)),
            Attr::Meta(field) => Some(reference(self.design.meta.iter().map(|field| &*field.name), *field as usize)),
            Attr::Text(text) => Some(quoted(text)),
        }
    }

    fn params(&self, body: &Body, region: RegionId) -> String {
        typed(body, &body.region(region).params)
    }

    fn span(&self, span: Option<Span>) -> String {
        match (self.spans, span) {
            (Spans::Show, Some(span)) => format!(" @{}:{}..{}", span.file.0, span.start, span.end),
            _ => String::new(),
        }
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let before = self.text.len();
        self.text.extend(std::iter::repeat_n("    ", self.indent));
        let start = self.text.len();
        self.text.write_fmt(text).expect("writing to a string succeeds");
        if self.text.len() == start {
            self.text.truncate(before);
        }
        self.text.push('\n');
    }
}

const RESETS_PER_LINE: usize = 8;

/// Words that have a meaning where a name may stand, so a name that is one of them is quoted.
const RESERVED: [&str; 1] = ["null"];

fn typed(body: &Body, values: &[ValueId]) -> String {
    let one = |value: &ValueId| format!("%{}: i{}", value.0, body.width(*value).bits());
    values.iter().map(one).collect::<Vec<String>>().join(", ")
}

fn values(values: &[ValueId]) -> String {
    values.iter().map(|value| format!("%{}", value.0)).collect::<Vec<String>>().join(", ")
}

fn fields_text(fields: &[Field]) -> String {
    fields.iter().map(field_text).collect::<Vec<String>>().join(", ")
}

fn field_text(field: &Field) -> String {
    format!("{}: {}{}", name(&field.name), if field.signed { 's' } else { 'u' }, field.width.bits())
}

/// Decimal up to four digits, where people count; hexadecimal above.
fn number(value: &Value) -> String {
    if value.to_u64().is_some_and(|small| small < 10_000) { value.to_string() } else { format!("{value:#x}") }
}

/// The name if it is the first of its kind, else its position.
fn reference<'n>(mut names: impl Iterator<Item = &'n str> + Clone, index: usize) -> String {
    let wanted = names.clone().nth(index);
    match wanted {
        Some(wanted) if names.position(|other| other == wanted) == Some(index) => name(wanted),
        _ => format!("#{index}"),
    }
}

fn name(text: &str) -> String {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let bare = starts && text.chars().all(is_name_char) && !RESERVED.contains(&text);
    if bare { text.to_string() } else { quoted(text) }
}

/// Whether a character may stand inside a bare name.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            c if c.is_control() => write!(quoted, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string succeeds"),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Number of operands that an op's text has besides its attribute; None for any number.
pub(crate) fn n_operands(op: Opcode) -> Option<usize> {
    match op.shape() {
        Shape::Constant
        | Shape::Nothing
        | Shape::Get32
        | Shape::Get64
        | Shape::Get1
        | Shape::RegisterRead
        | Shape::MetaRead => Some(0),
        Shape::Unary
        | Shape::Extend
        | Shape::Truncate
        | Shape::Extract
        | Shape::ByteSwap
        | Shape::If
        | Shape::RegisterWrite
        | Shape::MemoryRead
        | Shape::Take32
        | Shape::Take64
        | Shape::MaskTest
        | Shape::PortRead
        | Shape::PacketLoad
        | Shape::MetaWrite
        | Shape::Assert => Some(1),
        Shape::Binary
        | Shape::Shift
        | Shape::Compare
        | Shape::Concat
        | Shape::MemoryWrite
        | Shape::Take32x2
        | Shape::PacketStore => Some(2),
        Shape::Select | Shape::Take32x3 => Some(3),
        Shape::Loop | Shape::PortWrite | Shape::Trace => None,
    }
}
