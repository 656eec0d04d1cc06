//! The formatter and the tree printer on whole files.
//!
//! `BLESS=1` writes the expected files. For every file of the repository that parses: formatting keeps tree and comments,
//! and formatting again changes nothing.

use std::path::{Path, PathBuf};

use diag::{FileId, Severity};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn check(path: &Path, actual: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, actual).unwrap();
    }
    assert_eq!(actual, std::fs::read_to_string(path).unwrap(), "{}", path.display());
}

fn tree(text: &str) -> String {
    let parsed = syntax::parse(FileId(0), text);
    let errors = parsed.diagnostics.iter().filter(|d| d.severity() == Severity::Error).map(|d| &d.message);
    assert_eq!(errors.collect::<Vec<_>>(), Vec::<&String>::new());
    syntax::dump(&parsed.file)
}

/// Every comment, white space inside it evened out.
fn comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        rest = &rest[at..];
        let length = match rest.as_bytes() {
            [b'"', ..] => 2 + rest[1..].find('"').unwrap(),
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.find("*/").unwrap() + 2,
            _ => 1,
        };
        if length > 1 {
            found.push(rest[..length].split_whitespace().collect::<Vec<_>>().join(" "));
        }
        rest = &rest[length..];
    }
    found
}

fn assert_kept(name: &str, text: &str) {
    let Ok(formatted) = syntax::format(text) else { return };
    assert_eq!(tree(&formatted), tree(text), "the tree of {name} changed");
    assert_eq!(comments(&formatted), comments(text), "the comments of {name} changed");
    assert_eq!(syntax::format(&formatted).unwrap(), formatted, "formatting {name} twice");
}

fn clnp_files(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            clnp_files(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "clnp") {
            files.push(path);
        }
    }
}

#[test]
fn every_construct_as_a_tree() {
    let text = std::fs::read_to_string(data("everything.clnp")).unwrap();
    check(&data("everything.ast"), &tree(&text));
}

#[test]
fn messy_file_formatted() {
    let text = std::fs::read_to_string(data("messy.clnp")).unwrap();
    check(&data("messy.formatted.clnp"), &syntax::format(&text).unwrap());
}

#[test]
fn formatting_keeps_every_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for dir in ["elements", "examples", "tests", "crates/syntax/tests/data"] {
        clnp_files(&root.join(dir), &mut files);
    }
    assert!(!files.is_empty());
    for path in files {
        assert_kept(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn files_with_errors_are_refused() {
    let refused = syntax::format(".element E <1, 1> { .handler { x = ; } }").unwrap_err();
    assert_eq!(refused.iter().map(|d| d.code).collect::<Vec<_>>(), [diag::Code::E0101]);
}
