//! The house rules that a program can check.
//!
//! Crate edges; files open with what they are for; no glob imports, no `unwrap` outside tests, no markers of unfinished work;
//! names of files; every error code with its page and a test file; every page of the book reachable and its links alive.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::output;
use crate::{TaskResult, crate_edges, root};

/// Past this a file holds a second noun. Tables of one shape may need more and are named here.
const LINES_MAX: usize = 900;
/// File stems that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "misc", "helpers"];

/// Prints every breach and fails if there is one.
pub fn run() -> TaskResult {
    let mut breaches = crate_edges::violations()?;
    let files = tracked_files()?;
    for path in files.iter().filter(|path| has_extension(path, "rs")) {
        let text = read(path)?;
        let is_test = path.components().any(|part| part.as_os_str() == "tests");
        breaches
            .extend(rust_breaches(&text, is_test).into_iter().map(|breach| format!("{}: {breach}", path.display())));
        breaches.extend(name_breach(path));
    }
    breaches.extend(code_breaches(&files)?);
    breaches.extend(book_breaches(&files)?);
    breaches.extend(path_breaches(&files)?);
    for breach in &breaches {
        println!("{breach}");
    }
    if breaches.is_empty() { Ok(()) } else { Err(format!("{} breaches of the house rules", breaches.len())) }
}

fn tracked_files() -> Result<Vec<PathBuf>, String> {
    let listed = output("git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.lines().map(PathBuf::from).filter(|path| root().join(path).is_file()).collect())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{}: {error}", path.display()))
}

/// The texts of the chosen files, one after the other.
fn read_all(files: &[PathBuf], chosen: impl Fn(&Path) -> bool) -> Result<String, String> {
    files.iter().filter(|path| chosen(path)).map(|path| read(path)).collect()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn name_breach(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    EMPTY_NAMES.contains(&stem).then(|| format!("{}: name the file for what it holds", path.display()))
}

/// Breaches inside one Rust file, each as `line N: …`.
fn rust_breaches(text: &str, is_test: bool) -> Vec<String> {
    let mut found = Vec::new();
    if !text.starts_with("//!") {
        found.push("line 1: open with `//!` and what the file is for".to_string());
    }
    let n_lines = text.lines().count();
    if n_lines > LINES_MAX {
        found.push(format!("{n_lines} lines: look for a second noun (the most is {LINES_MAX})"));
    }
    let tests_within = text.lines().position(|line| line.trim() == "#[cfg(test)]");
    let tests_from = if is_test { 0 } else { tests_within.unwrap_or(usize::MAX) };
    for (at, line) in text.lines().enumerate() {
        found.extend(line_breach(line, at < tests_from).map(|breach| format!("line {}: {breach}", at + 1)));
    }
    found
}

fn line_breach(line: &str, outside_tests: bool) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or_default();
    // Inside one function, the variants of one enum may be named bare.
    let is_glob_import = code.starts_with("use ") && code.trim_end().ends_with("::*;");
    // Spelt in halves, so that this file does not match itself.
    let unfinished =
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME"), concat!("#[", "ignore")];
    if is_glob_import && outside_tests {
        Some("import names one by one")
    } else if unfinished.iter().any(|marker| line.contains(marker)) {
        Some("unfinished work")
    } else if outside_tests && code.contains(concat!(".unwrap", "()")) {
        Some("say with `expect` why it cannot fail, or handle it")
    } else {
        None
    }
}

/// Each code of the table has a page that opens with `# CODE: title`, and a file in `tests/errors` (or a test where a file cannot) that shows it.
fn code_breaches(files: &[PathBuf]) -> Result<Vec<String>, String> {
    let reports = read_all(files, |path| path.starts_with("tests/errors") && has_extension(path, "expected"))?;
    let is_rust_test =
        |path: &Path| path.components().any(|part| part.as_os_str() == "tests") && has_extension(path, "rs");
    let rust_tests = read_all(files, is_rust_test)?;
    let mut found = Vec::new();
    for &code in diag::Code::ALL {
        let heading = format!("# {code}: {}", code.title());
        if code.page().lines().next() != Some(&heading) {
            found.push(format!("crates/diag/explain/{code}.md: the first line must be `{heading}`"));
        }
        if code.page().lines().count() < 5 {
            found.push(format!("crates/diag/explain/{code}.md: explain, show it wrong and show it right"));
        }
        if !reports.contains(&format!("[{code}]")) && !rust_tests.contains(&format!("\"{code}\"")) {
            found.push(format!("{code}: neither a file in tests/errors nor a test shows it"));
        }
    }
    Ok(found)
}

/// Every page of the book is in its summary, and every relative link leads to a file.
fn book_breaches(files: &[PathBuf]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let summary = read(Path::new("docs/src/SUMMARY.md"))?;
    for path in files.iter().filter(|path| has_extension(path, "md")) {
        let text = read(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for link in links(&text) {
            if !root().join(folder).join(link).exists() {
                found.push(format!("{}: the link `{link}` leads nowhere", path.display()));
            }
        }
        if let Ok(page) = path.strip_prefix("docs/src")
            && page != Path::new("SUMMARY.md")
            && !summary.contains(&format!("({})", page.display()))
        {
            found.push(format!("{}: not in docs/src/SUMMARY.md", path.display()));
        }
    }
    Ok(found)
}

/// Targets of the relative links in a Markdown text, without anchors.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let rest = &line[at + 2..];
            let target = rest.split([')', '#']).next().unwrap_or_default();
            let is_relative = !target.is_empty() && !target.contains("://") && !target.contains(' ');
            let in_backticks = line[..at].matches('`').count() % 2 == 1;
            if is_relative && !in_backticks {
                found.push(target);
            }
        }
    }
    found
}

/// No text file carries a path of the machine that it was written on.
fn path_breaches(files: &[PathBuf]) -> Result<Vec<String>, String> {
    let here = root().display().to_string();
    let mut found = Vec::new();
    for path in files {
        let bytes = fs::read(root().join(path)).map_err(|error| format!("{}: {error}", path.display()))?;
        if String::from_utf8(bytes).is_ok_and(|text| text.contains(&here)) {
            found.push(format!("{}: carries a path of this machine", path.display()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{links, rust_breaches};

    #[test]
    fn breaches_are_named_with_their_lines() {
        let text = concat!("use std::fs;\nuse std::io::*;\nfn f() { g().unwrap", "(); }\n");
        assert_eq!(
            rust_breaches(text, false),
            [
                "line 1: open with `//!` and what the file is for",
                "line 2: import names one by one",
                "line 3: say with `expect` why it cannot fail, or handle it",
            ]
        );
    }

    #[test]
    fn tests_may_unwrap() {
        let text = concat!("//! One.\n#[cfg(test)]\nmod tests { fn f() { g().unwrap", "(); } }\n");
        assert_eq!(rust_breaches(text, false), Vec::<String>::new());
    }

    #[test]
    fn links_are_found_outside_code() {
        let text = "See [a](a.md#x) and `[b](b.md)`.\n```\n[c](c.md)\n```\n[d](https://d.example/)";
        assert_eq!(links(text), ["a.md"]);
    }
}
