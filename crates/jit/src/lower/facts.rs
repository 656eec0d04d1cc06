//! What is known of the packet's length where code stands, so that accesses need no check of their own.
//!
//! A fact says that a number of bytes from an offset on are valid. It holds inside the branch of an `if` that asked. Facts are
//! kept only where the valid bytes never become fewer: not if the body resizes the packet, nor if a member of a chain has a
//! smaller window than one before it.

use ir::{Body, Op, OpId, Opcode, ValueId};

use super::body::Lowerer;
use super::value::ones;

/// How deep a condition is looked into.
const CONDITION_DEPTH_MAX: u32 = 6;
/// How many sums an offset is looked through.
const OFFSET_DEPTH_MAX: u32 = 8;

/// An offset: a value plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    base: Option<ValueId>,
    distance: u64,
}

/// So many bytes are valid from the base's offset on.
#[derive(Clone, Copy, Debug)]
struct Fact {
    base: Option<ValueId>,
    n_bytes: u64,
}

/// All that is known.
#[derive(Debug)]
pub(super) struct Facts {
    known: Vec<Fact>,
    /// By value: the op that it is a result of.
    definitions: Vec<Option<OpId>>,
    hold: bool,
}

impl Facts {
    pub(super) fn new(body: &Body) -> Facts {
        let mut definitions = vec![None; body.values.len()];
        for (idx, op) in body.ops.iter().enumerate() {
            for result in &op.results {
                definitions[result.index()] = Some(OpId(idx as u32));
            }
        }
        let resizes = body.ops.iter().any(|op| {
            matches!(
                op.code,
                Opcode::PktPush
                    | Opcode::PktPop
                    | Opcode::PktPushAt
                    | Opcode::PktPopAt
                    | Opcode::PktTruncate
                    | Opcode::PktAppend
            )
        });
        Facts { known: Vec::new(), definitions, hold: !resizes }
    }

    /// How much is known, for [`Self::forget`].
    pub(super) fn mark(&self) -> usize {
        self.known.len()
    }

    /// Forgets what became known since the mark.
    pub(super) fn forget(&mut self, mark: usize) {
        self.known.truncate(mark);
    }

    /// From here on no facts are kept: the valid bytes may have become fewer.
    pub(super) fn give_up(&mut self) {
        self.hold = false;
    }
}

impl Lowerer<'_> {
    fn definition(&self, value: ValueId) -> Option<&Op> {
        self.facts.definitions[value.index()].map(|op| self.body.op(op))
    }

    /// Learns what a condition says, in the branch where it is `holds`.
    pub(super) fn learn(&mut self, condition: ValueId, holds: bool) {
        self.learn_within(condition, holds, CONDITION_DEPTH_MAX);
    }

    fn learn_within(&mut self, condition: ValueId, holds: bool, depth: u32) {
        let Some(op) = self.definition(condition) else { return };
        if depth == 0 {
            return;
        }
        let (code, operands) = (op.code, op.operands.clone());
        match (code, holds) {
            (Opcode::Not, _) => self.learn_within(operands[0], !holds, depth - 1),
            (Opcode::And, true) | (Opcode::Or, false) => {
                self.learn_within(operands[0], holds, depth - 1);
                self.learn_within(operands[1], holds, depth - 1);
            }
            // end <= avail
            (Opcode::ULe, true) if self.is_avail(operands[1]) => self.learn_end(operands[0]),
            // not: avail < end
            (Opcode::ULt, false) if self.is_avail(operands[0]) => self.learn_end(operands[1]),
            _ => {}
        }
    }

    fn is_avail(&self, value: ValueId) -> bool {
        self.definition(value).is_some_and(|op| op.code == Opcode::PktAvail)
    }

    fn learn_end(&mut self, end: ValueId) {
        let Offset { base, distance } = self.split_offset(end);
        self.facts.known.push(Fact { base, n_bytes: distance });
    }

    /// Looks through sums with constants that cannot wrap, and through widenings.
    fn split_offset(&self, offset: ValueId) -> Offset {
        let mut split = Offset { base: Some(offset), distance: 0 };
        for _ in 0..OFFSET_DEPTH_MAX {
            let Some(base) = split.base else { break };
            if let Some(constant) = self.constant(base) {
                return Offset { base: None, distance: split.distance.saturating_add(constant) };
            }
            let Some(op) = self.definition(base) else { break };
            match op.code {
                Opcode::ZExt => split.base = Some(op.operands[0]),
                Opcode::Add => {
                    let (term, constant) = match (self.constant(op.operands[0]), self.constant(op.operands[1])) {
                        (_, Some(constant)) => (op.operands[0], constant),
                        (Some(constant), None) => (op.operands[1], constant),
                        (None, None) => break,
                    };
                    let sum = self.maximum(term).checked_add(constant);
                    if sum.is_none_or(|sum| self.width(base) > 64 || sum > ones(self.width(base))) {
                        break;
                    }
                    split = Offset { base: Some(term), distance: split.distance.saturating_add(constant) };
                }
                _ => break,
            }
        }
        split
    }

    /// Whether bytes are known to be valid.
    pub(super) fn is_known_valid(&self, offset: ValueId, n_bytes: u32) -> bool {
        if !self.facts.hold {
            return false;
        }
        let Offset { base, distance } = self.split_offset(offset);
        let Some(end) = distance.checked_add(u64::from(n_bytes)) else { return false };
        self.facts.known.iter().any(|fact| fact.base == base && end <= fact.n_bytes)
    }
}
