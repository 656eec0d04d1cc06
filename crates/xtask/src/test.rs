//! `cargo xtask test`: everything that must hold, and how much of it did.

use crate::process::{command, stream};
use crate::{TaskResult, docs, fuzz, live, root, tidy, tools};

/// How many checks passed and failed.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
}

impl Tally {
    fn count(&mut self, what: &str, result: TaskResult) {
        match result {
            Ok(()) => self.passed += 1,
            Err(message) => {
                println!("FAILED {what}: {message}");
                self.failed += 1;
            }
        }
    }
}

/// Seconds that each fuzz target runs in the test task: enough to replay its corpus and try fresh inputs.
const FUZZ_SECONDS: u32 = 10;

/// Runs it all and prints `N passed, N failed` as the last line.
pub fn run() -> TaskResult {
    tools::install()?;
    let mut tally = Tally::default();
    tally.count("house rules", tidy::run());
    tally.count("generated pages", docs::run(true));
    tally.count("formatting", crate::process::run("cargo", &["fmt", "--all", "--check"]));
    let lints = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    tally.count("lints", crate::process::run("cargo", &lints));
    cargo_tests(&mut tally)?;
    oracles(&mut tally)?;
    tally.count("fuzz targets", fuzz::run_all(FUZZ_SECONDS));
    tally.count("live interfaces", live::run());
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed == 0 { Ok(()) } else { Err("something failed; each failure is named above".to_string()) }
}

/// All Rust tests, counted from the closing line of each test program.
fn cargo_tests(tally: &mut Tally) -> TaskResult {
    let args = ["test", "--workspace", "--no-fail-fast"];
    let succeeded = stream("cargo", &args, |line| {
        if let Some((passed, failed)) = closing_line(line) {
            tally.passed += passed;
            tally.failed += failed;
        }
    })?;
    if !succeeded && tally.failed == 0 {
        tally.count("cargo test", Err("did not run to the end".to_string()));
    }
    Ok(())
}

/// `test result: ok. 3 passed; 0 failed; …` as numbers.
fn closing_line(line: &str) -> Option<(u32, u32)> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number_before = |word: &str| {
        let part = counts.split("; ").find(|part| part.ends_with(word))?;
        part.split(' ').next()?.parse().ok()
    };
    Some((number_before(" passed")?, number_before(" failed")?))
}

/// Each `tests/oracle/**/check_*.py`: recomputes committed expectations by other means and compares them.
fn oracles(tally: &mut Tally) -> TaskResult {
    let mut scripts = Vec::new();
    let mut folders = vec![root().join("tests/oracle")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with("check_") && name.ends_with(".py") {
                scripts.push(path);
            }
        }
    }
    scripts.sort();
    for script in scripts {
        println!("oracle {}", script.strip_prefix(root()).unwrap_or(&script).display());
        let status = command(".env/bin/python", &[]).arg(&script).status();
        let result = match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{status}")),
            Err(error) => Err(format!("cannot start Python: {error}")),
        };
        tally.count(&script.display().to_string(), result);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::closing_line;

    #[test]
    fn counts_are_read_from_closing_lines() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(closing_line(line), Some((12, 3)));
        assert_eq!(closing_line("test a::b ... ok"), None);
    }
}
