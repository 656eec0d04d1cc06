//! The verifier: whether a design keeps every rule that engines and back-ends rely on.
//!
//! This file checks what stands outside of bodies: names, message types, ports against channels, state, signatures. `body.rs`
//! checks visibility, regions and effects; `shape.rs` the operand and result widths of each op. Linear in the design.

mod body;
mod shape;

use std::collections::BTreeSet;
use std::fmt;

use diag::Span;

use crate::{
    Body, BodyKind, BoundaryDirection, Chain, Channel, ChannelEnd, ChannelId, Design, Element, ElementId, Field,
    Handler, MessageKind, MessageTypeId, Port, Signal, Twin, Var, Width, side,
};

pub(crate) use shape::check_pure;

/// The deepest nesting of regions in a body.
pub const MAX_NESTING: usize = 1000;

/// A design that keeps the rules; made by [`verify`] only.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a>(&'a Design);

impl<'a> Verified<'a> {
    /// The design, for as long as it is borrowed.
    pub fn design(self) -> &'a Design {
        self.0
    }
}

impl std::ops::Deref for Verified<'_> {
    type Target = Design;

    fn deref(&self) -> &Design {
        self.0
    }
}

/// A broken rule. It is a mistake of whoever made the design, not of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Where: `element fw, handler, %3 = add`.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// The source that the place came from.
    pub span: Option<Span>,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Checks every rule; gives all that are broken, in the order of the design.
pub fn verify(design: &Design) -> Result<Verified<'_>, Vec<VerifyError>> {
    let mut errors = Errors { list: Vec::new(), place: String::new(), span: None };
    check_types(design, &mut errors);
    if errors.list.is_empty() {
        check_boundaries(design, &mut errors);
        for (i, channel) in design.channels.iter().enumerate() {
            check_channel(design, ChannelId(i as u32), channel, &mut errors);
        }
        let mut names = BTreeSet::new();
        for (i, element) in design.elements.iter().enumerate() {
            errors.at(format!("element {}", element.name), Some(element.span));
            errors.check(names.insert(&element.name), || "two elements have this name".to_string());
            check_element(design, ElementId(i as u32), element, &mut errors);
        }
    }
    if errors.list.is_empty() { Ok(Verified(design)) } else { Err(errors.list) }
}

/// Checks the body of a chain, whose members belong to the design.
pub fn verify_chain(design: &Design, chain: &Chain) -> Result<(), Vec<VerifyError>> {
    let element = &chain.element(design);
    let mut errors = Errors { list: Vec::new(), place: String::new(), span: None };
    let signature = body::Signature { kind: BodyKind::Chain, params: &[], results: &[MASK, MASK, Width::BOOL] };
    let context = body::Context { design, element, place: "chain".to_string() };
    body::check(context, &chain.body, signature, &mut errors);
    if errors.list.is_empty() { Ok(()) } else { Err(errors.list) }
}

/// Collects errors at a place.
struct Errors {
    list: Vec<VerifyError>,
    place: String,
    span: Option<Span>,
}

impl Errors {
    fn at(&mut self, place: String, span: Option<Span>) {
        self.place = place;
        self.span = span;
    }

    fn add(&mut self, message: String) {
        self.list.push(VerifyError { place: self.place.clone(), message, span: self.span });
    }

    fn check(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.add(message());
        }
    }

    fn check_span(&mut self, design: &Design, span: Option<Span>) {
        if let Some(span) = span {
            self.check(span.file.0 < design.files.len() as u32, || {
                format!("span in file {}, which is not there", span.file.0)
            });
            self.check(span.start <= span.end, || format!("span {}..{} runs backwards", span.start, span.end));
        }
    }
}

fn check_types(design: &Design, errors: &mut Errors) {
    errors.at("metadata".to_string(), None);
    let meta_bits: u32 = design.meta.iter().map(|field| field.width.bits()).sum();
    errors.check(meta_bits <= META_BITS_MAX, || format!("{meta_bits} bits of metadata, at most {META_BITS_MAX}"));
    let mut names = BTreeSet::new();
    for field in &design.meta {
        errors.check(names.insert(&field.name), || format!("two fields have the name {}", field.name));
    }
    errors.at("message types".to_string(), None);
    if !errors.list.is_empty() {
        return;
    }
    let builtin = Design::new("", design.meta.clone()).message_types;
    let named = design.message_types.get(..2) == Some(&builtin);
    errors.check(named, || "type 0 is flit_t with the fields of the sideband, type 1 is packet".to_string());
    let mut names = BTreeSet::new();
    for (i, message) in design.message_types.iter().enumerate() {
        errors.check(names.insert(&message.name), || format!("two types have the name {}", message.name));
        let declared = i < 2 || message.kind == MessageKind::Struct;
        errors.check(declared, || format!("{} is not a struct", message.name));
    }
}

/// Metadata is at most 128 bytes.
const META_BITS_MAX: u32 = 1024;

fn check_boundaries(design: &Design, errors: &mut Errors) {
    for boundary in &design.boundaries {
        errors.at(format!("boundary {}", boundary.name), Some(boundary.span));
        errors.check_span(design, Some(boundary.span));
        check_message(design, boundary.message, errors);
        errors.check(boundary.rate_bps != Some(0), || "a rate of 0".to_string());
    }
}

fn check_message(design: &Design, message: MessageTypeId, errors: &mut Errors) -> bool {
    let known = message.index() < design.message_types.len();
    errors.check(known, || format!("message type {} is not there", message.0));
    known
}

fn check_channel(design: &Design, id: ChannelId, channel: &Channel, errors: &mut Errors) {
    errors.at(format!("channel {}", id.0), Some(channel.span));
    errors.check_span(design, Some(channel.span));
    errors.check(channel.depth > 0, || "a depth of 0".to_string());
    let from_known = check_message(design, channel.from_type, errors);
    let to_known = check_message(design, channel.to_type, errors);
    if from_known && to_known && channel.from_type != channel.to_type {
        let is_struct = |id: MessageTypeId| design.message_types[id.index()].kind == MessageKind::Struct;
        let converts = !is_struct(channel.from_type) && !is_struct(channel.to_type);
        errors.check(converts, || "only flit_t and packet convert to each other".to_string());
    }
    check_end(design, id, Side::From, channel, errors);
    check_end(design, id, Side::To, channel, errors);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    From,
    To,
}

fn check_end(design: &Design, id: ChannelId, side: Side, channel: &Channel, errors: &mut Errors) {
    let (end, message, direction, word) = match side {
        Side::From => (channel.from, channel.from_type, BoundaryDirection::In, "writer"),
        Side::To => (channel.to, channel.to_type, BoundaryDirection::Out, "reader"),
    };
    match end {
        ChannelEnd::Null => {}
        ChannelEnd::Boundary(boundary) => match design.boundaries.get(boundary.index()) {
            None => errors.add(format!("{word} is boundary {}, which is not there", boundary.0)),
            Some(boundary) => {
                errors
                    .check(boundary.direction == direction, || format!("{word} {} goes the other way", boundary.name));
                errors.check(boundary.message == message, || {
                    format!("{word} {} has another message type", boundary.name)
                });
            }
        },
        ChannelEnd::Element { element, port } => {
            let ports = design.elements.get(element.index()).map(|element| match side {
                Side::From => &element.outputs,
                Side::To => &element.inputs,
            });
            match ports.and_then(|ports| ports.get(port as usize)) {
                None => errors.add(format!("{word} is port {port} of element {}, which is not there", element.0)),
                Some(found) => {
                    errors.check(found.channel == Some(id), || format!("{word}'s port does not name this channel"));
                    errors.check(found.message == message, || format!("{word}'s port has another message type"));
                }
            }
        }
    }
}

fn check_element(design: &Design, id: ElementId, element: &Element, errors: &mut Errors) {
    errors.check_span(design, Some(element.span));
    check_ports(design, id, &element.inputs, Side::To, &element.handler, errors);
    check_ports(design, id, &element.outputs, Side::From, &element.handler, errors);
    errors.check(element.timing.ii != Some(0), || "an initiation interval of 0".to_string());
    let mut names = BTreeSet::new();
    for var in &element.vars {
        errors.check(names.insert(&var.name), || format!("two state variables have the name {}", var.name));
        check_var(var, errors);
    }
    if let Some(name) = &element.native {
        match Twin::named(name) {
            None => errors.add(format!("no native twin has the name {name}")),
            Some(twin) => {
                twin.misfit(&element.handler, &element.vars).into_iter().for_each(|message| errors.add(message))
            }
        }
    }
    let mut names = BTreeSet::new();
    for signal in &element.signals {
        errors.check(names.insert(&signal.name), || format!("two signals have the name {}", signal.name));
        check_defaults(signal, errors);
    }
    let mut body = |name: &str, body: &Body, kind: BodyKind, params: &[Width], results: &[Width]| {
        let place = format!("element {}, {name}", element.name);
        body::check(body::Context { design, element, place }, body, body::Signature { kind, params, results }, errors);
    };
    if let Some(init) = &element.init {
        body("init", init, BodyKind::Init, &[], &[]);
    }
    match &element.handler {
        Handler::Flit(handler) => body("handler", handler, BodyKind::Flit, &[], &[MASK]),
        Handler::Packet { head, tail, end, .. } => {
            body("packet", head, BodyKind::Packet, &[], &[]);
            if let Some(tail) = tail {
                body("body", tail, BodyKind::Tail, &[DATA, MASK, MASK], &[DATA]);
            }
            if let Some(end) = end {
                body("end", end, BodyKind::End, &[], &[]);
            }
        }
    }
    let widths = |fields: &[Field]| fields.iter().map(|field| field.width).collect::<Vec<Width>>();
    for signal in &element.signals {
        let (params, results) = (widths(&signal.params), widths(&signal.results));
        body(&format!("signal {}", signal.name), &signal.body, BodyKind::Signal, &params, &results);
    }
}

const MASK: Width = Width::of(32);
const DATA: Width = Width::of(side::FLIT_FIELDS[0].1);

fn check_ports(design: &Design, id: ElementId, ports: &[Port], side: Side, handler: &Handler, errors: &mut Errors) {
    for (i, port) in ports.iter().enumerate() {
        let name = || format!("{} {}", if side == Side::To { "input" } else { "output" }, i + 1);
        if !check_message(design, port.message, errors) {
            continue;
        }
        let refused = match handler {
            Handler::Flit(_) => MessageKind::Packet,
            Handler::Packet { .. } => MessageKind::Flit,
        };
        let suits = design.message_types[port.message.index()].kind != refused;
        errors
            .check(suits, || format!("{}: flit handlers have no packet ports, packet handlers no flit ports", name()));
        let Some(channel) = port.channel else { continue };
        let end = design.channels.get(channel.index()).map(|channel| match side {
            Side::From => channel.from,
            Side::To => channel.to,
        });
        let meets = end == Some(ChannelEnd::Element { element: id, port: i as u32 });
        errors.check(meets, || format!("{}: channel {} does not end here", name(), channel.0));
    }
}

fn check_defaults(signal: &Signal, errors: &mut Errors) {
    let (name, n_defaults, n_params) = (&signal.name, signal.defaults.len(), signal.params.len());
    errors.check(n_defaults == n_params, || format!("signal {name}: {n_defaults} defaults for {n_params} arguments"));
    for (default, param) in signal.defaults.iter().zip(&signal.params) {
        let fits = default.as_ref().is_none_or(|default| default.fits(param.width));
        errors.check(fits, || format!("signal {name}: the default of {} is wider than it", param.name));
    }
}

fn check_var(var: &Var, errors: &mut Errors) {
    let words = var.depth.unwrap_or(1);
    errors.check(words > 0, || format!("memory {} has no words", var.name));
    errors.check(var.reset.len() as u64 <= words, || {
        format!("{} reset values for {words} words of {}", var.reset.len(), var.name)
    });
    let fits = var.reset.iter().all(|value| value.fits(var.width));
    errors.check(fits, || format!("a reset value of {} is wider than the variable", var.name));
}
