//! The documents compile: each block marked `clnp` of the README and the book is a whole file without errors.
//!
//! On pages of error codes, the block after "Wrong:" must be refused with the code of its heading, the one after "Right:" must
//! be free of errors. Fragments, which are no whole files, are marked `text`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A fenced block and where it stands.
struct Block {
    /// `docs/src/guide/tutorial.md:27`.
    place: String,
    /// The error code that it must be refused with.
    wrong: Option<String>,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/flitwork is two levels deep").to_path_buf()
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the book is a folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// All `clnp` blocks of a page.
fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("UTF-8");
    let name = page.strip_prefix(root()).expect("below the root").display();
    let mut found = Vec::new();
    let mut open: Option<(bool, Block)> = None;
    let (mut code, mut is_wrong) = (None, false);
    for (line, number) in text.lines().zip(1..) {
        match &mut open {
            Some(_) if line.starts_with("```") => {
                found.extend(open.take().filter(|(is_source, _)| *is_source).map(|(_, block)| block))
            }
            Some((_, block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None if line.starts_with("```") => {
                let wrong = code.clone().filter(|_| is_wrong);
                open =
                    Some((line == "```clnp", Block { place: format!("{name}:{number}"), wrong, text: String::new() }));
            }
            None if line.starts_with('#') => {
                is_wrong = false;
                code = line.trim_start_matches('#').split_once(':').map(|(code, _)| code.trim().to_string());
            }
            None if line.starts_with("Wrong") => is_wrong = true,
            None if line.starts_with("Right") => is_wrong = false,
            None => {}
        }
    }
    assert!(open.is_none(), "{name}: the last block is not closed");
    found
}

/// What `flitwork check` reports of a block, as `CODE: message`, errors and warnings.
fn reports(block: &Block, folder: &Path) -> Vec<String> {
    let path = folder.join(format!("{}.clnp", block.place.replace(['/', ':', '.'], "_")));
    fs::write(&path, &block.text).expect("writable");
    let output =
        Command::new(env!("CARGO_BIN_EXE_flitwork")).args(["check", "--json"]).arg(&path).output().expect("starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let listed = report["diagnostics"].as_array().expect("a list of reports");
    let text = |report: &Value, member: &str| report[member].as_str().expect("a text").to_string();
    listed.iter().map(|report| format!("{}: {}", text(report, "code"), text(report, "message"))).collect()
}

#[test]
fn every_block_compiles() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs");
    fs::create_dir_all(&folder).expect("the target folder is writable");
    let mut files = vec![root().join("README.md")];
    pages(&root().join("docs/src"), &mut files);
    files.sort();
    let blocks: Vec<Block> = files.iter().flat_map(|page| blocks(page)).collect();
    assert!(blocks.len() > 50, "only {} blocks were found", blocks.len());
    let mut faults = Vec::new();
    for block in &blocks {
        let reports = reports(block, &folder);
        match &block.wrong {
            Some(code) if reports.iter().any(|report| report.starts_with(code.as_str())) => {}
            Some(code) => faults.push(format!("{}: should be refused with {code}, has {reports:?}", block.place)),
            None if reports.iter().all(|report| report.starts_with('W')) => {}
            None => faults.push(format!("{}: {reports:?}", block.place)),
        }
    }
    assert!(faults.is_empty(), "blocks that do not do what the page says:\n{}", faults.join("\n"));
}
