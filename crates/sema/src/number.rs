//! Compile-time integers as plain numbers: comparing, converting and printing them whatever their widths.

use std::cmp::Ordering;
use std::fmt;

use ir::{Value, Width};

use crate::scope::ConstValue;

/// An integer: sign and magnitude. Zero is not negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    is_negative: bool,
    magnitude: Value,
}

impl Number {
    /// The number that a constant stands for.
    pub fn of(constant: &ConstValue) -> Number {
        let is_negative = constant.signed && constant.value.is_negative(constant.width);
        let magnitude = if is_negative { constant.value.wrapping_neg(constant.width) } else { constant.value.clone() };
        Number { is_negative, magnitude }
    }

    /// The number, if it is not negative and fits.
    pub fn to_u64(&self) -> Option<u64> {
        if self.is_negative { None } else { self.magnitude.to_u64() }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.magnitude.is_zero()
    }

    /// The constant of this type that equals the number, if the type holds it.
    pub fn to_constant(&self, width: Width, signed: bool) -> Option<ConstValue> {
        let (low, high) = (Number::min_of(width, signed), Number::max_of(width, signed));
        if *self < low || *self > high {
            return None;
        }
        let magnitude = self.magnitude.wrapped(width);
        let value = if self.is_negative { magnitude.wrapping_neg(width) } else { magnitude };
        Some(ConstValue { value, width, signed })
    }

    /// The least number of a type.
    pub fn min_of(width: Width, signed: bool) -> Number {
        if !signed {
            return Number { is_negative: false, magnitude: Value::ZERO };
        }
        let magnitude = Number::power_of_two(width.bits() - 1);
        Number { is_negative: true, magnitude }
    }

    /// The greatest number of a type.
    pub fn max_of(width: Width, signed: bool) -> Number {
        let bits = if signed { width.bits() - 1 } else { width.bits() };
        let magnitude = Width::new(bits).map_or(Value::ZERO, Value::ones);
        Number { is_negative: false, magnitude }
    }

    fn power_of_two(bit: u32) -> Value {
        let mut limbs = vec![0; bit as usize / 64 + 1];
        limbs[bit as usize / 64] = 1 << (bit % 64);
        Value::from_limbs(&limbs)
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number { is_negative: false, magnitude: Value::from(number) }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude.cmp(&other.magnitude),
            (true, true) => other.magnitude.cmp(&self.magnitude),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_negative { "-" } else { "" }, self.magnitude)
    }
}

#[cfg(test)]
mod tests {
    use ir::{Value, Width};

    use super::Number;
    use crate::scope::ConstValue;

    fn constant(value: u64, bits: u32, signed: bool) -> ConstValue {
        ConstValue { value: Value::from(value), width: Width::of(bits), signed }
    }

    #[test]
    fn minus_one_is_below_zero_and_fits_signed_types_only() {
        let minus_one = Number::of(&constant(0xFF, 8, true));
        assert_eq!(minus_one.to_string(), "-1");
        assert!(minus_one < Number::from(0));
        assert_eq!(minus_one.to_constant(Width::of(32), true), Some(constant(0xFFFF_FFFF, 32, true)));
        assert_eq!(minus_one.to_constant(Width::of(32), false), None);
    }

    #[test]
    fn limits_of_types() {
        let limits = |bits, signed| {
            let width = Width::of(bits);
            (Number::min_of(width, signed).to_string(), Number::max_of(width, signed).to_string())
        };
        assert_eq!(limits(8, true), ("-128".to_string(), "127".to_string()));
        assert_eq!(limits(1, true), ("-1".to_string(), "0".to_string()));
        assert_eq!(limits(64, false), ("0".to_string(), "18446744073709551615".to_string()));
        assert_eq!(limits(65, true), ("-18446744073709551616".to_string(), "18446744073709551615".to_string()));
    }
}
