//! What can be wrong with a capture file, where, and what to do about it.
//!
//! Every error names the byte offset and the packet at which reading stopped; the packets before it
//! have been handed out already and stay good.

use std::fmt;
use std::io;

/// Why a capture could not be read (further).
#[derive(Debug)]
pub enum CaptureError {
    /// The file does not start as a pcap or pcapng file does. The user chose another kind of file.
    NotACapture {
        /// What it looks like instead.
        found: Foreign,
    },
    /// A pcap header or a pcapng section header with a version that has no published layout.
    UnsupportedVersion {
        /// Where the header is.
        place: Place,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// The file ends inside a record: the copy or the capture was cut short.
    Truncated {
        /// The record that is cut.
        place: Place,
        /// Length of the file: the offset at which bytes were missing.
        end: u64,
        /// Bytes that should have followed `end` for the part being read.
        missing: u64,
    },
    /// The bytes contradict the format: the file was damaged, or made by a faulty program.
    Damaged {
        /// The record at fault.
        place: Place,
        /// What is wrong with it.
        damage: Damage,
    },
    /// The operating system could not read the file.
    Io {
        /// The record being read.
        place: Place,
        /// The operating system's reason.
        source: io::Error,
    },
}

/// A record of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Offset of the record's first byte from the start of the file.
    pub offset: u64,
    /// How many packets were read before it.
    pub packets_before: u64,
}

/// A file that is not a capture, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// No bytes at all.
    Empty,
    /// A compressed file; the name is that of the program that unpacks it.
    Compressed(&'static str),
    /// Anything else, by its first bytes (zero where the file is shorter).
    Unknown([u8; 4]),
}

/// What contradicts the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A packet longer than [`PACKET_BYTES_MAX`](super::PACKET_BYTES_MAX).
    PacketTooLong {
        /// Its captured length as the file gives it.
        length: u32,
    },
    /// A pcapng block whose length cannot be: too short for its kind, or not a multiple of 4.
    BlockLength {
        /// The block's type.
        block_type: u32,
        /// Its length as the file gives it.
        length: u32,
        /// The shortest length that this kind of block has.
        length_min: u32,
    },
    /// The length at a pcapng block's end differs from the one at its start.
    BlockLengthsDiffer {
        /// At the start.
        first: u32,
        /// At the end.
        last: u32,
    },
    /// A packet longer than the pcapng block around it.
    PacketOverrunsBlock {
        /// Captured length.
        length: u32,
        /// Bytes that the block has for it.
        room: u32,
    },
    /// An option longer than the pcapng block around it, or a time option of the wrong length.
    Option {
        /// The option's code.
        code: u16,
        /// Its length as the file gives it.
        length: u16,
    },
    /// A packet of an interface that the pcapng section does not describe.
    UnknownInterface {
        /// The interface's number in the section.
        interface: u32,
        /// How many the section has described so far.
        n_interfaces: u32,
    },
    /// A pcapng section with more interfaces than any machine has.
    TooManyInterfaces {
        /// The limit.
        n_interfaces_max: u32,
    },
    /// A pcapng section header without its byte-order magic.
    ByteOrder {
        /// The four bytes found in its stead.
        found: [u8; 4],
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packets_before {
            0 => write!(f, "at offset {} (before the first packet)", self.offset),
            n => write!(f, "at offset {} (after packet {n})", self.offset),
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::NotACapture { found } => match found {
                Foreign::Empty => write!(f, "not a capture file: it is empty; give a pcap or pcapng file"),
                Foreign::Compressed(program) => write!(
                    f,
                    "not a capture file: it is compressed by {program}; \
                     unpack it first, for example with `{program} -dk`"
                ),
                Foreign::Unknown([a, b, c, d]) => write!(
                    f,
                    "not a capture file: it starts with the bytes {a:02x} {b:02x} {c:02x} {d:02x}; \
                     give a pcap or pcapng file, or convert it with `editcap -F pcapng`"
                ),
            },
            CaptureError::UnsupportedVersion { place, major, minor } => write!(
                f,
                "{place}: capture format version {major}.{minor} is not known; \
                 have the program that wrote the file save it as pcap (2.4) or pcapng (1.0)"
            ),
            CaptureError::Truncated { place, end, missing } => write!(
                f,
                "the file is cut short: it ends at offset {end}, inside the record {place}, with at least {missing} \
                 more bytes due; the packets before that are good; copy or capture the file again to get the rest"
            ),
            CaptureError::Damaged { place, damage } => write!(
                f,
                "the file is damaged {place}: {damage}; the packets before that are good; \
                 copy or capture the file again to get the rest"
            ),
            CaptureError::Io { place, source } => {
                write!(f, "cannot read the file {place}: {source}; the packets before that are good")
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::PacketTooLong { length } => {
                write!(
                    f,
                    "a packet of {length} bytes, more than the {} that a capture can hold",
                    super::PACKET_BYTES_MAX
                )
            }
            Damage::BlockLength { block_type, length, length_min } => write!(
                f,
                "a block of type {block_type:#x} with length {length}, \
                 which should be a multiple of 4 and at least {length_min}"
            ),
            Damage::BlockLengthsDiffer { first, last } => {
                write!(f, "a block with length {first} at its start and {last} at its end")
            }
            Damage::PacketOverrunsBlock { length, room } => {
                write!(f, "a packet of {length} bytes in a block with room for {room}")
            }
            Damage::Option { code, length } => {
                write!(f, "an interface option (code {code}) with the impossible length {length}")
            }
            Damage::UnknownInterface { interface, n_interfaces } => {
                write!(f, "a packet of interface {interface}, but the section has described only {n_interfaces} so far")
            }
            Damage::TooManyInterfaces { n_interfaces_max } => {
                write!(f, "more than {n_interfaces_max} interfaces in one section")
            }
            Damage::ByteOrder { found: [a, b, c, d] } => write!(
                f,
                "a section header with {a:02x} {b:02x} {c:02x} {d:02x} in place of the byte-order magic 1a 2b 3c 4d"
            ),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CaptureError::Io { source, .. } => Some(source),
            CaptureError::NotACapture { .. }
            | CaptureError::UnsupportedVersion { .. }
            | CaptureError::Truncated { .. }
            | CaptureError::Damaged { .. } => None,
        }
    }
}
