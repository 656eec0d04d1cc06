//! Handlers that write although no input has a message.
//!
//! Such a handler was written for a machine that calls it in every cycle: it drains what it keeps. Here it is called only when an
//! input in its mask holds a message, so what it keeps may stay inside; the author should hear of that. The body is followed as if
//! all inputs were empty: tests of inputs are false, and a path ends where it reads an input, since it counts on one.

use std::collections::HashMap;

use diag::Span;
use ir::{Body, Op, Opcode, RegionId, Value, ValueId, Width};

/// The first write that a firing without input could do, if the handler then waits for input.
pub fn write_without_input(body: &Body) -> Option<Span> {
    let mut walk = Walk { body, known: HashMap::new(), write: None };
    if !walk.region(body.root) {
        return None;
    }
    let mask = body.region(body.root).yields.first()?;
    let waits = walk.known.get(mask).is_some_and(|mask| *mask != Value::ZERO);
    walk.write.filter(|_| waits)
}

struct Walk<'a> {
    body: &'a Body,
    /// Values that are the same in every such firing.
    known: HashMap<ValueId, Value>,
    write: Option<Span>,
}

impl Walk<'_> {
    /// Whether its end is reached without reading an input.
    fn region(&mut self, region: RegionId) -> bool {
        let body = self.body;
        body.region(region).ops.iter().all(|&op| self.op(body.op(op)))
    }

    fn op(&mut self, op: &Op) -> bool {
        match op.code {
            Opcode::InReady | Opcode::InMask => {
                self.known.insert(op.results[0], Value::ZERO);
            }
            Opcode::InRead | Opcode::InClear => return false,
            Opcode::OutWrite => self.write = self.write.or(op.span),
            Opcode::If => return self.branches(op),
            // What it carries differs from round to round.
            Opcode::Loop => return self.region(op.regions[0]),
            _ => {
                if let Some(value) = self.folded(op) {
                    self.known.insert(op.results[0], value);
                }
            }
        }
        true
    }

    fn branches(&mut self, op: &Op) -> bool {
        let taken: Vec<RegionId> = match self.known.get(&op.operands[0]) {
            Some(condition) => vec![op.regions[usize::from(*condition == Value::ZERO)]],
            None => op.regions.clone(),
        };
        let ends: Vec<RegionId> = taken.into_iter().filter(|&region| self.region(region)).collect();
        for (at, &result) in op.results.iter().enumerate() {
            let mut values = ends.iter().map(|&region| self.known.get(&self.body.region(region).yields[at]));
            let first = values.next().flatten().cloned();
            if let Some(first) = first
                && values.all(|value| value == Some(&first))
            {
                self.known.insert(result, first);
            }
        }
        !ends.is_empty()
    }

    fn folded(&self, op: &Op) -> Option<Value> {
        if !op.code.is_pure() {
            return None;
        }
        let operands: Vec<Option<&Value>> = op.operands.iter().map(|operand| self.known.get(operand)).collect();
        match (op.code, &operands[..]) {
            (Opcode::And, operands) if operands.contains(&Some(&Value::ZERO)) => return Some(Value::ZERO),
            (Opcode::Or, operands)
                if self.body.width(op.results[0]) == Width::BOOL && operands.contains(&Some(&Value::Small(1))) =>
            {
                return Some(Value::Small(1));
            }
            (Opcode::Select, [Some(condition), yes, no]) => {
                let taken = if **condition == Value::ZERO { no } else { yes };
                return taken.cloned();
            }
            _ => {}
        }
        let mut pairs = Vec::new();
        for (value, operand) in operands.into_iter().zip(&op.operands) {
            pairs.push((value?, self.body.width(*operand)));
        }
        Some(ir::eval::pure(op.code, &op.attr, &pairs, self.body.width(op.results[0])))
    }
}
