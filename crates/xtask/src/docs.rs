//! Generated pages of the book: what the code knows is never written twice.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::process::output;
use crate::{TaskResult, root};

/// A page of the book and its text.
struct Page {
    path: PathBuf,
    text: String,
}

/// Writes each page, or with `check` fails if one differs from the file.
pub fn run(check: bool) -> TaskResult {
    let mut stale = Vec::new();
    for page in pages()? {
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

fn pages() -> Result<Vec<Page>, String> {
    let page = |path: &str, text| Page { path: path.into(), text };
    Ok(vec![
        page("reference/ops.md", ir::reference_page()),
        page("reference/errors.md", error_codes()),
        page("reference/elements.md", catalogue()?),
    ])
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

/// Every element of the library: ports, parameters, signals, and what it does.
fn catalogue() -> Result<String, String> {
    let listed = flitwork(&["elements", "--json"])?;
    let listed: Value = serde_json::from_str(&listed).map_err(|error| format!("flitwork elements --json: {error}"))?;
    let elements = listed["elements"].as_array().ok_or("flitwork elements --json lists no elements")?;
    let mut text = String::from(
        "# Element library\n\nThe same at the terminal: `flitwork elements`, `flitwork elements NAME`. Import one by the path given.\n",
    );
    let mut category = "";
    for element in elements {
        let name = element["name"].as_str().unwrap_or_default();
        if element["category"].as_str() != Some(category) {
            category = element["category"].as_str().unwrap_or_default();
            text.push_str(&format!("\n## {category}\n"));
        }
        let page = flitwork(&["elements", name])?;
        text.push_str(&format!("\n### {name}\n\n```text\n{}\n```\n", page.trim_end()));
    }
    Ok(text)
}

fn flitwork(arguments: &[&str]) -> Result<String, String> {
    let mut all = vec!["run", "--quiet", "--package", "flitwork", "--"];
    all.extend(arguments);
    output("cargo", &all)
}
