//! RSA keys of the `openssl` program.

use crypto::rsa::{KeyError, KeyParts, PrivateKey};

use crate::openssl_cli::openssl;

/// A key in PEM form and the integers of its `RSAPrivateKey` (RFC 8017 §A.1.2), version first.
pub fn generate(n_bits: usize, e: &str, n_primes: usize) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let options = [
        format!("rsa_keygen_bits:{n_bits}"),
        format!("rsa_keygen_pubexp:{e}"),
        format!("rsa_keygen_primes:{n_primes}"),
    ];
    let mut arguments = vec!["genpkey", "-algorithm", "RSA"];
    arguments.extend(options.iter().flat_map(|option| ["-pkeyopt", option.as_str()]));
    let pem = openssl(&arguments, &[])?;
    let der = openssl(&["rsa", "-traditional", "-outform", "DER"], &pem)?;
    let (_, mut body) = element(&der);
    let mut integers = Vec::new();
    while body.first() == Some(&0x02) {
        let rest = body;
        let (n_bytes, content) = element(rest);
        integers.push(content.to_vec());
        body = &rest[n_bytes..];
    }
    Some((pem, integers))
}

/// Whole length and content of the first DER element (X.690 §8.1).
fn element(der: &[u8]) -> (usize, &[u8]) {
    let (n_header, n_content) = match der[1] {
        short @ 0..0x80 => (2, usize::from(short)),
        long => {
            let n = usize::from(long & 0x7f);
            (2 + n, der[2..2 + n].iter().fold(0, |length, &byte| length << 8 | usize::from(byte)))
        }
    };
    (n_header + n_content, &der[n_header..n_header + n_content])
}

/// The key of the integers that [`generate`] gives.
pub fn key(integers: &[Vec<u8>]) -> Result<PrivateKey, KeyError> {
    let [_, n, e, d, p, q, dp, dq, qinv, ..] = integers else { panic!("nine integers") };
    PrivateKey::new(&KeyParts { n, e, d, p, q, dp, dq, qinv })
}
