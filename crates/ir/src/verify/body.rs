//! Rules of one body: signature, region tree, visibility of values, attributes, and the effects that its kind allows.

use crate::verify::{Errors, MAX_NESTING, shape};
use crate::{
    Attr, Body, BodyKind, Design, Effect, Element, Handler, MessageKind, Op, OpId, Opcode, RegionId, ValueId, Width,
};

pub(super) struct Context<'a> {
    pub design: &'a Design,
    pub element: &'a Element,
    pub place: String,
}

pub(super) struct Signature<'a> {
    pub kind: BodyKind,
    pub params: &'a [Width],
    pub results: &'a [Width],
}

pub(super) fn check(context: Context<'_>, body: &Body, signature: Signature<'_>, errors: &mut Errors) {
    errors.at(context.place.clone(), Some(context.element.span));
    errors.check(body.kind == signature.kind, || format!("its kind is {:?}, not {:?}", body.kind, signature.kind));
    for local in &body.locals {
        errors.check(local.depth > 0, || format!("local {} has no words", local.name));
    }
    if body.root.index() >= body.regions.len() {
        errors.add("its root region is not there".to_string());
        return;
    }
    let mut checker = Checker {
        body,
        state: vec![State::Undefined; body.values.len()],
        regions_seen: vec![false; body.regions.len()],
        ops_seen: vec![false; body.ops.len()],
        context,
        errors,
    };
    checker.check_region(body.root, Some(signature.params), signature.results, 0);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    Visible,
    OutOfScope,
}

struct Checker<'a> {
    context: Context<'a>,
    body: &'a Body,
    state: Vec<State>,
    regions_seen: Vec<bool>,
    ops_seen: Vec<bool>,
    errors: &'a mut Errors,
}

impl Checker<'_> {
    /// Checks a region whose parameters and yields must have these widths; afterwards its values are out of scope.
    fn check_region(&mut self, id: RegionId, params: Option<&[Width]>, yields: &[Width], depth: usize) {
        let body = self.body;
        let Some(region) = body.regions.get(id.index()) else {
            self.errors.add(format!("region {} is not there", id.0));
            return;
        };
        if std::mem::replace(&mut self.regions_seen[id.index()], true) {
            self.errors.add(format!("region {} has two owners", id.0));
            return;
        }
        if depth > MAX_NESTING {
            self.errors.add(format!("regions nest deeper than {MAX_NESTING}"));
            return;
        }
        let mut defined = Vec::new();
        self.define(&region.params, &mut defined);
        let found = self.widths(&region.params);
        self.errors
            .check(found.as_deref() == Some(params.unwrap_or(&[])), || "wrong parameters of a region".to_string());
        for &op in &region.ops {
            self.check_op(op, &mut defined, depth);
        }
        let before = self.errors.list.len();
        self.check_visible(&region.yields);
        let found = self.widths(&region.yields);
        self.errors.check(found.as_deref() == Some(yields), || "yields have the wrong number or widths".to_string());
        self.place_errors(before, &|| format!("end of region {}", id.0), Some(self.context.element.span));
        for value in defined {
            self.state[value.index()] = State::OutOfScope;
        }
    }

    fn check_op(&mut self, id: OpId, defined: &mut Vec<ValueId>, depth: usize) {
        let body = self.body;
        let Some(op) = body.ops.get(id.index()) else {
            self.errors.at(format!("{}, op {}", self.context.place, id.0), Some(self.context.element.span));
            self.errors.add("it is not there".to_string());
            return;
        };
        let before = self.errors.list.len();
        if std::mem::replace(&mut self.ops_seen[id.index()], true) {
            self.errors.add("it stands in two places".to_string());
        } else {
            self.errors.span = op.span;
            self.errors.check_span(self.context.design, op.span);
            self.check_visible(&op.operands);
            self.check_shape(op);
            if let Err(problem) = self.check_allowed(op) {
                self.errors.add(problem);
            }
        }
        self.place_errors(before, &|| describe(id, op), op.span);
        self.check_regions(op, depth);
        self.define(&op.results, defined);
    }

    /// Says where the errors from `before` on are. Places are written out only then, because most ops have none.
    fn place_errors(&mut self, before: usize, place: &dyn Fn() -> String, span: Option<diag::Span>) {
        for error in &mut self.errors.list[before..] {
            error.place = format!("{}, {}", self.context.place, place());
            error.span = span;
        }
    }

    fn check_shape(&mut self, op: &Op) {
        let (Some(operands), Some(results)) = (self.widths(&op.operands), self.widths(&op.results)) else {
            self.errors.add("a value is not there".to_string());
            return;
        };
        if op.attr.kind() != op.code.attr_kind() {
            self.errors.add(format!("its attribute is a {:?}", op.code.attr_kind()));
            return;
        }
        let regions_wanted = match op.code {
            Opcode::If => 2,
            Opcode::Loop => 1,
            _ => 0,
        };
        self.errors.check(op.regions.len() == regions_wanted, || {
            format!("{} regions, not {regions_wanted}", op.regions.len())
        });
        let outcome = match (op.code.effect(), op.code) {
            (Effect::Pure, _) => match results[..] {
                [result] => shape::check_pure(op.code, &op.attr, &operands, result),
                _ => Err("wants one result".to_string()),
            },
            (_, Opcode::If) if operands != [Width::BOOL] => Err("its operand is an i1".to_string()),
            (_, Opcode::Loop) if operands != results => Err("its results are its carried values".to_string()),
            (Effect::Region, _) => Ok(()),
            _ => {
                let Context { design, element, .. } = self.context;
                shape::check_effect(design, element, &self.body.locals, op.code, &op.attr, &operands, &results)
            }
        };
        if let Err(problem) = outcome {
            self.errors.add(problem);
        }
    }

    fn check_regions(&mut self, op: &Op, depth: usize) {
        let Some(results) = self.widths(&op.results) else { return };
        let looping: Vec<Width> = [Width::BOOL].iter().chain(&results).copied().collect();
        for &region in &op.regions {
            match op.code {
                Opcode::Loop => self.check_region(region, Some(&results), &looping, depth + 1),
                _ => self.check_region(region, None, &results, depth + 1),
            }
        }
    }

    fn check_visible(&mut self, values: &[ValueId]) {
        for &value in values {
            let visible = self.state.get(value.index()) == Some(&State::Visible);
            self.errors.check(visible, || format!("%{} is not visible here", value.0));
        }
    }

    fn define(&mut self, values: &[ValueId], defined: &mut Vec<ValueId>) {
        for &value in values {
            match self.state.get_mut(value.index()) {
                Some(state @ State::Undefined) => {
                    *state = State::Visible;
                    defined.push(value);
                }
                Some(_) => self.errors.add(format!("%{} is defined twice", value.0)),
                None => self.errors.add(format!("%{} has no width", value.0)),
            }
        }
    }

    fn widths(&self, values: &[ValueId]) -> Option<Vec<Width>> {
        values.iter().map(|value| self.body.values.get(value.index()).copied()).collect()
    }

    /// Whether a body of this kind may do it.
    fn check_allowed(&self, op: &Op) -> Result<(), String> {
        let kind = self.body.kind;
        let store = matches!(&self.context.element.handler, Handler::Packet { store: Some(_), .. });
        let in_chain = kind == BodyKind::Chain;
        let in_packet = in_chain || matches!(kind, BodyKind::Packet | BodyKind::End);
        let allowed = match (op.code, op.code.effect()) {
            (_, Effect::Pure | Effect::Region | Effect::ReadState | Effect::WriteState) => true,
            (Opcode::Assert | Opcode::Trace, _) => true,
            (Opcode::Now | Opcode::WakeAt, _) => kind != BodyKind::Init,
            (Opcode::PktEnter | Opcode::PktEmitted | Opcode::PktDropped | Opcode::PktDropFor, _) => in_chain,
            (Opcode::OutWrite, _) if in_packet => return self.check_struct_write(op),
            (_, Effect::ReadPort | Effect::WritePort) => kind == BodyKind::Flit,
            (Opcode::PktLen, _) => in_chain || kind == BodyKind::End || kind == BodyKind::Packet && store,
            (Opcode::PktTruncate | Opcode::PktAppend, _) => in_chain || in_packet && store,
            (Opcode::Emit | Opcode::Drop | Opcode::MetaWrite, _) => in_packet,
            (_, Effect::WritePacket) => in_chain || kind == BodyKind::Packet || kind == BodyKind::End && store,
            (Opcode::PktAvail | Opcode::PktLoad | Opcode::PktShort, _) => in_packet,
            (_, Effect::ReadPacket | Effect::Outside) => in_packet || kind == BodyKind::Tail,
        };
        if allowed {
            Ok(())
        } else {
            Err(format!("not allowed in a body of kind {kind:?}{}", if store { "" } else { " without store" }))
        }
    }

    fn check_struct_write(&self, op: &Op) -> Result<(), String> {
        let Attr::Message(id) = op.attr else { return Ok(()) };
        match self.context.design.message_types.get(id.index()) {
            Some(message) if message.kind != MessageKind::Struct => {
                Err("packet handlers write struct messages only".to_string())
            }
            _ => Ok(()),
        }
    }
}

/// `%3 = add`, or `op 7 (emit)` for an op without results.
fn describe(id: OpId, op: &Op) -> String {
    match op.results.first() {
        Some(result) => format!("%{} = {}", result.0, op.code.name()),
        None => format!("op {} ({})", id.0, op.code.name()),
    }
}
