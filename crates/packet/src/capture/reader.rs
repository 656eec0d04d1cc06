//! Reading a capture, whatever its format.
//!
//! The format is told by the first bytes, so any stream will do: a file, a pipe, a slice in memory.

use std::io::Read;

use super::classic::ClassicReader;
use super::error::{CaptureError, Foreign};
use super::pcapng::PcapngReader;
use super::source::Source;
use super::{Format, Record};

/// Reads the packets of a pcap or pcapng stream, in order.
///
/// It buffers on its own; `input` need not. No memory is allocated per packet.
#[derive(Debug)]
pub struct CaptureReader<R> {
    source: Source<R>,
    layout: Layout,
    /// Set by the end of the file and by an error: nothing is read after it.
    finished: bool,
}

#[derive(Debug)]
enum Layout {
    Classic(ClassicReader),
    Pcapng(PcapngReader),
}

impl<R: Read> CaptureReader<R> {
    /// Reads the file header: the pcap header, or the first section header of pcapng.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let mut source = Source::new(input);
        let layout = if let Some(classic) = ClassicReader::open(&mut source)? {
            Layout::Classic(classic)
        } else if let Some(pcapng) = PcapngReader::open(&mut source)? {
            Layout::Pcapng(pcapng)
        } else {
            return Err(CaptureError::NotACapture { found: foreign(source.peek_up_to(4)?) });
        };
        Ok(CaptureReader { source, layout, finished: false })
    }

    /// The file's format. Of a pcapng file, the link types are known only as its packets come.
    pub fn format(&self) -> Format {
        match &self.layout {
            Layout::Classic(classic) => classic.format(),
            Layout::Pcapng(_) => Format::Pcapng,
        }
    }

    /// Reads the next packet into `record`, or returns `false` at the end of the file.
    ///
    /// Every packet before an error has been returned when the error is. After an error or the end,
    /// `record` holds no packet and each further call returns `false`.
    pub fn next_into(&mut self, record: &mut Record) -> Result<bool, CaptureError> {
        record.data.clear();
        if self.finished {
            return Ok(false);
        }
        let outcome = match &mut self.layout {
            Layout::Classic(classic) => classic.next_into(&mut self.source, record),
            Layout::Pcapng(pcapng) => pcapng.next_into(&mut self.source, record),
        };
        match outcome {
            Ok(true) => self.source.count_packet(),
            Ok(false) | Err(_) => {
                self.finished = true;
                record.data.clear();
            }
        }
        outcome
    }

    /// How many packets have been read.
    pub fn n_packets(&self) -> u64 {
        self.source.place().packets_before
    }

    /// How many bytes of the file have been read, for showing progress.
    pub fn bytes_read(&self) -> u64 {
        self.source.offset()
    }
}

/// What a file with these first bytes, at most four, is.
fn foreign(first: &[u8]) -> Foreign {
    let mut bytes = [0; 4];
    bytes[..first.len()].copy_from_slice(first);
    match bytes {
        _ if first.is_empty() => Foreign::Empty,
        [0x1f, 0x8b, ..] => Foreign::Compressed("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd] => Foreign::Compressed("zstd"),
        [0xfd, b'7', b'z', b'X'] => Foreign::Compressed("xz"),
        [0x04, 0x22, 0x4d, 0x18] => Foreign::Compressed("lz4"),
        [b'B', b'Z', b'h', _] => Foreign::Compressed("bzip2"),
        _ => Foreign::Unknown(bytes),
    }
}
