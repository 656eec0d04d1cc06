//! Designs with something left out.

use std::collections::BTreeMap;

use ir::{
    Attr, Body, BoundaryId, ChannelEnd, ChannelId, Design, ElementId, Handler, Op, OpId, Opcode, RegionId, Value, VarId,
};

/// Without an element; what comes to its first input goes to where its first output went.
pub fn without_element(design: &Design, id: ElementId) -> Design {
    let mut copy = design.clone();
    let element = &design.elements[id.index()];
    let input = element.inputs.iter().find_map(|port| port.channel);
    let output = element.outputs.iter().find_map(|port| port.channel);
    if let (Some(input), Some(output)) = (input, output) {
        let (to, to_type) = (copy.channels[output.index()].to, copy.channels[output.index()].to_type);
        (copy.channels[input.index()].to, copy.channels[input.index()].to_type) = (to, to_type);
        copy.channels[output.index()].to = ChannelEnd::Null;
        if let ChannelEnd::Element { element, port } = to {
            copy.elements[element.index()].inputs[port as usize].channel = Some(input);
        }
    }
    without_path(&copy, id)
}

/// Without an element; its inputs go to `Drop`, its outputs are silent.
pub fn without_path(design: &Design, id: ElementId) -> Design {
    let mut copy = design.clone();
    for channel in &mut copy.channels {
        for end in [&mut channel.from, &mut channel.to] {
            if let ChannelEnd::Element { element, .. } = end {
                match (*element).cmp(&id) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => *end = ChannelEnd::Null,
                    std::cmp::Ordering::Greater => element.0 -= 1,
                }
            }
        }
    }
    copy.elements.remove(id.index());
    compacted(&copy)
}

/// Without channels from nowhere to nowhere, and without boundary ports that no channel reaches.
fn compacted(design: &Design) -> Design {
    let mut copy = Design { channels: vec![], boundaries: vec![], ..design.clone() };
    let mut boundaries = BTreeMap::new();
    for (idx, boundary) in design.boundaries.iter().enumerate() {
        let end = ChannelEnd::Boundary(BoundaryId(idx as u32));
        if design.channels.iter().any(|channel| channel.from == end || channel.to == end) {
            boundaries.insert(idx as u32, copy.boundaries.len() as u32);
            copy.boundaries.push(boundary.clone());
        }
    }
    let mut channels = BTreeMap::new();
    for (idx, channel) in design.channels.iter().enumerate() {
        if (channel.from, channel.to) == (ChannelEnd::Null, ChannelEnd::Null) {
            continue;
        }
        let mut channel = channel.clone();
        for end in [&mut channel.from, &mut channel.to] {
            if let ChannelEnd::Boundary(boundary) = end {
                *end = ChannelEnd::Boundary(BoundaryId(boundaries[&boundary.0]));
            }
        }
        channels.insert(idx as u32, copy.channels.len() as u32);
        copy.channels.push(channel);
    }
    for element in &mut copy.elements {
        for port in element.inputs.iter_mut().chain(&mut element.outputs) {
            port.channel = port.channel.and_then(|channel| channels.get(&channel.0)).map(|&channel| ChannelId(channel));
        }
    }
    copy
}

/// A section that an element can do without.
#[derive(Clone, Copy, Debug)]
pub enum Section {
    Init,
    Tail,
    End,
}

/// All of them.
pub const SECTIONS: [Section; 3] = [Section::Init, Section::Tail, Section::End];

/// The design without a section of an element.
pub fn without_section(design: &Design, element: usize, section: Section) -> Design {
    let mut copy = design.clone();
    let element = &mut copy.elements[element];
    match (section, &mut element.handler) {
        (Section::Init, _) => element.init = None,
        (Section::Tail, Handler::Packet { tail, .. }) => *tail = None,
        (Section::End, Handler::Packet { end, .. }) => *end = None,
        (Section::Tail | Section::End, Handler::Flit(_)) => {}
    }
    copy
}

/// Ops of a body that [`with_ops`] can leave out.
pub fn n_removable(body: &Body) -> usize {
    removable(body).len()
}

/// Every op but constants, outer ones first.
fn removable(body: &Body) -> Vec<OpId> {
    let mut found = Vec::new();
    let mut regions = vec![body.root];
    while let Some(region) = regions.pop() {
        for &id in &body.region(region).ops {
            let op = body.op(id);
            if op.code != Opcode::Const {
                found.push(id);
            }
            regions.extend(&op.regions);
        }
    }
    found
}

/// The body with those removable ops that are kept; zeros stand for the results of the others.
pub fn with_ops(body: &Body, keep: &dyn Fn(usize) -> bool) -> Body {
    let removed: Vec<OpId> =
        removable(body).into_iter().enumerate().filter(|&(idx, _)| !keep(idx)).map(|(_, id)| id).collect();
    let mut copy = body.clone();
    for region in 0..body.regions.len() {
        for id in std::mem::take(&mut copy.regions[region].ops) {
            if !removed.contains(&id) {
                copy.regions[region].ops.push(id);
                continue;
            }
            for result in body.op(id).results.clone() {
                let zero = Op {
                    code: Opcode::Const,
                    attr: Attr::Const(Value::ZERO),
                    operands: vec![],
                    results: vec![],
                    regions: vec![],
                    span: None,
                };
                let zero = copy.push(RegionId(region as u32), zero, &[]);
                copy.ops[zero.index()].results = vec![result];
            }
        }
    }
    without_unused_constants(&copy.compacted())
}

fn without_unused_constants(body: &Body) -> Body {
    let mut used = vec![false; body.values.len()];
    let operands = body.ops.iter().flat_map(|op| &op.operands);
    operands.chain(body.regions.iter().flat_map(|region| &region.yields)).for_each(|value| used[value.index()] = true);
    let mut copy = body.clone();
    for region in &mut copy.regions {
        region.ops.retain(|id| {
            let op = body.op(*id);
            op.code != Opcode::Const || used[op.results[0].index()]
        });
    }
    copy.compacted()
}

/// Gives a constant that value, if it is one and has another that is not smaller.
pub fn set_constant(body: &mut Body, op: usize, to: u64) -> bool {
    match &mut body.ops[op].attr {
        Attr::Const(value) if *value > Value::from(to) => {
            *value = Value::from(to);
            true
        }
        _ => false,
    }
}

/// Without the variables of an element that no body touches.
pub fn without_idle_state(design: &Design, element: usize) -> Design {
    let mut copy = design.clone();
    let element = &mut copy.elements[element];
    let mut used = vec![false; element.vars.len()];
    for (_, body) in element.bodies() {
        for op in &body.ops {
            if let Attr::Var(var) = op.attr {
                used[var.index()] = true;
            }
        }
    }
    let position = |idx: usize| used[..idx].iter().filter(|used| **used).count() as u32;
    for body in element.bodies_mut() {
        for op in &mut body.ops {
            if let Attr::Var(var) = &mut op.attr {
                *var = VarId(position(var.index()));
            }
        }
    }
    let mut idx = 0;
    element.vars.retain(|_| {
        idx += 1;
        used[idx - 1]
    });
    copy
}
