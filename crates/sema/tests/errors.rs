//! Every `tests/errors/*.clnp` that parses, through the whole front end, against its saved reports.
//!
//! Each file shows one code, which begins its name; `NAME.expected` holds all reports, rendered plain. Files in folders below are
//! what some of them import. `BLESS=1` writes the expected texts. Files of E01 and W01 belong to the syntax crate's own test.

mod repository;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use diag::{Code, RenderStyle};
use repository::RepositoryLoader;
use sema::loader::MapLoader;

/// Name and rendered reports of every file that this test is for.
fn reports() -> BTreeMap<String, (PathBuf, String)> {
    let errors = repository::root().join("tests/errors");
    let loader = RepositoryLoader::in_folder("tests/errors");
    let mut reports = BTreeMap::new();
    for entry in fs::read_dir(&errors).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let belongs_here = name.ends_with(".clnp") && !name.starts_with("E01") && !name.starts_with("W01");
        if belongs_here {
            let analysis = sema::analyze(&name, &loader);
            let render = |diagnostic| diag::render(diagnostic, &analysis.sources, RenderStyle::Plain);
            let text = analysis.diagnostics.iter().map(render).collect::<Vec<_>>().join("\n");
            reports.insert(name, (path, text));
        }
    }
    reports
}

#[test]
fn reports_are_as_saved() {
    let mut differences = String::new();
    for (name, (path, text)) in reports() {
        let saved_at = path.with_extension("expected");
        if env::var_os("BLESS").is_some() {
            fs::write(&saved_at, &text).unwrap();
        }
        let saved = fs::read_to_string(&saved_at).unwrap_or_default();
        if saved != text {
            differences.push_str(&format!("{name}: expected\n{saved}\ngot\n{text}\n"));
        }
    }
    assert!(differences.is_empty(), "{differences}\nBLESS=1 writes what was got");
}

#[test]
fn every_file_shows_the_code_in_its_name() {
    for (name, (_, text)) in reports() {
        let code = name.split('_').next().unwrap();
        assert!(Code::parse(code).is_some(), "{name} does not begin with a code");
        assert!(text.contains(&format!("[{code}]")), "{name} reports\n{text}");
    }
}

/// Codes that this crate's graph half reports; bodies and element structure have their own list.
#[test]
fn every_graph_code_has_a_file() {
    let reports = reports();
    // E0002 needs a file that cannot be read; it is shown in `tests/graph.rs`.
    let codes = Code::ALL.iter().map(|code| code.name()).filter(|code| *code != "E0002");
    let of_graph = |code: &&str| {
        ["E00", "E02", "W02"].iter().any(|group| code.starts_with(group)) || ("E0401"..="E0409").contains(code)
    };
    let missing: Vec<&str> =
        codes.filter(of_graph).filter(|code| !reports.keys().any(|name| name.starts_with(code))).collect();
    assert_eq!(missing, Vec::<&str>::new(), "codes without a file in tests/errors");
}

/// Files with a line or a tail missing are what an editor sends while somebody types.
#[test]
fn broken_files_never_panic() {
    let of_graph = |name: &String| name.starts_with("E02") || name.starts_with("W02");
    for (name, (path, _)) in reports().into_iter().filter(|(name, _)| of_graph(name)) {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let without = [&lines[..at], &lines[at + 1..]].concat().join("\n");
            for broken in [without, lines[..at].join("\n")] {
                sema::analyze(&name, &MapLoader::new([(name.as_str(), broken.as_str())]));
            }
        }
    }
}
