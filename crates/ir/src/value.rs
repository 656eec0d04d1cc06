//! Exact-width integers: widths and values.

use std::cmp::Ordering;

use crate::limbs;

/// A width in bits, 1 to 8192.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u16);

impl Width {
    /// One bit: `bool`.
    pub const BOOL: Width = Width(1);
    /// The widest integer of the language.
    pub const MAX_BITS: u32 = 8192;

    /// A width, if `1 <= bits <= 8192`.
    pub const fn new(bits: u32) -> Option<Width> {
        if bits >= 1 && bits <= Width::MAX_BITS { Some(Width(bits as u16)) } else { None }
    }

    /// A width known to be in range; panics if it is not.
    pub const fn of(bits: u32) -> Width {
        match Width::new(bits) {
            Some(width) => width,
            None => panic!("a width is 1 to 8192 bits"),
        }
    }

    /// Bits.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// 64-bit limbs that hold it.
    pub const fn limbs(self) -> usize {
        (self.0 as usize).div_ceil(64)
    }
}

/// The bits of an integer, unsigned, without its width.
///
/// Canonical: `Small` whenever the number fits 64 bits, and the top limb of `Wide` is not 0. So equality is equality of
/// numbers, and a wide zero costs nothing. Whoever makes a value of width `w` must have it below `2^w`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Below 2^64.
    Small(u64),
    /// Limbs, least significant first; at least two, the last not 0.
    Wide(Box<[u64]>),
}

impl Value {
    /// Zero.
    pub const ZERO: Value = Value::Small(0);

    /// The number with these limbs, least significant first, brought to canonical form.
    pub fn from_limbs(limbs: &[u64]) -> Value {
        let used = limbs.iter().rposition(|&limb| limb != 0).map_or(0, |top| top + 1);
        match used {
            0 => Value::ZERO,
            1 => Value::Small(limbs[0]),
            _ => Value::Wide(limbs[..used].into()),
        }
    }

    /// Limbs, least significant first; empty for 0 is not produced (0 has one limb).
    pub fn limbs(&self) -> &[u64] {
        match self {
            Value::Small(small) => std::slice::from_ref(small),
            Value::Wide(limbs) => limbs,
        }
    }

    /// The low 64 bits.
    pub fn low_u64(&self) -> u64 {
        self.limbs()[0]
    }

    /// The number, if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        match self {
            Value::Small(small) => Some(*small),
            Value::Wide(_) => None,
        }
    }

    /// `2^w - 1`.
    pub fn ones(width: Width) -> Value {
        if width.bits() <= 64 {
            return Value::Small(u64::MAX >> (64 - width.bits()));
        }
        let mut limbs = vec![u64::MAX; width.limbs()];
        limbs::mask(&mut limbs, width.bits());
        Value::from_limbs(&limbs)
    }

    /// The two's complement bits of `number` at a width; wraps.
    pub fn from_i64(number: i64, width: Width) -> Value {
        let sign = if number < 0 { u64::MAX } else { 0 };
        let mut limbs = vec![sign; width.limbs()];
        limbs[0] = number as u64;
        limbs::mask(&mut limbs, width.bits());
        Value::from_limbs(&limbs)
    }

    /// The two's complement number of that width, if it fits.
    pub fn to_i64(&self, width: Width) -> Option<i64> {
        if self.is_negative(width) {
            let magnitude = self.wrapping_neg(width).to_u64()?;
            return (magnitude <= 1 << 63).then(|| (magnitude as i64).wrapping_neg());
        }
        self.to_u64().and_then(|small| i64::try_from(small).ok())
    }

    /// The number with these bytes, most significant first; at most 1024 of them.
    pub fn from_be_bytes(bytes: &[u8]) -> Value {
        let limb = |chunk: &[u8]| chunk.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if bytes.len() <= 8 {
            return Value::Small(limb(bytes));
        }
        let limbs: Vec<u64> = bytes.rchunks(8).map(limb).collect();
        Value::from_limbs(&limbs)
    }

    /// The number with these bytes, least significant first; at most 1024 of them.
    pub fn from_le_bytes(bytes: &[u8]) -> Value {
        let limb = |chunk: &[u8]| chunk.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if bytes.len() <= 8 {
            return Value::Small(limb(bytes));
        }
        let limbs: Vec<u64> = bytes.chunks(8).map(limb).collect();
        Value::from_limbs(&limbs)
    }

    /// Fills `bytes` with the low bytes of the number, least significant first.
    pub fn write_le_bytes(&self, bytes: &mut [u8]) {
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            let limb = limbs::at(self.limbs(), i).to_le_bytes();
            chunk.copy_from_slice(&limb[..chunk.len()]);
        }
    }

    /// Fills `bytes` with the low bytes of the number, most significant first.
    pub fn write_be_bytes(&self, bytes: &mut [u8]) {
        self.write_le_bytes(bytes);
        bytes.reverse();
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        *self == Value::ZERO
    }

    /// Bit `bit`; false above the number.
    pub fn bit(&self, bit: u32) -> bool {
        limbs::bit(self.limbs(), bit)
    }

    /// Bits up to the highest 1; 0 for 0.
    pub fn significant_bits(&self) -> u32 {
        let limbs = self.limbs();
        limbs.len() as u32 * 64 - limbs[limbs.len() - 1].leading_zeros()
    }

    /// Whether it is below `2^w`.
    pub fn fits(&self, width: Width) -> bool {
        self.significant_bits() <= width.bits()
    }

    /// The number modulo `2^w`.
    pub fn wrapped(&self, width: Width) -> Value {
        self.bits_at(0, width)
    }

    /// The `width` bits from bit `lo` on; zeros above the number.
    pub fn bits_at(&self, lo: u32, width: Width) -> Value {
        if width.bits() <= 64 {
            let low = limbs::shifted_limb(self.limbs(), lo, 0);
            return Value::Small(low & (u64::MAX >> (64 - width.bits())));
        }
        if lo == 0 && self.fits(width) {
            return self.clone();
        }
        let mut limbs = limbs::shr(self.limbs(), lo, width.limbs());
        limbs::mask(&mut limbs, width.bits());
        Value::from_limbs(&limbs)
    }

    /// Whether the sign bit of that width is set.
    pub fn is_negative(&self, width: Width) -> bool {
        self.bit(width.bits() - 1)
    }

    /// `-self` modulo `2^w`.
    pub fn wrapping_neg(&self, width: Width) -> Value {
        let mut limbs = limbs::sub(&[0], self.limbs(), width.limbs());
        limbs::mask(&mut limbs, width.bits());
        Value::from_limbs(&limbs)
    }

    /// The number with the sign bit of width `from` copied into every bit up to width `to`, which is at least `from`.
    pub fn sign_extended(&self, from: Width, to: Width) -> Value {
        if !self.is_negative(from) {
            return self.clone();
        }
        let mut limbs = self.limbs().to_vec();
        limbs.resize(to.limbs(), 0);
        limbs::fill(&mut limbs, from.bits());
        limbs::mask(&mut limbs, to.bits());
        Value::from_limbs(&limbs)
    }

    /// Order as two's complement numbers of that width.
    pub fn signed_cmp(&self, other: &Value, width: Width) -> Ordering {
        match (self.is_negative(width), other.is_negative(width)) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => self.cmp(other),
        }
    }
}

/// Order as unsigned numbers.
impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        limbs::compare(self.limbs(), other.limbs())
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<u64> for Value {
    fn from(small: u64) -> Value {
        Value::Small(small)
    }
}

impl From<bool> for Value {
    fn from(bit: bool) -> Value {
        Value::Small(u64::from(bit))
    }
}
