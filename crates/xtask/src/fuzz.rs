//! Short runs of the fuzz targets in `fuzz/`, and of random designs on every engine.
//!
//! `fuzz/` is a workspace of its own, so its targets and their seeds are listed here. `--sanitizer none` keeps to the stable
//! toolchain; the code under test has no `unsafe`, so panics and broken promises are all there is to find.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::process::{command, is_installed, run};
use crate::{TaskResult, root};

/// A target of `fuzz/fuzz_targets` and the folders of the repository that hold good first inputs.
const TARGETS: &[(&str, &[&str])] = &[
    ("captures", &["tests/data/pcaps"]),
    ("parser", &["tests/errors", "elements/core", "elements/networking"]),
    ("ir_text", &["crates/ir/tests/text"]),
];
/// Longest input in bytes.
const LEN_MAX: u32 = 4096;
/// The version of cargo-fuzz that the targets are run with.
const CARGO_FUZZ_VERSION: &str = "0.13.2";

/// Runs every target for some seconds; the first that finds something ends it.
pub fn run_all(seconds: u32) -> TaskResult {
    install()?;
    for (target, seeds) in TARGETS {
        let corpus = root().join("fuzz/corpus").join(target);
        fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        println!("fuzz {target} for {seconds} s");
        let mut fuzz = command(&cargo_fuzz(), &["fuzz", "run", "--sanitizer", "none", target]);
        fuzz.arg(&corpus).args(seeds.iter().map(|seed| root().join(seed)));
        fuzz.args([
            "--",
            &format!("-max_total_time={seconds}"),
            &format!("-max_len={LEN_MAX}"),
            "-verbosity=0",
            "-print_final_stats=1",
        ]);
        let status = fuzz.status().map_err(|error| format!("cannot start cargo-fuzz: {error}"))?;
        if !status.success() {
            return Err(format!("{target} found something: see fuzz/artifacts/{target}"));
        }
    }
    Ok(())
}

/// Runs random designs on every engine for some minutes, or so many designs.
///
/// Without a seed it takes the time, a million apart from second to second, so that each run tries other designs.
pub fn engines(minutes: f64, seed: Option<u64>, designs: Option<u64>) -> TaskResult {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = seed.unwrap_or(since_1970.as_secs().wrapping_mul(1_000_000));
    println!("engines: {minutes} minutes from seed {seed}");
    let keep = root().join("tests/crashers");
    let mut search = command("cargo", &["run", "--quiet", "--package", "agreement", "--", "--seed", &seed.to_string()]);
    search.args(["--minutes", &minutes.to_string(), "--keep"]).arg(keep);
    let working = std::env::temp_dir().join(format!("flitwork-engines-{}", std::process::id()));
    fs::create_dir_all(&working).map_err(|error| format!("{}: {error}", working.display()))?;
    search.arg("--working").arg(&working);
    if let Some(designs) = designs {
        search.args(["--designs", &designs.to_string()]);
    }
    let status = search.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    let unfinished = files_of(&working);
    let _ = fs::remove_dir_all(&working);
    if status.success() {
        return Ok(());
    }
    if status.code().is_none() {
        let seeds = unfinished.join(", ");
        return Err(format!(
            "a design ended the process ({status}); one of these, each with `--designs 1`: --seed {seeds}"
        ));
    }
    Err("engines differ or hang: see above and tests/crashers".to_string())
}

/// What the files of a folder hold.
fn files_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
}

fn cargo_fuzz() -> String {
    if is_installed("cargo-fuzz") {
        "cargo-fuzz".to_string()
    } else {
        root().join(".env/cargo/bin/cargo-fuzz").display().to_string()
    }
}

/// Builds cargo-fuzz into `.env/` if it is nowhere.
pub fn install() -> TaskResult {
    if is_installed("cargo-fuzz") || root().join(".env/cargo/bin/cargo-fuzz").is_file() {
        return Ok(());
    }
    println!("installing cargo-fuzz into .env");
    run(
        "cargo",
        &["install", "--quiet", "--locked", "--root", ".env/cargo", "cargo-fuzz", "--version", CARGO_FUZZ_VERSION],
    )
}
