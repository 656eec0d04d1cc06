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
        if !meta.is_dir() {
            return Ok(App { source: path.to_path_buf(), folder: None });
        }
        let source = path.join("app.clnp");
        match std::fs::metadata(&source) {
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
