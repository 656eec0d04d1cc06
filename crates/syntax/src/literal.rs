//! Values of number, character and string literals.
//!
//! The lexer calls these to report bad literals once; the parser calls them again for the value.

use crate::ast::IntLiteral;

/// Widest integer of the language, in bits.
pub(crate) const WIDTH_BITS_MAX: usize = 8192;

/// Why an integer literal is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntFault {
    /// A digit that the base does not have, or a misspelt suffix.
    BadDigit(char),
    /// `0x` or `0b` alone.
    NoDigits,
    /// More than [`WIDTH_BITS_MAX`] bits.
    TooWide,
}

/// The value of an integer literal: decimal, `0x`, `0b` or octal (leading `0`), `'` between digits, suffix of `u`, `l`, `ll`.
pub(crate) fn int(text: &str) -> Result<IntLiteral, IntFault> {
    let lower = text.as_bytes();
    let has_prefix = |letter: u8| lower.len() > 1 && lower[0] == b'0' && lower[1].to_ascii_lowercase() == letter;
    let (radix, digits) = match () {
        () if has_prefix(b'x') => (16, &text[2..]),
        () if has_prefix(b'b') => (2, &text[2..]),
        () if lower.len() > 1 && lower[0] == b'0' && lower[1].is_ascii_digit() => (8, &text[1..]),
        () => (10, text),
    };
    let suffix_at = digits.find(['u', 'U', 'l', 'L']).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(suffix_at);
    let (unsigned, long) = match suffix.to_ascii_lowercase().as_str() {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "ull" | "lu" | "llu" => (true, true),
        other => return Err(IntFault::BadDigit(other.chars().find(|c| !"ul".contains(*c)).unwrap_or('l'))),
    };
    let mut limbs: Vec<u64> = Vec::new();
    let mut n_digits = 0;
    for digit in digits.chars().filter(|&c| c != '\'') {
        let value = digit.to_digit(radix).ok_or(IntFault::BadDigit(digit))?;
        n_digits += 1;
        // Beyond the widest integer only the spelling is checked on, which keeps long literals linear.
        if limbs.len() <= WIDTH_BITS_MAX / 64 {
            multiply_add(&mut limbs, u64::from(radix), u64::from(value));
        }
    }
    match () {
        () if n_digits == 0 => Err(IntFault::NoDigits),
        () if limbs.len() > WIDTH_BITS_MAX / 64 => Err(IntFault::TooWide),
        () => Ok(IntLiteral { limbs, unsigned, long, non_decimal: radix != 10 }),
    }
}

/// `limbs = limbs * factor + addend`, no leading zero limbs.
fn multiply_add(limbs: &mut Vec<u64>, factor: u64, addend: u64) {
    let mut carry = addend;
    for limb in limbs.iter_mut() {
        let wide = u128::from(*limb) * u128::from(factor) + u128::from(carry);
        *limb = wide as u64;
        carry = (wide >> 64) as u64;
    }
    if carry != 0 {
        limbs.push(carry);
    }
}

/// The text of a string or character literal between its quotes, escapes resolved. `Err` holds the escape that is none.
pub(crate) fn unescape(quoted: &str) -> Result<String, String> {
    let mut out = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('0') => out.push('\0'),
            Some(same @ ('\\' | '\'' | '"')) => out.push(same),
            Some('x') => {
                let digits: String = chars.by_ref().take(2).collect();
                let value = u8::from_str_radix(&digits, 16).map_err(|_| format!("\\x{digits}"))?;
                out.push(char::from(value));
            }
            Some(other) => return Err(format!("\\{other}")),
            None => return Err("\\".to_owned()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{IntFault, int, unescape};

    fn limbs(text: &str) -> Vec<u64> {
        int(text).expect("a good literal").limbs
    }

    #[test]
    fn values() {
        assert_eq!(limbs("0"), Vec::<u64>::new());
        assert_eq!(limbs("18'446'744'073'709'551'616"), [0, 1]);
        assert_eq!(limbs("0xDEADBEEFCAFEBABEull"), [0xDEAD_BEEF_CAFE_BABE]);
        assert_eq!(limbs("0b101u"), [5]);
        assert_eq!(limbs("017"), [15]);
        // 2^8192 - 1 fits, 2^8192 does not.
        assert_eq!(limbs(&format!("0x{}", "F".repeat(2048))), [u64::MAX; 128]);
        assert_eq!(int(&format!("0x1{}", "0".repeat(2048))), Err(IntFault::TooWide));
    }

    #[test]
    fn faults() {
        assert_eq!(int("08"), Err(IntFault::BadDigit('8')));
        assert_eq!(int("0x"), Err(IntFault::NoDigits));
        assert_eq!(int("0b12"), Err(IntFault::BadDigit('2')));
        assert_eq!(int("5uu"), Err(IntFault::BadDigit('l')));
        assert_eq!(int("10_000"), Err(IntFault::BadDigit('_')));
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(r#"a\n\x41\""#), Ok("a\nA\"".to_owned()));
        assert_eq!(unescape(r"\q"), Err("\\q".to_owned()));
    }
}
