//! Designs that run: every file of `tests/run`, and every example, on every engine.
//!
//! A case of `tests/run` is `NAME.clnp` with `NAME.in.txt` (packets as text, see `run/packets.rs`) or captures (`NAME.in.pcap` for
//! the first input, `NAME.in.<port>.pcap`), perhaps `NAME.control`, and `NAME.expected`: what leaves at each port, signal results,
//! drops and totals, as text (see `run/case.rs`). `BLESS=1` writes the expected files; read the difference before committing it.

#[path = "run/case.rs"]
mod case;
#[path = "run/examples.rs"]
mod examples;
#[path = "run/packets.rs"]
mod packets;

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
fn repository() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("two folders up")
}

/// Fails with every report that is not empty, after all cases have run.
fn conclude(what: &str, reports: Vec<(String, Result<(), String>)>) {
    let n_cases = reports.len();
    let failed: Vec<String> = reports
        .into_iter()
        .filter_map(|(name, report)| report.err().map(|difference| format!("--- {name}\n{difference}\n")))
        .collect();
    assert!(failed.is_empty(), "{} of {n_cases} {what} failed\n{}", failed.len(), failed.join("\n"));
    println!("{n_cases} {what} agree");
}

#[test]
fn every_case_gives_what_is_expected_on_every_engine() {
    let folder = repository().join("tests/run");
    let reports = case::names(&folder).into_iter().map(|name| {
        let report = case::check(&folder, &name);
        (name, report)
    });
    conclude("run cases", reports.collect());
}

fn examples_on(engine: &str) {
    let folder = repository().join("examples");
    let reports = examples::names(&folder).into_iter().map(|name| {
        let report = examples::check(&folder.join(&name), &name, engine);
        (name, report)
    });
    conclude("examples", reports.collect());
}

#[test]
fn every_example_gives_its_expected_files() {
    examples_on("interp");
}

#[test]
fn every_example_gives_its_expected_files_in_native_code() {
    examples_on("jit");
}
