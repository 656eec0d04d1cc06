//! Capture files: pcap and pcapng, read and written as streams.
//!
//! Memory does not depend on the file's length, nor on any length that a file claims: buffers grow
//! only as bytes arrive, and no packet may exceed [`PACKET_BYTES_MAX`].
//!
//! Own code rather than the `pcap-file` crate: that one (2.0 and 3.0.0-rc.3) refuses records that
//! libpcap and Wireshark read and that real captures hold (captured length above the original
//! length or above the file's snap length, a microsecond field of a million or more), refuses to
//! write them, holds an 8 MB buffer per file, and its errors do not name the place in the file.

pub mod error;
pub mod reader;
pub mod writer;

mod classic;
mod pcapng;
mod source;

use crate::link::LinkType;

pub use error::CaptureError;
pub use reader::CaptureReader;
pub use writer::{CaptureWriter, WriteError};

/// The longest packet that a capture file may hold, in bytes.
///
/// The limit of libpcap (`MAXIMUM_SNAPLEN`) and of Wireshark (`WTAP_MAX_PACKET_SIZE_STANDARD`): a
/// longer record cannot have come from a capturing program, and no other tool would read it.
pub const PACKET_BYTES_MAX: u32 = 262_144;

/// One captured packet, in a buffer that can be used again for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The captured bytes, from the link header on.
    pub data: Vec<u8>,
    /// The length on the wire as the file gives it. More than `data.len()` if the packet was cut;
    /// damaged and fuzzed files also hold smaller values, which are kept as they are.
    pub orig_len: u32,
    /// Nanoseconds since 1970-01-01 UTC. Finer stamps are cut to the nanosecond; stamps before 1970
    /// read as 0, those after 2554 as `u64::MAX`. A packet without a stamp (pcapng's Simple Packet
    /// Block) has 0, as in Wireshark and libpcap.
    pub time_ns: u64,
    /// What the bytes begin with.
    pub link_type: LinkType,
    /// The interface, counted from 0 over all sections of a pcapng file; 0 in a pcap file.
    pub interface: u32,
    /// Where the packet's record or block starts in the file.
    pub offset: u64,
}

impl Record {
    /// The part of the record that a capture file stores.
    pub fn frame(&self) -> Frame<'_> {
        Frame { link_type: self.link_type, time_ns: self.time_ns, orig_len: self.orig_len, data: &self.data }
    }
}

/// A packet to be written; the fields mean what they mean in [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What `data` begins with.
    pub link_type: LinkType,
    /// Nanoseconds since 1970-01-01 UTC.
    pub time_ns: u64,
    /// Length on the wire.
    pub orig_len: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}

/// The unit of the second time field of a pcap record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolution {
    /// Microseconds: the original format, read by every program.
    Microseconds,
    /// Nanoseconds: magic number `a1b23c4d`.
    Nanoseconds,
}

/// A kind of capture file, as read or to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcap: one link type and one resolution for the whole file.
    Pcap {
        /// Unit of the time stamps.
        resolution: Resolution,
        /// Link type of every packet.
        link_type: LinkType,
    },
    /// pcapng: any mix of link types, nanoseconds when written here.
    Pcapng,
}

impl Format {
    /// The plainest format that holds everything that files of the two formats can hold.
    ///
    /// pcap if both are pcap of one link type, with the finer resolution of the two; else pcapng.
    pub fn join(self, other: Format) -> Format {
        match (self, other) {
            (Format::Pcap { resolution: a, link_type }, Format::Pcap { resolution: b, link_type: other_link_type })
                if link_type == other_link_type =>
            {
                Format::Pcap { resolution: a.max(b), link_type }
            }
            (Format::Pcap { .. } | Format::Pcapng, Format::Pcap { .. } | Format::Pcapng) => Format::Pcapng,
        }
    }
}
