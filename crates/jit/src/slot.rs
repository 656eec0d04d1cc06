//! A packet on its way through a chain: what code is given of it, and what it tells.

use std::marker::PhantomData;

use ir::ElementId;
use ir::engine::Packet;

/// Where `stop` stands in [`Slot::result`].
pub(crate) const STOP_BIT: u8 = 31;

/// A packet to be run through a chain. Code finds fields by `offset_of!`.
#[repr(C)]
#[derive(Debug)]
pub struct Slot<'p> {
    pub(crate) bytes: *mut u8,
    pub(crate) len: u64,
    pub(crate) packet: *mut Packet,
    pub(crate) meta: *mut u64,
    pub(crate) now_ns: u64,
    /// Number of the entry, from 1.
    pub(crate) entry: u64,
    /// The chain's results: `exit`, `stop` in bit [`STOP_BIT`], `ports` in the upper half.
    pub(crate) result: u64,
    lives: PhantomData<&'p mut Packet>,
}

impl<'p> Slot<'p> {
    /// A packet that enters at a time through an entry of the chain, by position. It has the metadata words of the design (see
    /// [`crate::Chain::meta_words`]).
    #[inline]
    pub fn new(packet: &'p mut Packet, now_ns: u64, entry: u32) -> Slot<'p> {
        Slot {
            bytes: packet.bytes_mut().as_mut_ptr(),
            len: packet.len() as u64,
            meta: packet.meta.as_mut_ptr(),
            packet,
            now_ns,
            entry: u64::from(entry) + 1,
            result: 0,
            lives: PhantomData,
        }
    }

    /// After the run: the element that the packet leaves and a mask of the outputs it leaves through; absent if it is over.
    #[inline]
    pub fn exit(&self) -> Option<(ElementId, u32)> {
        let exit = self.result as u32 & !(1 << STOP_BIT);
        (exit != 0).then(|| (ElementId(exit - 1), (self.result >> 32) as u32))
    }

    /// After the run: whether it is to be finished elsewhere before the next packet.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.result >> STOP_BIT & 1 == 1
    }
}
