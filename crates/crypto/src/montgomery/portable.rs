//! The kernel for any machine: 64-bit limbs, one power at a time.
//!
//! Products are formed whole and then reduced (HAC 14.32), which lets squarings form half of them (HAC 14.16).
//! Values stay in `[0, R)` rather than `[0, m)` ("almost Montgomery", Gueron 2012, §2): the modulus is
//! taken off only when a carry leaves the top limb, by a mask.

use zeroize::Zeroizing;

use super::{Exponent, Kernel, Modulus, Power};
use crate::limbs::{self, LIMB_BITS, Limbs, add_with_carry, multiply_add};

/// Exponentiation with 64-bit multiplications.
#[derive(Debug, Clone, Copy, Default)]
pub struct Portable;

impl Kernel for Portable {
    fn name(&self) -> &'static str {
        "portable"
    }

    fn n_lanes(&self) -> usize {
        1
    }

    fn powers(&self, batch: &[Power<'_>]) -> Vec<Limbs> {
        batch.iter().map(power).collect()
    }
}

/// Bits of the exponent that one table multiplication takes care of; 5 is best from 512 to 2048 bits (HAC 14.82).
const WINDOW_BITS: usize = 5;

fn power(task: &Power<'_>) -> Limbs {
    let mut work = Work::new(task.modulus);
    let base = work.enter(task.base);
    let one = work.enter(&[1]);
    let mut value = match task.exponent {
        Exponent::Secret { limbs, n_bits } => secret_power(&mut work, &base, one, limbs, n_bits),
        Exponent::Public(exponent) => public_power(&mut work, &base, one, exponent),
    };
    work.multiply(&mut value, &limbs::resized(&[1], task.modulus.n_limbs()));
    limbs::reduce_once(&mut value, 0, task.modulus.limbs());
    value
}

/// Fixed windows from the top, each with a multiplication, also by one.
fn secret_power(work: &mut Work<'_>, base: &[u64], one: Limbs, exponent: &[u64], n_bits: usize) -> Limbs {
    let n_limbs = base.len();
    let mut table = Zeroizing::new(Vec::with_capacity(n_limbs << WINDOW_BITS));
    let mut entry = one.clone();
    table.extend_from_slice(&entry);
    for _ in 1..1 << WINDOW_BITS {
        work.multiply(&mut entry, base);
        table.extend_from_slice(&entry);
    }
    let mut value = one;
    let mut factor = limbs::zero(n_limbs);
    for digit_idx in (0..n_bits.div_ceil(WINDOW_BITS)).rev() {
        for _ in 0..WINDOW_BITS {
            work.square(&mut value);
        }
        let digit = limbs::window(exponent, digit_idx * WINDOW_BITS, WINDOW_BITS);
        scan_table(&table, digit, &mut factor);
        work.multiply(&mut value, &factor);
    }
    value
}

/// Copies entry `digit` of `table` to `out` by reading every entry.
fn scan_table(table: &[u64], digit: u64, out: &mut [u64]) {
    out.fill(0);
    for (entry, idx) in table.chunks_exact(out.len()).zip(0..) {
        let chosen = limbs::mask_equal(digit, idx);
        for (limb, value) in out.iter_mut().zip(entry) {
            *limb |= value & chosen;
        }
    }
}

fn public_power(work: &mut Work<'_>, base: &[u64], one: Limbs, exponent: &[u64]) -> Limbs {
    let mut value = one;
    for bit in (0..limbs::bit_length(exponent)).rev() {
        work.square(&mut value);
        if limbs::window(exponent, bit, 1) == 1 {
            work.multiply(&mut value, base);
        }
    }
    value
}

/// A modulus with the room that its products need.
struct Work<'a> {
    modulus: &'a Modulus,
    wide: Limbs,
}

impl<'a> Work<'a> {
    fn new(modulus: &'a Modulus) -> Self {
        Self { modulus, wide: limbs::zero(2 * modulus.n_limbs() + 1) }
    }

    /// `a * R mod m` for `a < m * R`: the reduction gives `a / R`, the product with `R^3` the rest.
    fn enter(&mut self, a: &[u64]) -> Limbs {
        let mut out = limbs::zero(self.modulus.n_limbs());
        self.wide.fill(0);
        self.wide[..a.len()].copy_from_slice(a);
        self.reduce_into(&mut out);
        self.multiply(&mut out, &self.modulus.r_cubed);
        out
    }

    fn multiply(&mut self, a: &mut [u64], b: &[u64]) {
        multiply(a, b, &mut self.wide);
        self.reduce_into(a);
    }

    fn square(&mut self, a: &mut [u64]) {
        square(a, &mut self.wide);
        self.reduce_into(a);
    }

    fn reduce_into(&mut self, out: &mut [u64]) {
        reduce(&mut self.wide, &self.modulus.limbs, self.modulus.negative_inverse, out);
    }
}

/// `out = a * b`; `a` and `b` have `n` limbs, `out` at least `2 * n`, all of it overwritten.
pub(super) fn multiply(a: &[u64], b: &[u64], out: &mut [u64]) {
    out.fill(0);
    for (row, &digit) in a.iter().enumerate() {
        out[row + b.len()] = add_scaled(&mut out[row..row + b.len()], b, digit);
    }
}

/// `out = a * a`: products of different limbs once, doubled, plus the squares of the limbs.
pub(super) fn square(a: &[u64], out: &mut [u64]) {
    out.fill(0);
    let n = a.len();
    for (row, &digit) in a.iter().enumerate() {
        out[row + n] = add_scaled(&mut out[2 * row + 1..row + n], &a[row + 1..], digit);
    }
    let (mut shifted_out, mut carry) = (0, 0);
    for (pair, &digit) in out.chunks_exact_mut(2).zip(a) {
        let (low, high) = multiply_add(0, digit, digit, 0);
        let doubled = [(pair[0] << 1) | shifted_out, (pair[1] << 1) | (pair[0] >> (LIMB_BITS - 1))];
        shifted_out = pair[1] >> (LIMB_BITS - 1);
        (pair[0], carry) = add_with_carry(doubled[0], low, carry);
        (pair[1], carry) = add_with_carry(doubled[1], high, carry);
    }
}

/// `out = wide / R mod m`, below `R`; exactly below `m + 1` if `wide < R`, else below `m` plus `wide / R`.
///
/// `wide` has at least `2 * n` limbs and is destroyed, `m` and `out` have `n`. Requires `wide < R^2`.
pub(super) fn reduce(wide: &mut [u64], m: &[u64], negative_inverse: u64, out: &mut [u64]) {
    let n = m.len();
    let mut top = 0;
    for row in 0..n {
        let quotient_digit = wide[row].wrapping_mul(negative_inverse);
        let carry = add_scaled(&mut wide[row..row + n], m, quotient_digit);
        (wide[row + n], top) = add_with_carry(wide[row + n], carry, top);
    }
    out.copy_from_slice(&wide[n..2 * n]);
    limbs::subtract_masked(out, m, limbs::mask(top));
}

/// `sum += b * digit`, returns the limb carried out. Equal lengths. Four limbs a turn, so that the carries stay in
/// registers and the loop itself costs little.
fn add_scaled(sum: &mut [u64], b: &[u64], digit: u64) -> u64 {
    let mut carry = 0;
    let (sum_chunks, sum_rest) = sum.as_chunks_mut::<4>();
    let (b_chunks, b_rest) = b.as_chunks::<4>();
    for (limbs, others) in sum_chunks.iter_mut().zip(b_chunks) {
        (limbs[0], carry) = multiply_add(limbs[0], digit, others[0], carry);
        (limbs[1], carry) = multiply_add(limbs[1], digit, others[1], carry);
        (limbs[2], carry) = multiply_add(limbs[2], digit, others[2], carry);
        (limbs[3], carry) = multiply_add(limbs[3], digit, others[3], carry);
    }
    for (limb, &other) in sum_rest.iter_mut().zip(b_rest) {
        (*limb, carry) = multiply_add(*limb, digit, other, carry);
    }
    carry
}
