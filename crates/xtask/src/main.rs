//! Project tasks, reached as `cargo xtask <task>`.
//!
//! Everything that a person or the continuous integration does to this repository besides building it: installing outside
//! tools, running all tests, checking the house rules, measuring, and printing the bars.

mod bars;
mod bench;
mod captures;
mod crate_edges;
mod docs;
mod fuzz;
mod live;
mod native;
mod native_files;
mod process;
mod test;
mod tidy;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A task that failed, as one line for the person at the terminal.
type TaskResult = Result<(), String>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project tasks of Flitwork")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what the tests need: Debian packages and a Python environment in `.env/`.
    Tools,
    /// Install tools, check the house rules, run every test, and print how many passed.
    Test,
    /// Check the house rules: crate edges, file sizes, documentation of error codes, markers of unfinished work.
    Tidy,
    /// Run each fuzz target for a short while; `engines` instead runs random designs on every engine.
    Fuzz {
        /// What to run if not the fuzz targets.
        #[command(subcommand)]
        what: Option<FuzzWhat>,
        /// Seconds for each target.
        #[arg(long, default_value_t = 20)]
        seconds: u32,
    },
    /// Write the generated pages of the book, or check with `--check` that they are up to date.
    Docs {
        /// Only compare; fail if a page would change.
        #[arg(long)]
        check: bool,
    },
    /// Run the program between network namespaces: bytes, rates, faults, a storm of signals. Needs root.
    Live,
    /// Measure and write a record in `bench/results`.
    Bench {
        /// `run`: both engines over whole runs, `run.json`; `native`: the native engine beside programs written by hand, `native.json`.
        #[arg(default_value = "run", value_parser = ["run", "native"])]
        what: String,
    },
    /// Print one line per bar: `AREA NAME FIGURE UNIT TARGET pass|fail`; exit code 1 if any fails.
    Bars {
        /// Only this area (`run`, `native`).
        #[arg(long)]
        area: Option<String>,
    },
}

#[derive(Subcommand)]
enum FuzzWhat {
    /// Run random designs on every engine and compare; what differs is shrunk and kept in `tests/crashers`.
    Engines {
        /// Minutes to run.
        #[arg(long, default_value_t = 5.0)]
        minutes: f64,
        /// The first seed; each design takes the next one. By default it changes every second.
        #[arg(long)]
        seed: Option<u64>,
        /// At most so many designs.
        #[arg(long)]
        designs: Option<u64>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Tools => tools::install(),
        Task::Live => live::run(),
        Task::Test => test::run(),
        Task::Tidy => tidy::run(),
        Task::Fuzz { what: Some(FuzzWhat::Engines { minutes, seed, designs }), .. } => {
            fuzz::engines(minutes, seed, designs)
        }
        Task::Fuzz { what: None, seconds } => fuzz::run_all(seconds),
        Task::Docs { check } => docs::run(check),
        Task::Bench { what } if what == "native" => native::bench(),
        Task::Bench { .. } => bench::run(),
        Task::Bars { area } => bars::run(area.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("xtask lies in crates/xtask").to_path_buf()
}
