//! AES with AVX-512 VAES: four blocks in a register, eight registers under way at a time.
//!
//! The last bytes are read and written under masks, so that a packet of any length is one pass without a buffer.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512i, _mm_loadu_si128, _mm_set_epi8, _mm512_add_epi64, _mm512_aesenc_epi128, _mm512_aesenclast_epi128,
    _mm512_broadcast_i32x4, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_set_epi64, _mm512_shuffle_epi8,
    _mm512_xor_si512,
};

use super::{BLOCK_BYTES, Block, Kernel, RoundKeys};

/// Registers under way.
const LANES: usize = 8;
/// Blocks and bytes of a register.
const REGISTER_BLOCKS: usize = 4;
const REGISTER_BYTES: usize = REGISTER_BLOCKS * BLOCK_BYTES;

/// VAES in AVX-512 registers; exists only where the processor has both.
#[derive(Debug)]
pub struct Vaes512 {
    _detected: (),
}

impl Vaes512 {
    /// The kernel, if the processor has the instructions and the operating system saves their registers.
    pub fn detect() -> Option<&'static Self> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("vaes")
        {
            return Some(&Self { _detected: () });
        }
        None
    }
}

#[cfg(target_arch = "x86_64")]
impl Kernel for Vaes512 {
    fn name(&self) -> &'static str {
        "vaes512"
    }

    fn encrypt_blocks(&self, keys: RoundKeys<'_>, blocks: &mut [Block]) {
        // SAFETY: `detect` has seen the features, and nothing else makes a `Vaes512`.
        unsafe { encrypt_blocks(keys.as_slice(), blocks) }
    }

    fn xor_counters(&self, keys: RoundKeys<'_>, first: u128, data: &mut [u8]) {
        // SAFETY: as in `encrypt_blocks`.
        unsafe { xor_counters(keys.as_slice(), first, data) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Kernel for Vaes512 {
    fn name(&self) -> &'static str {
        "vaes512"
    }

    fn encrypt_blocks(&self, _: RoundKeys<'_>, _: &mut [Block]) {
        unreachable!("`detect` gives none on this machine")
    }

    fn xor_counters(&self, _: RoundKeys<'_>, _: u128, _: &mut [u8]) {
        unreachable!("`detect` gives none on this machine")
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn encrypt_blocks(keys: &[Block], blocks: &mut [Block]) {
    for chunk in blocks.as_flattened_mut().chunks_mut(REGISTER_BYTES) {
        let mut lane = [load(chunk)];
        encrypt(keys, &mut lane);
        store(lane[0], chunk);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn xor_counters(keys: &[Block], first: u128, data: &mut [u8]) {
    let mut counters = Counters::new(first);
    let mut chunks = data.chunks_exact_mut(LANES * REGISTER_BYTES);
    for chunk in &mut chunks {
        xor_next::<LANES>(keys, &mut counters, chunk);
    }
    let rest = chunks.into_remainder();
    match rest.len().div_ceil(REGISTER_BYTES) {
        0 => {}
        1 => xor_next::<1>(keys, &mut counters, rest),
        2 => xor_next::<2>(keys, &mut counters, rest),
        3 | 4 => xor_next::<4>(keys, &mut counters, rest),
        _ => xor_next::<LANES>(keys, &mut counters, rest),
    }
}

/// XORs the next encrypted counters to at most `N` registers of data; what is left over of them is lost.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
#[inline]
fn xor_next<const N: usize>(keys: &[Block], counters: &mut Counters, data: &mut [u8]) {
    let mut lanes = counters.next::<N>();
    encrypt(keys, &mut lanes);
    for (lane, place) in lanes.into_iter().zip(data.chunks_mut(REGISTER_BYTES)) {
        store(_mm512_xor_si512(load(place), lane), place);
    }
}

/// The next four counters, the low half of each in the low half of its quarter.
#[cfg(target_arch = "x86_64")]
struct Counters(__m512i);

#[cfg(target_arch = "x86_64")]
impl Counters {
    #[target_feature(enable = "avx512f")]
    fn new(first: u128) -> Counters {
        let high = (first >> 64) as i64;
        let low = |i| (first as i64).wrapping_add(i);
        Counters(_mm512_set_epi64(high, low(3), high, low(2), high, low(1), high, low(0)))
    }

    /// The next counters as blocks.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn next<const N: usize>(&mut self) -> [__m512i; N] {
        const STEP: i64 = REGISTER_BLOCKS as i64;
        let big_endian = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        let step = _mm512_set_epi64(0, STEP, 0, STEP, 0, STEP, 0, STEP);
        let mut blocks = [self.0; N];
        for block in &mut blocks {
            *block = _mm512_shuffle_epi8(self.0, big_endian);
            self.0 = _mm512_add_epi64(self.0, step);
        }
        blocks
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
#[inline]
fn encrypt<const N: usize>(keys: &[Block], lanes: &mut [__m512i; N]) {
    let (last, inner) = keys[1..].split_last().expect("a key has at least ten rounds");
    let key = broadcast(&keys[0]);
    lanes.iter_mut().for_each(|lane| *lane = _mm512_xor_si512(*lane, key));
    for key in inner {
        let key = broadcast(key);
        for lane in lanes.iter_mut() {
            *lane = _mm512_aesenc_epi128(*lane, key);
        }
    }
    let key = broadcast(last);
    for lane in lanes.iter_mut() {
        *lane = _mm512_aesenclast_epi128(*lane, key);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn broadcast(block: &Block) -> __m512i {
    // SAFETY: a block has the 16 bytes that are read, at any alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(block.as_ptr().cast()) })
}

/// Mask of the first bytes of a register: all of a place, which has at most 64.
#[cfg(target_arch = "x86_64")]
fn mask(place: &[u8]) -> u64 {
    assert!(!place.is_empty() && place.len() <= REGISTER_BYTES, "chunks have between one byte and a register of them");
    u64::MAX >> (REGISTER_BYTES - place.len())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn load(place: &[u8]) -> __m512i {
    // SAFETY: the mask has the place's bytes alone; others are not read.
    unsafe { _mm512_maskz_loadu_epi8(mask(place), place.as_ptr().cast()) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn store(value: __m512i, place: &mut [u8]) {
    // SAFETY: the mask has the place's bytes alone; others are not written.
    unsafe { _mm512_mask_storeu_epi8(place.as_mut_ptr().cast(), mask(place), value) }
}
