//! Values as text: decimal and hexadecimal digits, both ways.

use std::fmt;

use crate::{Value, Width, limbs};

/// The largest power of ten in a limb, and its exponent.
const DECIMAL_CHUNK: (u64, usize) = (10_000_000_000_000_000_000, 19);

impl Value {
    /// Reads `123`, `0x7f`, `0b101` or `0o17`; `_` and `'` may separate digits. None if it is not a number or needs more than
    /// [`Width::MAX_BITS`] bits.
    pub fn parse(text: &str) -> Option<Value> {
        let (digits, radix) = match text.get(..2) {
            Some("0x" | "0X") => (&text[2..], 16),
            Some("0b" | "0B") => (&text[2..], 2),
            Some("0o" | "0O") => (&text[2..], 8),
            _ => (text, 10),
        };
        Value::from_digits(digits, radix)
    }

    /// Reads digits of a radix of 2 to 16; `_` and `'` may separate them. None as for [`Value::parse`].
    pub fn from_digits(digits: &str, radix: u32) -> Option<Value> {
        assert!((2..=16).contains(&radix), "radix of a number");
        let mut limbs = Vec::new();
        let mut any = false;
        for c in digits.chars().filter(|&c| c != '_' && c != '\'') {
            limbs::mul_add_small(&mut limbs, u64::from(radix), u64::from(c.to_digit(radix)?));
            any = true;
            if limbs.len() > Width::MAX_BITS as usize / 64 {
                return None;
            }
        }
        any.then(|| Value::from_limbs(&limbs))
    }

    /// Decimal digits of the two's complement number of that width: `-1` for all ones.
    pub fn to_signed_string(&self, width: Width) -> String {
        if !self.is_negative(width) {
            return self.to_string();
        }
        format!("-{}", self.wrapping_neg(width))
    }

    fn decimal_chunks(&self) -> Vec<u64> {
        let mut rest = self.limbs().to_vec();
        let mut chunks = Vec::new();
        loop {
            chunks.push(limbs::div_small(&mut rest, DECIMAL_CHUNK.0));
            while rest.last() == Some(&0) {
                rest.pop();
            }
            if rest.is_empty() {
                return chunks;
            }
        }
    }
}

/// Decimal.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Value::Small(small) = self {
            return small.fmt(f);
        }
        let chunks = self.decimal_chunks();
        let (first, others) = chunks.split_last().expect("zero has one chunk");
        let mut text = first.to_string();
        for chunk in others.iter().rev() {
            text += &format!("{chunk:0width$}", width = DECIMAL_CHUNK.1);
        }
        f.pad_integral(true, "", &text)
    }
}

/// Hexadecimal, without leading zeros.
impl fmt::LowerHex for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, others) = self.limbs().split_last().expect("zero has one limb");
        let mut text = format!("{first:x}");
        for limb in others.iter().rev() {
            text += &format!("{limb:016x}");
        }
        f.pad_integral(true, "0x", &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2^200 - 1 as printed by Python.
    const DECIMAL: &str = "1606938044258990275541962092341162602522202993782792835301375";
    const HEX: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffff";

    #[test]
    fn wide_numbers_read_and_print() {
        let wide = Value::ones(Width::of(200));
        assert_eq!(Value::parse(DECIMAL), Some(wide.clone()));
        assert_eq!(Value::parse(&format!("0x{HEX}")), Some(wide.clone()));
        assert_eq!(wide.to_string(), DECIMAL);
        assert_eq!(format!("{wide:x}"), HEX);
        assert_eq!(format!("{wide:#x}"), format!("0x{HEX}"));
        assert_eq!(wide.to_signed_string(Width::of(200)), "-1");
        // 2^64 and 10^19: the inner limb and the inner chunk are zero.
        assert_eq!(Value::parse("18446744073709551616"), Some(Value::from_limbs(&[0, 1])));
        assert_eq!(Value::from_limbs(&[0, 1]).to_string(), "18446744073709551616");
        assert_eq!(format!("{:x}", Value::from_limbs(&[0, 1])), "10000000000000000");
        assert_eq!(Value::parse("100000000000000000000").expect("a number").to_string(), "100000000000000000000");
    }

    #[test]
    fn small_numbers_read_and_print() {
        assert_eq!(Value::parse("0b1'01"), Some(Value::from(5)));
        assert_eq!(Value::parse("0o17"), Some(Value::from(15)));
        assert_eq!(Value::parse("1_000"), Some(Value::from(1000)));
        assert_eq!(Value::from(0xf0).to_signed_string(Width::of(8)), "-16");
        assert_eq!(Value::from(0x80).to_signed_string(Width::of(8)), "-128");
        assert_eq!(Value::from(0x70).to_signed_string(Width::of(8)), "112");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let too_wide = format!("0x1{}", "0".repeat(8192 / 4));
        for text in ["", "_", "0x", "12a", "0b2", "-1", "é", &too_wide] {
            assert_eq!(Value::parse(text), None, "{text}");
        }
    }
}
