//! The kernel for AVX-512 IFMA: radix 2^52, eight powers at a time, one in each 64-bit lane.
//!
//! Lanes are vertical: row `i` holds limb `i` of eight numbers, each with its own modulus, so no data crosses lanes.
//! Columns gather products in 64 bits, of which 12 are spare, and are carried once per product. Operands come in
//! blocks of ten limbs: ten rows of one factor stay in registers while an eleven-column window slides over
//! the other, which costs twenty multiplications, two loads and one store a step and spills nothing.

#![allow(unsafe_code)]

use zeroize::{Zeroize, Zeroizing};

#[cfg(target_arch = "x86_64")]
use super::ifma52_blocks as blocks;
use super::{Exponent, Kernel, Power};
use crate::limbs::{self, Limbs};

/// Bits in a limb of this kernel.
pub const RADIX_BITS: usize = 52;

/// Limbs in a block: the number of limbs is a multiple of it.
pub(super) const BLOCK: usize = 10;

/// Limbs of radix 2^52 for numbers of `n_limbs64` 64-bit limbs: enough that `4 * m < R`, rounded up to whole blocks.
pub fn n_limbs(n_limbs64: usize) -> usize {
    (n_limbs64 * limbs::LIMB_BITS + 2).div_ceil(RADIX_BITS).next_multiple_of(BLOCK)
}

/// The number in `n_limbs52` limbs of 52 bits; higher bits are cut off.
pub fn to_radix_52(value: &[u64], n_limbs52: usize) -> Limbs {
    let limb = |idx: usize| wide_window(value, idx * RADIX_BITS);
    Limbs::new((0..n_limbs52).map(limb).collect())
}

/// The 52 bits from position `start`.
fn wide_window(value: &[u64], start: usize) -> u64 {
    let limb = |idx: usize| value.get(idx).copied().unwrap_or(0);
    let (idx, shift) = (start / limbs::LIMB_BITS, start % limbs::LIMB_BITS);
    let both = u128::from(limb(idx)) | (u128::from(limb(idx + 1)) << limbs::LIMB_BITS);
    ((both >> shift) as u64) & LIMB_MASK
}

/// The bits of a limb.
pub(super) const LIMB_MASK: u64 = (1 << RADIX_BITS) - 1;

/// Lanes of a row.
pub(super) const LANES: usize = 8;

/// One limb of eight numbers.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Row(pub [u64; LANES]);

impl Zeroize for Row {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Eight numbers, limb by limb; wiped when dropped.
type Rows = Zeroizing<Vec<Row>>;

fn zero_rows(n_rows: usize) -> Rows {
    Zeroizing::new(vec![Row::default(); n_rows])
}

/// Exponentiation in eight lanes; exists only where the processor has AVX-512 F and IFMA.
#[derive(Debug)]
pub struct Ifma52x8 {
    _detected: (),
}

impl Ifma52x8 {
    /// The kernel, if the processor has the instructions and the operating system saves their registers.
    pub fn detect() -> Option<&'static Self> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512ifma") {
            return Some(&Self { _detected: () });
        }
        None
    }
}

impl Kernel for Ifma52x8 {
    fn name(&self) -> &'static str {
        "ifma52x8"
    }

    fn n_lanes(&self) -> usize {
        LANES
    }

    fn powers(&self, batch: &[Power<'_>]) -> Vec<Limbs> {
        let mut out = vec![Limbs::default(); batch.len()];
        for group in same_shape_groups(batch) {
            let tasks: Vec<&Power<'_>> = group.iter().map(|&idx| &batch[idx]).collect();
            for (&idx, value) in group.iter().zip(self.group_powers(&tasks)) {
                out[idx] = value;
            }
        }
        out
    }
}

/// Indices of the batch in groups of at most eight that can share the lanes: equal limbs, and equal exponent
/// length or, where it is public, equal exponent. Groups are in order of their first member.
fn same_shape_groups(batch: &[Power<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (idx, task) in batch.iter().enumerate() {
        let fits = |group: &&mut Vec<usize>| group.len() < LANES && same_shape(&batch[group[0]], task);
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(idx),
            None => groups.push(vec![idx]),
        }
    }
    groups
}

fn same_shape(a: &Power<'_>, b: &Power<'_>) -> bool {
    let same_exponent = match (a.exponent, b.exponent) {
        (Exponent::Secret { n_bits: a, .. }, Exponent::Secret { n_bits: b, .. }) => a == b,
        (Exponent::Public(a), Exponent::Public(b)) => a == b,
        (Exponent::Secret { .. }, Exponent::Public(_)) | (Exponent::Public(_), Exponent::Secret { .. }) => false,
    };
    a.modulus.m52.len() == b.modulus.m52.len() && same_exponent
}

#[cfg(not(target_arch = "x86_64"))]
impl Ifma52x8 {
    fn group_powers(&self, _tasks: &[&Power<'_>]) -> Vec<Limbs> {
        unreachable!("`detect` makes no kernel on this architecture")
    }
}

#[cfg(target_arch = "x86_64")]
impl Ifma52x8 {
    /// The powers of one group; lanes that it leaves free repeat its first task.
    fn group_powers(&self, tasks: &[&Power<'_>]) -> Vec<Limbs> {
        // SAFETY: a value of `Ifma52x8` exists only where `detect` saw AVX-512 F and IFMA, all that the function needs.
        let rows = unsafe { lanes_power(&std::array::from_fn(|lane| *tasks.get(lane).unwrap_or(&tasks[0]))) };
        tasks.iter().enumerate().map(|(lane, task)| leave(&rows, lane, task)).collect()
    }
}

/// The number in one lane, fully reduced, in 64-bit limbs.
fn leave(rows: &[Row], lane: usize, task: &Power<'_>) -> Limbs {
    let mut value = limbs::zero(task.modulus.n_limbs());
    let n_bits = value.len() * limbs::LIMB_BITS;
    for (row, start) in rows.iter().zip((0..n_bits).step_by(RADIX_BITS)) {
        let (idx, shift) = (start / limbs::LIMB_BITS, start % limbs::LIMB_BITS);
        let shifted = u128::from(row.0[lane]) << shift;
        value[idx] |= shifted as u64;
        if let Some(next) = value.get_mut(idx + 1) {
            *next |= (shifted >> limbs::LIMB_BITS) as u64;
        }
    }
    // The last product was with one, so the value is at most the modulus.
    limbs::reduce_once(&mut value, 0, task.modulus.limbs());
    value
}

/// Row `i` holds limb `i` of the eight numbers; numbers that are shorter are padded.
fn transposed(numbers: [&[u64]; LANES], n_rows: usize) -> Rows {
    let mut rows = zero_rows(n_rows);
    for (lane, number) in numbers.iter().enumerate() {
        for (row, &limb) in rows.iter_mut().zip(*number) {
            row.0[lane] = limb;
        }
    }
    rows
}

/// Row `i` holds the 52 bits from position `52 * i` of the eight numbers.
fn transposed_52(numbers: [&[u64]; LANES], n_rows: usize) -> Rows {
    let mut rows = zero_rows(n_rows);
    for (lane, number) in numbers.iter().enumerate() {
        let used = (number.len() * limbs::LIMB_BITS).div_ceil(RADIX_BITS);
        for (idx, row) in rows.iter_mut().take(used).enumerate() {
            row.0[lane] = wide_window(number, idx * RADIX_BITS);
        }
    }
    rows
}

/// Bits of the exponent that one table multiplication takes care of. Wider tables no longer fit the first-level
/// cache beside the operands, and reading them whole then costs more than the multiplications they save.
fn window_bits(n_limbs: usize) -> usize {
    if n_limbs >= 40 { 5 } else { 4 }
}

/// Eight powers of one shape, almost reduced (at most the modulus), in radix 2^52.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lanes_power(tasks: &[&Power<'_>; LANES]) -> Rows {
    let mut work = Work::new(tasks);
    let n = work.m.len();
    let base = work.enter(tasks.map(|task| task.base));
    let mut value = match tasks[0].exponent {
        Exponent::Public(exponent) => public_power(&mut work, &base, exponent),
        Exponent::Secret { n_bits, .. } => {
            let exponents = tasks.map(|task| match task.exponent {
                Exponent::Secret { limbs, .. } => limbs,
                Exponent::Public(_) => unreachable!("a group has one kind of exponent"),
            });
            let exponents = transposed(exponents, n_bits.div_ceil(limbs::LIMB_BITS));
            secret_power(&mut work, &base, &exponents, n_bits)
        }
    };
    let mut one = zero_rows(n);
    one[0] = Row([1; LANES]);
    work.multiply(&mut value, &one);
    value
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512ifma")]
fn secret_power(work: &mut Work, base: &[Row], exponents: &[Row], n_bits: usize) -> Rows {
    let n = base.len();
    let one = work.one();
    let width = window_bits(n);
    let mut table = zero_rows(n << width);
    table[..n].copy_from_slice(&one);
    for entry in 1..1 << width {
        let (done, rest) = table.split_at_mut(entry * n);
        rest[..n].copy_from_slice(&done[(entry - 1) * n..]);
        work.multiply(&mut rest[..n], base);
    }
    let mut value = one;
    let mut factor = zero_rows(n);
    for digit_idx in (0..n_bits.div_ceil(width)).rev() {
        // The first window finds the value one, which squarings leave alone.
        for _ in 0..width {
            work.square(&mut value);
        }
        let digits = lane_digits(exponents, digit_idx * width, width);
        blocks::scan_table(&table, &digits, &mut factor);
        work.multiply(&mut value, &factor);
    }
    value
}

/// The `width` bits of each lane's exponent from position `start`.
fn lane_digits(exponents: &[Row], start: usize, width: usize) -> Row {
    let (idx, shift) = (start / limbs::LIMB_BITS, start % limbs::LIMB_BITS);
    let above = exponents.get(idx + 1).copied().unwrap_or_default();
    let digit = |lane| {
        let both = u128::from(exponents[idx].0[lane]) | (u128::from(above.0[lane]) << limbs::LIMB_BITS);
        ((both >> shift) as u64) & ((1 << width) - 1)
    };
    Row(std::array::from_fn(digit))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512ifma")]
fn public_power(work: &mut Work, base: &[Row], exponent: &[u64]) -> Rows {
    let n_bits = limbs::bit_length(exponent);
    if n_bits == 0 {
        return work.one();
    }
    let mut value = Zeroizing::new(base.to_vec());
    for bit in (0..n_bits - 1).rev() {
        work.square(&mut value);
        if limbs::window(exponent, bit, 1) == 1 {
            work.multiply(&mut value, base);
        }
    }
    value
}

/// The moduli of the lanes with the room that products need.
#[cfg(target_arch = "x86_64")]
struct Work {
    m: Rows,
    negative_inverse: Row,
    r_squared: Rows,
    r_cubed: Rows,
    columns: Rows,
}

#[cfg(target_arch = "x86_64")]
impl Work {
    fn new(tasks: &[&Power<'_>; LANES]) -> Self {
        let n = tasks[0].modulus.m52.len();
        Self {
            m: transposed(tasks.map(|task| task.modulus.m52.as_slice()), n),
            negative_inverse: Row(tasks.map(|task| task.modulus.negative_inverse & LIMB_MASK)),
            r_squared: transposed(tasks.map(|task| task.modulus.r52_squared.as_slice()), n),
            r_cubed: transposed(tasks.map(|task| task.modulus.r52_cubed.as_slice()), n),
            columns: zero_rows(2 * n),
        }
    }

    /// `R mod m`, almost reduced: one in Montgomery form.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn one(&mut self) -> Rows {
        let n = self.m.len();
        let mut out = zero_rows(n);
        self.columns[..n].copy_from_slice(&self.r_squared);
        self.columns[n..].fill(Row::default());
        blocks::reduce(&mut self.columns, &self.m, &self.negative_inverse, &mut out);
        out
    }

    /// `a * R mod m`, almost reduced, for numbers of at most `2 * n` limbs below `m * R`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn enter(&mut self, numbers: [&[u64]; LANES]) -> Rows {
        let n = self.m.len();
        let n_bits = numbers.iter().map(|number| number.len() * limbs::LIMB_BITS).max().unwrap_or(0);
        if n_bits <= n * RADIX_BITS {
            let mut out = transposed_52(numbers, n);
            blocks::multiply(&out, &self.r_squared, &mut self.columns);
            blocks::reduce(&mut self.columns, &self.m, &self.negative_inverse, &mut out);
            return out;
        }
        let mut out = zero_rows(n);
        self.columns = transposed_52(numbers, 2 * n);
        blocks::reduce(&mut self.columns, &self.m, &self.negative_inverse, &mut out);
        blocks::multiply(&out, &self.r_cubed, &mut self.columns);
        blocks::reduce(&mut self.columns, &self.m, &self.negative_inverse, &mut out);
        out
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply(&mut self, a: &mut [Row], b: &[Row]) {
        blocks::multiply(a, b, &mut self.columns);
        blocks::reduce(&mut self.columns, &self.m, &self.negative_inverse, a);
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square(&mut self, a: &mut [Row]) {
        blocks::square(a, &mut self.columns);
        blocks::reduce(&mut self.columns, &self.m, &self.negative_inverse, a);
    }
}
