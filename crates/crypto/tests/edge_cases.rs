//! Powers and products modulo odd numbers on both kernels, judged by edge cases and by Python's `pow`.

mod vectors;

use crypto::limbs;
use crypto::montgomery::{Exponent, Kernel, Modulus, ModulusError, Power, fastest_kernel, portable::Portable};
use vectors::{case_number, cases, read};

fn power(kernel: &dyn Kernel, base: &[u64], exponent: &[u64], modulus: &Modulus) -> Vec<u64> {
    let base = limbs::remainder(base, modulus.limbs());
    let n_bits = limbs::bit_length(exponent);
    let exponents = [Exponent::Secret { limbs: exponent, n_bits }, Exponent::Public(exponent)];
    let results = exponents.map(|exponent| kernel.powers(&[Power { modulus, base: &base, exponent }])[0].to_vec());
    assert_eq!(results[0], results[1], "secret and public exponents give one result");
    results[0].clone()
}

#[test]
fn powers() {
    let mut judged = 0;
    for case in cases("modexp") {
        let n = case_number(&case, "n");
        let modulus = match Modulus::new(&n, n.len()) {
            Ok(modulus) => modulus,
            Err(error) => {
                let expected = match case["id"].as_str() {
                    Some("mod-even") => ModulusError::Even,
                    Some("mod-one") => ModulusError::TooSmall,
                    _ => panic!("{}: {error:?}", case["id"]),
                };
                assert_eq!(error, expected, "{}", case["id"]);
                continue;
            }
        };
        let expected = limbs::resized(&case_number(&case, "result"), n.len());
        for kernel in [&Portable as &dyn Kernel, fastest_kernel()] {
            let result = power(kernel, &case_number(&case, "m"), &case_number(&case, "e"), &modulus);
            assert_eq!(result, *expected, "{} on {}", case["id"], kernel.name());
            judged += 1;
        }
    }
    assert_eq!(judged, 40, "22 cases, two of them refused, on two kernels");
}

/// The cases give `a * b / R mod n` for another radix; `R = 2^(w * k)` is taken back by a product with `R`.
#[test]
fn products() {
    for case in cases("montmul") {
        let n = case_number(&case, "n");
        // A limb above the modulus makes room for the operands, which may be up to twice the modulus.
        let modulus = Modulus::new(&n, n.len() + 1).expect("odd");
        let reduced = |name| modulus.reduce(&case_number(&case, name));
        let r_bits = case["w"].as_u64().expect("w") * case["k"].as_u64().expect("k");
        let mut r = vec![0; r_bits as usize / 64 + 1];
        r[r_bits as usize / 64] = 1 << (r_bits % 64);
        let left = modulus.multiply(&reduced("result_mod_n"), &limbs::remainder(&r, modulus.limbs()));
        let right = modulus.multiply(&reduced("a"), &reduced("b"));
        assert_eq!(left, right, "{}", case["id"]);
    }
}

#[test]
fn random_powers_are_those_of_python() {
    let file = read("powers.json");
    for case in file["cases"].as_array().expect("cases") {
        let n = case_number(case, "n");
        let modulus = Modulus::new(&n, n.len()).expect("odd");
        let expected = limbs::resized(&case_number(case, "result"), n.len());
        for kernel in [&Portable as &dyn Kernel, fastest_kernel()] {
            let result = power(kernel, &case_number(case, "m"), &case_number(case, "e"), &modulus);
            assert_eq!(result, *expected, "{case} on {}", kernel.name());
        }
    }
}
