//! An application as users keep it: a folder with fixed file names, or a single source file.
//!
//! A folder holds `app.clnp` and, if it wants to be run without arguments, `in.pcap`, `in.<port>.pcap` (also `.pcapng`) and `control`.

use std::path::{Path, PathBuf};

use crate::FileError;

/// The files of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// The root source file.
    pub source: PathBuf,
    /// The folder, if the application was given as one.
    pub folder: Option<PathBuf>,
}

impl App {
    /// The application at `path`.
    pub fn find(path: &Path) -> Result<App, FileError> {
        let meta = std::fs::metadata(path).map_err(|source| FileError::reading(path, source))?;
        if path.to_str().is_none() {
            return Err(FileError::reading(path, not_text()));
        }
        if !meta.is_dir() {
            return Ok(App { source: path.to_path_buf(), folder: None });
        }
        let source = path.join("app.clnp");
        match std::fs::metadata(&source) {
            Ok(meta) if meta.is_dir() => Err(FileError::reading(&source, std::io::ErrorKind::IsADirectory.into())),
            Ok(_) => Ok(App { source, folder: Some(path.to_path_buf()) }),
            Err(error) => Err(FileError::reading(&source, error)),
        }
    }

    /// The source file as a name for a loader.
    pub fn source_name(&self) -> String {
        self.source.to_string_lossy().into_owned()
    }

    /// The folder's control file.
    pub fn control(&self) -> Option<PathBuf> {
        self.existing(&["control"])
    }

    /// The folder's capture for the port that packets enter at first.
    pub fn input(&self) -> Option<PathBuf> {
        self.existing(&["in.pcap", "in.pcapng"])
    }

    /// The folder's capture for a port of its own.
    pub fn input_of(&self, port: &str) -> Option<PathBuf> {
        self.existing(&[&format!("in.{port}.pcap"), &format!("in.{port}.pcapng")])
    }

    fn existing(&self, names: &[&str]) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        names.iter().map(|name| folder.join(name)).find(|path| path.exists())
    }
}

/// Why a source file is refused by its name: reports and imports name files in text.
pub fn not_text() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, "its name is not UTF-8 text; rename it")
}
