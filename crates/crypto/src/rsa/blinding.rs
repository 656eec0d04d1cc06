//! Base blinding: the private exponentiation sees `m * r^e`, never a number that somebody chose.
//!
//! A pair `(X, Y) = (r^e, r^-1)` turns `m` into `m * X`, and `(m * X)^d * Y = m^d` (Kocher 1996, §10). Squaring both
//! halves gives the next pair for little; after [`USES_MAX`] uses a fresh `r` is drawn.

use std::sync::PoisonError;

use super::key::{PrivateKey, minus_one};
use super::private::PrivateError;
use crate::limbs::{self, Limbs};
use crate::montgomery::{Exponent, Kernel, Modulus, Power};
use crate::random::{Random, RandomError};

/// Operations that one `r` and its squares serve. A fresh pair costs a private and a public operation
/// that share no batch.
const USES_MAX: u32 = 256;

/// Draws without success that leave no doubt: the powers are wrong, not the numbers unlucky.
const DRAWS_MAX: usize = 4;

/// `r^e` and `r^-1` modulo `n`, both times `R`, so that a product with them is one Montgomery product.
pub(super) struct Pair {
    pub(super) blind: Limbs,
    pub(super) unblind: Limbs,
    n_uses: u32,
}

/// A pair that no other operation of this key was given.
pub(super) fn next_pair(kernel: &dyn Kernel, key: &PrivateKey, random: &mut dyn Random) -> Result<Pair, PrivateError> {
    // A thread that panicked in here left either no pair or a whole one.
    let mut state = key.blinding.lock().unwrap_or_else(PoisonError::into_inner);
    let pair = match state.take() {
        Some(pair) if pair.n_uses < USES_MAX => pair,
        Some(_) | None => fresh_pair(kernel, key, random)?,
    };
    *state = Some(pair.squared(&key.public.modulus));
    Ok(pair)
}

impl Pair {
    fn new(blind: &[u64], unblind: &[u64], modulus: &Modulus) -> Self {
        Self { blind: modulus.to_montgomery(blind), unblind: modulus.to_montgomery(unblind), n_uses: 0 }
    }

    fn squared(&self, modulus: &Modulus) -> Self {
        let square = |a: &[u64]| modulus.montgomery_multiply(a, a);
        Self { blind: square(&self.blind), unblind: square(&self.unblind), n_uses: self.n_uses + 1 }
    }
}

/// Draws `r`; its inverse comes by Fermat modulo each prime, since Euclid's steps would show `r` in the timing.
fn fresh_pair(kernel: &dyn Kernel, key: &PrivateKey, random: &mut dyn Random) -> Result<Pair, PrivateError> {
    let modulus = &key.public.modulus;
    for _ in 0..DRAWS_MAX {
        let r = random_below(key, random)?;
        let minus_two = |prime: &[u64]| {
            let mut exponent = minus_one(prime);
            limbs::subtract_masked(&mut exponent, &[1], u64::MAX);
            exponent
        };
        let (p_exponent, q_exponent) = (minus_two(key.p.limbs()), minus_two(key.q.limbs()));
        let secret = |limbs| Exponent::Secret { limbs, n_bits: key.prime_bits };
        let powers = kernel.powers(&[
            Power { modulus: &key.p, base: &r, exponent: secret(&p_exponent) },
            Power { modulus: &key.q, base: &r, exponent: secret(&q_exponent) },
            Power { modulus, base: &r, exponent: Exponent::Public(&key.public.exponent) },
        ]);
        let unblind = key.recombine(&powers[0], &powers[1]);
        // Fails if `r` shares a factor with `n`, which no key of real size will see; a new `r` then.
        if limbs::equal(&modulus.multiply(&r, &unblind), &[1]) {
            return Ok(Pair::new(&powers[2], &unblind, modulus));
        }
    }
    Err(PrivateError::Fault)
}

/// A number below `n`; 64 bits more than `n` has are drawn, so that its bias stays below 2^-64.
fn random_below(key: &PrivateKey, random: &mut dyn Random) -> Result<Limbs, RandomError> {
    let modulus = &key.public.modulus;
    let wide = random_limbs(modulus.n_limbs() + 1, random)?;
    Ok(modulus.reduce(&wide))
}

/// `n_limbs` limbs of random bits.
pub(super) fn random_limbs(n_limbs: usize, random: &mut dyn Random) -> Result<Limbs, RandomError> {
    let mut bytes = zeroize::Zeroizing::new(vec![0; n_limbs * 8]);
    random.fill(&mut bytes)?;
    Ok(limbs::from_be_bytes(&bytes, n_limbs).expect("eight bytes a limb"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Pair;
    use crate::limbs::{self, Limbs};
    use crate::montgomery::Modulus;

    const CASES: &str = include_str!("../../../../tests/data/vectors/modexp_edge_cases.json");

    fn number(case: &Value, field: &str) -> Limbs {
        let hex = format!("{:0>512}", case[field].as_str().expect("hexadecimal"));
        let byte = |idx: usize| u8::from_str_radix(&hex[2 * idx..2 * idx + 2], 16).expect("hexadecimal");
        limbs::from_be_bytes(&(0..256).map(byte).collect::<Vec<_>>(), 32).expect("2048 bits")
    }

    #[test]
    fn the_next_pair_is_both_squares() {
        let file: Value = serde_json::from_str(CASES).expect("JSON");
        let cases = file["cases"].as_array().expect("cases").iter().filter(|case| case["kind"] == "blinding");
        for case in cases.clone() {
            let modulus = Modulus::new(&number(case, "n"), 32).expect("odd");
            let next = Pair::new(&number(case, "X"), &number(case, "Y"), &modulus).squared(&modulus);
            let plain = |a: &[u64]| modulus.montgomery_multiply(a, &limbs::resized(&[1], 32));
            let expected = (number(case, "X_next"), number(case, "Y_next"), 1);
            assert_eq!((plain(&next.blind), plain(&next.unblind), next.n_uses), expected, "{}", case["id"]);
        }
        assert_eq!(cases.count(), 2);
    }
}
