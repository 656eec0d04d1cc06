//! Reading pcapng files (draft-ietf-opsawg-pcapng).
//!
//! Any number of sections of either byte order, each with its own interfaces; Enhanced, Simple and
//! the obsolete Packet Blocks. All other blocks are passed over. Blocks are read as they stream by,
//! so their length, which may claim 4 GiB, does not matter.

use std::io::Read;

use super::error::{CaptureError, Damage};
use super::source::{ByteOrder, Source};
use super::{PACKET_BYTES_MAX, Record};
use crate::link::LinkType;

const SECTION_HEADER: u32 = 0x0a0d_0d0a; // A palindrome, so it reads the same in either order.
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;

/// Type and length before a block's body, length again after it.
const BLOCK_FRAME_BYTES: u32 = 12;

/// A bound on what a hostile file of descriptions alone can make the reader remember.
const N_INTERFACES_MAX: u32 = 65_536;

/// The section being read.
#[derive(Debug)]
pub(super) struct PcapngReader {
    byte_order: ByteOrder,
    interfaces: Vec<Interface>,
    /// How many interfaces the sections before this one had.
    n_interfaces_before: u32,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    /// Longest captured packet in bytes; 0 is no limit.
    snap_length: u32,
    clock: Clock,
}

/// How an interface's time stamps count.
#[derive(Clone, Copy, Debug)]
struct Clock {
    unit: ClockUnit,
    offset_seconds: i64,
}

#[derive(Clone, Copy, Debug)]
enum ClockUnit {
    /// 10^-n seconds.
    Decimal(u8),
    /// 2^-n seconds.
    Binary(u8),
}

/// A block's frame: what its first 8 bytes say.
#[derive(Clone, Copy)]
struct Block {
    block_type: u32,
    length: u32,
}

/// The fixed fields of a packet block. `room` is what its body has left after them.
struct PacketFields {
    interface: u32,
    ticks: u64,
    captured: u32,
    original: u32,
    room: u32,
}

impl PcapngReader {
    /// Consumes the first section header; `None`, with nothing consumed, if there is none.
    pub(super) fn open<R: Read>(source: &mut Source<R>) -> Result<Option<Self>, CaptureError> {
        if source.peek_up_to(4)? != SECTION_HEADER.to_be_bytes() {
            return Ok(None);
        }
        let mut reader = PcapngReader { byte_order: ByteOrder::Little, interfaces: Vec::new(), n_interfaces_before: 0 };
        reader.read_section_header(source)?;
        Ok(Some(reader))
    }

    /// Appends the next packet's bytes to `record.data` and sets the other fields; `false` at the end.
    pub(super) fn next_into<R: Read>(
        &mut self,
        source: &mut Source<R>,
        record: &mut Record,
    ) -> Result<bool, CaptureError> {
        loop {
            source.begin_record();
            if source.at_end()? {
                return Ok(false);
            }
            let head: [u8; 8] = source.peek()?;
            let block =
                Block { block_type: self.byte_order.u32_at(&head, 0), length: self.byte_order.u32_at(&head, 4) };
            match block.block_type {
                ENHANCED_PACKET => {
                    let fields = self.read_enhanced_packet(source, block)?;
                    self.read_packet(source, block, &fields, record)?;
                    return Ok(true);
                }
                SIMPLE_PACKET => {
                    let fields = self.read_simple_packet(source, block)?;
                    self.read_packet(source, block, &fields, record)?;
                    // The clock's offset must not pass for a time: the block has no stamp at all.
                    record.time_ns = 0;
                    return Ok(true);
                }
                OBSOLETE_PACKET => {
                    let fields = self.read_obsolete_packet(source, block)?;
                    self.read_packet(source, block, &fields, record)?;
                    return Ok(true);
                }
                INTERFACE_DESCRIPTION => self.read_interface(source, block)?,
                SECTION_HEADER => self.read_section_header(source)?,
                _ => {
                    check_length(source, block, BLOCK_FRAME_BYTES)?;
                    source.skip(block.length - 4)?;
                    self.read_block_end(source, block)?;
                }
            }
        }
    }

    /// Fixed fields: interface, time high and low, captured and original length.
    fn read_enhanced_packet<R: Read>(
        &self,
        source: &mut Source<R>,
        block: Block,
    ) -> Result<PacketFields, CaptureError> {
        check_length(source, block, BLOCK_FRAME_BYTES + 20)?;
        let bytes: [u8; 28] = source.read()?;
        let u32_at = |at| self.byte_order.u32_at(&bytes, at);
        Ok(PacketFields {
            interface: u32_at(8),
            ticks: u64::from(u32_at(12)) << 32 | u64::from(u32_at(16)),
            captured: u32_at(20),
            original: u32_at(24),
            room: block.length - BLOCK_FRAME_BYTES - 20,
        })
    }

    /// As the enhanced block, but with a 16-bit interface and a drop counter in its first word.
    fn read_obsolete_packet<R: Read>(
        &self,
        source: &mut Source<R>,
        block: Block,
    ) -> Result<PacketFields, CaptureError> {
        check_length(source, block, BLOCK_FRAME_BYTES + 20)?;
        let bytes: [u8; 28] = source.read()?;
        let u32_at = |at| self.byte_order.u32_at(&bytes, at);
        Ok(PacketFields {
            interface: u32::from(self.byte_order.u16_at(&bytes, 8)),
            ticks: u64::from(u32_at(12)) << 32 | u64::from(u32_at(16)),
            captured: u32_at(20),
            original: u32_at(24),
            room: block.length - BLOCK_FRAME_BYTES - 20,
        })
    }

    /// Only the original length is stored; the captured one follows from the first interface's limit.
    fn read_simple_packet<R: Read>(&self, source: &mut Source<R>, block: Block) -> Result<PacketFields, CaptureError> {
        check_length(source, block, BLOCK_FRAME_BYTES + 4)?;
        let bytes: [u8; 12] = source.read()?;
        let original = self.byte_order.u32_at(&bytes, 8);
        let snap_length = self.interfaces.first().map_or(0, |interface| interface.snap_length);
        let captured = if snap_length == 0 { original } else { original.min(snap_length) };
        Ok(PacketFields { interface: 0, ticks: 0, captured, original, room: block.length - BLOCK_FRAME_BYTES - 4 })
    }

    /// What packet blocks have in common after their fixed fields.
    fn read_packet<R: Read>(
        &self,
        source: &mut Source<R>,
        block: Block,
        fields: &PacketFields,
        record: &mut Record,
    ) -> Result<(), CaptureError> {
        let Some(interface) = self.interfaces.get(fields.interface as usize) else {
            let n_interfaces = self.n_interfaces();
            return Err(source.damaged(Damage::UnknownInterface { interface: fields.interface, n_interfaces }));
        };
        if fields.captured > fields.room {
            let damage = Damage::PacketOverrunsBlock { length: fields.captured, room: fields.room };
            return Err(source.damaged(damage));
        }
        if fields.captured > PACKET_BYTES_MAX {
            return Err(source.damaged(Damage::PacketTooLong { length: fields.captured }));
        }
        source.append_to(&mut record.data, fields.captured)?;
        source.skip(fields.room - fields.captured)?;
        self.read_block_end(source, block)?;
        record.orig_len = fields.original;
        record.time_ns = interface.clock.time_ns(fields.ticks);
        record.link_type = interface.link_type;
        record.interface = self.n_interfaces_before.saturating_add(fields.interface);
        record.offset = source.place().offset;
        Ok(())
    }

    fn read_interface<R: Read>(&mut self, source: &mut Source<R>, block: Block) -> Result<(), CaptureError> {
        check_length(source, block, BLOCK_FRAME_BYTES + 8)?;
        if self.n_interfaces() == N_INTERFACES_MAX {
            return Err(source.damaged(Damage::TooManyInterfaces { n_interfaces_max: N_INTERFACES_MAX }));
        }
        let bytes: [u8; 16] = source.read()?;
        let link_type = LinkType(u32::from(self.byte_order.u16_at(&bytes, 8)));
        let snap_length = self.byte_order.u32_at(&bytes, 12);
        let clock = self.read_interface_options(source, block.length - BLOCK_FRAME_BYTES - 8)?;
        self.read_block_end(source, block)?;
        self.interfaces.push(Interface { link_type, snap_length, clock });
        Ok(())
    }

    /// Reads the options that fill the `left` bytes up to the block's end.
    fn read_interface_options<R: Read>(&self, source: &mut Source<R>, mut left: u32) -> Result<Clock, CaptureError> {
        let mut clock = Clock { unit: ClockUnit::Decimal(6), offset_seconds: 0 };
        while left >= 4 {
            let head: [u8; 4] = source.read()?;
            left -= 4;
            let code = self.byte_order.u16_at(&head, 0);
            let length = self.byte_order.u16_at(&head, 2);
            if code == OPTION_END {
                break;
            }
            let padded = u32::from(length).next_multiple_of(4);
            let length_is_wrong = match code {
                OPTION_TIME_RESOLUTION => length != 1,
                OPTION_TIME_OFFSET => length != 8,
                _ => false,
            };
            if padded > left || length_is_wrong {
                return Err(source.damaged(Damage::Option { code, length }));
            }
            left -= padded;
            match code {
                OPTION_TIME_RESOLUTION => clock.unit = ClockUnit::from_option(source.read::<4>()?[0]),
                OPTION_TIME_OFFSET => {
                    let bytes: [u8; 8] = source.read()?;
                    clock.offset_seconds = match self.byte_order {
                        ByteOrder::Little => i64::from_le_bytes(bytes),
                        ByteOrder::Big => i64::from_be_bytes(bytes),
                    };
                }
                _ => source.skip(padded)?,
            }
        }
        source.skip(left)?;
        Ok(clock)
    }

    fn read_section_header<R: Read>(&mut self, source: &mut Source<R>) -> Result<(), CaptureError> {
        let bytes: [u8; 12] = source.read()?;
        self.byte_order = match [bytes[8], bytes[9], bytes[10], bytes[11]] {
            [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
            found => return Err(source.damaged(Damage::ByteOrder { found })),
        };
        let block = Block { block_type: SECTION_HEADER, length: self.byte_order.u32_at(&bytes, 4) };
        check_length(source, block, BLOCK_FRAME_BYTES + 16)?;
        let version: [u8; 4] = source.read()?;
        let major = self.byte_order.u16_at(&version, 0);
        let minor = self.byte_order.u16_at(&version, 2);
        // Some programs write 1.2 for what is 1.0; libpcap and Wireshark read both.
        if !matches!((major, minor), (1, 0 | 2)) {
            return Err(CaptureError::UnsupportedVersion { place: source.place(), major, minor });
        }
        // The section's length, next, is often wrong and never needed; options follow it.
        source.skip(block.length - 20)?;
        self.read_block_end(source, block)?;
        // Saturates after 2^32 interfaces, which is a file of at least 80 GB of descriptions.
        self.n_interfaces_before = self.n_interfaces_before.saturating_add(self.n_interfaces());
        self.interfaces.clear();
        Ok(())
    }

    fn read_block_end<R: Read>(&self, source: &mut Source<R>, block: Block) -> Result<(), CaptureError> {
        let last = self.byte_order.u32_at(&source.read::<4>()?, 0);
        if last != block.length {
            return Err(source.damaged(Damage::BlockLengthsDiffer { first: block.length, last }));
        }
        Ok(())
    }

    fn n_interfaces(&self) -> u32 {
        u32::try_from(self.interfaces.len()).expect("at most N_INTERFACES_MAX interfaces are kept")
    }
}

fn check_length<R: Read>(source: &Source<R>, block: Block, length_min: u32) -> Result<(), CaptureError> {
    let Block { block_type, length } = block;
    if length < length_min || !length.is_multiple_of(4) {
        return Err(source.damaged(Damage::BlockLength { block_type, length, length_min }));
    }
    Ok(())
}

impl ClockUnit {
    /// The meaning of the `if_tsresol` option's byte: its top bit chooses base 2.
    fn from_option(value: u8) -> ClockUnit {
        match value & 0x80 {
            0 => ClockUnit::Decimal(value),
            _ => ClockUnit::Binary(value & 0x7f),
        }
    }
}

impl Clock {
    /// Nanoseconds since 1970 at `ticks`, rounded down, within what 64 bits hold.
    #[inline]
    fn time_ns(self, ticks: u64) -> u64 {
        match (self.unit, self.offset_seconds) {
            (ClockUnit::Decimal(9), 0) => return ticks,
            (ClockUnit::Decimal(6), 0) => return ticks.saturating_mul(1_000),
            (ClockUnit::Decimal(_) | ClockUnit::Binary(_), _) => {}
        }
        let ticks = u128::from(ticks);
        // No product exceeds 2^64 * 10^9 < 2^94.
        let since_offset_ns = match self.unit {
            ClockUnit::Decimal(n @ 0..=9) => ticks * 10_u128.pow(9 - u32::from(n)),
            ClockUnit::Decimal(n) => 10_u128.checked_pow(u32::from(n) - 9).map_or(0, |unit| ticks / unit),
            ClockUnit::Binary(n) => (ticks * 1_000_000_000) >> n,
        };
        let since_offset_ns = i128::try_from(since_offset_ns).expect("less than 2^94");
        let total = since_offset_ns + i128::from(self.offset_seconds) * 1_000_000_000;
        u64::try_from(total.max(0)).unwrap_or(u64::MAX)
    }
}
