//! The packet as a firing of a packet element sees it: window, limits, and the packet's fate.

use crate::wide;
use crate::{DropCause, Packet};

/// A packet during one firing. Offsets count from the packet's first byte as it is at the moment.
pub(crate) struct PacketEnv<'a> {
    pub(crate) packet: &'a mut Packet,
    /// Valid bytes in the window.
    pub(crate) avail: usize,
    /// Bytes that pushes may still add.
    pub(crate) grow_left: usize,
    /// Limit of the whole packet, with `store`.
    pub(crate) store: Option<u32>,
    pub(crate) short: bool,
    /// Input of the element, from 1; 0 if there was no packet.
    pub(crate) in_port: u32,
    /// Outputs that carry packets.
    pub(crate) packet_outputs: u32,
    pub(crate) emitted: u32,
    /// The first reason to drop it.
    pub(crate) dropped: Option<DropCause>,
}

impl<'a> PacketEnv<'a> {
    /// Stands for the packet where there is none.
    pub(crate) fn none(packet: &'a mut Packet) -> PacketEnv<'a> {
        PacketEnv {
            packet,
            avail: 0,
            grow_left: 0,
            store: None,
            short: false,
            in_port: 0,
            packet_outputs: 0,
            emitted: 0,
            dropped: None,
        }
    }

    /// Big-endian number of at most 8 bytes; 0 past the valid ones.
    #[inline]
    pub(crate) fn load_small(&mut self, offset: usize, n_bytes: usize) -> u64 {
        let bytes = &self.packet.bytes()[..self.avail];
        // Reading 8 bytes and shifting is one load; near the end the bytes are picked one by one.
        if let Some(eight) = bytes.get(offset..).and_then(|rest| rest.first_chunk::<8>()) {
            return u64::from_be_bytes(*eight) >> (64 - 8 * n_bytes);
        }
        let valid = bytes.get(offset..).unwrap_or_default();
        self.short |= valid.len() < n_bytes;
        (0..n_bytes).fold(0, |value, i| value << 8 | u64::from(valid.get(i).copied().unwrap_or(0)))
    }

    pub(crate) fn load_wide(&mut self, offset: usize, n_bytes: usize, to: &mut [u64]) {
        let valid = self.packet.bytes()[..self.avail].get(offset..).unwrap_or_default();
        if valid.len() >= n_bytes {
            return wide::load_big_endian(to, &valid[..n_bytes]);
        }
        self.short = true;
        let mut bytes = valid.to_vec();
        bytes.resize(n_bytes, 0);
        wide::load_big_endian(to, &bytes);
    }

    pub(crate) fn store(&mut self, offset: usize, n_bytes: usize, limbs: &[u64]) {
        let valid = self.packet.bytes_mut()[..self.avail].get_mut(offset..).unwrap_or_default();
        self.short |= valid.len() < n_bytes;
        for (i, byte) in valid.iter_mut().take(n_bytes).enumerate() {
            *byte = wide::big_endian_byte(limbs, n_bytes, i);
        }
    }

    /// Adds zero bytes in the window.
    pub(crate) fn push(&mut self, offset: usize, n_bytes: usize) {
        if offset > self.avail {
            return self.drop_for(DropCause::PushOutside);
        }
        if n_bytes > self.grow_left {
            return self.drop_for(DropCause::NoRoomToGrow);
        }
        self.packet.insert(offset, n_bytes);
        self.grow_left -= n_bytes;
        self.avail += n_bytes;
    }

    /// Removes bytes of the window.
    pub(crate) fn pop(&mut self, offset: usize, n_bytes: usize) {
        if offset.saturating_add(n_bytes) > self.avail {
            return self.drop_for(DropCause::PopOutside);
        }
        self.packet.remove(offset, n_bytes);
        self.avail -= n_bytes;
    }

    /// Cuts the packet, on the wire as in the capture.
    pub(crate) fn truncate(&mut self, n_bytes: usize) {
        let len = self.packet.len();
        if n_bytes <= len {
            self.packet.truncate(n_bytes);
            (self.packet.missing, self.packet.excess) = (0, 0);
            self.avail = self.avail.min(n_bytes);
        } else {
            let missing = u32::try_from(n_bytes - len).unwrap_or(u32::MAX);
            self.packet.missing = self.packet.missing.min(missing);
        }
    }

    /// Adds zero bytes at the end; of a packet that the capture cut, they are past the cut.
    pub(crate) fn append(&mut self, n_bytes: usize) {
        let limit = self.store.map_or(0, |limit| limit as usize);
        if self.packet.len().saturating_add(n_bytes) > limit {
            return self.drop_for(DropCause::AppendPastStore);
        }
        if self.packet.missing > 0 {
            self.packet.missing = self.packet.missing.saturating_add(n_bytes as u32);
        } else {
            self.packet.append(n_bytes);
        }
    }

    pub(crate) fn meta(&self, lo: u32, width: u32, to: &mut [u64]) {
        for (limb, part) in to.iter_mut().zip((0..width).step_by(64)) {
            *limb = self.packet.meta_bits(lo + part, (width - part).min(64));
        }
    }

    pub(crate) fn set_meta(&mut self, lo: u32, width: u32, limbs: &[u64]) {
        for (&limb, part) in limbs.iter().zip((0..width).step_by(64)) {
            self.packet.set_meta_bits(lo + part, (width - part).min(64), limb);
        }
    }

    pub(crate) fn emit(&mut self, port: u64) {
        let bit = if (1..=32).contains(&port) { 1 << (port - 1) } else { 0 };
        if bit & self.packet_outputs == 0 {
            return self.drop_for(DropCause::NoSuchPort(port));
        }
        self.emitted |= bit;
    }

    pub(crate) fn drop(&mut self, reason: &str) {
        if self.dropped.is_none() {
            self.dropped = Some(DropCause::Element(reason.to_string()));
        }
    }

    pub(crate) fn drop_for(&mut self, cause: DropCause) {
        self.dropped.get_or_insert(cause);
    }
}
