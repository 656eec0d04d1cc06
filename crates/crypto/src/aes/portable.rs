//! AES on any machine: four blocks at a time, bit by bit.
//!
//! Byte `i` of the 64 has bit `i` in each of eight planes, plane `k` holding bit `k` of every byte, so that a Boolean circuit on
//! 64-bit words substitutes all bytes at once, without the tables whose cache lines tell of keys.
//!
//! The S-box inverts in a tower of fields: GF(4) = GF(2)[w]/(w^2+w+1), GF(16) = GF(4)[z]/(z^2+z+w), GF(256) = GF(16)[y]/(y^2+y+wz).
//! In the field of FIPS 197, `w` is 0xbd, `z` 0xe0 and `y` 0x42: of all towers of this kind the one with the cheapest change of basis.

use zeroize::{Zeroize, Zeroizing};

use super::{BLOCK_BYTES, Block, Kernel, RoundKeys};

/// Bit `k` of 64 bytes in word `k`.
type Planes = [u64; 8];

/// Blocks in the planes.
const LANES: usize = 4;

/// Bitsliced in 64-bit words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Portable;

impl Kernel for Portable {
    fn name(&self) -> &'static str {
        "portable"
    }

    fn encrypt_blocks(&self, keys: RoundKeys<'_>, blocks: &mut [Block]) {
        let keys = key_planes(keys);
        for chunk in blocks.chunks_mut(LANES) {
            let mut lanes = [[0; BLOCK_BYTES]; LANES];
            lanes[..chunk.len()].copy_from_slice(chunk);
            encrypt(&keys, &mut lanes);
            chunk.copy_from_slice(&lanes[..chunk.len()]);
        }
    }

    fn xor_counters(&self, keys: RoundKeys<'_>, first: u128, data: &mut [u8]) {
        let keys = key_planes(keys);
        let mut lanes = Zeroizing::new([[0; BLOCK_BYTES]; LANES]);
        let mut counter = first;
        for chunk in data.chunks_mut(LANES * BLOCK_BYTES) {
            for lane in lanes.iter_mut() {
                *lane = counter.to_be_bytes();
                counter = counter.wrapping_add(1);
            }
            encrypt(&keys, &mut lanes);
            chunk.iter_mut().zip(lanes.as_flattened()).for_each(|(byte, key)| *byte ^= key);
        }
    }
}

/// SubWord of the key expansion (FIPS 197 §5.2).
pub(super) fn substitute(word: &mut [u8; 4]) {
    let mut planes = [0; 8];
    for (k, plane) in planes.iter_mut().enumerate() {
        *plane = (0..4).fold(0, |bits, i| bits | u64::from(word[i] >> k & 1) << i);
    }
    substitute_planes(&mut planes);
    for (i, byte) in word.iter_mut().enumerate() {
        *byte = planes.iter().enumerate().fold(0, |byte, (k, plane)| byte | ((plane >> i & 1) as u8) << k);
    }
    planes.zeroize();
}

/// Each round key in the planes of all lanes.
fn key_planes(keys: RoundKeys<'_>) -> Zeroizing<Vec<Planes>> {
    Zeroizing::new(keys.as_slice().iter().map(|key| planes(&[*key; LANES])).collect())
}

/// The cipher (FIPS 197 §5.1).
fn encrypt(keys: &[Planes], blocks: &mut [Block; LANES]) {
    let mut state = planes(blocks);
    let (last, inner) = keys[1..].split_last().expect("a key has at least ten rounds");
    add(&mut state, &keys[0]);
    for key in inner {
        substitute_planes(&mut state);
        state = state.map(shift_rows);
        mix_columns(&mut state);
        add(&mut state, key);
    }
    substitute_planes(&mut state);
    state = state.map(shift_rows);
    add(&mut state, last);
    *blocks = bytes(&state);
}

fn add(state: &mut Planes, key: &Planes) {
    state.iter_mut().zip(key).for_each(|(plane, key)| *plane ^= key);
}

/// Row `r` is bytes `r`, `r + 4`, `r + 8` and `r + 12` of a block and turns left by `r` columns.
fn shift_rows(x: u64) -> u64 {
    const ROW: u64 = 0x1111_1111_1111_1111;
    let low = |n_columns: u32| 0x0001_0001_0001_0001 * ((1 << (4 * n_columns)) - 1);
    let turned = |row: u32| {
        let columns = x & ROW << row;
        (columns >> (4 * row) & low(4 - row)) | (columns << (4 * (4 - row)) & !low(4 - row))
    };
    (x & ROW) | turned(1) | turned(2) | turned(3)
}

/// Each column times `3x^3 + x^2 + x + 2` (FIPS 197 §5.1.3).
fn mix_columns(state: &mut Planes) {
    // The byte one row and two rows below, in the same column.
    let below = |x: u64| (x >> 1 & 0x7777_7777_7777_7777) | (x << 3 & 0x8888_8888_8888_8888);
    let below2 = |x: u64| (x >> 2 & 0x3333_3333_3333_3333) | (x << 2 & 0xcccc_cccc_cccc_cccc);
    let sums = state.map(|x| x ^ below(x));
    let high = sums[7];
    let doubled = [high, sums[0] ^ high, sums[1], sums[2] ^ high, sums[3] ^ high, sums[4], sums[5], sums[6]];
    for (k, plane) in state.iter_mut().enumerate() {
        *plane = doubled[k] ^ below(*plane) ^ below2(sums[k]);
    }
}

/// SubBytes (FIPS 197 §5.1.1) on all bytes.
fn substitute_planes(planes: &mut Planes) {
    *planes = from_tower(inverse256(to_tower(*planes)));
}

/// Coordinates in the basis 1, w, z, wz, y, yw, yz, ywz.
fn to_tower(x: Planes) -> Planes {
    let t0 = x[1] ^ x[6];
    let t1 = x[7] ^ t0;
    let t2 = x[5] ^ t0;
    let t3 = x[5] ^ x[7];
    let t4 = x[4] ^ t2;
    let t5 = x[3] ^ t4;
    [x[0] ^ x[2], t1, x[2] ^ x[5], x[3] ^ t1, x[1] ^ t3, t4, x[2] ^ t5, t3]
}

/// Back to the bits of a byte, and the affine map of the S-box.
fn from_tower(b: Planes) -> Planes {
    let t0 = b[4] ^ b[5];
    let t1 = b[2] ^ t0;
    let t2 = b[4] ^ b[6];
    let t3 = b[0] ^ t1;
    let t4 = b[0] ^ b[1];
    let t5 = b[3] ^ t0;
    [!t3, !(b[2] ^ t4), t4, b[6] ^ t3, b[0] ^ t5, !(b[3] ^ t1), !(b[7] ^ t2), b[2] ^ t2]
}

/// `a0 + a1 w` of GF(4).
type Gf4 = [u64; 2];
/// `a0 + a1 z` of GF(16), four coordinates.
type Gf16 = [u64; 4];

/// The inverse; of 0, 0. With `d = a0 (a0 + a1) + wz a1^2`, it is `(a0 + a1) / d + (a1 / d) y`.
fn inverse256([a0, a1, a2, a3, b0, b1, b2, b3]: Planes) -> Planes {
    let (low, high) = ([a0, a1, a2, a3], [b0, b1, b2, b3]);
    let sum = add16(low, high);
    // wz times the square of `high`.
    let scaled = [b2, b2 ^ b3, b1 ^ b2 ^ b3, b0 ^ b3];
    let divisor = inverse16(add16(multiply16(low, sum), scaled));
    let ([c0, c1, c2, c3], [d0, d1, d2, d3]) = (multiply16(sum, divisor), multiply16(high, divisor));
    [c0, c1, c2, c3, d0, d1, d2, d3]
}

/// As in [`inverse256`], with `d = a0 (a0 + a1) + w a1^2`.
fn inverse16([a0, a1, b0, b1]: Gf16) -> Gf16 {
    let (low, high) = ([a0, a1], [b0, b1]);
    let sum = add4(low, high);
    let [d0, d1] = add4(multiply4(low, sum), [b1, b0]);
    // In GF(4) the square is the inverse.
    let divisor = [d0 ^ d1, d1];
    let ([c0, c1], [e0, e1]) = (multiply4(sum, divisor), multiply4(high, divisor));
    [c0, c1, e0, e1]
}

fn add16(a: Gf16, b: Gf16) -> Gf16 {
    [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]]
}

fn add4(a: Gf4, b: Gf4) -> Gf4 {
    [a[0] ^ b[0], a[1] ^ b[1]]
}

fn multiply16([a0, a1, a2, a3]: Gf16, [b0, b1, b2, b3]: Gf16) -> Gf16 {
    let low = multiply4([a0, a1], [b0, b1]);
    let high = multiply4([a2, a3], [b2, b3]);
    let middle = multiply4([a0 ^ a2, a1 ^ a3], [b0 ^ b2, b1 ^ b3]);
    let times_w = [high[1], high[0] ^ high[1]];
    let ([c0, c1], [c2, c3]) = (add4(low, times_w), add4(low, middle));
    [c0, c1, c2, c3]
}

fn multiply4(a: Gf4, b: Gf4) -> Gf4 {
    let low = a[0] & b[0];
    [low ^ (a[1] & b[1]), low ^ ((a[0] ^ a[1]) & (b[0] ^ b[1]))]
}

/// The planes of four blocks.
fn planes(blocks: &[Block; LANES]) -> Planes {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(blocks.as_flattened().chunks_exact(8)) {
        let bytes: [u8; 8] = bytes.try_into().expect("chunks of eight");
        *word = transpose(u64::from_le_bytes(bytes));
    }
    exchange_bytes(&words)
}

/// The four blocks of planes.
fn bytes(planes: &Planes) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK_BYTES]; LANES];
    for (word, bytes) in exchange_bytes(planes).iter().zip(blocks.as_flattened_mut().chunks_exact_mut(8)) {
        bytes.copy_from_slice(&transpose(*word).to_le_bytes());
    }
    blocks
}

/// Byte `i` of word `k` becomes byte `k` of word `i`.
fn exchange_bytes(words: &[u64; 8]) -> [u64; 8] {
    std::array::from_fn(|k| {
        words.iter().enumerate().fold(0, |out, (i, word)| out | (word >> (8 * k) & 0xff) << (8 * i))
    })
}

/// Bit `i` of byte `k` becomes bit `k` of byte `i`: the 8 by 8 bits transposed, by halves, quarters and eighths.
fn transpose(x: u64) -> u64 {
    let exchange = |x: u64, distance: u32, mask: u64| {
        let differing = (x ^ x >> distance) & mask;
        x ^ differing ^ differing << distance
    };
    let x = exchange(x, 7, 0x00aa_00aa_00aa_00aa);
    let x = exchange(x, 14, 0x0000_cccc_0000_cccc);
    exchange(x, 28, 0x0000_0000_f0f0_f0f0)
}

#[cfg(test)]
mod tests {
    use super::{Portable, substitute};
    use crate::aes::{Kernel, RoundKeys};

    /// Product in the field of FIPS 197 §4.2.
    fn product(a: u8, b: u8) -> u8 {
        (0..8).fold((0, a), |(sum, a), i| (if b >> i & 1 == 1 { sum ^ a } else { sum }, crate::aes::times_x(a))).0
    }

    /// The definition of FIPS 197 §5.1.1: inverse, then the affine map.
    fn substituted(a: u8) -> u8 {
        let inverse = (1..=255).find(|&b| product(a, b) == 1).unwrap_or(0);
        (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i))
    }

    #[test]
    fn the_circuit_is_the_s_box_of_its_definition() {
        assert_eq!(substituted(0x53), 0xed, "FIPS 197 §5.1.1");
        for a in 0..=255u8 {
            let mut word = [a, !a, 0, a];
            substitute(&mut word);
            assert_eq!(word, [substituted(a), substituted(!a), 0x63, substituted(a)]);
        }
    }

    #[test]
    fn lanes_do_not_touch() {
        let keys = [[7; 16]; 11];
        let keys = RoundKeys::new(&keys).expect("eleven");
        let blocks: Vec<[u8; 16]> = (0..9u8).map(|i| std::array::from_fn(|j| i * 16 + j as u8)).collect();
        let mut together = blocks.clone();
        Portable.encrypt_blocks(keys, &mut together);
        for (block, expected) in blocks.iter().zip(together) {
            let mut alone = [*block];
            Portable.encrypt_blocks(keys, &mut alone);
            assert_eq!(alone, [expected]);
        }
    }
}
