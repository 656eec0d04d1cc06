//! Arithmetic on numbers of many limbs, for code that calls it: what is too long to stand inline.
//!
//! Results never overlap operands. Results are cut to the width; operands have their unused bits 0.

use std::cmp::Ordering;

use ir::{Attr, Opcode, Value, Width};

/// Clears the bits of the top limb that a number of that width does not have.
fn mask_top(limbs: &mut [u64], width: u32) {
    if !width.is_multiple_of(64) {
        limbs[(width / 64) as usize] &= u64::MAX >> (64 - width % 64);
    }
}

fn is_negative(limbs: &[u64], width: u32) -> bool {
    let top = width - 1;
    limbs[(top / 64) as usize] >> (top % 64) & 1 == 1
}

fn at(limbs: &[u64], i: usize) -> u64 {
    limbs.get(i).copied().unwrap_or(0)
}

/// `d = a op b` at a width; all have `ceil(width / 64)` limbs. Unary ops ignore `b`.
pub(crate) fn binary(code: Opcode, d: &mut [u64], a: &[u64], b: &[u64], width: u32) {
    match code {
        Opcode::Add => add(d, a, b, 0, 0),
        Opcode::Sub => add(d, a, b, u64::MAX, 1),
        Opcode::Neg => {
            let mut carry = true;
            d.iter_mut().zip(a).for_each(|(d, &a)| (*d, carry) = (!a).overflowing_add(u64::from(carry)));
        }
        Opcode::Not => d.iter_mut().zip(a).for_each(|(d, &a)| *d = !a),
        Opcode::And => each(d, a, b, |a, b| a & b),
        Opcode::Or => each(d, a, b, |a, b| a | b),
        Opcode::Xor => each(d, a, b, |a, b| a ^ b),
        Opcode::Mul => multiply(d, a, b),
        Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem => divide(code, d, a, b, width),
        other => unreachable!("`{}` has code of its own", other.name()),
    }
    mask_top(d, width);
}

fn each(d: &mut [u64], a: &[u64], b: &[u64], f: fn(u64, u64) -> u64) {
    d.iter_mut().zip(a.iter().zip(b)).for_each(|(d, (&a, &b))| *d = f(a, b));
}

/// `d = a + (b ^ flip) + carry`.
fn add(d: &mut [u64], a: &[u64], b: &[u64], flip: u64, carry: u64) {
    let mut carry = u128::from(carry);
    for (d, (&a, &b)) in d.iter_mut().zip(a.iter().zip(b)) {
        let sum = u128::from(a) + u128::from(b ^ flip) + carry;
        *d = sum as u64;
        carry = sum >> 64;
    }
}

fn multiply(d: &mut [u64], a: &[u64], b: &[u64]) {
    d.fill(0);
    let n = d.len();
    for (i, &factor) in a.iter().enumerate().filter(|&(_, &factor)| factor != 0) {
        let mut carry = 0;
        for (d, &b) in d[i..].iter_mut().zip(&b[..n - i]) {
            let sum = u128::from(factor) * u128::from(b) + u128::from(*d) + carry;
            *d = sum as u64;
            carry = sum >> 64;
        }
    }
}

/// Rare, so one careful version is enough: that of `ir::eval`.
fn divide(code: Opcode, d: &mut [u64], a: &[u64], b: &[u64], width: u32) {
    let width = Width::of(width);
    let (a, b) = (Value::from_limbs(a), Value::from_limbs(b));
    let result = ir::eval::pure(code, &Attr::None, &[(&a, width), (&b, width)], width);
    let used = result.limbs();
    d[..used.len()].copy_from_slice(used);
    d[used.len()..].fill(0);
}

/// `d = a` shifted by any amount.
pub(crate) fn shift(code: Opcode, d: &mut [u64], a: &[u64], amount: u64, width: u32) {
    let fill = if code == Opcode::AShr && is_negative(a, width) { u64::MAX } else { 0 };
    if amount >= u64::from(width) {
        d.fill(fill);
    } else if code == Opcode::Shl {
        let (limbs, bits) = ((amount / 64) as usize, amount % 64);
        for i in (0..d.len()).rev() {
            let from = |k: usize| i.checked_sub(k + limbs).map_or(0, |i| a[i]);
            d[i] = if bits == 0 { from(0) } else { from(0) << bits | from(1) >> (64 - bits) };
        }
    } else {
        take(d, a, amount as u32);
        if fill != 0 {
            set_from(d, width - amount as u32);
        }
    }
    mask_top(d, width);
}

/// The limbs of `a` from bit `lo` on.
fn take(d: &mut [u64], a: &[u64], lo: u32) {
    let (limbs, bits) = ((lo / 64) as usize, lo % 64);
    for (i, d) in d.iter_mut().enumerate() {
        let low = at(a, i + limbs);
        *d = if bits == 0 { low } else { low >> bits | at(a, i + limbs + 1) << (64 - bits) };
    }
}

/// Sets all bits from `lowest` on.
fn set_from(limbs: &mut [u64], lowest: u32) {
    for (i, limb) in limbs.iter_mut().enumerate() {
        *limb |= match lowest.checked_sub(i as u32 * 64) {
            None => u64::MAX,
            Some(bits @ 0..64) => u64::MAX << bits,
            Some(_) => 0,
        };
    }
}

/// Whether the comparison holds at a width.
pub(crate) fn compare(code: Opcode, a: &[u64], b: &[u64], width: u32) -> bool {
    let unsigned = || a.iter().rev().cmp(b.iter().rev());
    let signed = || is_negative(b, width).cmp(&is_negative(a, width)).then_with(unsigned);
    match code {
        Opcode::Eq => a == b,
        Opcode::Ne => a != b,
        Opcode::ULt => unsigned() == Ordering::Less,
        Opcode::ULe => unsigned() != Ordering::Greater,
        Opcode::SLt => signed() == Ordering::Less,
        Opcode::SLe => signed() != Ordering::Greater,
        other => unreachable!("`{}` is no comparison", other.name()),
    }
}

/// `d`, `width` bits, = the bits of `a` from `lo` on.
pub(crate) fn extract(d: &mut [u64], a: &[u64], lo: u32, width: u32) {
    take(d, a, lo);
    mask_top(d, width);
}

/// `d`, `to` bits, = the sign extension of `a`, `from` bits.
pub(crate) fn sign_extend(d: &mut [u64], a: &[u64], from: u32, to: u32) {
    d[..a.len()].copy_from_slice(a);
    d[a.len()..].fill(0);
    if is_negative(a, from) {
        set_from(d, from);
    }
    mask_top(d, to);
}

/// `d` = `hi` above the `lo_width` bits of `lo`.
pub(crate) fn concat(d: &mut [u64], hi: &[u64], lo: &[u64], lo_width: u32) {
    d[..lo.len()].copy_from_slice(lo);
    d[lo.len()..].fill(0);
    let (limbs, bits) = ((lo_width / 64) as usize, lo_width % 64);
    for (i, &limb) in hi.iter().enumerate() {
        d[limbs + i] |= limb << bits;
        if bits != 0 && limbs + i + 1 < d.len() {
            d[limbs + i + 1] |= limb >> (64 - bits);
        }
    }
}

/// `d` = the bytes of `a`, `width` bits, in opposite order.
pub(crate) fn byte_swap(d: &mut [u64], a: &[u64], width: u32) {
    let n = a.len();
    // Whole limbs swap to the top; the unused bytes of the top limb come out at the bottom.
    let unused = n as u32 * 64 - width;
    for (i, d) in d.iter_mut().enumerate() {
        let low = a[n - 1 - i].swap_bytes();
        let above = if i + 1 < n { a[n - 2 - i].swap_bytes() } else { 0 };
        *d = if unused == 0 { low } else { low >> unused | above << (64 - unused) };
    }
}
