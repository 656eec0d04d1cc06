//! Natural numbers as slices of 64-bit limbs, least significant first.
//!
//! Slice lengths are public; limb values may be secret: no branch or index below depends on them, except in
//! [`bit_length`] and [`is_zero_public`], which say so. Buffers that may hold secrets are wiped when dropped.

use std::hint::black_box;

use zeroize::Zeroizing;

/// A number that is wiped when dropped, least significant limb first; the length is public.
pub type Limbs = Zeroizing<Vec<u64>>;

/// Bits in a limb.
pub const LIMB_BITS: usize = 64;

/// A zero of `n_limbs` limbs.
pub fn zero(n_limbs: usize) -> Limbs {
    Zeroizing::new(vec![0; n_limbs])
}

/// The number written as big-endian `bytes`, in exactly `n_limbs` limbs.
///
/// `None` if a byte beyond the room of `n_limbs` limbs is not zero; that much of the value becomes public.
pub fn from_be_bytes(bytes: &[u8], n_limbs: usize) -> Option<Limbs> {
    let mut limbs = zero(n_limbs);
    let mut excess = 0;
    for (idx, byte) in bytes.iter().rev().enumerate() {
        match limbs.get_mut(idx / 8) {
            Some(limb) => *limb |= u64::from(*byte) << (8 * (idx % 8)),
            None => excess |= byte,
        }
    }
    (excess == 0).then_some(limbs)
}

/// The low `n_bytes` bytes of the number, big-endian.
pub fn to_be_bytes(limbs: &[u64], n_bytes: usize) -> Zeroizing<Vec<u8>> {
    let byte = |idx: usize| limbs.get(idx / 8).map_or(0, |limb| limb.to_le_bytes()[idx % 8]);
    Zeroizing::new((0..n_bytes).rev().map(byte).collect())
}

/// The number in `n_limbs` limbs: padded with zeros, or cut where it is longer.
pub fn resized(limbs: &[u64], n_limbs: usize) -> Limbs {
    let mut out = zero(n_limbs);
    let n = n_limbs.min(limbs.len());
    out[..n].copy_from_slice(&limbs[..n]);
    out
}

/// Position of the highest set bit plus one. The time depends on the value: for public numbers and for
/// sizes that are public (the bit length of a prime).
pub fn bit_length(limbs: &[u64]) -> usize {
    let top = limbs.iter().rposition(|&limb| limb != 0);
    top.map_or(0, |idx| idx * LIMB_BITS + (LIMB_BITS - limbs[idx].leading_zeros() as usize))
}

/// Whether the number is zero; the answer is a branch, so the question must be public.
pub fn is_zero_public(limbs: &[u64]) -> bool {
    limbs.iter().fold(0, |all, limb| all | limb) == 0
}

/// All ones if `bit` is 1, zero if it is 0, in a form that the optimiser cannot turn into a branch.
pub fn mask(bit: u64) -> u64 {
    black_box(bit.wrapping_neg())
}

/// All ones if `a == b`, else zero.
pub fn mask_equal(a: u64, b: u64) -> u64 {
    let difference = a ^ b;
    // The top bit of `d | -d` is set unless `d` is zero.
    mask(1 ^ ((difference | difference.wrapping_neg()) >> 63))
}

/// `a + b + carry` as low word and carry (0 or 1).
pub fn add_with_carry(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

/// `a - b - borrow` as low word and borrow (0 or 1).
pub fn subtract_with_borrow(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = u128::from(a).wrapping_sub(u128::from(b)).wrapping_sub(u128::from(borrow));
    (difference as u64, (difference >> 127) as u64)
}

/// `low + a * b + carry` as low word and high word; it cannot overflow.
pub fn multiply_add(low: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(a) * u128::from(b) + u128::from(low) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

/// `a += b`, returns the carry out. `b` may be shorter.
pub fn add_assign(a: &mut [u64], b: &[u64]) -> u64 {
    let mut carry = 0;
    for (idx, limb) in a.iter_mut().enumerate() {
        (*limb, carry) = add_with_carry(*limb, b.get(idx).copied().unwrap_or(0), carry);
    }
    carry
}

/// `a -= b & mask`, returns the borrow. `b` may be shorter; `mask` is all ones or zero.
pub fn subtract_masked(a: &mut [u64], b: &[u64], mask: u64) -> u64 {
    let mut borrow = 0;
    for (idx, limb) in a.iter_mut().enumerate() {
        (*limb, borrow) = subtract_with_borrow(*limb, b.get(idx).copied().unwrap_or(0) & mask, borrow);
    }
    borrow
}

/// All ones if `a < b`, else zero. Lengths may differ.
pub fn mask_less(a: &[u64], b: &[u64]) -> u64 {
    let mut borrow = 0;
    for idx in 0..a.len().max(b.len()) {
        let (x, y) = (a.get(idx).copied().unwrap_or(0), b.get(idx).copied().unwrap_or(0));
        (_, borrow) = subtract_with_borrow(x, y, borrow);
    }
    mask(borrow)
}

/// Whether `a == b`, looking at all limbs first; only the verdict becomes public.
pub fn equal(a: &[u64], b: &[u64]) -> bool {
    let difference = (0..a.len().max(b.len()))
        .fold(0, |all, idx| all | (a.get(idx).copied().unwrap_or(0) ^ b.get(idx).copied().unwrap_or(0)));
    black_box(difference) == 0
}

/// Takes `m` off `a + carry * 2^(64 * a.len())` if that is at least `m`. Requires the value below `2 * m`.
pub fn reduce_once(a: &mut [u64], carry: u64, m: &[u64]) {
    let below = mask_less(a, m) & mask(1 ^ carry);
    subtract_masked(a, m, !below);
}

/// `a * b` by schoolbook (HAC 14.12), `a.len() + b.len()` limbs.
pub fn multiply(a: &[u64], b: &[u64]) -> Limbs {
    let mut out = zero(a.len() + b.len());
    for (row, &digit) in a.iter().enumerate() {
        let mut carry = 0;
        for (limb, &other) in out[row..].iter_mut().zip(b) {
            (*limb, carry) = multiply_add(*limb, digit, other, carry);
        }
        out[row + b.len()] = carry;
    }
    out
}

/// `a mod m` by shifting in one bit at a time, `m.len()` limbs; `m` may be even but not zero.
///
/// Slow (`64 * a.len()` passes over `m`) and constant time for given lengths: for setting up keys.
pub fn remainder(a: &[u64], m: &[u64]) -> Limbs {
    let mut rest = zero(m.len());
    for &limb in a.iter().rev() {
        for bit in (0..LIMB_BITS).rev() {
            let carry = double_with(&mut rest, (limb >> bit) & 1);
            reduce_once(&mut rest, carry, m);
        }
    }
    rest
}

/// `a = 2 * a + low_bit`, returns the bit shifted out.
pub fn double_with(a: &mut [u64], low_bit: u64) -> u64 {
    let mut carry = low_bit;
    for limb in a {
        (*limb, carry) = ((*limb << 1) | carry, *limb >> 63);
    }
    carry
}

/// The `width` bits from position `start`, at most 16 of them; positions past the end read as zero.
pub fn window(limbs: &[u64], start: usize, width: usize) -> u64 {
    let limb = |idx: usize| limbs.get(idx).copied().unwrap_or(0);
    let (idx, shift) = (start / LIMB_BITS, start % LIMB_BITS);
    let both = u128::from(limb(idx)) | (u128::from(limb(idx + 1)) << LIMB_BITS);
    ((both >> shift) as u64) & ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use super::{from_be_bytes, multiply, remainder, to_be_bytes, window};

    #[test]
    fn bytes_round_trip_and_excess_is_refused() {
        let limbs = from_be_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 2).expect("fits");
        assert_eq!(*limbs, [0x0203_0405_0607_0809, 1]);
        assert_eq!(*to_be_bytes(&limbs, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(from_be_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 1), None);
    }

    #[test]
    fn a_product_of_all_ones_and_its_remainder() {
        // (2^128 - 1)^2 = 2^256 - 2^129 + 1; modulo 2^64 - 2 (even): 2^64 = 2, so 16 - 8 + 1 = 9.
        let square = multiply(&[u64::MAX; 2], &[u64::MAX; 2]);
        assert_eq!(*square, [1, 0, u64::MAX - 1, u64::MAX]);
        assert_eq!(*remainder(&square, &[u64::MAX - 1]), [9]);
    }

    #[test]
    fn a_window_crosses_limbs() {
        assert_eq!(window(&[0xe << 60, 0b101], 62, 5), 0b10111);
        assert_eq!(window(&[0xe << 60, 0b101], 126, 5), 0);
    }
}
