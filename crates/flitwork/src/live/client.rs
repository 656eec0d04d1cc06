//! The other end of the control socket, for `flitwork signal`.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

/// A connection to a run.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the run that listens at `path`.
    pub fn connect(path: &Path) -> io::Result<Client> {
        Ok(Client { stream: BufReader::new(UnixStream::connect(path)?) })
    }

    /// Sends one request and gives the answer.
    pub fn ask(&mut self, request: &Value) -> io::Result<Value> {
        writeln!(self.stream.get_mut(), "{request}")?;
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the run has ended"));
        }
        serde_json::from_str(&line).map_err(io::Error::from)
    }
}
