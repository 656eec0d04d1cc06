//! `.signal` sections: ClickNP's raw form with `event` and `outevent`, and the typed form.

use std::rc::Rc;

use diag::{Code, Span};
use ir::{BodyKind, Field, Signal, Value, ValueId, Width};
use syntax::ast::{self, Expr, SignalDecl};

use super::expr::Rvalue;
use super::names::Entity;
use super::place::{Place, Storage, StoredLeaf};
use super::{Lowerer, Res, Section};
use crate::types::{IntType, StructKind, StructType, Type};

/// `lparam` words of a raw signal.
const N_LPARAMS: u64 = 7;
/// The command, `sparam`, and the `lparam` words by name.
const RAW_PARAMS_MAX: usize = 9;

fn event_type() -> Type {
    words_type("event", ["cmd", "sparam", "lparam"])
}

/// `ClSignal`, in which sources of ClickNP's first years build the answer: `p.Sig.LParam[0] = x; set_signal(p);`.
pub fn answer_type() -> Type {
    let fields = vec![("Sig".to_string(), words_type("ClSignal::Sig", ["Cmd", "SParam", "LParam"]))];
    Type::Struct(Rc::new(StructType { name: "ClSignal".to_string(), kind: StructKind::Plain, fields }))
}

/// The words of a raw signal as a struct.
fn words_type(name: &str, [cmd, sparam, lparam]: [&str; 3]) -> Type {
    let fields = vec![
        (cmd.to_string(), Type::Int(IntType::UINT)),
        (sparam.to_string(), Type::Int(IntType::UINT)),
        (lparam.to_string(), Type::Array(Box::new(Type::Int(IntType::UINT64)), N_LPARAMS)),
    ];
    Type::Struct(Rc::new(StructType { name: name.to_string(), kind: StructKind::Plain, fields }))
}

fn lparams() -> Vec<Field> {
    (0..N_LPARAMS).map(|at| Field { name: format!("lparam{at}"), width: Width::of(64), signed: false }).collect()
}

impl<'a> Lowerer<'a, '_> {
    /// One `.signal` section.
    pub fn signal(&mut self, decl: &'a SignalDecl, span: Span) -> Res<Signal> {
        match decl {
            SignalDecl::Raw { params, body } => self.raw_signal(params, body, span),
            SignalDecl::Typed { doc, name, params, results, body } => {
                let signal = TypedSignal { doc, name, params, results };
                self.typed_signal(&signal, body, span)
            }
        }
    }

    fn raw_signal(&mut self, params: &'a [ast::FnParam], body: &'a ast::Block, span: Span) -> Res<Signal> {
        if let Some(surplus) = params.get(RAW_PARAMS_MAX) {
            let help = "they are the command, `sparam` and `lparam[0]` to `[6]`; write a typed signal for more";
            return Err(self.error(Code::E0420, surplus.name.span, "a raw signal has at most nine parameters", help));
        }
        let word = |name: &str| Field { name: name.to_string(), width: Width::of(32), signed: false };
        let fields = [vec![word("cmd"), word("sparam")], lparams()].concat();
        let widths: Vec<Width> = fields.iter().map(|field| field.width).collect();
        self.start_body(BodyKind::Signal, Section::Signal, &widths);
        let values = self.emit.params();
        let event = self.event_place("event", &values);
        let zeros: Vec<ValueId> = widths.iter().map(|&width| self.emit.zero(width)).collect();
        let outevent = self.event_place("outevent", &zeros);
        for (at, (param, &value)) in params.iter().zip(&values).enumerate() {
            let Type::Int(ty) = self.declared_type(&param.ty, &param.dims)? else {
                let message = format!("`{}` is no integer", param.name.text);
                return Err(self.error(
                    Code::E0420,
                    param.ty.span,
                    message,
                    "the parameters of a raw signal are integers",
                ));
            };
            let place = self.new_local(&param.name.text, &Type::Int(ty));
            let from = if at < 2 { IntType::UINT } else { IntType::UINT64 };
            let from = super::arith::Scalar { value, ty: from, literal: false };
            let value = self.convert(from, ty);
            self.store(&place, &[value], param.name.span)?;
            self.declare(&param.name, Entity::Place(place));
        }
        self.declare_object("event", event);
        self.declare_object("outevent", outevent.clone());
        let frame = self.new_frame(Type::Void, true);
        self.body_block(body, frame)?;
        let results = self.load(&outevent.field(2), span)?;
        let body = self.end_body(results);
        let defaults = vec![Some(Value::ZERO); fields.len()];
        Ok(Signal {
            name: "signal".to_string(),
            params: fields,
            defaults,
            results: lparams(),
            body,
            doc: String::new(),
        })
    }

    /// `set_signal(p)`: `p` is the answer.
    pub fn set_signal(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        self.n_args("set_signal", args, 1, "set_signal(p)", span)?;
        self.need_section("set_signal", &[Section::Signal], span)?;
        let Some(Entity::Place(outevent)) = self.lookup("outevent")? else {
            let help = "assign the results that follow the arrow";
            return Err(self.error(Code::E0314, span, "a typed signal has no `outevent`", help));
        };
        let ty = answer_type();
        let answer = self.value(&args[0], Some(&ty))?;
        if answer.ty != ty {
            let message = format!("`set_signal` takes a `ClSignal`, this is `{}`", answer.ty.name());
            return Err(self.error(Code::E0303, args[0].span, message, "or assign `outevent.lparam[…]` directly"));
        }
        self.store(&outevent, &answer.scalars, span)?;
        Ok(Rvalue::void())
    }

    fn declare_object(&mut self, name: &str, place: Place) {
        self.scopes.last_mut().expect("a body has a scope").entry(name.to_string()).or_insert(Entity::Place(place));
    }

    /// `event` as a variable: the words are slots, so that constant indices cost nothing.
    fn event_place(&mut self, name: &str, values: &[ValueId]) -> Place {
        let slots: Vec<usize> = values.iter().map(|&value| self.add_slot(value)).collect();
        let word = |slot: usize| StoredLeaf { ty: IntType::UINT, dims: vec![], storage: Storage::Slot(slot) };
        let elements = slots[2..].iter().map(|&slot| Storage::Slot(slot)).collect();
        let lparam =
            StoredLeaf { ty: IntType::UINT64, dims: vec![N_LPARAMS], storage: Storage::Elements(Rc::new(elements)) };
        Place {
            ty: event_type(),
            leaves: Rc::new(vec![word(slots[0]), word(slots[1]), lparam]),
            first: 0,
            indices: vec![],
            bits: None,
            read_only: None,
            body: self.body_id,
            name: name.to_string(),
        }
    }

    fn typed_signal(&mut self, decl: &TypedSignal<'a>, body: &'a ast::Block, span: Span) -> Res<Signal> {
        let mut params = Vec::new();
        let mut defaults = Vec::new();
        let mut types = Vec::new();
        for param in decl.params {
            let ty = self.signal_type(param)?;
            match &param.default {
                Some(default) => defaults.extend(self.constant(default, Some(&ty))?.1.into_iter().map(Some)),
                None => defaults.extend((0..ty.n_scalars()).map(|_| None)),
            }
            params.extend(ty.scalars(&param.name.text));
            types.push(ty);
        }
        let widths: Vec<Width> = params.iter().map(|field| field.width).collect();
        let mut results = Vec::new();
        let mut result_types = Vec::new();
        for result in decl.results {
            let ty = self.signal_type(result)?;
            results.extend(ty.scalars(&result.name.text));
            result_types.push(ty);
        }
        self.start_body(BodyKind::Signal, Section::Signal, &widths);
        let mut values = self.emit.params().into_iter();
        for (param, ty) in decl.params.iter().zip(&types) {
            let place = self.new_local(&param.name.text, ty);
            let scalars: Vec<ValueId> = values.by_ref().take(ty.n_scalars() as usize).collect();
            self.store(&place, &scalars, param.name.span)?;
            self.declare(&param.name, Entity::Place(place));
        }
        let mut places = Vec::new();
        for (result, ty) in decl.results.iter().zip(&result_types) {
            let place = self.new_local(&result.name.text, ty);
            self.declare(&result.name, Entity::Place(place.clone()));
            places.push(place);
        }
        // With a single result `return e;` assigns it.
        let mut frame = self.new_frame(Type::Void, false);
        if let ([place], [ty @ (Type::Int(_) | Type::Struct(_))]) = (&places[..], &result_types[..]) {
            let slots = place.slots();
            if slots.len() as u64 == ty.n_scalars() {
                frame.ty = ty.clone();
                frame.values = slots;
                frame.value_is_optional = true;
            }
        }
        self.body_block(body, frame)?;
        let mut yields = Vec::new();
        for place in &places {
            yields.extend(self.load(place, span)?);
        }
        let body = self.end_body(yields);
        Ok(Signal { name: decl.name.text.clone(), params, defaults, results, body, doc: decl.doc.to_string() })
    }

    fn signal_type(&mut self, param: &'a ast::FnParam) -> Res<Type> {
        if param.by_reference {
            let help = "write results after the arrow: `.signal f(uint a) -> (uint b)`";
            return Err(self.error(Code::E0420, param.name.span, "a signal has no reference parameters", help));
        }
        let ty = self.declared_type(&param.ty, &param.dims)?;
        self.check_scalar_count(&ty, param.name.span)?;
        Ok(ty)
    }
}

struct TypedSignal<'a> {
    doc: &'a str,
    name: &'a ast::Ident,
    params: &'a [ast::FnParam],
    results: &'a [ast::FnParam],
}
