//! Exact-width integers: widths and values.

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
}

impl From<u64> for Value {
    fn from(small: u64) -> Value {
        Value::Small(small)
    }
}
