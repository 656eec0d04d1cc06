//! Writes the tables of the embedded files: the element library, the examples that `flitwork new --from` copies, and the starter.
//!
//! Each table is a list of (path with `/`, `include_str!` or `include_bytes!` of the file), sorted by path, so that the build is
//! reproducible. A file that is added or changed triggers a new build, because its folder is watched.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Captures above this size stay out of the binary; `flitwork new --from` leaves them out and says so.
const EMBEDDED_BYTES_MAX: u64 = 256 * 1024;

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let repository = fs::canonicalize(manifest.join("../.."))?;

    let elements = files_below(&repository.join("elements"))?;
    let sources = elements.iter().filter(|path| path.extension().is_some_and(|ext| ext == "clnp"));
    let library = table(sources, &repository.join("elements"), "include_str");
    fs::write(out.join("library.rs"), library)?;

    let examples = files_below(&repository.join("examples"))?;
    let wanted = examples.iter().filter(|path| is_example_file(path));
    fs::write(out.join("examples.rs"), table(wanted, &repository.join("examples"), "include_bytes"))?;
    Ok(())
}

/// What a copied example needs to run: all but expected outputs and their judge, generators, and captures that are too large.
fn is_example_file(path: &Path) -> bool {
    let is_generated = path.components().any(|part| part.as_os_str() == "expected" || part.as_os_str() == "oracle");
    let is_program = path.extension().is_some_and(|ext| ext == "py" || ext == "sh");
    let is_small = fs::metadata(path).is_ok_and(|meta| meta.len() <= EMBEDDED_BYTES_MAX);
    !is_generated && !is_program && is_small
}

/// All files in a folder and below it, sorted; none if the folder is absent.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if !is_hidden {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The Rust text of a slice of `(path below root, contents)`.
fn table<'a>(files: impl Iterator<Item = &'a PathBuf>, root: &Path, include: &str) -> String {
    let mut text = String::from("&[\n");
    for path in files {
        let name = path.strip_prefix(root).expect("found below it").to_string_lossy().replace('\\', "/");
        writeln!(text, "    ({name:?}, {include}!({:?})),", path.display().to_string()).expect("strings take all text");
    }
    text.push_str("]\n");
    text
}
