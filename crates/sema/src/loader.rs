//! Where source text comes from.
//!
//! The front end does no input or output itself: it asks a [`Loader`] for the file behind an import. The program's loader looks
//! in the folder of the importing file, in each library folder and in the embedded library; [`MapLoader`] looks in a map.

use std::collections::BTreeMap;

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The file's one name: equal for two imports exactly if they mean the same file. Shown in reports.
    pub name: String,
    /// The whole text, below 4 GiB.
    pub text: String,
}

/// Why a file could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// Nothing of that name is at any of the places, which are in the order of trying. The user mends the path.
    NotFound {
        /// Places as they should be shown.
        tried: Vec<String>,
    },
    /// It is there and cannot be read. Whoever runs the program mends the file or its permissions.
    Unreadable {
        /// The file, as it should be shown.
        name: String,
        /// Why, in a few words.
        reason: String,
    },
}

/// Finds source files.
pub trait Loader {
    /// The file that `path` means when it is imported by the file named `importer` (a [`Loaded::name`]), or, without one, the
    /// root file that the user asked for.
    fn load(&self, importer: Option<&str>, path: &str) -> Result<Loaded, LoadError>;

    /// Import paths that name library files, such as `core/Pass.clnp`, in order. They serve suggestions only.
    fn candidates(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Files in memory: text by name. An import is looked up beside its importer, then as a full name.
#[derive(Clone, Debug, Default)]
pub struct MapLoader {
    files: BTreeMap<String, String>,
}

impl MapLoader {
    /// A loader of these `(name, text)` files; names use `/`.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> MapLoader {
        let files = files.into_iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        MapLoader { files }
    }
}

impl Loader for MapLoader {
    fn load(&self, importer: Option<&str>, path: &str) -> Result<Loaded, LoadError> {
        let beside =
            importer.and_then(|name| name.rsplit_once('/')).map(|(folder, _)| normalised(&format!("{folder}/{path}")));
        let tried: Vec<String> = beside.into_iter().chain([normalised(path)]).collect();
        match tried.iter().find_map(|name| self.files.get_key_value(name)) {
            Some((name, text)) => Ok(Loaded { name: name.clone(), text: text.clone() }),
            None => Err(LoadError::NotFound { tried }),
        }
    }

    fn candidates(&self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }
}

/// The path without `.` and `..` where they can be taken out.
fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{LoadError, Loader, MapLoader};

    #[test]
    fn import_is_looked_up_beside_its_importer_first() {
        let loader = MapLoader::new([("a/x.clnp", "beside"), ("x.clnp", "top")]);
        assert_eq!(loader.load(Some("a/app.clnp"), "x.clnp").unwrap().text, "beside");
        assert_eq!(loader.load(Some("a/app.clnp"), "./../x.clnp").unwrap().text, "top");
        assert_eq!(loader.load(Some("b/app.clnp"), "x.clnp").unwrap().name, "x.clnp");
        let tried = vec!["a/y.clnp".to_string(), "y.clnp".to_string()];
        assert_eq!(loader.load(Some("a/app.clnp"), "y.clnp"), Err(LoadError::NotFound { tried }));
    }
}
