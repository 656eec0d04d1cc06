//! From a body to its internal form.
//!
//! Expects: a verified body. Ensures: each value has slots of its own, except that a zero extension within one limb shares its
//! operand's, and the results of a `loop` share those of its carried values.

use ir::{Attr, Body, Design, Element, MessageTypeId, Op, OpId, Opcode, RegionId, ValueId, VarId};

use crate::code::{Code, CompareOp, Inst, Operand, Slot, TraceText, WideOp, Write};
use crate::memory::{Place, State};

/// Compiles one body of an element whose variables lie as in `state`.
pub(crate) fn compile(design: &Design, element: &Element, state: &State, body: &Body) -> Code {
    let code = Code {
        insts: Vec::new(),
        spans: Vec::new(),
        locals: body.locals.clone(),
        memory_names: element.vars.iter().filter(|var| var.depth.is_some()).map(|var| var.name.clone()).collect(),
        ..Code::empty()
    };
    let mut compiler =
        Compiler { design, element, state, body, code, slots: vec![None; body.values.len()], span: None };
    let root = body.region(body.root);
    compiler.code.params = root.params.iter().map(|&value| compiler.define(value)).collect();
    compiler.region(body.root);
    compiler.code.yields = root.yields.iter().map(|&value| compiler.operand(value)).collect();
    compiler.emit(Inst::Return);
    compiler.code
}

struct Compiler<'a> {
    design: &'a Design,
    element: &'a Element,
    state: &'a State,
    body: &'a Body,
    code: Code,
    slots: Vec<Option<Slot>>,
    span: Option<ir::Span>,
}

/// A copy of some limbs.
#[derive(Clone, Copy)]
struct Copy {
    to: Slot,
    from: Operand,
}

impl Copy {
    fn reads(self, other: Copy) -> bool {
        let (from, n) = (self.from.slot, self.from.n_limbs() as u32);
        from < other.to + other.from.n_limbs() as u32 && other.to < from + n
    }
}

impl Compiler<'_> {
    fn region(&mut self, region: RegionId) {
        let body = self.body;
        for &op in &body.region(region).ops {
            self.op(op);
        }
    }

    fn emit(&mut self, inst: Inst) {
        self.code.insts.push(inst);
        self.code.spans.push(self.span);
    }

    fn here(&self) -> u32 {
        self.code.insts.len() as u32
    }

    fn allocate(&mut self, width: u32) -> Slot {
        let slot = self.code.frame.len() as u32;
        self.code.frame.resize(self.code.frame.len() + width.div_ceil(64) as usize, 0);
        slot
    }

    fn width(&self, value: ValueId) -> u32 {
        self.body.width(value).bits()
    }

    fn define(&mut self, value: ValueId) -> Operand {
        let width = self.width(value);
        let slot = self.allocate(width);
        self.slots[value.index()] = Some(slot);
        Operand { slot, width }
    }

    fn operand(&self, value: ValueId) -> Operand {
        let slot = self.slots[value.index()].expect("values are defined before they are used");
        Operand { slot, width: self.width(value) }
    }

    fn slot(&self, value: ValueId) -> Slot {
        self.operand(value).slot
    }

    /// Slot of a shift amount or index as one limb.
    fn clamped(&mut self, value: ValueId) -> Slot {
        let operand = self.operand(value);
        if operand.width <= 64 {
            return operand.slot;
        }
        let d = self.allocate(64);
        self.emit(Inst::Clamp { d, a: operand.slot, n: operand.n_limbs() as u16 });
        d
    }

    fn copy(&mut self, to: Slot, from: Operand) {
        let (d, a) = (to, from.slot);
        match from.n_limbs() {
            _ if d == a => {}
            1 => self.emit(Inst::Move { d, a }),
            n => self.emit(Inst::MoveWide { d, a, n: n as u16 }),
        }
    }

    /// Copies all at once, as if every source were read before the first write.
    fn copy_all(&mut self, copies: &[Copy]) {
        let moving: Vec<Copy> = copies.iter().copied().filter(|copy| copy.to != copy.from.slot).collect();
        let in_the_way = |i: usize| moving[i + 1..].iter().any(|later| later.reads(moving[i]));
        if !(0..moving.len()).any(in_the_way) {
            moving.iter().for_each(|copy| self.copy(copy.to, copy.from));
            return;
        }
        let saved: Vec<Copy> = moving
            .iter()
            .map(|copy| {
                let slot = self.allocate(copy.from.width);
                self.copy(slot, copy.from);
                Copy { to: copy.to, from: Operand { slot, ..copy.from } }
            })
            .collect();
        saved.iter().for_each(|copy| self.copy(copy.to, copy.from));
    }

    fn op(&mut self, id: OpId) {
        let body = self.body;
        let op = body.op(id);
        self.span = op.span;
        match op.code {
            Opcode::Const => self.constant(op),
            Opcode::If => self.branch(op),
            Opcode::Loop => self.repeat(op),
            Opcode::ZExt | Opcode::SExt | Opcode::Trunc | Opcode::Concat | Opcode::Extract | Opcode::ByteSwap => {
                self.resize(op)
            }
            code if code.is_pure() => self.arithmetic(op),
            _ => self.effect(op),
        }
    }

    fn constant(&mut self, op: &Op) {
        let Attr::Const(value) = &op.attr else { unreachable!("`const` has a value") };
        let at = self.define(op.results[0]).slot as usize;
        let limbs = value.limbs();
        self.code.frame[at..at + limbs.len()].copy_from_slice(limbs);
    }

    fn branch(&mut self, op: &Op) {
        let results: Vec<Operand> = op.results.iter().map(|&value| self.define(value)).collect();
        let a = self.slot(op.operands[0]);
        let to_else = self.here();
        self.emit(Inst::JumpIfZero { a, to: 0 });
        self.side(op.regions[0], &results);
        let to_end = self.here();
        let else_region = self.body.region(op.regions[1]);
        if else_region.ops.is_empty() && else_region.yields.is_empty() {
            self.code.insts[to_else as usize] = Inst::JumpIfZero { a, to: to_end };
            return;
        }
        self.emit(Inst::Jump { to: 0 });
        self.code.insts[to_else as usize] = Inst::JumpIfZero { a, to: self.here() };
        self.side(op.regions[1], &results);
        self.code.insts[to_end as usize] = Inst::Jump { to: self.here() };
    }

    fn side(&mut self, region: RegionId, results: &[Operand]) {
        self.region(region);
        let yields = &self.body.region(region).yields;
        let copies: Vec<Copy> = results
            .iter()
            .zip(yields)
            .map(|(result, &value)| Copy { to: result.slot, from: self.operand(value) })
            .collect();
        self.copy_all(&copies);
    }

    fn repeat(&mut self, op: &Op) {
        let region = self.body.region(op.regions[0]);
        let carried: Vec<Operand> = region.params.iter().map(|&value| self.define(value)).collect();
        for (&initial, param) in op.operands.iter().zip(&carried) {
            let from = self.operand(initial);
            self.copy(param.slot, from);
        }
        for (&result, param) in op.results.iter().zip(&carried) {
            self.slots[result.index()] = Some(param.slot);
        }
        let to = self.here();
        self.region(op.regions[0]);
        self.span = op.span;
        let (&go_on, next) = region.yields.split_first().expect("a loop yields whether to go on");
        let mut a = self.slot(go_on);
        let next: Vec<Copy> = carried
            .iter()
            .zip(next)
            .map(|(param, &value)| Copy { to: param.slot, from: self.operand(value) })
            .collect();
        if carried.iter().any(|param| param.slot == a) {
            let kept = self.allocate(1);
            self.emit(Inst::Move { d: kept, a });
            a = kept;
        }
        self.copy_all(&next);
        self.emit(Inst::JumpBack { a, to });
    }

    fn arithmetic(&mut self, op: &Op) {
        let width = self.width(op.operands[0]);
        if op.code == Opcode::Select {
            return self.select(op);
        }
        let a = self.slot(op.operands[0]);
        let b = match op.code {
            Opcode::Shl | Opcode::LShr | Opcode::AShr => self.clamped(op.operands[1]),
            Opcode::Not | Opcode::Neg => a,
            _ => self.slot(op.operands[1]),
        };
        let d = self.define(op.results[0]).slot;
        let inst =
            if width <= 64 { small(op.code, d, a, b, width as u8) } else { wide(op.code, d, a, b, width as u16) };
        self.emit(inst);
    }

    fn select(&mut self, op: &Op) {
        let (c, a, b) = (self.slot(op.operands[0]), self.slot(op.operands[1]), self.slot(op.operands[2]));
        let result = self.define(op.results[0]);
        let d = result.slot;
        self.emit(match result.n_limbs() {
            1 => Inst::Select { d, c, a, b },
            n => Inst::WideSelect { d, c, a, b, n: n as u16 },
        });
    }

    fn resize(&mut self, op: &Op) {
        let operand = self.operand(op.operands[0]);
        let (a, from) = (operand.slot, operand.width);
        let w = self.width(op.results[0]);
        if op.code == Opcode::ZExt && w <= 64 {
            self.slots[op.results[0].index()] = Some(a);
            return;
        }
        let d = self.define(op.results[0]).slot;
        let lo = match op.attr {
            Attr::Bit(bit) => bit,
            _ => 0,
        };
        let is_small = from.max(w) <= 64;
        self.emit(match op.code {
            Opcode::ZExt => Inst::WideZExt { d, a, from_n: operand.n_limbs() as u16, n: w.div_ceil(64) as u16 },
            Opcode::SExt if is_small => Inst::SExt { d, a, from: from as u8, w: w as u8 },
            Opcode::SExt => Inst::WideSExt { d, a, from: from as u16, w: w as u16 },
            // The limb that holds the bits is known, so the rest of a wide operand plays no part.
            Opcode::Trunc if w <= 64 => Inst::Mask { d, a, w: w as u8 },
            Opcode::Extract if lo % 64 + w <= 64 => {
                Inst::Extract { d, a: a + lo / 64, lo: (lo % 64) as u8, w: w as u8 }
            }
            Opcode::Trunc | Opcode::Extract => {
                Inst::WideExtract { d, a, lo: lo as u16, w: w as u16, a_n: operand.n_limbs() as u16 }
            }
            Opcode::Concat => {
                let lo = self.operand(op.operands[1]);
                if w <= 64 {
                    Inst::Concat { d, hi: a, lo: lo.slot, lo_w: lo.width as u8 }
                } else {
                    Inst::WideConcat { d, hi: a, lo: lo.slot, hi_w: from as u16, lo_w: lo.width as u16 }
                }
            }
            Opcode::ByteSwap if is_small => Inst::ByteSwap { d, a, w: w as u8 },
            Opcode::ByteSwap => Inst::WideByteSwap { d, a, w: w as u16 },
            other => unreachable!("`{}` does not change widths", other.name()),
        });
    }

    fn effect(&mut self, op: &Op) {
        match op.code {
            Opcode::RegRead | Opcode::RegWrite | Opcode::MemRead | Opcode::MemWrite => self.variable(op),
            Opcode::LocalRead | Opcode::LocalWrite | Opcode::LocalClear => self.local(op),
            Opcode::InRead | Opcode::InPeek | Opcode::OutWrite => self.message(op),
            _ => self.simple_effect(op),
        }
    }

    fn variable(&mut self, op: &Op) {
        let Attr::Var(var) = op.attr else { unreachable!("state ops name a variable") };
        match (self.state.place(var), op.code) {
            (Place::Register { at, n_limbs: 1 }, Opcode::RegRead) => {
                let d = self.define(op.results[0]).slot;
                self.emit(Inst::RegRead { d, at });
            }
            (Place::Register { at, n_limbs }, Opcode::RegRead) => {
                let d = self.define(op.results[0]).slot;
                self.emit(Inst::RegReadWide { d, at, n: n_limbs as u16 });
            }
            (Place::Register { at, n_limbs: 1 }, _) => self.emit(Inst::RegWrite { at, a: self.slot(op.operands[0]) }),
            (Place::Register { at, n_limbs }, _) => {
                self.emit(Inst::RegWriteWide { at, a: self.slot(op.operands[0]), n: n_limbs as u16 });
            }
            (Place::Memory(memory), code) => {
                let index = self.clamped(op.operands[0]);
                let n = self.var_limbs(var);
                if code == Opcode::MemRead {
                    let d = self.define(op.results[0]).slot;
                    self.emit(if n == 1 {
                        Inst::MemRead { d, index, memory }
                    } else {
                        Inst::MemReadWide { d, index, memory, n }
                    });
                } else {
                    let a = self.slot(op.operands[1]);
                    self.emit(if n == 1 {
                        Inst::MemWrite { memory, index, a }
                    } else {
                        Inst::MemWriteWide { memory, index, a, n }
                    });
                }
            }
        }
    }

    fn var_limbs(&self, var: VarId) -> u16 {
        self.element.vars[var.index()].width.limbs() as u16
    }

    fn local(&mut self, op: &Op) {
        let Attr::Local(local) = op.attr else { unreachable!("local ops name a local array") };
        if op.code == Opcode::LocalClear {
            return self.emit(Inst::LocalClear { local });
        }
        let n = self.body.locals[local as usize].width.limbs() as u16;
        let index = self.clamped(op.operands[0]);
        let inst = if op.code == Opcode::LocalRead {
            let d = self.define(op.results[0]).slot;
            if n == 1 { Inst::LocalRead { d, index, local } } else { Inst::LocalReadWide { d, index, local, n } }
        } else {
            let a = self.slot(op.operands[1]);
            if n == 1 { Inst::LocalWrite { local, index, a } } else { Inst::LocalWriteWide { local, index, a, n } }
        };
        self.emit(inst);
    }

    fn message(&mut self, op: &Op) {
        let Attr::Message(message) = op.attr else { unreachable!("port ops name a message type") };
        if op.code == Opcode::OutWrite {
            let ports = ports_of(&self.element.outputs, message);
            let runs = self.runs(&op.operands[1..]);
            self.code.writes.push(Write { runs, ports });
            let write = self.code.writes.len() as u32 - 1;
            return self.emit(Inst::OutWrite { port: self.slot(op.operands[0]), write });
        }
        let operand = self.slot(op.operands[0]);
        let ports = ports_of(&self.element.inputs, message);
        // Fields get consecutive slots, so that a message is one copy.
        let d = self.code.frame.len() as u32;
        op.results.iter().for_each(|&value| {
            self.define(value);
        });
        let n = self.code.frame.len() as u32 - d;
        debug_assert_eq!(n as usize, crate::message_words(self.design, message));
        self.emit(match op.code {
            Opcode::InRead => Inst::InRead { d, mask: operand, ports, n },
            _ => Inst::InPeek { d, port: operand, ports, n },
        });
    }

    /// Slots of the values in order, neighbours joined: a message that is only passed on is one run.
    fn runs(&self, values: &[ValueId]) -> Vec<std::ops::Range<usize>> {
        let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
        for &value in values {
            let operand = self.operand(value);
            let (start, end) = (operand.slot as usize, operand.slot as usize + operand.n_limbs());
            match runs.last_mut() {
                Some(last) if last.end == start => last.end = end,
                Some(_) | None => runs.push(start..end),
            }
        }
        runs
    }

    fn text(&mut self, op: &Op, default: &str) -> u32 {
        let text = match &op.attr {
            Attr::Text(text) => text.clone(),
            _ => default.to_string(),
        };
        let known = self.code.texts.iter().position(|known| *known == text);
        known.unwrap_or_else(|| {
            self.code.texts.push(text);
            self.code.texts.len() - 1
        }) as u32
    }

    /// The metadata field of an op, as first bit and width.
    fn meta(&self, op: &Op) -> (u16, u16) {
        let Attr::Meta(field) = op.attr else { unreachable!("metadata ops name a field") };
        let part = ir::side::meta_part(self.design, field as usize);
        ((part.lo - ir::side::META_LO) as u16, part.width as u16)
    }

    fn simple_effect(&mut self, op: &Op) {
        let operands: Vec<Operand> = op.operands.iter().map(|&value| self.operand(value)).collect();
        let a = operands.first().map_or(0, |operand| operand.slot);
        let b = operands.get(1).map_or(0, |operand| operand.slot);
        let results: Vec<Operand> = op.results.iter().map(|&value| self.define(value)).collect();
        let d = results.first().map_or(0, |result| result.slot);
        let inst = match op.code {
            Opcode::InReady => Inst::InReady { d, mask: a },
            Opcode::InMask => Inst::InMask { d },
            Opcode::InClear => Inst::InClear { mask: a },
            Opcode::OutClear => Inst::OutClear { mask: a },
            Opcode::OutFailed | Opcode::OutWritten => {
                self.code.asks_outcome = true;
                if op.code == Opcode::OutFailed { Inst::OutFailed { d } } else { Inst::OutWritten { d } }
            }
            Opcode::LastMask => Inst::LastMask { d },
            Opcode::Now => Inst::Now { d },
            Opcode::WakeAt => Inst::WakeAt { a },
            Opcode::PktAvail => Inst::PktAvail { d },
            Opcode::PktLoad => Inst::PktLoad { d, offset: a, n_bytes: (results[0].width / 8) as u16 },
            Opcode::PktStore => Inst::PktStore { offset: a, a: b, n_bytes: (operands[1].width / 8) as u16 },
            Opcode::PktPush => Inst::PktPush { a },
            Opcode::PktPop => Inst::PktPop { a },
            Opcode::PktPushAt => Inst::PktPushAt { offset: a, a: b },
            Opcode::PktPopAt => Inst::PktPopAt { offset: a, a: b },
            Opcode::PktShort => Inst::PktShort { d },
            Opcode::PktLen => Inst::PktLen { d },
            Opcode::PktMissing => Inst::PktMissing { d },
            Opcode::PktError => Inst::PktError { d },
            Opcode::PktInPort => Inst::PktInPort { d },
            Opcode::PktTime => Inst::PktTime { d },
            Opcode::PktEnter | Opcode::PktEmitted | Opcode::PktDropped | Opcode::PktDropFor => {
                unreachable!("chains are made for native code")
            }
            Opcode::PktTruncate => Inst::PktTruncate { a },
            Opcode::PktAppend => Inst::PktAppend { a },
            Opcode::MetaRead => {
                let (lo, w) = self.meta(op);
                Inst::MetaRead { d, lo, w }
            }
            Opcode::MetaWrite => {
                let (lo, w) = self.meta(op);
                Inst::MetaWrite { a, lo, w }
            }
            Opcode::Emit => Inst::Emit { port: a },
            Opcode::Drop => Inst::Drop { reason: self.text(op, &format!("dropped by {}", self.element.name)) },
            Opcode::Assert => Inst::Assert { a, text: self.text(op, "assertion failed") },
            Opcode::Trace => {
                let Attr::Text(text) = &op.attr else { unreachable!("`trace` has a text") };
                self.code.traces.push(TraceText { text: text.clone(), operands });
                Inst::Trace { trace: self.code.traces.len() as u32 - 1 }
            }
            other => unreachable!("`{}` is compiled elsewhere", other.name()),
        };
        self.emit(inst);
    }
}

/// Mask of the ports that have a message type.
fn ports_of(ports: &[ir::Port], message: MessageTypeId) -> u32 {
    let matching = ports.iter().enumerate().filter(|(_, port)| port.message == message);
    matching.fold(0, |mask, (idx, _)| mask | 1 << idx)
}

fn small(code: Opcode, d: Slot, a: Slot, b: Slot, w: u8) -> Inst {
    match code {
        Opcode::Add => Inst::Add { d, a, b, w },
        Opcode::Sub => Inst::Sub { d, a, b, w },
        Opcode::Mul => Inst::Mul { d, a, b, w },
        Opcode::UDiv => Inst::UDiv { d, a, b, w },
        Opcode::SDiv => Inst::SDiv { d, a, b, w },
        Opcode::URem => Inst::URem { d, a, b },
        Opcode::SRem => Inst::SRem { d, a, b, w },
        Opcode::And => Inst::And { d, a, b },
        Opcode::Or => Inst::Or { d, a, b },
        Opcode::Xor => Inst::Xor { d, a, b },
        Opcode::Not => Inst::Not { d, a, w },
        Opcode::Neg => Inst::Neg { d, a, w },
        Opcode::Shl => Inst::Shl { d, a, b, w },
        Opcode::LShr => Inst::LShr { d, a, b, w },
        Opcode::AShr => Inst::AShr { d, a, b, w },
        Opcode::Eq => Inst::Eq { d, a, b },
        Opcode::Ne => Inst::Ne { d, a, b },
        Opcode::ULt => Inst::ULt { d, a, b },
        Opcode::ULe => Inst::ULe { d, a, b },
        Opcode::SLt => Inst::SLt { d, a, b, w },
        Opcode::SLe => Inst::SLe { d, a, b, w },
        other => unreachable!("`{}` is no arithmetic", other.name()),
    }
}

fn wide(code: Opcode, d: Slot, a: Slot, b: Slot, w: u16) -> Inst {
    let op = match code {
        Opcode::Add => WideOp::Add,
        Opcode::Sub => WideOp::Sub,
        Opcode::Mul => WideOp::Mul,
        Opcode::UDiv => WideOp::UDiv,
        Opcode::SDiv => WideOp::SDiv,
        Opcode::URem => WideOp::URem,
        Opcode::SRem => WideOp::SRem,
        Opcode::And => WideOp::And,
        Opcode::Or => WideOp::Or,
        Opcode::Xor => WideOp::Xor,
        Opcode::Not => WideOp::Not,
        Opcode::Neg => WideOp::Neg,
        Opcode::Shl => WideOp::Shl,
        Opcode::LShr => WideOp::LShr,
        Opcode::AShr => WideOp::AShr,
        other => return wide_compare(other, d, a, b, w),
    };
    Inst::Wide { op, d, a, b, w }
}

fn wide_compare(code: Opcode, d: Slot, a: Slot, b: Slot, w: u16) -> Inst {
    let op = match code {
        Opcode::Eq => CompareOp::Eq,
        Opcode::Ne => CompareOp::Ne,
        Opcode::ULt => CompareOp::ULt,
        Opcode::ULe => CompareOp::ULe,
        Opcode::SLt => CompareOp::SLt,
        Opcode::SLe => CompareOp::SLe,
        other => unreachable!("`{}` is no comparison", other.name()),
    };
    Inst::WideCompare { op, d, a, b, w }
}
