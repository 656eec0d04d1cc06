//! Single elements with every op that their bodies allow, each wired to boundary ports of its own.

use diag::{FileId, Span};

use super::body::{Place, Style, body};
use super::{Random, VERDICT};
use crate::{
    BodyKind, Boundary, BoundaryDirection, BoundaryId, Channel, ChannelEnd, ChannelId, Design, Element, ElementId,
    Field, Handler, Param, Port, Signal, Timing, Value, Var, Width,
};

pub(super) fn add_element(design: &mut Design, id: u32, size: u32, random: &mut Random) {
    let is_packet = random.one_in(2);
    let main = if is_packet { Design::PACKET } else { Design::FLIT };
    let mut inputs = vec![main];
    if !is_packet && random.one_in(2) {
        inputs.push(VERDICT);
    }
    let outputs = [main, VERDICT];
    let element = ElementId(id);
    let ends = |port| ChannelEnd::Element { element, port };
    let mut wire = |design: &mut Design, message, port: u32, direction| {
        let channel = ChannelId(design.channels.len() as u32);
        let boundary = BoundaryId(design.boundaries.len() as u32);
        let outside = if message == VERDICT { ChannelEnd::Null } else { ChannelEnd::Boundary(boundary) };
        let (name, from, to) = match direction {
            BoundaryDirection::In => ("nic_in", outside, ends(port)),
            BoundaryDirection::Out => ("nic_out", ends(port), outside),
        };
        if message != VERDICT {
            let name = format!("{name}{id}");
            design.boundaries.push(Boundary { name, direction, rate_bps: None, message, span: span(random) });
        }
        let lossy = direction == BoundaryDirection::Out && random.one_in(4);
        let depth = 1 + random.below(64) as u32;
        design.channels.push(Channel {
            from,
            to,
            from_type: message,
            to_type: message,
            depth,
            lossy,
            span: span(random),
        });
        Port { message, channel: Some(channel) }
    };
    let inputs: Vec<Port> =
        (0..).zip(&inputs).map(|(port, &message)| wire(design, message, port, BoundaryDirection::In)).collect();
    let outputs: Vec<Port> =
        (0..).zip(&outputs).map(|(port, &message)| wire(design, message, port, BoundaryDirection::Out)).collect();
    let vars = vars(random);
    let store = random.one_in(2).then_some(2048);
    let mut body = |kind, params: &[Width], results: &[Width]| {
        body(
            kind,
            params,
            results,
            &Place { design, vars: &vars, store: store.is_some(), style: Style::Single },
            size,
            random,
        )
    };
    let (w32, w256) = (Width::of(32), Width::of(256));
    let handler = if is_packet {
        Handler::Packet {
            window: 64,
            grow: 16,
            store,
            head: Box::new(body(BodyKind::Packet, &[], &[])),
            tail: Some(Box::new(body(BodyKind::Tail, &[w256, w32, w32], &[w256]))),
            end: Some(Box::new(body(BodyKind::End, &[], &[]))),
        }
    } else {
        Handler::Flit(body(BodyKind::Flit, &[], &[w32]))
    };
    let signal = Signal {
        name: "poke".to_string(),
        params: vec![Field { name: "p.x".to_string(), width: w32, signed: false }],
        defaults: vec![Some(Value::Small(7))],
        results: vec![Field { name: "ok".to_string(), width: Width::BOOL, signed: false }],
        body: body(BodyKind::Signal, &[w32], &[Width::BOOL]),
        doc: "Pokes.\n\t\"Twice\".".to_string(),
    };
    let init = Some(body(BodyKind::Init, &[], &[]));
    design.elements.push(Element {
        name: format!("group/e#{id}"),
        kind: "Random".to_string(),
        host_control: random.one_in(2),
        autorun: random.one_in(2),
        on_host: random.one_in(2),
        params: vec![Param { name: "DEPTH".to_string(), value: "16".to_string() }],
        inputs,
        outputs,
        vars,
        init,
        handler,
        signals: vec![signal],
        timing: Timing { ii: random.one_in(2).then_some(1), always: random.one_in(2) },
        hls_pragmas: vec!["HLS pipeline".to_string()],
        native: None,
        span: span(random),
    });
}

pub(super) fn span(random: &mut Random) -> Span {
    let start = random.below(1000) as u32;
    Span { file: FileId(0), start, end: start + random.below(30) as u32 }
}

fn vars(random: &mut Random) -> Vec<Var> {
    let mut vars = Vec::new();
    for (i, bits) in [32, 1, 200, 8, 64, 520].into_iter().enumerate() {
        let width = Width::of(bits);
        let depth = (i >= 2).then(|| 1 + random.below(40));
        let n_reset = random.below(depth.unwrap_or(1) + 1);
        let reset = (0..n_reset).map(|_| random.value(width)).collect();
        vars.push(Var { name: format!("v{i}.x"), width, signed: random.one_in(2), depth, reset });
    }
    vars
}
