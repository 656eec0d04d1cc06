//! The native engine beside fused programs written by hand for the same work.
//!
//! `cargo xtask bench native` builds this for the processor that it runs on, and reads the JSON that it prints. Both sides of a row get the
//! same packets from memory, copied in once. Before anything is timed, both run over the same packets, faulty ones among them, and must
//! give the same bytes on the same outputs.

mod batch;
mod ceilings;
mod clock;
mod graph;
mod measure;
mod processor;
mod random;
mod rows;
mod traffic;
mod verify;

use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use measure::Plan;
use rows::{ROWS, Row, Tables};

#[derive(Parser)]
#[command(name = "bench-native", about = "Measures the native engine beside programs written by hand")]
struct Arguments {
    /// Only these rows, such as `router,pass`.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Lengths of the packets in bytes.
    #[arg(long, value_delimiter = ',', default_value = "64,512,1500")]
    lengths: Vec<usize>,
    /// Interleaved repeats; the median counts.
    #[arg(long, default_value_t = 9)]
    repeats: usize,
    /// Measures the interpreter as well.
    #[arg(long)]
    interp: bool,
    /// Measures without comparing both sides first.
    #[arg(long)]
    unverified: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench-native: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let is_chosen = |row: &Row| arguments.rows.is_empty() || arguments.rows.iter().any(|name| name == row.name());
    let rows: Vec<Row> = ROWS.iter().copied().filter(is_chosen).collect();
    let tables = Tables::new();
    if !arguments.unverified {
        rows.iter().try_for_each(|&row| verify::verify(row, &tables))?;
    }
    let (lengths, n_repeats) = (&arguments.lengths, arguments.repeats.max(1));
    let plan = Plan { rows: &rows, lengths, n_repeats, interp: arguments.interp };
    let results = measure::measure(plan, &tables)?;
    let record = json!({
        "avx512": cfg!(target_feature = "avx512f"),
        "repeats": n_repeats,
        "results": results,
    });
    println!("{record:#}");
    Ok(())
}
