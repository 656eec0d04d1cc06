//! The packet: its bytes by pointer within the valid ones, its sideband in place, its fate.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use ir::chain::{CAUSE_LONG, CAUSE_NO_PORT, FIRST_OWN_CAUSE};
use ir::engine::{Flags, Packet};
use ir::side::{META_LO, SidePart};
use ir::{Attr, Op, Opcode, ValueId};

use super::access::Region;
use super::body::{Lowerer, SCRATCH_A, SCRATCH_D, Variables};
use super::value::{INLINE_LIMBS, Val, n_limbs, ones};
use crate::callees::CalleeId;
use crate::context::{Context, PORTS_MAX};
use crate::layout::LIMB;

/// A run of bytes that one machine access moves: where it stands, and which limb holds it from which bit on.
struct Piece {
    offset: u32,
    bytes: u32,
    limb: usize,
    bit: u32,
}

/// The pieces of a big-endian number: the odd bytes of the top limb first, then whole limbs.
fn pieces(n_bytes: u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut offset = 0;
    while offset < n_bytes {
        let left = n_bytes - offset;
        let in_limb = if left.is_multiple_of(8) { 8 } else { left % 8 };
        let bytes = 1 << in_limb.ilog2();
        let below = left - bytes;
        pieces.push(Piece { offset, bytes, limb: (below / 8) as usize, bit: below % 8 * 8 });
        offset += bytes;
    }
    pieces
}

fn machine_type(bytes: u32) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        8 => types::I64,
        other => unreachable!("pieces have no {other} bytes"),
    }
}

impl Lowerer<'_> {
    /// Reads what the context says of the packet.
    pub(super) fn load_packet(&mut self) {
        let (packet, meta) =
            (self.load_pointer(offset_of!(Context, packet)), self.load_pointer(offset_of!(Context, meta)));
        self.builder.def_var(self.variables.packet, packet);
        self.builder.def_var(self.variables.meta, meta);
        self.load_variable(offset_of!(Context, bytes), self.variables.bytes);
        self.load_variable(offset_of!(Context, avail), self.variables.avail);
        self.load_variable(offset_of!(Context, len), self.variables.len);
        self.load_variable(offset_of!(Context, in_port), self.variables.in_port);
        self.load_variable(offset_of!(Context, short), self.variables.short);
        self.load_variable(offset_of!(Context, emitted), self.variables.emitted);
        self.load_variable(offset_of!(Context, dropped), self.variables.dropped);
    }

    pub(super) fn packet(&mut self, op: &Op) {
        match op.code {
            Opcode::PktLoad => self.load_bytes(op),
            Opcode::PktStore => self.store_bytes(op),
            Opcode::PktPush | Opcode::PktPop | Opcode::PktPushAt | Opcode::PktPopAt => self.resize(op),
            Opcode::PktTruncate => self.change_end(CalleeId::PacketTruncate, op),
            Opcode::PktAppend => self.change_end(CalleeId::PacketAppend, op),
            Opcode::MetaRead => self.read_meta(op),
            Opcode::MetaWrite => self.write_meta(op),
            Opcode::Emit => self.emit(op),
            Opcode::Drop => self.drop_packet(op),
            Opcode::PktEnter => self.enter_element(op),
            Opcode::PktDropFor => {
                let cause = self.small(op.operands[0]);
                self.drop_for_number(cause);
            }
            _ => {
                let value = self.packet_property(op.code);
                self.define(op.results[0], Val::Small(value));
            }
        }
    }

    fn packet_property(&mut self, code: Opcode) -> Value {
        match code {
            Opcode::PktAvail => self.builder.use_var(self.variables.avail),
            Opcode::PktLen => self.builder.use_var(self.variables.len),
            Opcode::PktInPort => self.builder.use_var(self.variables.in_port),
            Opcode::PktEmitted => self.builder.use_var(self.variables.emitted),
            Opcode::PktDropped => self.builder.use_var(self.variables.dropped),
            Opcode::PktShort => {
                let short = self.builder.use_var(self.variables.short);
                let is_short = self.builder.ins().icmp_imm_u(IntCC::NotEqual, short, 0);
                self.truth(is_short)
            }
            Opcode::PktTime => self.packet_field(types::I64, offset_of!(Packet, time_ns)),
            Opcode::PktMissing => self.packet_field(types::I32, offset_of!(Packet, missing)),
            Opcode::PktError => {
                let flags = self.packet_field(types::I8, offset_of!(Packet, flags.0));
                let shifted = self.builder.ins().ushr_imm_u(flags, i64::from(Flags::ERROR.0.trailing_zeros()));
                self.builder.ins().band_imm_u(shifted, 1)
            }
            other => unreachable!("`{}` is compiled elsewhere", other.name()),
        }
    }

    fn packet_field(&mut self, width: Type, offset: usize) -> Value {
        let packet = self.builder.use_var(self.variables.packet);
        let flags = self.flags(Region::PacketFields);
        let value = self.builder.ins().load(width, flags, packet, offset as i32);
        if width == types::I64 { value } else { self.builder.ins().uextend(types::I64, value) }
    }

    /// Whether `n_bytes` bytes from the offset on are valid.
    fn is_valid(&mut self, offset: ValueId, n_bytes: u32) -> Value {
        let avail = self.builder.use_var(self.variables.avail);
        let end = match self.constant(offset) {
            Some(offset) => self.iconst(offset + u64::from(n_bytes)),
            None => {
                let offset = self.small(offset);
                self.builder.ins().iadd_imm_u(offset, i64::from(n_bytes))
            }
        };
        self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, avail)
    }

    /// Address of the byte at an offset, as a base and a constant distance.
    fn byte_address(&mut self, offset: ValueId) -> (Value, u32) {
        let bytes = self.builder.use_var(self.variables.bytes);
        match self.constant(offset) {
            Some(offset) if offset < 1 << 24 => (bytes, offset as u32),
            _ => {
                let offset = self.small(offset);
                (self.builder.ins().iadd(bytes, offset), 0)
            }
        }
    }

    fn load_bytes(&mut self, op: &Op) {
        let result = op.results[0];
        let width = self.width(result);
        let n_bytes = width / 8;
        let n = n_limbs(width);
        if n > INLINE_LIMBS {
            let at = self.allocate(n);
            self.call_load(op, n_bytes, at);
            return self.define(result, Val::Far(at));
        }
        if self.is_known_valid(op.operands[0], n_bytes) {
            let limbs = self.load_valid(op.operands[0], n_bytes);
            return self.define(result, Val::from_limbs(limbs));
        }
        let is_valid = self.is_valid(op.operands[0], n_bytes);
        let (inside, outside, merge) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(outside);
        self.builder.ins().brif(is_valid, inside, &[], outside, &[]);
        self.seal_and_enter(inside);
        let limbs = self.load_valid(op.operands[0], n_bytes);
        let results = self.jump_with(merge, &Val::from_limbs(limbs));
        self.seal_and_enter(outside);
        self.call_load(op, n_bytes, SCRATCH_D);
        let limbs: Vec<Value> = (0..n as u32).map(|i| self.load_frame(SCRATCH_D + i)).collect();
        self.jump_again(merge, &limbs);
        self.seal_and_enter(merge);
        self.define(result, Val::from_limbs(results));
    }

    /// The limbs of valid bytes, which are few enough for registers.
    fn load_valid(&mut self, offset: ValueId, n_bytes: u32) -> Vec<Value> {
        let (base, distance) = self.byte_address(offset);
        let mut limbs: Vec<Option<Value>> = vec![None; n_limbs(8 * n_bytes)];
        let flags = self.unaligned_flags(Region::PacketBytes);
        for piece in pieces(n_bytes) {
            let offset = (distance + piece.offset) as i32;
            let raw = self.builder.ins().load(machine_type(piece.bytes), flags, base, offset);
            let swapped = if piece.bytes == 1 { raw } else { self.builder.ins().bswap(raw) };
            let number = if piece.bytes == 8 { swapped } else { self.builder.ins().uextend(types::I64, swapped) };
            let placed =
                if piece.bit == 0 { number } else { self.builder.ins().ishl_imm_u(number, i64::from(piece.bit)) };
            let limb = &mut limbs[piece.limb];
            *limb = Some(match *limb {
                None => placed,
                Some(others) => self.builder.ins().bor(others, placed),
            });
        }
        limbs.into_iter().map(|limb| limb.expect("each limb has a byte")).collect()
    }

    /// Reads as far as bytes are valid.
    fn call_load(&mut self, op: &Op, n_bytes: u32, at: u32) {
        self.store_variable(offset_of!(Context, avail), self.variables.avail);
        self.store_variable(offset_of!(Context, short), self.variables.short);
        let (context, offset) = (self.context, self.small(op.operands[0]));
        let (n_bytes, to) = (self.iconst(u64::from(n_bytes)), self.frame_address(at));
        self.call(CalleeId::PacketLoad, &[context, offset, n_bytes, to]);
        self.load_variable(offset_of!(Context, short), self.variables.short);
    }

    fn store_bytes(&mut self, op: &Op) {
        let (val, width) = (self.val(op.operands[1]), self.width(op.operands[1]));
        let n_bytes = width / 8;
        if let Val::Far(at) = val {
            return self.call_store(op, n_bytes, at);
        }
        if self.is_known_valid(op.operands[0], n_bytes) {
            return self.store_valid(op.operands[0], n_bytes, &val, width);
        }
        let is_valid = self.is_valid(op.operands[0], n_bytes);
        let (inside, outside, merge) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(outside);
        self.builder.ins().brif(is_valid, inside, &[], outside, &[]);
        self.seal_and_enter(inside);
        self.store_valid(op.operands[0], n_bytes, &val, width);
        self.builder.ins().jump(merge, &[]);
        self.seal_and_enter(outside);
        let frame = self.frame;
        self.store_val(Region::Frame, &val, frame, SCRATCH_A * LIMB);
        self.call_store(op, n_bytes, SCRATCH_A);
        self.builder.ins().jump(merge, &[]);
        self.seal_and_enter(merge);
    }

    fn store_valid(&mut self, offset: ValueId, n_bytes: u32, val: &Val, width: u32) {
        let (base, distance) = self.byte_address(offset);
        let flags = self.unaligned_flags(Region::PacketBytes);
        for piece in pieces(n_bytes) {
            let limb = self.limb(val, piece.limb, width);
            let low = if piece.bit == 0 { limb } else { self.builder.ins().ushr_imm_u(limb, i64::from(piece.bit)) };
            let narrow = match piece.bytes {
                8 => low,
                bytes => self.builder.ins().ireduce(machine_type(bytes), low),
            };
            let swapped = if piece.bytes == 1 { narrow } else { self.builder.ins().bswap(narrow) };
            self.builder.ins().store(flags, swapped, base, (distance + piece.offset) as i32);
        }
    }

    /// Writes as far as bytes are valid.
    fn call_store(&mut self, op: &Op, n_bytes: u32, at: u32) {
        self.store_variable(offset_of!(Context, avail), self.variables.avail);
        self.store_variable(offset_of!(Context, short), self.variables.short);
        let (context, offset) = (self.context, self.small(op.operands[0]));
        let (n_bytes, from) = (self.iconst(u64::from(n_bytes)), self.frame_address(at));
        self.call(CalleeId::PacketStore, &[context, offset, n_bytes, from]);
        self.load_variable(offset_of!(Context, short), self.variables.short);
    }

    fn resize(&mut self, op: &Op) {
        let callee = match op.code {
            Opcode::PktPush | Opcode::PktPushAt => CalleeId::PacketPush,
            _ => CalleeId::PacketPop,
        };
        let context = self.context;
        let (offset, n_bytes) = match *op.operands {
            [n_bytes] => (self.zero(), self.small(n_bytes)),
            [offset, n_bytes] => (self.small(offset), self.small(n_bytes)),
            _ => unreachable!("a change of length has one or two operands"),
        };
        self.call_on_packet(callee, &[context, offset, n_bytes]);
    }

    fn change_end(&mut self, callee: CalleeId, op: &Op) {
        let (context, n_bytes) = (self.context, self.small(op.operands[0]));
        self.call_on_packet(callee, &[context, n_bytes]);
    }

    /// Calls what may change the packet's length and drop it.
    fn call_on_packet(&mut self, callee: CalleeId, arguments: &[Value]) {
        let Variables { bytes, avail, len, dropped, .. } = self.variables;
        // It keeps what it does not change, such as all of it when it drops the packet.
        self.store_variable(offset_of!(Context, bytes), bytes);
        self.store_variable(offset_of!(Context, avail), avail);
        self.store_variable(offset_of!(Context, len), len);
        self.store_variable(offset_of!(Context, dropped), dropped);
        self.call(callee, arguments);
        self.load_variable(offset_of!(Context, bytes), bytes);
        self.load_variable(offset_of!(Context, avail), avail);
        self.load_variable(offset_of!(Context, len), len);
        self.load_variable(offset_of!(Context, dropped), dropped);
    }

    /// Where a metadata field lies in the packet's metadata words.
    fn meta_part(&self, op: &Op) -> SidePart {
        let Attr::Meta(field) = op.attr else { unreachable!("metadata ops name a field") };
        let part = ir::side::meta_part(self.input.design, field as usize);
        SidePart { lo: part.lo - META_LO, width: part.width }
    }

    fn meta_word(&mut self, word: u32) -> Value {
        let meta = self.builder.use_var(self.variables.meta);
        self.load(Region::Meta, meta, word * LIMB)
    }

    fn read_meta(&mut self, op: &Op) {
        let SidePart { lo, width } = self.meta_part(op);
        let limbs: Vec<Value> =
            (0..width).step_by(64).map(|at| self.read_meta_bits(lo + at, (width - at).min(64))).collect();
        let val = match limbs.len() {
            n if n > INLINE_LIMBS => {
                let at = self.allocate(n);
                for (i, limb) in limbs.into_iter().enumerate() {
                    self.store_frame(at + i as u32, limb);
                }
                Val::Far(at)
            }
            _ => Val::from_limbs(limbs),
        };
        self.define(op.results[0], val);
    }

    /// At most 64 bits.
    fn read_meta_bits(&mut self, lo: u32, width: u32) -> Value {
        let (word, shift) = (lo / 64, lo % 64);
        let low = self.meta_word(word);
        let mut bits = self.builder.ins().ushr_imm_u(low, i64::from(shift));
        if shift + width > 64 {
            let high = self.meta_word(word + 1);
            let high = self.builder.ins().ishl_imm_u(high, i64::from(64 - shift));
            bits = self.builder.ins().bor(bits, high);
        }
        self.masked(bits, width)
    }

    fn write_meta(&mut self, op: &Op) {
        let SidePart { lo, width } = self.meta_part(op);
        let val = self.val(op.operands[0]);
        for (i, at) in (0..width).step_by(64).enumerate() {
            let limb = self.limb(&val, i, width);
            self.write_meta_bits(lo + at, (width - at).min(64), limb);
        }
    }

    fn write_meta_bits(&mut self, lo: u32, width: u32, value: Value) {
        let (word, shift) = (lo / 64, lo % 64);
        let low = self.builder.ins().ishl_imm_u(value, i64::from(shift));
        self.write_meta_word(word, ones(width) << shift, low);
        if shift + width > 64 {
            let high = self.builder.ins().ushr_imm_u(value, i64::from(64 - shift));
            self.write_meta_word(word + 1, ones(width) >> (64 - shift), high);
        }
    }

    /// Replaces the bits of a mask.
    fn write_meta_word(&mut self, word: u32, mask: u64, bits: Value) {
        let meta = self.builder.use_var(self.variables.meta);
        let value = if mask == u64::MAX {
            bits
        } else {
            let before = self.meta_word(word);
            let kept = self.builder.ins().band_imm_u(before, !mask as i64);
            self.builder.ins().bor(kept, bits)
        };
        self.store(Region::Meta, value, meta, word * LIMB);
    }

    fn emit(&mut self, op: &Op) {
        let ports = self.input.packet_outputs;
        match self.constant(op.operands[0]) {
            Some(port @ 1..=32) if ports >> (port - 1) & 1 == 1 => {
                let bit = self.iconst(1 << (port - 1));
                self.mark_emitted(bit);
            }
            _ => self.emit_anywhere(op),
        }
    }

    fn mark_emitted(&mut self, bit: Value) {
        let emitted = self.builder.use_var(self.variables.emitted);
        let emitted = self.builder.ins().bor(emitted, bit);
        self.builder.def_var(self.variables.emitted, emitted);
    }

    /// Marks an output that is known only now, or drops the packet if it does not exist.
    fn emit_anywhere(&mut self, op: &Op) {
        let port = self.small(op.operands[0]);
        let idx = self.builder.ins().iadd_imm_s(port, -1);
        let one = self.iconst(1);
        let bit = self.builder.ins().ishl(one, idx);
        let exists = self.builder.ins().band_imm_u(bit, self.input.packet_outputs as i64);
        let in_range = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, idx, PORTS_MAX as i64);
        let zero = self.zero();
        let bit = self.builder.ins().select(in_range, exists, zero);
        self.mark_emitted(bit);
        let (missing, on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(missing);
        self.builder.ins().brif(bit, on, &[], missing, &[]);
        self.seal_and_enter(missing);
        let before = self.builder.use_var(self.variables.dropped);
        let known = self.load_context(offset_of!(Context, no_port));
        let no_port = self.builder.ins().select(before, known, port);
        self.store_context(offset_of!(Context, no_port), no_port);
        self.drop_for(CAUSE_NO_PORT);
        self.builder.ins().jump(on, &[]);
        self.seal_and_enter(on);
    }

    fn drop_packet(&mut self, op: &Op) {
        let reason = self.text(op, &format!("dropped by {}", self.input.element.name));
        let known = self.tables.reasons.iter().position(|known| *known == reason);
        let number = known.unwrap_or_else(|| {
            self.tables.reasons.push(reason);
            self.tables.reasons.len() - 1
        });
        self.drop_for(FIRST_OWN_CAUSE + number as u32);
    }

    /// Drops the packet unless it was dropped before.
    fn drop_for(&mut self, cause: u32) {
        let cause = self.iconst(u64::from(cause));
        self.drop_for_number(cause);
    }

    fn drop_for_number(&mut self, cause: Value) {
        let before = self.builder.use_var(self.variables.dropped);
        let first = self.builder.ins().select(before, before, cause);
        self.builder.def_var(self.variables.dropped, first);
    }

    /// Begins an element's view of the packet.
    fn enter_element(&mut self, op: &Op) {
        self.n_entered += 1;
        match self.constant(op.operands[0]) {
            Some(window) if window >= self.window_max => self.window_max = window,
            _ => self.facts.give_up(),
        }
        let [window, grow, store] = [0, 1, 2].map(|i| self.small(op.operands[i]));
        let len = self.builder.use_var(self.variables.len);
        let avail = self.builder.ins().umin(len, window);
        let none = self.zero();
        self.builder.def_var(self.variables.avail, avail);
        self.builder.def_var(self.variables.short, none);
        self.builder.def_var(self.variables.emitted, none);
        let dropped = match self.constant(op.operands[2]) {
            Some(0) => none,
            _ => {
                let is_long = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, len, store);
                let cause = self.iconst(u64::from(CAUSE_LONG));
                self.builder.ins().select(is_long, cause, none)
            }
        };
        self.builder.def_var(self.variables.dropped, dropped);
        if self.uses.resizes {
            self.store_context(offset_of!(Context, grow_left), grow);
            self.store_context(offset_of!(Context, store), store);
        }
    }
}
