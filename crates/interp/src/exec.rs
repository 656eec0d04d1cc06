//! The loop that executes instructions.
//!
//! One firing of a body runs over its frame, the element's state and an [`Env`], which stands for everything outside.

use ir::Value;

use crate::code::{Code, Inst, Operand, Slot};
use crate::memory::{Memory, State};
use crate::packet_env::PacketEnv;
use crate::wide;
use crate::{Inputs, Trap, TrapKind};

/// A body ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Runnable {
    pub(crate) code: Code,
    frame: Vec<u64>,
    locals: Vec<Memory>,
    /// Which locals may be non-zero.
    dirty: Vec<bool>,
}

/// What a firing sees and does outside the element.
pub(crate) struct Env<'a> {
    pub(crate) now_ns: u64,
    pub(crate) limits: Limits,
    pub(crate) inputs: &'a dyn Inputs,
    /// Inputs that hold a message not consumed in this firing.
    pub(crate) ready: u32,
    pub(crate) consumed: u32,
    /// Messages written, by output; valid where `written` has the bit.
    pub(crate) outputs: &'a mut [Vec<u64>],
    pub(crate) written: u32,
    pub(crate) last_mask: u32,
    pub(crate) last_failed: u32,
    pub(crate) last_written: u32,
    pub(crate) packet: PacketEnv<'a>,
    pub(crate) wakes: &'a mut Vec<u64>,
    /// Absent if nobody listens.
    pub(crate) traces: Option<&'a mut Vec<String>>,
    /// Whether a write changed the state.
    pub(crate) changed: bool,
}

/// What stops a firing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) strict: bool,
    pub(crate) loop_rounds_max: u64,
}

impl Runnable {
    pub(crate) fn new(code: Code) -> Runnable {
        let locals: Vec<Memory> = code.locals.iter().map(|local| Memory::new(local.width, local.depth)).collect();
        Runnable { frame: code.frame.clone(), dirty: vec![false; locals.len()], locals, code }
    }

    /// Sets a parameter.
    pub(crate) fn set_param(&mut self, param_idx: usize, limbs: &[u64]) {
        let Operand { slot, .. } = self.code.params[param_idx];
        let n_limbs = self.code.params[param_idx].n_limbs();
        let place = &mut self.frame[slot as usize..slot as usize + n_limbs];
        let used = limbs.len().min(n_limbs);
        place[..used].copy_from_slice(&limbs[..used]);
        place[used..].fill(0);
    }

    /// The limbs of a result of the last run.
    pub(crate) fn result(&self, result_idx: usize) -> &[u64] {
        let operand = self.code.yields[result_idx];
        &self.frame[operand.slot as usize..operand.slot as usize + operand.n_limbs()]
    }

    pub(crate) fn results(&self) -> Vec<Value> {
        (0..self.code.yields.len()).map(|result_idx| Value::from_limbs(self.result(result_idx))).collect()
    }

    /// Runs the body from its start.
    pub(crate) fn run(&mut self, state: &mut State, env: &mut Env<'_>) -> Result<(), Trap> {
        for (local, dirty) in self.locals.iter_mut().zip(&mut self.dirty) {
            if std::mem::take(dirty) {
                local.clear();
            }
        }
        let mut run = Run {
            code: &self.code,
            frame: &mut self.frame,
            locals: &mut self.locals,
            dirty: &mut self.dirty,
            state,
            env,
        };
        run.run()
    }
}

struct Run<'r, 'e> {
    code: &'r Code,
    frame: &'r mut [u64],
    locals: &'r mut [Memory],
    dirty: &'r mut [bool],
    state: &'r mut State,
    env: &'r mut Env<'e>,
}

/// The low `w` bits, `1 <= w <= 64`.
#[inline]
fn mask(w: u8) -> u64 {
    u64::MAX >> (64 - u32::from(w))
}

/// The number in two's complement of width `w`.
#[inline]
fn signed(value: u64, w: u8) -> i64 {
    let above = 64 - u32::from(w);
    (value << above) as i64 >> above
}

impl Run<'_, '_> {
    #[inline]
    fn at(&self, slot: Slot) -> u64 {
        self.frame[slot as usize]
    }

    #[inline]
    fn set(&mut self, slot: Slot, value: u64) {
        self.frame[slot as usize] = value;
    }

    fn limbs(&self, slot: Slot, n: u16) -> &[u64] {
        &self.frame[slot as usize..slot as usize + usize::from(n)]
    }

    fn limbs_mut(&mut self, slot: Slot, n: u16) -> &mut [u64] {
        &mut self.frame[slot as usize..slot as usize + usize::from(n)]
    }

    /// One arm for each instruction.
    fn run(&mut self) -> Result<(), Trap> {
        let code = self.code;
        let mut pc = 0;
        let mut rounds_left = self.env.limits.loop_rounds_max;
        loop {
            let inst = code.insts[pc];
            pc += 1;
            match inst {
                Inst::Move { d, a } => self.set(d, self.at(a)),
                Inst::MoveWide { d, a, n } => {
                    self.frame.copy_within(a as usize..a as usize + usize::from(n), d as usize);
                }
                Inst::Add { d, a, b, w } => self.set(d, self.at(a).wrapping_add(self.at(b)) & mask(w)),
                Inst::Sub { d, a, b, w } => self.set(d, self.at(a).wrapping_sub(self.at(b)) & mask(w)),
                Inst::Mul { d, a, b, w } => self.set(d, self.at(a).wrapping_mul(self.at(b)) & mask(w)),
                Inst::UDiv { d, a, b, w } => self.set(d, self.at(a).checked_div(self.at(b)).unwrap_or(mask(w))),
                Inst::URem { d, a, b } => self.set(d, self.at(a).checked_rem(self.at(b)).unwrap_or(self.at(a))),
                Inst::SDiv { d, a, b, w } => {
                    let (x, y) = (signed(self.at(a), w), signed(self.at(b), w));
                    let quotient = if y == 0 { -1 } else { x.wrapping_div(y) };
                    self.set(d, quotient as u64 & mask(w));
                }
                Inst::SRem { d, a, b, w } => {
                    let (x, y) = (signed(self.at(a), w), signed(self.at(b), w));
                    let remainder = if y == 0 { x } else { x.wrapping_rem(y) };
                    self.set(d, remainder as u64 & mask(w));
                }
                Inst::And { d, a, b } => self.set(d, self.at(a) & self.at(b)),
                Inst::Or { d, a, b } => self.set(d, self.at(a) | self.at(b)),
                Inst::Xor { d, a, b } => self.set(d, self.at(a) ^ self.at(b)),
                Inst::Not { d, a, w } => self.set(d, !self.at(a) & mask(w)),
                Inst::Neg { d, a, w } => self.set(d, self.at(a).wrapping_neg() & mask(w)),
                Inst::Shl { d, a, b, w } => {
                    let amount = self.at(b);
                    self.set(d, if amount < u64::from(w) { self.at(a) << amount & mask(w) } else { 0 });
                }
                Inst::LShr { d, a, b, w } => {
                    let amount = self.at(b);
                    self.set(d, if amount < u64::from(w) { self.at(a) >> amount } else { 0 });
                }
                Inst::AShr { d, a, b, w } => {
                    let amount = self.at(b).min(63);
                    self.set(d, (signed(self.at(a), w) >> amount) as u64 & mask(w));
                }
                Inst::Eq { d, a, b } => self.set(d, u64::from(self.at(a) == self.at(b))),
                Inst::Ne { d, a, b } => self.set(d, u64::from(self.at(a) != self.at(b))),
                Inst::ULt { d, a, b } => self.set(d, u64::from(self.at(a) < self.at(b))),
                Inst::ULe { d, a, b } => self.set(d, u64::from(self.at(a) <= self.at(b))),
                Inst::SLt { d, a, b, w } => self.set(d, u64::from(signed(self.at(a), w) < signed(self.at(b), w))),
                Inst::SLe { d, a, b, w } => self.set(d, u64::from(signed(self.at(a), w) <= signed(self.at(b), w))),
                Inst::Select { d, c, a, b } => self.set(d, if self.at(c) != 0 { self.at(a) } else { self.at(b) }),
                Inst::SExt { d, a, from, w } => self.set(d, signed(self.at(a), from) as u64 & mask(w)),
                Inst::Mask { d, a, w } => self.set(d, self.at(a) & mask(w)),
                Inst::Extract { d, a, lo, w } => self.set(d, self.at(a) >> lo & mask(w)),
                Inst::Concat { d, hi, lo, lo_w } => self.set(d, self.at(hi) << lo_w | self.at(lo)),
                Inst::ByteSwap { d, a, w } => self.set(d, self.at(a).swap_bytes() >> (64 - u32::from(w))),

                Inst::Jump { to } => pc = to as usize,
                Inst::JumpIfZero { a, to } => {
                    if self.at(a) == 0 {
                        pc = to as usize;
                    }
                }
                Inst::JumpBack { a, to } => {
                    if self.at(a) != 0 {
                        if rounds_left == 0 {
                            let rounds_max = self.env.limits.loop_rounds_max;
                            return Err(self.trap(pc, TrapKind::LoopLimit { rounds_max }));
                        }
                        rounds_left -= 1;
                        pc = to as usize;
                    }
                }
                Inst::RegRead { d, at } => self.set(d, self.state.registers[at as usize]),
                Inst::RegWrite { at, a } => {
                    let value = self.at(a);
                    let register = &mut self.state.registers[at as usize];
                    self.env.changed |= *register != value;
                    *register = value;
                }
                Inst::MemRead { d, index, memory } => {
                    let index = self.at(index);
                    let memory_ref = &self.state.memories[memory as usize];
                    if index < memory_ref.depth() {
                        let word = memory_ref.small(index as usize);
                        self.set(d, word);
                    } else {
                        self.check_memory(pc, memory, index)?;
                        self.set(d, 0);
                    }
                }
                Inst::MemWrite { memory, index, a } => {
                    let (index, value) = (self.at(index), self.at(a));
                    let memory_ref = &mut self.state.memories[memory as usize];
                    if index < memory_ref.depth() {
                        self.env.changed |= memory_ref.set_small(index as usize, value);
                    } else {
                        self.check_memory(pc, memory, index)?;
                    }
                }
                Inst::LocalRead { d, index, local } => {
                    let index = self.at(index);
                    let memory = &self.locals[local as usize];
                    if index < memory.depth() {
                        let word = memory.small(index as usize);
                        self.set(d, word);
                    } else {
                        self.check_local(pc, local, index)?;
                        self.set(d, 0);
                    }
                }
                Inst::LocalWrite { local, index, a } => {
                    let (index, value) = (self.at(index), self.at(a));
                    let memory = &mut self.locals[local as usize];
                    if index < memory.depth() {
                        memory.set_small(index as usize, value);
                        self.dirty[local as usize] = true;
                    } else {
                        self.check_local(pc, local, index)?;
                    }
                }
                Inst::PktLoad { d, offset, n_bytes } if n_bytes <= 8 => {
                    let offset = self.at(offset) as usize;
                    let value = self.env.packet.load_small(offset, usize::from(n_bytes));
                    self.set(d, value);
                }
                Inst::Return => return Ok(()),
                other => self.rare(other, pc)?,
            }
        }
    }

    /// Instructions that take long enough for a second dispatch not to matter.
    fn rare(&mut self, inst: Inst, pc: usize) -> Result<(), Trap> {
        match inst {
            Inst::Wide { op, d, a, b, w } => {
                wide::apply(op, self.frame, d as usize, a as usize, b as usize, u32::from(w));
            }
            Inst::WideCompare { op, d, a, b, w } => {
                let holds = wide::compare(op, self.frame, a as usize, b as usize, u32::from(w));
                self.set(d, u64::from(holds));
            }
            Inst::WideSelect { d, c, a, b, n } => {
                let from = if self.at(c) != 0 { a } else { b } as usize;
                self.frame.copy_within(from..from + usize::from(n), d as usize);
            }
            Inst::WideZExt { d, a, from_n, n } => {
                self.frame.copy_within(a as usize..a as usize + usize::from(from_n), d as usize);
                self.limbs_mut(d + u32::from(from_n), n - from_n).fill(0);
            }
            Inst::WideSExt { d, a, from, w } => {
                wide::sign_extend(self.frame, d as usize, a as usize, u32::from(from), u32::from(w));
            }
            Inst::WideExtract { d, a, lo, w, a_n } => {
                wide::extract(self.frame, d as usize, a as usize, u32::from(lo), u32::from(w), usize::from(a_n));
            }
            Inst::WideConcat { d, hi, lo, hi_w, lo_w } => {
                wide::concat(self.frame, d as usize, (hi as usize, u32::from(hi_w)), (lo as usize, u32::from(lo_w)));
            }
            Inst::WideByteSwap { d, a, w } => wide::byte_swap(self.frame, d as usize, a as usize, u32::from(w)),
            Inst::Clamp { d, a, n } => {
                let limbs = self.limbs(a, n);
                let fits = limbs[1..].iter().all(|&limb| limb == 0);
                let value = if fits { limbs[0] } else { u64::MAX };
                self.set(d, value);
            }
            Inst::RegReadWide { d, at, n } => {
                let n = usize::from(n);
                self.frame[d as usize..d as usize + n]
                    .copy_from_slice(&self.state.registers[at as usize..at as usize + n]);
            }
            Inst::RegWriteWide { at, a, n } => {
                let n = usize::from(n);
                let (register, value) =
                    (&mut self.state.registers[at as usize..at as usize + n], &self.frame[a as usize..a as usize + n]);
                self.env.changed |= *register != *value;
                register.copy_from_slice(value);
            }
            Inst::MemReadWide { .. }
            | Inst::MemWriteWide { .. }
            | Inst::LocalReadWide { .. }
            | Inst::LocalWriteWide { .. }
            | Inst::LocalClear { .. } => self.wide_memory(inst, pc)?,
            Inst::InReady { .. }
            | Inst::InMask { .. }
            | Inst::InRead { .. }
            | Inst::InPeek { .. }
            | Inst::InClear { .. }
            | Inst::OutWrite { .. }
            | Inst::OutClear { .. }
            | Inst::OutFailed { .. }
            | Inst::OutWritten { .. }
            | Inst::LastMask { .. } => self.port(inst),
            Inst::Now { d } => self.set(d, self.env.now_ns),
            Inst::WakeAt { a } => self.env.wakes.push(self.frame[a as usize]),
            Inst::Assert { a, text } => {
                if self.at(a) == 0 {
                    return Err(self.trap(pc, TrapKind::Assert(self.code.texts[text as usize].clone())));
                }
            }
            Inst::Trace { trace } => self.trace(trace),
            other => self.packet(other),
        }
        Ok(())
    }

    fn wide_memory(&mut self, inst: Inst, pc: usize) -> Result<(), Trap> {
        match inst {
            Inst::MemReadWide { d, index, memory, n } => {
                let index = self.at(index);
                let to = &mut self.frame[d as usize..d as usize + usize::from(n)];
                let memory_ref = &self.state.memories[memory as usize];
                if index < memory_ref.depth() {
                    to.copy_from_slice(memory_ref.wide(index as usize));
                } else {
                    to.fill(0);
                    self.check_memory(pc, memory, index)?;
                }
            }
            Inst::MemWriteWide { memory, index, a, n } => {
                let index = self.at(index);
                let value = &self.frame[a as usize..a as usize + usize::from(n)];
                let memory_ref = &mut self.state.memories[memory as usize];
                if index < memory_ref.depth() {
                    self.env.changed |= memory_ref.set_wide(index as usize, value);
                } else {
                    self.check_memory(pc, memory, index)?;
                }
            }
            Inst::LocalReadWide { d, index, local, n } => {
                let index = self.at(index);
                let to = &mut self.frame[d as usize..d as usize + usize::from(n)];
                let memory = &self.locals[local as usize];
                if index < memory.depth() {
                    to.copy_from_slice(memory.wide(index as usize));
                } else {
                    to.fill(0);
                    self.check_local(pc, local, index)?;
                }
            }
            Inst::LocalWriteWide { local, index, a, n } => {
                let index = self.at(index);
                let value = &self.frame[a as usize..a as usize + usize::from(n)];
                let memory = &mut self.locals[local as usize];
                if index < memory.depth() {
                    memory.set_wide(index as usize, value);
                    self.dirty[local as usize] = true;
                } else {
                    self.check_local(pc, local, index)?;
                }
            }
            Inst::LocalClear { local } => {
                if std::mem::take(&mut self.dirty[local as usize]) {
                    self.locals[local as usize].clear();
                }
            }
            other => unreachable!("{other:?} is no memory access"),
        }
        Ok(())
    }

    fn port(&mut self, inst: Inst) {
        match inst {
            Inst::InReady { d, mask } => {
                let holds = self.at(mask) as u32 & self.env.ready != 0;
                self.set(d, u64::from(holds));
            }
            Inst::InMask { d } => self.set(d, u64::from(self.env.ready)),
            Inst::InRead { d, mask, ports, n } => {
                let candidates = self.at(mask) as u32 & ports & self.env.ready;
                let to = &mut self.frame[d as usize..(d + n) as usize];
                if candidates == 0 {
                    return to.fill(0);
                }
                let lowest = candidates.trailing_zeros();
                to.copy_from_slice(self.env.inputs.front(lowest as usize));
                self.env.ready &= !(1 << lowest);
                self.env.consumed |= 1 << lowest;
            }
            Inst::InPeek { d, port, ports, n } => {
                let bit = port_bit(self.at(port));
                let to = &mut self.frame[d as usize..(d + n) as usize];
                if bit & ports & self.env.ready == 0 {
                    return to.fill(0);
                }
                to.copy_from_slice(self.env.inputs.front(bit.trailing_zeros() as usize));
            }
            Inst::InClear { mask } => {
                let consumed = self.at(mask) as u32 & self.env.ready;
                self.env.ready &= !consumed;
                self.env.consumed |= consumed;
            }
            Inst::OutWrite { port, write } => {
                let write = &self.code.writes[write as usize];
                let bit = port_bit(self.at(port)) & write.ports;
                if bit == 0 {
                    return;
                }
                let message = &mut self.env.outputs[bit.trailing_zeros() as usize];
                message.clear();
                for run in &write.runs {
                    message.extend_from_slice(&self.frame[run.clone()]);
                }
                self.env.written |= bit;
            }
            Inst::OutClear { mask } => self.env.written &= !(self.at(mask) as u32),
            Inst::OutFailed { d } => self.set(d, u64::from(self.env.last_failed)),
            Inst::OutWritten { d } => self.set(d, u64::from(self.env.last_written)),
            Inst::LastMask { d } => self.set(d, u64::from(self.env.last_mask)),
            other => unreachable!("{other:?} is no port access"),
        }
    }

    fn packet(&mut self, inst: Inst) {
        let packet = &mut self.env.packet;
        let at = |slot: Slot| self.frame[slot as usize];
        let value = match inst {
            Inst::PktStore { offset, a, n_bytes } => {
                let limbs = &self.frame[a as usize..a as usize + usize::from(n_bytes).div_ceil(8)];
                return packet.store(at(offset) as usize, usize::from(n_bytes), limbs);
            }
            Inst::PktLoad { d, offset, n_bytes } => {
                let offset = at(offset) as usize;
                let to = &mut self.frame[d as usize..d as usize + usize::from(n_bytes).div_ceil(8)];
                return packet.load_wide(offset, usize::from(n_bytes), to);
            }
            Inst::PktPush { a } => return packet.push(0, at(a) as usize),
            Inst::PktPop { a } => return packet.pop(0, at(a) as usize),
            Inst::PktPushAt { offset, a } => return packet.push(at(offset) as usize, at(a) as usize),
            Inst::PktPopAt { offset, a } => return packet.pop(at(offset) as usize, at(a) as usize),
            Inst::PktTruncate { a } => return packet.truncate(at(a) as usize),
            Inst::PktAppend { a } => return packet.append(at(a) as usize),
            Inst::MetaWrite { a, lo, w } => {
                let limbs = &self.frame[a as usize..a as usize + usize::from(w).div_ceil(64)];
                return packet.set_meta(u32::from(lo), u32::from(w), limbs);
            }
            Inst::MetaRead { d, lo, w } => {
                let to = &mut self.frame[d as usize..d as usize + usize::from(w).div_ceil(64)];
                return packet.meta(u32::from(lo), u32::from(w), to);
            }
            Inst::Emit { port } => return packet.emit(at(port)),
            Inst::Drop { reason } => return packet.drop(&self.code.texts[reason as usize]),
            Inst::PktAvail { d } => (d, packet.avail as u64),
            Inst::PktShort { d } => (d, u64::from(packet.short)),
            Inst::PktLen { d } => (d, packet.packet.len() as u64),
            Inst::PktMissing { d } => (d, u64::from(packet.packet.missing)),
            Inst::PktError { d } => (d, u64::from(packet.packet.flags.has(crate::Flags::ERROR))),
            Inst::PktInPort { d } => (d, u64::from(packet.in_port)),
            Inst::PktTime { d } => (d, packet.packet.time_ns),
            other => unreachable!("{other:?} is no packet access"),
        };
        self.set(value.0, value.1);
    }

    fn trace(&mut self, trace: u32) {
        let Some(lines) = &mut self.env.traces else { return };
        let trace = &self.code.traces[trace as usize];
        let mut values = trace.operands.iter().map(|operand| {
            Value::from_limbs(&self.frame[operand.slot as usize..operand.slot as usize + operand.n_limbs()])
        });
        let mut line = String::with_capacity(trace.text.len() + 16);
        let mut rest = trace.text.as_str();
        while let Some(open) = rest.find('{') {
            line.push_str(&rest[..open]);
            rest = &rest[open..];
            let hole = ["{}", "{:x}"].into_iter().find(|hole| rest.starts_with(hole)).unwrap_or("{");
            let value = if hole == "{" { None } else { values.next() };
            match value {
                Some(value) if hole == "{}" => line.push_str(&value.to_string()),
                Some(value) => line.push_str(&format!("{value:x}")),
                None => line.push_str(hole),
            }
            rest = &rest[hole.len()..];
        }
        line.push_str(rest);
        lines.push(line);
    }

    #[cold]
    fn check_memory(&self, pc: usize, memory: u32, index: u64) -> Result<(), Trap> {
        if !self.env.limits.strict {
            return Ok(());
        }
        let array = self.code.memory_names[memory as usize].clone();
        let depth = self.state.memories[memory as usize].depth();
        Err(self.trap(pc, TrapKind::OutOfRange { array, index, depth }))
    }

    #[cold]
    fn check_local(&self, pc: usize, local: u32, index: u64) -> Result<(), Trap> {
        if !self.env.limits.strict {
            return Ok(());
        }
        let local = &self.code.locals[local as usize];
        let array = local.name.clone();
        Err(self.trap(pc, TrapKind::OutOfRange { array, index, depth: local.depth }))
    }

    /// A trap at the instruction before `pc`.
    #[cold]
    fn trap(&self, pc: usize, kind: TrapKind) -> Trap {
        Trap { kind, span: self.code.spans[pc - 1] }
    }
}

/// The mask bit of a port number from 1; 0 if there is no such port.
fn port_bit(port: u64) -> u32 {
    match port {
        1..=32 => 1 << (port - 1),
        _ => 0,
    }
}
