//! Regions, `if` and `loop`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use ir::{Op, RegionId, ValueId};

use super::body::{Lowerer, TrapSiteKind};
use super::value::{INLINE_LIMBS, Val, n_limbs};

/// Results of an `if` without ops that are chosen without a branch.
const SELECTED_MAX: usize = 4;

impl Lowerer<'_> {
    pub(super) fn region(&mut self, region: RegionId) {
        let body = self.body;
        for &op in &body.region(region).ops {
            self.op(op);
        }
    }

    pub(super) fn branch(&mut self, op: &Op) {
        let condition = self.small(op.operands[0]);
        if self.is_plain_choice(op) {
            return self.choice(op, condition);
        }
        let (then_block, else_block, merge) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let results: Vec<Val> = op.results.iter().map(|&result| self.joint_val(result, merge)).collect();
        self.builder.ins().brif(condition, then_block, &[], else_block, &[]);
        let known = self.facts.mark();
        for ((block, holds), &region) in [(then_block, true), (else_block, false)].into_iter().zip(&op.regions) {
            self.seal_and_enter(block);
            self.learn(op.operands[0], holds);
            self.region(region);
            self.facts.forget(known);
            let yields = self.body.region(region).yields.clone();
            let arguments = self.joined_arguments(&yields, &results);
            self.builder.ins().jump(merge, &arguments);
        }
        self.seal_and_enter(merge);
        for (&result, val) in op.results.iter().zip(results) {
            self.define(result, val);
        }
    }

    fn is_plain_choice(&self, op: &Op) -> bool {
        op.results.len() <= SELECTED_MAX
            && op.results.iter().all(|&result| self.width(result) <= 64)
            && op.regions.iter().all(|&region| self.body.region(region).ops.is_empty())
    }

    fn choice(&mut self, op: &Op, condition: Value) {
        let body = self.body;
        let (yes, no) = (&body.region(op.regions[0]).yields, &body.region(op.regions[1]).yields);
        for (&result, (&yes, &no)) in op.results.iter().zip(yes.iter().zip(no)) {
            let (yes, no) = (self.small(yes), self.small(no));
            let chosen = self.builder.ins().select(condition, yes, no);
            self.define(result, Val::Small(chosen));
        }
    }

    /// A value that paths into a block agree on: parameters of the block, or a place in the frame.
    fn joint_val(&mut self, value: ValueId, block: Block) -> Val {
        let n = n_limbs(self.width(value));
        if n > INLINE_LIMBS {
            return Val::Far(self.allocate(n));
        }
        let limbs = (0..n).map(|_| self.builder.append_block_param(block, types::I64)).collect();
        Val::from_limbs(limbs)
    }

    /// Arguments of a jump that makes `to` what `from` is; what lies in the frame is copied.
    fn joined_arguments(&mut self, from: &[ValueId], to: &[Val]) -> Vec<BlockArg> {
        let mut arguments = Vec::new();
        let mut copies = Vec::new();
        for (&from, to) in from.iter().zip(to) {
            match (self.val(from), to) {
                (Val::Small(limb), _) => arguments.push(BlockArg::Value(limb)),
                (Val::Limbs(limbs), _) => arguments.extend(limbs.iter().map(|&limb| BlockArg::Value(limb))),
                (Val::Far(from_at), Val::Far(to_at)) if from_at != *to_at => {
                    copies.push((from_at, *to_at, n_limbs(self.width(from))));
                }
                (Val::Far(_), _) => {}
            }
        }
        // All are read before the first is written.
        let is_read_later = |&(_, to, _): &(u32, u32, usize)| copies.iter().any(|&(from, _, _)| from == to);
        if copies.iter().any(is_read_later) {
            for copy in &mut copies {
                let aside = self.allocate(copy.2);
                self.copy_in_frame(copy.0, aside, copy.2);
                copy.0 = aside;
            }
        }
        for (from, to, n) in copies {
            self.copy_in_frame(from, to, n);
        }
        arguments
    }

    fn copy_in_frame(&mut self, from: u32, to: u32, n_limbs: usize) {
        let (to, from) = (self.frame_address(to), self.frame_address(from));
        self.call_copy(to, from, n_limbs);
    }

    pub(super) fn repeat(&mut self, op: &Op) {
        let body = self.body;
        let region = body.region(op.regions[0]);
        let header = self.builder.create_block();
        let carried: Vec<Val> = region.params.iter().map(|&param| self.joint_val(param, header)).collect();
        let initial = self.joined_arguments(&op.operands, &carried);
        self.builder.ins().jump(header, &initial);
        self.builder.switch_to_block(header);
        for (&param, val) in region.params.iter().zip(&carried) {
            self.define(param, val.clone());
        }
        self.region(op.regions[0]);
        let (&go_on, next) = region.yields.split_first().expect("a loop yields whether to go on");
        let go_on = self.small(go_on);
        let arguments = self.joined_arguments(next, &carried);
        let (again, exit) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(go_on, again, &[], exit, &[]);
        self.seal_and_enter(again);
        self.count_round(op);
        self.builder.ins().jump(header, &arguments);
        self.builder.seal_block(header);
        self.seal_and_enter(exit);
        for ((&result, &next), carried) in op.results.iter().zip(next).zip(&carried) {
            let val = match carried {
                Val::Far(_) => carried.clone(),
                Val::Small(_) | Val::Limbs(_) => self.val(next),
            };
            self.define(result, val);
        }
    }

    /// Traps if the firing's rounds are used up.
    fn count_round(&mut self, op: &Op) {
        let rounds = self.builder.use_var(self.variables.rounds);
        let trap = self.trap_block(TrapSiteKind::LoopLimit, op.span, None);
        let on = self.builder.create_block();
        let is_used_up = self.builder.ins().icmp_imm_u(IntCC::Equal, rounds, 0);
        self.builder.ins().brif(is_used_up, trap, &[], on, &[]);
        self.builder.seal_block(trap);
        self.seal_and_enter(on);
        let left = self.builder.ins().iadd_imm_s(rounds, -1);
        self.builder.def_var(self.variables.rounds, left);
    }
}
