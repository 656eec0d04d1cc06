//! Files that packets and messages leave into, by the extension of their names.
//!
//! A capture begins with its first packet, because only that tells a pcap's link type. Nothing is visible under the final name
//! before [`PortOutput::finish`].

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ir::{Field, Value};
use packet::capture::{CaptureWriter, Format, Frame, Resolution, WriteError};
use packet::link::LinkType;
use runtime::{IoError, MessageSink, PacketSink};
use serde::{Serialize, Serializer};
use serde_json::Number;

use crate::FileError;
use crate::output::OutputFile;

/// A file that could not be written.
#[derive(Debug)]
pub enum OutputError {
    /// The operating system refused.
    File(FileError),
    /// A pcap file that would need two link types.
    OtherLinkType {
        /// The file.
        path: PathBuf,
        /// Its link type.
        file: LinkType,
        /// That of a packet.
        packet: LinkType,
    },
    /// A link type without a number in the format.
    LinkTypeRange {
        /// The file.
        path: PathBuf,
        /// The link type.
        link_type: LinkType,
    },
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputError::File(error) => error.fmt(f),
            OutputError::OtherLinkType { path, file, packet } => write!(
                f,
                "{}: a pcap file has one link type, here {file}, and a packet of link type {packet} leaves; write {}, which \
                 holds both",
                path.display(),
                path.with_extension("pcapng").display()
            ),
            OutputError::LinkTypeRange { path, link_type } => {
                write!(f, "{}: link type {link_type} has no place in this file format", path.display())
            }
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OutputError::File(error) => Some(error),
            OutputError::OtherLinkType { .. } | OutputError::LinkTypeRange { .. } => None,
        }
    }
}

/// The kinds of output files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// `.pcap`, and any other name: one link type, for every program to read.
    Pcap,
    /// `.pcapng`.
    Pcapng,
    /// `.jsonl`, `.json`: one JSON object a line, for struct messages.
    JsonLines,
}

impl OutputKind {
    /// The kind that a file name asks for.
    pub fn of(path: &Path) -> OutputKind {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("pcapng" | "ntar") => OutputKind::Pcapng,
            Some("jsonl" | "json") => OutputKind::JsonLines,
            Some(_) | None => OutputKind::Pcap,
        }
    }
}

/// For how long a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// A replay: the file is whole soon, or else not worth having.
    Batch,
    /// A live run: what has left must be in a file that can be read, whatever ends the program.
    Live,
}

/// How much of a live run a sudden end can cost.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// A capture being written.
#[derive(Debug)]
pub struct CaptureOutput {
    path: PathBuf,
    is_pcapng: bool,
    resolution: Resolution,
    /// Link type of a pcap without packets.
    link_type_default: LinkType,
    state: State,
    /// When what was written last went to the file; absent: not before the end.
    flushed: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// No packet yet.
    Empty(OutputFile),
    Begun(CaptureWriter<OutputFile>),
    /// Something went wrong; it was reported.
    Failed,
}

impl CaptureOutput {
    /// Where the packets are until the file has its name; absent if they are written under it.
    pub fn temporary(&self) -> Option<&Path> {
        match &self.state {
            State::Empty(file) => file.temporary(),
            State::Begun(_) | State::Failed => None,
        }
    }

    /// Opens the file. `input` is the format of what goes in: its resolution is kept, and a pcap without packets has its link type.
    pub fn create(
        path: &Path,
        kind: OutputKind,
        input: Option<Format>,
        lifetime: Lifetime,
    ) -> Result<CaptureOutput, FileError> {
        let (resolution, link_type_default) = match input {
            Some(Format::Pcap { resolution, link_type }) => (resolution, link_type),
            // pcapng captures are commonly in nanoseconds.
            Some(Format::Pcapng) => (Resolution::Nanoseconds, LinkType::ETHERNET),
            None => (Resolution::Microseconds, LinkType::ETHERNET),
        };
        let state = State::Empty(match lifetime {
            Lifetime::Batch => OutputFile::create(path)?,
            Lifetime::Live => OutputFile::create_lasting(path)?,
        });
        let flushed = (lifetime == Lifetime::Live).then(Instant::now);
        Ok(CaptureOutput {
            path: path.to_path_buf(),
            is_pcapng: kind == OutputKind::Pcapng,
            resolution,
            link_type_default,
            state,
            flushed,
        })
    }

    fn format(&self, link_type: LinkType) -> Format {
        match self.is_pcapng {
            true => Format::Pcapng,
            false => Format::Pcap { resolution: self.resolution, link_type },
        }
    }

    /// The writer, which begins the file if there is none.
    fn begun(&mut self, link_type: LinkType) -> Result<&mut CaptureWriter<OutputFile>, OutputError> {
        let format = self.format(link_type);
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Empty(file) => State::Begun(CaptureWriter::new(file, format).map_err(|error| self.explain(error))?),
            state => state,
        };
        match &mut self.state {
            State::Begun(writer) => Ok(writer),
            State::Empty(_) | State::Failed => Err(OutputError::File(FileError::writing(&self.path, broken()))),
        }
    }

    fn explain(&self, error: WriteError) -> OutputError {
        let path = self.path.clone();
        match error {
            WriteError::OtherLinkType { file, packet } => OutputError::OtherLinkType { path, file, packet },
            WriteError::LinkTypeRange { link_type } => OutputError::LinkTypeRange { path, link_type },
            WriteError::Io(source) => OutputError::File(FileError::writing(&path, source)),
        }
    }

    /// Makes the file whole and gives it its name.
    pub fn finish(mut self) -> Result<(), OutputError> {
        self.begun(self.link_type_default)?;
        let State::Begun(writer) = std::mem::replace(&mut self.state, State::Failed) else {
            unreachable!("begun just above");
        };
        let file = writer.finish().map_err(|error| self.explain(error))?;
        file.commit().map_err(OutputError::File)
    }
}

impl PacketSink for CaptureOutput {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        let outcome = self.begun(frame.link_type)?.write(frame);
        outcome.map_err(|error| {
            let error = self.explain(error);
            self.state = State::Failed;
            error.into()
        })
    }

    fn flush(&mut self) -> Result<(), IoError> {
        if self.flushed.is_none_or(|flushed| flushed.elapsed() < FLUSH_INTERVAL) {
            return Ok(());
        }
        self.flushed = Some(Instant::now());
        let writer = self.begun(self.link_type_default)?;
        writer.flush().map_err(|error| {
            let error = self.explain(error);
            self.state = State::Failed;
            error.into()
        })
    }
}

/// Struct messages as JSON, one object a line: `time_ns`, then the fields.
#[derive(Debug)]
pub struct MessageOutput {
    path: PathBuf,
    writer: BufWriter<OutputFile>,
    flushed: Option<Instant>,
}

impl MessageOutput {
    /// Opens the file.
    pub fn create(path: &Path, lifetime: Lifetime) -> Result<MessageOutput, FileError> {
        let (file, flushed) = match lifetime {
            Lifetime::Batch => (OutputFile::create(path)?, None),
            Lifetime::Live => (OutputFile::create_lasting(path)?, Some(Instant::now())),
        };
        Ok(MessageOutput { path: path.to_path_buf(), writer: BufWriter::new(file), flushed })
    }

    /// Where the messages are until the file has its name; absent if they are written under it.
    pub fn temporary(&self) -> Option<&Path> {
        self.writer.get_ref().temporary()
    }

    /// Makes the file whole and gives it its name.
    pub fn finish(self) -> Result<(), OutputError> {
        let file = self.writer.into_inner().map_err(|error| FileError::writing(&self.path, error.into_error()));
        file.and_then(OutputFile::commit).map_err(OutputError::File)
    }
}

impl MessageSink for MessageOutput {
    fn write(&mut self, time_ns: u64, fields: &[Field], values: &[Value]) -> Result<(), IoError> {
        let line = serde_json::to_string(&Line { time_ns, fields, values }).expect("keys are text");
        writeln!(self.writer, "{line}")
            .map_err(|source| OutputError::File(FileError::writing(&self.path, source)).into())
    }

    fn flush(&mut self) -> Result<(), IoError> {
        if self.flushed.is_none_or(|flushed| flushed.elapsed() < FLUSH_INTERVAL) {
            return Ok(());
        }
        self.flushed = Some(Instant::now());
        self.writer.flush().map_err(|source| OutputError::File(FileError::writing(&self.path, source)).into())
    }
}

/// A message in the order of its declaration.
struct Line<'l> {
    time_ns: u64,
    fields: &'l [Field],
    values: &'l [Value],
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.fields.iter().zip(self.values);
        let members = fields.map(|(field, value)| (field.name.as_str(), json_value(field, value)));
        serializer.collect_map([("time_ns", self.time_ns.into())].into_iter().chain(members))
    }
}

/// A number as JSON: a JSON number up to 64 bits, a hexadecimal string above, `true` and `false` for one bit.
pub fn json_value(field: &Field, value: &Value) -> serde_json::Value {
    if field.width.bits() == 1 {
        return serde_json::Value::Bool(!value.is_zero());
    }
    let number = match field.signed {
        true => value.to_i64(field.width).map(Number::from),
        false => value.to_u64().filter(|_| field.width.bits() <= 64).map(Number::from),
    };
    match number {
        Some(number) => serde_json::Value::Number(number),
        None => {
            let mut bytes = vec![0; field.width.bits().div_ceil(8) as usize];
            value.write_be_bytes(&mut bytes);
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            serde_json::Value::String(format!("0x{digits}"))
        }
    }
}

/// The file that belongs to a boundary output.
#[derive(Debug)]
pub enum PortOutput {
    /// Packets.
    Packets(CaptureOutput),
    /// Struct messages.
    Messages(MessageOutput),
}

impl PortOutput {
    /// Where it is written until the file has its name; absent if under it.
    pub fn temporary(&self) -> Option<&Path> {
        match self {
            PortOutput::Packets(output) => output.temporary(),
            PortOutput::Messages(output) => output.temporary(),
        }
    }

    /// Makes the file whole and gives it its name.
    pub fn finish(self) -> Result<(), OutputError> {
        match self {
            PortOutput::Packets(output) => output.finish(),
            PortOutput::Messages(output) => output.finish(),
        }
    }
}

fn broken() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
