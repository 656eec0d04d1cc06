//! Lowers each distinct instance once.
//!
//! Instances that agree in element, parameters and port types have the same bodies but for the instance's name in the default
//! reason of `drop()`, which is put right in the copy.

use std::collections::BTreeMap;

use ir::{Attr, Body, Handler, MessageType, MessageTypeId, Opcode, Port};
use syntax::ast::ElementDecl;

use crate::arguments::Params;
use crate::graph::Instance;
use crate::lower;
use crate::scope::{Decls, Diagnostics, LowerInput, Lowered, MetaDecl};

/// Everything that an instance's bodies depend on, but for its name.
pub struct Blueprint<'x, 'a> {
    /// The element.
    pub element: &'a ElementDecl,
    /// Every parameter.
    pub params: &'x Params,
    /// Message type of each input.
    pub inputs: &'x [MessageTypeId],
    /// Message type of each output.
    pub outputs: &'x [MessageTypeId],
}

/// Lowers instances of one design and remembers what it did.
pub struct Lowering<'x> {
    decls: &'x Decls<'x>,
    message_types: &'x [MessageType],
    meta: &'x BTreeMap<String, MetaDecl<'x>>,
    done: BTreeMap<String, (String, Option<Lowered>)>,
}

impl<'x> Lowering<'x> {
    /// For a design with these names, message types and metadata.
    pub fn new(
        decls: &'x Decls<'x>,
        message_types: &'x [MessageType],
        meta: &'x BTreeMap<String, MetaDecl<'x>>,
    ) -> Lowering<'x> {
        Lowering { decls, message_types, meta, done: BTreeMap::new() }
    }

    /// The bodies of an instance of this name; nothing if they have errors, which are then reported.
    pub fn lower(&mut self, blueprint: &Blueprint<'_, '_>, instance: &str, diags: &mut Diagnostics) -> Option<Lowered> {
        let Blueprint { element, params, inputs, outputs } = blueprint;
        let key = format!("{:?} {params:?} {inputs:?} {outputs:?}", element.span);
        if let Some((first, lowered)) = self.done.get(&key) {
            return lowered.as_ref().map(|lowered| renamed(lowered, first, instance));
        }
        let input = LowerInput {
            decls: self.decls,
            element,
            instance,
            params,
            inputs,
            outputs,
            message_types: self.message_types,
            meta: self.meta,
        };
        let lowered = lower::lower_element(&input, diags);
        self.done
            .insert(key, (instance.to_string(), lowered.as_ref().map(|lowered| renamed(lowered, instance, instance))));
        lowered
    }
}

/// The element of a design that an instance and its bodies make; channels are entered later.
pub fn element(instance: &Instance, lowered: Lowered) -> ir::Element {
    let ports = |types: &[MessageTypeId]| types.iter().map(|&message| Port { message, channel: None }).collect();
    ir::Element {
        name: instance.name.clone(),
        kind: instance.kind.clone(),
        host_control: instance.host_control,
        autorun: instance.autorun,
        on_host: instance.on_host,
        params: instance.params.clone(),
        inputs: ports(&instance.inputs),
        outputs: ports(&instance.outputs),
        vars: lowered.vars,
        init: lowered.init,
        handler: lowered.handler,
        signals: lowered.signals,
        timing: lowered.timing,
        hls_pragmas: lowered.hls_pragmas,
        native: lowered.native,
        span: instance.span,
    }
}

/// A copy in which the default drop reason names the instance `to`.
fn renamed(lowered: &Lowered, from: &str, to: &str) -> Lowered {
    let (old, new) = (format!("dropped by {from}"), format!("dropped by {to}"));
    let body = |body: &Body| {
        let mut body = body.clone();
        for op in body.ops.iter_mut().filter(|op| op.code == Opcode::Drop && op.attr == Attr::Text(old.clone())) {
            op.attr = Attr::Text(new.clone());
        }
        body
    };
    let handler = match &lowered.handler {
        Handler::Flit(flit) => Handler::Flit(body(flit)),
        Handler::Packet { window, grow, store, head, tail, end } => Handler::Packet {
            window: *window,
            grow: *grow,
            store: *store,
            head: Box::new(body(head)),
            tail: tail.as_ref().map(|tail| Box::new(body(tail))),
            end: end.as_ref().map(|end| Box::new(body(end))),
        },
    };
    Lowered {
        vars: lowered.vars.clone(),
        init: lowered.init.clone(),
        handler,
        signals: lowered.signals.clone(),
        timing: lowered.timing,
        hls_pragmas: lowered.hls_pragmas.clone(),
        native: lowered.native.clone(),
    }
}
