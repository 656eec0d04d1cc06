//! Runs the body of a constant expression.
//!
//! Pure ops, branches, loops, local arrays and reads of constant memories; anything else is not constant. Bounded in steps.

use std::collections::HashMap;

use ir::{Attr, Body, Op, Opcode, RegionId, Value, ValueId, Var, Width};

/// Ops that a constant may take.
const STEPS_MAX: u64 = 4_000_000;

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It depends on something at run time.
    NotConstant,
    /// The steps ran out.
    TooLong,
}

/// What the root region yields.
pub fn run(body: &Body, vars: &[Var]) -> Result<Vec<Value>, Stop> {
    let mut machine = Machine { body, vars, values: vec![None; body.values.len()], locals: HashMap::new(), steps: 0 };
    machine.region(body.root)
}

struct Machine<'a> {
    body: &'a Body,
    vars: &'a [Var],
    values: Vec<Option<Value>>,
    locals: HashMap<(u32, u64), Value>,
    steps: u64,
}

impl Machine<'_> {
    fn region(&mut self, region: RegionId) -> Result<Vec<Value>, Stop> {
        let region = self.body.region(region);
        for &op in &region.ops {
            self.op(self.body.op(op))?;
        }
        region.yields.iter().map(|&value| self.get(value)).collect()
    }

    fn op(&mut self, op: &Op) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(Stop::TooLong);
        }
        if op.code.is_pure() {
            let operands: Vec<Value> = op.operands.iter().map(|&value| self.get(value)).collect::<Result<_, _>>()?;
            let typed: Vec<(&Value, Width)> =
                operands.iter().zip(&op.operands).map(|(value, &id)| (value, self.body.width(id))).collect();
            let result = ir::eval::pure(op.code, &op.attr, &typed, self.body.width(op.results[0]));
            self.set(op.results[0], result);
            return Ok(());
        }
        match (op.code, &op.attr) {
            (Opcode::If, _) => {
                let side = usize::from(self.get(op.operands[0])?.is_zero());
                let results = self.region(op.regions[side])?;
                op.results.iter().zip(results).for_each(|(&id, value)| self.set(id, value));
            }
            (Opcode::Loop, _) => self.run_loop(op)?,
            (Opcode::LocalRead, Attr::Local(local)) => {
                let word = self.get(op.operands[0])?.to_u64();
                let value = word.and_then(|at| self.locals.get(&(*local, at))).cloned().unwrap_or(Value::ZERO);
                self.set(op.results[0], value);
            }
            (Opcode::LocalWrite, Attr::Local(local)) => {
                let depth = self.body.locals[*local as usize].depth;
                let value = self.get(op.operands[1])?;
                if let Some(at) = self.get(op.operands[0])?.to_u64().filter(|&at| at < depth) {
                    self.locals.insert((*local, at), value);
                }
            }
            (Opcode::LocalClear, Attr::Local(local)) => self.locals.retain(|(other, _), _| other != local),
            (Opcode::MemRead, Attr::Var(var)) => {
                let reset = &self.vars[var.index()].reset;
                let at = self.get(op.operands[0])?.to_u64().and_then(|at| usize::try_from(at).ok());
                let value = at.and_then(|at| reset.get(at)).cloned().unwrap_or(Value::ZERO);
                self.set(op.results[0], value);
            }
            _ => return Err(Stop::NotConstant),
        }
        Ok(())
    }

    fn run_loop(&mut self, op: &Op) -> Result<(), Stop> {
        let params = self.body.region(op.regions[0]).params.clone();
        let mut carried: Vec<Value> = op.operands.iter().map(|&value| self.get(value)).collect::<Result<_, _>>()?;
        loop {
            params.iter().zip(carried).for_each(|(&id, value)| self.set(id, value));
            let mut yields = self.region(op.regions[0])?;
            let go_on = yields.remove(0);
            carried = yields;
            self.steps += 1;
            if go_on.is_zero() {
                break;
            }
        }
        op.results.iter().zip(carried).for_each(|(&id, value)| self.set(id, value));
        Ok(())
    }

    fn get(&self, value: ValueId) -> Result<Value, Stop> {
        self.values[value.index()].clone().ok_or(Stop::NotConstant)
    }

    fn set(&mut self, id: ValueId, value: Value) {
        self.values[id.index()] = Some(value);
    }
}
