//! State and local arrays.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use ir::{Attr, Op, Opcode, ValueId, VarId};

use super::access::{Region, constant_memory};
use super::body::{Lowerer, TrapSiteKind, Vars};
use super::value::{INLINE_LIMBS, Val, n_limbs};
use crate::callees::CalleeId;
use crate::layout::{FixedPlace, LIMB, Place, Words};

/// Bytes up to which a local array is zeroed inline and every time.
const ZEROED_INLINE_MAX: usize = 128;

/// Where a local array lies in the frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalPlace {
    at: u32,
    words: Words,
    /// A limb that is not 0 if the array may be; absent for one that is zeroed inline.
    dirty: Option<u32>,
}

/// Where a variable lives, for an access.
enum VariablePlace {
    Register { base: Value, offset: u32 },
    Memory { base: Value, words: Words },
}

/// An array that is accessed.
struct Array {
    region: Region,
    base: Value,
    offset: u32,
    words: Words,
    width: u32,
    name: String,
}

impl Lowerer<'_> {
    /// Places the local arrays, and zeroes those that an earlier firing wrote.
    pub(super) fn place_locals(&mut self) {
        for local in &self.body.locals {
            let words = Words::new(local.width, local.depth);
            let n_bytes = words.total_bytes();
            let at = self.allocate(n_bytes.div_ceil(LIMB as usize));
            let dirty = (n_bytes > ZEROED_INLINE_MAX).then(|| self.allocate(1));
            self.locals.push(LocalPlace { at, words, dirty });
        }
        for idx in 0..self.locals.len() {
            self.clear_local(idx);
        }
    }

    fn clear_local(&mut self, idx: usize) {
        let LocalPlace { at, words, dirty } = self.locals[idx];
        let (frame, zero) = (self.frame, self.zero());
        let region = Region::Local(idx as u32);
        let Some(dirty) = dirty else {
            for limb in 0..words.total_bytes().div_ceil(LIMB as usize) as u32 {
                self.store(region, zero, frame, (at + limb) * LIMB);
            }
            return;
        };
        let is_dirty = self.load_frame(dirty);
        let (clear, on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_dirty, clear, &[], on, &[]);
        self.seal_and_enter(clear);
        let (address, n_bytes) = (self.frame_address(at), self.iconst(words.total_bytes() as u64));
        self.call(CalleeId::Zero, &[address, n_bytes]);
        self.store_frame(dirty, zero);
        self.builder.ins().jump(on, &[]);
        self.seal_and_enter(on);
    }

    pub(super) fn local(&mut self, op: &Op) {
        let Attr::Local(idx) = op.attr else { unreachable!("local ops name a local array") };
        if op.code == Opcode::LocalClear {
            return self.clear_local(idx as usize);
        }
        let LocalPlace { at, words, dirty } = self.locals[idx as usize];
        let local = &self.body.locals[idx as usize];
        let array = Array {
            region: Region::Local(idx),
            base: self.frame,
            offset: at * LIMB,
            words,
            width: local.width.bits(),
            name: local.name.clone(),
        };
        if op.code == Opcode::LocalRead {
            return self.read(op, &array);
        }
        if let Some(dirty) = dirty {
            let flag = self.iconst(1);
            self.store_frame(dirty, flag);
        }
        self.write(op, &array);
    }

    pub(super) fn variable(&mut self, op: &Op) {
        let Attr::Var(var) = op.attr else { unreachable!("state ops name a variable") };
        let declared = &self.input.element.vars[var.index()];
        let width = declared.width.bits();
        match self.variable_place(var) {
            VariablePlace::Register { base, offset } if op.code == Opcode::RegRead => {
                let flags = self.flags(Region::Registers);
                let val = self.load_val(flags, base, offset, width);
                self.define(op.results[0], val);
            }
            VariablePlace::Register { base, offset } => {
                let value = op.operands[0];
                self.note_change(Region::Registers, value, base, offset);
                let val = self.val(value);
                self.store_any(Region::Registers, &val, width, base, offset);
            }
            VariablePlace::Memory { base, words } => {
                let region = Region::Memory(var.0);
                let array = Array { region, base, offset: words.offset, words, width, name: declared.name.clone() };
                if op.code == Opcode::MemRead { self.read(op, &array) } else { self.write(op, &array) }
            }
        }
    }

    fn variable_place(&mut self, var: VarId) -> VariablePlace {
        match self.input.vars {
            Vars::Own(layout) => match layout.place(var) {
                Place::Register { offset } => VariablePlace::Register { base: self.state, offset },
                Place::Memory { pointer_offset, words, .. } => {
                    let state = self.state;
                    let base = self.builder.ins().load(types::I64, constant_memory(), state, pointer_offset as i32);
                    VariablePlace::Memory { base, words }
                }
            },
            Vars::Fixed(places) => match places[var.index()] {
                FixedPlace::Register { address } => VariablePlace::Register { base: self.iconst(address), offset: 0 },
                FixedPlace::Memory { address, words } => VariablePlace::Memory { base: self.iconst(address), words },
            },
        }
    }

    /// Notes whether limbs in memory differ from the value that is about to replace them.
    fn note_change(&mut self, region: Region, value: ValueId, base: Value, offset: u32) {
        if self.slots.is_some() {
            return; // A chain moves a packet with every firing.
        }
        let (val, width) = (self.val(value), self.width(value));
        for i in 0..n_limbs(width) {
            let limb = self.limb(&val, i, width);
            let before = self.load(region, base, offset + i as u32 * LIMB);
            self.note_difference(before, limb);
        }
    }

    fn note_difference(&mut self, before: Value, after: Value) {
        let difference = self.builder.ins().bxor(before, after);
        let changed = self.builder.use_var(self.variables.changed);
        let changed = self.builder.ins().bor(changed, difference);
        self.builder.def_var(self.variables.changed, changed);
    }

    fn read(&mut self, op: &Op, array: &Array) {
        let result = op.results[0];
        let index = self.clamped(op.operands[0]);
        if self.maximum(op.operands[0]) < array.words.depth {
            let val = self.load_word(array, index);
            return self.define(result, val);
        }
        let in_range = self.in_range(index, array);
        let inside = self.builder.create_block();
        if self.is_strict() {
            self.enter_or_trap(in_range, inside, index, array, op);
            let val = self.load_word(array, index);
            return self.define(result, val);
        }
        // One value that both paths give: the word, or zeros.
        let (outside, merge) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(outside);
        self.builder.ins().brif(in_range, inside, &[], outside, &[]);
        self.seal_and_enter(inside);
        let n = n_limbs(array.width);
        let word = self.load_word(array, index);
        if let Val::Far(at) = word {
            self.builder.ins().jump(merge, &[]);
            self.seal_and_enter(outside);
            let (address, n_bytes) = (self.frame_address(at), self.iconst(n as u64 * u64::from(LIMB)));
            self.call(CalleeId::Zero, &[address, n_bytes]);
            self.builder.ins().jump(merge, &[]);
            self.seal_and_enter(merge);
            return self.define(result, word);
        }
        let limbs = self.jump_with(merge, &word);
        self.seal_and_enter(outside);
        let zeros: Vec<Value> = (0..n).map(|_| self.zero()).collect();
        self.jump_again(merge, &zeros);
        self.seal_and_enter(merge);
        self.define(result, Val::from_limbs(limbs));
    }

    fn write(&mut self, op: &Op, array: &Array) {
        let index = self.clamped(op.operands[0]);
        if self.maximum(op.operands[0]) < array.words.depth {
            return self.store_word(array, index, op.operands[1]);
        }
        let in_range = self.in_range(index, array);
        let inside = self.builder.create_block();
        if self.is_strict() {
            self.enter_or_trap(in_range, inside, index, array, op);
            return self.store_word(array, index, op.operands[1]);
        }
        let merge = self.builder.create_block();
        self.builder.ins().brif(in_range, inside, &[], merge, &[]);
        self.seal_and_enter(inside);
        self.store_word(array, index, op.operands[1]);
        self.builder.ins().jump(merge, &[]);
        self.seal_and_enter(merge);
    }

    fn in_range(&mut self, index: Value, array: &Array) -> Value {
        let depth = self.iconst(array.words.depth);
        self.builder.ins().icmp(IntCC::UnsignedLessThan, index, depth)
    }

    fn enter_or_trap(
        &mut self,
        in_range: Value,
        inside: cranelift_codegen::ir::Block,
        index: Value,
        array: &Array,
        op: &Op,
    ) {
        let kind = TrapSiteKind::OutOfRange { array: array.name.clone(), depth: array.words.depth };
        let trap = self.trap_block(kind, op.span, Some(index));
        self.builder.ins().brif(in_range, inside, &[], trap, &[]);
        self.builder.seal_block(trap);
        self.seal_and_enter(inside);
    }

    /// Address of a word whose index is in range.
    fn word_address(&mut self, array: &Array, index: Value) -> Value {
        let stride = array.words.stride;
        let distance = if stride.is_power_of_two() {
            self.builder.ins().ishl_imm_u(index, i64::from(stride.trailing_zeros()))
        } else {
            self.builder.ins().imul_imm_u(index, i64::from(stride))
        };
        self.builder.ins().iadd(array.base, distance)
    }

    fn load_word(&mut self, array: &Array, index: Value) -> Val {
        let address = self.word_address(array, index);
        let flags = self.flags(array.region);
        match machine_word(array.words) {
            Some(narrow) => {
                let word = self.builder.ins().load(narrow, flags, address, array.offset as i32);
                Val::Small(self.builder.ins().uextend(types::I64, word))
            }
            None => self.load_val(flags, address, array.offset, array.width),
        }
    }

    fn store_word(&mut self, array: &Array, index: Value, value: ValueId) {
        let address = self.word_address(array, index);
        let is_state = matches!(array.region, Region::Memory(_));
        let flags = self.flags(array.region);
        if let Some(narrow) = machine_word(array.words) {
            let value = self.small(value);
            if is_state && self.slots.is_none() {
                let before = self.builder.ins().load(narrow, flags, address, array.offset as i32);
                let before = self.builder.ins().uextend(types::I64, before);
                self.note_difference(before, value);
            }
            let word = self.builder.ins().ireduce(narrow, value);
            self.builder.ins().store(flags, word, address, array.offset as i32);
            return;
        }
        if is_state {
            self.note_change(array.region, value, address, array.offset);
        }
        let val = self.val(value);
        self.store_any(array.region, &val, array.width, address, array.offset);
    }

    /// Jumps to a block that gets parameters for these limbs; gives the parameters.
    pub(super) fn jump_with(&mut self, block: cranelift_codegen::ir::Block, val: &Val) -> Vec<Value> {
        let limbs: Vec<Value> = match val {
            Val::Small(small) => vec![*small],
            Val::Limbs(limbs) => limbs.to_vec(),
            Val::Far(_) => unreachable!("callers look at the length"),
        };
        debug_assert!(limbs.len() <= INLINE_LIMBS, "longer values lie in the frame");
        let params = (0..limbs.len()).map(|_| self.builder.append_block_param(block, types::I64)).collect();
        self.jump_again(block, &limbs);
        params
    }

    /// Jumps to a block that has parameters for these limbs.
    pub(super) fn jump_again(&mut self, block: cranelift_codegen::ir::Block, limbs: &[Value]) {
        let arguments: Vec<_> = limbs.iter().map(|&limb| cranelift_codegen::ir::BlockArg::Value(limb)).collect();
        self.builder.ins().jump(block, &arguments);
    }
}

/// The type of words narrower than a limb.
fn machine_word(words: Words) -> Option<Type> {
    match words.bytes {
        1 => Some(types::I8),
        2 => Some(types::I16),
        4 => Some(types::I32),
        _ => None,
    }
}
