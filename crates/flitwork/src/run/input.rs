//! Captures as sources of packets: files, pipes and standard input, with a way to stop while they wait.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use packet::capture::{CaptureError, Format};
use runtime::{CaptureSource, Filled, IoError, Packet, PacketSource};

use crate::FileError;

/// How often a reader that waits for a pipe looks whether it should stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// A capture that could not be read to its end.
#[derive(Debug)]
pub struct InputError {
    /// As the user named it.
    pub path: PathBuf,
    /// What is wrong, and where.
    pub error: CaptureError,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// One capture that feeds a boundary port.
#[derive(Debug)]
pub struct CaptureInput {
    path: PathBuf,
    source: CaptureSource<Stream>,
    is_piped: bool,
    stop: Arc<AtomicBool>,
}

impl CaptureInput {
    /// Opens a capture; `-` is standard input. `stop` ends it early, as if the file ended there.
    ///
    /// A file that is no capture, or whose header is damaged, is refused here.
    pub fn open(path: &Path, stop: Arc<AtomicBool>) -> Result<CaptureInput, OpenError> {
        let stream = Stream::open(path, Arc::clone(&stop)).map_err(|source| FileError::reading(path, source))?;
        let is_piped = matches!(stream, Stream::Piped(_));
        let source = CaptureSource::new(stream).map_err(|error| InputError { path: path.to_path_buf(), error })?;
        Ok(CaptureInput { path: path.to_path_buf(), source, is_piped, stop })
    }

    /// The capture's format.
    pub fn format(&self) -> Format {
        self.source.reader().format()
    }
}

impl PacketSource for CaptureInput {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        // What a pipe has given must not wait for what it will give.
        let n_wanted = if self.is_piped { 1 } else { packets.len() };
        let outcome = self.source.fill(&mut packets[..n_wanted]);
        if self.stop.load(Ordering::Relaxed) {
            // A pipe that was cut off because the user stopped the run is not damaged.
            return Ok(Filled::End);
        }
        outcome.map_err(|error| match error.downcast::<CaptureError>() {
            Ok(error) => InputError { path: self.path.clone(), error: *error }.into(),
            Err(error) => error,
        })
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}

/// Why a capture could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read.
    File(FileError),
    /// It is no capture.
    Capture(InputError),
}

impl From<FileError> for OpenError {
    fn from(error: FileError) -> OpenError {
        OpenError::File(error)
    }
}

impl From<InputError> for OpenError {
    fn from(error: InputError) -> OpenError {
        OpenError::Capture(error)
    }
}

/// The length of a regular file; nothing for pipes and standard input.
pub fn file_bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|meta| meta.len())
}

/// Bytes of a file, or of something that may keep its reader waiting.
#[derive(Debug)]
enum Stream {
    File(File),
    Piped(Piped),
}

impl Stream {
    fn open(path: &Path, stop: Arc<AtomicBool>) -> io::Result<Stream> {
        if path == Path::new("-") {
            return Ok(Stream::Piped(Piped::new(|| Ok(io::stdin()), stop)));
        }
        let meta = fs::metadata(path)?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if meta.is_file() {
            return Ok(Stream::File(File::open(path)?));
        }
        let path = path.to_path_buf();
        Ok(Stream::Piped(Piped::new(move || File::open(path), stop)))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::File(file) => file.read(buffer),
            Stream::Piped(piped) => piped.read(buffer),
        }
    }
}

/// A pipe read by a thread of its own, so that a reader that waits for bytes can still be stopped.
#[derive(Debug)]
struct Piped {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of `chunk` that were handed out.
    n_taken: usize,
    stop: Arc<AtomicBool>,
}

impl Piped {
    /// Opening a pipe waits for its writer, so the thread does that too.
    fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static, stop: Arc<AtomicBool>) -> Piped {
        const CHUNK_BYTES: usize = 64 * 1024;
        let (sender, chunks) = sync_channel(4);
        std::thread::spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => {
                    // If nobody listens any more, nobody needs to know.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                let outcome = match input.read(&mut chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    outcome => outcome.map(|n_bytes| {
                        chunk.truncate(n_bytes);
                        chunk
                    }),
                };
                let is_last = !matches!(&outcome, Ok(chunk) if !chunk.is_empty());
                if sender.send(outcome).is_err() || is_last {
                    return;
                }
            }
        });
        Piped { chunks, chunk: Vec::new(), n_taken: 0, stop }
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.n_taken == self.chunk.len() {
            match self.chunks.recv_timeout(STOP_CHECK) {
                Ok(chunk) => {
                    self.chunk = chunk?;
                    self.n_taken = 0;
                    if self.chunk.is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let rest = &self.chunk[self.n_taken..];
        let n_bytes = rest.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&rest[..n_bytes]);
        self.n_taken += n_bytes;
        Ok(n_bytes)
    }
}
