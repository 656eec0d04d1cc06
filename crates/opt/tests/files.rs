//! Each pass on the files of `tests/opt/<pass>/`: `NAME.ir` becomes `NAME.expected.ir`, whole texts compared.
//!
//! `BLESS=1` writes the expected files; read the difference. They are right because they were read, and because
//! `random.rs` shows that passes keep behaviour.

use std::fs;
use std::path::{Path, PathBuf};

use ir::{Body, Chain, Design, Element, Spans, parse, print, verify, verify_chain};
use opt::{cse, dce, fold, fuse, pipeline, reads, runs};

fn check(pass: &str, run: impl Fn(Design) -> Design) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/opt").join(pass);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("a folder for the pass").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| !path.to_string_lossy().ends_with(".expected.ir"));
    files.sort();
    assert!(!files.is_empty(), "a pass has files");
    let mut wrong = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a file");
        let design = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if let Err(errors) = verify(&design) {
            panic!("{}: {}", path.display(), errors[0]);
        }
        let found = print(&run(design), Spans::Omit);
        let expected_path = path.with_extension("expected.ir");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected_path, &found).expect("a writable file");
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}\n--- expected\n{expected}\n--- found\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn each_body(mut design: Design, pass: impl Fn(&Element, &Body) -> Body) -> Design {
    let before = design.clone();
    for (element, before) in design.elements.iter_mut().zip(&before.elements) {
        for body in element.bodies_mut() {
            *body = pass(before, body);
        }
    }
    design
}

#[test]
fn fold_files() {
    // Without the clearing up of `dce`, the left-over constants would hide what matters.
    check("fold", |design| each_body(design, |_, body| dce::run(&fold::run(body), dce::Loads::Unobserved)));
}

#[test]
fn cse_files() {
    check("cse", |design| each_body(design, |_, body| cse::run(body)));
}

#[test]
fn reads_files() {
    check("reads", |design| each_body(design, |_, body| reads::run(body)));
}

#[test]
fn dce_files() {
    check("dce", |design| each_body(design, |element, body| dce::run(body, pipeline::loads(element))));
}

/// The chain of a design as its only element.
fn chain(design: Design, pass: impl Fn(&Design, Chain) -> Chain) -> Design {
    let chain = pass(&design, fuse::run(&design).expect("a chain"));
    if let Err(errors) = verify_chain(&design, &chain) {
        panic!("{}", errors[0]);
    }
    Design { elements: vec![chain.element(&design)], channels: vec![], ..design }
}

#[test]
fn fuse_files() {
    check("fuse", |design| chain(design, |_, chain| chain));
}

#[test]
fn chain_files() {
    check("chain", |design| chain(design, pipeline::run_chain));
}

#[test]
fn runs_files() {
    check("runs", |design| {
        let changed = runs::run(&design);
        if let Err(errors) = verify(&changed) {
            panic!("{}", errors[0]);
        }
        changed
    });
}

#[test]
fn pipeline_files() {
    check("pipeline", pipeline::run);
}
