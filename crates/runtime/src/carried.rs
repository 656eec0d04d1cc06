//! A packet inside the graph, and the pool of their buffers.

use interp::Packet;
use packet::link::LinkInfo;

/// A packet with what restores its link header. Flit channels lose the latter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) packet: Packet,
    pub(crate) link: Option<LinkInfo>,
}

/// Packets that are done, kept for their buffers.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    #[expect(clippy::vec_box, reason = "queues hold boxes, so that a packet moves as a pointer; the pool keeps them")]
    free: Vec<Box<Carried>>,
}

/// Beyond this many, buffers go back to the allocator: a burst must not hold its memory for ever.
const POOL_MAX: usize = 256;

impl Pool {
    /// An empty packet.
    pub(crate) fn take(&mut self) -> Box<Carried> {
        let mut carried = self.free.pop().unwrap_or_default();
        carried.packet.clear();
        carried.link = None;
        carried
    }

    pub(crate) fn give(&mut self, carried: Box<Carried>) {
        if self.free.len() < POOL_MAX {
            self.free.push(carried);
        }
    }

    /// A copy, into a buffer of the pool.
    pub(crate) fn copy(&mut self, of: &Carried) -> Box<Carried> {
        let mut copy = self.take();
        copy.link = of.link;
        let (to, from) = (&mut copy.packet, &of.packet);
        to.set_bytes(from.bytes());
        to.meta.extend_from_slice(&from.meta);
        (to.missing, to.excess, to.time_ns) = (from.missing, from.excess, from.time_ns);
        (to.in_boundary, to.link_type, to.flags) = (from.in_boundary, from.link_type, from.flags);
        copy
    }
}
