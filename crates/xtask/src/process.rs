//! Running other programs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::{TaskResult, root};

/// A command that runs in the root of the repository.
pub fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Runs a command with its output on the terminal; an exit code other than 0 is an error.
pub fn run(program: &str, args: &[&str]) -> TaskResult {
    let status = command(program, args).status().map_err(|error| format!("cannot start {program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed: {status}", args.join(" "))) }
}

/// Runs a command and gives what it printed on standard output.
pub fn output(program: &str, args: &[&str]) -> Result<String, String> {
    let output = command(program, args).output().map_err(|error| format!("cannot start {program}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{program} {}` failed: {}\n{said}", args.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command, copies each line of its standard output to ours and hands it to `see`; gives whether it succeeded.
pub fn stream(program: &str, args: &[&str], mut see: impl FnMut(&str)) -> Result<bool, String> {
    let mut command = command(program, args);
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
    let reader = BufReader::new(child.stdout.take().expect("standard output is piped"));
    let mut terminal = std::io::stdout().lock();
    for line in reader.lines() {
        let line = line.map_err(|error| format!("cannot read from {program}: {error}"))?;
        writeln!(terminal, "{line}").map_err(|error| format!("cannot write to the terminal: {error}"))?;
        see(&line);
    }
    let status = child.wait().map_err(|error| format!("cannot wait for {program}: {error}"))?;
    Ok(status.success())
}

/// Whether a program is on the search path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
