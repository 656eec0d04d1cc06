//! The speed of each engine, as a record.
//!
//! Applications over a capture of equal packets, file in and nothing out, median of interleaved repeats: what the run itself
//! says that it took, without compilation. Written to `bench/results/run.json` with commit and machine. The interpreter judges
//! other engines and is not meant to be fast; see `bench/README.md` for how to read it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::bars::{release_build, write_capture};
use crate::process::{command, output};
use crate::{TaskResult, root};

/// Applications that are measured.
const APPLICATIONS: &[&str] = &["PassTraffic", "IP_Forwarding", "Firewall"];
/// Engines that run them.
const ENGINES: &[&str] = &["interp", "jit"];
/// Packet lengths in bytes.
const LENGTHS: &[usize] = &[64, 512, 1500];
/// Payload of a flit; a packet is as many flits as it takes.
const FLIT_BYTES: usize = 32;
/// Packets in each capture.
const N_PACKETS: u64 = 200_000;
/// Repeats of each row, interleaved; the median counts.
const N_REPEATS: usize = 7;

/// One application on one engine with packets of one length.
struct Row {
    application: &'static str,
    engine: &'static str,
    packet_bytes: usize,
    /// Of each repeat.
    ns_per_packet: Vec<f64>,
}

/// Measures and writes the record.
pub fn run() -> TaskResult {
    let flitwork = release_build()?;
    let mut rows = Vec::new();
    for &packet_bytes in LENGTHS {
        write_capture(&capture(packet_bytes), N_PACKETS * (packet_bytes as u64 + 16), packet_bytes)?;
        for &application in APPLICATIONS {
            let on = |&engine| Row { application, engine, packet_bytes, ns_per_packet: Vec::new() };
            rows.extend(ENGINES.iter().map(on));
        }
    }
    for _ in 0..N_REPEATS {
        for row in &mut rows {
            let ns = ns_per_packet(&flitwork, row)?;
            row.ns_per_packet.push(ns);
        }
    }
    rows.sort_by_key(|row| (row.application, row.packet_bytes, row.engine));
    let rows: Vec<Value> = rows.into_iter().map(described).collect();
    write(&rows)
}

fn capture(len: usize) -> std::path::PathBuf {
    root().join(format!("target/bench_{len}.pcap"))
}

/// Nanoseconds that a run takes for each packet, by its own report.
fn ns_per_packet(flitwork: &Path, row: &Row) -> Result<f64, String> {
    let application = format!("examples/{}", row.application);
    let arguments = ["run", &application, "--json", "--engine", row.engine, "--in"];
    let mut run = command(&flitwork.display().to_string(), &arguments);
    run.arg(format!("nic_in={}", capture(row.packet_bytes).display()));
    let result = run.output().map_err(|error| format!("cannot start flitwork: {error}"))?;
    if !result.status.success() {
        return Err(String::from_utf8_lossy(&result.stderr).into_owned());
    }
    let report: Value = serde_json::from_slice(&result.stdout).map_err(|error| format!("the report: {error}"))?;
    let seconds = report["throughput"]["seconds"].as_f64().ok_or("the report has no time")?;
    Ok(seconds * 1e9 / N_PACKETS as f64)
}

fn described(row: Row) -> Value {
    let mut ns = row.ns_per_packet;
    ns.sort_by(f64::total_cmp);
    let median = ns[ns.len() / 2];
    let packets_per_second = 1e9 / median;
    let flits_per_second = packets_per_second * row.packet_bytes.div_ceil(FLIT_BYTES) as f64;
    println!(
        "{} {} B on {}: {median:.1} ns/packet, {packets_per_second:.0} packets/s, {flits_per_second:.0} flits/s",
        row.application, row.packet_bytes, row.engine
    );
    let rounded = |ns: f64| (ns * 10.0).round() / 10.0;
    json!({
        "application": row.application,
        "engine": row.engine,
        "packet_bytes": row.packet_bytes,
        "ns_per_packet": { "best": rounded(ns[0]), "median": rounded(median), "worst": rounded(ns[ns.len() - 1]) },
        "packets_per_second": packets_per_second.round(),
        "flits_per_second": flits_per_second.round(),
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
