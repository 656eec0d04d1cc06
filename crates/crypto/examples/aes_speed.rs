//! AES in counter mode, nanoseconds a byte on one core, beside the installed `openssl` in the same minute.
//!
//! Run: `cargo run --release -p crypto --example aes_speed`. Rounds alternate between the kernels and `openssl speed`; each
//! figure is the median of the rounds, with the fastest and slowest beside it. Each call is one packet's payload.

#[path = "../tests/openssl_cli/mod.rs"]
mod openssl_cli;

use std::time::{Duration, Instant};

use crypto::aes::aesni::AesNi;
use crypto::aes::portable::Portable;
use crypto::aes::vaes512::Vaes512;
use crypto::aes::{Kernel, Key, counter_mode};
use openssl_cli::openssl;
use serde_json::{Value, json};

const N_ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(200);

fn main() {
    let version = openssl(&["version"], &[]).expect("the openssl program");
    let rows: Vec<Value> =
        [16, 32].iter().flat_map(|&key_bytes| [64, 1500, 9000].map(|n_bytes| measure(key_bytes, n_bytes))).collect();
    let report = json!({
        "command": "cargo run --release -p crypto --example aes_speed",
        "openssl": String::from_utf8_lossy(&version).trim(),
        "unit": "nanoseconds a byte; [fastest round, median, slowest round]",
        "rounds": N_ROUNDS,
        "rows": rows,
    });
    println!("{}", serde_json::to_string_pretty(&report).expect("JSON"));
}

fn measure(key_bytes: usize, n_bytes: usize) -> Value {
    let mut kernels: Vec<&dyn Kernel> = vec![&Portable];
    kernels.extend(AesNi::detect().map(|kernel| kernel as &dyn Kernel));
    kernels.extend(Vaes512::detect().map(|kernel| kernel as &dyn Kernel));
    let key = Key::new(&vec![7; key_bytes]).expect("a length of AES");
    let mut times = vec![Vec::new(); kernels.len() + 1];
    for _ in 0..N_ROUNDS {
        for (kernel, times) in kernels.iter().zip(&mut times) {
            times.push(time(*kernel, &key, n_bytes));
        }
        times[kernels.len()].push(openssl_time(key_bytes, n_bytes));
    }
    let mut row = json!({ "key bits": key_bytes * 8, "bytes": n_bytes });
    let names = kernels.iter().map(|kernel| kernel.name()).chain(["openssl"]);
    for (name, times) in names.zip(times) {
        row[name] = spread(times);
    }
    row
}

fn time(kernel: &dyn Kernel, key: &Key, n_bytes: usize) -> f64 {
    let mut data = vec![0; n_bytes];
    let mut counter = 0;
    let (start, mut n_calls) = (Instant::now(), 0);
    while start.elapsed() < ROUND {
        for _ in 0..64 {
            counter = counter_mode(kernel, key.round_keys(), counter, &mut data);
        }
        n_calls += 64;
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(n_calls) / n_bytes as f64
}

/// Of `openssl speed`, which counts thousands of bytes a second.
fn openssl_time(key_bytes: usize, n_bytes: usize) -> f64 {
    let algorithm = format!("aes-{}-ctr", key_bytes * 8);
    let arguments = ["speed", "-seconds", "1", "-bytes", &n_bytes.to_string(), "-evp", &algorithm];
    let output = openssl(&arguments, &[]).expect("the openssl program");
    let text = String::from_utf8_lossy(&output);
    let rate = text.split_whitespace().next_back().and_then(|field| field.strip_suffix('k'));
    1e6 / rate.and_then(|rate| rate.parse::<f64>().ok()).expect("a rate")
}

fn spread(mut times: Vec<f64>) -> Value {
    times.sort_by(f64::total_cmp);
    let rounded = |time: f64| (time * 1e4).round() / 1e4;
    json!([rounded(times[0]), rounded(times[times.len() / 2]), rounded(times[times.len() - 1])])
}
