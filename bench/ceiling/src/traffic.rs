//! Packets, routes and rules, the same ones on every machine.
//!
//! Everything comes from [`Random`] with the seeds named here. Packets are plain Ethernet, IPv4, and UDP or TCP with right checksums, from
//! a set of flows of which each packet picks one evenly.

use std::collections::BTreeSet;

use crate::random::Random;

/// Flows of a trace; the trace for routes has one for each packet.
pub const N_FLOWS: usize = 10_000;
/// Prefixes of the routing table.
pub const N_ROUTES: usize = 100_000;
/// Next hops of the routing table, half of them on each port.
pub const N_HOPS: usize = 64;
/// Nanoseconds between packets, by their stamps.
pub const GAP_NS: u64 = 100;
/// The stamp of the first packet.
pub const START_NS: u64 = 1_700_000_000_000_000_000;
/// Address and port of the balanced service.
pub const SERVICE: (u32, u16) = (0xc000_0264, 80);

const FLOW_SEED: u64 = 1;
const PICK_SEED: u64 = 2;
const ROUTE_SEED: u64 = 3;
const RULE_SEED: u64 = 4;
/// Bytes that copies move at once; a trace keeps each packet in whole chunks.
pub const CHUNK: usize = 64;

/// A flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub src: u32,
    pub dst: u32,
    pub sport: u16,
    pub dport: u16,
    /// 6 or 17.
    pub protocol: u8,
}

/// Packets of one length, one after the other.
#[derive(Clone, Debug)]
pub struct Trace {
    chunks: Vec<[u8; CHUNK]>,
    chunks_per_packet: usize,
    pub packet_bytes: usize,
    pub n_packets: usize,
}

impl Trace {
    /// Packets of `packet_bytes` bytes, each of a flow picked at random.
    pub fn new(flows: &[Flow], packet_bytes: usize, n_packets: usize) -> Trace {
        let mut random = Random::new(PICK_SEED);
        let chunks_per_packet = packet_bytes.div_ceil(CHUNK);
        let mut chunks = Vec::with_capacity(n_packets * chunks_per_packet);
        for _ in 0..n_packets {
            let flow = flows[random.below(flows.len() as u64) as usize];
            let mut packet = frame(flow, packet_bytes, &mut random);
            packet.resize(chunks_per_packet * CHUNK, 0);
            chunks.extend_from_slice(packet.as_chunks().0);
        }
        Trace { chunks, chunks_per_packet, packet_bytes, n_packets }
    }

    /// The packet at a place, padded to whole chunks.
    #[inline(always)]
    pub fn chunks(&self, place: usize) -> &[[u8; CHUNK]] {
        &self.chunks[place * self.chunks_per_packet..][..self.chunks_per_packet]
    }

    /// All chunks from the packet at a place on.
    #[inline(always)]
    pub fn all_chunks(&self, place: usize) -> &[[u8; CHUNK]] {
        &self.chunks[place * self.chunks_per_packet..]
    }

    /// The packet at a place.
    #[inline(always)]
    pub fn packet(&self, place: usize) -> &[u8] {
        &self.chunks(place).as_flattened()[..self.packet_bytes]
    }

    /// The same packets with faults that a router must find: 1 in 16 each with a wrong header checksum, an ended time to live, a multicast
    /// destination, a loopback source, a source in 0/8 or a loopback destination.
    pub fn with_router_faults(mut self) -> Trace {
        for place in 0..self.n_packets {
            let packet = self.chunks[place * self.chunks_per_packet..][..self.chunks_per_packet].as_flattened_mut();
            match place % 16 {
                1 => packet[24] ^= 0x40,
                2 => packet[22] = 1,
                3 => packet[30] = 0xe0,
                4 => packet[26] = 127,
                5 => packet[26] = 0,
                6 => packet[30] = 127,
                _ => continue,
            }
            if place % 16 != 1 {
                packet[24..26].fill(0);
                let sum = checksum(0, &packet[14..34]);
                packet[24..26].copy_from_slice(&sum.to_be_bytes());
            }
        }
        self
    }
}

/// Any flows.
pub fn flows(n_flows: usize) -> Vec<Flow> {
    let mut random = Random::new(FLOW_SEED);
    (0..n_flows).map(|_| flow_to(unicast(&mut random), &mut random)).collect()
}

/// Flows to addresses that the routes cover.
pub fn routed_flows(routes: &[Route], n_flows: usize) -> Vec<Flow> {
    let mut random = Random::new(FLOW_SEED);
    let flow = |_| {
        let route = routes[random.below(routes.len() as u64) as usize];
        let host = random.bits() as u32 & !mask(route.length);
        flow_to(route.prefix | host, &mut random)
    };
    (0..n_flows).map(flow).collect()
}

/// Flows to the balanced service.
pub fn service_flows(n_flows: usize) -> Vec<Flow> {
    flows(n_flows).into_iter().map(|flow| Flow { dst: SERVICE.0, dport: SERVICE.1, ..flow }).collect()
}

/// Flows of which three in four match a rule, if no earlier one takes them.
pub fn filtered_flows(rules: &[Rule], n_flows: usize) -> Vec<Flow> {
    let mut random = Random::new(FLOW_SEED);
    let flow = |at| {
        let rule = rules[random.below(rules.len() as u64) as usize];
        let any = flow_to(rule.dst.within(&mut random), &mut random);
        if at % 4 == 3 {
            return any;
        }
        Flow {
            src: rule.src.within(&mut random),
            dst: any.dst,
            sport: random.between(rule.sports.0.into(), rule.sports.1.into()) as u16,
            dport: random.between(rule.dports.0.into(), rule.dports.1.into()) as u16,
            protocol: rule.protocol.unwrap_or(any.protocol),
        }
    };
    (0..n_flows).map(flow).collect()
}

fn flow_to(dst: u32, random: &mut Random) -> Flow {
    Flow {
        src: unicast(random),
        dst,
        sport: random.between(1024, 65_535) as u16,
        dport: random.between(1, 65_535) as u16,
        protocol: if random.below(2) == 0 { 6 } else { 17 },
    }
}

/// An address that routers forward from and to.
fn unicast(random: &mut Random) -> u32 {
    loop {
        let address = random.between(0x0100_0000, 0xdfff_ffff) as u32;
        if is_forwarded(address) {
            return address;
        }
    }
}

fn is_forwarded(address: u32) -> bool {
    (1..=223).contains(&(address >> 24)) && address >> 24 != 127 && address >> 16 != 0xa9fe
}

/// The bits that a prefix of this length fixes.
pub fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

/// A prefix and the number of its next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub prefix: u32,
    pub length: u8,
    pub hop: u16,
}

/// Routes with lengths as in the Internet's tables: most of them 24, a few up to 32, some down to 8.
pub fn routes(n_routes: usize) -> Vec<Route> {
    let mut random = Random::new(ROUTE_SEED);
    let mut known = BTreeSet::new();
    let mut routes = Vec::with_capacity(n_routes);
    while routes.len() < n_routes {
        let length = match random.below(100) {
            0..60 => 24,
            60..80 => random.between(21, 23),
            80..95 => random.between(16, 20),
            95..97 => random.between(8, 15),
            _ => random.between(25, 32),
        } as u8;
        let prefix = unicast(&mut random) & mask(length);
        let last = prefix | !mask(length);
        let is_clear = is_forwarded(prefix) && is_forwarded(last) && !(prefix..=last).contains(&0xa9fe_0000);
        if is_clear && known.insert((prefix, length)) {
            routes.push(Route { prefix, length, hop: random.below(N_HOPS as u64) as u16 });
        }
    }
    routes
}

/// A next hop as both sides set it: destination and source station, port 1 or 2.
pub fn hop(number: usize) -> ([u8; 6], [u8; 6], u8) {
    let port = (number % 2) as u8 + 1;
    ([2, 0, 0x5e, 0, 1, number as u8], [2, 0, 0x5e, 0, 0, port], port)
}

/// Addresses under a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub address: u32,
    pub length: u8,
}

impl Prefix {
    const ANY: Prefix = Prefix { address: 0, length: 0 };

    fn new(address: u32, length: u8) -> Prefix {
        Prefix { address: address & mask(length), length }
    }

    fn within(self, random: &mut Random) -> u32 {
        match self.length {
            0 => unicast(random),
            length => self.address | (random.bits() as u32 & !mask(length)),
        }
    }
}

/// A rule of the firewall; the first that matches decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub src: Prefix,
    pub dst: Prefix,
    /// First and last source port.
    pub sports: (u16, u16),
    /// First and last destination port.
    pub dports: (u16, u16),
    pub protocol: Option<u8>,
    pub accept: bool,
}

/// Rules as an operator of some networks has them: mostly to servers of 16 networks, from anywhere or from some networks, to
/// well-known ports or ranges.
pub fn rules(n_rules: usize) -> Vec<Rule> {
    const ANY_PORT: (u16, u16) = (0, 65_535);
    const SERVICES: [u16; 12] = [22, 25, 53, 80, 110, 123, 143, 443, 993, 3306, 5432, 8080];
    let mut random = Random::new(RULE_SEED);
    let networks: Vec<u32> = (0..16).map(|_| unicast(&mut random) & mask(16)).collect();
    let rule = |_| {
        let network = networks[random.below(16) as usize];
        let server = network | (random.bits() as u32 & 0xffff);
        let dst_length = [32, 28, 24, 24, 20, 32][random.below(6) as usize];
        let src = match random.below(10) {
            0..5 => Prefix::ANY,
            _ => Prefix::new(unicast(&mut random), random.between(8, 24) as u8),
        };
        let sports = if random.below(10) == 0 { (1024, 65_535) } else { ANY_PORT };
        let low = random.between(1024, 60_000) as u16;
        let dports = match random.below(10) {
            0..6 => [SERVICES[random.below(12) as usize]; 2].into(),
            6..9 => (low, low + random.between(1, 5_000) as u16),
            _ => ANY_PORT,
        };
        let protocol = [Some(6), Some(6), Some(6), Some(17), None][random.below(5) as usize];
        let dst = Prefix::new(server, dst_length);
        Rule { src, dst, sports, dports, protocol, accept: random.below(10) < 7 }
    };
    (0..n_rules).map(rule).collect()
}

/// A packet of a flow; 1 in 8 of those over UDP has no checksum.
fn frame(flow: Flow, packet_bytes: usize, random: &mut Random) -> Vec<u8> {
    let ip_bytes = (packet_bytes - 14) as u16;
    let mut packet = vec![0; packet_bytes];
    packet[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    packet[14] = 0x45;
    packet[16..18].copy_from_slice(&ip_bytes.to_be_bytes());
    packet[18..20].copy_from_slice(&(random.bits() as u16).to_be_bytes());
    packet[20] = 0x40;
    packet[22] = random.between(16, 255) as u8;
    packet[23] = flow.protocol;
    packet[26..30].copy_from_slice(&flow.src.to_be_bytes());
    packet[30..34].copy_from_slice(&flow.dst.to_be_bytes());
    let sum = checksum(0, &packet[14..34]);
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    packet[34..36].copy_from_slice(&flow.sport.to_be_bytes());
    packet[36..38].copy_from_slice(&flow.dport.to_be_bytes());
    packet[38..].fill_with(|| random.bits() as u8);
    let is_udp = flow.protocol == 17;
    if is_udp {
        packet[38..40].copy_from_slice(&(ip_bytes - 20).to_be_bytes());
    } else {
        packet[46..48].copy_from_slice(&[0x50, 0x10]);
    }
    let sum_at = if is_udp { 40 } else { 50 };
    packet[sum_at..sum_at + 2].fill(0);
    let pseudo = u64::from(flow.protocol) + u64::from(ip_bytes - 20);
    let addresses = packet[26..34].to_vec();
    let sum = checksum(pseudo + words(&addresses), &packet[34..]);
    let sum = if is_udp && random.below(8) == 0 { 0 } else { sum };
    packet[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The Internet checksum (RFC 1071) of bytes and a sum of further words.
fn checksum(start: u64, bytes: &[u8]) -> u16 {
    let mut sum = start + words(bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn words(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low));
    bytes.chunks(2).map(word).sum()
}
