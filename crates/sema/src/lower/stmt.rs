//! Statements.

use diag::{Code, Span};
use ir::{Opcode, ValueId};
use syntax::ast::{Block, Expr, ExprKind, Stmt, StmtKind, SwitchArm};

use super::arith::Scalar;
use super::flow::{Exits, Fate, Flow, Side, Target};
use super::names::{Constant, Entity};
use super::{Lowerer, Reported, Res, STATEMENTS_MAX, Section};
use crate::types::{IntType, Type};

/// Copies that one `.repeat` may make.
const REPEAT_MAX: i128 = 100_000;

/// How a statement list of a `.repeat` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    Next,
    Stop,
}

impl<'a> Lowerer<'a, '_> {
    /// A block in a scope of its own.
    pub fn block(&mut self, block: &'a Block) -> Res<Flow> {
        self.scoped(|lowerer| lowerer.stmts(&block.stmts))
    }

    /// Runs with a fresh innermost scope.
    pub fn scoped<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(Default::default());
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// Statements in order. One that fails is reported and skipped, so that the others are checked too.
    pub fn stmts(&mut self, stmts: &'a [Stmt]) -> Res<Flow> {
        let mut failed = None;
        let mut flow = Flow::FALLS;
        for (at, stmt) in stmts.iter().enumerate() {
            if self.repeat_stopped {
                break;
            }
            match self.stmt(stmt) {
                Err(reported) => failed = Some(reported),
                Ok(one) if !one.falls => return failed.map_or(Ok(flow.then(one)), Err),
                Ok(one) if one.exits.any() && at + 1 < stmts.len() => {
                    let rest = &stmts[at + 1..];
                    let after =
                        self.nested(stmt.span, |lowerer| lowerer.guarded(one.exits, |lowerer| lowerer.stmts(rest)));
                    return match (after, failed) {
                        (Ok(after), None) => Ok(Flow { falls: after.falls, exits: one.then(after).exits }),
                        _ => Err(Reported),
                    };
                }
                Ok(one) => flow = flow.then(one),
            }
        }
        failed.map_or(Ok(flow), Err)
    }

    /// One statement.
    pub fn stmt(&mut self, stmt: &'a Stmt) -> Res<Flow> {
        self.n_statements += 1;
        if self.n_statements > STATEMENTS_MAX {
            if !self.too_large {
                self.too_large = true;
                let help = "use loops instead of `.repeat`, or smaller functions";
                self.error(Code::E0321, stmt.span, "the body is too large once written out", help);
            }
            return Err(Reported);
        }
        self.nested(stmt.span, |lowerer| {
            let previous = lowerer.emit.set_span(Some(stmt.span));
            let result = lowerer.stmt_inner(stmt);
            lowerer.emit.set_span(previous);
            result
        })
    }

    fn stmt_inner(&mut self, stmt: &'a Stmt) -> Res<Flow> {
        match &stmt.kind {
            StmtKind::Empty | StmtKind::Pragma(_) => Ok(Flow::FALLS),
            StmtKind::Vars(vars) => {
                let mut result = Ok(Flow::FALLS);
                for var in vars {
                    if let Err(reported) = self.declare_local(var) {
                        result = Err(reported);
                    }
                }
                result
            }
            StmtKind::Const(decl) => {
                let entity = self.constant_entity(decl)?;
                self.declare(&decl.name, entity);
                Ok(Flow::FALLS)
            }
            StmtKind::Struct(decl) => {
                let struct_type = self.struct_type(decl)?;
                self.declare(&decl.name, Entity::Struct(struct_type));
                Ok(Flow::FALLS)
            }
            StmtKind::Enum(decl) => self.declare_enum(decl),
            StmtKind::Expr(expr) => {
                self.value(expr, None)?;
                Ok(Flow::FALLS)
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { cond, then, otherwise } => self.if_stmt(cond, then, otherwise.as_deref()),
            StmtKind::For { init, cond, step, body } => self.scoped(|lowerer| {
                if let Some(init) = init {
                    lowerer.stmt(init)?;
                }
                lowerer.loop_stmt(cond.as_ref(), step, body)
            }),
            StmtKind::While { cond, body } => self.loop_stmt(Some(cond), &[], body),
            StmtKind::DoWhile { body, cond } => self.do_while(body, cond),
            StmtKind::Switch { value, arms } => self.switch(value, arms),
            StmtKind::Break => self.break_stmt(stmt.span),
            StmtKind::Continue => self.continue_stmt(stmt.span),
            StmtKind::Return(value) => self.return_stmt(value.as_ref(), stmt.span),
            StmtKind::Repeat { var, lo, hi, body } => self.repeat(var, lo, hi, body, stmt.span),
            StmtKind::RepeatBreak => {
                let Some(&depth) = self.repeat_depths.last() else {
                    let help = "`break` leaves a loop";
                    return Err(self.error(Code::E0317, stmt.span, "`BREAK` is not inside a `.repeat`", help));
                };
                if self.runtime_depth != depth {
                    let help = "`BREAK` is decided at compile time: test `$i`, parameters and constants";
                    return Err(self.error(
                        Code::E0306,
                        stmt.span,
                        "`BREAK` under a condition that is not constant",
                        help,
                    ));
                }
                self.repeat_stopped = true;
                Ok(Flow::FALLS)
            }
        }
    }

    fn declare_enum(&mut self, decl: &'a syntax::ast::EnumDecl) -> Res<Flow> {
        let enum_type = self.enum_type(decl)?;
        if !decl.scoped {
            for ((name, _), (_, value)) in decl.values.iter().zip(&enum_type.values) {
                self.declare(name, Entity::Constant(Constant { value: value.clone(), ty: enum_type.ty }));
            }
        }
        if let Some(name) = &decl.name {
            self.declare(name, Entity::Enum(enum_type));
        }
        Ok(Flow::FALLS)
    }

    fn if_stmt(&mut self, cond: &'a Expr, then: &'a Stmt, otherwise: Option<&'a Stmt>) -> Res<Flow> {
        let condition = self.condition(cond);
        let Ok(condition) = condition else {
            // The branches are still worth checking.
            let _ = self.trial(|lowerer| lowerer.scoped(|lowerer| lowerer.stmt(then)));
            if let Some(otherwise) = otherwise {
                let _ = self.trial(|lowerer| lowerer.scoped(|lowerer| lowerer.stmt(otherwise)));
            }
            return Err(Reported);
        };
        let side = self.branch(
            condition,
            |lowerer| lowerer.scoped(|lowerer| lowerer.stmt(then)).map(Side::flow),
            |lowerer| match otherwise {
                Some(otherwise) => lowerer.scoped(|lowerer| lowerer.stmt(otherwise)).map(Side::flow),
                None => Ok(Side::flow(Flow::FALLS)),
            },
        )?;
        Ok(side.flow)
    }

    fn break_stmt(&mut self, span: Span) -> Res<Flow> {
        let fate = self.fate;
        let target = self.frames.last_mut().and_then(|frame| frame.targets.last_mut());
        let Some(target) = target else {
            let help = "`return` leaves the handler";
            return Err(self.error(Code::E0317, span, "`break` is not inside a loop or `switch`", help));
        };
        target.fate = target.fate.or(fate);
        let slot = target.breaks;
        self.set_flag(slot, true);
        self.fate = Fate::UNREACHABLE;
        Ok(Flow { falls: false, exits: Exits { breaks: true, ..Exits::default() } })
    }

    fn continue_stmt(&mut self, span: Span) -> Res<Flow> {
        let fate = self.fate;
        let targets = self.frames.last_mut().map(|frame| &mut frame.targets);
        let target = targets.and_then(|targets| targets.iter_mut().rev().find(|target| target.continues.is_some()));
        let Some((target, slot)) = target.and_then(|target| target.continues.map(|slot| (target, slot))) else {
            let help = "`return` leaves the handler";
            return Err(self.error(Code::E0317, span, "`continue` is not inside a loop", help));
        };
        target.fate = target.fate.or(fate);
        self.set_flag(slot, true);
        self.fate = Fate::UNREACHABLE;
        Ok(Flow { falls: false, exits: Exits { continues: true, ..Exits::default() } })
    }

    fn return_stmt(&mut self, value: Option<&'a Expr>, span: Span) -> Res<Flow> {
        let Some(frame) = self.frames.last().cloned() else {
            return Err(self.error(Code::E0317, span, "`return` is not inside a body", "remove it"));
        };
        match (value, &frame.ty) {
            (Some(value), Type::Void) => {
                // Old sources end `.init` and raw signals with `return PORT_1` or `return last_rport`.
                if !matches!(&value.kind, ExprKind::Name { qualifier: None, name } if name.text == "last_rport") {
                    self.value(value, None)?;
                }
                if !self.calls.is_empty() || !frame.value_is_optional {
                    let help = match (self.calls.is_empty(), self.section) {
                        (true, Section::Packet | Section::Tail | Section::End) => {
                            "write `emit(port); return;` to send the packet, `drop(\"reason\"); return;` to drop it"
                        }
                        (true, Section::Signal) => "assign to the result by its name, then write `return;`",
                        (true, _) => "write `return;`",
                        (false, _) => "give the function a result type, or return nothing",
                    };
                    return Err(self.error(Code::E0323, span, "nothing is returned from here", help));
                }
            }
            (Some(value), ty) => {
                let value = self.initial_value(value, ty)?;
                for (&slot, &scalar) in frame.values.iter().zip(&value.scalars) {
                    self.slots[slot] = scalar;
                }
            }
            (None, Type::Void) => {}
            (None, _) if frame.value_is_optional => {}
            (None, ty) => {
                let message = format!("`return` needs a value of type `{}`", ty.name());
                let help = if self.calls.is_empty() {
                    "return the mask of inputs to wait for: `return PORT_ALL;`"
                } else {
                    "return a value"
                };
                return Err(self.error(Code::E0323, span, message, help));
            }
        }
        if self.calls.is_empty() {
            self.check_fate(span);
        }
        self.set_flag(frame.returns, true);
        let fate = self.fate;
        let frame = self.frames.last_mut().expect("looked at above");
        frame.fate = frame.fate.or(fate);
        self.fate = Fate::UNREACHABLE;
        Ok(Flow { falls: false, exits: Exits { returns: true, ..Exits::default() } })
    }

    // ---- switch

    fn switch(&mut self, value: &'a Expr, arms: &'a [SwitchArm]) -> Res<Flow> {
        let value = self.scalar(value)?;
        let zero = self.emit.constant_bool(false);
        let breaks = self.add_slot(zero);
        let groups = self.switch_groups(value, arms)?;
        let target = Target { breaks, continues: None, fate: Fate::UNREACHABLE };
        let Some(frame) = self.frames.last_mut() else { return Ok(Flow::FALLS) };
        frame.targets.push(target);
        let result = self.switch_tree(&groups);
        let target = self.frames.last_mut().and_then(|frame| frame.targets.pop());
        let mut flow = result?;
        if flow.exits.breaks {
            flow.falls = true;
            flow.exits.breaks = false;
            self.fate = self.fate.or(target.map_or(Fate::UNREACHABLE, |target| target.fate));
        }
        self.slots[breaks] = zero;
        Ok(flow)
    }

    /// Arms joined where one falls through to the next; the group of the default comes last.
    fn switch_groups(&mut self, value: Scalar, arms: &'a [SwitchArm]) -> Res<Vec<Group<'a>>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut seen: Vec<(ir::Value, Span)> = Vec::new();
        let mut default_span: Option<Span> = None;
        let mut open = false;
        for arm in arms {
            let mut enters = self.emit.constant_bool(false);
            let mut is_default = false;
            for (label, span) in &arm.labels {
                match label {
                    None => {
                        if let Some(first) = default_span.replace(*span) {
                            let diagnostic = diag::Diagnostic::new(
                                Code::E0324,
                                *span,
                                "`default` stands twice in this `switch`",
                                "keep one of them",
                            );
                            return Err(self.report(diagnostic.related(first, "the first one")));
                        }
                        is_default = true;
                    }
                    Some(label) => {
                        let matches = self.case_matches(value, label, &mut seen)?;
                        enters = self.emit.binary(Opcode::Or, enters, matches);
                    }
                }
            }
            // The `break` that ends an arm needs no flag.
            let body = match &arm.body[..] {
                [body @ .., Stmt { kind: StmtKind::Break, .. }] => body,
                body => body,
            };
            let part = Arm { enters, is_default, body };
            match groups.last_mut().filter(|_| open) {
                Some(group) => group.arms.push(part),
                None => groups.push(Group { arms: vec![part] }),
            }
            open = !ends_in_exit(&arm.body);
        }
        if let Some(at) = groups.iter().position(|group| group.arms.iter().any(|arm| arm.is_default)) {
            let group = groups.remove(at);
            groups.push(group);
        } else {
            groups.push(Group { arms: vec![] });
        }
        Ok(groups)
    }

    fn case_matches(&mut self, value: Scalar, label: &'a Expr, seen: &mut Vec<(ir::Value, Span)>) -> Res<ValueId> {
        let (ty, known) = self.constant(label, None)?;
        let Type::Int(int) = ty else { return self.need_integer(label.span, &ty.name()) };
        let constant = self.emit.constant(known[0].clone(), int.width);
        let literal = matches!(label.kind, ExprKind::Int(_) | ExprKind::Unary(..));
        let constant = Scalar { value: constant, ty: int, literal };
        let common = self.common_type(value, constant);
        let converted = self.convert(constant, common);
        if let Some(number) = self.emit.known(converted).cloned() {
            if let Some((_, first)) = seen.iter().find(|(old, _)| *old == number) {
                let (message, help) = ("this value has a `case` already", "remove one of them");
                let diagnostic = diag::Diagnostic::new(Code::E0324, label.span, message, help);
                let diagnostic = diagnostic.related(*first, "the first one");
                return Err(self.report(diagnostic));
            }
            seen.push((number, label.span));
        }
        Ok(self.binary(syntax::ast::BinaryOp::Eq, value, constant).value)
    }

    /// Groups exclude each other, so any of them may be asked for first: halving keeps the nesting low.
    fn switch_tree(&mut self, groups: &[Group<'a>]) -> Res<Flow> {
        match groups {
            [] => Ok(Flow::FALLS),
            [one] => self.switch_group(one),
            several => {
                let (left, right) = several.split_at(several.len() / 2);
                let mut condition = self.emit.constant_bool(false);
                for arm in left.iter().flat_map(|group| &group.arms) {
                    condition = self.emit.binary(Opcode::Or, condition, arm.enters);
                }
                let side = self.branch(
                    condition,
                    |lowerer| lowerer.switch_tree(left).map(Side::flow),
                    |lowerer| lowerer.switch_tree(right).map(Side::flow),
                )?;
                Ok(side.flow)
            }
        }
    }

    /// Arms that fall through to each other: each runs if its labels match or the one before ran to its end.
    fn switch_group(&mut self, group: &Group<'a>) -> Res<Flow> {
        let [first, rest @ ..] = &group.arms[..] else { return Ok(Flow::FALLS) };
        if rest.is_empty() {
            return self.scoped(|lowerer| lowerer.stmts(first.body));
        }
        let default_at = group.arms.iter().position(|arm| arm.is_default);
        let mut others = self.emit.constant_bool(false);
        for arm in &group.arms {
            others = self.emit.binary(Opcode::Or, others, arm.enters);
        }
        let mut entered = self.emit.constant_bool(false);
        if default_at.is_none() {
            // One of them matches, or the group would not run: reaching the last one needs no test.
            others = self.emit.constant_bool(true);
        }
        self.switch_arms(&group.arms, &mut entered, others)
    }

    fn switch_arms(&mut self, arms: &[Arm<'a>], entered: &mut ValueId, others: ValueId) -> Res<Flow> {
        let Some((arm, rest)) = arms.split_first() else { return Ok(Flow::FALLS) };
        let mut enters = arm.enters;
        if arm.is_default {
            let none = self.emit.not(others);
            enters = self.emit.binary(Opcode::Or, enters, none);
        }
        let runs = self.emit.binary(Opcode::Or, *entered, enters);
        let runs = if rest.is_empty() { self.emit.constant_bool(true) } else { runs };
        let body = arm.body;
        let side = self.branch(
            runs,
            |lowerer| lowerer.scoped(|lowerer| lowerer.stmts(body)).map(Side::flow),
            |_| Ok(Side::flow(Flow::FALLS)),
        )?;
        if rest.is_empty() || !side.flow.falls {
            return Ok(side.flow);
        }
        let mut reached = runs;
        let after = if side.flow.exits.any() {
            self.guarded(side.flow.exits, |lowerer| lowerer.switch_arms(rest, &mut reached, others))?
        } else {
            self.switch_arms(rest, &mut reached, others)?
        };
        Ok(Flow { falls: after.falls, exits: side.flow.then(after).exits })
    }

    // ---- repeat

    fn repeat(
        &mut self,
        var: &'a syntax::ast::Ident,
        lo: &'a Expr,
        hi: &'a Expr,
        body: &'a Block,
        span: Span,
    ) -> Res<Flow> {
        let (lo, hi) = (self.repeat_bound(lo)?, self.repeat_bound(hi)?);
        if hi - lo > REPEAT_MAX {
            let message = format!("this makes {} copies", hi - lo);
            return Err(self.error(Code::E0321, span, message, "at most 100000; use a `for` loop"));
        }
        self.repeat_depths.push(self.runtime_depth);
        let result = self.repeat_from(var, lo, hi, body, span);
        self.repeat_depths.pop();
        result
    }

    fn repeat_bound(&mut self, expr: &Expr) -> Res<i128> {
        let value = self.const_expr_here(expr)?;
        let small = if value.signed {
            value.value.to_i64(value.width).map(i128::from)
        } else {
            value.value.to_u64().map(i128::from)
        };
        small.ok_or_else(|| self.error(Code::E0321, expr.span, "this bound does not fit 64 bits", "use a smaller one"))
    }

    /// Copies from `at` on. A copy that may leave guards the copies after it.
    fn repeat_from(
        &mut self,
        var: &'a syntax::ast::Ident,
        mut at: i128,
        hi: i128,
        body: &'a Block,
        span: Span,
    ) -> Res<Flow> {
        let mut flow = Flow::FALLS;
        while at < hi {
            let ty = if i32::try_from(at).is_ok() { IntType::INT } else { IntType::c(64, true) };
            let value = ir::Value::from_i64(at as i64, ty.width);
            let (one, copy) = self.repeat_copy(var, Constant { value, ty }, body);
            let one = one?;
            at += 1;
            if copy == Copy::Stop || !one.falls {
                return Ok(flow.then(one));
            }
            if one.exits.any() && at < hi {
                let after = self.nested(span, |lowerer| {
                    lowerer.guarded(one.exits, |lowerer| lowerer.repeat_from(var, at, hi, body, span))
                })?;
                return Ok(Flow { falls: after.falls, exits: flow.then(one).then(after).exits });
            }
            flow = flow.then(one);
        }
        Ok(flow)
    }

    fn repeat_copy(&mut self, var: &'a syntax::ast::Ident, value: Constant, body: &'a Block) -> (Res<Flow>, Copy) {
        let result = self.scoped(|lowerer| {
            lowerer.declare(var, Entity::Constant(value));
            lowerer.block(body)
        });
        let stopped = std::mem::replace(&mut self.repeat_stopped, false);
        (result, if stopped { Copy::Stop } else { Copy::Next })
    }
}

struct Group<'a> {
    arms: Vec<Arm<'a>>,
}

struct Arm<'a> {
    /// Whether one of its labels matches.
    enters: ValueId,
    is_default: bool,
    body: &'a [Stmt],
}

/// Whether the end of a list is surely not reached, by its last statement.
fn ends_in_exit(stmts: &[Stmt]) -> bool {
    match stmts.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Break | StmtKind::Continue | StmtKind::Return(_)) => true,
        Some(StmtKind::Block(block)) => ends_in_exit(&block.stmts),
        Some(StmtKind::If { then, otherwise: Some(otherwise), .. }) => {
            ends_in_exit(std::slice::from_ref(then)) && ends_in_exit(std::slice::from_ref(otherwise))
        }
        _ => false,
    }
}
