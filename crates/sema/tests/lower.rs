//! `tests/lower/*.clnp` through the front end, against the saved text of the design.
//!
//! One feature a file, small enough to be read; what the code computes is judged elsewhere, by running it. The designs must
//! also pass the verifier. `BLESS=1` writes.

use std::path::Path;
use std::{env, fs};

use sema::loader::MapLoader;

#[test]
fn bodies_are_lowered_as_saved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lower");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "clnp") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let analysis = sema::analyze(&name, &MapLoader::new([(name.as_str(), text.as_str())]));
        let errors = analysis.diagnostics.iter().filter(|report| report.severity() == diag::Severity::Error);
        let errors: Vec<String> =
            errors.map(|report| diag::render(report, &analysis.sources, diag::RenderStyle::Plain)).collect();
        let Some(design) = analysis.design else { panic!("{name}: no design\n{}", errors.concat()) };
        if let Err(problems) = ir::verify(&design) {
            panic!("{name}: {problems:?}");
        }
        let printed = ir::print(&design, ir::Spans::Omit);
        let saved = path.with_extension("ir");
        if env::var_os("BLESS").is_some() {
            fs::write(&saved, &printed).unwrap();
        }
        if fs::read_to_string(&saved).unwrap_or_default() != printed {
            wrong.push(format!("{name}:\n{printed}"));
        }
    }
    assert!(wrong.is_empty(), "differ (BLESS=1 writes):\n{}", wrong.join("\n"));
}
