//! RSA operations per second on one core, beside those of the installed `openssl` in the same minutes.
//!
//! Run: `cargo run --release -p crypto --example rsa_speed > bench/results/rsa.json`. Rounds alternate between the
//! kernels and `openssl speed`; each figure is the median of the rounds, with the slowest and fastest beside it. Both
//! sides count processor time: `openssl` its user time, this program what Linux gives it in `/proc`.

#[path = "../tests/openssl_cli/mod.rs"]
mod openssl_cli;
#[path = "../tests/openssl_keys/mod.rs"]
mod openssl_keys;

use std::time::Duration;

use crypto::limbs;
use crypto::montgomery::{Exponent, Kernel, Modulus, Power, fastest_kernel, portable::Portable};
use crypto::random::OsRandom;
use crypto::rsa::{ExponentBlinding, PrivateKey, PrivateOperation, PublicOperation, private, public};
use openssl_cli::openssl;
use openssl_keys::{generate, key};
use serde_json::{Value, json};

const N_ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(500);

fn main() {
    let kernels = [fastest_kernel(), &Portable as &dyn Kernel];
    let sizes: Vec<Value> = [1024, 2048, 3072, 4096].into_iter().map(|n_bits| measure(n_bits, &kernels)).collect();
    let version = openssl(&["version"], &[]).expect("the openssl program");
    let report = json!({
        "command": "cargo run --release -p crypto --example rsa_speed",
        "machine": machine(),
        "openssl": String::from_utf8_lossy(&version).trim(),
        "unit": "operations per second of processor time on one core; [slowest round, median, fastest round]",
        "private": "CRT, blinded, checked against the public key; batches of keys all different",
        "rounds": N_ROUNDS,
        "sizes": sizes,
    });
    println!("{}", serde_json::to_string_pretty(&report).expect("JSON"));
}

fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name| text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split(": ").nth(1));
    let fields = ["model name", "cpu family", "model"].map(|name| field(name).unwrap_or("unknown"));
    format!("{}, family {} model {}", fields[0], fields[1], fields[2])
}

/// One thing to measure: its name, and how many operations a call does.
struct Work<'a> {
    name: String,
    n_operations: usize,
    call: Box<dyn FnMut() + 'a>,
}

fn measure(n_bits: usize, kernels: &[&dyn Kernel]) -> Value {
    let integers: Vec<_> = (0..8).map(|_| generate(n_bits, "65537", 2).expect("the openssl program").1).collect();
    let keys: Vec<PrivateKey> = integers.iter().map(|integers| key(integers).expect("a key")).collect();
    let input = [vec![0], vec![0x5a; n_bits / 8 - 1]].concat();
    let n = limbs::from_be_bytes(&integers[0][1], n_bits / 64 + 1).expect("fits");
    let modulus = Modulus::new(&n, n_bits / 64).expect("odd");
    let base = limbs::from_be_bytes(&input, n_bits / 64).expect("fits");
    let mut works: Vec<Work<'_>> =
        kernels.iter().flat_map(|&kernel| works(kernel, &keys, &input, &modulus, &base)).collect();
    let mut rates = vec![Vec::new(); works.len()];
    let mut openssl_rates = [Vec::new(), Vec::new()];
    for _ in 0..N_ROUNDS {
        for (work, rates) in works.iter_mut().zip(&mut rates) {
            rates.push(rate(work));
        }
        for (all, rate) in openssl_rates.iter_mut().zip(openssl_speed(n_bits)) {
            all.push(rate);
        }
    }
    let mut report = json!({ "bits": n_bits });
    for (work, rates) in works.iter().zip(rates) {
        report[&work.name] = spread(rates);
    }
    let [private, public] = openssl_rates;
    report["openssl private"] = spread(private);
    report["openssl public"] = spread(public);
    report
}

fn works<'a>(
    kernel: &'a dyn Kernel,
    keys: &'a [PrivateKey],
    input: &'a [u8],
    modulus: &'a Modulus,
    base: &'a [u64],
) -> Vec<Work<'a>> {
    let privates: &[usize] = if kernel.n_lanes() == 1 { &[1] } else { &[1, 4, 8] };
    let private_work = |&n: &usize| {
        let batch: Vec<_> = keys[..n].iter().map(|key| PrivateOperation { key, input }).collect();
        let call =
            move || assert!(private(kernel, &batch, ExponentBlinding::Off, &mut OsRandom).iter().all(Result::is_ok));
        Work { name: format!("{} private, batch of {n}", kernel.name()), n_operations: n, call: Box::new(call) }
    };
    let mut works: Vec<_> = privates.iter().map(private_work).collect();
    let n = kernel.n_lanes();
    let batch: Vec<_> = keys[..n].iter().map(|key| PublicOperation { key: key.public(), input }).collect();
    let call = move || assert!(public(kernel, &batch).iter().all(Result::is_ok));
    works.push(Work { name: format!("{} public, batch of {n}", kernel.name()), n_operations: n, call: Box::new(call) });
    let exponent = Exponent::Secret { limbs: modulus.limbs(), n_bits: modulus.n_limbs() * 64 };
    let batch = vec![Power { modulus, base, exponent }; n];
    let call = move || assert_eq!(kernel.powers(&batch).len(), n);
    works.push(Work { name: format!("{} power, batch of {n}", kernel.name()), n_operations: n, call: Box::new(call) });
    works
}

fn rate(work: &mut Work<'_>) -> f64 {
    (work.call)(); // Caches and the blinding pair are warm afterwards.
    let start = processor_time();
    let mut n_operations = 0;
    loop {
        (work.call)();
        n_operations += work.n_operations;
        let spent = processor_time() - start;
        if spent >= ROUND {
            return n_operations as f64 / spent.as_secs_f64();
        }
    }
}

/// Time on a processor of this thread so far (`Documentation/scheduler/sched-stats.rst`, first field).
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with schedstat");
    Duration::from_nanos(text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds"))
}

/// Private and public operations per second of `openssl speed`.
fn openssl_speed(n_bits: usize) -> [f64; 2] {
    let output = openssl(&["speed", "-seconds", "1", &format!("rsa{n_bits}")], &[]).expect("the openssl program");
    let text = String::from_utf8_lossy(&output);
    let line = text.lines().rfind(|line| line.starts_with("rsa ")).expect("a line of results");
    let fields: Vec<f64> = line.split_whitespace().rev().take(2).map(|field| field.parse().expect("a rate")).collect();
    [fields[1], fields[0]]
}

fn spread(mut rates: Vec<f64>) -> Value {
    rates.sort_by(f64::total_cmp);
    json!([rates[0].round(), rates[rates.len() / 2].round(), rates[rates.len() - 1].round()])
}
