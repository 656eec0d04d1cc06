//! The sections of an element: which may stand together, in which order they are lowered, and where bodies begin and end.

use diag::{Code, Diagnostic, Span};
use ir::{Body, BodyKind, Handler, MessageKind, TWINS, Timing, Twin, ValueId, Width};
use syntax::ast::{self, Block, Expr, SectionKind, SignalDecl, StateDecl};

use super::arith::Scalar;
use super::emit::Emitter;
use super::flow::{Fate, Flow, Frame};
use super::names::{Constant, Entity};
use super::{Lowerer, Reported, Res, Section};
use crate::scope::{LowerInput, Lowered};
use crate::suggest::nearest;
use crate::types::{IntType, Type};

/// Window of `.packet` without a size.
const WINDOW_DEFAULT: u32 = 64;
/// Largest window and growth in bytes: the widest integer of the IR.
const WINDOW_MAX: u64 = 1024;
/// Largest stored packet in bytes.
const STORE_MAX: u64 = 65536;
/// Largest initiation interval.
const INTERVAL_MAX: u64 = 65536;

/// What the options of `.packet` allow.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketFacts {
    /// `store` is given.
    pub has_store: bool,
    /// `grow` is given and not 0.
    pub has_grow: bool,
    /// Every path through `.packet` must emit or drop.
    pub must_decide: bool,
    /// Where the options stand.
    pub options_span: Option<Span>,
}

/// Sections sorted by kind.
#[derive(Default)]
struct Sections<'a> {
    state: Vec<&'a [StateDecl]>,
    init: Option<(&'a Block, Span)>,
    handler: Option<(&'a Block, Span)>,
    packet: Option<(&'a ast::PacketOptions, &'a Block, Span)>,
    tail: Option<(&'a [ast::FnParam], &'a Block, Span)>,
    end: Option<(&'a Block, Span)>,
    signals: Vec<(&'a SignalDecl, Span)>,
    timing: Option<(&'a ast::TimingDecl, Span)>,
    hls_pragmas: Vec<String>,
    native: Option<(&'a ast::Ident, Span)>,
}

impl<'a> Lowerer<'a, '_> {
    /// All sections of an element.
    pub fn element(&mut self, input: &LowerInput<'a>) -> Option<Lowered> {
        let sections = self.sections(input.element);
        for decls in &sections.state {
            self.state(decls);
        }
        let timing = sections.timing.and_then(|(decl, _)| self.timing(decl).ok()).unwrap_or_default();
        let init = sections.init.map(|(block, span)| self.init(block, span));
        let handler = self.handler(&sections, input);
        let mut signals: Vec<ir::Signal> = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        for (decl, span) in &sections.signals {
            self.check_signal_name(decl, *span, &signals, &spans);
            if let Ok(signal) = self.signal(decl, *span) {
                signals.push(signal);
                spans.push(*span);
            }
        }
        let init = match init {
            None => None,
            Some(Ok(body)) => Some(body),
            Some(Err(Reported)) => return None,
        };
        let handler = handler.ok()?;
        self.check_unfed(&handler, timing.always, input);
        let native = match sections.native {
            None => None,
            Some((name, _)) => Some(self.native(name, &handler).ok()?),
        };
        let vars = std::mem::take(&mut self.vars);
        Some(Lowered { vars, init, handler, signals, timing, hls_pragmas: sections.hls_pragmas, native })
    }

    /// `.native`: whether there is such a kernel, and whether it fits the element.
    fn native(&mut self, name: &ast::Ident, handler: &Handler) -> Res<String> {
        let Some(twin) = Twin::named(&name.text) else {
            let known = || TWINS.iter().map(|twin| twin.name);
            let help = match nearest(&name.text, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there is `{}`", known().collect::<Vec<_>>().join("`, `")),
            };
            return Err(self.error(Code::E0424, name.span, format!("unknown kernel `{}`", name.text), help));
        };
        match twin.misfit(handler, &self.vars) {
            None => Ok(name.text.clone()),
            Some(misfit) => {
                let help = "the kernel must do all that `.body` does, on the same state; change the element, or remove `.native`";
                Err(self.error(Code::E0425, name.span, misfit, help))
            }
        }
    }

    /// Warns of a handler that would write without input but waits for one.
    fn check_unfed(&mut self, handler: &Handler, always: bool, input: &LowerInput<'a>) {
        let Handler::Flit(body) = handler else { return };
        if always || input.inputs.is_empty() {
            return;
        }
        if let Some(write) = super::unfed::write_without_input(body) {
            let message = "this may write without an input, but the handler waits for one";
            let help =
                "if anything can be left inside, return `PORT_NULL` until it is out, or add `.timing { always; }`";
            self.warn(Code::W0303, write, message, help);
        }
    }

    fn sections(&mut self, element: &'a ast::ElementDecl) -> Sections<'a> {
        let mut sections = Sections::default();
        for section in &element.sections {
            let at = section.name_span;
            let first = match &section.kind {
                SectionKind::State(decls) => {
                    sections.state.push(decls);
                    None
                }
                SectionKind::Meta(_) => None,
                SectionKind::Init(block) => sections.init.replace((block, at)).map(|(_, span)| span),
                SectionKind::Handler(block) => sections.handler.replace((block, at)).map(|(_, span)| span),
                SectionKind::Packet(options, block) => {
                    sections.packet.replace((options, block, at)).map(|(_, _, span)| span)
                }
                SectionKind::Body(params, block) => sections.tail.replace((params, block, at)).map(|(_, _, span)| span),
                SectionKind::End(block) => sections.end.replace((block, at)).map(|(_, span)| span),
                SectionKind::Signal(decl) => {
                    sections.signals.push((decl, at));
                    None
                }
                SectionKind::Timing(decl) => sections.timing.replace((decl, at)).map(|(_, span)| span),
                SectionKind::HlsPragma(text) => {
                    sections.hls_pragmas.push(text.clone());
                    None
                }
                SectionKind::Native(name) => sections.native.replace((name, at)).map(|(_, span)| span),
            };
            if let Some(first) = first {
                let diagnostic =
                    Diagnostic::new(Code::E0411, at, "this section is given twice", "join the two into one");
                self.report(diagnostic.related(first, "the first one"));
            }
        }
        sections
    }

    fn check_signal_name(&mut self, decl: &SignalDecl, span: Span, signals: &[ir::Signal], spans: &[Span]) {
        let (name, span) = match decl {
            SignalDecl::Raw { .. } => ("signal", span),
            SignalDecl::Typed { name, .. } => (name.text.as_str(), name.span),
        };
        if let Some(at) = signals.iter().position(|signal| signal.name == name) {
            let message = format!("the signal `{name}` is given twice");
            let diagnostic = Diagnostic::new(Code::E0411, span, message, "rename one of them");
            self.report(diagnostic.related(spans[at], "the first one"));
        }
    }

    // ---- state

    fn state(&mut self, decls: &'a [StateDecl]) {
        for decl in decls {
            if self.state_decl(decl).is_err() {
                self.poison(decl);
            }
        }
    }

    /// After an error in its declaration a name is known, so that its uses are not reported too.
    fn poison(&mut self, decl: &'a StateDecl) {
        let name = match decl {
            StateDecl::Var(var) => &var.name,
            StateDecl::Const(decl) => &decl.name,
            StateDecl::Struct(_) | StateDecl::Enum(_) => return,
        };
        let place = self.rom_place(&name.text, Type::Void, &[]);
        self.element_names.insert(name.text.clone(), Entity::Place(place));
    }

    fn state_decl(&mut self, decl: &'a StateDecl) -> Res<()> {
        match decl {
            StateDecl::Var(var) => self.declare_state(var),
            StateDecl::Const(decl) => {
                // Evaluated now, so that errors are reported even if nobody uses it; pending ones could be named before.
                self.add_element_name(&decl.name, Entity::Pending(decl))?;
                let mut entity = self.element_name(&decl.name.text)?;
                if let Some(Entity::Place(place)) = &mut entity {
                    place.body = 0;
                }
                if let Some(entity) = entity {
                    self.element_names.insert(decl.name.text.clone(), entity);
                }
                Ok(())
            }
            StateDecl::Struct(decl) => {
                let struct_type = self.struct_type(decl)?;
                self.add_element_name(&decl.name, Entity::Struct(struct_type))
            }
            StateDecl::Enum(decl) => {
                let enum_type = self.enum_type(decl)?;
                if !decl.scoped {
                    for ((name, _), (_, value)) in decl.values.iter().zip(&enum_type.values) {
                        let constant = Constant { value: value.clone(), ty: enum_type.ty };
                        self.add_element_name(name, Entity::Constant(constant))?;
                    }
                }
                match &decl.name {
                    Some(name) => self.add_element_name(name, Entity::Enum(enum_type)),
                    None => Ok(()),
                }
            }
        }
    }

    fn timing(&mut self, decl: &ast::TimingDecl) -> Res<Timing> {
        let ii = match &decl.ii {
            None => None,
            Some(expr) => {
                Some(self.option_value(expr, 1, INTERVAL_MAX, Code::E0423, "the initiation interval")? as u32)
            }
        };
        Ok(Timing { ii, always: decl.always.is_some() })
    }

    fn option_value(&mut self, expr: &Expr, min: u64, max: u64, code: Code, what: &str) -> Res<u64> {
        let value = self.const_expr_here(expr)?;
        let negative = value.signed && value.value.is_negative(value.width);
        match value.value.to_u64().filter(|value| !negative && (min..=max).contains(value)) {
            Some(value) => Ok(value),
            None => {
                let message = format!("{what} is {min} to {max}");
                Err(self.error(code, expr.span, message, "use a number in that range"))
            }
        }
    }

    // ---- bodies

    /// Starts a body: fresh emitter, environment and names.
    pub fn start_body(&mut self, kind: BodyKind, section: Section, params: &[Width]) {
        self.emit = Emitter::new(kind, params);
        self.section = section;
        self.n_bodies += 1;
        self.body_id = self.n_bodies;
        self.slots.clear();
        self.scopes = vec![Default::default()];
        self.scope_base = 0;
        self.frames.clear();
        self.calls.clear();
        self.loop_depth = 0;
        self.runtime_depth = 0;
        self.repeat_depths.clear();
        self.repeat_stopped = false;
        self.fate = Fate::START;
        self.nesting = 0;
        self.n_statements = 0;
        self.too_large = false;
        self.written = None;
        self.output_data.clear();
    }

    /// Lowers the block of a body within its frame, which stays for the caller to read.
    pub fn body_block(&mut self, block: &'a Block, frame: Frame) -> Res<Flow> {
        self.frames.push(frame);
        self.block(block)
    }

    /// Ends the body.
    pub fn end_body(&mut self, yields: Vec<ValueId>) -> Body {
        let emit = std::mem::replace(&mut self.emit, Emitter::new(BodyKind::Signal, &[]));
        emit.finish(yields)
    }

    fn init(&mut self, block: &'a Block, _span: Span) -> Res<Body> {
        self.start_body(BodyKind::Init, Section::Init, &[]);
        let frame = self.new_frame(Type::Void, true);
        self.body_block(block, frame)?;
        Ok(self.end_body(vec![]))
    }

    fn handler(&mut self, sections: &Sections<'a>, input: &LowerInput<'a>) -> Res<Handler> {
        if sections.packet.is_none() {
            let strays =
                [sections.tail.map(|(_, _, span)| (span, ".body")), sections.end.map(|(_, span)| (span, ".end"))];
            for (span, name) in strays.into_iter().flatten() {
                let message = format!("`{name}` without `.packet`");
                self.error(Code::E0414, span, message, "write the handler as `.packet`, or remove the section");
            }
        }
        match (sections.handler, sections.packet) {
            (Some((_, first)), Some((_, _, second))) => {
                let help = "keep `.packet` for whole packets, `.handler` for messages";
                let diagnostic = Diagnostic::new(Code::E0413, second, "the element has `.handler` and `.packet`", help);
                Err(self.report(diagnostic.related(first, "`.handler` is here")))
            }
            (Some((block, _)), None) => self.flit_handler(block),
            (None, Some((options, block, span))) => self.packet_handler(sections, options, block, span, input),
            (None, None) => {
                let message = format!("`{}` has no handler", input.element.name.text);
                let help = "add `.packet { emit(1); }` or `.handler { … return PORT_ALL; }`";
                Err(self.error(Code::E0412, input.element.name.span, message, help))
            }
        }
    }

    fn flit_handler(&mut self, block: &'a Block) -> Res<Handler> {
        self.start_body(BodyKind::Flit, Section::Flit, &[]);
        self.track_outputs(block)?;
        let frame = self.new_frame(Type::Int(IntType::UINT), false);
        let mask = frame.values[0];
        let flow = self.body_block(block, frame)?;
        if flow.falls {
            let at = Self::closing_brace(block.span);
            let help = "add `return PORT_ALL;` at the end (or the mask of the inputs to wait for)";
            return Err(self.error(Code::E0410, at, "the handler may end here without `return`", help));
        }
        let ports = self.ports_of_mask(self.slots[mask]);
        Ok(Handler::Flit(self.end_body(vec![ports])))
    }

    fn packet_handler(
        &mut self,
        sections: &Sections<'a>,
        options: &'a ast::PacketOptions,
        block: &'a Block,
        _span: Span,
        input: &LowerInput<'a>,
    ) -> Res<Handler> {
        let code = Code::E0419;
        let window = match &options.window {
            Some(expr) => self.option_value(expr, 1, WINDOW_MAX, code, "the window")? as u32,
            None => WINDOW_DEFAULT,
        };
        let grow = match &options.grow {
            Some(expr) => self.option_value(expr, 0, WINDOW_MAX, code, "`grow`")? as u32,
            None => 0,
        };
        let store = match &options.store {
            Some(expr) => Some(self.option_value(expr, u64::from(window), STORE_MAX, code, "`store`")? as u32),
            None => None,
        };
        let takes_packets = input
            .inputs
            .iter()
            .any(|id| input.message_types.get(id.index()).is_some_and(|message| message.kind != MessageKind::Struct));
        let decides_later = sections.end.is_some_and(|(block, _)| {
            let names = super::looping::names_in(block);
            names.contains("emit")
                || names.contains("drop")
                || self.decls.functions.keys().any(|name| names.contains(*name))
        });
        self.packet = PacketFacts {
            has_store: store.is_some(),
            has_grow: grow > 0,
            must_decide: takes_packets && !decides_later,
            options_span: Some(options.span),
        };
        self.start_body(BodyKind::Packet, Section::Packet, &[]);
        let head = self.void_body(block);
        let tail = sections.tail.map(|(params, block, span)| self.tail(params, block, span));
        let end = sections.end.map(|(block, _)| {
            self.start_body(BodyKind::End, Section::End, &[]);
            self.void_body(block)
        });
        let boxed = |body: Option<Res<Body>>| body.transpose().map(|body| body.map(Box::new));
        let (tail, end) = (boxed(tail), boxed(end));
        Ok(Handler::Packet { window, grow, store, head: Box::new(head?), tail: tail?, end: end? })
    }

    fn void_body(&mut self, block: &'a Block) -> Res<Body> {
        let frame = self.new_frame(Type::Void, false);
        let flow = self.body_block(block, frame)?;
        if flow.falls {
            self.check_fate(Self::closing_brace(block.span));
        }
        Ok(self.end_body(vec![]))
    }

    /// `.body (uint<256> &data, uint n_bytes, uint offset) { … }`
    fn tail(&mut self, params: &'a [ast::FnParam], block: &'a Block, span: Span) -> Res<Body> {
        const NAMES: [&str; 3] = ["the piece (`uint<256> &data`)", "its valid bytes", "its offset in the packet"];
        if params.len() > NAMES.len() {
            let help = "they are `(uint<256> &data, uint n_bytes, uint offset)`";
            return Err(self.error(Code::E0420, span, "`.body` has at most three parameters", help));
        }
        let types = [IntType::exact(Width::of(256)), IntType::UINT, IntType::UINT];
        self.start_body(BodyKind::Tail, Section::Tail, &types.map(|ty| ty.width));
        let values = self.emit.params();
        let mut result = None;
        for (at, param) in params.iter().enumerate() {
            let ty = self.declared_type(&param.ty, &param.dims)?;
            let Type::Int(int) = ty else {
                let message = format!("this parameter is {}", NAMES[at]);
                return Err(self.error(Code::E0420, param.ty.span, message, "give it an integer type"));
            };
            if at == 0 && int.width != types[0].width {
                let help = "write `uint<256> &data`";
                return Err(self.error(Code::E0420, param.ty.span, "a piece has 256 bits", help));
            }
            let place = self.new_local(&param.name.text, &ty);
            let value = self.convert(Scalar { value: values[at], ty: types[at], literal: false }, int);
            self.store(&place, &[value], param.name.span)?;
            if at == 0 && param.by_reference {
                result = place.slots().first().copied();
            }
            self.declare(&param.name, Entity::Place(place));
        }
        let frame = self.new_frame(Type::Void, false);
        self.body_block(block, frame)?;
        let data = result.map_or(values[0], |slot| self.slots[slot]);
        Ok(self.end_body(vec![data]))
    }
}
