//! Pure ops on values of at most 64 bits.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::{Attr, Op, Opcode, ValueId};

use super::body::Lowerer;
use super::value::{Val, ones};

impl Lowerer<'_> {
    /// An op whose operands and result have at most 64 bits.
    pub(super) fn narrow(&mut self, op: &Op) {
        let result = op.results[0];
        let (width, from) = (self.width(result), self.width(op.operands[0]));
        let a = self.small(op.operands[0]);
        let value = match op.code {
            Opcode::Not => self.builder.ins().bxor_imm_u(a, ones(width) as i64),
            Opcode::Neg => {
                let negated = self.builder.ins().ineg(a);
                self.masked(negated, width)
            }
            Opcode::ZExt => a,
            Opcode::SExt => {
                let extended = self.sign_extended(a, from);
                self.masked(extended, width)
            }
            Opcode::Trunc => self.masked(a, width),
            Opcode::Extract => {
                let Attr::Bit(bit) = op.attr else { unreachable!("the verifier wants the bit of an extract") };
                let shifted = self.builder.ins().ushr_imm_u(a, i64::from(bit));
                if bit + width == from { shifted } else { self.masked(shifted, width) }
            }
            Opcode::ByteSwap => self.byte_swapped(a, width),
            Opcode::Select => {
                let (yes, no) = (self.small(op.operands[1]), self.small(op.operands[2]));
                self.builder.ins().select(a, yes, no)
            }
            Opcode::Concat => {
                let low = self.small(op.operands[1]);
                let low_width = i64::from(self.width(op.operands[1]));
                let high = self.builder.ins().ishl_imm_u(a, low_width);
                self.builder.ins().bor(high, low)
            }
            Opcode::Shl | Opcode::LShr | Opcode::AShr => self.narrow_shift(op.code, a, op.operands[1], width),
            _ => self.narrow_binary(op.code, a, op.operands[1], from),
        };
        self.note_maximum(op);
        self.define(result, Val::Small(value));
    }

    fn narrow_binary(&mut self, code: Opcode, a: Value, operand: ValueId, width: u32) -> Value {
        let b = self.small(operand);
        let ins = self.builder.ins();
        let wide = match code {
            Opcode::And => return ins.band(a, b),
            Opcode::Or => return ins.bor(a, b),
            Opcode::Xor => return ins.bxor(a, b),
            Opcode::Add => ins.iadd(a, b),
            Opcode::Sub => ins.isub(a, b),
            Opcode::Mul => ins.imul(a, b),
            Opcode::UDiv | Opcode::URem => return self.unsigned_division(code, a, b, operand, width),
            Opcode::SDiv | Opcode::SRem => self.signed_division(code, a, b, width),
            _ => return self.narrow_compare(code, a, b, width),
        };
        self.masked(wide, width)
    }

    fn narrow_compare(&mut self, code: Opcode, a: Value, b: Value, width: u32) -> Value {
        let condition = match code {
            Opcode::Eq => IntCC::Equal,
            Opcode::Ne => IntCC::NotEqual,
            Opcode::ULt => IntCC::UnsignedLessThan,
            Opcode::ULe => IntCC::UnsignedLessThanOrEqual,
            Opcode::SLt => IntCC::SignedLessThan,
            Opcode::SLe => IntCC::SignedLessThanOrEqual,
            other => unreachable!("`{}` is no comparison", other.name()),
        };
        let is_signed = matches!(code, Opcode::SLt | Opcode::SLe);
        let (a, b) = if is_signed { (self.sign_extended(a, width), self.sign_extended(b, width)) } else { (a, b) };
        let holds = self.builder.ins().icmp(condition, a, b);
        self.truth(holds)
    }

    /// The number of a width in two's complement, at 64 bits.
    pub(super) fn sign_extended(&mut self, a: Value, width: u32) -> Value {
        let narrow = match width {
            64 => return a,
            32 => types::I32,
            16 => types::I16,
            8 => types::I8,
            _ => {
                let above = i64::from(64 - width);
                let high = self.builder.ins().ishl_imm_u(a, above);
                return self.builder.ins().sshr_imm_u(high, above);
            }
        };
        let low = self.builder.ins().ireduce(narrow, a);
        self.builder.ins().sextend(types::I64, low)
    }

    pub(super) fn byte_swapped(&mut self, a: Value, width: u32) -> Value {
        let narrow = match width {
            8 => return a,
            16 => types::I16,
            32 => types::I32,
            _ => {
                let swapped = self.builder.ins().bswap(a);
                return self.builder.ins().ushr_imm_u(swapped, i64::from(64 - width));
            }
        };
        let low = self.builder.ins().ireduce(narrow, a);
        let swapped = self.builder.ins().bswap(low);
        self.builder.ins().uextend(types::I64, swapped)
    }

    fn narrow_shift(&mut self, code: Opcode, a: Value, amount: ValueId, width: u32) -> Value {
        let in_range = self.maximum(amount) < u64::from(width);
        let by = self.clamped(amount);
        if code == Opcode::AShr {
            let most = self.iconst(63);
            let by = if in_range { by } else { self.builder.ins().umin(by, most) };
            let number = self.sign_extended(a, width);
            let shifted = self.builder.ins().sshr(number, by);
            return self.masked(shifted, width);
        }
        let shifted = if code == Opcode::Shl {
            let shifted = self.builder.ins().ishl(a, by);
            self.masked(shifted, width)
        } else {
            self.builder.ins().ushr(a, by)
        };
        if in_range {
            return shifted;
        }
        let fits = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, by, i64::from(width));
        let zero = self.zero();
        self.builder.ins().select(fits, shifted, zero)
    }

    /// The processor stops at a divisor of 0, so it is given a 1 instead and the result is put right.
    fn unsigned_division(&mut self, code: Opcode, a: Value, b: Value, divisor: ValueId, width: u32) -> Value {
        let is_known = self.constant(divisor).is_some_and(|divisor| divisor != 0);
        let is_zero = self.builder.ins().icmp_imm_u(IntCC::Equal, b, 0);
        let one = self.iconst(1);
        let safe = if is_known { b } else { self.builder.ins().select(is_zero, one, b) };
        let (result, instead) = if code == Opcode::UDiv {
            (self.builder.ins().udiv(a, safe), self.iconst(ones(width)))
        } else {
            (self.builder.ins().urem(a, safe), a)
        };
        if is_known { result } else { self.builder.ins().select(is_zero, instead, result) }
    }

    /// As [`Self::unsigned_division`]; a divisor of -1 is left out too, because the most negative number over it overflows.
    fn signed_division(&mut self, code: Opcode, a: Value, b: Value, width: u32) -> Value {
        let (a, b) = (self.sign_extended(a, width), self.sign_extended(b, width));
        let is_zero = self.builder.ins().icmp_imm_u(IntCC::Equal, b, 0);
        let is_minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let is_special = self.builder.ins().bor(is_zero, is_minus_one);
        let one = self.iconst(1);
        let safe = self.builder.ins().select(is_special, one, b);
        let (result, by_minus_one, by_zero) = if code == Opcode::SDiv {
            let minus_one = self.iconst(u64::MAX);
            (self.builder.ins().sdiv(a, safe), self.builder.ins().ineg(a), minus_one)
        } else {
            (self.builder.ins().srem(a, safe), self.zero(), a)
        };
        let result = self.builder.ins().select(is_minus_one, by_minus_one, result);
        self.builder.ins().select(is_zero, by_zero, result)
    }

    /// Remembers a bound of the result, so that an index need not be checked.
    pub(super) fn note_maximum(&mut self, op: &Op) {
        let operand = |i: usize| self.maximum(op.operands[i]);
        let maximum = match op.code {
            Opcode::And => operand(0).min(operand(1)),
            Opcode::ZExt | Opcode::Trunc => operand(0),
            Opcode::Select => operand(1).max(operand(2)),
            Opcode::LShr => match self.constant(op.operands[1]) {
                Some(amount) => operand(0).checked_shr(u32::try_from(amount).unwrap_or(64)).unwrap_or(0),
                None => operand(0),
            },
            Opcode::UDiv => match self.constant(op.operands[1]) {
                Some(divisor) if divisor != 0 => operand(0) / divisor,
                _ => return,
            },
            Opcode::URem => match self.constant(op.operands[1]) {
                Some(divisor) if divisor != 0 => operand(0).min(divisor - 1),
                _ => operand(0),
            },
            Opcode::Add => match operand(0).checked_add(operand(1)) {
                Some(sum) if self.width(op.results[0]) == 64 || sum >> self.width(op.results[0]) == 0 => sum,
                _ => return,
            },
            _ => return,
        };
        self.maxima[op.results[0].index()] = Some(maximum);
    }
}
