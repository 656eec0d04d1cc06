//! Arithmetic on values of more than 64 bits, in place in a frame.
//!
//! Results never overlap operands, because every value has slots of its own. Division is left to `ir::eval`: it is rare, and
//! one careful version is enough.

use std::cmp::Ordering;

use ir::{Attr, Opcode, Value, Width};

use crate::code::{CompareOp, WideOp};

/// Clears the bits of the top limb that a value of that width does not have.
pub(crate) fn mask_top(limbs: &mut [u64], width: u32) {
    if !width.is_multiple_of(64) {
        limbs[(width / 64) as usize] &= u64::MAX >> (64 - width % 64);
    }
}

fn sign(frame: &[u64], a: usize, width: u32) -> bool {
    let top = width - 1;
    frame[a + (top / 64) as usize] >> (top % 64) & 1 == 1
}

/// `frame[d..] = a op b` at a width; for shifts `b` is one limb.
pub(crate) fn apply(op: WideOp, frame: &mut [u64], d: usize, a: usize, b: usize, width: u32) {
    let n = width.div_ceil(64) as usize;
    match op {
        WideOp::Add => add(frame, d, a, b, n, Carry::Add),
        WideOp::Sub => add(frame, d, a, b, n, Carry::Subtract),
        WideOp::Mul => multiply(frame, d, a, b, n),
        WideOp::UDiv => divide(Opcode::UDiv, frame, d, a, b, width),
        WideOp::SDiv => divide(Opcode::SDiv, frame, d, a, b, width),
        WideOp::URem => divide(Opcode::URem, frame, d, a, b, width),
        WideOp::SRem => divide(Opcode::SRem, frame, d, a, b, width),
        WideOp::And => (0..n).for_each(|i| frame[d + i] = frame[a + i] & frame[b + i]),
        WideOp::Or => (0..n).for_each(|i| frame[d + i] = frame[a + i] | frame[b + i]),
        WideOp::Xor => (0..n).for_each(|i| frame[d + i] = frame[a + i] ^ frame[b + i]),
        WideOp::Not => (0..n).for_each(|i| frame[d + i] = !frame[a + i]),
        WideOp::Neg => {
            let mut carry = true;
            for i in 0..n {
                (frame[d + i], carry) = (!frame[a + i]).overflowing_add(u64::from(carry));
            }
        }
        WideOp::Shl => shift_left(frame, d, a, frame[b], n),
        WideOp::LShr => shift_right(frame, d, a, frame[b], n),
        WideOp::AShr if sign(frame, a, width) => {
            // Copies of the sign above the top bit, shifted in with the rest.
            let amount = frame[b].min(u64::from(width));
            shift_right(frame, d, a, amount, n);
            let lowest = width - amount as u32;
            set_from(&mut frame[d..d + n], lowest);
        }
        WideOp::AShr => shift_right(frame, d, a, frame[b], n),
    }
    mask_top(&mut frame[d..d + n], width);
}

/// Sets all bits from `lowest` on.
fn set_from(limbs: &mut [u64], lowest: u32) {
    for (i, limb) in limbs.iter_mut().enumerate() {
        let first = i as u32 * 64;
        *limb |= match lowest.checked_sub(first) {
            None | Some(0) => u64::MAX,
            Some(bits @ 1..64) => u64::MAX << bits,
            Some(_) => 0,
        };
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Carry {
    Add,
    Subtract,
}

fn add(frame: &mut [u64], d: usize, a: usize, b: usize, n: usize, kind: Carry) {
    // a - b = a + !b + 1
    let (flip, mut carry) = if kind == Carry::Subtract { (u64::MAX, true) } else { (0, false) };
    for i in 0..n {
        let (sum, over_1) = frame[a + i].overflowing_add(frame[b + i] ^ flip);
        let (sum, over_2) = sum.overflowing_add(u64::from(carry));
        frame[d + i] = sum;
        carry = over_1 | over_2;
    }
}

fn multiply(frame: &mut [u64], d: usize, a: usize, b: usize, n: usize) {
    frame[d..d + n].fill(0);
    for i in 0..n {
        let factor = u128::from(frame[a + i]);
        if factor == 0 {
            continue;
        }
        let mut carry = 0;
        for j in 0..n - i {
            let sum = factor * u128::from(frame[b + j]) + u128::from(frame[d + i + j]) + carry;
            frame[d + i + j] = sum as u64;
            carry = sum >> 64;
        }
    }
}

fn divide(op: Opcode, frame: &mut [u64], d: usize, a: usize, b: usize, width: u32) {
    let n = width.div_ceil(64) as usize;
    let w = Width::of(width);
    let (x, y) = (Value::from_limbs(&frame[a..a + n]), Value::from_limbs(&frame[b..b + n]));
    let result = ir::eval::pure(op, &Attr::None, &[(&x, w), (&y, w)], w);
    put(&mut frame[d..d + n], &result);
}

/// Writes a value's limbs, zeros above.
pub(crate) fn put(limbs: &mut [u64], value: &Value) {
    let used = value.limbs();
    limbs[..used.len()].copy_from_slice(used);
    limbs[used.len()..].fill(0);
}

fn shift_left(frame: &mut [u64], d: usize, a: usize, amount: u64, n: usize) {
    let (limbs, bits) = ((amount / 64).min(n as u64) as usize, amount % 64);
    for i in (0..n).rev() {
        let at = |k: usize| if i >= k + limbs { frame[a + i - k - limbs] } else { 0 };
        frame[d + i] = if bits == 0 { at(0) } else { at(0) << bits | at(1) >> (64 - bits) };
    }
}

fn shift_right(frame: &mut [u64], d: usize, a: usize, amount: u64, n: usize) {
    let (limbs, bits) = ((amount / 64).min(n as u64) as usize, amount % 64);
    for i in 0..n {
        let at = |k: usize| if i + k + limbs < n { frame[a + i + k + limbs] } else { 0 };
        frame[d + i] = if bits == 0 { at(0) } else { at(0) >> bits | at(1) << (64 - bits) };
    }
}

/// Whether the comparison holds at a width.
pub(crate) fn compare(op: CompareOp, frame: &[u64], a: usize, b: usize, width: u32) -> bool {
    let n = width.div_ceil(64) as usize;
    let unsigned = || frame[a..a + n].iter().rev().cmp(frame[b..b + n].iter().rev());
    let signed = || sign(frame, b, width).cmp(&sign(frame, a, width)).then_with(unsigned);
    match op {
        CompareOp::Eq => frame[a..a + n] == frame[b..b + n],
        CompareOp::Ne => frame[a..a + n] != frame[b..b + n],
        CompareOp::ULt => unsigned() == Ordering::Less,
        CompareOp::ULe => unsigned() != Ordering::Greater,
        CompareOp::SLt => signed() == Ordering::Less,
        CompareOp::SLe => signed() != Ordering::Greater,
    }
}

/// `frame[d..]`, `to` bits wide, = the sign extension of `a`, `from` bits wide.
pub(crate) fn sign_extend(frame: &mut [u64], d: usize, a: usize, from: u32, to: u32) {
    let (from_n, n) = (from.div_ceil(64) as usize, to.div_ceil(64) as usize);
    frame.copy_within(a..a + from_n, d);
    frame[d + from_n..d + n].fill(0);
    if sign(frame, a, from) {
        set_from(&mut frame[d..d + n], from);
    }
    mask_top(&mut frame[d..d + n], to);
}

/// `frame[d..]`, `width` bits wide, = the bits of `a` (`a_n` limbs) from `lo` on.
pub(crate) fn extract(frame: &mut [u64], d: usize, a: usize, lo: u32, width: u32, a_n: usize) {
    let n = width.div_ceil(64) as usize;
    let (limbs, bits) = ((lo / 64) as usize, lo % 64);
    for i in 0..n {
        let at = |k: usize| if i + k + limbs < a_n { frame[a + i + k + limbs] } else { 0 };
        frame[d + i] = if bits == 0 { at(0) } else { at(0) >> bits | at(1) << (64 - bits) };
    }
    mask_top(&mut frame[d..d + n], width);
}

/// `frame[d..]` = `hi` (`hi_width` bits) above `lo` (`lo_width` bits).
pub(crate) fn concat(frame: &mut [u64], d: usize, hi: (usize, u32), lo: (usize, u32)) {
    let n = (hi.1 + lo.1).div_ceil(64) as usize;
    let (hi_n, lo_n) = (hi.1.div_ceil(64) as usize, lo.1.div_ceil(64) as usize);
    frame.copy_within(lo.0..lo.0 + lo_n, d);
    frame[d + lo_n..d + n].fill(0);
    let (limbs, bits) = ((lo.1 / 64) as usize, lo.1 % 64);
    for i in 0..hi_n {
        let limb = frame[hi.0 + i];
        frame[d + limbs + i] |= limb << bits;
        if bits != 0 && limbs + i + 1 < n {
            frame[d + limbs + i + 1] |= limb >> (64 - bits);
        }
    }
}

/// `frame[d..]` = the bytes of `a`, `width` bits wide, in opposite order.
pub(crate) fn byte_swap(frame: &mut [u64], d: usize, a: usize, width: u32) {
    let n = width.div_ceil(64) as usize;
    let swapped = |i: usize| frame[a + n - 1 - i].swap_bytes();
    // Whole limbs swap to the top; the unused bytes of the top limb come out at the bottom.
    let unused = n as u32 * 64 - width;
    let limbs: Vec<u64> = (0..n).map(swapped).collect();
    for i in 0..n {
        let above = limbs.get(i + 1).copied().unwrap_or(0);
        frame[d + i] = if unused == 0 { limbs[i] } else { limbs[i] >> unused | above << (64 - unused) };
    }
}

/// `frame[d..]`, `n` limbs, = a big-endian number.
pub(crate) fn load_big_endian(limbs: &mut [u64], bytes: &[u8]) {
    limbs.fill(0);
    for (i, &byte) in bytes.iter().rev().enumerate() {
        limbs[i / 8] |= u64::from(byte) << (i % 8 * 8);
    }
}

/// Byte `i` of a big-endian number of `n_bytes` bytes.
pub(crate) fn big_endian_byte(limbs: &[u64], n_bytes: usize, i: usize) -> u8 {
    let from_end = n_bytes - 1 - i;
    (limbs[from_end / 8] >> (from_end % 8 * 8)) as u8
}
