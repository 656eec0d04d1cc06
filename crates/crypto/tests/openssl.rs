//! Random keys and inputs against the `openssl` program, whole results, on both kernels.

mod openssl_cli;
mod openssl_keys;

use std::io::Write;

use crypto::montgomery::{Kernel, fastest_kernel, portable::Portable};
use crypto::random::{OsRandom, Random};
use crypto::rsa::{ExponentBlinding, KeyError, PrivateOperation, PublicOperation, private, public};
use openssl_cli::openssl;
use openssl_keys::{generate, key};

/// Below every modulus of its length, since the top bit is clear.
fn random_input(n_bytes: usize, n_bits: usize) -> Vec<u8> {
    let mut input = vec![0; n_bytes];
    OsRandom.fill(&mut input).expect("random bytes");
    input[0] &= ((1u16 << ((n_bits - 1) % 8)) - 1) as u8;
    input
}

#[test]
fn private_results_are_those_of_openssl() {
    let sizes = [(512, 100, "65537"), (1000, 15, "3"), (1024, 60, "65537"), (1030, 10, "65537"), (1536, 10, "65537")];
    let large = [(2048, 16, "65537"), (2048, 2, "18446744073709551557"), (3072, 3, "65537"), (4096, 2, "65537")];
    for (n_bits, n_keys, e) in sizes.into_iter().chain(large) {
        let mut judged = Vec::new();
        for _ in 0..n_keys {
            let Some((pem, integers)) = generate(n_bits, e, 2) else {
                println!("no `openssl` program on this machine: nothing to compare");
                return;
            };
            let key = key(&integers).expect("a key of openssl");
            let input = random_input(key.public().n_bytes(), n_bits);
            let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
            file.write_all(&pem).expect("written");
            let path = file.path().to_str().expect("a plain path");
            let arguments = ["pkeyutl", "-decrypt", "-pkeyopt", "rsa_padding_mode:none", "-inkey", path];
            let expected = openssl(&arguments, &input).expect("openssl is there");
            judged.push((key, input, expected));
        }
        for kernel in [&Portable as &dyn Kernel, fastest_kernel()] {
            let batch: Vec<_> = judged.iter().map(|(key, input, _)| PrivateOperation { key, input }).collect();
            let results = private(kernel, &batch, ExponentBlinding::Random64, &mut OsRandom);
            let back = judged.iter().map(|(key, _, output)| PublicOperation { key: key.public(), input: output });
            let back = public(kernel, &back.collect::<Vec<_>>());
            for (((_, input, expected), result), back) in judged.iter().zip(results).zip(back) {
                assert_eq!(result.as_deref(), Ok(expected), "{n_bits} bits, e = {e}, {}", kernel.name());
                assert_eq!(back.as_deref(), Ok(input), "{n_bits} bits back");
            }
        }
    }
}

#[test]
fn a_key_of_three_primes_is_refused_with_the_reason() {
    let Some((_, integers)) = generate(1024, "65537", 3) else {
        println!("no `openssl` program on this machine: no key to refuse");
        return;
    };
    assert_eq!(key(&integers).err(), Some(KeyError::MultiPrime));
}
