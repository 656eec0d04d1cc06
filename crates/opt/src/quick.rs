//! A hash map for the small keys of passes.
//!
//! Keys are ids and op codes that this program made, so nobody chooses them to collide, and the standard hasher's defence is not
//! worth its time. The order of a map never reaches the output.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// See above.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// Multiply and rotate, word by word, as in Firefox's `FxHasher`.
#[derive(Default)]
pub struct QuickHasher(u64);

/// An odd number with its bits well mixed: 2^64 over the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl QuickHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        // The map takes its bucket from the low bits, which a product mixes least.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.add(u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.add(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }
}
