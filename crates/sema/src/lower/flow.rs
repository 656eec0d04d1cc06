//! Structured control flow: branches that merge, and the flags behind `break`, `continue` and `return`.
//!
//! There are no gotos in the intermediate representation. A statement that may leave its block says so in its [`Flow`], and sets
//! a flag slot; the rest of the block then runs under "no flag is set". A flag set in a branch is a constant there, so merging
//! turns it into the branch's condition and most of the machinery folds away.

use diag::Span;
use ir::{RegionId, ValueId, Width};

use super::{Lowerer, Res, ranges};
use crate::types::Type;

/// Ways to leave a block, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// `break` of the innermost loop or switch.
    pub breaks: bool,
    /// `continue` of the innermost loop.
    pub continues: bool,
    /// `return`.
    pub returns: bool,
}

impl Exits {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.breaks || self.continues || self.returns
    }

    fn or(self, other: Exits) -> Exits {
        Exits {
            breaks: self.breaks || other.breaks,
            continues: self.continues || other.continues,
            returns: self.returns || other.returns,
        }
    }
}

/// How control may leave a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Control may reach what follows.
    pub falls: bool,
    /// Other ways that it may take.
    pub exits: Exits,
}

impl Flow {
    /// Always goes on.
    pub const FALLS: Flow = Flow { falls: true, exits: Exits { breaks: false, continues: false, returns: false } };

    /// Either of two.
    pub fn or(self, other: Flow) -> Flow {
        Flow { falls: self.falls || other.falls, exits: self.exits.or(other.exits) }
    }

    /// One after the other.
    pub fn then(self, next: Flow) -> Flow {
        Flow { falls: self.falls && next.falls, exits: self.exits.or(next.exits) }
    }
}

/// What may have become of the packet at a place: a set of possibilities over all paths that lead there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Nothing yet.
    pub open: bool,
    /// Emitted.
    pub emitted: bool,
    /// Dropped.
    pub dropped: bool,
    /// Depends on how often a loop ran.
    pub unknown: bool,
}

impl Fate {
    /// At the start of a handler.
    pub const START: Fate = Fate { open: true, emitted: false, dropped: false, unknown: false };
    /// Where no path leads.
    pub const UNREACHABLE: Fate = Fate { open: false, emitted: false, dropped: false, unknown: false };

    /// Of either of two paths.
    pub fn or(self, other: Fate) -> Fate {
        Fate {
            open: self.open || other.open,
            emitted: self.emitted || other.emitted,
            dropped: self.dropped || other.dropped,
            unknown: self.unknown || other.unknown,
        }
    }
}

/// A loop or switch that `break` leaves.
#[derive(Clone, Debug)]
pub struct Target {
    /// Flag slot of `break`.
    pub breaks: usize,
    /// Flag slot of `continue`; none for a switch.
    pub continues: Option<usize>,
    /// Fates at the breaks and continues.
    pub fate: Fate,
}

/// A body or an inlined function: what `return` leaves.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Flag slot of `return`.
    pub returns: usize,
    /// Slots of the returned value's scalars.
    pub values: Vec<usize>,
    /// Type of the returned value.
    pub ty: Type,
    /// Loops and switches around the current place, innermost last.
    pub targets: Vec<Target>,
    /// Fates at the returns.
    pub fate: Fate,
    /// Whether `return` may stand without a value although there is one (bodies whose result is in variables).
    pub value_is_optional: bool,
}

/// What one side of a branch gives.
pub struct Side {
    /// How control leaves it.
    pub flow: Flow,
    /// Its values; both sides have equally many of equal widths.
    pub values: Vec<ValueId>,
}

impl Side {
    /// A side that goes on, with values.
    pub fn values(values: Vec<ValueId>) -> Side {
        Side { flow: Flow::FALLS, values }
    }

    /// A side without values.
    pub fn flow(flow: Flow) -> Side {
        Side { flow, values: vec![] }
    }
}

struct Lowered {
    region: RegionId,
    side: Res<Side>,
    slots: Vec<ValueId>,
    fate: Fate,
}

/// Ops up to which a choice between pure values becomes a `select`.
const SELECT_OPS_MAX: usize = 24;

impl Lowerer<'_, '_> {
    /// Lowers one of two sides, by a condition of one bit, and merges the slots that they changed; gives the merged values and
    /// how control leaves. A known condition lowers its side only.
    pub fn branch(
        &mut self,
        condition: ValueId,
        then_side: impl FnOnce(&mut Self) -> Res<Side>,
        else_side: impl FnOnce(&mut Self) -> Res<Side>,
    ) -> Res<Side> {
        self.branch_with(condition, then_side, else_side, |_, _, _| Ok(()))
    }

    /// Like [`Lowerer::branch`]; `unify` then brings the values of both sides to equal widths, adding ops to their regions. It is
    /// not called for a known condition.
    pub fn branch_with(
        &mut self,
        condition: ValueId,
        then_side: impl FnOnce(&mut Self) -> Res<Side>,
        else_side: impl FnOnce(&mut Self) -> Res<Side>,
        unify: impl FnOnce(&mut Self, [RegionId; 2], [&mut Vec<ValueId>; 2]) -> Res<()>,
    ) -> Res<Side> {
        if let Some(known) = self.emit.known(condition) {
            return if known.is_zero() { else_side(self) } else { then_side(self) };
        }
        let before = self.slots.clone();
        let fate = self.fate;
        let mut then_side = self.side(condition, true, then_side);
        self.slots.clone_from(&before);
        self.fate = fate;
        let mut else_side = self.side(condition, false, else_side);
        self.slots = before;
        if let (Ok(yes), Ok(no)) = (&mut then_side.side, &mut else_side.side) {
            unify(self, [then_side.region, else_side.region], [&mut yes.values, &mut no.values])?;
        }
        self.merge(condition, then_side, else_side)
    }

    fn side(&mut self, condition: ValueId, holds: bool, lower: impl FnOnce(&mut Self) -> Res<Side>) -> Lowered {
        let (region, outer) = self.emit.open(&[]);
        let mark = self.emit.ranges.mark();
        ranges::assume(&mut self.emit, condition, holds);
        self.runtime_depth += 1;
        let side = lower(self);
        self.runtime_depth -= 1;
        self.emit.ranges.rewind(mark);
        self.emit.go_to(outer);
        let falls = side.as_ref().map_or(true, |side| side.flow.falls);
        let fate = if falls { self.fate } else { Fate::UNREACHABLE };
        Lowered { region, side, slots: std::mem::take(&mut self.slots), fate }
    }

    fn merge(&mut self, condition: ValueId, then_side: Lowered, else_side: Lowered) -> Res<Side> {
        self.fate = then_side.fate.or(else_side.fate);
        let (then_values, else_values) = (then_side.side?, else_side.side?);
        assert_eq!(then_values.values.len(), else_values.values.len(), "both sides give the same values");
        let changed: Vec<usize> =
            (0..self.slots.len()).filter(|&slot| then_side.slots[slot] != else_side.slots[slot]).collect();
        let agreed: Vec<usize> =
            (0..self.slots.len()).filter(|&slot| then_side.slots[slot] == else_side.slots[slot]).collect();
        for slot in agreed {
            self.slots[slot] = then_side.slots[slot];
        }
        let regions = [then_side.region, else_side.region];
        let mut pairs: Vec<(ValueId, ValueId)> =
            changed.iter().map(|&slot| (then_side.slots[slot], else_side.slots[slot])).collect();
        let n_slots = pairs.len();
        pairs.extend(then_values.values.iter().copied().zip(else_values.values.iter().copied()));
        let n_ops: usize = regions.iter().map(|&region| self.emit.body.region(region).ops.len()).sum();
        let speculative = n_ops <= SELECT_OPS_MAX && regions.iter().all(|&region| self.emit.is_speculative(region));
        let merged = if speculative && (n_ops == 0 || n_slots == 0) {
            regions.iter().for_each(|&region| self.emit.splice(region));
            pairs.iter().map(|&(yes, no)| self.emit.select(condition, yes, no)).collect()
        } else {
            self.merge_with_if(condition, regions, &pairs)
        };
        for (&slot, &value) in changed.iter().zip(&merged) {
            self.slots[slot] = value;
        }
        let flow = then_values.flow.or(else_values.flow);
        Ok(Side { flow, values: merged[n_slots..].to_vec() })
    }

    /// Pairs that are flags become the condition, the others results of an `if` op.
    fn merge_with_if(
        &mut self,
        condition: ValueId,
        regions: [RegionId; 2],
        pairs: &[(ValueId, ValueId)],
    ) -> Vec<ValueId> {
        let mut yields: [Vec<ValueId>; 2] = [vec![], vec![]];
        let mut widths: Vec<Width> = vec![];
        let mut merged: Vec<Option<ValueId>> = vec![];
        for &(yes, no) in pairs {
            let flags = self.emit.width(yes) == Width::BOOL;
            let is_flag = flags && self.emit.known(yes).is_some() && self.emit.known(no).is_some();
            if yes == no || is_flag {
                merged.push(Some(self.emit.select(condition, yes, no)));
            } else {
                yields[0].push(yes);
                yields[1].push(no);
                widths.push(self.emit.width(yes));
                merged.push(None);
            }
        }
        for (region, yields) in regions.iter().zip(yields) {
            self.emit.body.regions[region.index()].yields = yields;
        }
        let mut results = self.emit.if_op(condition, regions, &widths).into_iter();
        merged.into_iter().map(|value| value.unwrap_or_else(|| results.next().expect("one result a pair"))).collect()
    }

    /// Lowers what follows a statement that may have left its block: only if no flag is set.
    pub fn guarded(&mut self, exits: Exits, rest: impl FnOnce(&mut Self) -> Res<Flow>) -> Res<Flow> {
        let flags = self.flag_slots(exits);
        let mut left = self.emit.constant_bool(false);
        for &slot in &flags {
            left = self.emit.binary(ir::Opcode::Or, left, self.slots[slot]);
        }
        let live = self.emit.not(left);
        let guards = self.emit.known(live).is_none();
        let zero = self.emit.constant_bool(false);
        let before: Vec<ValueId> = flags.iter().map(|&slot| self.slots[slot]).collect();
        let reached = self.fate;
        let side = self.branch(
            live,
            |lowerer| {
                flags.iter().for_each(|&slot| lowerer.slots[slot] = zero);
                // A guard is no condition of the user's: `BREAK` may stand behind it.
                lowerer.runtime_depth -= u32::from(guards);
                let flow = rest(lowerer);
                lowerer.runtime_depth += u32::from(guards);
                let flow = flow?;
                for (&slot, &old) in flags.iter().zip(&before) {
                    // A flag that is still clear on this side is what it was: clear here, as it may be on the other.
                    if lowerer.slots[slot] == zero {
                        lowerer.slots[slot] = old;
                    }
                }
                lowerer.reached_fate(flow);
                Ok(Side::flow(flow))
            },
            |lowerer| {
                lowerer.fate = Fate::UNREACHABLE;
                Ok(Side::flow(Flow { falls: false, exits }))
            },
        );
        if side.is_err() {
            self.fate = reached;
        }
        Ok(side?.flow)
    }

    fn reached_fate(&mut self, flow: Flow) {
        if !flow.falls {
            self.fate = Fate::UNREACHABLE;
        }
    }

    fn flag_slots(&self, exits: Exits) -> Vec<usize> {
        let Some(frame) = self.frames.last() else { return vec![] };
        let mut slots = Vec::new();
        if exits.returns {
            slots.push(frame.returns);
        }
        if exits.breaks {
            slots.extend(frame.targets.last().map(|target| target.breaks));
        }
        if exits.continues {
            slots.extend(frame.targets.iter().rev().find_map(|target| target.continues));
        }
        slots
    }

    /// Sets a flag slot.
    pub fn set_flag(&mut self, slot: usize, value: bool) {
        self.slots[slot] = self.emit.constant_bool(value);
    }

    /// The span to blame where a whole body is meant: its closing brace.
    pub fn closing_brace(span: Span) -> Span {
        Span { start: span.end.saturating_sub(1).max(span.start), ..span }
    }
}
