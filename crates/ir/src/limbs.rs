//! Arithmetic on little-endian 64-bit limbs.
//!
//! The plain layer under `eval.rs` and `digits.rs`. Inputs may be shorter than the result: missing limbs are 0. Results have the
//! asked number of limbs and wrap at it; cutting them to a width in bits is the caller's step ([`mask`]).

use std::cmp::Ordering;

/// Limb `i`, or 0 past the end.
pub fn at(limbs: &[u64], i: usize) -> u64 {
    limbs.get(i).copied().unwrap_or(0)
}

/// Clears every bit from `bits` on.
pub fn mask(limbs: &mut [u64], bits: u32) {
    let whole = bits as usize / 64;
    let rest = bits % 64;
    for (i, limb) in limbs.iter_mut().enumerate().skip(whole) {
        *limb = if i == whole && rest != 0 { *limb & ((1 << rest) - 1) } else { 0 };
    }
}

/// Sets every bit from `bits` on.
pub fn fill(limbs: &mut [u64], bits: u32) {
    let whole = bits as usize / 64;
    let rest = bits % 64;
    for (i, limb) in limbs.iter_mut().enumerate().skip(whole) {
        *limb |= if i == whole { u64::MAX << rest } else { u64::MAX };
    }
}

/// Bit `bit`; false past the end.
pub fn bit(limbs: &[u64], bit: u32) -> bool {
    at(limbs, bit as usize / 64) >> (bit % 64) & 1 == 1
}

/// Order as unsigned numbers.
pub fn compare(a: &[u64], b: &[u64]) -> Ordering {
    let top = a.len().max(b.len());
    (0..top).rev().map(|i| at(a, i).cmp(&at(b, i))).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// `a + b`.
pub fn add(a: &[u64], b: &[u64], n: usize) -> Vec<u64> {
    let mut carry = false;
    let sum = |i| {
        let (low, over) = at(a, i).overflowing_add(at(b, i));
        let (low, over_carry) = low.overflowing_add(u64::from(carry));
        carry = over || over_carry;
        low
    };
    (0..n).map(sum).collect()
}

/// `a - b`.
pub fn sub(a: &[u64], b: &[u64], n: usize) -> Vec<u64> {
    let mut borrow = false;
    let difference = |i| {
        let (low, under) = at(a, i).overflowing_sub(at(b, i));
        let (low, under_borrow) = low.overflowing_sub(u64::from(borrow));
        borrow = under || under_borrow;
        low
    };
    (0..n).map(difference).collect()
}

/// `a * b`.
pub fn mul(a: &[u64], b: &[u64], n: usize) -> Vec<u64> {
    let mut product = vec![0_u64; n];
    for (i, &x) in a.iter().enumerate().take(n).filter(|&(_, &x)| x != 0) {
        let mut carry = 0_u128;
        for (j, slot) in product[i..].iter_mut().enumerate() {
            let sum = u128::from(x) * u128::from(at(b, j)) + u128::from(*slot) + carry;
            *slot = sum as u64;
            carry = sum >> 64;
        }
    }
    product
}

/// `a << amount`.
pub fn shl(a: &[u64], amount: u32, n: usize) -> Vec<u64> {
    let whole = amount as usize / 64;
    let rest = amount % 64;
    let limb = |i: usize| {
        let Some(from) = i.checked_sub(whole) else { return 0 };
        let high = at(a, from) << rest;
        let low = if rest != 0 && from > 0 { at(a, from - 1) >> (64 - rest) } else { 0 };
        high | low
    };
    (0..n).map(limb).collect()
}

/// `a >> amount`, zeros in.
pub fn shr(a: &[u64], amount: u32, n: usize) -> Vec<u64> {
    (0..n).map(|i| shifted_limb(a, amount, i)).collect()
}

/// Limb `i` of `a >> amount`.
pub fn shifted_limb(a: &[u64], amount: u32, i: usize) -> u64 {
    let from = i + amount as usize / 64;
    let rest = amount % 64;
    let high = if rest != 0 { at(a, from + 1) << (64 - rest) } else { 0 };
    at(a, from) >> rest | high
}

/// Quotient and remainder; `b` must not be 0. Lengths follow the inputs.
pub fn div_rem(a: &[u64], b: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let a = trimmed(a);
    let b = trimmed(b);
    assert!(!b.is_empty(), "the caller excludes a divisor of 0");
    match b {
        _ if compare(a, b).is_lt() => (Vec::new(), a.to_vec()),
        &[divisor] => {
            let mut quotient = a.to_vec();
            let remainder = div_small(&mut quotient, divisor);
            (quotient, vec![remainder])
        }
        _ => div_long(a, b),
    }
}

/// Divides in place by one limb, which must not be 0; gives the remainder.
pub fn div_small(a: &mut [u64], divisor: u64) -> u64 {
    let mut remainder = 0_u128;
    for limb in a.iter_mut().rev() {
        let current = remainder << 64 | u128::from(*limb);
        *limb = (current / u128::from(divisor)) as u64;
        remainder = current % u128::from(divisor);
    }
    remainder as u64
}

/// `a * factor + term` in place, growing by a limb when needed.
pub fn mul_add_small(a: &mut Vec<u64>, factor: u64, term: u64) {
    let mut carry = u128::from(term);
    for limb in a.iter_mut() {
        let sum = u128::from(*limb) * u128::from(factor) + carry;
        *limb = sum as u64;
        carry = sum >> 64;
    }
    if carry != 0 {
        a.push(carry as u64);
    }
}

/// Knuth, The Art of Computer Programming, volume 2, 4.3.1 algorithm D, with 64-bit digits. `b` has at least two limbs, its
/// top limb is not 0, and `a >= b`.
fn div_long(a: &[u64], b: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let n = b.len();
    let norm = b[n - 1].leading_zeros();
    let divisor = shl(b, norm, n);
    let mut rest = shl(a, norm, a.len() + 1);
    let mut quotient = vec![0; a.len() - n + 1];
    for j in (0..quotient.len()).rev() {
        let digit = estimate_digit(&rest[j..=j + n], &divisor);
        quotient[j] = subtract_multiple(&mut rest[j..=j + n], &divisor, digit);
    }
    (quotient, shr(&rest, norm, n))
}

/// Step D3: at most one above the true digit. `part` has one limb more than the divisor.
fn estimate_digit(part: &[u64], divisor: &[u64]) -> u64 {
    let n = divisor.len();
    let high = u128::from(divisor[n - 1]);
    let top = u128::from(part[n]) << 64 | u128::from(part[n - 1]);
    let mut digit = top / high;
    let mut remainder = top % high;
    // At most two rounds; the remainder leaving 64 bits ends them because then the test cannot hold.
    while digit >> 64 != 0 || digit * u128::from(divisor[n - 2]) > (remainder << 64 | u128::from(part[n - 2])) {
        digit -= 1;
        remainder += high;
        if remainder >> 64 != 0 {
            break;
        }
    }
    digit as u64
}

/// Steps D4 to D6: `part -= digit * divisor`, adding back once if the digit was one too high; gives the true digit.
fn subtract_multiple(part: &mut [u64], divisor: &[u64], digit: u64) -> u64 {
    let product = {
        let mut product = divisor.to_vec();
        mul_add_small(&mut product, digit, 0);
        product
    };
    let too_high = compare(&product, part).is_gt();
    let length = part.len();
    let mut difference = sub(part, &product, length);
    if too_high {
        difference = add(&difference, divisor, length);
    }
    part.copy_from_slice(&difference);
    digit - u64::from(too_high)
}

fn trimmed(limbs: &[u64]) -> &[u64] {
    let used = limbs.iter().rposition(|&limb| limb != 0).map_or(0, |top| top + 1);
    &limbs[..used]
}
