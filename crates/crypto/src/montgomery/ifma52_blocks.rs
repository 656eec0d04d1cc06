//! Products, squares and reductions of eight lanes in blocks of ten limbs, with AVX-512 IFMA.
//!
//! Slices of [`Row`] are numbers in radix 2^52; `columns` are sums of products by weight, 64 bits each, not yet
//! carried. With `n` limbs a column gathers at most `4 * n + 2` numbers of 52 bits, which 64 bits hold up to n = 1023.
//! Every array below has constant indices only, so that the compiler keeps it in registers: a loop over an
//! array index would put the accumulators into memory and cost two thirds of the speed.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i as Lanes, _mm512_add_epi64 as add, _mm512_and_si512 as and, _mm512_cmpeq_epi64_mask as equal,
    _mm512_load_si512, _mm512_madd52hi_epu64 as multiply_high, _mm512_madd52lo_epu64 as multiply_low,
    _mm512_mask_mov_epi64 as select, _mm512_or_si512 as or, _mm512_set1_epi64 as splat, _mm512_setzero_si512 as zero,
    _mm512_srli_epi64 as shift_right, _mm512_store_si512,
};

use super::ifma52::{BLOCK, LIMB_MASK, RADIX_BITS, Row};

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load(row: &Row) -> Lanes {
    // SAFETY: a `Row` is 64 bytes, aligned to 64, and borrowed for the call.
    unsafe { _mm512_load_si512(std::ptr::from_ref(row).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn store(row: &mut Row, lanes: Lanes) {
    // SAFETY: a `Row` is 64 bytes, aligned to 64, and borrowed mutably for the call.
    unsafe { _mm512_store_si512(std::ptr::from_mut(row).cast(), lanes) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load_block(rows: &[Row]) -> [Lanes; BLOCK] {
    let rows: &[Row; BLOCK] = rows.try_into().expect("a block has ten rows");
    [
        load(&rows[0]),
        load(&rows[1]),
        load(&rows[2]),
        load(&rows[3]),
        load(&rows[4]),
        load(&rows[5]),
        load(&rows[6]),
        load(&rows[7]),
        load(&rows[8]),
        load(&rows[9]),
    ]
}

/// Eleven columns: ten rows times one limb reach from the low half of the first to the high half of the tenth.
type Window = [Lanes; BLOCK + 1];

/// Columns from `start`; those from `n_filled` on hold nothing yet and count as zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load_column(columns: &[Row], idx: usize, n_filled: usize) -> Lanes {
    if idx < n_filled { load(&columns[idx]) } else { zero() }
}

/// Runs `$do!(i)` for the positions of a block.
macro_rules! for_block {
    ($do:ident) => {
        $do!(0, 1);
        $do!(1, 2);
        $do!(2, 3);
        $do!(3, 4);
        $do!(4, 5);
        $do!(5, 6);
        $do!(6, 7);
        $do!(7, 8);
        $do!(8, 9);
        $do!(9, 10);
    };
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load_window(columns: &[Row], start: usize, n_filled: usize) -> Window {
    let mut window = [zero(); BLOCK + 1];
    macro_rules! column {
        ($i:literal, $_next:literal) => {
            window[$i] = load_column(columns, start + $i, n_filled);
        };
    }
    for_block!(column);
    window[BLOCK] = load_column(columns, start + BLOCK, n_filled);
    window
}

/// Adds ten rows times one limb to the window. All low halves come first, so that no two neighbours in
/// time wait for each other.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_products(window: &mut Window, block: &[Lanes; BLOCK], limb: Lanes) {
    macro_rules! low {
        ($i:literal, $_next:literal) => {
            window[$i] = multiply_low(window[$i], block[$i], limb);
        };
    }
    macro_rules! high {
        ($i:literal, $next:literal) => {
            window[$next] = multiply_high(window[$next], block[$i], limb);
        };
    }
    for_block!(low);
    for_block!(high);
}

/// Moves the window up by one column, `top` coming in.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn advance(window: &mut Window, top: Lanes) {
    macro_rules! shift {
        ($i:literal, $next:literal) => {
            window[$i] = window[$next];
        };
    }
    for_block!(shift);
    window[BLOCK] = top;
}

/// `columns[start..] += block * other`, where columns from `n_filled` on start at zero.
///
/// Fills columns up to `start + other.len() + 10`. With `DOUBLED`, `2 * other` is the factor, which must not
/// overflow its limbs; bits above 52 of a limb need no masking, since the multiplications ignore them.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn slide<const DOUBLED: bool>(columns: &mut [Row], start: usize, n_filled: usize, block: &[Row], other: &[Row]) {
    let block = load_block(block);
    let mut window = load_window(columns, start, n_filled);
    let mut shifted_out = zero();
    for (row, idx) in other.iter().zip(start..) {
        let mut limb = load(row);
        if DOUBLED {
            (limb, shifted_out) = (or(add(limb, limb), shifted_out), shift_right::<{ RADIX_BITS as u32 - 1 }>(limb));
        }
        add_products(&mut window, &block, limb);
        store(&mut columns[idx], window[0]);
        let top = load_column(columns, idx + BLOCK + 1, n_filled);
        advance(&mut window, top);
    }
    let rest = &mut columns[start + other.len()..][..BLOCK];
    macro_rules! column {
        ($i:literal, $_next:literal) => {
            store(&mut rest[$i], window[$i]);
        };
    }
    for_block!(column);
}

/// `columns = a * b`; `a` and `b` have `n` rows with limbs below 2^52, `columns` has `2 * n`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply(a: &[Row], b: &[Row], columns: &mut [Row]) {
    let n = a.len();
    for start in (0..n).step_by(BLOCK) {
        let n_filled = if start == 0 { 0 } else { start + n };
        slide::<false>(columns, start, n_filled, &a[start..start + BLOCK], b);
    }
}

/// `columns = a * a` for `2 * a < 2^(52 * n)`: a block times itself, then times twice the limbs above it.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square(a: &[Row], columns: &mut [Row]) {
    let n = a.len();
    for start in (0..n).step_by(BLOCK) {
        let (block, above) = (&a[start..start + BLOCK], &a[start + BLOCK..]);
        let n_filled = if start == 0 { 0 } else { start + n };
        square_block(columns, 2 * start, n_filled, block);
        if !above.is_empty() {
            slide::<true>(columns, 2 * start + BLOCK, n_filled.max(2 * BLOCK), block, above);
        }
    }
}

/// `columns[start..start + 20] += block^2`: each pair once, doubled, plus the squares of the limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_block(columns: &mut [Row], start: usize, n_filled: usize, block: &[Row]) {
    let a = load_block(block);
    let mut sums = [zero(); 2 * BLOCK];
    macro_rules! pairs {
        ($($i:literal: $($j:literal)*;)*) => {$(
            $(sums[$i + $j] = multiply_low(sums[$i + $j], a[$i], a[$j]);)*
            $(sums[$i + $j + 1] = multiply_high(sums[$i + $j + 1], a[$i], a[$j]);)*
        )*};
    }
    pairs! {
        0: 1 2 3 4 5 6 7 8 9;
        1: 2 3 4 5 6 7 8 9;
        2: 3 4 5 6 7 8 9;
        3: 4 5 6 7 8 9;
        4: 5 6 7 8 9;
        5: 6 7 8 9;
        6: 7 8 9;
        7: 8 9;
        8: 9;
    }
    macro_rules! finish {
        ($i:literal, $_next:literal) => {
            let low = multiply_low(add(sums[2 * $i], sums[2 * $i]), a[$i], a[$i]);
            let high = multiply_high(add(sums[2 * $i + 1], sums[2 * $i + 1]), a[$i], a[$i]);
            let idx = start + 2 * $i;
            let (below_low, below_high) =
                (load_column(columns, idx, n_filled), load_column(columns, idx + 1, n_filled));
            store(&mut columns[idx], add(low, below_low));
            store(&mut columns[idx + 1], add(high, below_high));
        };
    }
    for_block!(finish);
}

/// `out = columns / 2^(52 * n) mod m`, limbs below 2^52; the value is below `2 * m` if `columns < m * 2^(52 * n)`
/// or if `columns < 4 * m^2` and `4 * m < 2^(52 * n)` (Gueron 2012, §2).
///
/// `columns` has `2 * n` rows and is destroyed; `m` and `out` have `n`; `negative_inverse` is `-1 / m mod 2^52`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce(columns: &mut [Row], m: &[Row], negative_inverse: &Row, out: &mut [Row]) {
    let n = m.len();
    for start in (0..n - BLOCK).step_by(BLOCK) {
        let (mut window, quotient) = quotient_block(columns, start, m, negative_inverse);
        for (row, idx) in m[BLOCK..].iter().zip(start + BLOCK..) {
            add_products(&mut window, &quotient, load(row));
            store(&mut columns[idx], window[0]);
            let top = load_column(columns, idx + BLOCK + 1, 2 * n);
            advance(&mut window, top);
        }
        let rest = &mut columns[start + n..][..BLOCK];
        macro_rules! column {
            ($i:literal, $_next:literal) => {
                store(&mut rest[$i], window[$i]);
            };
        }
        for_block!(column);
    }
    // The columns that leave the window of the last block are final: they are carried on the way out.
    let start = n - BLOCK;
    let (mut window, quotient) = quotient_block(columns, start, m, negative_inverse);
    let limb_mask = splat(LIMB_MASK as i64);
    let mut carry = zero();
    let (low_out, high_out) = out.split_at_mut(n - BLOCK);
    for ((row, limb), idx) in m[BLOCK..].iter().zip(low_out).zip(start + BLOCK..) {
        add_products(&mut window, &quotient, load(row));
        let sum = add(window[0], carry);
        store(limb, and(sum, limb_mask));
        carry = shift_right::<{ RADIX_BITS as u32 }>(sum);
        let top = load_column(columns, idx + BLOCK + 1, 2 * n);
        advance(&mut window, top);
    }
    macro_rules! limb {
        ($i:literal, $_next:literal) => {
            let sum = add(window[$i], carry);
            store(&mut high_out[$i], and(sum, limb_mask));
            carry = shift_right::<{ RADIX_BITS as u32 }>(sum);
        };
    }
    for_block!(limb);
    let _ = carry; // The value is below `2 * m`, so nothing is left.
}

/// Ten digits of the quotient and the window after the ten columns that they clear.
///
/// A digit makes the low 52 bits of its column zero, so their product with `m[0]` is never formed:
/// the carry is one exactly if those bits were not zero, and adding `2^52 - 1` before the shift gives it.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn quotient_block(columns: &[Row], start: usize, m: &[Row], negative_inverse: &Row) -> (Window, [Lanes; BLOCK]) {
    let m = load_block(&m[..BLOCK]);
    let negative_inverse = load(negative_inverse);
    let limb_mask = splat(LIMB_MASK as i64);
    let mut window = load_window(columns, start, columns.len());
    let mut quotient = [zero(); BLOCK];
    macro_rules! high_rows {
        ($digit:ident: $($i:literal)*) => {
            $(window[$i] = multiply_low(window[$i], m[$i], $digit);)*
            $(window[$i + 1] = multiply_high(window[$i + 1], m[$i], $digit);)*
        };
    }
    macro_rules! digit {
        ($i:literal, $_next:literal) => {
            let digit = multiply_low(zero(), window[0], negative_inverse);
            let carry = shift_right::<{ RADIX_BITS as u32 }>(add(window[0], limb_mask));
            // Two short chains instead of one long one: the next digit waits for this column.
            let carried = multiply_high(carry, m[0], digit);
            high_rows!(digit: 1 2 3 4 5 6 7 8 9);
            window[1] = add(window[1], carried);
            quotient[$i] = digit;
            let top = load_column(columns, start + $i + BLOCK + 1, columns.len());
            advance(&mut window, top);
        };
    }
    for_block!(digit);
    (window, quotient)
}

/// Copies entry `digits[lane]` of `table` to `out`, in each lane by reading every entry.
///
/// Entries have `out.len()` rows, a multiple of ten; `digits` are below their number.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn scan_table(table: &[Row], digits: &Row, out: &mut [Row]) {
    let n = out.len();
    let digits = load(digits);
    for start in (0..n).step_by(BLOCK) {
        let mut chosen = [zero(); BLOCK];
        let mut entry_idx = zero();
        for entry in table.chunks_exact(n) {
            let hit = equal(digits, entry_idx);
            entry_idx = add(entry_idx, splat(1));
            let rows = load_block(&entry[start..start + BLOCK]);
            macro_rules! row {
                ($i:literal, $_next:literal) => {
                    chosen[$i] = select(chosen[$i], hit, rows[$i]);
                };
            }
            for_block!(row);
        }
        macro_rules! row {
            ($i:literal, $_next:literal) => {
                store(&mut out[start + $i], chosen[$i]);
            };
        }
        for_block!(row);
    }
}
