//! RSA keys: parts in, checked and prepared for both kernels.
//!
//! All that depends only on the key (Montgomery constants, limbs in both radices) is computed once, here.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::InputRange;
use super::blinding::Pair;
use crate::limbs::{self, LIMB_BITS, Limbs};
use crate::montgomery::{MODULUS_BITS_MAX, Modulus};

/// Smallest modulus in bits; smaller ones are factored in minutes.
pub const MODULUS_BITS_MIN: usize = 512;

/// Why parts do not make a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyError {
    /// The modulus has this many bits, which is not from [`MODULUS_BITS_MIN`] to [`MODULUS_BITS_MAX`].
    ModulusSize(usize),
    /// The modulus is even.
    EvenModulus,
    /// The public exponent is even, below 3, or not below the modulus.
    PublicExponent,
    /// `p` or `q` is even, below 3, or they are equal.
    Primes,
    /// `p` and `q` divide the modulus but are not all of it: a key of three or more primes, which is not supported.
    MultiPrime,
    /// `p * q` is not the modulus.
    PrimesDoNotMatch,
    /// `d * e mod (p - 1)` or `mod (q - 1)` is not 1, or `d` is not below the modulus.
    PrivateExponent,
    /// `dp * e mod (p - 1)` or `dq * e mod (q - 1)` is not 1, or `dp >= p` or `dq >= q`.
    CrtExponent,
    /// `qinv * q mod p` is not 1, or `qinv >= p`.
    CrtCoefficient,
}

/// A modulus and the exponent that everybody knows.
pub struct PublicKey {
    pub(super) modulus: Modulus,
    pub(super) exponent: Limbs,
    n_bits: usize,
}

impl PublicKey {
    /// A key from big-endian `n` and `e`, leading zeros allowed. `e` may be as large as `n`; the check of private
    /// results costs a public operation, so that large ones are slow.
    pub fn new(n: &[u8], e: &[u8]) -> Result<Self, KeyError> {
        let (n, e) = (parse(n), parse(e));
        let n_bits = limbs::bit_length(&n);
        if !(MODULUS_BITS_MIN..=MODULUS_BITS_MAX).contains(&n_bits) {
            return Err(KeyError::ModulusSize(n_bits));
        }
        if n[0] & 1 == 0 {
            return Err(KeyError::EvenModulus);
        }
        if limbs::bit_length(&e) < 2 || e[0] & 1 == 0 || limbs::mask_less(&e, &n) == 0 {
            return Err(KeyError::PublicExponent);
        }
        let modulus = Modulus::new(&n, n_bits.div_ceil(LIMB_BITS)).expect("odd and of a supported size");
        Ok(Self { modulus, exponent: e, n_bits })
    }

    /// Bits of the modulus.
    pub fn n_bits(&self) -> usize {
        self.n_bits
    }

    /// Bytes of the modulus, and of every input and output.
    pub fn n_bytes(&self) -> usize {
        self.n_bits.div_ceil(8)
    }

    /// A number below the modulus in exactly `n_bytes()` bytes. Only whether it is one becomes public.
    pub(super) fn parse(&self, input: &[u8]) -> Result<Limbs, InputRange> {
        if input.len() != self.n_bytes() {
            return Err(InputRange);
        }
        let value = limbs::from_be_bytes(input, self.modulus.n_limbs()).ok_or(InputRange)?;
        if limbs::mask_less(&value, self.modulus.limbs()) == 0 { Err(InputRange) } else { Ok(value) }
    }
}

/// The parts of a two-prime private key (RFC 8017 §3.2), each big-endian; leading zeros are allowed.
#[derive(Clone, Copy)]
pub struct KeyParts<'a> {
    /// Modulus.
    pub n: &'a [u8],
    /// Public exponent.
    pub e: &'a [u8],
    /// Private exponent, modulo `lcm(p - 1, q - 1)` or `(p - 1) * (q - 1)`.
    pub d: &'a [u8],
    /// First prime; it may be the smaller one.
    pub p: &'a [u8],
    /// Second prime.
    pub q: &'a [u8],
    /// `d mod (p - 1)`.
    pub dp: &'a [u8],
    /// `d mod (q - 1)`.
    pub dq: &'a [u8],
    /// `1 / q mod p`.
    pub qinv: &'a [u8],
}

/// A private key, ready for use from many threads. Secrets are wiped when it is dropped.
pub struct PrivateKey {
    pub(super) public: PublicKey,
    pub(super) d: Limbs,
    pub(super) p: Modulus,
    pub(super) q: Modulus,
    pub(super) dp: Limbs,
    pub(super) dq: Limbs,
    /// `R / q mod p`: one factor of a Montgomery product.
    pub(super) qinv: Limbs,
    /// Bits of the longer prime: what exponentiations of both work through.
    pub(super) prime_bits: usize,
    pub(super) blinding: Mutex<Option<Pair>>,
    pub(super) n_faults: AtomicU64,
}

impl PrivateKey {
    /// Checks that the parts belong together, without testing that `p` and `q` are prime.
    ///
    /// Bit lengths of all parts become public. Costs about a millisecond at 2048 bits.
    pub fn new(parts: &KeyParts<'_>) -> Result<Self, KeyError> {
        let public = PublicKey::new(parts.n, parts.e)?;
        let (p, q) = (parse(parts.p), parse(parts.q));
        let prime_bits = limbs::bit_length(&p).max(limbs::bit_length(&q));
        check_primes(&p, &q, public.modulus.limbs())?;
        let n_limbs = prime_bits.div_ceil(LIMB_BITS);
        let prepare = |prime: &[u64]| Modulus::new(prime, n_limbs).map_err(|_| KeyError::Primes);
        let (d, dp, dq, qinv) = (parse(parts.d), parse(parts.dp), parse(parts.dq), parse(parts.qinv));
        let inverts_e = |d: &[u64], prime: &[u64]| is_one_modulo(d, &public.exponent, &minus_one(prime));
        if limbs::mask_less(&d, public.modulus.limbs()) == 0 || !inverts_e(&d, &p) || !inverts_e(&d, &q) {
            return Err(KeyError::PrivateExponent);
        }
        let is_crt_exponent = |d: &[u64], prime: &[u64]| limbs::mask_less(d, prime) != 0 && inverts_e(d, prime);
        if !is_crt_exponent(&dp, &p) || !is_crt_exponent(&dq, &q) {
            return Err(KeyError::CrtExponent);
        }
        if limbs::mask_less(&qinv, &p) == 0 || !is_one_modulo(&qinv, &q, &p) {
            return Err(KeyError::CrtCoefficient);
        }
        let p = prepare(&p)?;
        Ok(Self {
            q: prepare(&q)?,
            qinv: p.to_montgomery(&limbs::resized(&qinv, n_limbs)),
            p,
            dp: limbs::resized(&dp, n_limbs),
            dq: limbs::resized(&dq, n_limbs),
            d,
            public,
            prime_bits,
            blinding: Mutex::new(None),
            n_faults: AtomicU64::new(0),
        })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Results that failed the check against the public key since the key was made; none of them was released.
    pub fn n_faults(&self) -> u64 {
        self.n_faults.load(Ordering::Relaxed)
    }

    /// The number below `n` that is `residues` modulo `p` and `q` (Garner, RFC 8017 §5.1.2 step 2b).
    pub(super) fn recombine(&self, mod_p: &[u64], mod_q: &[u64]) -> Limbs {
        let difference = self.p.subtract(mod_p, &self.p.reduce(mod_q));
        let quotient = self.p.montgomery_multiply(&difference, &self.qinv);
        let mut value = limbs::multiply(&quotient, self.q.limbs());
        // At most (p - 1) * q + q - 1 < n: no carry.
        limbs::add_assign(&mut value, mod_q);
        limbs::resized(&value, self.public.modulus.n_limbs())
    }
}

fn check_primes(p: &[u64], q: &[u64], n: &[u64]) -> Result<(), KeyError> {
    let is_candidate = |prime: &[u64]| limbs::bit_length(prime) >= 2 && prime[0] & 1 == 1;
    if !is_candidate(p) || !is_candidate(q) || limbs::equal(p, q) {
        return Err(KeyError::Primes);
    }
    if limbs::equal(&limbs::multiply(p, q), n) {
        return Ok(());
    }
    let divides = |prime: &[u64]| limbs::is_zero_public(&limbs::remainder(n, prime));
    Err(if divides(p) && divides(q) { KeyError::MultiPrime } else { KeyError::PrimesDoNotMatch })
}

fn is_one_modulo(a: &[u64], b: &[u64], m: &[u64]) -> bool {
    limbs::equal(&limbs::remainder(&limbs::multiply(a, b), m), &[1])
}

/// `prime - 1` for an odd number.
pub(super) fn minus_one(prime: &[u64]) -> Limbs {
    let mut out = limbs::resized(prime, prime.len());
    out[0] &= !1;
    out
}

/// A big-endian number without leading zero bytes; its byte length becomes public. Zero is one limb.
fn parse(bytes: &[u8]) -> Limbs {
    let n_zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    let bytes = &bytes[n_zeros..];
    limbs::from_be_bytes(bytes, bytes.len().div_ceil(8).max(1)).expect("as many limbs as bytes need")
}
