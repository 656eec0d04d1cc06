//! Keys and results of the `openssl` program.

use std::io::Write;
use std::process::{Command, Stdio};

use crypto::rsa::{KeyError, KeyParts, PrivateKey};

/// Runs `openssl`, `None` if there is no such program.
pub fn openssl(arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    child.stdin.take().expect("piped").write_all(input).expect("openssl reads its input");
    let output = child.wait_with_output().expect("openssl ends");
    assert!(output.status.success(), "openssl {arguments:?}");
    Some(output.stdout)
}

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
