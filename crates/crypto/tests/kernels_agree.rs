//! The lanes of the IFMA kernel against the portable one, on random batches of mixed sizes and on edges.

use crypto::limbs;
use crypto::montgomery::ifma52::Ifma52x8;
use crypto::montgomery::{Exponent, Kernel, Modulus, Power, portable::Portable};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};

/// Limbs at which carries go wrong, and any others.
fn limb() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => proptest::sample::select(vec![0, 1, u64::MAX, 1 << 63, (1 << 52) - 1, 1 << 52, u64::MAX << 52]),
        3 => any::<u64>(),
    ]
}

#[derive(Debug)]
struct Task {
    modulus: Vec<u64>,
    base: Vec<u64>,
    exponent: Vec<u64>,
    is_public: bool,
}

fn task() -> impl Strategy<Value = Task> {
    let n_limbs = prop_oneof![1..10usize, proptest::sample::select(vec![15, 16, 17, 24, 31, 32, 33, 48, 64, 65])];
    let tasks = (n_limbs, 1..3usize).prop_flat_map(|(n, n_exponent)| {
        let limbs = |n| proptest::collection::vec(limb(), n);
        (limbs(n), limbs(2 * n - 1), limbs(n_exponent), any::<bool>())
    });
    tasks.prop_map(|(mut modulus, base, exponent, is_public)| {
        modulus[0] |= 3;
        Task { modulus, base, exponent, is_public }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn lanes_give_what_the_portable_kernel_gives(tasks in proptest::collection::vec(task(), 1..20)) {
        let Some(ifma) = Ifma52x8::detect() else {
            println!("no AVX-512 IFMA on this machine: nothing to compare");
            return Ok(());
        };
        let modulus = |task: &Task| Modulus::new(&task.modulus, task.modulus.len()).expect("odd");
        let moduli: Vec<_> = tasks.iter().map(modulus).collect();
        let n_bits = |task: &Task| 64 * task.exponent.len();
        let batch: Vec<_> = tasks.iter().zip(&moduli).map(|(task, modulus)| Power {
            modulus,
            // Below `modulus * R`, as a base must be: the top limb of the modulus may be zero.
            base: if task.modulus.last() == Some(&0) { &task.base[..task.modulus.len()] } else { &task.base },
            exponent: match task.is_public {
                true => Exponent::Public(&task.exponent),
                false => Exponent::Secret { limbs: &task.exponent, n_bits: n_bits(task) },
            },
        }).collect();
        let lanes = ifma.powers(&batch);
        for ((power, result), task) in Portable.powers(&batch).iter().zip(&lanes).zip(&tasks) {
            prop_assert_eq!(power, result, "{:?}", task);
            prop_assert_eq!(limbs::mask_less(result, &task.modulus), u64::MAX);
        }
    }
}
