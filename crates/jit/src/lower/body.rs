//! One body: entry, dispatch of ops, exit and traps.

use std::mem::offset_of;

use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, Signature, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_module::{FuncId, Module};
use ir::engine::{Bounds, Options, Trap, TrapKind};
use ir::{Attr, Body, BodyKind, Design, Element, Op, OpId, Opcode, Span};

use super::access::Region;
use super::chain::Slots;
use super::facts::Facts;
use super::state::LocalPlace;
use super::value::{INLINE_LIMBS, Val, n_limbs};
use crate::callees::CalleeId;
use crate::code::{Assembly, Defined};
use crate::context::{Context, TraceText};
use crate::layout::{FixedPlace, LIMB, Layout};

/// Places in the frame for operands and result of a callee that are at home in registers.
pub(super) const SCRATCH_A: u32 = 0;
pub(super) const SCRATCH_B: u32 = INLINE_LIMBS as u32;
pub(super) const SCRATCH_D: u32 = 2 * INLINE_LIMBS as u32;
const SCRATCH_END: u32 = 3 * INLINE_LIMBS as u32;

/// What is compiled.
#[derive(Clone, Copy)]
pub(crate) struct ElementInput<'a> {
    pub(crate) design: &'a Design,
    pub(crate) element: &'a Element,
    pub(crate) vars: Vars<'a>,
    pub(crate) options: Options,
    /// Words from one output's message to the next.
    pub(crate) output_words: usize,
    /// Outputs that carry packets.
    pub(crate) packet_outputs: u64,
}

/// Where the variables are.
#[derive(Clone, Copy)]
pub(crate) enum Vars<'a> {
    /// In the block that code is called with.
    Own(&'a Layout),
    /// Anywhere.
    Fixed(&'a [FixedPlace]),
}

/// Where and why code may stop.
#[derive(Clone, Debug)]
pub(crate) struct TrapSite {
    kind: TrapSiteKind,
    span: Option<Span>,
    /// In a chain: position of the member, from 1.
    pub(crate) member: usize,
}

impl TrapSite {
    /// What happened, as the context has it.
    pub(crate) fn trap(&self, context: &Context) -> Trap {
        let kind = match self.kind.clone() {
            TrapSiteKind::Assert(text) => TrapKind::Assert(text),
            TrapSiteKind::OutOfRange { array, depth } => {
                TrapKind::OutOfRange { array, index: context.trap_index, depth }
            }
            TrapSiteKind::LoopLimit => TrapKind::LoopLimit { rounds_max: context.rounds_max },
        };
        Trap { kind, span: self.span }
    }
}

/// Why.
#[derive(Clone, Debug)]
pub(super) enum TrapSiteKind {
    Assert(String),
    OutOfRange { array: String, depth: u64 },
    LoopLimit,
}

/// What code of an element names by number.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// By the number that code returns, less 1.
    pub(crate) traps: Vec<TrapSite>,
    pub(crate) traces: Vec<TraceText>,
    pub(crate) reasons: Vec<String>,
}

/// A compiled body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiled {
    pub(crate) defined: Defined,
    pub(crate) frame_limbs: usize,
    /// Words of its parameters or of its results, whichever are more.
    pub(crate) io_words: usize,
    /// Whether it asks for the outcome of the previous firing's writes.
    pub(crate) asks_outcome: bool,
    /// Whether the first result is the first parameter, unchanged.
    pub(crate) yields_param: bool,
}

/// Compiles one body; the error is the code generator's.
pub(crate) fn compile(
    assembly: &mut Assembly,
    input: ElementInput<'_>,
    body: &Body,
    tables: &mut Tables,
) -> Result<Compiled, String> {
    let signature = assembly.signature();
    let (frame_limbs, uses) = lower(assembly, signature, input, body, tables, |lowerer, params| {
        lowerer.state = params[1];
        lowerer.enter();
        lowerer.region(body.root);
        lowerer.leave();
    });
    let defined = assembly.define()?;
    let root = body.region(body.root);
    let words = |values: &[ir::ValueId]| values.iter().map(|&value| body.width(value).limbs()).sum::<usize>();
    Ok(Compiled {
        defined,
        frame_limbs,
        io_words: words(&root.params).max(words(&root.yields)),
        asks_outcome: uses.outcome,
        yields_param: root.yields.first().is_some_and(|first| root.params.first() == Some(first)),
    })
}

/// Makes a function of a body, of which `fill` is given the entry block's parameters; the first is the context. Gives the limbs of
/// its frame, and what it uses.
pub(super) fn lower(
    assembly: &mut Assembly,
    signature: Signature,
    input: ElementInput<'_>,
    body: &Body,
    tables: &mut Tables,
    fill: impl FnOnce(&mut Lowerer<'_>, &[Value]),
) -> (usize, Uses) {
    assembly.codegen.func.signature = signature;
    let callee_ids: Vec<FuncId> = CalleeId::ALL.iter().map(|&callee| assembly.callee(callee)).collect();
    let mut builder = FunctionBuilder::new(&mut assembly.codegen.func, &mut assembly.builder);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let params = builder.block_params(entry).to_vec();
    let variables = Variables::declare(&mut builder);
    let config = assembly.module.isa().frontend_config();
    let mut lowerer = Lowerer {
        input,
        body,
        builder,
        module: &mut assembly.module,
        callee_ids,
        callee_refs: vec![None; CalleeId::ALL.len()],
        tables,
        context: params[0],
        state: params[0],
        frame: params[0],
        variables,
        uses: Uses::of(body),
        values: vec![None; body.values.len()],
        constants: constants(body),
        maxima: vec![None; body.values.len()],
        locals: Vec::new(),
        frame_limbs: SCRATCH_END,
        pending_traps: Vec::new(),
        slots: None,
        n_entered: 0,
        window_max: 0,
        facts: Facts::new(body),
    };
    lowerer.frame = lowerer.load_pointer(offset_of!(Context, frame));
    fill(&mut lowerer, &params);
    lowerer.fill_traps();
    let result = (lowerer.frame_limbs as usize, lowerer.uses);
    lowerer.builder.finalize(config);
    result
}

/// What code keeps in registers of the context, so that it need not be read again.
#[derive(Clone, Copy)]
pub(super) struct Variables {
    pub(super) packet: Variable,
    pub(super) meta: Variable,
    pub(super) bytes: Variable,
    pub(super) avail: Variable,
    pub(super) len: Variable,
    pub(super) in_port: Variable,
    pub(super) now: Variable,
    pub(super) short: Variable,
    pub(super) emitted: Variable,
    pub(super) dropped: Variable,
    pub(super) rounds: Variable,
    pub(super) changed: Variable,
    pub(super) ready: Variable,
    pub(super) written: Variable,
}

impl Variables {
    fn declare(builder: &mut FunctionBuilder<'_>) -> Variables {
        let mut variable = || builder.declare_var(types::I64);
        Variables {
            packet: variable(),
            meta: variable(),
            bytes: variable(),
            avail: variable(),
            len: variable(),
            in_port: variable(),
            now: variable(),
            short: variable(),
            emitted: variable(),
            dropped: variable(),
            rounds: variable(),
            changed: variable(),
            ready: variable(),
            written: variable(),
        }
    }
}

/// Which parts of the context a body uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses {
    state_writes: bool,
    inputs: bool,
    outputs: bool,
    outcome: bool,
    /// It may decide what becomes of the packet.
    fate: bool,
    /// It accesses the packet's bytes or asks whether one was missing.
    bytes: bool,
    /// It may change the packet's length.
    pub(super) resizes: bool,
}

impl Uses {
    fn of(body: &Body) -> Uses {
        let mut uses = Uses::default();
        for op in &body.ops {
            match op.code {
                Opcode::RegWrite | Opcode::MemWrite => uses.state_writes = true,
                Opcode::InReady | Opcode::InMask | Opcode::InRead | Opcode::InPeek | Opcode::InClear => {
                    uses.inputs = true
                }
                Opcode::OutWrite | Opcode::OutClear => uses.outputs = true,
                Opcode::OutFailed | Opcode::OutWritten => uses.outcome = true,
                Opcode::PktLoad | Opcode::PktStore | Opcode::PktShort => uses.bytes = true,
                Opcode::Emit | Opcode::Drop => uses.fate = true,
                Opcode::PktPush
                | Opcode::PktPop
                | Opcode::PktPushAt
                | Opcode::PktPopAt
                | Opcode::PktTruncate
                | Opcode::PktAppend => (uses.fate, uses.resizes) = (true, true),
                _ => {}
            }
        }
        uses
    }
}

fn constants(body: &Body) -> Vec<Option<&ir::Value>> {
    let mut known = vec![None; body.values.len()];
    for op in &body.ops {
        if let (Opcode::Const, Attr::Const(value)) = (op.code, &op.attr) {
            known[op.results[0].index()] = Some(value);
        }
    }
    known
}

/// A body on its way.
pub(super) struct Lowerer<'a> {
    pub(super) input: ElementInput<'a>,
    pub(super) body: &'a Body,
    pub(super) builder: FunctionBuilder<'a>,
    module: &'a mut cranelift_jit::JITModule,
    callee_ids: Vec<FuncId>,
    callee_refs: Vec<Option<FuncRef>>,
    pub(super) tables: &'a mut Tables,
    pub(super) context: Value,
    pub(super) state: Value,
    pub(super) frame: Value,
    pub(super) variables: Variables,
    pub(super) uses: Uses,
    pub(super) values: Vec<Option<Val>>,
    pub(super) constants: Vec<Option<&'a ir::Value>>,
    pub(super) maxima: Vec<Option<u64>>,
    pub(super) locals: Vec<LocalPlace>,
    pub(super) frame_limbs: u32,
    pending_traps: Vec<PendingTrap>,
    /// In a chain.
    pub(super) slots: Option<Slots>,
    /// Members of a chain whose code has begun.
    pub(super) n_entered: usize,
    /// The largest window that began.
    pub(super) window_max: u64,
    pub(super) facts: Facts,
}

/// A block to be filled at the end.
struct PendingTrap {
    block: Block,
    number: u64,
    index: Option<Value>,
}

impl Lowerer<'_> {
    fn enter(&mut self) {
        if matches!(self.body.kind, BodyKind::Packet | BodyKind::Tail | BodyKind::End) {
            self.load_packet();
        }
        let now = self.load_context(offset_of!(Context, now_ns));
        let rounds = self.load_context(offset_of!(Context, rounds_max));
        let ready = self.load_context(offset_of!(Context, ready));
        let written = self.load_context(offset_of!(Context, written));
        let unchanged = self.zero();
        self.builder.def_var(self.variables.now, now);
        self.builder.def_var(self.variables.rounds, rounds);
        self.builder.def_var(self.variables.ready, ready);
        self.builder.def_var(self.variables.written, written);
        self.builder.def_var(self.variables.changed, unchanged);
        self.place_locals();
        let io = self.load_pointer(offset_of!(Context, io));
        let flags = self.flags(Region::Io);
        let mut offset = 0;
        for &param in &self.body.region(self.body.root).params {
            let width = self.width(param);
            let val = self.load_val(flags, io, offset, width);
            self.define(param, val);
            offset += n_limbs(width) as u32 * LIMB;
        }
    }

    fn leave(&mut self) {
        let io = self.load_pointer(offset_of!(Context, io));
        let mut offset = 0;
        for &result in &self.body.region(self.body.root).yields {
            let (val, width) = (self.val(result), self.width(result));
            self.store_any(Region::Io, &val, width, io, offset);
            offset += n_limbs(width) as u32 * LIMB;
        }
        if self.uses.state_writes {
            let changed = self.builder.use_var(self.variables.changed);
            let before = self.load_context(offset_of!(Context, changed));
            let changed = self.builder.ins().bor(before, changed);
            self.store_context(offset_of!(Context, changed), changed);
        }
        if self.uses.inputs {
            let ready = self.builder.use_var(self.variables.ready);
            self.store_context(offset_of!(Context, ready), ready);
        }
        if self.uses.outputs {
            let written = self.builder.use_var(self.variables.written);
            self.store_context(offset_of!(Context, written), written);
        }
        if self.uses.fate {
            self.store_variable(offset_of!(Context, emitted), self.variables.emitted);
            self.store_variable(offset_of!(Context, dropped), self.variables.dropped);
        }
        if self.uses.bytes {
            self.store_variable(offset_of!(Context, short), self.variables.short);
        }
        let done = self.zero();
        self.builder.ins().return_(&[done]);
    }

    pub(super) fn callee(&mut self, callee: CalleeId) -> FuncRef {
        if let Some(known) = self.callee_refs[callee as usize] {
            return known;
        }
        let function = self.module.declare_func_in_func(self.callee_ids[callee as usize], self.builder.func);
        self.callee_refs[callee as usize] = Some(function);
        function
    }

    pub(super) fn op(&mut self, id: OpId) {
        let body = self.body;
        let op = body.op(id);
        match op.code {
            Opcode::Const => self.constant_op(op),
            Opcode::If => self.branch(op),
            Opcode::Loop => self.repeat(op),
            code if code.is_pure() => self.pure(op),
            Opcode::RegRead | Opcode::RegWrite | Opcode::MemRead | Opcode::MemWrite => self.variable(op),
            Opcode::LocalRead | Opcode::LocalWrite | Opcode::LocalClear => self.local(op),
            Opcode::InReady | Opcode::InMask | Opcode::InRead | Opcode::InPeek | Opcode::InClear => self.input(op),
            Opcode::OutWrite | Opcode::OutClear | Opcode::OutFailed | Opcode::OutWritten | Opcode::LastMask => {
                self.output(op)
            }
            Opcode::Now => {
                let now = self.builder.use_var(self.variables.now);
                self.define(op.results[0], Val::Small(now));
            }
            Opcode::WakeAt => {
                let (context, time) = (self.context, self.small(op.operands[0]));
                self.call(CalleeId::WakeAt, &[context, time]);
            }
            Opcode::Assert => {
                let text = self.text(op, "assertion failed");
                let trap = self.trap_block(TrapSiteKind::Assert(text), op.span, None);
                let on = self.builder.create_block();
                let holds = self.small(op.operands[0]);
                self.builder.ins().brif(holds, on, &[], trap, &[]);
                self.seal_and_enter(on);
                self.builder.seal_block(trap);
            }
            Opcode::Trace => self.trace(op),
            _ => self.packet(op),
        }
    }

    fn pure(&mut self, op: &Op) {
        // The amount of a shift may be wide without making the shift so.
        let n_checked =
            if matches!(op.code, Opcode::Shl | Opcode::LShr | Opcode::AShr) { 1 } else { op.operands.len() };
        let is_wide = |&value: &ir::ValueId| self.width(value) > 64;
        if op.operands[..n_checked].iter().chain(&op.results).any(is_wide) { self.wide(op) } else { self.narrow(op) }
    }

    pub(super) fn text(&self, op: &Op, default: &str) -> String {
        match &op.attr {
            Attr::Text(text) => text.clone(),
            _ => default.to_string(),
        }
    }

    fn trace(&mut self, op: &Op) {
        let widths: Vec<ir::Width> = op.operands.iter().map(|&value| self.body.width(value)).collect();
        let n_words: usize = widths.iter().map(|width| width.limbs()).sum();
        let at = self.allocate(n_words);
        let frame = self.frame;
        let mut offset = at * LIMB;
        for &value in &op.operands {
            let (val, width) = (self.val(value), self.width(value));
            self.store_any(Region::Frame, &val, width, frame, offset);
            offset += n_limbs(width) as u32 * LIMB;
        }
        self.tables.traces.push(TraceText { text: self.text(op, ""), widths });
        let (context, address) = (self.context, self.frame_address(at));
        let (trace, n_words) = (self.iconst(self.tables.traces.len() as u64 - 1), self.iconst(n_words as u64));
        self.call(CalleeId::Trace, &[context, trace, address, n_words]);
    }

    pub(super) fn is_strict(&self) -> bool {
        self.input.options.bounds == Bounds::Strict
    }

    /// A block, to be jumped to once and then sealed, that returns with a trap; `index` is the one out of range.
    pub(super) fn trap_block(&mut self, kind: TrapSiteKind, span: Option<Span>, index: Option<Value>) -> Block {
        self.tables.traps.push(TrapSite { kind, span, member: self.n_entered });
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        self.pending_traps.push(PendingTrap { block, number: self.tables.traps.len() as u64, index });
        block
    }

    /// Fills the trap blocks, which cannot be done while another block is open.
    fn fill_traps(&mut self) {
        for PendingTrap { block, number, index } in std::mem::take(&mut self.pending_traps) {
            self.builder.switch_to_block(block);
            if let Some(index) = index {
                self.store_context(offset_of!(Context, trap_index), index);
            }
            let status = match self.slots {
                None => self.iconst(number),
                Some(slots) => self.stopped_chain(slots, number),
            };
            self.builder.ins().return_(&[status]);
        }
    }

    pub(super) fn seal_and_enter(&mut self, block: Block) {
        self.builder.seal_block(block);
        self.builder.switch_to_block(block);
    }
}
