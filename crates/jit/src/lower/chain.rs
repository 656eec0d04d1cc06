//! A chain's body as a loop over slots.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use ir::Body;

use super::access::Region;
use super::body::{ElementInput, Lowerer, Tables, lower};
use crate::code::{Assembly, Defined};
use crate::context::Context;
use crate::slot::{STOP_BIT, Slot};

const SLOT_BYTES: i64 = size_of::<Slot<'_>>() as i64;
/// Outputs that an `emit` may name: none. A chain emits only to keep the number of a port that does not exist.
const NO_PORTS: u64 = 0;

/// The slots: the first, and the one whose turn it is.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    first: Value,
    current: Value,
}

/// A compiled chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompiledChain {
    pub(crate) defined: Defined,
    pub(crate) frame_limbs: usize,
}

/// Compiles a chain; the error is the code generator's.
pub(crate) fn compile_chain(
    assembly: &mut Assembly,
    input: ElementInput<'_>,
    body: &Body,
    tables: &mut Tables,
) -> Result<CompiledChain, String> {
    let input = ElementInput { packet_outputs: NO_PORTS, ..input };
    let signature = assembly.chain_signature();
    let (frame_limbs, _) =
        lower(assembly, signature, input, body, tables, |lowerer, params| lowerer.chain(params[1], params[2]));
    Ok(CompiledChain { defined: assembly.define()?, frame_limbs })
}

impl Lowerer<'_> {
    /// The whole function.
    fn chain(&mut self, first: Value, n_slots: Value) {
        let bytes = self.builder.ins().imul_imm_s(n_slots, SLOT_BYTES);
        let end = self.builder.ins().iadd(first, bytes);
        let (header, again, done) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let current = self.builder.append_block_param(header, types::I64);
        self.builder.ins().jump(header, &[BlockArg::Value(first)]);
        self.builder.switch_to_block(header);
        self.slots = Some(Slots { first, current });
        self.load_slot(current);
        self.place_locals();
        self.region(self.body.root);
        let stop = self.store_result(current);
        let next = self.builder.ins().iadd_imm_s(current, SLOT_BYTES);
        self.builder.ins().brif(stop, done, &[], again, &[]);
        self.seal_and_enter(again);
        let goes_on = self.builder.ins().icmp(IntCC::UnsignedLessThan, next, end);
        self.builder.ins().brif(goes_on, header, &[BlockArg::Value(next)], done, &[]);
        self.builder.seal_block(header);
        self.seal_and_enter(done);
        let n_done = self.slots_before(next, first);
        self.builder.ins().return_(&[n_done]);
    }

    fn slots_before(&mut self, slot: Value, first: Value) -> Value {
        let bytes = self.builder.ins().isub(slot, first);
        self.builder.ins().udiv_imm_u(bytes, SLOT_BYTES)
    }

    fn load_slot(&mut self, slot: Value) {
        let variables = self.variables;
        let fields = [
            (variables.bytes, offset_of!(Slot<'_>, bytes)),
            (variables.len, offset_of!(Slot<'_>, len)),
            (variables.packet, offset_of!(Slot<'_>, packet)),
            (variables.meta, offset_of!(Slot<'_>, meta)),
            (variables.now, offset_of!(Slot<'_>, now_ns)),
            (variables.in_port, offset_of!(Slot<'_>, entry)),
        ];
        for (variable, offset) in fields {
            let value = self.load(Region::Slots, slot, offset as u32);
            self.builder.def_var(variable, value);
        }
        let zero = self.zero();
        let len = self.builder.use_var(variables.len);
        self.builder.def_var(variables.avail, len);
        for variable in [variables.short, variables.emitted, variables.dropped, variables.changed, variables.written] {
            self.builder.def_var(variable, zero);
        }
        self.builder.def_var(variables.ready, zero);
        let rounds = self.iconst(self.input.options.loop_rounds_max);
        self.builder.def_var(variables.rounds, rounds);
        // Callees look for it there.
        self.store_variable(offset_of!(Context, packet), variables.packet);
    }

    /// Stores where the packet leaves; gives whether to stop.
    fn store_result(&mut self, slot: Value) -> Value {
        let yields = self.body.region(self.body.root).yields.clone();
        let [exit, ports, stop] = [0, 1, 2].map(|i| self.small(yields[i]));
        let ports = self.builder.ins().ishl_imm_u(ports, 32);
        let flag = self.builder.ins().ishl_imm_u(stop, i64::from(STOP_BIT));
        let result = self.builder.ins().bor(exit, ports);
        let result = self.builder.ins().bor(result, flag);
        self.store(Region::Slots, result, slot, offset_of!(Slot<'_>, result) as u32);
        stop
    }

    /// What a chain returns that stops with a trap.
    pub(super) fn stopped_chain(&mut self, slots: Slots, trap: u64) -> Value {
        let n_done = self.slots_before(slots.current, slots.first);
        let trap = self.iconst(trap << 32);
        self.builder.ins().bor(n_done, trap)
    }
}
