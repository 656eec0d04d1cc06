//! A plain evaluator of bodies that records what the outside sees.
//!
//! It knows nothing of packets and ports: what a read gives is a hash of the op, its operands and of how many effects that could
//! change it came before. So two bodies with equal records do the same in every surrounding that answers reads in such a way.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use ir::generate::Random;
use ir::{Attr, Body, Design, Effect, Element, Op, Opcode, RegionId, Value, ValueId, Width, eval};

/// What a run of a body did.
#[derive(Debug, PartialEq)]
pub struct Record {
    /// Effects other than on state, in order, with their operands.
    pub effects: Vec<String>,
    /// State at the end: (variable, word) to value; zeros are left out.
    pub state: BTreeMap<(u32, u64), Value>,
    /// What the body yields.
    pub yields: Vec<Value>,
}

/// Runs a body; `seed` decides parameters, state and what reads give.
pub fn run(design: &Design, element: &Element, body: &Body, seed: u64) -> Record {
    let mut random = Random(seed);
    let mut state = BTreeMap::new();
    for (var, declared) in (0..).zip(&element.vars) {
        for word in 0..declared.depth.unwrap_or(1) {
            state.insert((var, word), random.value(declared.width));
        }
    }
    let mut values = vec![Value::ZERO; body.values.len()];
    for &param in &body.region(body.root).params {
        values[param.index()] = random.value(body.width(param));
    }
    let locals = vec![BTreeMap::new(); body.locals.len()];
    let counts = Counts::default();
    let mut run = Run { design, element, body, seed, values, locals, state, effects: vec![], counts };
    run.region(body.root);
    let yields = run.all(&body.region(body.root).yields);
    run.state.retain(|_, value| !value.is_zero());
    Record { effects: run.effects, state: run.state, yields }
}

#[derive(Default)]
struct Counts {
    /// Ops that may take a message from an input.
    consumed: usize,
    /// Ops that may change the packet's bytes or length.
    window_writes: usize,
    meta_writes: usize,
    /// Accesses to the window; repeating one while the window is as it was shows nothing new.
    accesses: BTreeSet<String>,
}

struct Run<'a> {
    design: &'a Design,
    element: &'a Element,
    body: &'a Body,
    seed: u64,
    values: Vec<Value>,
    locals: Vec<BTreeMap<u64, Value>>,
    state: BTreeMap<(u32, u64), Value>,
    effects: Vec<String>,
    counts: Counts,
}

impl Run<'_> {
    fn all(&self, values: &[ValueId]) -> Vec<Value> {
        values.iter().map(|value| self.values[value.index()].clone()).collect()
    }

    fn set(&mut self, to: &[ValueId], values: Vec<Value>) {
        assert_eq!(to.len(), values.len());
        for (to, value) in to.iter().zip(values) {
            assert!(value.fits(self.body.width(*to)), "a value fits its width");
            self.values[to.index()] = value;
        }
    }

    fn region(&mut self, region: RegionId) {
        let body = self.body;
        for &op in &body.region(region).ops {
            self.op(body.op(op));
        }
    }

    fn op(&mut self, op: &Op) {
        let operands = self.all(&op.operands);
        let body = self.body;
        match op.code {
            Opcode::If => {
                let region = op.regions[usize::from(operands[0].is_zero())];
                self.region(region);
                let yields = self.all(&body.region(region).yields);
                self.set(&op.results, yields);
            }
            Opcode::Loop => {
                let mut carried = operands;
                loop {
                    let region = body.region(op.regions[0]);
                    self.set(&region.params, carried);
                    self.region(op.regions[0]);
                    let yields = self.all(&region.yields);
                    carried = yields[1..].to_vec();
                    if yields[0].is_zero() {
                        break;
                    }
                }
                self.set(&op.results, carried);
            }
            code if code.is_pure() => {
                let with_widths: Vec<(&Value, Width)> =
                    operands.iter().zip(&op.operands).map(|(value, id)| (value, body.width(*id))).collect();
                let result = eval::pure(code, &op.attr, &with_widths, body.width(op.results[0]));
                self.set(&op.results, vec![result]);
            }
            _ => self.effect(op, &operands),
        }
    }

    fn effect(&mut self, op: &Op, operands: &[Value]) {
        match (op.code, &op.attr) {
            (Opcode::RegRead | Opcode::MemRead, Attr::Var(var)) => {
                let word = operands.first().map_or(Some(0), Value::to_u64);
                let value = word.and_then(|word| self.state.get(&(var.0, word))).cloned().unwrap_or(Value::ZERO);
                self.set(&op.results, vec![value]);
            }
            (Opcode::RegWrite, Attr::Var(var)) => drop(self.state.insert((var.0, 0), operands[0].clone())),
            (Opcode::MemWrite, Attr::Var(var)) => {
                let depth = self.element.vars[var.index()].depth.expect("a memory");
                if let Some(word) = operands[0].to_u64().filter(|&word| word < depth) {
                    self.state.insert((var.0, word), operands[1].clone());
                }
            }
            (Opcode::LocalRead, &Attr::Local(local)) => {
                let word = operands[0].to_u64();
                let value = word.and_then(|word| self.locals[local as usize].get(&word)).cloned();
                self.set(&op.results, vec![value.unwrap_or(Value::ZERO)]);
            }
            (Opcode::LocalWrite, &Attr::Local(local)) => {
                let depth = self.body.locals[local as usize].depth;
                if let Some(word) = operands[0].to_u64().filter(|&word| word < depth) {
                    self.locals[local as usize].insert(word, operands[1].clone());
                }
            }
            (Opcode::LocalClear, &Attr::Local(local)) => self.locals[local as usize].clear(),
            _ => self.outside(op, operands),
        }
    }

    fn outside(&mut self, op: &Op, operands: &[Value]) {
        let effect = op.code.effect();
        if matches!(effect, Effect::WritePort | Effect::WritePacket | Effect::Outside) {
            self.effects.push(format!("{} {:?} {operands:?}", op.code.name(), op.attr));
        }
        match (op.code, effect) {
            (Opcode::InRead | Opcode::InClear, _) => self.counts.consumed += 1,
            (Opcode::MetaWrite, _) => self.counts.meta_writes += 1,
            (Opcode::Emit | Opcode::Drop, _) => {}
            (_, Effect::WritePacket) => self.counts.window_writes += 1,
            _ => {}
        }
        if matches!(op.code, Opcode::PktLoad | Opcode::PktStore) {
            let widths: Vec<Width> = op.results.iter().map(|result| self.body.width(*result)).collect();
            let access = format!("{} {operands:?} {widths:?} {}", op.code.name(), self.counts.window_writes);
            self.counts.accesses.insert(access);
        }
        let body = self.body;
        let results =
            (0..).zip(&op.results).map(|(i, result)| self.answer(op, operands, i, body.width(*result))).collect();
        self.set(&op.results, results);
    }

    /// What a read gives as its result `i`.
    fn answer(&self, op: &Op, operands: &[Value], i: u32, width: Width) -> Value {
        let changes = match op.code {
            Opcode::Now | Opcode::LastMask | Opcode::OutFailed | Opcode::OutWritten => 0,
            Opcode::PktTime | Opcode::PktInPort | Opcode::PktMissing => 0,
            Opcode::PktShort => self.counts.accesses.len(),
            Opcode::MetaRead => self.counts.meta_writes,
            code if matches!(code.effect(), Effect::ReadPort | Effect::WritePort) => self.counts.consumed,
            _ => self.counts.window_writes,
        };
        let mut hasher = DefaultHasher::new();
        (self.seed, op.code, &op.attr, operands, i, changes, &self.design.name).hash(&mut hasher);
        Random(hasher.finish()).value(width)
    }
}
