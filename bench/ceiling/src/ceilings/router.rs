//! An IPv4 router: header checks, DIR-24-8 lookup, time to live, checksum, station addresses.
//!
//! DIR-24-8 (Gupta, Lin and McKeown, INFOCOM 1998): one table by the first 24 bits of the address, and for those with longer prefixes a
//! second one of 256 entries each. 16-bit entries, so that the first table takes 32 MB.

use crate::batch::{BATCH, Batch, DROPPED, Frame, Program, be16, be32, fold, header_is_sound, set_be16};
use crate::processor::{large_table, prefetch};
use crate::traffic::Route;

/// An entry that names a group of the second table, not a next hop.
const IS_GROUP: u16 = 0x8000;
/// What packets for the router itself, without a route, or at their end are given to.
const EXPIRED: u8 = 3;

/// What the program counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub expired: u64,
    pub local: u64,
    pub bad: u64,
    pub hits: u64,
    pub misses: u64,
}

/// Where a next hop is.
#[derive(Clone, Copy, Debug, Default)]
struct Hop {
    /// Destination and source station, as they stand in the frame.
    stations: [u8; 12],
    port: u8,
    packets: u64,
}

/// Tables and counters.
#[derive(Debug)]
pub struct Router {
    /// By the first 24 bits: 0 no route, next hop + 1, or [`IS_GROUP`] and a group.
    first: Vec<u16>,
    /// By group and the last 8 bits: 0 no route, next hop + 1.
    second: Vec<u16>,
    hops: Vec<Hop>,
    pub counts: Counts,
}

impl Router {
    /// The tables for routes and next hops (stations and port each).
    pub fn new(routes: &[Route], hops: impl IntoIterator<Item = ([u8; 6], [u8; 6], u8)>) -> Router {
        let mut ordered = routes.to_vec();
        ordered.sort_by_key(|route| route.length);
        let mut first = large_table(1 << 24);
        let mut second = Vec::new();
        for route in ordered {
            let entry = route.hop + 1;
            let start = (route.prefix >> 8) as usize;
            if route.length <= 24 {
                first[start..start + (1 << (24 - route.length))].fill(entry);
                continue;
            }
            if first[start] & IS_GROUP == 0 {
                let group = (second.len() / 256) as u16;
                second.resize(second.len() + 256, first[start]);
                first[start] = IS_GROUP | group;
            }
            let start = usize::from(first[start] & !IS_GROUP) * 256 + (route.prefix & 255) as usize;
            second[start..start + (1 << (32 - route.length))].fill(entry);
        }
        let hop = |(station, source, port): ([u8; 6], [u8; 6], u8)| {
            let mut stations = [0; 12];
            stations[..6].copy_from_slice(&station);
            stations[6..].copy_from_slice(&source);
            Hop { stations, port, packets: 0 }
        };
        Router { first, second, hops: hops.into_iter().map(hop).collect(), counts: Counts::default() }
    }

    /// The destination of a packet that is to be forwarded; 0 for others, which are counted.
    #[inline(always)]
    fn check(&mut self, frame: &Frame, packet_bytes: u32) -> u32 {
        let is_plain = packet_bytes >= 34 && be32::<12>(frame) & 0xffff_ff00 == 0x0800_4500;
        if !is_plain || be16::<16>(frame) < 20 || !header_is_sound(frame) {
            self.counts.bad += 1;
            return 0;
        }
        let (src, dst) = (be32::<26>(frame), be32::<30>(frame));
        if UNUSUAL[usize::from(frame[26])] | UNUSUAL[usize::from(frame[30])] && !self.is_forwarded(src, dst) {
            return 0;
        }
        dst
    }

    /// Judges addresses with an unusual first byte.
    #[cold]
    fn is_forwarded(&mut self, src: u32, dst: u32) -> bool {
        let is_martian = src >> 28 == 14 || src >> 24 == 127 || src >> 24 == 0 || src == u32::MAX;
        let is_nowhere = dst >> 24 == 127 || dst >> 24 == 0;
        let is_link_local = dst >> 16 == 0xa9fe || src >> 16 == 0xa9fe;
        if dst >> 28 == 14 || dst == u32::MAX {
            self.counts.local += 1;
            false
        } else if is_martian || is_nowhere || is_link_local {
            self.counts.bad += 1;
            false
        } else {
            true
        }
    }

    /// Sends a packet to its next hop; gives the output.
    #[inline(always)]
    fn send(&mut self, frame: &mut Frame, entry: u16) -> u8 {
        if entry == 0 {
            self.counts.misses += 1;
            return DROPPED;
        }
        self.counts.hits += 1;
        if frame[22] <= 1 {
            self.counts.expired += 1;
            return EXPIRED;
        }
        let Some(hop) = self.hops.get_mut(usize::from(entry) - 1) else { return DROPPED };
        frame[22] -= 1;
        // By RFC 1624, equation 3; the complement of the old word plus the new one is the same for all.
        let checksum = !fold(u32::from(!be16::<24>(frame)) + 0xfeff);
        set_be16::<24>(frame, checksum);
        frame[..12].copy_from_slice(&hop.stations);
        hop.packets += 1;
        hop.port
    }
}

/// First bytes of addresses that a router may have to treat otherwise: 0/8, 127/8, 169.254/16, multicast, 255/8.
const UNUSUAL: [bool; 256] = {
    let mut unusual = [false; 256];
    let mut at = 0;
    while at < 256 {
        unusual[at] = matches!(at, 0 | 127 | 169 | 224..240 | 255);
        at += 1;
    }
    unusual
};

impl Program for Router {
    /// Destinations; 0 for packets that are not forwarded.
    type Plan = [u32; BATCH];

    #[inline(always)]
    fn begin(&mut self, batch: &Batch) -> Self::Plan {
        let mut dsts = [0; BATCH];
        for (at, dst) in dsts.iter_mut().enumerate() {
            *dst = self.check(&batch.frames[at], batch.lengths[at]);
            prefetch(&self.first, (*dst >> 8) as usize);
        }
        dsts
    }

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, dsts: Self::Plan) {
        let mut entries = [0; BATCH];
        for (entry, dst) in entries.iter_mut().zip(dsts) {
            *entry = self.first[(dst >> 8) as usize];
            if *entry & IS_GROUP != 0 {
                prefetch(&self.second, usize::from(*entry & !IS_GROUP) * 256 + (dst & 255) as usize);
            }
        }
        for (at, dst) in dsts.into_iter().enumerate() {
            let mut entry = entries[at];
            if entry & IS_GROUP != 0 {
                entry = self.second[usize::from(entry & !IS_GROUP) * 256 + (dst & 255) as usize];
            }
            batch.outputs[at] = if dst == 0 { DROPPED } else { self.send(&mut batch.frames[at], entry) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IS_GROUP, Router};
    use crate::random::Random;
    use crate::traffic::{N_HOPS, Route, hop, mask, routed_flows, routes};

    #[test]
    fn the_longest_prefix_is_that_of_a_linear_search() {
        let routes = routes(3_000);
        let router = Router::new(&routes, (0..N_HOPS).map(hop));
        let mut random = Random::new(5);
        for flow in routed_flows(&routes, 3_000) {
            // One bit off, or none.
            let dst = flow.dst ^ 1u32.unbounded_shl(random.below(64) as u32);
            let covers = |route: &&Route| (route.prefix ^ dst) & mask(route.length) == 0;
            let longest = routes.iter().filter(covers).max_by_key(|route| route.length);
            let entry = match router.first[(dst >> 8) as usize] {
                entry if entry & IS_GROUP == 0 => entry,
                entry => router.second[usize::from(entry & !IS_GROUP) * 256 + (dst & 255) as usize],
            };
            assert_eq!(entry.checked_sub(1), longest.map(|route| route.hop), "{dst:08x}");
        }
    }
}
