//! Loops.
//!
//! A loop op tests at its end, so `for` and `while` test once before it; that test disappears if the first iteration is certain.
//! Slots that the loop may assign are carried, others keep their values (and stay known constants) inside. After a `break` or
//! `return` the loop stops; the return flag is carried out.

use std::collections::BTreeSet;

use ir::{ValueId, Width};
use syntax::ast::{BinaryOp, Block, Expr, ExprKind, SizeOfArg, Stmt, StmtKind};

use super::flow::{Exits, Fate, Flow, Side, Target};
use super::names::Entity;
use super::ranges::{self, Range};
use super::{Lowerer, Res};
use crate::types::Type;

/// The parts of a loop.
#[derive(Clone, Copy)]
struct Parts<'a> {
    cond: Option<&'a Expr>,
    step: &'a [Expr],
    body: &'a Stmt,
}

impl<'a> Lowerer<'a, '_> {
    /// `for` without its initialiser, and `while`.
    pub fn loop_stmt(&mut self, cond: Option<&'a Expr>, step: &'a [Expr], body: &'a Stmt) -> Res<Flow> {
        let parts = Parts { cond, step, body };
        let entered = match cond {
            Some(cond) => match self.condition(cond) {
                Ok(entered) => entered,
                Err(reported) => {
                    let _ = self.trial(|lowerer| lowerer.run_loop(parts, false));
                    return Err(reported);
                }
            },
            None => self.emit.constant_bool(true),
        };
        if self.emit.known(entered).is_some_and(ir::Value::is_zero) {
            // Never runs; still checked.
            self.trial(|lowerer| lowerer.run_loop(parts, true))?;
            return Ok(Flow::FALLS);
        }
        let side = self.branch(
            entered,
            |lowerer| lowerer.run_loop(parts, true).map(Side::flow),
            |_| Ok(Side::flow(Flow::FALLS)),
        )?;
        Ok(side.flow)
    }

    /// `do … while (cond);`
    pub fn do_while(&mut self, body: &'a Stmt, cond: &'a Expr) -> Res<Flow> {
        self.run_loop(Parts { cond: Some(cond), step: &[], body }, false)
    }

    /// The loop op, entered for sure. `tested`: the condition holds at the start of each iteration.
    fn run_loop(&mut self, parts: Parts<'a>, tested: bool) -> Res<Flow> {
        let zero = self.emit.constant_bool(false);
        let (breaks, continues) = (self.add_slot(zero), self.add_slot(zero));
        let carried = self.carried_slots(parts);
        let initial: Vec<ValueId> = carried.iter().map(|&slot| self.slots[slot]).collect();
        let widths: Vec<Width> = initial.iter().map(|&value| self.emit.width(value)).collect();
        let before = self.slots.clone();
        let fate_before = self.fate;
        let Some(returns) = self.frames.last().map(|frame| frame.returns) else { return Ok(Flow::FALLS) };

        let (region, outer) = self.emit.open(&widths);
        let params = self.emit.body.region(region).params.clone();
        for (&slot, &param) in carried.iter().zip(&params) {
            // An iteration starts only if nothing has returned.
            self.slots[slot] = if slot == returns { zero } else { param };
        }
        let mark = self.emit.ranges.mark();
        if tested {
            self.learn_induction(parts, &before);
        }
        self.loop_depth += 1;
        self.runtime_depth += 1;
        let target = Target { breaks, continues: Some(continues), fate: Fate::UNREACHABLE };
        if let Some(frame) = self.frames.last_mut() {
            frame.targets.push(target);
        }
        let result = self.iteration(parts, breaks, continues);
        let target = self.frames.last_mut().and_then(|frame| frame.targets.pop());
        self.loop_depth -= 1;
        self.runtime_depth -= 1;
        self.emit.ranges.rewind(mark);

        let is_kept = |slot: usize| slot == breaks || slot == continues || carried.binary_search(&slot).is_ok();
        let all_kept =
            result.is_err() || (0..before.len()).all(|slot| is_kept(slot) || self.slots[slot] == before[slot]);
        assert!(all_kept, "what an iteration assigns is found before it is lowered");
        let yields: Vec<ValueId> = carried.iter().map(|&slot| self.slots[slot]).collect();
        self.emit.go_to(outer);
        let (go_on, exits) = match result {
            Ok(done) => done,
            Err(reported) => {
                self.slots = before;
                return Err(reported);
            }
        };
        self.emit.body.regions[region.index()].yields = [vec![go_on], yields].concat();
        let results = self.emit.loop_op(initial, region);
        self.slots = before;
        for (&slot, &value) in carried.iter().zip(&results) {
            self.slots[slot] = value;
        }
        self.slots[breaks] = zero;
        self.slots[continues] = zero;
        let inside = target.map_or(Fate::UNREACHABLE, |target| target.fate).or(self.fate);
        self.fate = fate_after(fate_before, inside);
        let endless = parts.cond.is_none() && !exits.breaks;
        let exits = Exits { returns: exits.returns, ..Exits::default() };
        Ok(Flow { falls: !endless, exits })
    }

    /// Body, step and condition of one iteration; gives "go on?" and how the body may leave.
    fn iteration(&mut self, parts: Parts<'a>, breaks: usize, continues: usize) -> Res<(ValueId, Exits)> {
        let flow = self.scoped(|lowerer| lowerer.stmt(parts.body));
        let zero = self.emit.constant_bool(false);
        let flow = match flow {
            Ok(flow) => flow,
            Err(reported) => {
                let _ = self.trial(|lowerer| lowerer.step_and_test(parts));
                return Err(reported);
            }
        };
        self.slots[continues] = zero;
        if !flow.falls && !flow.exits.continues {
            return Ok((zero, flow.exits));
        }
        let leaves = Exits { continues: false, ..flow.exits };
        if !leaves.any() {
            return Ok((self.step_and_test(parts)?, flow.exits));
        }
        let returns = self.frames.last().map(|frame| frame.returns);
        let mut left = zero;
        if leaves.breaks {
            left = self.emit.binary(ir::Opcode::Or, left, self.slots[breaks]);
        }
        if let Some(returns) = returns.filter(|_| leaves.returns) {
            left = self.emit.binary(ir::Opcode::Or, left, self.slots[returns]);
        }
        let live = self.emit.not(left);
        let side = self.branch(
            live,
            |lowerer| Ok(Side::values(vec![lowerer.step_and_test(parts)?])),
            |_| Ok(Side::values(vec![zero])),
        )?;
        Ok((side.values[0], flow.exits))
    }

    fn step_and_test(&mut self, parts: Parts<'a>) -> Res<ValueId> {
        for step in parts.step {
            self.value(step, None)?;
        }
        match parts.cond {
            Some(cond) => self.condition(cond),
            None => Ok(self.emit.constant_bool(true)),
        }
    }

    /// Slots that an iteration may assign.
    fn carried_slots(&mut self, parts: Parts<'a>) -> Vec<usize> {
        let mut scan = Scan { functions: self.decls.functions.keys().copied().collect(), ..Scan::default() };
        scan.stmt(parts.body);
        parts.cond.into_iter().chain(parts.step).for_each(|expr| scan.expr(expr));
        let mut slots = BTreeSet::new();
        for name in &scan.assigned {
            if let Ok(Some(Entity::Place(place))) = self.lookup(name) {
                slots.extend(place.slots());
            }
        }
        if let Some(frame) = self.frames.last().filter(|_| scan.returns) {
            slots.insert(frame.returns);
            slots.extend(frame.values.iter().copied());
        }
        if scan.calls {
            slots.extend(self.written);
            slots.extend(self.output_data.iter().flatten().copied());
        }
        slots.into_iter().collect()
    }

    /// What the loop's condition and step say of a counter during an iteration.
    fn learn_induction(&mut self, parts: Parts<'a>, before: &[ValueId]) {
        let Some(cond) = parts.cond else { return };
        let mut scan = Scan::default();
        scan.expr(cond);
        if !scan.assigned.is_empty() || scan.calls {
            return;
        }
        let counter = self.counter(parts, cond, before);
        if let Some((param, initial, sign, Direction::Up)) = counter {
            // It starts at `initial` and the condition keeps it from wrapping.
            let hi = sign.map_or(u64::MAX, |sign| sign - 1);
            self.emit.ranges.learn(param, Range { lo: initial.lo, hi });
        }
        let n_reports = self.reports.len();
        if let Ok(condition) = self.trial(|lowerer| lowerer.condition(cond)) {
            ranges::assume(&mut self.emit, condition, true);
        }
        self.reports.truncate(n_reports);
        if let Some((param, initial, sign, Direction::Down)) = counter {
            let not_negative =
                sign.is_none_or(|sign| ranges::range(&self.emit, param).is_some_and(|range| range.hi < sign));
            if not_negative {
                self.emit.ranges.learn(param, Range { lo: 0, hi: initial.hi });
            }
        }
    }

    /// `i` of `i < e; ++i` (also `<=` with a bound that leaves room, `>`, `>=` with `--i`), if nothing else assigns it and it
    /// does not start negative: its parameter, its first value's range, its sign bit if it is signed, and where it goes.
    fn counter(
        &mut self,
        parts: Parts<'a>,
        cond: &Expr,
        before: &[ValueId],
    ) -> Option<(ValueId, Range, Option<u64>, Direction)> {
        let ExprKind::Binary(op, left, right) = &cond.kind else { return None };
        let ExprKind::Name { qualifier: None, name } = &left.kind else { return None };
        let [step] = parts.step else { return None };
        let direction = step_direction(step, &name.text)?;
        let mut scan = Scan { functions: self.decls.functions.keys().copied().collect(), ..Scan::default() };
        scan.stmt(parts.body);
        if scan.assigned.contains(&name.text) {
            return None;
        }
        let Ok(Some(Entity::Place(place))) = self.lookup(&name.text) else { return None };
        let (Type::Int(ty), [slot]) = (&place.ty, &place.slots()[..]) else { return None };
        let initial = ranges::range(&self.emit, *before.get(*slot)?)?;
        let bits = ty.width.bits();
        let sign = ty.signed.then(|| 1_u64 << (bits - 1));
        if sign.is_some_and(|sign| initial.hi >= sign) {
            return None;
        }
        let n_reports = self.reports.len();
        let bound = self.trial(|lowerer| {
            let scalar = lowerer.scalar(right)?;
            Ok(ranges::range(&lowerer.emit, scalar.value))
        });
        self.reports.truncate(n_reports);
        let bound = bound.ok()??;
        let top = sign.map_or(u64::MAX >> (64 - bits), |sign| sign - 1);
        let fits = match (op, direction) {
            (BinaryOp::Lt, Direction::Up) => true,
            (BinaryOp::Le, Direction::Up) => bound.hi < top,
            (BinaryOp::Gt, Direction::Down) => true,
            (BinaryOp::Ge, Direction::Down) => sign.is_some_and(|sign| bound.hi < sign) || bound.lo > 0,
            _ => false,
        };
        fits.then_some((self.slots[*slot], initial, sign, direction))
    }
}

/// A loop that changed the packet's fate ran none or some times.
fn fate_after(before: Fate, inside: Fate) -> Fate {
    if inside == before || inside == Fate::UNREACHABLE {
        return before;
    }
    Fate { open: false, emitted: before.emitted, dropped: before.dropped, unknown: true }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

fn step_direction(step: &Expr, counter: &str) -> Option<Direction> {
    let is_counter =
        |expr: &Expr| matches!(&expr.kind, ExprKind::Name { qualifier: None, name } if name.text == counter);
    match &step.kind {
        ExprKind::IncDec { increment, target, .. } if is_counter(target) => {
            Some(if *increment { Direction::Up } else { Direction::Down })
        }
        ExprKind::Assign { op: Some(op), target, value } if is_counter(target) => {
            let ExprKind::Int(literal) = &value.kind else { return None };
            match (op, &literal.limbs[..]) {
                (BinaryOp::Add, [1]) => Some(Direction::Up),
                (BinaryOp::Sub, [1]) => Some(Direction::Down),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Names that code may assign, found without knowing types: too many do no harm.
#[derive(Default)]
struct Scan<'d> {
    /// Names of functions, whose reference parameters may be written. Methods and built-ins write their receiver at most.
    functions: BTreeSet<&'d str>,
    assigned: BTreeSet<String>,
    returns: bool,
    calls: bool,
    /// Plain names that are used.
    names: BTreeSet<String>,
}

/// Plain names that a body uses, functions included.
pub fn names_in(block: &Block) -> BTreeSet<String> {
    let mut scan = Scan::default();
    scan.block(block);
    scan.names
}

impl Scan<'_> {
    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty
            | StmtKind::Const(_)
            | StmtKind::Struct(_)
            | StmtKind::Enum(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::RepeatBreak
            | StmtKind::Pragma(_) => {}
            StmtKind::Vars(vars) => vars.iter().filter_map(|var| var.init.as_ref()).for_each(|init| self.expr(init)),
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Block(block) | StmtKind::Repeat { body: block, .. } => self.block(block),
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.stmt(then);
                otherwise.iter().for_each(|stmt| self.stmt(stmt));
            }
            StmtKind::For { init, cond, step, body } => {
                init.iter().for_each(|stmt| self.stmt(stmt));
                cond.iter().chain(step).for_each(|expr| self.expr(expr));
                self.stmt(body);
            }
            StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
                self.expr(cond);
                self.stmt(body);
            }
            StmtKind::Switch { value, arms } => {
                self.expr(value);
                arms.iter().flat_map(|arm| &arm.body).for_each(|stmt| self.stmt(stmt));
            }
            StmtKind::Return(value) => {
                self.returns = true;
                value.iter().for_each(|expr| self.expr(expr));
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::Str(_)
            | ExprKind::Dollar(_)
            | ExprKind::Error => {}
            ExprKind::Name { name, .. } => drop(self.names.insert(name.text.clone())),
            ExprKind::Field(base, _) => self.expr(base),
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Slice(a, b, c) | ExprKind::Conditional(a, b, c) => {
                [a, b, c].into_iter().for_each(|part| self.expr(part));
            }
            ExprKind::Call { callee, args, .. } => {
                self.calls = true;
                if let ExprKind::Name { name, .. } = &callee.kind {
                    self.names.insert(name.text.clone());
                }
                if let ExprKind::Field(receiver, method) = &callee.kind {
                    if method.text.starts_with("set") {
                        self.target(receiver);
                    }
                    self.expr(receiver);
                }
                let is_function =
                    matches!(&callee.kind, ExprKind::Name { name, .. } if self.functions.contains(name.text.as_str()));
                for arg in args {
                    if is_function {
                        self.target(arg);
                    }
                    self.expr(arg);
                }
            }
            ExprKind::Cast(_, inner) | ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::SizeOf(arg) => match &**arg {
                SizeOfArg::Type(_) => {}
                SizeOfArg::Expr(expr) => self.expr(expr),
            },
            ExprKind::IncDec { target, .. } => {
                self.target(target);
                self.expr(target);
            }
            ExprKind::Assign { target, value, .. } => {
                self.target(target);
                self.expr(target);
                self.expr(value);
            }
            ExprKind::Braces { elems, .. } => elems.iter().for_each(|(_, elem)| self.expr(elem)),
        }
    }

    /// The variable at the root of something that may be written.
    fn target(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name { qualifier: None, name } => {
                self.assigned.insert(name.text.clone());
            }
            ExprKind::Field(base, _)
            | ExprKind::Index(base, _)
            | ExprKind::Slice(base, ..)
            | ExprKind::Unary(_, base) => {
                self.target(base);
            }
            ExprKind::Binary(BinaryOp::Add, base, _) => self.target(base),
            _ => {}
        }
    }
}
