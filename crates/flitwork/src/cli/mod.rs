//! The command line: arguments in, files, reports and an exit code out.
//!
//! Each command is a file; all of them end with an [`Exit`]. What programs may read goes to standard output, everything
//! else to standard error.

mod args;
mod check;
mod dump;
mod elements;
mod exit;
mod explain;
mod format;
mod graph;
mod inputs;
mod interrupt;
mod live;
mod new;
mod ports;
mod progress;
mod report;
mod run;
mod shell;
mod signal;
mod signals;
mod table;
mod terminal;
mod top;

use clap::Parser as _;

use args::{Cli, Command};
pub use exit::Exit;

/// Does what the program's arguments say.
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; clap knows which stream they belong to.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    let outcome = match cli.command {
        Command::New(args) => new::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Fmt(args) => format::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Elements(args) => elements::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Signal(args) => signal::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    };
    outcome.unwrap_or_else(|failure| {
        terminal::error(&failure.message);
        failure.exit
    })
}
