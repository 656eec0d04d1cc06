//! Values of signal arguments as people write them: numbers, `true`, IPv4, IPv6 and MAC addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use ir::{Field, Value};

/// Reads a value for an argument and checks that it fits.
pub(crate) fn parse_value(text: &str, field: &Field) -> Result<Value, String> {
    // Most files are numbers and IPv4 addresses by the million.
    let value = match text.parse::<u64>() {
        // 0x and 0b write the bits of a signed number, decimal digits its value.
        Ok(number) if field.signed && field.width.bits() <= 64 && number >> (field.width.bits() - 1) != 0 => {
            return Err(format!("{text} does not fit the {} bits of `{}`", field.width.bits(), field.name));
        }
        Ok(number) if text.as_bytes()[0] != b'+' => Value::Small(number),
        Ok(_) | Err(_) => parse_other(text, field)?,
    };
    fit(value, field)
}

/// The value, if it has at most the argument's width.
pub(crate) fn fit(value: Value, field: &Field) -> Result<Value, String> {
    if value.fits(field.width) {
        return Ok(value);
    }
    Err(format!("{value} does not fit the {} bits of `{}`", field.width.bits(), field.name))
}

fn parse_other(text: &str, field: &Field) -> Result<Value, String> {
    match text {
        "true" => return Ok(Value::Small(1)),
        "false" => return Ok(Value::Small(0)),
        _ => {}
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Value::Small(u64::from(u32::from(address))));
    }
    if let Some(address) = parse_mac(text) {
        return Ok(Value::Small(address));
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        let bits = u128::from(address);
        return Ok(Value::from_limbs(&[bits as u64, (bits >> 64) as u64]));
    }
    if let Some(magnitude) = text.strip_prefix('-') {
        return negative(text, magnitude, field);
    }
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => Value::from_digits(digits, 16),
        None => match text.strip_prefix("0b").or_else(|| text.strip_prefix("0B")) {
            Some(digits) => Value::from_digits(digits, 2),
            None => Value::from_digits(text, 10),
        },
    };
    number.ok_or_else(|| {
        format!(
            "`{text}` is no value for `{}`; write a number, 0x…, 0b…, true, 10.0.0.1, 2001:db8::1 or 02:00:00:00:00:01",
            field.name
        )
    })
}

/// A number below 0 in two's complement, for arguments that are signed and at most 64 bits wide.
fn negative(text: &str, magnitude: &str, field: &Field) -> Result<Value, String> {
    if !field.signed {
        return Err(format!("`{}` is unsigned, so it cannot be {text}", field.name));
    }
    let bits = field.width.bits();
    let number = magnitude.parse::<u64>().ok().filter(|_| bits <= 64);
    let number = number.filter(|&number| number <= 1 << (bits - 1));
    match number {
        Some(number) => Ok(Value::Small(number.wrapping_neg() & (u64::MAX >> (64 - bits)))),
        None => Err(format!("{text} does not fit the {bits} bits of `{}`", field.name)),
    }
}

/// Six bytes in hexadecimal between `:` or `-`, as one number, the first byte on top.
fn parse_mac(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let separator = *bytes.get(2)?;
    if bytes.len() != 17 || !matches!(separator, b':' | b'-') {
        return None;
    }
    let mut address = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if at % 3 == 2 {
            (byte == separator).then_some(())?;
        } else {
            address = address << 4 | u64::from(char::from(byte).to_digit(16)?);
        }
    }
    Some(address)
}
