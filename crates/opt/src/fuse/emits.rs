//! To which outputs an element may send a packet, and why it may drop one.

use ir::chain::{CAUSE_APPEND, CAUSE_LONG, CAUSE_NO_PORT, CAUSE_NO_ROOM, CAUSE_POP_OUTSIDE, CAUSE_PUSH_OUTSIDE};
use ir::{Attr, Body, Design, Element, Handler, MessageKind, Opcode, RegionId, Value};

use super::select::bodies;

/// What is known of an element's `emit`s.
pub(super) struct Emits {
    /// Outputs, from 0, in order.
    pub(super) ports: Vec<u32>,
    /// All outputs that carry packets, as a mask.
    pub(super) packet_outputs: u32,
    /// No packet is emitted twice.
    pub(super) at_most_once: bool,
    /// Numbers of the causes to drop that are not its own reasons, but for "undecided".
    pub(super) causes: Vec<u32>,
}

/// An `emit`.
pub(super) enum EmitPort {
    /// To this output, from 0, which carries packets.
    Output(u32),
    /// To an output that is known only as it runs, or that does not exist.
    Unproven,
}

impl Emits {
    pub(super) fn of(design: &Design, element: &Element) -> Emits {
        let carries = |port: &ir::Port| design.message_types[port.message.index()].kind == MessageKind::Packet;
        let outputs = element.outputs.iter().take(32).enumerate();
        let packet_outputs = outputs.filter(|(_, port)| carries(port)).fold(0, |mask, (idx, _)| mask | 1_u32 << idx);
        let mut mask = 0;
        let mut causes = Vec::new();
        for body in bodies(element) {
            let constants = constants(body);
            for op in &body.ops {
                match op.code {
                    Opcode::Emit => match emit_port(packet_outputs, constants[op.operands[0].index()]) {
                        EmitPort::Output(port) => mask |= 1 << port,
                        EmitPort::Unproven => {
                            mask = packet_outputs;
                            causes.push(CAUSE_NO_PORT);
                        }
                    },
                    Opcode::PktPush | Opcode::PktPushAt => causes.extend([CAUSE_NO_ROOM, CAUSE_PUSH_OUTSIDE]),
                    Opcode::PktPop | Opcode::PktPopAt => causes.push(CAUSE_POP_OUTSIDE),
                    Opcode::PktAppend => causes.push(CAUSE_APPEND),
                    _ => {}
                }
            }
        }
        if matches!(element.handler, Handler::Packet { store: Some(_), .. }) {
            causes.push(CAUSE_LONG);
        }
        causes.sort_unstable();
        causes.dedup();
        let at_most_once = bodies(element).map(|body| emits_max(body, body.root)).sum::<usize>() <= 1;
        Emits { ports: (0..32).filter(|port| mask >> port & 1 == 1).collect(), packet_outputs, at_most_once, causes }
    }

    /// The output of an `emit`, whose operand may be known.
    pub(super) fn port(&self, known: Option<u64>) -> EmitPort {
        emit_port(self.packet_outputs, known)
    }

    /// Position in `ports` of an output that is in it.
    pub(super) fn position(&self, port: u32) -> usize {
        self.ports.binary_search(&port).expect("every port that is emitted to was collected")
    }
}

fn emit_port(packet_outputs: u32, known: Option<u64>) -> EmitPort {
    match known {
        Some(port @ 1..=32) if packet_outputs >> (port - 1) & 1 == 1 => EmitPort::Output(port as u32 - 1),
        _ => EmitPort::Unproven,
    }
}

/// By value: the number that it is known to be.
pub(super) fn constants(body: &Body) -> Vec<Option<u64>> {
    let mut constants = vec![None; body.values.len()];
    for op in &body.ops {
        if let (Opcode::Const, Attr::Const(value)) = (op.code, &op.attr) {
            constants[op.results[0].index()] = Value::to_u64(value);
        }
    }
    constants
}

/// How many `emit`s one packet may meet; 2 stands for more.
fn emits_max(body: &Body, region: RegionId) -> usize {
    let ops = body.region(region).ops.iter().map(|&op| body.op(op));
    let counts = ops.map(|op| {
        let inner = op.regions.iter().map(|&inner| emits_max(body, inner)).max().unwrap_or(0);
        match op.code {
            Opcode::Emit => 1,
            Opcode::Loop => 2 * inner,
            _ => inner,
        }
    });
    counts.sum::<usize>().min(2)
}
