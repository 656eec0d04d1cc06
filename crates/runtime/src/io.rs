//! Where packets and messages come from and go to: the traits, and their versions over capture files.

use std::io::{Read, Write};

use ir::{Field, Value};
use packet::capture::{CaptureError, CaptureReader, CaptureWriter, Frame, Record, WriteError};

use crate::Packet;

/// Why a source or a sink failed, in words for the user.
pub type IoError = Box<dyn std::error::Error + Send + Sync>;

/// How far a source filled what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// So many packets, at least one.
    Packets(usize),
    /// None now, but there may be later: live interfaces.
    NotYet,
    /// None, and there will be no more.
    End,
}

/// Gives the packets of one boundary port, in order.
pub trait PacketSource {
    /// Reads packets into `packets` from the front, each of which was cleared: bytes, missing, time and link type.
    ///
    /// Bytes are as captured; the runtime puts other link layers into Ethernet. An error behind good packets is given by the next
    /// call; after it nothing more is read.
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError>;

    /// Bytes of the file read so far, for progress; 0 if there is no file.
    fn bytes_read(&self) -> u64 {
        0
    }
}

/// Takes the packets that leave at one boundary port.
pub trait PacketSink {
    /// Takes a packet, in the link type that it came in, stamped with the time of leaving.
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError>;

    /// Passes on what it holds back. Called between batches of packets, before the run waits, and at its end.
    fn flush(&mut self) -> Result<(), IoError> {
        Ok(())
    }
}

/// Takes the struct messages that leave at one boundary port.
pub trait MessageSink {
    /// Takes a message: a value for each field, and the time of leaving.
    fn write(&mut self, time_ns: u64, fields: &[Field], values: &[Value]) -> Result<(), IoError>;

    /// Passes on what it holds back, see [`PacketSink::flush`].
    fn flush(&mut self) -> Result<(), IoError> {
        Ok(())
    }
}

/// Takes the output of `trace`.
pub trait TraceSink {
    /// One line of an element.
    fn trace(&mut self, time_ns: u64, element: &str, text: &str);
}

/// A capture file as a source.
#[derive(Debug)]
pub struct CaptureSource<R> {
    reader: CaptureReader<R>,
    record: Record,
    /// What is wrong behind the packets given last.
    failure: Option<CaptureError>,
}

impl<R: Read> CaptureSource<R> {
    /// Reads the file header.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        Ok(CaptureSource { reader: CaptureReader::new(input)?, record: Record::default(), failure: None })
    }

    /// The reader, for the file's format.
    pub fn reader(&self) -> &CaptureReader<R> {
        &self.reader
    }

    fn read(&mut self, packet: &mut Packet) -> Result<bool, CaptureError> {
        if !self.reader.next_into(&mut self.record)? {
            return Ok(false);
        }
        let record = &self.record;
        packet.set_bytes(&record.data);
        let captured = record.data.len() as u32;
        packet.missing = record.orig_len.saturating_sub(captured);
        packet.excess = captured.saturating_sub(record.orig_len);
        packet.time_ns = record.time_ns;
        packet.link_type = record.link_type.0;
        Ok(true)
    }
}

impl<R: Read> PacketSource for CaptureSource<R> {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        for (n_filled, packet) in packets.iter_mut().enumerate() {
            match self.read(packet) {
                Ok(true) => {}
                Ok(false) if n_filled == 0 => return Ok(Filled::End),
                Ok(false) => return Ok(Filled::Packets(n_filled)),
                Err(error) if n_filled == 0 => return Err(error.into()),
                Err(error) => {
                    self.failure = Some(error);
                    return Ok(Filled::Packets(n_filled));
                }
            }
        }
        Ok(Filled::Packets(packets.len()))
    }

    fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }
}

impl<W: Write> PacketSink for CaptureWriter<W> {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        CaptureWriter::write(self, frame).map_err(|error: WriteError| error.into())
    }

    fn flush(&mut self) -> Result<(), IoError> {
        CaptureWriter::flush(self).map_err(|error: WriteError| error.into())
    }
}

impl<T: PacketSource + ?Sized> PacketSource for Box<T> {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        (**self).fill(packets)
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }
}

impl<T: PacketSource + ?Sized> PacketSource for &mut T {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        (**self).fill(packets)
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }
}

impl<T: PacketSink + ?Sized> PacketSink for &mut T {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        (**self).write(frame)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        (**self).flush()
    }
}

impl<T: MessageSink + ?Sized> MessageSink for &mut T {
    fn write(&mut self, time_ns: u64, fields: &[Field], values: &[Value]) -> Result<(), IoError> {
        (**self).write(time_ns, fields, values)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        (**self).flush()
    }
}

impl<T: TraceSink + ?Sized> TraceSink for &mut T {
    fn trace(&mut self, time_ns: u64, element: &str, text: &str) {
        (**self).trace(time_ns, element, text);
    }
}
