//! RSA on both kernels: the published edge cases, bad keys, faults.

mod vectors;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crypto::limbs::{self, Limbs};
use crypto::montgomery::{Exponent, Kernel, Modulus, Power, fastest_kernel, portable::Portable};
use crypto::random::{OsRandom, Random, RandomError};
use crypto::rsa::{
    ExponentBlinding, InputRange, KeyError, KeyParts, PrivateError, PrivateKey, PrivateOperation, PublicKey,
    PublicOperation, private, public,
};
use serde_json::Value;
use vectors::{case_number, cases};

/// The parts of a key, big-endian, by the names of the vectors.
#[derive(Clone)]
struct Parts {
    n: Vec<u8>,
    e: Vec<u8>,
    d: Vec<u8>,
    p: Vec<u8>,
    q: Vec<u8>,
    dp: Vec<u8>,
    dq: Vec<u8>,
    qinv: Vec<u8>,
}

fn bytes(number: &[u64]) -> Vec<u8> {
    limbs::to_be_bytes(number, number.len() * 8).to_vec()
}

impl Parts {
    /// Fields that a case leaves out are derived: `d mod (p - 1)` and `q^(p - 2) mod p`.
    fn new(case: &Value) -> Self {
        let [n, e, d, p, q] = ["n", "e", "d", "p", "q"].map(|field| case_number(case, field));
        let minus = |number: &[u64], less: u64| {
            let mut out = number.to_vec();
            out[0] -= less;
            out
        };
        let crt = |prime: &[u64]| limbs::remainder(&d, &minus(prime, 1)).to_vec();
        let given = |field: &str, otherwise: Vec<u64>| match case[field].is_string() {
            true => case_number(case, field),
            false => otherwise,
        };
        let (dp, dq) = (given("dp", crt(&p)), given("dq", crt(&q)));
        let modulus = Modulus::new(&p, p.len()).expect("odd");
        let exponent = minus(&p, 2);
        let power = Power { modulus: &modulus, base: &q, exponent: Exponent::Public(&exponent) };
        let qinv = given("qinv", Portable.powers(&[power])[0].to_vec());
        let [n, e, d, p, q, dp, dq, qinv] = [n, e, d, p, q, dp, dq, qinv].map(|number| bytes(&number));
        Self { n, e, d, p, q, dp, dq, qinv }
    }

    fn key(&self) -> Result<PrivateKey, KeyError> {
        let Self { n, e, d, p, q, dp, dq, qinv } = self;
        PrivateKey::new(&KeyParts { n, e, d, p, q, dp, dq, qinv })
    }
}

fn ordinary() -> Parts {
    Parts::new(&cases("rsa_crt")[0])
}

fn field_bytes(case: &Value, field: &str, key: &PublicKey) -> Vec<u8> {
    limbs::to_be_bytes(&case_number(case, field), key.n_bytes()).to_vec()
}

fn one(
    kernel: &dyn Kernel,
    key: &PrivateKey,
    input: &[u8],
    blinding: ExponentBlinding,
) -> Result<Vec<u8>, PrivateError> {
    let mut results = private(kernel, &[PrivateOperation { key, input }], blinding, &mut OsRandom);
    results.remove(0).map(|bytes| bytes.to_vec())
}

#[test]
fn private_operations() {
    let all = [cases("rsa_crt"), cases("blinding")].concat();
    assert_eq!(all.len(), 11);
    for case in all {
        let key = Parts::new(&case).key().expect("a key");
        let (input, expected) = (field_bytes(&case, "m", key.public()), field_bytes(&case, "result", key.public()));
        for kernel in [&Portable as &dyn Kernel, fastest_kernel()] {
            for blinding in [ExponentBlinding::Off, ExponentBlinding::Random64] {
                let result = one(kernel, &key, &input, blinding);
                assert_eq!(result.as_ref(), Ok(&expected), "{} on {}, {blinding:?}", case["id"], kernel.name());
            }
            let back = public(kernel, &[PublicOperation { key: key.public(), input: &expected }]);
            assert_eq!(back[0].as_deref(), Ok(&input), "{} back", case["id"]);
        }
        assert_eq!(key.n_faults(), 0);
    }
}

/// `p < q` is what earlier accelerators signed wrongly.
#[test]
fn the_smaller_prime_may_come_first() {
    let parts = ordinary();
    let key = parts.key().expect("a key");
    let mut swapped = parts.clone();
    (swapped.p, swapped.q) = (parts.q.clone(), parts.p.clone());
    (swapped.dp, swapped.dq) = (parts.dq.clone(), parts.dp.clone());
    let as_limbs = |bytes: &[u8]| limbs::from_be_bytes(bytes, 16).expect("1024 bits");
    let modulus = Modulus::new(&as_limbs(&swapped.p), 16).expect("odd");
    let base = modulus.reduce(&as_limbs(&swapped.q));
    let mut exponent = as_limbs(&swapped.p).to_vec();
    exponent[0] -= 2;
    let power = Power { modulus: &modulus, base: &base, exponent: Exponent::Public(&exponent) };
    swapped.qinv = bytes(&Portable.powers(&[power])[0]);
    let swapped = swapped.key().expect("a key");
    let input = field_bytes(&cases("rsa_crt")[0], "m", key.public());
    for kernel in [&Portable as &dyn Kernel, fastest_kernel()] {
        let result = one(kernel, &swapped, &input, ExponentBlinding::Off);
        assert_eq!(result, one(kernel, &key, &input, ExponentBlinding::Off));
        assert!(result.is_ok());
    }
}

#[test]
fn inputs_out_of_range_are_refused_and_their_neighbours_served() {
    let case = cases("error").remove(0);
    let key = Parts::new(&case).key().expect("a key");
    let too_large = field_bytes(&case, "m", key.public());
    let n = field_bytes(&case, "n", key.public());
    let mut good = vec![0; key.public().n_bytes()];
    good[255] = 1;
    let inputs = [&too_large[..], &good, &n, &good[1..], &[]];
    let batch = inputs.map(|input| PrivateOperation { key: &key, input });
    let results = private(fastest_kernel(), &batch, ExponentBlinding::Off, &mut OsRandom);
    let results: Vec<_> = results.into_iter().map(|result| result.map(|bytes| bytes.to_vec())).collect();
    let refused = || Err(PrivateError::InputRange);
    assert_eq!(results, [refused(), Ok(good.clone()), refused(), refused(), refused()]);
    let batch = inputs.map(|input| PublicOperation { key: key.public(), input });
    let results: Vec<_> =
        public(fastest_kernel(), &batch).into_iter().map(|result| result.map(|b| b.to_vec())).collect();
    let refused = || Err(InputRange);
    assert_eq!(results, [refused(), Ok(good.clone()), refused(), refused(), refused()]);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let refusal = |change: &dyn Fn(&mut Parts)| {
        let mut parts = ordinary();
        change(&mut parts);
        parts.key().err()
    };
    let last = |part: &mut Vec<u8>| *part.last_mut().expect("not empty") ^= 2;
    assert_eq!(refusal(&|_| ()), None);
    assert_eq!(refusal(&|parts| parts.n = vec![0xff; 63]), Some(KeyError::ModulusSize(504)));
    assert_eq!(refusal(&|parts| parts.n = vec![0xff; 1025]), Some(KeyError::ModulusSize(8200)));
    assert_eq!(refusal(&|parts| *parts.n.last_mut().expect("not empty") ^= 1), Some(KeyError::EvenModulus));
    for e in [vec![], vec![0], vec![1], vec![1, 0], vec![0xff; 257]] {
        assert_eq!(refusal(&|parts| parts.e = e.clone()), Some(KeyError::PublicExponent));
    }
    assert_eq!(refusal(&|parts| parts.e = vec![3]), Some(KeyError::PrivateExponent));
    assert_eq!(refusal(&|parts| last(&mut parts.d)), Some(KeyError::PrivateExponent));
    assert_eq!(refusal(&|parts| last(&mut parts.p)), Some(KeyError::PrimesDoNotMatch));
    assert_eq!(refusal(&|parts| parts.p = vec![]), Some(KeyError::Primes));
    assert_eq!(refusal(&|parts| parts.p = parts.q.clone()), Some(KeyError::Primes));
    assert_eq!(refusal(&|parts| last(&mut parts.dp)), Some(KeyError::CrtExponent));
    assert_eq!(refusal(&|parts| last(&mut parts.dq)), Some(KeyError::CrtExponent));
    assert_eq!(refusal(&|parts| parts.dp = parts.d.clone()), Some(KeyError::CrtExponent));
    assert_eq!(refusal(&|parts| last(&mut parts.qinv)), Some(KeyError::CrtCoefficient));
    assert_eq!(refusal(&|parts| parts.qinv = vec![]), Some(KeyError::CrtCoefficient));
}

/// Computes rightly, but flips a bit in one power.
struct Faulty {
    kernel: &'static dyn Kernel,
    n_until_wrong: AtomicUsize,
}

impl Kernel for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn n_lanes(&self) -> usize {
        self.kernel.n_lanes()
    }

    fn powers(&self, batch: &[Power<'_>]) -> Vec<Limbs> {
        let mut powers = self.kernel.powers(batch);
        for power in &mut powers {
            if self.n_until_wrong.fetch_sub(1, Ordering::Relaxed) == 1 {
                power[0] ^= 1 << 7;
            }
        }
        powers
    }
}

#[test]
fn a_faulty_result_is_counted_and_never_released() {
    let case = cases("fault").remove(0);
    let key = ordinary().key().expect("a key");
    assert_eq!(case_number(&case, "n"), case_number(&cases("rsa_crt")[0], "n"), "the case is about the ordinary key");
    let input = field_bytes(&case, "m", key.public());
    let expected = Ok(field_bytes(&case, "correct_s", key.public()));
    // Fills the blinding cache, so that the powers of the runs below are: p half, q half, check.
    assert_eq!(one(fastest_kernel(), &key, &input, ExponentBlinding::Off), expected);
    for n_wrong in 1..=3 {
        // Each fault drops the blinding pair; this fills it again.
        assert_eq!(one(fastest_kernel(), &key, &input, ExponentBlinding::Off), expected);
        let kernel = Faulty { kernel: fastest_kernel(), n_until_wrong: AtomicUsize::new(n_wrong) };
        assert_eq!(one(&kernel, &key, &input, ExponentBlinding::Off), expected, "power {n_wrong} wrong");
        assert_eq!(key.n_faults(), n_wrong as u64);
    }
    let kernel = Faulty { kernel: fastest_kernel(), n_until_wrong: AtomicUsize::new(4) };
    assert_eq!(one(&kernel, &key, &input, ExponentBlinding::Off), expected);
    assert_eq!(key.n_faults(), 3, "nothing wrong, nothing counted");
}

#[test]
fn without_random_bytes_there_is_no_result() {
    let key = ordinary().key().expect("a key");
    let input = vec![1; 256];
    let mut broken = |_: &mut [u8]| Err(RandomError);
    let results =
        private(&Portable, &[PrivateOperation { key: &key, input: &input }], ExponentBlinding::Off, &mut broken);
    assert_eq!(results, [Err(PrivateError::Random)]);
}

/// The first draw is zero, which has no inverse; it must be drawn again, not used.
#[test]
fn a_blinding_number_without_inverse_is_drawn_again() {
    let key = ordinary().key().expect("a key");
    let n_draws = Cell::new(0);
    let mut random = |bytes: &mut [u8]| {
        n_draws.set(n_draws.get() + 1);
        if n_draws.get() == 1 {
            bytes.fill(0)
        } else {
            OsRandom.fill(bytes)?
        }
        Ok(())
    };
    let mut input = vec![0; 256];
    input[255] = 1;
    let results =
        private(&Portable, &[PrivateOperation { key: &key, input: &input }], ExponentBlinding::Off, &mut random);
    assert_eq!(results[0].as_deref(), Ok(&input));
    assert_eq!(n_draws.get(), 2);
}

/// A machine on which nothing works must answer, not draw for ever.
#[test]
fn blinding_numbers_that_never_have_an_inverse_end_in_an_error() {
    let key = ordinary().key().expect("a key");
    let mut zeros = |bytes: &mut [u8]| {
        bytes.fill(0);
        Ok(())
    };
    let input = vec![1; 256];
    let batch = [PrivateOperation { key: &key, input: &input }];
    assert_eq!(private(&Portable, &batch, ExponentBlinding::Off, &mut zeros), [Err(PrivateError::Fault)]);
}
