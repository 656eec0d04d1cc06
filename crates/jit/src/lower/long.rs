//! Pure ops that are too long to stand inline: calls on limbs in the frame.

use cranelift_codegen::ir::{InstBuilder, Value};
use ir::{Attr, Op, Opcode, ValueId};

use super::access::Region;
use super::body::{Lowerer, SCRATCH_A, SCRATCH_B, SCRATCH_D};
use super::value::{INLINE_LIMBS, Val, n_limbs};
use crate::callees::CalleeId;
use crate::layout::LIMB;

impl Lowerer<'_> {
    /// Where a value lies in memory; one in registers is put into that place of the frame first.
    fn spilled(&mut self, value: ValueId, scratch: u32) -> Value {
        match self.val(value) {
            Val::Far(at) => self.frame_address(at),
            val @ (Val::Small(_) | Val::Limbs(_)) => {
                let frame = self.frame;
                self.store_val(Region::Frame, &val, frame, scratch * LIMB);
                self.frame_address(scratch)
            }
        }
    }

    /// The place of a result, and its address.
    fn destination(&mut self, width: u32) -> (u32, Value) {
        let n = n_limbs(width);
        let at = if n > INLINE_LIMBS { self.allocate(n) } else { SCRATCH_D };
        (at, self.frame_address(at))
    }

    /// The result at a place of [`Self::destination`].
    fn arrived(&mut self, at: u32, width: u32) -> Val {
        let n = n_limbs(width) as u32;
        if at != SCRATCH_D {
            return Val::Far(at);
        }
        let limbs = (0..n).map(|i| self.load_frame(at + i)).collect();
        Val::from_limbs(limbs)
    }

    /// An op with a result of more than 64 bits.
    pub(super) fn long(&mut self, op: &Op) -> Val {
        let width = self.width(op.results[0]);
        let from = self.width(op.operands[0]);
        if op.code == Opcode::Select {
            return self.long_select(op, width);
        }
        let a = self.spilled(op.operands[0], SCRATCH_A);
        let (at, d) = self.destination(width);
        let code = self.iconst(op.code as u64);
        let (width_value, from_value) = (self.iconst(u64::from(width)), self.iconst(u64::from(from)));
        match op.code {
            Opcode::Shl | Opcode::LShr | Opcode::AShr => {
                let amount = self.clamped(op.operands[1]);
                self.call(CalleeId::Shift, &[code, d, a, amount, width_value]);
            }
            Opcode::ZExt | Opcode::Trunc | Opcode::Extract => {
                let lo = match op.attr {
                    Attr::Bit(bit) => u64::from(bit),
                    _ => 0,
                };
                let lo = self.iconst(lo);
                self.call(CalleeId::Extract, &[d, a, lo, width_value, from_value]);
            }
            Opcode::SExt => self.call(CalleeId::SignExtend, &[d, a, from_value, width_value]),
            Opcode::ByteSwap => self.call(CalleeId::ByteSwap, &[d, a, width_value]),
            Opcode::Concat => {
                let b = self.spilled(op.operands[1], SCRATCH_B);
                let low_width = self.iconst(u64::from(self.width(op.operands[1])));
                self.call(CalleeId::Concat, &[d, a, from_value, b, low_width]);
            }
            Opcode::Not | Opcode::Neg => self.call(CalleeId::Binary, &[code, d, a, a, width_value]),
            _ => {
                let b = self.spilled(op.operands[1], SCRATCH_B);
                self.call(CalleeId::Binary, &[code, d, a, b, width_value]);
            }
        }
        self.arrived(at, width)
    }

    fn long_select(&mut self, op: &Op, width: u32) -> Val {
        let condition = self.small(op.operands[0]);
        let yes = self.spilled(op.operands[1], SCRATCH_A);
        let no = self.spilled(op.operands[2], SCRATCH_B);
        let from = self.builder.ins().select(condition, yes, no);
        let (at, d) = self.destination(width);
        self.call_copy(d, from, n_limbs(width));
        self.arrived(at, width)
    }

    pub(super) fn long_compare(&mut self, op: &Op, width: u32) -> Val {
        let a = self.spilled(op.operands[0], SCRATCH_A);
        let b = self.spilled(op.operands[1], SCRATCH_B);
        let (code, width) = (self.iconst(op.code as u64), self.iconst(u64::from(width)));
        Val::Small(self.call_for_result(CalleeId::Compare, &[code, a, b, width]))
    }

    /// A constant.
    pub(super) fn constant_op(&mut self, op: &Op) {
        let Attr::Const(value) = &op.attr else { unreachable!("`const` has a value") };
        let result = op.results[0];
        let n = n_limbs(self.width(result));
        let limb = |i: usize| value.limbs().get(i).copied().unwrap_or(0);
        let val = if n > INLINE_LIMBS {
            let at = self.allocate(n);
            for i in 0..n {
                let number = self.iconst(limb(i));
                self.store_frame(at + i as u32, number);
            }
            Val::Far(at)
        } else {
            let limbs = (0..n).map(|i| self.iconst(limb(i))).collect();
            Val::from_limbs(limbs)
        };
        self.maxima[result.index()] = Some(value.to_u64().unwrap_or(u64::MAX));
        self.define(result, val);
    }
}
