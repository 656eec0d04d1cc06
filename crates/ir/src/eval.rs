//! What each pure op computes: the one place that the table's words become arithmetic.
//!
//! Constant folding and the interpreter call [`pure`]; other engines are compared with it. Numbers of at most 64 bits take a
//! path of machine arithmetic, wider ones go limb by limb.

use crate::{Attr, Opcode, Value, Width, limbs};

/// The result of a pure op.
///
/// Operands come with their widths and must be below `2^w` and of the op's shape, as the verifier checks; `result` is the
/// width of the result. Panics for an op that is not pure and for a wrong number of operands.
pub fn pure(op: Opcode, attr: &Attr, operands: &[(&Value, Width)], result: Width) -> Value {
    match (op, operands) {
        (Opcode::Const, []) => match attr {
            Attr::Const(value) => value.clone(),
            _ => unreachable!("the verifier wants a constant's value"),
        },
        (_, &[(a, width)]) => unary(op, attr, a, width, result),
        (_, &[(a, a_width), (b, b_width)]) => match (a.to_u64(), b.to_u64()) {
            (Some(a), Some(b)) if a_width.bits().max(b_width.bits()).max(result.bits()) <= 64 => {
                Value::Small(binary_small(op, a, b, a_width, b_width))
            }
            _ => binary_wide(op, a, b, a_width, b_width),
        },
        (Opcode::Select, &[(condition, _), (yes, _), (no, _)]) => if condition.is_zero() { no } else { yes }.clone(),
        _ => panic!("{} with {} operands", op.name(), operands.len()),
    }
}

fn unary(op: Opcode, attr: &Attr, a: &Value, width: Width, result: Width) -> Value {
    match op {
        Opcode::Not => complement(a, width),
        Opcode::Neg => a.wrapping_neg(width),
        Opcode::ZExt => a.clone(),
        Opcode::SExt => a.sign_extended(width, result),
        Opcode::Trunc => a.wrapped(result),
        Opcode::Extract => match attr {
            Attr::Bit(bit) => a.bits_at(*bit, result),
            _ => unreachable!("the verifier wants the bit of an extract"),
        },
        Opcode::ByteSwap => byte_swapped(a, width),
        _ => panic!("{} is no pure op of one operand", op.name()),
    }
}

fn complement(a: &Value, width: Width) -> Value {
    if width.bits() <= 64 {
        return Value::Small(!a.low_u64() & ones(width));
    }
    let mut limbs: Vec<u64> = (0..width.limbs()).map(|i| !limbs::at(a.limbs(), i)).collect();
    limbs::mask(&mut limbs, width.bits());
    Value::from_limbs(&limbs)
}

fn byte_swapped(a: &Value, width: Width) -> Value {
    let mut bytes = [0_u8; Width::MAX_BITS as usize / 8];
    let used = &mut bytes[..width.bits() as usize / 8];
    a.write_le_bytes(used);
    Value::from_be_bytes(used)
}

/// All widths are at most 64.
fn binary_small(op: Opcode, a: u64, b: u64, width: Width, b_width: Width) -> u64 {
    let bits = width.bits();
    let signed = |x: u64| ((x << (64 - bits)) as i64) >> (64 - bits);
    let past = b >= u64::from(bits);
    let wide = match op {
        Opcode::Add => a.wrapping_add(b),
        Opcode::Sub => a.wrapping_sub(b),
        Opcode::Mul => a.wrapping_mul(b),
        Opcode::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Opcode::URem => a.checked_rem(b).unwrap_or(a),
        Opcode::SDiv if b == 0 => u64::MAX,
        Opcode::SDiv => signed(a).wrapping_div(signed(b)) as u64,
        Opcode::SRem if b == 0 => a,
        Opcode::SRem => signed(a).wrapping_rem(signed(b)) as u64,
        Opcode::And => a & b,
        Opcode::Or => a | b,
        Opcode::Xor => a ^ b,
        Opcode::Shl | Opcode::LShr if past => 0,
        Opcode::Shl => a << b,
        Opcode::LShr => a >> b,
        Opcode::AShr => (signed(a) >> b.min(63)) as u64,
        Opcode::Eq => u64::from(a == b),
        Opcode::Ne => u64::from(a != b),
        Opcode::ULt => u64::from(a < b),
        Opcode::ULe => u64::from(a <= b),
        Opcode::SLt => u64::from(signed(a) < signed(b)),
        Opcode::SLe => u64::from(signed(a) <= signed(b)),
        Opcode::Concat => return a << b_width.bits() | b,
        _ => panic!("{} is no pure op of two operands", op.name()),
    };
    wide & ones(width)
}

fn binary_wide(op: Opcode, a: &Value, b: &Value, width: Width, b_width: Width) -> Value {
    let n = width.limbs();
    let (x, y) = (a.limbs(), b.limbs());
    let cut = |mut limbs: Vec<u64>| {
        limbs::mask(&mut limbs, width.bits());
        Value::from_limbs(&limbs)
    };
    let bitwise = |f: fn(u64, u64) -> u64| cut((0..n).map(|i| f(limbs::at(x, i), limbs::at(y, i))).collect());
    match op {
        Opcode::Add => cut(limbs::add(x, y, n)),
        Opcode::Sub => cut(limbs::sub(x, y, n)),
        Opcode::Mul => cut(limbs::mul(x, y, n)),
        Opcode::UDiv | Opcode::SDiv if b.is_zero() => Value::ones(width),
        Opcode::URem | Opcode::SRem if b.is_zero() => a.clone(),
        Opcode::UDiv => Value::from_limbs(&limbs::div_rem(x, y).0),
        Opcode::URem => Value::from_limbs(&limbs::div_rem(x, y).1),
        Opcode::SDiv => {
            let quotient = limbs::div_rem(magnitude(a, width).limbs(), magnitude(b, width).limbs()).0;
            negated_if(a.is_negative(width) != b.is_negative(width), &Value::from_limbs(&quotient), width)
        }
        Opcode::SRem => {
            let remainder = limbs::div_rem(magnitude(a, width).limbs(), magnitude(b, width).limbs()).1;
            negated_if(a.is_negative(width), &Value::from_limbs(&remainder), width)
        }
        Opcode::And => bitwise(|x, y| x & y),
        Opcode::Or => bitwise(|x, y| x | y),
        Opcode::Xor => bitwise(|x, y| x ^ y),
        Opcode::Shl | Opcode::LShr | Opcode::AShr => shift(op, a, b, width),
        Opcode::Eq => (a == b).into(),
        Opcode::Ne => (a != b).into(),
        Opcode::ULt => (a < b).into(),
        Opcode::ULe => (a <= b).into(),
        Opcode::SLt => a.signed_cmp(b, width).is_lt().into(),
        Opcode::SLe => a.signed_cmp(b, width).is_le().into(),
        Opcode::Concat => {
            let n = (width.bits() + b_width.bits()).div_ceil(64) as usize;
            let mut limbs = limbs::shl(x, b_width.bits(), n);
            limbs.iter_mut().zip(y).for_each(|(limb, low)| *limb |= low);
            Value::from_limbs(&limbs)
        }
        _ => panic!("{} is no pure op of two operands", op.name()),
    }
}

fn shift(op: Opcode, a: &Value, amount: &Value, width: Width) -> Value {
    let n = width.limbs();
    let fill = op == Opcode::AShr && a.is_negative(width);
    let amount = match amount.to_u64() {
        Some(amount) if amount < u64::from(width.bits()) => amount as u32,
        _ if fill => return Value::ones(width),
        _ => return Value::ZERO,
    };
    let mut limbs = match op {
        Opcode::Shl => limbs::shl(a.limbs(), amount, n),
        _ => limbs::shr(a.limbs(), amount, n),
    };
    if fill {
        limbs::fill(&mut limbs, width.bits() - amount);
    }
    limbs::mask(&mut limbs, width.bits());
    Value::from_limbs(&limbs)
}

fn magnitude(a: &Value, width: Width) -> Value {
    negated_if(a.is_negative(width), a, width)
}

fn negated_if(negate: bool, a: &Value, width: Width) -> Value {
    if negate { a.wrapping_neg(width) } else { a.clone() }
}

/// `2^w - 1` for a width of at most 64.
fn ones(width: Width) -> u64 {
    u64::MAX >> (64 - width.bits())
}
