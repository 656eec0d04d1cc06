//! AES with the instructions of x86-64 for one block, eight blocks under way at a time.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_loadu_si128, _mm_set_epi8, _mm_set_epi64x,
    _mm_shuffle_epi8, _mm_storeu_si128, _mm_xor_si128,
};

use zeroize::Zeroizing;

use super::{BLOCK_BYTES, Block, Kernel, RoundKeys};

/// Blocks under way: enough to hide the latency of a round.
const LANES: usize = 8;

/// AES-NI; exists only where the processor has it.
#[derive(Debug)]
pub struct AesNi {
    _detected: (),
}

impl AesNi {
    /// The kernel, if the processor has the instructions.
    pub fn detect() -> Option<&'static Self> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("ssse3") {
            return Some(&Self { _detected: () });
        }
        None
    }
}

#[cfg(target_arch = "x86_64")]
impl Kernel for AesNi {
    fn name(&self) -> &'static str {
        "aesni"
    }

    fn encrypt_blocks(&self, keys: RoundKeys<'_>, blocks: &mut [Block]) {
        // SAFETY: `detect` has seen both features, and nothing else makes an `AesNi`.
        unsafe { encrypt_blocks(keys.as_slice(), blocks) }
    }

    fn xor_counters(&self, keys: RoundKeys<'_>, first: u128, data: &mut [u8]) {
        // SAFETY: as in `encrypt_blocks`.
        unsafe { xor_counters(keys.as_slice(), first, data) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Kernel for AesNi {
    fn name(&self) -> &'static str {
        "aesni"
    }

    fn encrypt_blocks(&self, _: RoundKeys<'_>, _: &mut [Block]) {
        unreachable!("`detect` gives none on this machine")
    }

    fn xor_counters(&self, _: RoundKeys<'_>, _: u128, _: &mut [u8]) {
        unreachable!("`detect` gives none on this machine")
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes,ssse3")]
fn encrypt_blocks(keys: &[Block], blocks: &mut [Block]) {
    for block in blocks {
        let mut lane = [load(block)];
        encrypt(keys, &mut lane);
        store(lane[0], block);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes,ssse3")]
fn xor_counters(keys: &[Block], first: u128, data: &mut [u8]) {
    let (chunks, rest) = data.as_chunks_mut::<{ LANES * BLOCK_BYTES }>();
    let mut counters = Counters::new(first);
    for chunk in chunks {
        let stream = counters.encrypted(keys);
        let (blocks, _) = chunk.as_chunks_mut::<BLOCK_BYTES>();
        for (block, key) in blocks.iter_mut().zip(stream) {
            store(_mm_xor_si128(load(block), key), block);
        }
    }
    if rest.is_empty() {
        return;
    }
    let mut stream = Zeroizing::new([[0; BLOCK_BYTES]; LANES]);
    for (block, key) in stream.iter_mut().zip(counters.encrypted(keys)) {
        store(key, block);
    }
    rest.iter_mut().zip(stream.as_flattened()).for_each(|(byte, key)| *byte ^= key);
}

/// The next counter, its low half in the low half of the register.
#[cfg(target_arch = "x86_64")]
struct Counters(__m128i);

#[cfg(target_arch = "x86_64")]
impl Counters {
    #[target_feature(enable = "aes,ssse3")]
    fn new(first: u128) -> Counters {
        Counters(_mm_set_epi64x((first >> 64) as i64, first as i64))
    }

    /// Encrypts the next counters.
    #[target_feature(enable = "aes,ssse3")]
    #[inline]
    fn encrypted(&mut self, keys: &[Block]) -> [__m128i; LANES] {
        let big_endian = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let mut lanes = [self.0; LANES];
        for lane in &mut lanes {
            *lane = _mm_shuffle_epi8(self.0, big_endian);
            self.0 = _mm_add_epi64(self.0, _mm_set_epi64x(0, 1));
        }
        encrypt(keys, &mut lanes);
        lanes
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes,ssse3")]
#[inline]
fn encrypt<const N: usize>(keys: &[Block], lanes: &mut [__m128i; N]) {
    let (last, inner) = keys[1..].split_last().expect("a key has at least ten rounds");
    let key = load(&keys[0]);
    lanes.iter_mut().for_each(|lane| *lane = _mm_xor_si128(*lane, key));
    for key in inner {
        let key = load(key);
        for lane in lanes.iter_mut() {
            *lane = _mm_aesenc_si128(*lane, key);
        }
    }
    let key = load(last);
    for lane in lanes.iter_mut() {
        *lane = _mm_aesenclast_si128(*lane, key);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "ssse3")]
#[inline]
fn load(block: &Block) -> __m128i {
    // SAFETY: a block has the 16 bytes that are read, at any alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "ssse3")]
#[inline]
fn store(value: __m128i, block: &mut Block) {
    // SAFETY: a block has the 16 bytes that are written, at any alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}
