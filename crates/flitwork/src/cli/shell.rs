//! `flitwork completions` and `flitwork man`: what a shell and `man` want to know.

use std::fs;

use clap::CommandFactory as _;

use super::args::{Cli, CompletionsArgs, ManArgs};
use super::exit::{Exit, Failure};
use super::terminal::say;
use crate::{FileError, output};

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "flitwork", &mut script);
    say(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Writes `flitwork.1` and a page for each command.
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    fs::create_dir_all(&args.dir).map_err(|source| FileError::writing(&args.dir, source))?;
    let mut root = Cli::command();
    root.build();
    let subcommands = root.get_subcommands().filter(|command| command.get_name() != "help").cloned();
    let pages: Vec<(String, clap::Command)> = [("flitwork".to_string(), root.clone())]
        .into_iter()
        .chain(subcommands.map(|command| (format!("flitwork-{}", command.get_name()), command)))
        .collect();
    for (name, command) in pages {
        let path = args.dir.join(format!("{name}.1"));
        let mut page = Vec::new();
        // The page's own name has a hyphen, as `man flitwork-run` wants it.
        let man = clap_mangen::Man::new(command).title(name);
        man.render(&mut page).map_err(|source| FileError::writing(&path, source))?;
        output::write_whole(&path, &page)?;
    }
    Ok(Exit::Success)
}
