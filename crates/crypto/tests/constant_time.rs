//! Secrets show neither in branches and addresses (memcheck) nor in the time (a t-test), and both judges catch a leak.
//!
//! Memcheck sees each instruction but knows no AVX-512, so that it judges the portable kernel. The t-test (Reparaz,
//! Balasch, Verbauwhede 2017, "dude, is my code constant time?") judges both, by what a clock can see. The leak that
//! each must catch is the same exponentiation with the secret given as a public exponent.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod memcheck;

use std::hint::black_box;
use std::time::Instant;

use crypto::limbs;
use crypto::montgomery::{Exponent, Kernel, Modulus, Power, fastest_kernel, portable::Portable};
use memcheck::{mark_secret, memcheck_passes};

const N_LIMBS: usize = 8;

/// Random limbs that need no secrecy (Steele, Lea, Flood 2014: SplitMix64).
struct SplitMix(u64);

impl SplitMix {
    fn limbs(&mut self) -> Vec<u64> {
        (0..N_LIMBS).map(|_| self.limb()).collect()
    }

    fn limb(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn modulus(random: &mut SplitMix) -> Modulus {
    let mut limbs = random.limbs();
    limbs[0] |= 1;
    limbs[N_LIMBS - 1] |= 1 << 63;
    Modulus::new(&limbs, N_LIMBS).expect("odd")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    ConstantTime,
    Leaky,
}

fn exponent(limbs: &[u64], variant: Variant) -> Exponent<'_> {
    match variant {
        Variant::ConstantTime => Exponent::Secret { limbs, n_bits: limbs.len() * 64 },
        Variant::Leaky => Exponent::Public(limbs),
    }
}

#[test]
fn no_branch_and_no_address_depends_on_secrets() {
    let Some(passes) = memcheck_passes("memcheck_probe_constant_time") else {
        println!("no `valgrind` program on this machine: not judged");
        return;
    };
    assert!(passes, "memcheck finds a dependence on secrets");
    assert_eq!(memcheck_passes("memcheck_probe_leaky"), Some(false), "memcheck must find the leak");
}

#[test]
fn memcheck_probe_constant_time() {
    memcheck_probe(Variant::ConstantTime);
}

#[test]
fn memcheck_probe_leaky() {
    memcheck_probe(Variant::Leaky);
}

fn memcheck_probe(variant: Variant) {
    let mut random = SplitMix(1);
    let modulus = modulus(&mut random);
    let (base, secret, other) = (random.limbs(), random.limbs(), random.limbs());
    for limbs in [&base, &secret, &other, modulus.limbs()] {
        mark_secret(limbs);
    }
    black_box(Portable.powers(&[Power { modulus: &modulus, base: &base, exponent: exponent(&secret, variant) }]));
    black_box(modulus.subtract(&modulus.multiply(&base, &other), &modulus.reduce(&other)));
    black_box(limbs::remainder(&base, &secret[..4]));
    black_box(limbs::to_be_bytes(&limbs::multiply(&base, &other), 128));
}

/// Beyond this the means of two classes differ; the authors of the test take 4.5 as a hint and 10 as proof.
const T_PROOF: f64 = 10.0;

/// A measurement beyond the limit is repeated: a busy machine drifts, and a leak shows every time.
const N_TRIES: usize = 3;

#[test]
fn the_time_does_not_tell_secrets() {
    for kernel in [&Portable as &dyn Kernel, fastest_kernel()] {
        let ts: Vec<f64> = (0..N_TRIES).map(|_| t_of_exponents(kernel, Variant::ConstantTime)).collect();
        assert!(ts.iter().any(|t| t.abs() < T_PROOF), "{}: exponents show in the time, t = {ts:?}", kernel.name());
        let ts: Vec<f64> = (0..N_TRIES).map(|_| t_of_bases(kernel)).collect();
        assert!(ts.iter().any(|t| t.abs() < T_PROOF), "{}: bases show in the time, t = {ts:?}", kernel.name());
        let ts: Vec<f64> = (0..N_TRIES).map(|_| t_of_exponents(kernel, Variant::Leaky)).collect();
        assert!(ts.iter().all(|t| t.abs() > T_PROOF), "{}: the leak is not seen, t = {ts:?}", kernel.name());
    }
}

/// Exponents of one set bit against random ones.
fn t_of_exponents(kernel: &dyn Kernel, variant: Variant) -> f64 {
    let mut random = SplitMix(2);
    let (modulus, base) = (modulus(&mut random), random.limbs());
    let mut sparse = vec![0; N_LIMBS];
    sparse[N_LIMBS - 1] = 1 << 63;
    t_of(&mut random, &sparse, |limbs| {
        let task = Power { modulus: &modulus, base: &base, exponent: exponent(limbs, variant) };
        let batch = vec![task; kernel.n_lanes()];
        let start = Instant::now();
        black_box(kernel.powers(&batch));
        start.elapsed().as_secs_f64()
    })
}

/// The base zero, which stays zero in every product, against random ones.
fn t_of_bases(kernel: &dyn Kernel) -> f64 {
    let mut random = SplitMix(3);
    let (modulus, secret) = (modulus(&mut random), random.limbs());
    t_of(&mut random, &[0; N_LIMBS], |limbs| {
        let task = Power { modulus: &modulus, base: limbs, exponent: exponent(&secret, Variant::ConstantTime) };
        let batch = vec![task; kernel.n_lanes()];
        let start = Instant::now();
        black_box(kernel.powers(&batch));
        start.elapsed().as_secs_f64()
    })
}

/// Welch's t of the times for `fixed` against those for random limbs, in random order; times above the ninth decile
/// of all are interruptions and left out.
fn t_of(random: &mut SplitMix, fixed: &[u64], mut seconds: impl FnMut(&[u64]) -> f64) -> f64 {
    const N_MEASUREMENTS: usize = 3000;
    let measurements: Vec<(bool, f64)> = (0..N_MEASUREMENTS)
        .map(|_| {
            let (is_fixed, drawn) = (random.limb() & 1 == 0, random.limbs());
            (is_fixed, seconds(if is_fixed { fixed } else { &drawn }))
        })
        .collect();
    let mut all: Vec<f64> = measurements.iter().map(|(_, time)| *time).collect();
    all.sort_by(f64::total_cmp);
    let limit = all[N_MEASUREMENTS * 9 / 10];
    let class = |wanted: bool| {
        let times = measurements.iter().filter(|(is_fixed, time)| *is_fixed == wanted && *time < limit);
        let times: Vec<f64> = times.map(|(_, time)| *time).collect();
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (class(true), class(false));
    (mean_a - mean_b) / (error_a + error_b).sqrt()
}
