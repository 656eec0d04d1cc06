//! `flitwork elements`: the catalogue of the library.

use std::path::PathBuf;

use sema::suggest::nearest;
use serde::Serialize;

use super::args::ElementsArgs;
use super::exit::{Exit, Failure};
use super::table::{Align, Table};
use super::terminal::{bold, output_style, say, say_json};
use crate::catalogue::{CatalogueEntry, PortEntry, SignalEntry, catalogue};
use crate::loader::{FileLoader, source_files};
use crate::{FileError, library};

/// Lists all elements, or describes one.
pub fn run(args: &ElementsArgs) -> Result<Exit, Failure> {
    let mut entries = entries(&args.library.dirs)?;
    if let Some(name) = &args.name {
        let is_meant = |entry: &CatalogueEntry| entry.name == *name || entry.aliases.contains(name);
        if !entries.iter().any(is_meant) {
            return Err(unknown(name, &entries));
        }
        entries.retain(is_meant);
    }
    match (args.json, &args.name) {
        (true, _) => say_json(&Listing { elements: entries })?,
        (false, Some(_)) => say(&entries.iter().map(description).collect::<String>())?,
        (false, None) => say(&list(&entries))?,
    }
    Ok(Exit::Success)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    elements: Vec<CatalogueEntry>,
}

/// The elements of the given folders and of the embedded library; a folder's file hides the embedded one of the same path.
fn entries(dirs: &[PathBuf]) -> Result<Vec<CatalogueEntry>, Failure> {
    let mut paths: Vec<String> = library::FILES.iter().map(|(path, _)| path.to_string()).collect();
    for dir in dirs {
        let below_elements = dir.join("elements");
        let dir = if below_elements.is_dir() { &below_elements } else { dir };
        for path in source_files(dir).map_err(|source| FileError::reading(dir, source))? {
            paths.push(path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned());
        }
    }
    paths.sort();
    paths.dedup();
    Ok(catalogue(&paths, FileLoader::new(dirs)))
}

fn unknown(name: &str, entries: &[CatalogueEntry]) -> Failure {
    let known = || entries.iter().flat_map(|entry| [&entry.name].into_iter().chain(&entry.aliases)).map(String::as_str);
    let wanted = name.to_lowercase();
    let close: Vec<&str> = known().filter(|known| known.to_lowercase().contains(&wanted)).collect();
    let hint = match close.as_slice() {
        [] => match nearest(name, known()) {
            Some(near) => format!("did you mean {near}? `flitwork elements` lists all"),
            None => "`flitwork elements` lists all".to_string(),
        },
        close => format!("did you mean {}?", close.join(", ")),
    };
    Failure::usage(format!("the library has no element `{name}`; {hint}"))
}

fn list(entries: &[CatalogueEntry]) -> String {
    let mut text = String::new();
    let mut categories: Vec<&str> = entries.iter().map(|entry| entry.category.as_str()).collect();
    categories.dedup();
    for category in categories {
        let mut table = Table::new(&[("element", Align::Left), ("in/out", Align::Left), ("what it does", Align::Left)]);
        for entry in entries.iter().filter(|entry| entry.category == category) {
            let names: Vec<&str> = [&entry.name].into_iter().chain(&entry.aliases).map(String::as_str).collect();
            table.row(vec![names.join(", "), ports_short(entry), entry.summary.clone()]);
        }
        let heading = if category.is_empty() { "(top level)" } else { category };
        text.push_str(&format!("{}\n{}\n", bold(heading, output_style()), table.text()));
    }
    text.push_str(&format!("{} elements. `flitwork elements NAME` describes one.\n", entries.len()));
    text
}

fn ports_short(entry: &CatalogueEntry) -> String {
    let side = |ports: &[PortEntry]| match ports {
        [] => "0".to_string(),
        ports => ports.iter().map(|port| port.count.as_str()).collect::<Vec<_>>().join("+"),
    };
    format!("{}/{}", side(&entry.inputs), side(&entry.outputs))
}

fn description(entry: &CatalogueEntry) -> String {
    let style = output_style();
    let mut text = format!("{}\n", bold(&entry.name, style));
    let mut line = |label: &str, value: String| text.push_str(&format!("  {label:<9}{value}\n"));
    if !entry.aliases.is_empty() {
        line("also", entry.aliases.join(", "));
    }
    line("import", format!("import \"{}\";", entry.import));
    line("inputs", ports(&entry.inputs));
    line("outputs", ports(&entry.outputs));
    for param in &entry.params {
        let default = param.default.as_ref().map_or(String::new(), |value| format!(" = {value}"));
        let range = param.range.as_ref().map_or(String::new(), |range| format!("  ({range})"));
        line("param", format!("{} {}{default}{range}", param.ty, param.name));
    }
    for signal in &entry.signals {
        line("signal", signal_text(signal));
    }
    if !entry.doc.trim().is_empty() {
        text.push('\n');
        for doc_line in entry.doc.trim().lines() {
            text.push_str(format!("  {doc_line}").trim_end());
            text.push('\n');
        }
    }
    text.push('\n');
    text
}

fn ports(ports: &[PortEntry]) -> String {
    let shown: Vec<String> = ports.iter().map(|port| format!("{} x {}", port.count, port.message)).collect();
    if shown.is_empty() { "none".to_string() } else { shown.join(" + ") }
}

fn signal_text(signal: &SignalEntry) -> String {
    let params = signal.params.join(", ");
    let results =
        if signal.results.is_empty() { String::new() } else { format!(" -> ({})", signal.results.join(", ")) };
    let doc =
        signal.doc.lines().next().filter(|doc| !doc.is_empty()).map_or(String::new(), |doc| format!("  // {doc}"));
    format!("{}({params}){results}{doc}", signal.name)
}
