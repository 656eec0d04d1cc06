//! Pure ops on values of more than 64 bits: inline as far as registers reach, else through `long.rs`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ir::{Attr, Op, Opcode};

use super::body::Lowerer;
use super::value::{INLINE_LIMBS, Val, n_limbs};

/// Limbs up to which a product stands inline; code grows with the square.
const MUL_LIMBS_MAX: usize = 4;

impl Lowerer<'_> {
    /// An op with an operand or a result of more than 64 bits.
    pub(super) fn wide(&mut self, op: &Op) {
        let result = op.results[0];
        let (width, from) = (self.width(result), self.width(op.operands[0]));
        let val = match op.code {
            Opcode::Eq | Opcode::Ne | Opcode::ULt | Opcode::ULe | Opcode::SLt | Opcode::SLe => {
                self.wide_compare(op, from)
            }
            _ if n_limbs(width) > INLINE_LIMBS => self.long(op),
            Opcode::Add | Opcode::Sub | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Neg => {
                self.wide_arithmetic(op, width)
            }
            Opcode::Mul if n_limbs(width) <= MUL_LIMBS_MAX => self.wide_product(op, width),
            Opcode::Mul | Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem => self.long(op),
            Opcode::Shl | Opcode::LShr | Opcode::AShr => match self.constant(op.operands[1]) {
                Some(amount) => self.wide_shift(op, amount, width),
                None => self.long(op),
            },
            Opcode::Select => self.wide_select(op, width),
            Opcode::ZExt => Val::from_limbs(self.limbs(op.operands[0], n_limbs(width))),
            Opcode::SExt => self.wide_sign_extension(op, from, width),
            Opcode::Trunc => self.wide_extract(op, 0, width),
            Opcode::Extract => {
                let Attr::Bit(bit) = op.attr else { unreachable!("the verifier wants the bit of an extract") };
                self.wide_extract(op, bit, width)
            }
            Opcode::Concat => self.wide_concat(op, width),
            Opcode::ByteSwap => self.wide_byte_swap(op, width),
            other => unreachable!("`{}` is not pure", other.name()),
        };
        if matches!(op.code, Opcode::And | Opcode::ZExt | Opcode::Trunc) {
            self.note_maximum(op);
        }
        self.define(result, val);
    }

    fn finished(&mut self, mut limbs: Vec<Value>, width: u32) -> Val {
        self.mask_top(&mut limbs, width);
        Val::from_limbs(limbs)
    }

    fn wide_arithmetic(&mut self, op: &Op, width: u32) -> Val {
        let n = n_limbs(width);
        let a = self.limbs(op.operands[0], n);
        let b = op.operands.get(1).map(|&b| self.limbs(b, n)).unwrap_or_default();
        let limbs = match op.code {
            Opcode::Add => self.sum(&a, &b),
            Opcode::Sub => self.difference(&a, &b),
            Opcode::Neg => {
                let zeros: Vec<Value> = (0..n).map(|_| self.zero()).collect();
                self.difference(&zeros, &a)
            }
            Opcode::Not => a.iter().map(|&a| self.builder.ins().bnot(a)).collect(),
            Opcode::And => a.iter().zip(&b).map(|(&a, &b)| self.builder.ins().band(a, b)).collect(),
            Opcode::Or => a.iter().zip(&b).map(|(&a, &b)| self.builder.ins().bor(a, b)).collect(),
            _ => a.iter().zip(&b).map(|(&a, &b)| self.builder.ins().bxor(a, b)).collect(),
        };
        self.finished(limbs, width)
    }

    fn sum(&mut self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let mut carry = None;
        let mut sums = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let (sum, over) = self.add_limbs(a, b);
            let (sum, over) = match carry {
                None => (sum, over),
                Some(carry) => {
                    let (sum, over_carry) = self.add_limbs(sum, carry);
                    (sum, self.builder.ins().bor(over, over_carry))
                }
            };
            sums.push(sum);
            carry = Some(over);
        }
        sums
    }

    /// Sum and carry.
    fn add_limbs(&mut self, a: Value, b: Value) -> (Value, Value) {
        let sum = self.builder.ins().iadd(a, b);
        let over = self.builder.ins().icmp(IntCC::UnsignedLessThan, sum, a);
        (sum, self.truth(over))
    }

    fn difference(&mut self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let mut borrow = None;
        let mut differences = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let (difference, under) = self.subtract_limbs(a, b);
            let (difference, under) = match borrow {
                None => (difference, under),
                Some(borrow) => {
                    let (difference, under_borrow) = self.subtract_limbs(difference, borrow);
                    (difference, self.builder.ins().bor(under, under_borrow))
                }
            };
            differences.push(difference);
            borrow = Some(under);
        }
        differences
    }

    /// Difference and borrow.
    fn subtract_limbs(&mut self, a: Value, b: Value) -> (Value, Value) {
        let difference = self.builder.ins().isub(a, b);
        let under = self.builder.ins().icmp(IntCC::UnsignedLessThan, a, b);
        (difference, self.truth(under))
    }

    fn wide_product(&mut self, op: &Op, width: u32) -> Val {
        let n = n_limbs(width);
        let (a, b) = (self.limbs(op.operands[0], n), self.limbs(op.operands[1], n));
        let mut product: Vec<Value> = (0..n).map(|_| self.zero()).collect();
        for i in 0..n {
            let mut carry = None;
            for j in 0..n - i {
                if self.is_zero(a[i]) || (self.is_zero(b[j]) && carry.is_none()) {
                    continue;
                }
                let low = self.builder.ins().imul(a[i], b[j]);
                let (mut sum, mut over) = self.add_limbs(product[i + j], low);
                if let Some(carry) = carry {
                    let (with_carry, over_carry) = self.add_limbs(sum, carry);
                    (sum, over) = (with_carry, self.builder.ins().iadd(over, over_carry));
                }
                product[i + j] = sum;
                if i + j + 1 < n {
                    // The high half is at most 2^64 - 2, and both carries together fit above the low half's sum.
                    let high = self.builder.ins().umulhi(a[i], b[j]);
                    carry = Some(self.builder.ins().iadd(high, over));
                }
            }
        }
        self.finished(product, width)
    }

    fn wide_shift(&mut self, op: &Op, amount: u64, width: u32) -> Val {
        let n = n_limbs(width);
        let mut a = self.limbs(op.operands[0], n);
        let fill = if op.code == Opcode::AShr { self.sign_fill(&mut a, width) } else { self.zero() };
        if amount >= u64::from(width) {
            return self.finished(vec![fill; n], width);
        }
        let (limbs, bits) = (amount as usize / 64, amount as i64 % 64);
        let shifted = (0..n)
            .map(|i| {
                if op.code == Opcode::Shl {
                    let at = |k: usize| i.checked_sub(limbs + k).map_or(fill, |i| a[i]);
                    self.joined(at(1), at(0), 64 - bits)
                } else {
                    let at = |k: usize| a.get(i + limbs + k).copied().unwrap_or(fill);
                    self.joined(at(0), at(1), bits)
                }
            })
            .collect();
        self.finished(shifted, width)
    }

    /// The limb from bit `bits` of `low` on, filled up from `high`; `bits` is 0 to 64.
    fn joined(&mut self, low: Value, high: Value, bits: i64) -> Value {
        match bits {
            0 => low,
            64 => high,
            _ => {
                let low = self.builder.ins().ushr_imm_u(low, bits);
                let high = self.builder.ins().ishl_imm_u(high, 64 - bits);
                self.builder.ins().bor(low, high)
            }
        }
    }

    /// Copies the sign of a number into the unused bits of its top limb; gives a limb of copies of the sign.
    fn sign_fill(&mut self, limbs: &mut [Value], width: u32) -> Value {
        let top = limbs.last_mut().expect("a value has a limb");
        if !width.is_multiple_of(64) {
            *top = self.sign_extended(*top, width % 64);
        }
        self.builder.ins().sshr_imm_u(*top, 63)
    }

    fn wide_select(&mut self, op: &Op, width: u32) -> Val {
        let n = n_limbs(width);
        let condition = self.small(op.operands[0]);
        let (yes, no) = (self.limbs(op.operands[1], n), self.limbs(op.operands[2], n));
        let limbs = yes.iter().zip(&no).map(|(&yes, &no)| self.builder.ins().select(condition, yes, no)).collect();
        Val::from_limbs(limbs)
    }

    fn wide_sign_extension(&mut self, op: &Op, from: u32, width: u32) -> Val {
        let mut limbs = self.limbs(op.operands[0], n_limbs(from));
        let fill = self.sign_fill(&mut limbs, from);
        limbs.resize(n_limbs(width), fill);
        self.finished(limbs, width)
    }

    fn wide_extract(&mut self, op: &Op, bit: u32, width: u32) -> Val {
        let (val, from) = (self.val(op.operands[0]), self.width(op.operands[0]));
        let (first, bits) = (bit as usize / 64, i64::from(bit % 64));
        let limbs = (0..n_limbs(width))
            .map(|i| {
                let low = self.limb(&val, first + i, from);
                // The limb above is asked for only if bits of it are wanted.
                let reaches_above = i as u32 * 64 + 64 - (bits as u32) < width;
                let high = if bits != 0 && reaches_above { self.limb(&val, first + i + 1, from) } else { self.zero() };
                self.joined(low, high, bits)
            })
            .collect();
        self.finished(limbs, width)
    }

    fn wide_concat(&mut self, op: &Op, width: u32) -> Val {
        let n = n_limbs(width);
        let low_width = self.width(op.operands[1]);
        let low = self.limbs(op.operands[1], n);
        let high = self.limbs(op.operands[0], n);
        let zero = self.zero();
        let (limbs, bits) = (low_width as usize / 64, i64::from(low_width % 64));
        let joined = (0..n)
            .map(|i| {
                let at = |k: usize| i.checked_sub(limbs + k).map_or(zero, |i| high[i]);
                let above = self.joined(at(1), at(0), 64 - bits);
                if i < n_limbs(low_width) { self.builder.ins().bor(low[i], above) } else { above }
            })
            .collect();
        Val::from_limbs(joined)
    }

    fn wide_byte_swap(&mut self, op: &Op, width: u32) -> Val {
        let n = n_limbs(width);
        let limbs = self.limbs(op.operands[0], n);
        let swapped: Vec<Value> = limbs.iter().rev().map(|&limb| self.builder.ins().bswap(limb)).collect();
        // Whole limbs swap to the top; the unused bytes of the top limb come out at the bottom.
        let unused = n as i64 * 64 - i64::from(width);
        let zero = self.zero();
        let limbs =
            (0..n).map(|i| self.joined(swapped[i], swapped.get(i + 1).copied().unwrap_or(zero), unused)).collect();
        Val::from_limbs(limbs)
    }

    fn wide_compare(&mut self, op: &Op, width: u32) -> Val {
        let n = n_limbs(width);
        if n > INLINE_LIMBS {
            return self.long_compare(op, width);
        }
        let (mut a, mut b) = (self.limbs(op.operands[0], n), self.limbs(op.operands[1], n));
        if matches!(op.code, Opcode::Eq | Opcode::Ne) {
            return self.wide_equality(op.code, &a, &b);
        }
        let is_signed = matches!(op.code, Opcode::SLt | Opcode::SLe);
        if is_signed {
            self.sign_fill(&mut a, width);
            self.sign_fill(&mut b, width);
        }
        // From the lowest limb up: a higher limb decides unless it is equal.
        let or_equal = matches!(op.code, Opcode::ULe | Opcode::SLe);
        let lowest = if or_equal { IntCC::UnsignedLessThanOrEqual } else { IntCC::UnsignedLessThan };
        let mut holds = self.builder.ins().icmp(lowest, a[0], b[0]);
        for i in 1..n {
            let less = if is_signed && i == n - 1 { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
            let is_less = self.builder.ins().icmp(less, a[i], b[i]);
            let is_equal = self.builder.ins().icmp(IntCC::Equal, a[i], b[i]);
            let by_lower = self.builder.ins().band(is_equal, holds);
            holds = self.builder.ins().bor(is_less, by_lower);
        }
        Val::Small(self.truth(holds))
    }

    fn wide_equality(&mut self, code: Opcode, a: &[Value], b: &[Value]) -> Val {
        let mut different = None;
        for (&a, &b) in a.iter().zip(b) {
            let bits = self.builder.ins().bxor(a, b);
            different = Some(match different {
                None => bits,
                Some(others) => self.builder.ins().bor(others, bits),
            });
        }
        let different = different.expect("a value has a limb");
        let condition = if code == Opcode::Eq { IntCC::Equal } else { IntCC::NotEqual };
        let holds = self.builder.ins().icmp_imm_u(condition, different, 0);
        Val::Small(self.truth(holds))
    }
}
