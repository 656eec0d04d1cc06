//! Powers modulo odd numbers: the constants of a modulus, and what a kernel must do.
//!
//! Montgomery multiplication (HAC 14.36) replaces division by shifts with `R = 2^k`. Each [`Modulus`] holds
//! its constants for both radices: 2^64 for [`portable`] and 2^52 for [`ifma52`]. Both kernels keep
//! intermediate results only almost reduced and give the one answer below the modulus at the end.

pub mod ifma52;
#[cfg(target_arch = "x86_64")]
mod ifma52_blocks;
pub mod portable;

use zeroize::Zeroize;

use crate::limbs::{self, Limbs};

/// Largest modulus in bits: an RSA-8192 modulus.
pub const MODULUS_BITS_MAX: usize = 8192;

/// Why a number cannot be a modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModulusError {
    /// Montgomery arithmetic needs an odd modulus.
    Even,
    /// The modulus is zero or one: there is nothing to compute.
    TooSmall,
    /// The modulus has more than [`MODULUS_BITS_MAX`] bits, or more than the limbs it was to fit.
    TooLarge,
}

/// An odd modulus with all that depends only on it. Its bit length is public, its value may be secret; wiped on drop.
pub struct Modulus {
    /// The modulus, radix 2^64.
    limbs: Limbs,
    /// `-1 / m mod 2^64`; its low 52 bits are `-1 / m mod 2^52`.
    negative_inverse: u64,
    /// `R^2 mod m` and `R^3 mod m` for `R = 2^(64 * limbs.len())`.
    r_squared: Limbs,
    r_cubed: Limbs,
    /// The modulus and the same constants in radix 2^52, for `R = 2^(52 * m52.len())`.
    m52: Limbs,
    r52_squared: Limbs,
    r52_cubed: Limbs,
}

impl Drop for Modulus {
    fn drop(&mut self) {
        self.negative_inverse.zeroize();
    }
}

impl Modulus {
    /// Prepares the modulus `value` for numbers of `n_limbs` 64-bit limbs, which may be more than `value` needs:
    /// the two primes of a key share a length so that each can be a base for the other.
    ///
    /// Only the parity, the bit length and whether the value is 0 or 1 become public. Costs about 100 µs at 1024 bits.
    pub fn new(value: &[u64], n_limbs: usize) -> Result<Self, ModulusError> {
        let n_bits = limbs::bit_length(value);
        if n_bits < 2 {
            return Err(ModulusError::TooSmall);
        }
        if n_bits > MODULUS_BITS_MAX || n_bits > n_limbs * limbs::LIMB_BITS {
            return Err(ModulusError::TooLarge);
        }
        if value[0] & 1 == 0 {
            return Err(ModulusError::Even);
        }
        let mut modulus = Self {
            limbs: limbs::resized(value, n_limbs),
            negative_inverse: negative_inverse(value[0]),
            r_squared: limbs::zero(0),
            r_cubed: limbs::zero(0),
            m52: limbs::zero(0),
            r52_squared: limbs::zero(0),
            r52_cubed: limbs::zero(0),
        };
        let r_bits = n_limbs * limbs::LIMB_BITS;
        // R^2 = 2^r_bits * R comes by doubling alone; it then opens the Montgomery domain for the rest.
        modulus.r_squared = modulus.doubled_power(n_bits, 2 * r_bits);
        modulus.r_cubed = modulus.power_of_two(3 * r_bits);
        let n_limbs52 = ifma52::n_limbs(n_limbs);
        let r52_bits = n_limbs52 * ifma52::RADIX_BITS;
        modulus.m52 = ifma52::to_radix_52(value, n_limbs52);
        modulus.r52_squared = ifma52::to_radix_52(&modulus.power_of_two(2 * r52_bits), n_limbs52);
        modulus.r52_cubed = ifma52::to_radix_52(&modulus.power_of_two(3 * r52_bits), n_limbs52);
        Ok(modulus)
    }

    /// The modulus itself, radix 2^64, least significant first.
    pub fn limbs(&self) -> &[u64] {
        &self.limbs
    }

    /// Limbs that numbers of this modulus have.
    pub fn n_limbs(&self) -> usize {
        self.limbs.len()
    }

    /// `a * b mod m`, fully reduced, by the portable kernel. `a` and `b` have `n_limbs()` limbs and any value.
    pub fn multiply(&self, a: &[u64], b: &[u64]) -> Limbs {
        let mut product = self.montgomery_product(a, b);
        product = self.montgomery_product(&product, &self.r_squared);
        limbs::reduce_once(&mut product, 0, &self.limbs);
        product
    }

    /// `a mod m`, fully reduced, for `a < m * R` of up to twice `n_limbs()` limbs.
    pub fn reduce(&self, a: &[u64]) -> Limbs {
        let mut wide = limbs::resized(a, 2 * self.n_limbs() + 1);
        let mut out = limbs::zero(self.n_limbs());
        portable::reduce(&mut wide, &self.limbs, self.negative_inverse, &mut out);
        out = self.montgomery_product(&out, &self.r_squared);
        limbs::reduce_once(&mut out, 0, &self.limbs);
        out
    }

    /// `a - b mod m`, for `a, b < m`.
    pub fn subtract(&self, a: &[u64], b: &[u64]) -> Limbs {
        let mut out = limbs::resized(a, self.n_limbs());
        let borrow = limbs::subtract_masked(&mut out, b, u64::MAX);
        let wrapped = limbs::mask(borrow);
        let addend = self.limbs.iter().map(|limb| limb & wrapped).collect::<Vec<_>>();
        let addend = Limbs::new(addend);
        limbs::add_assign(&mut out, &addend);
        out
    }

    /// `a * R mod m`, fully reduced, for any `a` of `n_limbs()` limbs. A factor in this form saves
    /// the second half of a product.
    pub fn to_montgomery(&self, a: &[u64]) -> Limbs {
        let mut out = self.montgomery_product(a, &self.r_squared);
        limbs::reduce_once(&mut out, 0, &self.limbs);
        out
    }

    /// `a * b / R mod m`, fully reduced, where one factor is below `m` and the other is any number
    /// of `n_limbs()` limbs.
    pub fn montgomery_multiply(&self, a: &[u64], b: &[u64]) -> Limbs {
        let mut out = self.montgomery_product(a, b);
        limbs::reduce_once(&mut out, 0, &self.limbs);
        out
    }

    fn montgomery_product(&self, a: &[u64], b: &[u64]) -> Limbs {
        let mut wide = limbs::zero(2 * self.n_limbs() + 1);
        let mut out = limbs::zero(self.n_limbs());
        portable::multiply(a, b, &mut wide);
        portable::reduce(&mut wide, &self.limbs, self.negative_inverse, &mut out);
        out
    }

    /// `2^exponent mod m` by doubling from the largest power of two below `m`.
    fn doubled_power(&self, n_bits: usize, exponent: usize) -> Limbs {
        let mut power = limbs::zero(self.n_limbs());
        power[(n_bits - 1) / limbs::LIMB_BITS] = 1 << ((n_bits - 1) % limbs::LIMB_BITS);
        for _ in n_bits - 1..exponent {
            let carry = limbs::double_with(&mut power, 0);
            limbs::reduce_once(&mut power, carry, &self.limbs);
        }
        power
    }

    /// `2^exponent mod m` by squaring and doubling from the top bit of the public `exponent`. Needs `r_squared`.
    fn power_of_two(&self, exponent: usize) -> Limbs {
        let mut one = limbs::zero(self.n_limbs());
        one[0] = 1;
        let mut power = self.montgomery_product(&one, &self.r_squared);
        limbs::reduce_once(&mut power, 0, &self.limbs);
        for bit in (0..usize::BITS - exponent.leading_zeros()).rev() {
            power = self.montgomery_product(&power, &power);
            limbs::reduce_once(&mut power, 0, &self.limbs);
            if (exponent >> bit) & 1 == 1 {
                let carry = limbs::double_with(&mut power, 0);
                limbs::reduce_once(&mut power, carry, &self.limbs);
            }
        }
        power = self.montgomery_product(&power, &one);
        limbs::reduce_once(&mut power, 0, &self.limbs);
        power
    }
}

/// `-1 / m mod 2^64` for odd `m` by Newton's iteration: `m` is its own inverse to 3 bits, and each round doubles them.
fn negative_inverse(m: u64) -> u64 {
    let mut inverse = m;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg()
}

/// What a base is raised to.
#[derive(Clone, Copy)]
pub enum Exponent<'a> {
    /// Time and memory accesses depend only on `n_bits`, which must be at least the bit length of the value.
    Secret {
        /// The exponent, radix 2^64.
        limbs: &'a [u64],
        /// How many bits are worked through, leading zeros included.
        n_bits: usize,
    },
    /// Bit by bit: the sequence of operations shows the exponent.
    Public(&'a [u64]),
}

/// One power to be computed: `base^exponent mod modulus`.
#[derive(Clone, Copy)]
pub struct Power<'a> {
    /// The modulus.
    pub modulus: &'a Modulus,
    /// Any number below `modulus * 2^(64 * modulus.n_limbs())`, of at most `2 * modulus.n_limbs()` limbs.
    pub base: &'a [u64],
    /// The exponent; zero gives one.
    pub exponent: Exponent<'a>,
}

/// Something that computes powers.
pub trait Kernel: Send + Sync {
    /// Name for reports: `portable`, `ifma52x8`.
    fn name(&self) -> &'static str;

    /// How many powers of one size run in the time of one.
    fn n_lanes(&self) -> usize;

    /// All powers of the batch, in order, each fully reduced and of `modulus.n_limbs()` limbs.
    ///
    /// Bases, secret exponents and moduli influence neither branches nor addresses.
    fn powers(&self, batch: &[Power<'_>]) -> Vec<Limbs>;
}

/// The fastest kernel that this machine can run.
pub fn fastest_kernel() -> &'static dyn Kernel {
    match ifma52::Ifma52x8::detect() {
        Some(kernel) => kernel,
        None => &portable::Portable,
    }
}
