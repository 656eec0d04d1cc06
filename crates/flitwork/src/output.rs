//! Output files that appear whole or not at all.
//!
//! Bytes go to a temporary file beside the target; [`OutputFile::commit`] puts it on disk and gives it its name in one step, so
//! whoever looks at the target sees the earlier file or the complete new one. Without a commit the temporary file is removed.
//! Devices, pipes and `-` (standard output) cannot be renamed and are written directly.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::FileError;

/// Temporary files that exist now, for [`remove_temporaries`].
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is being written.
#[derive(Debug)]
pub struct OutputFile {
    /// As the user named it.
    path: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    /// A device or a pipe.
    Direct(File),
    /// `target` is the file behind `path`, links followed.
    Temporary {
        file: File,
        temporary: PathBuf,
        target: PathBuf,
        /// Stays if it is not committed.
        lasts: bool,
    },
    /// Committed or given up.
    Closed,
}

impl OutputFile {
    /// Opens `path` for writing; `-` is standard output.
    ///
    /// Fails if the folder is missing or not writable, before any work is done for the file.
    pub fn create(path: &Path) -> Result<OutputFile, FileError> {
        let sink = open_sink(path, Naming::Hidden).map_err(|source| FileError::writing(path, source))?;
        Ok(OutputFile { path: path.to_path_buf(), sink })
    }

    /// As [`OutputFile::create`], but the temporary file can be seen (`NAME.part`) and stays if the program ends before the commit.
    pub fn create_lasting(path: &Path) -> Result<OutputFile, FileError> {
        let sink = open_sink(path, Naming::Part).map_err(|source| FileError::writing(path, source))?;
        Ok(OutputFile { path: path.to_path_buf(), sink })
    }

    /// The temporary file, if there is one.
    pub fn temporary(&self) -> Option<&Path> {
        match &self.sink {
            Sink::Temporary { temporary, .. } => Some(temporary),
            Sink::Stdout(_) | Sink::Direct(_) | Sink::Closed => None,
        }
    }

    /// As the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file durable and visible under its name.
    pub fn commit(mut self) -> Result<(), FileError> {
        self.finish().map_err(|source| FileError::writing(&self.path, source))
    }

    fn finish(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush()?,
            Sink::Direct(file) => file.flush()?,
            Sink::Temporary { file, temporary, target, .. } => {
                // Without the sync a power cut could leave an empty file under the final name.
                file.sync_all()?;
                if let Ok(earlier) = fs::metadata(&*target) {
                    fs::set_permissions(&*temporary, earlier.permissions())?;
                }
                fs::rename(&*temporary, &*target)?;
                forget(temporary);
            }
            Sink::Closed => {}
        }
        self.sink = Sink::Closed;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Direct(file) | Sink::Temporary { file, .. } => file.write(bytes),
            Sink::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Direct(file) | Sink::Temporary { file, .. } => file.flush(),
            Sink::Closed => Ok(()),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Sink::Temporary { temporary, lasts: false, .. } = &self.sink {
            // Nothing better can be done with an error here than leaving the file.
            let _ = fs::remove_file(temporary);
            forget(temporary);
        }
    }
}

/// Replaces the contents of `path` in one step.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes).map_err(|source| FileError::writing(path, source))?;
    file.commit()
}

/// Removes every temporary file of this process: for an end that skips destructors.
pub fn remove_temporaries() {
    let temporaries = TEMPORARIES.lock().map(|mut list| std::mem::take(&mut *list)).unwrap_or_default();
    for temporary in temporaries {
        let _ = fs::remove_file(temporary);
    }
}

/// Whether a path means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// What temporary files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// `.NAME.PROCESS.partial`.
    Hidden,
    /// `NAME.part`, or `NAME.part2` and so on if that was left by a run that was killed.
    Part,
}

fn open_sink(path: &Path, naming: Naming) -> io::Result<Sink> {
    if is_stdout(path) {
        return Ok(Sink::Stdout(io::stdout()));
    }
    // An open descriptor may lead to a regular file, which whoever opened it goes on using.
    if path.starts_with("/dev/fd") || path == Path::new("/dev/stderr") {
        return Ok(Sink::Direct(OpenOptions::new().write(true).open(path)?));
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) if !meta.is_file() => return Ok(Sink::Direct(OpenOptions::new().write(true).open(path)?)),
        // A file without write permission says that it must stay; a rename would not ask.
        Ok(_) => drop(OpenOptions::new().write(true).open(path)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let target = target_of(path);
    let Some(name) = target.file_name() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if naming == Naming::Part {
        return create_part(&target);
    }
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.partial", std::process::id()));
    let temporary = target.with_file_name(hidden);
    // The same folder may be written in several ways.
    let folder = temporary.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = fs::canonicalize(folder)?.join(temporary.file_name().expect("was just set"));
    if TEMPORARIES.lock().is_ok_and(|list| list.contains(&temporary)) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "another output is written to the same file"));
    }
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
    if let Ok(mut list) = TEMPORARIES.lock() {
        list.push(temporary.clone());
    }
    Ok(Sink::Temporary { file, temporary, target, lasts: false })
}

fn create_part(target: &Path) -> io::Result<Sink> {
    const PARTS_MAX: u32 = 1000;
    let mut number = 1;
    loop {
        let mut name = target.as_os_str().to_os_string();
        name.push(if number == 1 { ".part".to_string() } else { format!(".part{number}") });
        let temporary = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok(Sink::Temporary { file, temporary, target: target.to_path_buf(), lasts: true }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < PARTS_MAX => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The file behind a path, links followed, whether or not it exists.
fn target_of(path: &Path) -> PathBuf {
    // As many as Linux follows.
    const LINKS_MAX: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&target) {
            // A relative link is relative to the folder that holds it; an absolute one replaces the path.
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => break,
        }
    }
    target
}

fn forget(temporary: &Path) {
    if let Ok(mut list) = TEMPORARIES.lock() {
        list.retain(|path| path != temporary);
    }
}
