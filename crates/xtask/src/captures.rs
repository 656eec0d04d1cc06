//! IP_Forwarding over every capture of `tests/data/pcaps`, judged by tshark.
//!
//! For each capture: no panic, every packet accounted for, outputs that tshark reads, and no packet malformed that was not
//! malformed in the input.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::command;
use crate::root;

/// What went wrong with one capture.
pub struct Failure {
    /// File name of the capture.
    pub capture: String,
    /// One line.
    pub what: String,
}

/// Exit code of `flitwork run` for a damaged input file whose packets before the damage were processed.
const EXIT_FILE: i32 = 3;
/// Output ports of the application.
const OUT_PORTS: &[&str] = &["tor_out", "host_out"];

/// Runs every capture; gives how many there were and what failed.
pub fn run(flitwork: &Path) -> Result<(usize, Vec<Failure>), String> {
    let folder = root().join("tests/data/pcaps");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_capture = |path: &PathBuf| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng");
    let mut captures: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_capture).collect();
    captures.sort();
    let scratch = root().join("target/captures");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut failures = Vec::new();
    for capture in &captures {
        if let Err(what) = judge(flitwork, capture, &scratch) {
            failures.push(Failure { capture: file_name(capture), what });
        }
    }
    Ok((captures.len(), failures))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn judge(flitwork: &Path, capture: &Path, scratch: &Path) -> Result<(), String> {
    let outputs: Vec<PathBuf> =
        OUT_PORTS.iter().map(|port| scratch.join(format!("{}.{port}.pcapng", file_name(capture)))).collect();
    let mut run = command(&flitwork.display().to_string(), &["run", "examples/IP_Forwarding", "--json", "--in"]);
    run.arg(format!("nic_in={}", capture.display()));
    for (port, path) in OUT_PORTS.iter().zip(&outputs) {
        let _ = fs::remove_file(path);
        run.arg("--out").arg(format!("{port}={}", path.display()));
    }
    let result = run.output().map_err(|error| format!("cannot start flitwork: {error}"))?;
    let said = String::from_utf8_lossy(&result.stderr);
    match result.status.code() {
        Some(0) => {}
        Some(EXIT_FILE) if said.contains("offset") => {}
        _ => return Err(format!("{}: {}", result.status, said.trim())),
    }
    accounted(&result.stdout)?;
    let mut malformed_after = 0;
    for path in &outputs {
        malformed_after += malformed(path)?;
    }
    let malformed_before = malformed(capture).unwrap_or(0);
    if malformed_after > malformed_before {
        return Err(format!("{malformed_after} malformed packets, {malformed_before} in the input"));
    }
    Ok(())
}

/// Whether in + created = out + dropped + ended + held in a JSON report.
pub fn accounted(report: &[u8]) -> Result<(), String> {
    let report: Value = serde_json::from_slice(report).map_err(|error| format!("the report is not JSON: {error}"))?;
    let count = |name: &str| report["totals"][name].as_u64().ok_or(format!("the report has no totals.{name}"));
    let before = count("in")? + count("created")?;
    let after = count("out")? + count("dropped")? + count("ended")? + count("held")?;
    if before == after {
        Ok(())
    } else {
        Err(format!("in + created = {before}, out + dropped + ended + held = {after}"))
    }
}

/// How many packets tshark calls malformed; an error if it cannot read the file to its end.
fn malformed(path: &Path) -> Result<usize, String> {
    let args = ["-r", &path.display().to_string(), "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number"];
    let output = command("tshark", &args).output().map_err(|error| format!("cannot start tshark: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "tshark cannot read {}: {}",
            file_name(path),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}
