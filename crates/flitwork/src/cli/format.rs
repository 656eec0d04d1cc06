//! `flitwork fmt`: source files in the one standard layout.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use diag::SourceMap;

use super::args::FmtArgs;
use super::check::sources_of;
use super::exit::{Exit, Failure};
use super::terminal::{error_style, say, say_aside};
use crate::loader::read_source;
use crate::{FileError, output};

/// Rewrites each file that is not in the standard layout; a file with syntax errors stays as it is.
pub fn run(args: &FmtArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    for path in paths(args)? {
        let outcome = if path == Path::new("-") { format_stdin(args.check)? } else { format_file(&path, args.check)? };
        match outcome {
            Outcome::Standard => {}
            Outcome::Rewritten => say_aside(&format!("formatted {}\n", path.display())),
            Outcome::WouldChange => {
                say(&format!("{}\n", path.display()))?;
                exit = Exit::Source;
            }
            Outcome::Refused => exit = Exit::Source,
        }
    }
    Ok(exit)
}

enum Outcome {
    Standard,
    Rewritten,
    WouldChange,
    /// It has syntax errors, which were shown.
    Refused,
}

fn paths(args: &FmtArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for path in &args.paths {
        match path == Path::new("-") {
            true => paths.push(path.clone()),
            false => paths.extend(sources_of(path)?),
        }
    }
    Ok(paths)
}

fn format_file(path: &Path, check_only: bool) -> Result<Outcome, Failure> {
    let text = read_source(path).map_err(|source| FileError::reading(path, source))?;
    let Some(formatted) = formatted(&path.display().to_string(), &text) else {
        return Ok(Outcome::Refused);
    };
    if formatted == text {
        return Ok(Outcome::Standard);
    }
    if check_only {
        return Ok(Outcome::WouldChange);
    }
    output::write_whole(path, formatted.as_bytes())?;
    Ok(Outcome::Rewritten)
}

fn format_stdin(check_only: bool) -> Result<Outcome, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|source| FileError::reading(Path::new("standard input"), source))?;
    let Some(formatted) = formatted("standard input", &text) else {
        return Ok(Outcome::Refused);
    };
    match (check_only, formatted == text) {
        (true, true) => Ok(Outcome::Standard),
        (true, false) => Ok(Outcome::WouldChange),
        (false, _) => {
            say(&formatted)?;
            Ok(Outcome::Standard)
        }
    }
}

/// The text in the standard layout; without one, its syntax errors have been shown.
fn formatted(name: &str, text: &str) -> Option<String> {
    match syntax::format(text) {
        Ok(formatted) => Some(formatted),
        Err(diagnostics) => {
            let mut sources = SourceMap::default();
            sources.add(name.to_string(), text.to_string());
            for diagnostic in &diagnostics {
                say_aside(&diag::render(diagnostic, &sources, error_style()));
            }
            None
        }
    }
}
