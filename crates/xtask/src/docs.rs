//! Generated pages of the book: what the code knows is never written twice.

use std::fs;
use std::path::PathBuf;

use crate::{TaskResult, root};

/// A page of the book and its text.
struct Page {
    path: PathBuf,
    text: String,
}

/// Writes each page, or with `check` fails if one differs from the file.
pub fn run(check: bool) -> TaskResult {
    let mut stale = Vec::new();
    for page in pages() {
        let path = root().join("docs/src").join(&page.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == page.text) {
            continue;
        }
        if check {
            stale.push(page.path.display().to_string());
        } else {
            write(&path, &page.text)?;
            println!("wrote docs/src/{}", page.path.display());
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("run `cargo xtask docs`: {} would change", stale.join(", "))) }
}

fn write(path: &std::path::Path, text: &str) -> TaskResult {
    let folder = path.parent().expect("a page lies in a folder");
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn pages() -> Vec<Page> {
    vec![Page { path: "reference/ops.md".into(), text: ir::reference_page() }, Page { path: "reference/errors.md".into(), text: error_codes() }]
}

/// Every error code with its page, in one page.
fn error_codes() -> String {
    let mut text = String::from("# Error codes\n\n`flitwork explain CODE` shows each of these at the terminal.\n");
    for code in diag::Code::ALL {
        let page = code.page().trim_end();
        text.push_str("\n#");
        text.push_str(page);
        text.push('\n');
    }
    text
}
