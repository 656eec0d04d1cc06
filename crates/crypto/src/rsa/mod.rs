//! RSA: the private operation by CRT, blinded and checked, and the public operation (RFC 8017 §5).
//!
//! Both take whole batches, so that a kernel with lanes can fill them: the two primes of four private operations
//! make a full batch of eight. Padding is the caller's business.

mod blinding;
mod key;
mod private;

pub use key::{KeyError, KeyParts, MODULUS_BITS_MIN, PrivateKey, PublicKey};
pub use private::{ExponentBlinding, PrivateError, PrivateOperation, private};
use zeroize::Zeroizing;

use crate::limbs::{self, Limbs};
use crate::montgomery::{Exponent, Kernel, Power};

/// One public operation: `input^e mod n`.
#[derive(Clone, Copy)]
pub struct PublicOperation<'a> {
    /// Whose modulus and exponent.
    pub key: &'a PublicKey,
    /// Big-endian, exactly `key.n_bytes()` bytes.
    pub input: &'a [u8],
}

/// The input has not the length of the modulus, or is not below it (RFC 8017 §5.1, "representative out of range").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputRange;

/// RSAEP and RSAVP1 (RFC 8017 §5.1.1, §5.2.2) for each operation of the batch, in order.
///
/// Outputs are big-endian, as long as the modulus. The exponent shows in the timing, the input does not.
pub fn public(kernel: &dyn Kernel, batch: &[PublicOperation<'_>]) -> Vec<Result<Zeroizing<Vec<u8>>, InputRange>> {
    let inputs: Vec<_> = batch.iter().map(|operation| operation.key.parse(operation.input)).collect();
    let valid = batch.iter().zip(&inputs).filter_map(|(operation, input)| Some((operation.key, input.as_ref().ok()?)));
    let mut powers = public_powers(kernel, valid).into_iter();
    let mut next = |key: &PublicKey| limbs::to_be_bytes(&powers.next().expect("a power for each input"), key.n_bytes());
    batch
        .iter()
        .zip(&inputs)
        .map(|(operation, input)| input.as_ref().map(|_| next(operation.key)).map_err(|e| *e))
        .collect()
}

fn public_powers<'a>(kernel: &dyn Kernel, values: impl Iterator<Item = (&'a PublicKey, &'a Limbs)>) -> Vec<Limbs> {
    let power = |(key, base): (&'a PublicKey, &'a Limbs)| Power {
        modulus: &key.modulus,
        base,
        exponent: Exponent::Public(&key.exponent),
    };
    kernel.powers(&values.map(power).collect::<Vec<_>>())
}
