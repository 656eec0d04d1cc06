//! Layout of `flit_t` and of the sideband that travels with each packet.
//!
//! The sideband is one integer: time, bytes missing, entry port, link type, flags, then the design's metadata fields in order,
//! each at the next free bit. It stands beside `sop` on flit channels and in the descriptor of packets in software.

use crate::{Design, Field, Width};

/// Scalars of a flit before the sideband, in order. `data` holds byte `i` in bits `8*i .. 8*i+8`.
pub const FLIT_FIELDS: [(&str, u32); 8] = [
    ("data", 256),
    ("sop", 1),
    ("eop", 1),
    ("error", 1),
    ("fcs_error", 1),
    ("fcs_valid", 1),
    ("padbytes", 8),
    ("slot_id", 16),
];

/// A part of the sideband: first bit and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidePart {
    /// First bit.
    pub lo: u32,
    /// Bits.
    pub width: u32,
}

/// Nanoseconds since the epoch at which the packet entered.
pub const TIME_NS: SidePart = SidePart { lo: 0, width: 64 };
/// Bytes that the capture cut off: wire length minus captured length.
pub const MISSING: SidePart = SidePart { lo: 64, width: 32 };
/// Boundary port through which it entered, as `BoundaryId` plus 1; 0 if it was made inside.
pub const IN_PORT: SidePart = SidePart { lo: 96, width: 8 };
/// Link type of the capture that it came from (as in pcap).
pub const LINK: SidePart = SidePart { lo: 104, width: 16 };
/// Bit 0: an Ethernet header was put in front at the way in. Bit 1: marked in error.
pub const FLAGS: SidePart = SidePart { lo: 120, width: 8 };
/// Where metadata fields begin.
pub const META_LO: u32 = 128;

/// Width of the sideband of a design.
pub fn side_width(design: &Design) -> Width {
    Width::of(META_LO + design.meta.iter().map(|field| field.width.bits()).sum::<u32>())
}

/// Where a metadata field lies in the sideband.
pub fn meta_part(design: &Design, field_idx: usize) -> SidePart {
    let before: u32 = design.meta[..field_idx].iter().map(|field| field.width.bits()).sum();
    SidePart { lo: META_LO + before, width: design.meta[field_idx].width.bits() }
}

/// The fields of `flit_t` in a design: [`FLIT_FIELDS`] and `side`.
pub fn flit_fields(design: &Design) -> Vec<Field> {
    let named = FLIT_FIELDS.iter().map(|&(name, bits)| (name, Width::of(bits)));
    let side = ("side", side_width(design));
    named.chain([side]).map(|(name, width)| Field { name: name.to_string(), width, signed: false }).collect()
}
