//! The element library and the examples, as they were when the program was built.
//!
//! An installed `flitwork` needs no files beside it: imports fall back to these texts, `flitwork new` copies from them. Users see
//! an embedded file as `library:core/Pass.clnp`.

/// What stands before the path of an embedded file in every report.
pub const PREFIX: &str = "library:";

/// Path below `elements/` (`core/Pass.clnp`) and text of every library file, sorted by path.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// Path below `examples/` (`Firewall/app.clnp`) and contents of what `flitwork new --from` copies, sorted by path.
pub const EXAMPLE_FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The text of a library file by its path, with or without [`PREFIX`].
pub fn file(path: &str) -> Option<&'static str> {
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    let at = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    Some(FILES[at].1)
}

/// The names of the embedded examples, sorted.
pub fn examples() -> Vec<&'static str> {
    let mut names: Vec<&str> = EXAMPLE_FILES.iter().filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect();
    names.dedup();
    names
}
