//! `flitwork check`: every fault in source files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diag::{Diagnostic, RenderStyle, Severity, SourceMap};
use serde::Serialize;

use super::args::CheckArgs;
use super::exit::{Exit, Failure};
use super::terminal::{error_style, say_aside, say_json};
use crate::app::not_text;
use crate::compile::{Compiled, compile};
use crate::loader::{FileLoader, source_files};
use crate::{FileError, library};

/// Checks each file as an application of its own.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut report = CheckReport::default();
    // A fault in a file that several others import is one fault.
    let mut shown = BTreeSet::new();
    for path in &args.paths {
        let mut dirs = args.library.dirs.clone();
        // Files of a library folder import each other by the path below it.
        dirs.extend(path.is_dir().then(|| path.clone()));
        for file in sources_of(path)? {
            let compiled = compile(&file.to_string_lossy(), &FileLoader::new(&dirs));
            report.files += 1;
            for diagnostic in of_interest(&compiled) {
                let text = diag::render(diagnostic, &compiled.sources, error_style());
                if shown.insert(text.clone()) {
                    report.add(diagnostic, &compiled.sources);
                    if !args.json {
                        say_aside(&text);
                    }
                }
            }
        }
    }
    match args.json {
        true => say_json(&report)?,
        false => say_aside(&report.summary()),
    }
    Ok(if report.errors > 0 { Exit::Source } else { Exit::Success })
}

/// The `.clnp` files that a path means: itself, or all in a folder.
pub fn sources_of(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let meta = std::fs::metadata(path).map_err(|source| FileError::reading(path, source))?;
    let files = match meta.is_dir() {
        true => source_files(path).map_err(|source| FileError::reading(path, source))?,
        false => vec![path.to_path_buf()],
    };
    if let Some(unnamed) = files.iter().find(|file| file.to_str().is_none()) {
        return Err(FileError::reading(unnamed, not_text()).into());
    }
    match files.is_empty() {
        true => Err(Failure::file(format!(
            "no .clnp file is in {}; name the folder that holds the sources",
            path.display()
        ))),
        false => Ok(files),
    }
}

/// Shows everything that is wrong with an application; refuses to go on if that includes errors.
pub fn show_diagnostics(compiled: &Compiled) -> Result<(), Exit> {
    let mut report = CheckReport::default();
    for diagnostic in of_interest(compiled) {
        report.add(diagnostic, &compiled.sources);
        say_aside(&diag::render(diagnostic, &compiled.sources, error_style()));
    }
    if report.errors == 0 {
        return Ok(());
    }
    report.files = 1;
    say_aside(&report.summary());
    Err(Exit::Source)
}

/// Everything but warnings about embedded files, which their users cannot mend.
fn of_interest(compiled: &Compiled) -> impl Iterator<Item = &Diagnostic> {
    let is_embedded =
        |diagnostic: &Diagnostic| compiled.sources.file(diagnostic.primary.span.file).name.starts_with(library::PREFIX);
    compiled
        .diagnostics
        .iter()
        .filter(move |diagnostic| diagnostic.severity() == Severity::Error || !is_embedded(diagnostic))
}

/// What `--json` prints.
#[derive(Debug, Default, Serialize)]
pub struct CheckReport {
    files: usize,
    errors: usize,
    warnings: usize,
    diagnostics: Vec<DiagnosticEntry>,
}

#[derive(Debug, Serialize)]
struct DiagnosticEntry {
    code: &'static str,
    severity: &'static str,
    file: String,
    /// From 1.
    line: u32,
    /// From 1, in characters.
    column: u32,
    end_line: u32,
    end_column: u32,
    message: String,
    label: String,
    help: String,
    related: Vec<RelatedEntry>,
    /// As people see it.
    rendered: String,
}

#[derive(Debug, Serialize)]
struct RelatedEntry {
    place: String,
    text: String,
}

impl CheckReport {
    /// The report on one application.
    pub fn of(compiled: &Compiled) -> CheckReport {
        let mut report = CheckReport { files: 1, ..CheckReport::default() };
        for diagnostic in of_interest(compiled) {
            report.add(diagnostic, &compiled.sources);
        }
        report
    }

    fn add(&mut self, diagnostic: &Diagnostic, sources: &SourceMap) {
        let severity = match diagnostic.severity() {
            Severity::Error => {
                self.errors += 1;
                "error"
            }
            Severity::Warning => {
                self.warnings += 1;
                "warning"
            }
        };
        let span = diagnostic.primary.span;
        let file = sources.file(span.file);
        let (start, end) = (file.position(span.start), file.position(span.end));
        let related = diagnostic.related.iter();
        self.diagnostics.push(DiagnosticEntry {
            code: diagnostic.code.name(),
            severity,
            file: file.name.clone(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            message: diagnostic.message.clone(),
            label: diagnostic.primary.text.clone(),
            help: diagnostic.help.clone(),
            related: related
                .map(|label| RelatedEntry { place: sources.place(label.span), text: label.text.clone() })
                .collect(),
            rendered: diag::render(diagnostic, sources, RenderStyle::Plain),
        });
    }

    fn summary(&self) -> String {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let found = match (self.errors, self.warnings) {
            (0, 0) => "no errors".to_string(),
            (0, warnings) => count(warnings, "warning"),
            (errors, 0) => count(errors, "error"),
            (errors, warnings) => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
        };
        let codes: BTreeSet<&str> = self.diagnostics.iter().map(|entry| entry.code).collect();
        let hint = match codes.first() {
            Some(code) => format!("; `flitwork explain {code}` tells more"),
            None => String::new(),
        };
        format!("{}: {found}{hint}\n", count(self.files, "file"))
    }
}
