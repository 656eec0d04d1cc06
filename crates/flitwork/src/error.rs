//! Faults of the environment: files that cannot be read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be read or written. The user mends it: the message says how.
#[derive(Debug)]
pub struct FileError {
    /// As the user named it.
    pub path: PathBuf,
    /// What was tried.
    pub access: Access,
    /// The operating system's reason.
    pub source: io::Error,
}

/// What was tried with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading it.
    Read,
    /// Creating, writing or renaming it.
    Write,
}

impl FileError {
    /// `path` could not be read.
    pub fn reading(path: &Path, source: io::Error) -> FileError {
        FileError { path: path.to_path_buf(), access: Access::Read, source }
    }

    /// `path` could not be written.
    pub fn writing(path: &Path, source: io::Error) -> FileError {
        FileError { path: path.to_path_buf(), access: Access::Write, source }
    }

    /// What the user can do about it; empty where the reason says enough.
    pub fn remedy(&self) -> &'static str {
        match (self.source.kind(), self.access) {
            (io::ErrorKind::NotFound, Access::Read) => "check the path; it is relative to the current folder",
            (io::ErrorKind::NotFound, Access::Write) => "its folder does not exist; create it first",
            (io::ErrorKind::PermissionDenied, Access::Read) => "ask for read permission, or copy the file",
            (io::ErrorKind::PermissionDenied, Access::Write) => "choose another place, or change its permissions",
            (io::ErrorKind::IsADirectory, _) => "it is a folder; name a file in it",
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge, _) => {
                "make room or choose another place; nothing was left under this name"
            }
            _ => "",
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.access {
            Access::Read => "read",
            Access::Write => "write",
        };
        write!(f, "cannot {verb} {}: {}", self.path.display(), reason(&self.source))?;
        match self.remedy() {
            "" => Ok(()),
            remedy => write!(f, "; {remedy}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The operating system's words without the error number, which helps nobody.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
