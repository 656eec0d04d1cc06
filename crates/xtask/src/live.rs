//! `cargo xtask live`: the program between two network namespaces, with other programs as the hosts.
//!
//! Each check makes its own namespaces and addresses and removes them. It needs root, `ip`, iperf3, ping, tcpdump and tcpreplay;
//! what is missing is an error, never a check left out. Rates are recorded beside those of plain veth in
//! `bench/results/live.json`; nothing but loss and completion is judged, because the machine is shared.

mod checks;
mod network;

use std::path::Path;

use serde_json::{Value, json};

use crate::bars::release_build;
use crate::process::{is_installed, output};
use crate::{TaskResult, root};

/// A check: what it shows, and how.
type Check = (&'static str, fn(&Path) -> Result<Value, String>);

const CHECKS: &[Check] = &[
    ("ping, TCP, and UDP at half the loss-free rate", checks::traffic),
    ("frames arrive byte for byte, tags included", checks::bytes),
    ("100,000 calls a second and 1,000 control files while forwarding", checks::storm),
    ("an interface that goes away ends the run with its report", checks::interface_gone),
    ("a capture can be read after kill -9", checks::killed),
    ("a user without capabilities is told which", checks::refused),
];

/// Runs all checks and writes the record.
pub fn run() -> TaskResult {
    if output("id", &["-u"])?.trim() != "0" {
        return Err("the live checks make network namespaces: run them as root".to_string());
    }
    for program in ["ip", "iperf3", "ping", "tcpdump", "tcpreplay", "setpriv"] {
        if !is_installed(program) {
            return Err(format!("{program} is missing; `cargo xtask tools` installs it"));
        }
    }
    let flitwork = release_build()?;
    let mut failed = Vec::new();
    let mut figures = serde_json::Map::new();
    for (name, check) in CHECKS {
        match check(&flitwork) {
            Ok(figure) => {
                println!("ok      {name} {figure}");
                figures.insert(name.to_string(), figure);
            }
            Err(message) => {
                println!("FAILED  {name}: {message}");
                failed.push(*name);
            }
        }
    }
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join("; ")));
    }
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    let record = json!({"commit": commit.trim(), "kernel": output("uname", &["-r"])?.trim(), "checks": figures});
    let text = serde_json::to_string_pretty(&record).expect("keys are text") + "\n";
    let path = root().join("bench/results/live.json");
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
