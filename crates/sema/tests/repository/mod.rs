//! The repository's files as the tests of this crate load them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sema::loader::{LoadError, Loaded, Loader};

/// The repository's folder.
pub fn root() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(above).expect("the crate lies in the repository")
}

/// All source files in a folder and below it, sorted; none if the folder is absent.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the repository can be read").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "clnp") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Names files by their path below a base folder; imports are looked up beside the importer, then in the element library,
/// whose files are named `library:…`.
pub struct RepositoryLoader {
    base: PathBuf,
    elements: PathBuf,
}

impl RepositoryLoader {
    /// For roots named by their path below a folder of the repository, or its own (`""`).
    pub fn in_folder(folder: &str) -> RepositoryLoader {
        RepositoryLoader { base: root().join(folder), elements: root().join("elements") }
    }

    fn places(&self, importer: Option<&str>, path: &str) -> Vec<(String, PathBuf)> {
        let in_library = |path: String| (format!("library:{path}"), self.elements.join(path));
        let beside = |importer: &str| match importer.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{path}"),
            None => path.to_string(),
        };
        match importer.map(|importer| (importer, importer.strip_prefix("library:"))) {
            None => vec![(path.to_string(), self.base.join(path))],
            Some((_, Some(embedded))) => vec![in_library(beside(embedded)), in_library(path.to_string())],
            Some((importer, None)) => {
                let name = beside(importer);
                let file = self.base.join(&name);
                vec![(name, file), in_library(path.to_string())]
            }
        }
    }
}

impl Loader for RepositoryLoader {
    fn load(&self, importer: Option<&str>, path: &str) -> Result<Loaded, LoadError> {
        let places = self.places(importer, path);
        let found = places.iter().find_map(|(name, file)| {
            let text = fs::read_to_string(file).ok()?;
            Some(Loaded { name: name.clone(), text })
        });
        found.ok_or_else(|| LoadError::NotFound { tried: places.into_iter().map(|(name, _)| name).collect() })
    }

    fn candidates(&self) -> Vec<String> {
        let below =
            |path: &PathBuf| path.strip_prefix(&self.elements).ok().map(|path| path.to_string_lossy().into_owned());
        files_below(&self.elements).iter().filter_map(below).collect()
    }
}
