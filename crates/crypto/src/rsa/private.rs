//! The private operation: blinded, by CRT, and checked before anything leaves.
//!
//! One wrong half of a CRT result gives the key away (Boneh, DeMillo, Lipton 1997), so each result is raised to the
//! public exponent and compared. A wrong one is counted and computed again without CRT, by the portable kernel.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use zeroize::Zeroizing;

use super::blinding::{self, Pair};
use super::key::{PrivateKey, minus_one};
use super::public_powers;
use crate::limbs::{self, LIMB_BITS, Limbs};
use crate::montgomery::portable::Portable;
use crate::montgomery::{Exponent, Kernel, Modulus, Power};
use crate::random::{Random, RandomError};

/// One private operation: `input^d mod n`.
#[derive(Clone, Copy)]
pub struct PrivateOperation<'a> {
    /// Whose private exponent.
    pub key: &'a PrivateKey,
    /// Big-endian, exactly `key.public().n_bytes()` bytes.
    pub input: &'a [u8],
}

/// Whether exponents, too, are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExponentBlinding {
    /// The exponentiation is constant time, and the base is blinded; that is what most libraries do.
    Off,
    /// `dp + k * (p - 1)` for a fresh 64-bit `k`: against probes that average power or radiation over many
    /// operations. Costs 64 squarings more for each prime.
    Random64,
}

/// Why an operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateError {
    /// The input has not the length of the modulus, or is not below it: the caller's to mend.
    InputRange,
    /// The source of random bytes failed.
    Random,
    /// The result was wrong twice, by two ways to compute it, or no blinding number had an inverse: the machine or
    /// the key is broken.
    Fault,
}

impl From<RandomError> for PrivateError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

/// RSADP and RSASP1 (RFC 8017 §5.1.2, §5.2.1) for each operation of the batch, in order.
///
/// Outputs are big-endian, as long as the modulus, and checked against the public key. Lanes fill with any mix of keys
/// whose primes need equally many 52-bit limbs. Timing depends on sizes and public exponents alone.
pub fn private(
    kernel: &dyn Kernel,
    batch: &[PrivateOperation<'_>],
    exponent_blinding: ExponentBlinding,
    random: &mut dyn Random,
) -> Vec<Result<Zeroizing<Vec<u8>>, PrivateError>> {
    let prepared: Vec<_> = batch.iter().map(|op| Blinded::new(kernel, op, exponent_blinding, random)).collect();
    let valid: Vec<&Blinded<'_>> = prepared.iter().filter_map(|blinded| blinded.as_ref().ok()).collect();
    let halves = kernel.powers(&valid.iter().flat_map(|blinded| blinded.halves()).collect::<Vec<_>>());
    let unblinded = valid.iter().zip(halves.chunks_exact(2)).map(|(blinded, half)| blinded.finish(&half[0], &half[1]));
    let results: Vec<Limbs> = unblinded.collect();
    let checks = public_powers(kernel, valid.iter().map(|blinded| &blinded.key.public).zip(&results));
    let mut checked = results.into_iter().zip(checks);
    let mut release = |blinded: &Blinded<'_>, random: &mut dyn Random| {
        let (result, check) = checked.next().expect("a result for each valid input");
        let result = if limbs::equal(&check, &blinded.input) { result } else { blinded.recompute(random)? };
        Ok(limbs::to_be_bytes(&result, blinded.key.public.n_bytes()))
    };
    prepared.iter().map(|blinded| release(blinded.as_ref().map_err(|error| *error)?, random)).collect()
}

/// An operation whose input is blinded.
struct Blinded<'a> {
    key: &'a PrivateKey,
    input: Limbs,
    base: Limbs,
    pair: Pair,
    /// Exponents for `p` and `q`, and the bits to work through.
    exponents: [Limbs; 2],
    n_bits: usize,
}

impl<'a> Blinded<'a> {
    fn new(
        kernel: &dyn Kernel,
        operation: &PrivateOperation<'a>,
        exponent_blinding: ExponentBlinding,
        random: &mut dyn Random,
    ) -> Result<Self, PrivateError> {
        let key = operation.key;
        let input = key.public.parse(operation.input).map_err(|_| PrivateError::InputRange)?;
        let pair = blinding::next_pair(kernel, key, random)?;
        let base = key.public.modulus.montgomery_multiply(&input, &pair.blind);
        let (exponents, n_bits) = match exponent_blinding {
            ExponentBlinding::Off => ([key.dp.clone(), key.dq.clone()], key.prime_bits),
            ExponentBlinding::Random64 => {
                let p = blinded_exponent(&key.dp, &key.p, random)?;
                let q = blinded_exponent(&key.dq, &key.q, random)?;
                // k * (p - 1) + dp <= (2^64 - 1) * (p - 1) + p - 1 < 2^64 * p.
                ([p, q], key.prime_bits + LIMB_BITS)
            }
        };
        Ok(Self { key, input, base, pair, exponents, n_bits })
    }

    fn halves(&self) -> [Power<'_>; 2] {
        let exponent = |limbs| Exponent::Secret { limbs, n_bits: self.n_bits };
        [
            Power { modulus: &self.key.p, base: &self.base, exponent: exponent(&self.exponents[0]) },
            Power { modulus: &self.key.q, base: &self.base, exponent: exponent(&self.exponents[1]) },
        ]
    }

    fn finish(&self, mod_p: &[u64], mod_q: &[u64]) -> Limbs {
        self.key.public.modulus.montgomery_multiply(&self.key.recombine(mod_p, mod_q), &self.pair.unblind)
    }

    /// The same without CRT, by the other kernel, with a pair that has nothing to do with the one before.
    fn recompute(&self, random: &mut dyn Random) -> Result<Limbs, PrivateError> {
        let (key, modulus) = (self.key, &self.key.public.modulus);
        key.n_faults.fetch_add(1, Ordering::Relaxed);
        *key.blinding.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let pair = blinding::next_pair(&Portable, key, random)?;
        let base = modulus.montgomery_multiply(&self.input, &pair.blind);
        let exponent = Exponent::Secret { limbs: &key.d, n_bits: key.public.n_bits() };
        let powers = Portable.powers(&[Power { modulus, base: &base, exponent }]);
        let result = modulus.montgomery_multiply(&powers[0], &pair.unblind);
        let check = public_powers(&Portable, std::iter::once((&key.public, &result)));
        if limbs::equal(&check[0], &self.input) { Ok(result) } else { Err(PrivateError::Fault) }
    }
}

/// `exponent + k * (prime - 1)` for a random 64-bit `k`, one limb longer than the prime.
fn blinded_exponent(exponent: &[u64], prime: &Modulus, random: &mut dyn Random) -> Result<Limbs, RandomError> {
    let factor = blinding::random_limbs(1, random)?;
    let mut sum = limbs::multiply(&factor, &minus_one(prime.limbs()));
    limbs::add_assign(&mut sum, exponent);
    Ok(sum)
}
