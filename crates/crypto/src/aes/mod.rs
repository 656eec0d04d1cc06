//! AES (FIPS 197) with keys of 128, 192 and 256 bits, and counter mode (SP 800-38A §6.5).
//!
//! A [`Kernel`] encrypts many blocks at once: [`portable`] on any machine, [`aesni`] and [`vaes512`] with the instructions of
//! x86-64. None has a branch or an address that depends on a key or on data. Keys are expanded by the portable S-box.

pub mod aesni;
pub mod portable;
pub mod vaes512;

use zeroize::Zeroize;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 16;

/// A block, or a round key, its bytes in the order of FIPS 197.
pub type Block = [u8; BLOCK_BYTES];

/// Round keys of the longest key.
const ROUND_KEYS_MAX: usize = 15;

/// The key has neither 16 nor 24 nor 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLengthError;

/// An expanded key; wiped when dropped.
pub struct Key {
    round_keys: [Block; ROUND_KEYS_MAX],
    n_round_keys: usize,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.round_keys.zeroize();
    }
}

impl Key {
    /// Expands a key of 16, 24 or 32 bytes (FIPS 197 §5.2).
    pub fn new(key: &[u8]) -> Result<Key, KeyLengthError> {
        let n_round_keys = match key.len() {
            16 => 11,
            24 => 13,
            32 => 15,
            _ => return Err(KeyLengthError),
        };
        let mut expanded = Key { round_keys: [[0; BLOCK_BYTES]; ROUND_KEYS_MAX], n_round_keys };
        let words = expanded.round_keys.as_flattened_mut();
        words[..key.len()].copy_from_slice(key);
        let mut round_constant = 1u8;
        for at in (key.len()..n_round_keys * BLOCK_BYTES).step_by(4) {
            let mut word = [words[at - 4], words[at - 3], words[at - 2], words[at - 1]];
            if at % key.len() == 0 {
                word.rotate_left(1);
                portable::substitute(&mut word);
                word[0] ^= round_constant;
                round_constant = times_x(round_constant);
            } else if key.len() == 32 && at % 32 == 16 {
                portable::substitute(&mut word);
            }
            for (i, byte) in word.iter().enumerate() {
                words[at + i] = words[at + i - key.len()] ^ byte;
            }
            word.zeroize();
        }
        Ok(expanded)
    }

    /// The round keys, the first of which is added before the first round.
    pub fn round_keys(&self) -> RoundKeys<'_> {
        RoundKeys(&self.round_keys[..self.n_round_keys])
    }
}

/// Twice a number of GF(2^8); of round constants, which are public.
fn times_x(a: u8) -> u8 {
    (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1b }
}

/// The round keys of a key: 11, 13 or 15.
#[derive(Clone, Copy)]
pub struct RoundKeys<'a>(&'a [Block]);

impl<'a> RoundKeys<'a> {
    /// These round keys; `None` if there are not 11, 13 or 15.
    pub fn new(round_keys: &'a [Block]) -> Option<RoundKeys<'a>> {
        matches!(round_keys.len(), 11 | 13 | 15).then_some(RoundKeys(round_keys))
    }

    /// All of them, in order.
    pub fn as_slice(self) -> &'a [Block] {
        self.0
    }
}

/// One way to compute. All kernels give the same results.
pub trait Kernel: Sync {
    /// Its name, for reports.
    fn name(&self) -> &'static str;

    /// Encrypts each block by itself.
    fn encrypt_blocks(&self, keys: RoundKeys<'_>, blocks: &mut [Block]);

    /// XORs the encrypted counters `first`, `first + 1`, … to the data, a last block that is not whole to the first bytes of
    /// its counter's. The low 64 bits of the counter do not wrap.
    fn xor_counters(&self, keys: RoundKeys<'_>, first: u128, data: &mut [u8]);
}

/// The fastest kernel that this processor can run.
pub fn fastest_kernel() -> &'static dyn Kernel {
    if let Some(kernel) = vaes512::Vaes512::detect() {
        return kernel;
    }
    if let Some(kernel) = aesni::AesNi::detect() {
        return kernel;
    }
    &portable::Portable
}

/// Encrypts or decrypts data in counter mode: block `i` is XORed with the encryption of `counter + i`, taken as a big-endian
/// number modulo 2^128; of a last block that is not whole, its first bytes. Gives the counter behind the last block used.
pub fn counter_mode(kernel: &dyn Kernel, keys: RoundKeys<'_>, counter: u128, data: &mut [u8]) -> u128 {
    let n_blocks = data.len().div_ceil(BLOCK_BYTES) as u128;
    let until_wrap = (1 << 64) - (counter & u128::from(u64::MAX));
    if n_blocks <= until_wrap {
        kernel.xor_counters(keys, counter, data);
    } else {
        let (low, high) = data.split_at_mut(until_wrap as usize * BLOCK_BYTES);
        kernel.xor_counters(keys, counter, low);
        kernel.xor_counters(keys, counter.wrapping_add(until_wrap), high);
    }
    counter.wrapping_add(n_blocks)
}

#[cfg(test)]
mod tests {
    use super::{Key, KeyLengthError, RoundKeys};

    fn last_round_key(key: &[u8]) -> u128 {
        let key = Key::new(key).expect("16, 24 or 32 bytes");
        u128::from_be_bytes(*key.round_keys().as_slice().last().expect("at least 11"))
    }

    #[test]
    fn keys_expand_as_in_fips_197_appendix_a() {
        let key128 = 0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes();
        assert_eq!(last_round_key(&key128), 0xd014f9a8_c9ee2589_e13f0cc8_b6630ca6);
        let key192 =
            [0x8e73b0f7_da0e6452_c810f32b_809079e5_u128, 0x62f8ead2_522c6b7b_u128 << 64].map(u128::to_be_bytes);
        assert_eq!(last_round_key(&key192.as_flattened()[..24]), 0xe98ba06f_448c773c_8ecc7204_01002202);
        let key256 = [0x603deb10_15ca71be_2b73aef0_857d7781_u128, 0x1f352c07_3b6108d7_2d9810a3_0914dff4];
        assert_eq!(last_round_key(key256.map(u128::to_be_bytes).as_flattened()), 0xfe4890d1_e6188d0b_046df344_706c631e);
    }

    #[test]
    fn other_lengths_are_refused() {
        for n_bytes in [0, 15, 17, 31, 33] {
            assert_eq!(Key::new(&vec![0; n_bytes]).err(), Some(KeyLengthError));
        }
        assert!(RoundKeys::new(&[[0; 16]; 12]).is_none());
    }
}
