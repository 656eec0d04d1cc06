//! Packets to flits and back.
//!
//! A packet becomes `ceil(length / 32)` flits, at least one; a packet without bytes is one flit with 32 padding bytes. The
//! sideband stands beside `sop`. Words of a flit message are laid out as its fields, each in limbs of its own.

use interp::{Flags, PIECE_BYTES, data_of, put_data};
use ir::side;

use crate::carried::{Carried, Pool};

/// Word of each field in a flit message; the data take the four words before.
pub(crate) const SOP: usize = 4;
pub(crate) const EOP: usize = 5;
const ERROR: usize = 6;
const FCS_ERROR: usize = 7;
const PADBYTES: usize = 9;
const SIDE: usize = 11;
const META: usize = SIDE + (side::META_LO / 64) as usize;

/// A packet on its way into a flit channel.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    carried: Option<Box<Carried>>,
    offset: usize,
}

impl Splitter {
    pub(crate) fn is_empty(&self) -> bool {
        self.carried.is_none()
    }

    pub(crate) fn start(&mut self, carried: Box<Carried>) {
        debug_assert!(self.is_empty(), "writers wait until the packet before is through");
        self.carried = Some(carried);
        self.offset = 0;
    }

    /// Writes the next flit, if there is one; tells whether there was.
    pub(crate) fn next_flit(&mut self, flit: &mut [u64], pool: &mut Pool) -> bool {
        let Some(carried) = &self.carried else { return false };
        let packet = &carried.packet;
        let bytes = packet.bytes();
        let piece = &bytes[self.offset..bytes.len().min(self.offset + PIECE_BYTES)];
        let is_first = self.offset == 0;
        let is_last = self.offset + piece.len() == bytes.len();
        flit.fill(0);
        flit[..SOP].copy_from_slice(&data_of(piece));
        flit[SOP] = u64::from(is_first);
        flit[EOP] = u64::from(is_last);
        flit[ERROR] = u64::from(packet.flags.has(Flags::ERROR));
        flit[PADBYTES] = (PIECE_BYTES - piece.len()) as u64;
        if is_first {
            flit[SIDE] = packet.time_ns;
            // Parts of the second word, as `ir::side` lays them out from bit 64 on.
            flit[SIDE + 1] = u64::from(packet.missing)
                | u64::from(packet.in_boundary) << (side::IN_PORT.lo - 64)
                | u64::from(packet.link_type as u16) << (side::LINK.lo - 64)
                | u64::from(packet.flags.0) << (side::FLAGS.lo - 64);
            let n_words = packet.meta.len().min(flit.len() - META);
            flit[META..META + n_words].copy_from_slice(&packet.meta[..n_words]);
        }
        self.offset += piece.len();
        if is_last {
            pool.give(self.carried.take().expect("checked above"));
        }
        true
    }

    /// 1 if the packet's last flit is still to come.
    pub(crate) fn held(&self) -> u64 {
        u64::from(self.carried.is_some())
    }
}

/// What a flit completed.
#[derive(Debug)]
pub(crate) enum Assembled {
    /// Nothing yet.
    Partial,
    /// A packet.
    Packet(Box<Carried>),
    /// A packet without `sop`, which is no packet.
    NoStart,
}

/// Flits on their way into a packet.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    carried: Option<Box<Carried>>,
}

impl Assembler {
    /// Whether no packet is being put together.
    pub(crate) fn is_empty(&self) -> bool {
        self.carried.is_none()
    }

    /// Takes a flit. One with `sop` starts anew, whatever came before.
    pub(crate) fn feed(&mut self, flit: &[u64], now_ns: u64, pool: &mut Pool) -> Assembled {
        let is_last = flit[EOP] != 0;
        if flit[SOP] != 0 {
            let mut carried = self.carried.take().unwrap_or_else(|| pool.take());
            carried.packet.clear();
            read_side(&mut carried, flit, now_ns);
            self.carried = Some(carried);
        }
        let Some(carried) = &mut self.carried else {
            return if is_last { Assembled::NoStart } else { Assembled::Partial };
        };
        let padding = if is_last { (flit[PADBYTES] as usize).min(PIECE_BYTES) } else { 0 };
        let mut piece = [0; PIECE_BYTES];
        put_data(&flit[..SOP], &mut piece);
        carried.packet.extend(&piece[..PIECE_BYTES - padding]);
        if flit[ERROR] != 0 || flit[FCS_ERROR] != 0 {
            carried.packet.flags.set(Flags::ERROR, true);
        }
        match is_last {
            true => Assembled::Packet(self.carried.take().expect("a packet was begun")),
            false => Assembled::Partial,
        }
    }
}

fn read_side(carried: &mut Carried, flit: &[u64], now_ns: u64) {
    let packet = &mut carried.packet;
    let word = flit[SIDE + 1];
    packet.time_ns = flit[SIDE];
    packet.missing = word as u32;
    packet.in_boundary = (word >> (side::IN_PORT.lo - 64)) as u8;
    packet.link_type = u32::from((word >> (side::LINK.lo - 64)) as u16);
    packet.flags = Flags((word >> (side::FLAGS.lo - 64)) as u8);
    packet.meta.extend_from_slice(&flit[META..]);
    let was_made_inside = packet.in_boundary == 0 && packet.time_ns == 0;
    if was_made_inside {
        packet.time_ns = now_ns;
    }
}
