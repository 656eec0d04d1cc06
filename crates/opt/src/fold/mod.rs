//! Folding: constants, algebraic identities, conditions that are known.
//!
//! Computes pure ops of constants, applies the identities of `rules.rs` and `bits.rs`, replaces an `if` whose condition is known
//! by the side that runs, takes the condition of an `if` as known inside it, turns an `if` that only chooses between values
//! into `select`, and runs a `loop` that never repeats in place. A carried value that no round changes becomes its initial one.
//! Expects: a verified body. Ensures: same effects in the same order, same results; what is left unused is for `dce`.
//! Linear in ops. Test: `tests/opt/fold/`.

mod bits;
mod compare;
mod rules;

use std::collections::hash_map::Entry;

use ir::{Attr, Body, BodyKind, Op, Opcode, RegionId, Span, Value, ValueId, Width};

use crate::fold::compare::{Comparison, inverse};
use crate::quick::QuickMap;
use crate::rebuild::Rebuild;

/// Folds a body.
pub fn run(body: &Body) -> Body {
    let rebuild = Rebuild::new(body);
    let root = rebuild.to.root;
    let (zeros, enters) = (zeros(body), enters(body));
    let mut folder = Folder { rebuild, facts: Facts::default(), zeros, enters, region: root, span: None };
    let yields = folder.inline(body.root);
    folder.rebuild.set_yields(root, yields);
    // Sides of an `if` that became `select` are written but not held by any op.
    folder.rebuild.to.compacted()
}

/// By old value: whether it is the constant 0 as it stands.
fn zeros(body: &Body) -> Vec<bool> {
    let mut zeros = vec![false; body.values.len()];
    for op in body.ops.iter().filter(|op| op.attr == Attr::Const(Value::ZERO)) {
        zeros[op.results[0].index()] = true;
    }
    zeros
}

/// By old region: whether a member of a chain begins in it.
fn enters(body: &Body) -> Vec<bool> {
    fn find(body: &Body, region: RegionId, enters: &mut [bool]) -> bool {
        let ops = body.region(region).ops.iter().map(|&op| body.op(op));
        let found = ops.fold(false, |found, op| {
            let inside = op.regions.iter().fold(false, |found, &inner| find(body, inner, enters) | found);
            found | inside | (op.code == Opcode::PktEnter)
        });
        enters[region.index()] = found;
        found
    }
    let mut enters = vec![false; body.regions.len()];
    if body.kind == BodyKind::Chain {
        find(body, body.root, &mut enters);
    }
    enters
}

struct Folder<'a> {
    rebuild: Rebuild<'a>,
    facts: Facts,
    zeros: Vec<bool>,
    enters: Vec<bool>,
    /// Where ops are added.
    region: RegionId,
    /// Span of the op being rewritten.
    span: Option<Span>,
}

/// What is known in the region being written, because the `if`s around it tested it.
#[derive(Default)]
struct Facts {
    /// New values of one bit.
    bits: QuickMap<ValueId, bool>,
    /// Comparisons of new values, each with its inverse.
    comparisons: QuickMap<Comparison, bool>,
    /// New values that equal a constant.
    constants: QuickMap<ValueId, Value>,
    /// What was learnt, in order, so that a region can forget its own when it ends.
    learnt_bits: Vec<ValueId>,
    learnt_comparisons: Vec<Comparison>,
    learnt_constants: Vec<ValueId>,
}

/// How much was learnt so far: bits, comparisons, constants.
#[derive(Clone, Copy)]
struct Learnt(usize, usize, usize);

impl Facts {
    /// Takes a bit as known; gives whether that is news.
    fn learn_bit(&mut self, bit: ValueId, known: bool) -> bool {
        let is_news = !self.bits.contains_key(&bit);
        if is_news {
            self.bits.insert(bit, known);
            self.learnt_bits.push(bit);
        }
        is_news
    }

    fn learn_comparison(&mut self, comparison: Comparison, known: bool) {
        if let Entry::Vacant(vacant) = self.comparisons.entry(comparison) {
            vacant.insert(known);
            self.learnt_comparisons.push(comparison);
        }
    }

    fn learn_constant(&mut self, value: ValueId, constant: Value) {
        if let Entry::Vacant(vacant) = self.constants.entry(value) {
            vacant.insert(constant);
            self.learnt_constants.push(value);
        }
    }

    fn learnt(&self) -> Learnt {
        Learnt(self.learnt_bits.len(), self.learnt_comparisons.len(), self.learnt_constants.len())
    }

    /// Forgets what was learnt since then.
    fn forget(&mut self, Learnt(n_bits, n_comparisons, n_constants): Learnt) {
        for bit in self.learnt_bits.drain(n_bits..) {
            self.bits.remove(&bit);
        }
        for comparison in self.learnt_comparisons.drain(n_comparisons..) {
            self.comparisons.remove(&comparison);
        }
        for value in self.learnt_constants.drain(n_constants..) {
            self.constants.remove(&value);
        }
    }
}

impl Folder<'_> {
    /// Folds the ops of an old region into the current one; gives what it yields.
    fn inline(&mut self, id: RegionId) -> Vec<ValueId> {
        let from = self.rebuild.from;
        for &op in &from.region(id).ops {
            self.op(from.op(op));
        }
        self.operands(&from.region(id).yields)
    }

    /// New names of old values; those that are known here as constants.
    fn operands(&mut self, old: &[ValueId]) -> Vec<ValueId> {
        let mut values = self.rebuild.renamed_all(old);
        if !self.facts.bits.is_empty() {
            for value in &mut values {
                *value = self.with_facts(*value);
            }
        }
        values
    }

    /// What a new value is known to be here: it, a choice between others, or something made of one, was tested.
    fn with_facts(&mut self, value: ValueId) -> ValueId {
        if let Some(known) = self.known_bit(value) {
            return self.bool_constant(known);
        }
        if let Some(known) = self.facts.constants.get(&value) {
            return self.constant(known.clone(), self.rebuild.width(value));
        }
        let Some(op) = self.rebuild.definition(value) else { return value };
        match (op.code, &op.operands[..]) {
            (Opcode::ZExt, &[bit]) => match self.known_bit(bit) {
                Some(known) => self.constant(known.into(), self.rebuild.width(value)),
                None => value,
            },
            (Opcode::Not, &[bit]) => match self.known_bit(bit) {
                Some(known) => self.bool_constant(!known),
                None => value,
            },
            (Opcode::Select, &[condition, yes, no]) => match self.known_bit(condition) {
                Some(known) => {
                    if known {
                        yes
                    } else {
                        no
                    }
                }
                None => value,
            },
            _ => value,
        }
    }

    /// A new value of one bit, if it is known here.
    fn known_bit(&self, value: ValueId) -> Option<bool> {
        if self.rebuild.width(value) != Width::BOOL {
            return None;
        }
        if let Some(&known) = self.facts.bits.get(&value) {
            return Some(known);
        }
        let op = self.rebuild.definition(value)?;
        let &[a, b] = &op.operands[..] else { return None };
        self.facts.comparisons.get(&(op.code, a, b)).copied()
    }

    fn op(&mut self, op: &Op) {
        self.span = op.span;
        match op.code {
            Opcode::If => self.fold_if(op),
            Opcode::Loop => self.fold_loop(op),
            _ => {
                let operands = self.operands(&op.operands);
                let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
                let results = if op.code.is_pure() {
                    vec![self.pure(op.code, op.attr.clone(), &operands, widths[0])]
                } else {
                    let attr = op.attr.clone();
                    let copied = Op { code: op.code, attr, operands, results: vec![], regions: vec![], span: op.span };
                    self.rebuild.push(self.region, copied, &widths)
                };
                self.rebuild.bind(&op.results, &results);
            }
        }
    }

    fn fold_if(&mut self, op: &Op) {
        let mut condition = self.operands(&op.operands)[0];
        let (mut yes, mut no) = (op.regions[0], op.regions[1]);
        if let Some(known) = self.rebuild.constant(condition)
            // Engines count the members of a chain by their `pkt.enter`, so one that is never reached stays.
            && !self.enters[if known.is_zero() { yes } else { no }.index()]
        {
            let chosen = if known.is_zero() { no } else { yes };
            let results = self.inline(chosen);
            self.rebuild.bind(&op.results, &results);
            return;
        }
        if let Some(&[inner]) = self.operands_of(condition, Opcode::Not) {
            condition = inner;
            std::mem::swap(&mut yes, &mut no);
        }
        let yes = self.side(yes, condition, true);
        let no = self.side(no, condition, false);
        self.span = op.span;
        let n_results = op.results.len();
        if n_results > 0 && self.only_constants(yes) && self.only_constants(no) {
            let results = (0..n_results).map(|i| self.choose(condition, yes, no, i)).collect::<Vec<ValueId>>();
            self.rebuild.bind(&op.results, &results);
            return;
        }
        let replaced: Vec<Option<ValueId>> = (0..n_results).map(|i| self.known_choice(condition, yes, no, i)).collect();
        let widths: Vec<Width> = op.results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        let code = Opcode::If;
        let folded = Op {
            code,
            attr: Attr::None,
            operands: vec![condition],
            results: vec![],
            regions: vec![yes, no],
            span: op.span,
        };
        let results = self.rebuild.push(self.region, folded, &widths);
        let results: Vec<ValueId> =
            replaced.iter().zip(results).map(|(known, result)| known.unwrap_or(result)).collect();
        self.rebuild.bind(&op.results, &results);
    }

    /// Folds a side of an `if` into a fresh region, in which the condition is known.
    fn side(&mut self, from: RegionId, condition: ValueId, known: bool) -> RegionId {
        let outer_facts = self.facts.learnt();
        self.learn(condition, known);
        let region = self.rebuild.add_region(&[]);
        let outer = std::mem::replace(&mut self.region, region);
        let yields = self.inline(from);
        self.rebuild.set_yields(region, yields);
        self.region = outer;
        self.facts.forget(outer_facts);
        region
    }

    /// Takes a value of one bit as known, and what follows from it.
    fn learn(&mut self, value: ValueId, known: bool) {
        if !self.facts.learn_bit(value, known) {
            return;
        }
        let Some(op) = self.rebuild.definition(value) else { return };
        let (code, operands) = (op.code, op.operands.clone());
        if let &[a, b] = &operands[..]
            && let Some(inverse) = inverse((code, a, b))
        {
            self.facts.learn_comparison((code, a, b), known);
            self.facts.learn_comparison(inverse, !known);
            if known == (code == Opcode::Eq)
                && matches!(code, Opcode::Eq | Opcode::Ne)
                && let Some(constant) = self.rebuild.constant(b).cloned()
            {
                self.facts.learn_constant(a, constant);
            }
        }
        match (code, known) {
            (Opcode::Not, _) => self.learn(operands[0], !known),
            (Opcode::And, true) | (Opcode::Or, false) => operands.iter().for_each(|&part| self.learn(part, known)),
            _ => {}
        }
    }

    /// Whether a new region computes nothing.
    fn only_constants(&self, region: RegionId) -> bool {
        let body = &self.rebuild.to;
        body.region(region).ops.iter().all(|&op| body.op(op).code == Opcode::Const)
    }

    /// The yield `i` of an `if` whose sides compute nothing, outside of it.
    fn choose(&mut self, condition: ValueId, yes: RegionId, no: RegionId, i: usize) -> ValueId {
        let mut outside = |region: RegionId| {
            let value = self.rebuild.to.region(region).yields[i];
            match self.rebuild.constant(value) {
                Some(known) => self.constant(known.clone(), self.rebuild.width(value)),
                None => value,
            }
        };
        let (yes, no) = (outside(yes), outside(no));
        let width = self.rebuild.width(yes);
        self.pure(Opcode::Select, Attr::None, &[condition, yes, no], width)
    }

    /// The result `i` of an `if`, where it needs no side to run: both yield the same, or the condition as a bit.
    fn known_choice(&mut self, condition: ValueId, yes: RegionId, no: RegionId, i: usize) -> Option<ValueId> {
        let yes = self.rebuild.to.region(yes).yields[i];
        let no = self.rebuild.to.region(no).yields[i];
        if yes == no {
            return Some(yes);
        }
        let width = self.rebuild.width(yes);
        let (yes, no) = (self.rebuild.constant(yes)?.clone(), self.rebuild.constant(no)?.clone());
        if yes == no {
            return Some(self.constant(yes, width));
        }
        // Any two constants would do; a bit of the condition is the only choice that costs no more than the `if` itself.
        (width == Width::BOOL).then(|| if no.is_zero() { condition } else { self.not(condition) })
    }

    fn fold_loop(&mut self, op: &Op) {
        let from = self.rebuild.from;
        let region = from.region(op.regions[0]);
        let initial = self.operands(&op.operands);
        if self.zeros[region.yields[0].index()] {
            self.rebuild.bind(&region.params, &initial);
            let yields = self.inline(op.regions[0]);
            self.rebuild.bind(&op.results, &yields[1..]);
            return;
        }
        // A carried value that each round passes on as it came is its initial value throughout.
        let is_carried: Vec<bool> =
            region.params.iter().zip(&region.yields[1..]).map(|(param, next)| param != next).collect();
        let keep = |values: &[ValueId]| -> Vec<ValueId> {
            values.iter().zip(&is_carried).filter(|&(_, &carried)| carried).map(|(&value, _)| value).collect()
        };
        let widths: Vec<Width> = keep(&region.params).iter().map(|&param| from.width(param)).collect();
        let inside = self.rebuild.add_region(&widths);
        let params = self.rebuild.to.region(inside).params.clone();
        self.rebuild.bind(&region.params, &initial);
        self.rebuild.bind(&keep(&region.params), &params);
        let outer = std::mem::replace(&mut self.region, inside);
        let yields = self.inline(op.regions[0]);
        let carried: Vec<ValueId> = [&yields[..1], &keep(&yields[1..])].concat();
        self.rebuild.set_yields(inside, carried);
        self.region = outer;
        let operands = keep(&initial);
        let folded =
            Op { code: op.code, attr: Attr::None, operands, results: vec![], regions: vec![inside], span: op.span };
        let results = self.rebuild.push(self.region, folded, &widths);
        self.rebuild.bind(&op.results, &initial);
        self.rebuild.bind(&keep(&op.results), &results);
    }

    // ---- adding ops

    fn constant(&mut self, value: Value, width: Width) -> ValueId {
        let attr = Attr::Const(value);
        let op = Op { code: Opcode::Const, attr, operands: vec![], results: vec![], regions: vec![], span: self.span };
        self.rebuild.push(self.region, op, &[width])[0]
    }

    fn bool_constant(&mut self, value: bool) -> ValueId {
        self.constant(value.into(), Width::BOOL)
    }

    fn not(&mut self, value: ValueId) -> ValueId {
        self.pure(Opcode::Not, Attr::None, &[value], self.rebuild.width(value))
    }

    /// Operands of the op that gives a new value, if it has this code.
    fn operands_of(&self, value: ValueId, code: Opcode) -> Option<&[ValueId]> {
        let op = self.rebuild.definition(value)?;
        (op.code == code).then_some(&op.operands[..])
    }
}
