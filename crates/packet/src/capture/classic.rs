//! Reading pcap files (draft-ietf-opsawg-pcap; `pcap-savefile(5)`).
//!
//! Both byte orders, micro- and nanoseconds, and the layouts that libpcap still reads: Kuznetzov's
//! longer record headers (magic `a1b2cd34`) and the swapped lengths of versions before 2.4.

use std::io::Read;

use super::error::{CaptureError, Damage};
use super::source::{ByteOrder, Source};
use super::{Format, PACKET_BYTES_MAX, Record, Resolution};
use crate::link::LinkType;

/// What a pcap header says about the records after it.
#[derive(Debug)]
pub(super) struct ClassicReader {
    byte_order: ByteOrder,
    resolution: Resolution,
    link_type: LinkType,
    record_header: RecordHeader,
    lengths: Lengths,
}

/// The layout of a record header.
#[derive(Clone, Copy, Debug)]
enum RecordHeader {
    /// Seconds, fraction, captured length, original length.
    Standard,
    /// The same, then 8 bytes (interface index, protocol, packet type) that nothing needs.
    Kuznetzov,
}

/// The order of the two lengths in a record header.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    /// Version 2.3, of which programs wrote both: the smaller one is the captured length.
    SmallerIsCaptured,
}

/// Bits of the link type field that hold the link type; the rest tell of a frame check sequence.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

impl ClassicReader {
    /// Consumes the file header; `None`, with nothing consumed, if it is not one of pcap.
    pub(super) fn open<R: Read>(source: &mut Source<R>) -> Result<Option<Self>, CaptureError> {
        let Ok(magic) = <[u8; 4]>::try_from(source.peek_up_to(4)?) else {
            return Ok(None);
        };
        let little = u32::from_le_bytes(magic);
        let big = u32::from_be_bytes(magic);
        let Some((byte_order, (resolution, record_header))) = magic_meaning(little)
            .map(|meaning| (ByteOrder::Little, meaning))
            .or_else(|| magic_meaning(big).map(|meaning| (ByteOrder::Big, meaning)))
        else {
            return Ok(None);
        };

        let header: [u8; 24] = source.read()?;
        let major = byte_order.u16_at(&header, 4);
        let minor = byte_order.u16_at(&header, 6);
        let lengths = match (major, minor) {
            (2, 0..=2) => Lengths::OriginalFirst,
            (2, 3) => Lengths::SmallerIsCaptured,
            // Version 4.2 is 2.4 by programs that write the two numbers in the wrong order.
            (2, _) | (4, 2) => Lengths::CapturedFirst,
            // DG/UX wrote this version, with the lengths swapped.
            (543, _) => Lengths::OriginalFirst,
            _ => {
                return Err(CaptureError::UnsupportedVersion { place: source.place(), major, minor });
            }
        };
        let link_type = LinkType(byte_order.u32_at(&header, 20) & LINK_TYPE_MASK);
        Ok(Some(ClassicReader { byte_order, resolution, link_type, record_header, lengths }))
    }

    pub(super) fn format(&self) -> Format {
        Format::Pcap { resolution: self.resolution, link_type: self.link_type }
    }

    /// Appends the next packet's bytes to `record.data` and sets the other fields; `false` at the end.
    pub(super) fn next_into<R: Read>(&self, source: &mut Source<R>, record: &mut Record) -> Result<bool, CaptureError> {
        source.begin_record();
        if source.at_end()? {
            return Ok(false);
        }
        let header: [u8; 16] = source.read()?;
        if let RecordHeader::Kuznetzov = self.record_header {
            source.skip(8)?;
        }
        let seconds = self.byte_order.u32_at(&header, 0);
        let fraction = self.byte_order.u32_at(&header, 4);
        let first = self.byte_order.u32_at(&header, 8);
        let second = self.byte_order.u32_at(&header, 12);
        let (captured, original) = match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::OriginalFirst => (second, first),
            Lengths::SmallerIsCaptured => (first.min(second), first.max(second)),
        };
        if captured > PACKET_BYTES_MAX {
            return Err(source.damaged(Damage::PacketTooLong { length: captured }));
        }
        source.append_to(&mut record.data, captured)?;
        record.orig_len = original;
        record.time_ns = time_ns(seconds, fraction, self.resolution);
        record.link_type = self.link_type;
        record.interface = 0;
        record.offset = source.place().offset;
        Ok(true)
    }
}

fn magic_meaning(magic: u32) -> Option<(Resolution, RecordHeader)> {
    match magic {
        0xa1b2_c3d4 => Some((Resolution::Microseconds, RecordHeader::Standard)),
        0xa1b2_3c4d => Some((Resolution::Nanoseconds, RecordHeader::Standard)),
        0xa1b2_cd34 => Some((Resolution::Microseconds, RecordHeader::Kuznetzov)),
        _ => None,
    }
}

/// Fractions of a second or more, which damaged files hold, carry over; no sum exceeds 64 bits.
fn time_ns(seconds: u32, fraction: u32, resolution: Resolution) -> u64 {
    let unit_ns = match resolution {
        Resolution::Microseconds => 1_000,
        Resolution::Nanoseconds => 1,
    };
    u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit_ns
}
