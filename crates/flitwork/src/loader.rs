//! Finds source files: beside the importing file, in library folders, in the embedded library.
//!
//! Every file has one name, the path by which it was met first, however many ways lead to it; an embedded file is named
//! `library:core/Pass.clnp`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sema::loader::{LoadError, Loaded, Loader};

use crate::library;

/// The [`Loader`] of the program.
#[derive(Debug, Default)]
pub struct FileLoader {
    /// Searched in order, each as it is and for its `elements` folder.
    library_dirs: Vec<PathBuf>,
    /// Files that stand for ones on disk, by the name that the root or an import gives them.
    overlays: BTreeMap<String, String>,
    /// Real path to the name by which the file was met first.
    names: Mutex<BTreeMap<PathBuf, String>>,
}

impl FileLoader {
    /// A loader that looks in these folders before the embedded library.
    pub fn new(library_dirs: &[PathBuf]) -> FileLoader {
        FileLoader { library_dirs: library_dirs.to_vec(), ..FileLoader::default() }
    }

    /// Makes `name` mean this text, whether or not such a file exists.
    pub fn with_text(mut self, name: &str, text: &str) -> FileLoader {
        self.overlays.insert(name.to_string(), text.to_string());
        self
    }

    /// The files that an import could mean, best first.
    fn places(&self, importer: Option<&str>, path: &str) -> Vec<Place> {
        let mut places = Vec::new();
        match importer {
            None => return vec![Place::of_name(path)],
            Some(importer) => match importer.strip_prefix(library::PREFIX) {
                Some(embedded) => {
                    let folder = embedded.rsplit_once('/').map_or("", |(folder, _)| folder);
                    places.push(Place::Embedded(normalised(&format!("{folder}/{path}"))));
                }
                None => {
                    let folder = Path::new(importer).parent().unwrap_or(Path::new(""));
                    places.push(Place::File(folder.join(path)));
                }
            },
        }
        for dir in &self.library_dirs {
            places.push(Place::File(dir.join(path)));
            places.push(Place::File(dir.join("elements").join(path)));
        }
        let below_root = normalised(path);
        places.push(Place::Embedded(below_root.strip_prefix("elements/").unwrap_or(&below_root).to_string()));
        places
    }

    /// The text at a place, or nothing if there is no such file.
    fn read(&self, place: &Place) -> Result<Option<Loaded>, LoadError> {
        match place {
            Place::Embedded(path) => {
                let name = format!("{}{path}", library::PREFIX);
                Ok(library::file(path).map(|text| Loaded { name, text: text.to_string() }))
            }
            Place::File(path) => {
                let shown = shown(path);
                if let Some(text) = self.overlays.get(&shown) {
                    return Ok(Some(Loaded { name: shown, text: text.clone() }));
                }
                match read_source(path) {
                    Ok(text) => Ok(Some(Loaded { name: self.first_name(path, shown), text })),
                    Err(error) if is_absent(&error) => Ok(None),
                    Err(error) => Err(LoadError::Unreadable { name: shown, reason: error.to_string() }),
                }
            }
        }
    }

    fn first_name(&self, path: &Path, shown: String) -> String {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        match self.names.lock() {
            Ok(mut names) => names.entry(real).or_insert(shown).clone(),
            Err(_) => shown,
        }
    }
}

impl Loader for FileLoader {
    fn load(&self, importer: Option<&str>, path: &str) -> Result<Loaded, LoadError> {
        let places = self.places(importer, path);
        for place in &places {
            if let Some(loaded) = self.read(place)? {
                return Ok(loaded);
            }
        }
        let tried = places.iter().map(Place::shown).collect();
        Err(LoadError::NotFound { tried })
    }

    fn candidates(&self) -> Vec<String> {
        let mut paths: Vec<String> = library::FILES.iter().map(|(path, _)| path.to_string()).collect();
        for dir in &self.library_dirs {
            let found = source_files(dir).unwrap_or_default();
            let below = found.iter().filter_map(|path| path.strip_prefix(dir).ok());
            paths.extend(below.map(|path| shown(path.strip_prefix("elements").unwrap_or(path))));
        }
        paths.sort();
        paths.dedup();
        paths
    }
}

/// Where a file may be.
enum Place {
    File(PathBuf),
    /// Path below the root of the embedded library.
    Embedded(String),
}

impl Place {
    /// The place of a root file.
    fn of_name(name: &str) -> Place {
        match name.strip_prefix(library::PREFIX) {
            Some(embedded) => Place::Embedded(embedded.to_string()),
            None => Place::File(PathBuf::from(name)),
        }
    }

    fn shown(&self) -> String {
        match self {
            Place::File(path) => shown(path),
            Place::Embedded(path) => format!("{}{path}", library::PREFIX),
        }
    }
}

/// All `.clnp` files in a folder and below it, sorted; hidden folders are passed over.
pub fn source_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // The entry's own type: a link to a folder above would make an endless tree.
        if entry.file_type()?.is_dir() {
            if !entry.file_name().to_string_lossy().starts_with('.') {
                files.extend(source_files(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "clnp") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A source file's text.
pub fn read_source(path: &Path) -> io::Result<String> {
    // Spans count bytes in 32 bits, and nobody writes sources of this size.
    const SOURCE_BYTES_MAX: u64 = 64 << 20;
    if fs::metadata(path)?.len() > SOURCE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 64 MiB, so it is no source file"));
    }
    let bytes = fs::read(path)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text (byte {at})"))
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory)
}

/// A path as reports show it: `/` between parts, without `.` and removable `..`.
fn shown(path: &Path) -> String {
    normalised(&path.to_string_lossy())
}

fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for (at, part) in path.split('/').enumerate() {
        match part {
            "." => {}
            "" if at > 0 => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    match parts.as_slice() {
        [""] => "/".to_string(),
        _ => parts.join("/").trim_start_matches("./").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FileLoader, normalised};
    use sema::loader::{LoadError, Loader as _};

    #[test]
    fn paths_are_shown_without_detours() {
        let cases =
            [("./a/../b.clnp", "b.clnp"), ("/a//b/./c", "/a/b/c"), ("../a", "../a"), ("a/../../b", "../b"), ("/", "/")];
        for (path, expected) in cases {
            assert_eq!(normalised(path), expected, "{path}");
        }
    }

    #[test]
    fn embedded_files_import_each_other() {
        let loader = FileLoader::default();
        let pass = loader.load(Some("nowhere/app.clnp"), "core/Pass.clnp").unwrap();
        assert_eq!(pass.name, "library:core/Pass.clnp");
        assert_eq!(loader.load(Some("nowhere/app.clnp"), "elements/core/Pass.clnp").unwrap(), pass);
        assert_eq!(loader.load(Some("library:core/Tee.clnp"), "Pass.clnp").unwrap(), pass);
        assert_eq!(loader.load(Some("library:core/Tee.clnp"), "core/Pass.clnp").unwrap(), pass);
    }

    #[test]
    fn absent_file_names_every_place_tried() {
        let loader = FileLoader::new(&["lib".into()]);
        let tried = ["a/x.clnp", "lib/x.clnp", "lib/elements/x.clnp", "library:x.clnp"].map(String::from).to_vec();
        assert_eq!(loader.load(Some("a/app.clnp"), "x.clnp"), Err(LoadError::NotFound { tried }));
    }
}
