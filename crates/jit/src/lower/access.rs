//! Loads and stores: every memory access of code is made here or in `packet.rs`.

use std::borrow::Cow;

use cranelift_codegen::ir::{AliasRegionData, InstBuilder, MemFlagsData, Value, types};

use cranelift_frontend::Variable;

use super::body::Lowerer;
use super::value::{INLINE_LIMBS, Val, n_limbs};
use crate::callees::CalleeId;
use crate::layout::LIMB;

/// Kinds of memory that do not overlap; Cranelift keeps what it knows of one when another is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    Context,
    Registers,
    Meta,
    PacketBytes,
    PacketFields,
    Frame,
    Outputs,
    Io,
    Slots,
    /// A memory, by the offset of its pointer.
    Memory(u32),
    /// A local array.
    Local(u32),
}

impl Region {
    fn number(self) -> u32 {
        match self {
            Region::Context => 0,
            Region::Registers => 1,
            Region::Meta => 2,
            Region::PacketBytes => 3,
            Region::PacketFields => 4,
            Region::Frame => 5,
            Region::Outputs => 6,
            Region::Io => 7,
            Region::Slots => 8,
            Region::Memory(offset) => 16 + 2 * offset,
            Region::Local(idx) => 17 + 2 * idx,
        }
    }
}

/// What never changes during a firing and is always there, so that loads may move and merge.
pub(super) fn constant_memory() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl Lowerer<'_> {
    /// Flags of an access to aligned memory of a kind.
    pub(super) fn flags(&mut self, region: Region) -> MemFlagsData {
        let data = AliasRegionData { user_id: region.number(), description: Cow::Borrowed("") };
        let alias = self.builder.func.dfg.alias_regions.insert(data);
        MemFlagsData::trusted().with_alias_region(Some(alias))
    }

    /// Flags of an access to memory of a kind at any address.
    pub(super) fn unaligned_flags(&mut self, region: Region) -> MemFlagsData {
        let alias = self.flags(region).alias_region();
        MemFlagsData::new().with_notrap().with_alias_region(alias)
    }

    pub(super) fn load(&mut self, region: Region, base: Value, offset: u32) -> Value {
        let flags = self.flags(region);
        self.builder.ins().load(types::I64, flags, base, offset as i32)
    }

    pub(super) fn store(&mut self, region: Region, value: Value, base: Value, offset: u32) {
        let flags = self.flags(region);
        self.builder.ins().store(flags, value, base, offset as i32);
    }

    /// A field of the context.
    pub(super) fn load_context(&mut self, field: usize) -> Value {
        let context = self.context;
        self.load(Region::Context, context, field as u32)
    }

    pub(super) fn store_context(&mut self, field: usize, value: Value) {
        let context = self.context;
        self.store(Region::Context, value, context, field as u32);
    }

    /// Writes a variable back to its field of the context.
    pub(super) fn store_variable(&mut self, field: usize, variable: Variable) {
        let value = self.builder.use_var(variable);
        self.store_context(field, value);
    }

    /// Reads a variable from its field of the context.
    pub(super) fn load_variable(&mut self, field: usize, variable: Variable) {
        let value = self.load_context(field);
        self.builder.def_var(variable, value);
    }

    /// A pointer of the context, which code never changes.
    pub(super) fn load_pointer(&mut self, field: usize) -> Value {
        let context = self.context;
        self.builder.ins().load(types::I64, constant_memory(), context, field as i32)
    }

    pub(super) fn load_frame(&mut self, at: u32) -> Value {
        let frame = self.frame;
        self.load(Region::Frame, frame, at * LIMB)
    }

    pub(super) fn store_frame(&mut self, at: u32, value: Value) {
        let frame = self.frame;
        self.store(Region::Frame, value, frame, at * LIMB);
    }

    /// Loads a value that lies in limbs.
    pub(super) fn load_val(&mut self, flags: MemFlagsData, base: Value, offset: u32, width: u32) -> Val {
        let n = n_limbs(width);
        if n > INLINE_LIMBS {
            let at = self.allocate(n);
            let (to, from) = (self.frame_address(at), self.builder.ins().iadd_imm_u(base, i64::from(offset)));
            self.call_copy(to, from, n);
            return Val::Far(at);
        }
        let limb = |i: usize| (offset + i as u32 * LIMB) as i32;
        let limbs = (0..n).map(|i| self.builder.ins().load(types::I64, flags, base, limb(i))).collect();
        Val::from_limbs(limbs)
    }

    /// Stores a value in limbs.
    pub(super) fn store_val(&mut self, region: Region, val: &Val, base: Value, offset: u32) {
        match val {
            Val::Small(small) => self.store(region, *small, base, offset),
            Val::Limbs(limbs) => {
                for (i, &limb) in limbs.iter().enumerate() {
                    self.store(region, limb, base, offset + i as u32 * LIMB);
                }
            }
            Val::Far(_) => unreachable!("values in the frame are copied, which takes their length"),
        }
    }

    /// Stores a value of any width in limbs.
    pub(super) fn store_any(&mut self, region: Region, val: &Val, width: u32, base: Value, offset: u32) {
        if let Val::Far(at) = *val {
            let (to, from) = (self.builder.ins().iadd_imm_u(base, i64::from(offset)), self.frame_address(at));
            self.call_copy(to, from, n_limbs(width));
        } else {
            self.store_val(region, val, base, offset);
        }
    }

    pub(super) fn call_copy(&mut self, to: Value, from: Value, n_limbs: usize) {
        let n = self.iconst(n_limbs as u64);
        self.call(CalleeId::Copy, &[to, from, n]);
    }

    /// Calls a callee that has no result.
    pub(super) fn call(&mut self, callee: CalleeId, arguments: &[Value]) {
        let function = self.callee(callee);
        self.builder.ins().call(function, arguments);
    }

    /// Calls a callee that has one.
    pub(super) fn call_for_result(&mut self, callee: CalleeId, arguments: &[Value]) -> Value {
        let function = self.callee(callee);
        let inst = self.builder.ins().call(function, arguments);
        self.builder.inst_results(inst)[0]
    }
}
