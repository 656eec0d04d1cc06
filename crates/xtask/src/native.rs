//! The native engine beside programs written by hand, and beside other people's tools on files.
//!
//! `bench/ceiling` measures the rows in one process and prints JSON; here it is built for this machine's processor, run, and judged. The figures
//! of a row at 512 and 1500 bytes may exceed 1.3 times that at 64 bytes only by what the program written by hand takes longer, too.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use crate::bars::{Bar, Target};
use crate::process::{self, output};
use crate::{TaskResult, native_files, root};

/// The most that an application may take, in times of what the program written by hand takes, at 64 bytes.
const RATIOS: &[(&str, f64)] = &[
    ("pass", 3.0),
    ("router", 2.0),
    ("firewall_64", 1.7),
    ("firewall_1000", 2.0),
    ("balancer", 2.5),
    ("limiter", 3.0),
];
/// Rows of flit elements, which are judged in place: what they take beyond a graph that only copies.
const FLIT_ROWS: &[&str] = &["flit_pass", "flit_tee"];
const FLIT_GROWTH_MAX: f64 = 1.5;
/// How much longer packets may cost, ceiling's part left aside.
const GROWTH_MAX: f64 = 1.3;
const SHORT: usize = 64;
const LONG: usize = 1500;
const LENGTHS: &[usize] = &[SHORT, 512, LONG];
/// Figures below this are noise: a nanosecond cannot be told from none when two medians are subtracted.
const NS_MIN: f64 = 1.0;

/// What `bench/ceiling` measured.
struct Measured {
    /// As printed, rows with row, side, length and times.
    record: Value,
    /// Median nanoseconds a packet by row, side and length.
    medians: BTreeMap<(String, String, usize), f64>,
}

impl Measured {
    fn ns(&self, row: &str, side: &str, packet_bytes: usize) -> Result<f64, String> {
        let key = (row.to_string(), side.to_string(), packet_bytes);
        self.medians.get(&key).copied().ok_or_else(|| format!("no figure for {row}, {side}, {packet_bytes} B"))
    }

    /// How an application compares with the program written by hand.
    fn ratio(&self, row: &str, packet_bytes: usize) -> Result<f64, String> {
        Ok(self.ns(row, "jit", packet_bytes)? / self.ns(row, "ceiling", packet_bytes)?)
    }

    /// Cost at a length, less what the ceiling adds since 64 bytes, in times of the cost at 64 bytes.
    fn growth(&self, row: &str, packet_bytes: usize) -> Result<f64, String> {
        let added = self.ns(row, "ceiling", packet_bytes)? - self.ns(row, "ceiling", SHORT)?;
        Ok((self.ns(row, "jit", packet_bytes)? - added) / self.ns(row, "jit", SHORT)?)
    }

    /// Cost of a flit element in place: what it adds to a graph that only copies.
    fn in_place(&self, row: &str, packet_bytes: usize) -> Result<f64, String> {
        let ns = self.ns(row, "jit", packet_bytes)? - self.ns("copy", "jit", packet_bytes)?;
        Ok(ns.max(NS_MIN))
    }
}

/// Builds the measuring program for this processor; only itself, so that the engine is built as users have it.
fn build() -> Result<PathBuf, String> {
    let args = ["rustc", "--quiet", "--release", "--package", "bench-native", "--", "-C", "target-cpu=native"];
    process::run("cargo", &args)?;
    Ok(crate::bars::target_folder().join("release/bench-native"))
}

fn measure(args: &[&str]) -> Result<Measured, String> {
    let program = build()?;
    let text = output(&program.display().to_string(), args)?;
    let record: Value = serde_json::from_str(&text).map_err(|error| format!("bench-native: {error}"))?;
    let rows = record["results"].as_array().ok_or("bench-native gives no results")?;
    let median = |row: &Value| {
        let (name, side) = (row["row"].as_str()?.to_string(), row["side"].as_str()?.to_string());
        let packet_bytes = row["packet_bytes"].as_u64()? as usize;
        Some(((name, side, packet_bytes), row["ns_per_packet"]["median"].as_f64()?))
    };
    let medians = rows.iter().filter_map(median).collect();
    Ok(Measured { record, medians })
}

/// Measures everything, prints tables, and writes `bench/results/native.json`.
pub fn bench() -> TaskResult {
    let started = Instant::now();
    let measured = measure(&["--interp"])?;
    let files = native_files::measure()?;
    print_rows(&measured);
    native_files::print(&files);
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let mut record = json!({
        "command": "cargo xtask bench native",
        "commit": output("git", &["rev-parse", "HEAD"])?.trim(),
        "compiler": output("rustc", &["--version"])?.trim(),
        "machine": model.unwrap_or("unknown"),
        "seconds": started.elapsed().as_secs(),
        "files": native_files::record(&files),
    });
    for (name, value) in measured.record.as_object().into_iter().flatten() {
        record[name] = value.clone();
    }
    let path = root().join("bench/results/native.json");
    let text = serde_json::to_string_pretty(&record).expect("a record has string keys") + "\n";
    fs::create_dir_all(root().join("bench/results"))
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn print_rows(measured: &Measured) {
    println!("| row | bytes | by hand | native | ratio | growth | interpreter |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let results = measured.record["results"].as_array().map_or(&[][..], Vec::as_slice);
    let mut rows: Vec<&str> = results.iter().filter_map(|result| result["row"].as_str()).collect();
    rows.sort_by_key(|&row| results.iter().position(|result| result["row"] == row));
    rows.dedup();
    for row in rows {
        for &bytes in LENGTHS {
            let ns = |side| measured.ns(row, side, bytes).map_or("-".to_string(), |ns| format!("{ns:.1}"));
            let times = |figure: Result<f64, String>| figure.map_or("-".to_string(), |figure| format!("{figure:.2}"));
            let (ratio, growth) = (times(measured.ratio(row, bytes)), times(measured.growth(row, bytes)));
            println!("| {row} | {bytes} | {} | {} | {ratio} | {growth} | {} |", ns("ceiling"), ns("jit"), ns("interp"));
        }
    }
}

/// The bars of every row, and of the files.
pub fn bars() -> Result<Vec<Bar>, String> {
    let measured = measure(&[])?;
    let mut bars = Vec::new();
    for &(row, limit) in RATIOS {
        let ratio = measured.ratio(row, SHORT)?;
        let by_hand = measured.ns(row, "ceiling", SHORT)?;
        let note = format!("{row}: {:.1} ns a packet, by hand {by_hand:.1} ns", measured.ns(row, "jit", SHORT)?);
        bars.push(bar(format!("{row}_64B"), ratio, "times", Target::AtMost(limit), vec![note]));
    }
    for &row in FLIT_ROWS {
        let (short, long) = (measured.in_place(row, SHORT)?, measured.in_place(row, LONG)?);
        let note = format!("{row}: in place {short:.1} ns at {SHORT} B, {long:.1} ns at {LONG} B");
        bars.push(bar(format!("{row}_in_place"), long / short, "times", Target::AtMost(FLIT_GROWTH_MAX), vec![note]));
    }
    for &(row, _) in RATIOS {
        let mut growth: f64 = 0.0;
        let mut notes = Vec::new();
        for &packet_bytes in &LENGTHS[1..] {
            growth = growth.max(measured.growth(row, packet_bytes)?);
            let (ns, by_hand) = (measured.ns(row, "jit", packet_bytes)?, measured.ns(row, "ceiling", packet_bytes)?);
            notes.push(format!("{row} at {packet_bytes} B: {ns:.1} ns, by hand {by_hand:.1} ns"));
        }
        bars.push(bar(format!("{row}_longer"), growth, "times", Target::AtMost(GROWTH_MAX), notes));
    }
    bars.extend(native_files::bars(&native_files::measure()?));
    Ok(bars)
}

/// A bar of this area.
pub fn bar(name: String, figure: f64, unit: &'static str, target: Target, notes: Vec<String>) -> Bar {
    Bar { area: "native", name: name.into(), figure, unit, target, notes }
}
