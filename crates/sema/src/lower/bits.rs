//! The bit-counting built-ins that C compilers offer, under their names there (`__builtin_popcount` and its kin).
//!
//! Each is written out in plain operations, so that every engine agrees on it and constants fold. What C leaves undefined has a
//! meaning: counting the zeros of 0 gives the width. The suffix says the operand: none is 32 bits, `l` and `ll` are 64.

use diag::Span;
use ir::{Attr, Opcode, ValueId, Width};
use syntax::ast::Expr;

use super::arith::Scalar;
use super::expr::Rvalue;
use super::{Lowerer, Res};
use crate::types::IntType;

/// The names without prefix and suffix.
const FAMILIES: [&str; 5] = ["popcount", "parity", "ctz", "clz", "ffs"];

impl Lowerer<'_, '_> {
    /// A call of such a built-in; none if the name is no such thing.
    pub fn bit_call(&mut self, name: &str, args: &[Expr], span: Span) -> Res<Option<Rvalue>> {
        let Some(short) = name.strip_prefix("__builtin_") else { return Ok(None) };
        if let Some(bits) = short.strip_prefix("bswap").and_then(|bits| bits.parse().ok()) {
            if ![16, 32, 64].contains(&bits) {
                return Ok(None);
            }
            self.n_args(name, args, 1, &format!("{name}(x)"), span)?;
            let ty = IntType::c(bits, false);
            let x = self.scalar_as(&args[0], ty)?;
            let value = self.emit.pure(Opcode::ByteSwap, Attr::None, &[x], ty.width);
            return Ok(Some(Scalar { value, ty, literal: false }.into()));
        }
        let family = FAMILIES.iter().find_map(|family| short.strip_prefix(family).map(|suffix| (*family, suffix)));
        let (family, bits) = match family {
            Some((family, "")) => (family, 32),
            Some((family, "l" | "ll")) => (family, 64),
            _ => return Ok(None),
        };
        self.n_args(name, args, 1, &format!("{name}(x)"), span)?;
        let x = self.scalar_as(&args[0], IntType::c(bits, false))?;
        let count = match family {
            "popcount" => self.count_ones(x),
            "parity" => {
                let count = self.count_ones(x);
                let one = self.emit.constant_u64(1, self.emit.width(count));
                self.emit.binary(Opcode::And, count, one)
            }
            "ctz" => self.trailing_zeros(x),
            "clz" => self.leading_zeros(x),
            _ => self.first_set(x),
        };
        let value = self.emit.resize(count, Width::of(32), false);
        Ok(Some(Scalar { value, ty: IntType::INT, literal: false }.into()))
    }

    /// Number of ones: sums of neighbours, in fields of twice the width each time.
    fn count_ones(&mut self, x: ValueId) -> ValueId {
        let width = self.emit.width(x);
        let mut sums = x;
        let mut field = 1;
        while field < width.bits() {
            // The lower half of each pair of fields.
            let mask = (0..width.bits()).filter(|bit| bit / field % 2 == 0).fold(0_u64, |mask, bit| mask | 1 << bit);
            let mask = self.emit.constant_u64(mask, width);
            let low = self.emit.binary(Opcode::And, sums, mask);
            let high = self.shifted(Opcode::LShr, sums, field);
            let high = self.emit.binary(Opcode::And, high, mask);
            sums = self.emit.binary(Opcode::Add, low, high);
            field *= 2;
        }
        sums
    }

    /// Zeros below the lowest one are the ones of `~x & (x - 1)`.
    fn trailing_zeros(&mut self, x: ValueId) -> ValueId {
        let one = self.emit.constant_u64(1, self.emit.width(x));
        let below = self.emit.binary(Opcode::Sub, x, one);
        let clear = self.emit.not(x);
        let zeros = self.emit.binary(Opcode::And, clear, below);
        self.count_ones(zeros)
    }

    /// Zeros above the highest one are what stays clear when it is copied to all bits below.
    fn leading_zeros(&mut self, x: ValueId) -> ValueId {
        let mut filled = x;
        let mut distance = 1;
        while distance < self.emit.width(x).bits() {
            let copy = self.shifted(Opcode::LShr, filled, distance);
            filled = self.emit.binary(Opcode::Or, filled, copy);
            distance *= 2;
        }
        let zeros = self.emit.not(filled);
        self.count_ones(zeros)
    }

    /// Position of the lowest one counted from 1, or 0.
    fn first_set(&mut self, x: ValueId) -> ValueId {
        let width = self.emit.width(x);
        let zeros = self.trailing_zeros(x);
        let one = self.emit.constant_u64(1, width);
        let position = self.emit.binary(Opcode::Add, zeros, one);
        let some = self.emit.is_true(x);
        let none = self.emit.zero(width);
        self.emit.select(some, position, none)
    }

    fn shifted(&mut self, code: Opcode, x: ValueId, bits: u32) -> ValueId {
        let amount = self.emit.constant_u64(u64::from(bits), Width::of(32));
        self.emit.binary(code, x, amount)
    }
}
