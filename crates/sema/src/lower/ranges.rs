//! A modest value-range analysis, for the bounds of array accesses.
//!
//! A range is an inclusive interval of the unsigned number; widths above 64 bits have none. Facts hold at a place: what a
//! branch's condition says of the values in it is entered with [`assume`] and taken back at the end of the branch.

use std::collections::HashMap;

use ir::{Attr, Opcode, ValueId};

use super::emit::Emitter;

/// An inclusive interval of unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest.
    pub lo: u64,
    /// Largest.
    pub hi: u64,
}

/// Facts that hold at the current place.
#[derive(Default)]
pub struct Ranges {
    facts: HashMap<ValueId, Range>,
    undo: Vec<(ValueId, Option<Range>)>,
}

impl Ranges {
    /// A mark to go back to.
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Forgets what was entered since the mark.
    pub fn rewind(&mut self, mark: usize) {
        while self.undo.len() > mark {
            let (value, old) = self.undo.pop().expect("longer than the mark");
            match old {
                Some(range) => self.facts.insert(value, range),
                None => self.facts.remove(&value),
            };
        }
    }

    /// Enters a fact.
    pub fn learn(&mut self, value: ValueId, range: Range) {
        let old = self.facts.get(&value).copied();
        let new = match old {
            Some(old) => Range { lo: old.lo.max(range.lo), hi: old.hi.min(range.hi) },
            None => range,
        };
        if new.lo <= new.hi {
            self.undo.push((value, old));
            self.facts.insert(value, new);
        }
    }
}

/// How far definitions are followed.
const DEPTH_MAX: u32 = 8;

/// The range of a value at the current place; `None` above 64 bits.
pub fn range(emitter: &Emitter, value: ValueId) -> Option<Range> {
    range_to(emitter, value, DEPTH_MAX)
}

fn range_to(emitter: &Emitter, value: ValueId, depth: u32) -> Option<Range> {
    let bits = emitter.width(value).bits();
    if bits > 64 {
        return None;
    }
    if let Some(known) = emitter.known_u64(value) {
        return Some(Range { lo: known, hi: known });
    }
    let full = Range { lo: 0, hi: u64::MAX >> (64 - bits) };
    let fact = emitter.ranges.facts.get(&value).copied().unwrap_or(full);
    if depth == 0 {
        return Some(fact);
    }
    let defined = defined_range(emitter, value, depth - 1, full.hi).unwrap_or(full);
    let both = Range { lo: fact.lo.max(defined.lo), hi: fact.hi.min(defined.hi) };
    Some(if both.lo <= both.hi { both } else { fact })
}

fn defined_range(emitter: &Emitter, value: ValueId, depth: u32, max: u64) -> Option<Range> {
    let op = emitter.definition(value)?;
    let of = |at: usize| range_to(emitter, op.operands[at], depth);
    let sign = 1_u64 << (emitter.width(value).bits() - 1);
    match op.code {
        Opcode::ZExt => of(0),
        Opcode::SExt => {
            let inner = of(0)?;
            let inner_sign = 1_u64 << (emitter.width(op.operands[0]).bits() - 1);
            (inner.hi < inner_sign).then_some(inner)
        }
        Opcode::Trunc => of(0).filter(|inner| inner.hi <= max),
        Opcode::And => {
            let bound = |range: Option<Range>| range.map_or(max, |range| range.hi);
            Some(Range { lo: 0, hi: bound(of(0)).min(bound(of(1))) })
        }
        Opcode::Or | Opcode::Xor => {
            let top = of(0)?.hi | of(1)?.hi;
            Some(Range { lo: 0, hi: if top == 0 { 0 } else { u64::MAX >> top.leading_zeros() } })
        }
        Opcode::URem => {
            let divisor = of(1)?;
            let dividend = of(0)?;
            (divisor.lo > 0).then(|| Range { lo: 0, hi: (divisor.hi - 1).min(dividend.hi) })
        }
        Opcode::SRem => {
            let (dividend, divisor) = (of(0)?, of(1)?);
            let both_positive = dividend.hi < sign && divisor.hi < sign && divisor.lo > 0;
            both_positive.then(|| Range { lo: 0, hi: (divisor.hi - 1).min(dividend.hi) })
        }
        Opcode::UDiv => {
            let (dividend, divisor) = (of(0)?, of(1)?);
            (divisor.lo > 0).then(|| Range { lo: dividend.lo / divisor.hi, hi: dividend.hi / divisor.lo })
        }
        Opcode::SDiv => {
            let (dividend, divisor) = (of(0)?, of(1)?);
            let both_positive = dividend.hi < sign && divisor.hi < sign && divisor.lo > 0;
            both_positive.then(|| Range { lo: dividend.lo / divisor.hi, hi: dividend.hi / divisor.lo })
        }
        Opcode::LShr => {
            let amount = of(1)?;
            let inner = of(0)?;
            let shifted = |by: u64| if by > 63 { 0 } else { inner.hi >> by };
            Some(Range { lo: 0, hi: shifted(amount.lo) })
        }
        Opcode::Shl => {
            let (inner, amount) = (of(0)?, of(1)?);
            let fits = amount.hi < 64 && inner.hi.leading_zeros() as u64 >= amount.hi && inner.hi << amount.hi <= max;
            fits.then(|| Range { lo: inner.lo << amount.lo, hi: inner.hi << amount.hi })
        }
        Opcode::Add => {
            let (a, b) = (of(0)?, of(1)?);
            let hi = a.hi.checked_add(b.hi).filter(|&hi| hi <= max)?;
            Some(Range { lo: a.lo + b.lo, hi })
        }
        Opcode::Sub => {
            let (a, b) = (of(0)?, of(1)?);
            (a.lo >= b.hi).then(|| Range { lo: a.lo - b.hi, hi: a.hi - b.lo })
        }
        Opcode::Mul => {
            let (a, b) = (of(0)?, of(1)?);
            let hi = a.hi.checked_mul(b.hi).filter(|&hi| hi <= max)?;
            Some(Range { lo: a.lo * b.lo, hi })
        }
        Opcode::Select => {
            let (a, b) = (of(1)?, of(2)?);
            Some(Range { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) })
        }
        Opcode::If => union_of_yields(emitter, value, depth),
        Opcode::Extract => match op.attr {
            Attr::Bit(bit) if bit < 64 => of(0).map(|inner| Range { lo: 0, hi: (inner.hi >> bit).min(max) }),
            _ => None,
        },
        _ => None,
    }
}

fn union_of_yields(emitter: &Emitter, value: ValueId, depth: u32) -> Option<Range> {
    let op = emitter.definition(value)?;
    let at = op.results.iter().position(|&result| result == value)?;
    let side = |region: usize| {
        let yielded = *emitter.body.region(op.regions[region]).yields.get(at)?;
        range_to(emitter, yielded, depth)
    };
    let (a, b) = (side(0)?, side(1)?);
    Some(Range { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) })
}

/// Enters what a condition says when it is `holds`.
pub fn assume(emitter: &mut Emitter, condition: ValueId, holds: bool) {
    assume_to(emitter, condition, holds, DEPTH_MAX);
}

fn assume_to(emitter: &mut Emitter, condition: ValueId, holds: bool, depth: u32) {
    if depth == 0 {
        return;
    }
    let Some(op) = emitter.definition(condition) else { return };
    let (code, operands) = (op.code, op.operands.clone());
    match (code, holds) {
        (Opcode::Not, _) => assume_to(emitter, operands[0], !holds, depth - 1),
        (Opcode::And, true) | (Opcode::Or, false) if emitter.width(condition).bits() == 1 => {
            assume_to(emitter, operands[0], holds, depth - 1);
            assume_to(emitter, operands[1], holds, depth - 1);
        }
        (Opcode::ULt | Opcode::SLt, true) => less(emitter, code == Opcode::SLt, operands[0], operands[1], 1),
        (Opcode::ULe | Opcode::SLe, true) => less(emitter, code == Opcode::SLe, operands[0], operands[1], 0),
        (Opcode::ULt | Opcode::SLt, false) => less(emitter, code == Opcode::SLt, operands[1], operands[0], 0),
        (Opcode::ULe | Opcode::SLe, false) => less(emitter, code == Opcode::SLe, operands[1], operands[0], 1),
        (Opcode::Eq, true) | (Opcode::Ne, false) => {
            let (Some(a), Some(b)) = (range(emitter, operands[0]), range(emitter, operands[1])) else { return };
            let both = Range { lo: a.lo.max(b.lo), hi: a.hi.min(b.hi) };
            learn(emitter, operands[0], both, depth);
            learn(emitter, operands[1], both, depth);
        }
        _ => {}
    }
}

/// Enters `a + gap <= b`.
fn less(emitter: &mut Emitter, signed: bool, a: ValueId, b: ValueId, gap: u64) {
    let (Some(a_range), Some(b_range)) = (range(emitter, a), range(emitter, b)) else { return };
    let sign = 1_u64 << (emitter.width(a).bits() - 1);
    if !signed || (a_range.hi < sign && b_range.hi < sign) {
        if b_range.hi >= gap {
            learn(emitter, a, Range { lo: 0, hi: b_range.hi - gap }, DEPTH_MAX);
        }
        learn(emitter, b, Range { lo: a_range.lo.saturating_add(gap), hi: u64::MAX }, DEPTH_MAX);
    } else if a_range.hi < sign {
        // Above something that is not negative: not negative either.
        learn(emitter, b, Range { lo: a_range.lo + gap, hi: sign - 1 }, DEPTH_MAX);
    } else if gap == 1 && a_range.lo == sign | (sign - 1) {
        // `-1 < b`.
        learn(emitter, b, Range { lo: 0, hi: sign - 1 }, DEPTH_MAX);
    }
}

/// Enters a fact of a value and of what it was extended from.
fn learn(emitter: &mut Emitter, value: ValueId, fact: Range, depth: u32) {
    emitter.ranges.learn(value, fact);
    let Some(op) = emitter.definition(value) else { return };
    let (code, source) = (op.code, op.operands.first().copied());
    let Some(source) = source else { return };
    let source_bits = emitter.width(source).bits();
    if depth == 0 || source_bits > 63 {
        return;
    }
    let source_max = (1_u64 << source_bits) - 1;
    match code {
        Opcode::ZExt => learn(emitter, source, Range { lo: fact.lo, hi: fact.hi.min(source_max) }, depth - 1),
        Opcode::SExt if fact.hi <= source_max >> 1 => learn(emitter, source, fact, depth - 1),
        Opcode::SExt if fact.hi < 1 << (emitter.width(value).bits() - 1) => {
            learn(emitter, source, Range { lo: fact.lo, hi: source_max >> 1 }, depth - 1);
        }
        _ => {}
    }
}
