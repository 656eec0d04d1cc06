//! Writing captures that tcpdump and Wireshark read.
//!
//! pcap is written as version 2.4, pcapng as 1.0 with one interface per link type, both little
//! endian. Lengths are written as given, also where the captured one exceeds the original.

use std::fmt;
use std::io::{self, Write};

use super::{Format, Frame, PACKET_BYTES_MAX, Resolution};
use crate::link::LinkType;

/// Bytes collected before they are passed on.
const BUFFER_BYTES: usize = 256 * 1024;

/// Writes packets to a pcap or pcapng stream.
///
/// It buffers on its own; `output` need not. Only [`finish`](CaptureWriter::finish) makes the file
/// whole: a writer that is dropped loses what it has buffered.
#[derive(Debug)]
pub struct CaptureWriter<W> {
    output: W,
    buffer: Vec<u8>,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    Pcap {
        resolution: Resolution,
        link_type: LinkType,
    },
    /// The link types of the interfaces described so far; an interface's number is its position.
    Pcapng {
        interfaces: Vec<LinkType>,
    },
}

/// Why a packet could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// The packet's link type is not that of the pcap file; pcapng would take it.
    OtherLinkType {
        /// Of the file.
        file: LinkType,
        /// Of the packet.
        packet: LinkType,
    },
    /// A link type that the format has no room for: 16 bits in pcapng, 26 in pcap.
    LinkTypeRange {
        /// The link type.
        link_type: LinkType,
    },
    /// The operating system could not write.
    Io(io::Error),
}

impl<W: Write> CaptureWriter<W> {
    /// Begins a file. Nothing reaches `output` before the first 256 KiB, a flush, or the end.
    pub fn new(output: W, format: Format) -> Result<Self, WriteError> {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let layout = match format {
            Format::Pcap { resolution, link_type } => {
                put_pcap_header(&mut buffer, resolution, link_type)?;
                Layout::Pcap { resolution, link_type }
            }
            Format::Pcapng => {
                put_section_header(&mut buffer);
                Layout::Pcapng { interfaces: Vec::new() }
            }
        };
        Ok(CaptureWriter { output, buffer, layout })
    }

    /// Adds a packet.
    ///
    /// Data beyond [`PACKET_BYTES_MAX`] are cut off, as a capturing program would; `orig_len` still
    /// tells. A pcap file holds times to its resolution, up to the year 2106: later ones become the
    /// last that it can hold. After an I/O error the file is unusable; after another error it is as
    /// it was before the call.
    pub fn write(&mut self, frame: Frame<'_>) -> Result<(), WriteError> {
        let data = &frame.data[..frame.data.len().min(PACKET_BYTES_MAX as usize)];
        let captured = u32::try_from(data.len()).expect("at most PACKET_BYTES_MAX");
        match &mut self.layout {
            Layout::Pcap { resolution, link_type } => {
                if frame.link_type != *link_type {
                    return Err(WriteError::OtherLinkType { file: *link_type, packet: frame.link_type });
                }
                let (seconds, fraction) = seconds_and_fraction(frame.time_ns, *resolution);
                put_u32s(&mut self.buffer, [seconds, fraction, captured, frame.orig_len]);
                self.buffer.extend_from_slice(data);
            }
            Layout::Pcapng { interfaces } => {
                let interface = interface_of(&mut self.buffer, interfaces, frame.link_type)?;
                let padding = captured.next_multiple_of(4) - captured;
                let length = 32 + captured + padding;
                let (high, low) = ((frame.time_ns >> 32) as u32, frame.time_ns as u32);
                put_u32s(&mut self.buffer, [6, length, interface, high, low, captured, frame.orig_len]);
                self.buffer.extend_from_slice(data);
                self.buffer.extend_from_slice(&[0; 3][..padding as usize]);
                put_u32s(&mut self.buffer, [length]);
            }
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.pass_on()?;
        }
        Ok(())
    }

    /// Passes everything written so far to the output, and flushes it: for live captures.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.pass_on()?;
        self.output.flush().map_err(WriteError::Io)
    }

    /// Ends the file and returns the flushed output.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if let Layout::Pcapng { interfaces } = &mut self.layout
            && interfaces.is_empty()
        {
            // tcpdump refuses a file without any interface, even if it holds no packets.
            interface_of(&mut self.buffer, interfaces, LinkType::ETHERNET)?;
        }
        self.flush()?;
        Ok(self.output)
    }

    fn pass_on(&mut self) -> Result<(), WriteError> {
        self.output.write_all(&self.buffer).map_err(WriteError::Io)?;
        self.buffer.clear();
        Ok(())
    }
}

fn put_pcap_header(out: &mut Vec<u8>, resolution: Resolution, link_type: LinkType) -> Result<(), WriteError> {
    if link_type.0 >= 1 << 26 {
        return Err(WriteError::LinkTypeRange { link_type });
    }
    let magic = match resolution {
        Resolution::Microseconds => 0xa1b2_c3d4,
        Resolution::Nanoseconds => 0xa1b2_3c4d,
    };
    // Magic, version 2.4, two unused words, snap length, link type.
    put_u32s(out, [magic, 4 << 16 | 2, 0, 0, PACKET_BYTES_MAX, link_type.0]);
    Ok(())
}

fn put_section_header(out: &mut Vec<u8>) {
    // Byte-order magic, version 1.0, then the section's length: -1, not known beforehand.
    put_u32s(out, [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
}

/// The number of the interface for `link_type`, which is described first if it is new.
fn interface_of(out: &mut Vec<u8>, interfaces: &mut Vec<LinkType>, link_type: LinkType) -> Result<u32, WriteError> {
    let known = interfaces.iter().position(|known| *known == link_type);
    if known.is_none() {
        if link_type.0 > u32::from(u16::MAX) {
            return Err(WriteError::LinkTypeRange { link_type });
        }
        // Link type, snap length, option 9 (time resolution) of one byte: 10^-9 s, end of options.
        put_u32s(out, [1, 32, link_type.0, PACKET_BYTES_MAX, 1 << 16 | 9, 9, 0, 32]);
        interfaces.push(link_type);
    }
    let interface = known.unwrap_or(interfaces.len() - 1);
    Ok(u32::try_from(interface).expect("at most 65,536 link types fit 16 bits"))
}

fn put_u32s<const N: usize>(out: &mut Vec<u8>, words: [u32; N]) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// The two time fields of a pcap record.
fn seconds_and_fraction(time_ns: u64, resolution: Resolution) -> (u32, u32) {
    const NS_PER_S: u64 = 1_000_000_000;
    let time_ns = time_ns.min(u64::from(u32::MAX) * NS_PER_S + (NS_PER_S - 1));
    let seconds = u32::try_from(time_ns / NS_PER_S).expect("bounded above");
    let nanoseconds = (time_ns % NS_PER_S) as u32;
    match resolution {
        Resolution::Microseconds => (seconds, nanoseconds / 1_000),
        Resolution::Nanoseconds => (seconds, nanoseconds),
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::OtherLinkType { file, packet } => write!(
                f,
                "a packet of link type {packet} does not fit a pcap file of link type {file}; \
                 write pcapng, which holds both"
            ),
            WriteError::LinkTypeRange { link_type } => {
                write!(f, "link type {link_type} is too large for the file format")
            }
            WriteError::Io(source) => write!(f, "cannot write the capture: {source}"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Io(source) => Some(source),
            WriteError::OtherLinkType { .. } | WriteError::LinkTypeRange { .. } => None,
        }
    }
}
