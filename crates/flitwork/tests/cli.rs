//! The program as its users meet it: arguments in; exit code, streams and files out.
//!
//! Every test works in a fresh folder of its own.

#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/live.rs"]
mod live;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/runs.rs"]
mod runs;
