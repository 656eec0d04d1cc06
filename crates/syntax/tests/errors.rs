//! What users read about syntax errors: every `tests/errors/E01*.clnp` and `W01*.clnp` against its `.expected` text.
//!
//! `BLESS=1` writes the expected texts. The explain pages' examples are checked too: the wrong one shows the fault, the
//! right one shows none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diag::{Code, FileId, RenderStyle, SourceMap};

fn error_files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/errors");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.starts_with("E01") || name.starts_with("W01")) && name.ends_with(".clnp")
    });
    files.sort();
    files
}

fn rendered(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let mut sources = SourceMap::default();
    let file = sources.add(path.file_name().unwrap().to_str().unwrap().to_owned(), text.clone());
    let diagnostics = syntax::parse(file, &text).diagnostics;
    let reports: Vec<String> = diagnostics.iter().map(|one| diag::render(one, &sources, RenderStyle::Plain)).collect();
    reports.join("\n")
}

#[test]
fn reports_are_as_expected() {
    let mut differing = Vec::new();
    for path in error_files() {
        let expected_path = path.with_extension("expected");
        let actual = rendered(&path);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected_path, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if actual != expected {
            differing.push(format!("{}:\n{actual}", path.display()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

fn syntax_codes() -> BTreeSet<&'static str> {
    Code::ALL.iter().map(|code| code.name()).filter(|name| name.starts_with("E01") || name.starts_with("W01")).collect()
}

#[test]
fn every_code_has_a_file_that_shows_it() {
    let shown: BTreeSet<String> = error_files()
        .iter()
        .filter_map(|path| {
            let code = path.file_name().unwrap().to_str().unwrap()[..5].to_owned();
            rendered(path).contains(&format!("[{code}]")).then_some(code)
        })
        .collect();
    let missing: Vec<&str> = syntax_codes().into_iter().filter(|code| !shown.contains(*code)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn examples_of_the_pages_hold() {
    for name in syntax_codes() {
        let code = Code::parse(name).unwrap();
        let blocks: Vec<&str> =
            code.page().split("```clnp\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        let [wrong, right] = blocks[..] else { panic!("{name} has {} examples", blocks.len()) };
        let codes: Vec<Code> = syntax::parse(FileId(0), wrong).diagnostics.iter().map(|d| d.code).collect();
        assert!(
            !codes.is_empty() && codes.iter().all(|&found| found == code),
            "the wrong example of {name} gives {codes:?}"
        );
        let rest = syntax::parse(FileId(0), right).diagnostics;
        assert!(rest.is_empty(), "the right example of {name} gives {rest:?}");
    }
}
