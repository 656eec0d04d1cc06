//! Messages at ports.
//!
//! What is ready and what was written is kept in registers; the oldest message of each input is read in place, field by field,
//! so that fields nobody uses cost nothing. A port that has no message reads as a message of zeros.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::{Attr, MessageTypeId, Op, Opcode, ValueId};

use super::access::{Region, constant_memory};
use super::body::Lowerer;
use super::value::{Val, n_limbs};
use crate::context::{Context, PORTS_MAX};
use crate::layout::LIMB;

impl Lowerer<'_> {
    fn ready(&mut self) -> Value {
        self.builder.use_var(self.variables.ready)
    }

    fn consume(&mut self, mask: Value) {
        let ready = self.ready();
        let left = self.builder.ins().band_not(ready, mask);
        self.builder.def_var(self.variables.ready, left);
    }

    pub(super) fn input(&mut self, op: &Op) {
        match op.code {
            Opcode::InMask => {
                let ready = self.ready();
                self.define(op.results[0], Val::Small(ready));
            }
            Opcode::InReady => {
                let (mask, ready) = (self.small(op.operands[0]), self.ready());
                let found = self.builder.ins().band(mask, ready);
                let holds = self.builder.ins().icmp_imm_u(IntCC::NotEqual, found, 0);
                let holds = self.truth(holds);
                self.define(op.results[0], Val::Small(holds));
            }
            Opcode::InClear => {
                let mask = self.small(op.operands[0]);
                self.consume(mask);
            }
            Opcode::InRead => self.take_message(op),
            _ => self.peek_message(op),
        }
    }

    fn take_message(&mut self, op: &Op) {
        let ports = ports_of(&self.input.element.inputs, message(op));
        let ready = self.ready();
        let constant = self.constant(op.operands[0]).map(|mask| mask as u32 & ports);
        if let Some(mask) = constant.filter(|mask| mask.count_ones() == 1) {
            let front = self.front_if_ready(mask.trailing_zeros());
            let mask = self.iconst(u64::from(mask));
            self.consume(mask);
            return self.load_fields(&op.results, front);
        }
        let wanted = self.small(op.operands[0]);
        let wanted = self.builder.ins().band_imm_u(wanted, i64::from(ports));
        let candidates = self.builder.ins().band(wanted, ready);
        // With bit 32 set, the lowest bit is that of the message of zeros if there is no candidate.
        let candidates = self.builder.ins().bor_imm_u(candidates, 1 << PORTS_MAX);
        let lowest = self.builder.ins().ctz(candidates);
        let front = self.front(lowest);
        let one = self.iconst(1);
        let bit = self.builder.ins().ishl(one, lowest);
        self.consume(bit);
        self.load_fields(&op.results, front);
    }

    fn peek_message(&mut self, op: &Op) {
        let ports = ports_of(&self.input.element.inputs, message(op));
        let front = match self.constant(op.operands[0]) {
            Some(port @ 1..=32) if ports >> (port - 1) & 1 == 1 => self.front_if_ready(port as u32 - 1),
            Some(_) => {
                let none = self.iconst(PORTS_MAX as u64);
                self.front(none)
            }
            None => {
                let port = self.small(op.operands[0]);
                let ready = self.ready();
                let readable = self.builder.ins().band_imm_u(ready, i64::from(ports));
                let idx = self.builder.ins().iadd_imm_s(port, -1);
                let is_port = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, idx, PORTS_MAX as i64);
                let at_port = self.builder.ins().ushr(readable, idx);
                let holds = self.builder.ins().band_imm_u(at_port, 1);
                let none = self.iconst(PORTS_MAX as u64);
                let idx_if_ready = self.builder.ins().select(holds, idx, none);
                let idx = self.builder.ins().select(is_port, idx_if_ready, none);
                self.front(idx)
            }
        };
        self.load_fields(&op.results, front);
    }

    /// The oldest message of an input (from 0) if it is ready, else zeros.
    fn front_if_ready(&mut self, port: u32) -> Value {
        let ready = self.ready();
        let holds = self.builder.ins().band_imm_u(ready, 1 << port);
        let field = |port: usize| offset_of!(Context, fronts) + port * LIMB as usize;
        let (front, zeros) = (self.load_pointer(field(port as usize)), self.load_pointer(field(PORTS_MAX)));
        self.builder.ins().select(holds, front, zeros)
    }

    /// Entry `idx` of the fronts, at most [`PORTS_MAX`].
    fn front(&mut self, idx: Value) -> Value {
        let distance = self.builder.ins().ishl_imm_u(idx, i64::from(LIMB.trailing_zeros()));
        let address = self.builder.ins().iadd(self.context, distance);
        self.builder.ins().load(types::I64, constant_memory(), address, offset_of!(Context, fronts) as i32)
    }

    fn load_fields(&mut self, fields: &[ValueId], front: Value) {
        let mut offset = 0;
        for &field in fields {
            let width = self.width(field);
            let val = self.load_val(constant_memory(), front, offset, width);
            self.define(field, val);
            offset += n_limbs(width) as u32 * LIMB;
        }
    }

    pub(super) fn output(&mut self, op: &Op) {
        let field = match op.code {
            Opcode::OutWrite => return self.write_message(op),
            Opcode::OutClear => {
                let mask = self.small(op.operands[0]);
                let written = self.builder.use_var(self.variables.written);
                let left = self.builder.ins().band_not(written, mask);
                return self.builder.def_var(self.variables.written, left);
            }
            Opcode::OutFailed => offset_of!(Context, last_failed),
            Opcode::OutWritten => offset_of!(Context, last_written),
            _ => offset_of!(Context, last_mask),
        };
        let mask = self.load_context(field);
        self.define(op.results[0], Val::Small(mask));
    }

    fn write_message(&mut self, op: &Op) {
        let ports = ports_of(&self.input.element.outputs, message(op));
        let (port, fields) = op.operands.split_first().expect("the port comes first");
        match self.constant(*port) {
            Some(port @ 1..=32) if ports >> (port - 1) & 1 == 1 => {
                let idx = self.iconst(port - 1);
                self.write_fields(idx, fields);
            }
            Some(_) => {}
            None => {
                let port = self.small(*port);
                let idx = self.builder.ins().iadd_imm_s(port, -1);
                let is_port = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, idx, PORTS_MAX as i64);
                let ports = self.iconst(u64::from(ports));
                let at_port = self.builder.ins().ushr(ports, idx);
                let matches = self.builder.ins().band_imm_u(at_port, 1);
                let is_port = self.truth(is_port);
                let writes = self.builder.ins().band(is_port, matches);
                let (write, on) = (self.builder.create_block(), self.builder.create_block());
                self.builder.ins().brif(writes, write, &[], on, &[]);
                self.seal_and_enter(write);
                self.write_fields(idx, fields);
                self.builder.ins().jump(on, &[]);
                self.seal_and_enter(on);
            }
        }
    }

    /// Writes a message to an output, from 0, that exists and has its type.
    fn write_fields(&mut self, idx: Value, fields: &[ValueId]) {
        let outputs = self.load_pointer(offset_of!(Context, outputs));
        let stride = self.input.output_words * LIMB as usize;
        let distance = self.builder.ins().imul_imm_u(idx, stride as i64);
        let message = self.builder.ins().iadd(outputs, distance);
        let mut offset = 0;
        for &field in fields {
            let (val, width) = (self.val(field), self.width(field));
            self.store_any(Region::Outputs, &val, width, message, offset);
            offset += n_limbs(width) as u32 * LIMB;
        }
        let one = self.iconst(1);
        let bit = self.builder.ins().ishl(one, idx);
        let written = self.builder.use_var(self.variables.written);
        let written = self.builder.ins().bor(written, bit);
        self.builder.def_var(self.variables.written, written);
    }
}

fn message(op: &Op) -> MessageTypeId {
    let Attr::Message(message) = op.attr else { unreachable!("port ops name a message type") };
    message
}

/// Mask of the ports that have a message type.
fn ports_of(ports: &[ir::Port], message: MessageTypeId) -> u32 {
    let matching = ports.iter().enumerate().filter(|(_, port)| port.message == message);
    matching.fold(0, |mask, (idx, _)| mask | 1 << idx)
}
