//! The interpreter's speed, as a record.
//!
//! PassTraffic and Firewall over a capture of equal packets, file in and nothing out, median of interleaved repeats. Written
//! to `bench/results/run.json` with commit and machine. It judges other engines and is not meant to be fast, so no bar hangs
//! on it; see `bench/README.md` for how to read it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::bars::{release_build, write_capture};
use crate::process::{command, output};
use crate::{TaskResult, root};

/// Applications that are measured.
const APPLICATIONS: &[&str] = &["PassTraffic", "Firewall"];
/// Packet lengths in bytes.
const LENGTHS: &[usize] = &[64, 512, 1500];
/// Packets in each capture.
const N_PACKETS: u64 = 200_000;
/// Repeats of each row, interleaved; the median counts.
const N_REPEATS: usize = 7;

/// Measures and writes the record.
pub fn run() -> TaskResult {
    let flitwork = release_build()?;
    let mut rows: Vec<(&str, usize, Vec<f64>)> =
        APPLICATIONS.iter().flat_map(|&app| LENGTHS.iter().map(move |&len| (app, len, Vec::new()))).collect();
    for &len in LENGTHS {
        write_capture(&capture(len), N_PACKETS * (len as u64 + 16), len)?;
    }
    for _ in 0..N_REPEATS {
        for (app, len, seconds) in &mut rows {
            seconds.push(time(&flitwork, app, *len)?);
        }
    }
    let rows: Vec<Value> = rows.into_iter().map(|(app, len, seconds)| row(app, len, seconds)).collect();
    write(&rows)
}

fn capture(len: usize) -> std::path::PathBuf {
    root().join(format!("target/bench_{len}.pcap"))
}

/// Seconds that one run takes, start of the process included.
fn time(flitwork: &Path, app: &str, len: usize) -> Result<f64, String> {
    let mut run = command(&flitwork.display().to_string(), &["run", &format!("examples/{app}"), "--json", "--in"]);
    run.arg(format!("nic_in={}", capture(len).display()));
    let start = Instant::now();
    let result = run.output().map_err(|error| format!("cannot start flitwork: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    if result.status.success() { Ok(seconds) } else { Err(String::from_utf8_lossy(&result.stderr).into_owned()) }
}

fn row(app: &str, len: usize, mut seconds: Vec<f64>) -> Value {
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let per_second = N_PACKETS as f64 / median;
    let flits = per_second * len.div_ceil(32) as f64;
    println!("{app} {len} B: {:.0} packets/s, {flits:.0} flits/s", per_second);
    json!({
        "application": app,
        "packet_bytes": len,
        "packets_per_second": per_second.round(),
        "flits_per_second": flits.round(),
        "seconds": { "best": seconds[0], "median": median, "worst": seconds[seconds.len() - 1] },
    })
}

fn write(rows: &[Value]) -> TaskResult {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let record = json!({
        "command": "cargo xtask bench",
        "commit": output("git", &["rev-parse", "HEAD"])?.trim(),
        "compiler": output("rustc", &["--version"])?.trim(),
        "machine": model.unwrap_or("unknown"),
        "engine": "interp",
        "packets": N_PACKETS,
        "repeats": N_REPEATS,
        "rows": rows,
    });
    let path = root().join("bench/results/run.json");
    let text = serde_json::to_string_pretty(&record).expect("a record has string keys") + "\n";
    fs::create_dir_all(root().join("bench/results"))
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}
