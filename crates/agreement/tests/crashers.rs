//! Cases on which engines once differed: every folder of `tests/crashers`, on every engine, for ever.

use std::fs;
use std::path::Path;

use agreement::{Case, difference};

#[test]
fn engines_agree_on_every_case_that_was_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/crashers");
    let mut failed = Vec::new();
    for entry in fs::read_dir(&folder).expect("tests/crashers is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            let case = Case::load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            failed.extend(difference(&case).map(|difference| format!("{}: {difference:?}", path.display())));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
