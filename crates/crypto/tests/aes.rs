//! AES on every kernel of this machine: the vectors of FIPS 197 and SP 800-38A, the `openssl` program on random keys, counters
//! and lengths, and each kernel against the portable one.

mod openssl_cli;

use crypto::aes::aesni::AesNi;
use crypto::aes::portable::Portable;
use crypto::aes::vaes512::Vaes512;
use crypto::aes::{Block, Kernel, Key, counter_mode};
use openssl_cli::openssl;
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

fn kernels() -> Vec<&'static dyn Kernel> {
    let mut kernels: Vec<&dyn Kernel> = vec![&Portable];
    kernels.extend(AesNi::detect().map(|kernel| kernel as &dyn Kernel));
    kernels.extend(Vaes512::detect().map(|kernel| kernel as &dyn Kernel));
    kernels
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("hexadecimal");
    digits.chunks(2).map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// FIPS 197 appendix C: the key is the bytes from 0 upwards.
#[test]
fn blocks_of_fips_197() {
    let block: Block = bytes("00112233445566778899aabbccddeeff").try_into().expect("a block");
    let expected = [
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ];
    for kernel in kernels() {
        for (n_bytes, expected) in expected {
            let key = Key::new(&(0..n_bytes).collect::<Vec<u8>>()).expect("a length of AES");
            let mut blocks = [block; 6];
            kernel.encrypt_blocks(key.round_keys(), &mut blocks);
            assert_eq!(blocks.map(|block| hex(&block)), [expected; 6].map(str::to_string), "{}", kernel.name());
        }
    }
}

const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const COUNTER: u128 = 0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff;

/// SP 800-38A appendix F.5, whole and cut at every length.
#[test]
fn counter_mode_of_sp_800_38a() {
    let expected = [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
             5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
             1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
             2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
        ),
    ];
    for kernel in kernels() {
        for (key, expected) in expected {
            let key = Key::new(&bytes(key)).expect("a length of AES");
            for n_bytes in 0..=64 {
                let mut data = bytes(PLAIN)[..n_bytes].to_vec();
                let next = counter_mode(kernel, key.round_keys(), COUNTER, &mut data);
                assert_eq!(hex(&data), hex(&bytes(expected)[..n_bytes]), "{}", kernel.name());
                assert_eq!(next, COUNTER + n_bytes.div_ceil(16) as u128);
            }
        }
    }
}

/// Random numbers that need no secrecy (Steele, Lea, Flood 2014: SplitMix64).
struct SplitMix(u64);

impl SplitMix {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) as u8
    }

    fn bytes(&mut self, n_bytes: usize) -> Vec<u8> {
        (0..n_bytes).map(|_| self.byte()).collect()
    }
}

#[test]
fn openssl_gives_the_same() {
    let mut random = SplitMix(1);
    for round in 0..60 {
        let key = random.bytes([16, 24, 32][round % 3]);
        let n_bytes = usize::from(random.byte()) * usize::from(random.byte()) / [1, 16][round % 2];
        let data = random.bytes(n_bytes);
        // Every third counter wraps in its low 64 bits, every ninth in all.
        let mut counter = random.bytes(16);
        if round % 3 == 0 {
            counter[if round % 9 == 0 { 0 } else { 8 }..15].fill(0xff);
        }
        let algorithm = format!("-aes-{}-ctr", key.len() * 8);
        let arguments = ["enc", &algorithm, "-K", &hex(&key), "-iv", &hex(&counter)];
        let Some(expected) = openssl(&arguments, &data) else {
            println!("no `openssl` program on this machine: nothing to compare");
            return;
        };
        let first = u128::from_be_bytes(counter.try_into().expect("a block"));
        let key = Key::new(&key).expect("a length of AES");
        for kernel in kernels() {
            let mut found = data.clone();
            counter_mode(kernel, key.round_keys(), first, &mut found);
            assert!(found == expected, "{} differs at round {round}, {n_bytes} bytes", kernel.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn kernels_agree(
        key in proptest::collection::vec(any::<u8>(), 32),
        key_bytes in proptest::sample::select(vec![16usize, 24, 32]),
        counter in any::<u128>(),
        until_wrap in 0..200u64,
        wraps in any::<bool>(),
        data in proptest::collection::vec(any::<u8>(), 0..2100),
    ) {
        let key = Key::new(&key[..key_bytes]).expect("a length of AES");
        let counter = if wraps { counter | u128::from(u64::MAX) } else { counter }.wrapping_sub(u128::from(until_wrap));
        let results: Vec<(u128, Vec<u8>)> = kernels()
            .into_iter()
            .map(|kernel| {
                let mut data = data.clone();
                (counter_mode(kernel, key.round_keys(), counter, &mut data), data)
            })
            .collect();
        for result in &results[1..] {
            prop_assert_eq!(result, &results[0]);
        }
        let (whole, _) = data.as_chunks::<16>();
        let blocks: Vec<Vec<Block>> = kernels()
            .into_iter()
            .map(|kernel| {
                let mut blocks = whole.to_vec();
                kernel.encrypt_blocks(key.round_keys(), &mut blocks);
                blocks
            })
            .collect();
        for result in &blocks[1..] {
            prop_assert_eq!(result, &blocks[0]);
        }
    }
}
