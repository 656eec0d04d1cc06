//! A load balancer: flow table, Maglev table for flows that are not in it, addresses, port and checksums rewritten.
//!
//! The Maglev table (Eisenbud et al., NSDI 2016) and its hash are those of the element, so that each flow gets the same server; the
//! flow table has a hash and an entry of its own, two to a cache line.

use crate::batch::{BATCH, Batch, DROPPED, Frame, Key, Program, be16, fold, plain_key, set_be16, set_be32};
use crate::processor::prefetch;
use crate::traffic::GAP_NS;

const PROBES: usize = 8;
/// Places of the Maglev table, a prime.
const TABLE: usize = 4093;
/// After this long a flow is forgotten.
const IDLE_NS: u64 = 60_000_000_000;

/// A server behind the service.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub address: u32,
    pub port: u16,
    pub station: [u8; 6],
    pub packets: u64,
    pub flows: u64,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Entry {
    /// Protocol 0 is a place that is free.
    key: Key,
    seen_ns: u64,
    server: u8,
}

/// Tables and counters.
#[derive(Debug)]
pub struct Balancer {
    service: (u32, u16),
    servers: Vec<Server>,
    /// Of each server.
    changes: Vec<Change>,
    maglev: Vec<u8>,
    entries: Vec<Entry>,
    pub balanced: u64,
    pub passed: u64,
    pub unpinned: u64,
}

impl Balancer {
    /// `n_slots` is a power of two.
    pub fn new(service: (u32, u16), servers: Vec<Server>, n_slots: usize) -> Balancer {
        assert!(n_slots.is_power_of_two(), "the table is masked");
        let maglev = maglev(&servers);
        let changes = servers.iter().map(|server| Change::new(service, server)).collect();
        let entries = vec![Entry::default(); n_slots];
        Balancer { service, servers, changes, maglev, entries, balanced: 0, passed: 0, unpinned: 0 }
    }

    /// The server of a flow, remembered if it is new.
    #[inline(always)]
    fn server(&mut self, key: Key, hash: usize, now_ns: u64) -> usize {
        let mask = self.entries.len() - 1;
        let slots = (0..PROBES).map(|probe| (hash + probe) & mask);
        let fresh = |entry: &Entry| now_ns.wrapping_sub(entry.seen_ns) < IDLE_NS;
        let known = slots.clone().find(|&slot| self.entries[slot].key == key && fresh(&self.entries[slot]));
        if let Some(slot) = known {
            self.entries[slot].seen_ns = now_ns;
            return self.entries[slot].server.into();
        }
        let server = self.maglev[flow_hash(key, 1) as usize % TABLE];
        self.servers[usize::from(server)].flows += 1;
        let free = |entry: &Entry| entry.key == Key::default() || !fresh(entry) || entry.key == key;
        match slots.clone().find(|&slot| free(&self.entries[slot])) {
            Some(slot) => self.entries[slot] = Entry { key, seen_ns: now_ns, server },
            None => self.unpinned += 1,
        }
        server.into()
    }

    /// Replaces destination address, port and station, and both checksums.
    #[inline(always)]
    fn rewrite(server: &mut Server, change: Change, frame: &mut Frame, protocol: u8) {
        let checksum = !fold(u32::from(!be16::<24>(frame)) + change.address);
        set_be16::<24>(frame, checksum);
        set_be32::<30>(frame, server.address);
        set_be16::<36>(frame, server.port);
        // Both kinds of packets take the same way, since which comes next cannot be foreseen.
        let is_udp = protocol == 17;
        let at = if is_udp { 40 } else { 50 };
        let checksum = u16::from_be_bytes([frame[at], frame[at + 1]]);
        let updated = !fold(u32::from(!checksum) + change.address_and_port);
        let updated = if is_udp & (updated == 0) { u16::MAX } else { updated };
        let updated = if is_udp & (checksum == 0) { 0 } else { updated };
        frame[at..at + 2].copy_from_slice(&updated.to_be_bytes());
        frame[..6].copy_from_slice(&server.station);
        server.packets += 1;
    }
}

/// What checksums gain when a packet to the service goes to a server: the complement of the old words plus the new ones.
#[derive(Clone, Copy, Debug)]
struct Change {
    address: u32,
    address_and_port: u32,
}

impl Change {
    fn new(service: (u32, u16), server: &Server) -> Change {
        let words = |address: u32| (address >> 16) + (address & 0xffff);
        let (before, after) = (words(service.0), words(server.address));
        let (port_before, port_after) = (u32::from(service.1), u32::from(server.port));
        Change {
            address: u32::from(!fold(before)) + after,
            address_and_port: u32::from(!fold(before + port_before)) + after + port_after,
        }
    }
}

impl Program for Balancer {
    /// Keys and their hashes.
    type Plan = [Option<(Key, usize)>; BATCH];

    #[inline(always)]
    fn begin(&mut self, batch: &Batch) -> Self::Plan {
        let mask = self.entries.len() - 1;
        let mut keys = [None; BATCH];
        for (at, key) in keys.iter_mut().enumerate() {
            // TCP's checksum is the last byte needed.
            *key = plain_key(&batch.frames[at], batch.lengths[at].saturating_sub(14)).map(|key| (key, key.hash()));
            if let Some((_, hash)) = *key {
                prefetch(&self.entries, hash & mask);
            }
        }
        keys
    }

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, keys: Self::Plan) {
        for (at, key) in keys.into_iter().enumerate() {
            let to_service = key.filter(|(key, _)| key.addresses as u32 == self.service.0);
            let Some((key, hash)) = to_service else {
                self.passed += 1;
                batch.outputs[at] = 1;
                continue;
            };
            if (key.ports >> 8) as u16 != self.service.1 {
                batch.outputs[at] = DROPPED;
                continue;
            }
            let server = self.server(key, hash, batch.start_ns + at as u64 * GAP_NS);
            Balancer::rewrite(&mut self.servers[server], self.changes[server], &mut batch.frames[at], key.ports as u8);
            self.balanced += 1;
            batch.outputs[at] = 1;
        }
    }
}

/// The server, from 0, at each place.
fn maglev(servers: &[Server]) -> Vec<u8> {
    let hash = |server: &Server, seed| murmur3(seed, &[0, 0, 0, server.address, server.port.into()]) as usize;
    let mut table = vec![None; TABLE];
    let mut positions: Vec<usize> = servers.iter().map(|server| hash(server, 0) % TABLE).collect();
    let mut n_filled = 0;
    while n_filled < TABLE {
        for (at, server) in servers.iter().enumerate() {
            let skip = hash(server, 1) % (TABLE - 1) + 1;
            while table[positions[at]].is_some() {
                positions[at] = (positions[at] + skip) % TABLE;
            }
            table[positions[at]] = Some(at as u8);
            n_filled += 1;
            if n_filled == TABLE {
                break;
            }
        }
    }
    table.into_iter().map(|server| server.expect("every place was filled")).collect()
}

/// The hash of an IPv4 flow as the element library has it: addresses, ports, version and protocol.
fn flow_hash(key: Key, seed: u32) -> u32 {
    let [src, dst] = [(key.addresses >> 32) as u32, key.addresses as u32];
    let protocol = 4 << 8 | key.ports as u32 & 0xff;
    murmur3(seed, &[src, dst, (key.ports >> 8) as u32, protocol])
}

/// MurmurHash3 (x86, 32 bits) of whole words.
fn murmur3(seed: u32, words: &[u32]) -> u32 {
    let mut hash = seed;
    for word in words {
        hash ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= 4 * words.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::murmur3;

    /// From the reference code's verification page (`MurmurHash3_x86_32` of four bytes 0x21 0x43 0x65 0x87).
    #[test]
    fn murmur3_gives_the_published_values() {
        assert_eq!(murmur3(0, &[0x8765_4321]), 0xf55b_516b);
        assert_eq!(murmur3(0x5082_edee, &[0x8765_4321]), 0x2362_f9de);
    }
}
