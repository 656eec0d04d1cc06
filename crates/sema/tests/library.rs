//! Every file of the element library and every example goes through the front end without an error, and the designs of the
//! examples keep the rules of the intermediate representation.

mod repository;

use diag::{RenderStyle, Severity};
use repository::{RepositoryLoader, files_below};

/// All errors in a file of the repository, rendered, or else what is wrong with its design.
fn errors(path: &str) -> String {
    let analysis = sema::analyze(path, &RepositoryLoader::in_folder(""));
    if let Some(Err(faults)) = analysis.design.as_ref().map(ir::verify) {
        return format!("{path}: {faults:?}\n");
    }
    let render = |diagnostic| diag::render(diagnostic, &analysis.sources, RenderStyle::Plain);
    analysis.diagnostics.iter().filter(|report| report.severity() == Severity::Error).map(render).collect()
}

/// Checks all source files below a folder of the repository.
fn check(folder: &str) {
    let root = repository::root();
    let mut all = String::new();
    for file in files_below(&root.join(folder)) {
        let path = file.strip_prefix(&root).expect("found below it").to_string_lossy().into_owned();
        all.push_str(&errors(&path));
    }
    assert!(all.is_empty(), "{all}");
}

#[test]
fn elements_are_sound() {
    check("elements");
}

#[test]
fn examples_are_sound() {
    check("examples");
}
