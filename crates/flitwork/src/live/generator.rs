//! `gen:`: UDP packets over IPv4, made by number: the same description gives the same packets.
//!
//! Flow `f` goes from 198.18.0.0 + f mod 65536, port 1024 + f / 65536, to 198.19.0.1, port 9 (addresses for benchmarks, RFC 2544 §C.2.2).
//! The payload is the packet's number in eight bytes, as far as it fits, then zeros. Stamps follow from the rate.

use packet::checksum::Sum;
use packet::link::LinkType;
use runtime::{Filled, IoError, Packet, PacketSource};

use super::endpoint::{Rate, Sizes, Traffic};

const HEADER_BYTES: usize = 42;
const NETWORK: usize = 14;
const TRANSPORT: usize = 34;
const UDP: u8 = 17;

/// Makes packets.
#[derive(Debug)]
pub struct Generator {
    traffic: Traffic,
    start_ns: u64,
    n_made: u64,
    /// Time of the next packet after the start, in nanoseconds, and the rest over the rate.
    next_ns: u64,
    fraction: u64,
    random: u64,
    bytes: Vec<u8>,
}

impl Generator {
    /// Begins at `start_ns`.
    pub fn new(traffic: Traffic, start_ns: u64) -> Generator {
        // Zero is the one state that the random numbers never leave.
        let random = traffic.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Generator { traffic, start_ns, n_made: 0, next_ns: 0, fraction: 0, random, bytes: Vec::new() }
    }

    /// xorshift64* (Vigna 2016).
    fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn size(&mut self) -> usize {
        let size = match self.traffic.sizes {
            Sizes::Fixed(size) => size,
            Sizes::Imix => match self.random() % 12 {
                0..7 => 60,
                7..11 => 566,
                _ => 1514,
            },
            Sizes::Between(from, to) => from + (self.random() % (u64::from(to - from) + 1)) as u16,
        };
        usize::from(size)
    }

    /// Moves time on by what a packet takes.
    fn advance(&mut self, n_bytes: usize) {
        let (amount, rate) = match self.traffic.rate {
            Rate::Unlimited => return,
            Rate::Packets(rate) => (1, rate),
            Rate::Bits(rate) => (n_bytes as u64 * 8, rate),
        };
        let total = u128::from(amount) * 1_000_000_000 + u128::from(self.fraction);
        self.next_ns = self.next_ns.saturating_add((total / u128::from(rate)) as u64);
        self.fraction = (total % u128::from(rate)) as u64;
    }

    fn make(&mut self, packet: &mut Packet) {
        let n_bytes = self.size();
        let flow = (self.n_made % u64::from(self.traffic.n_flows)) as u32;
        self.bytes.clear();
        self.bytes.resize(n_bytes, 0);
        write_frame(&mut self.bytes, flow, self.n_made);
        packet.set_bytes(&self.bytes);
        packet.time_ns = self.start_ns.saturating_add(self.next_ns);
        packet.link_type = LinkType::ETHERNET.0;
        self.advance(n_bytes);
        self.n_made += 1;
    }
}

/// Fills zero bytes, at least [`HEADER_BYTES`] of them.
fn write_frame(bytes: &mut [u8], flow: u32, number: u64) {
    const MACS_AND_TYPE: [u8; NETWORK] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let n_bytes = bytes.len();
    let source = (0xc612_0000_u32 | flow & 0xffff).to_be_bytes();
    let destination = [198, 19, 0, 1];
    bytes[..NETWORK].copy_from_slice(&MACS_AND_TYPE);
    bytes[NETWORK] = 0x45;
    bytes[NETWORK + 2..][..2].copy_from_slice(&((n_bytes - NETWORK) as u16).to_be_bytes());
    bytes[NETWORK + 8..][..2].copy_from_slice(&[64, UDP]);
    bytes[NETWORK + 12..][..4].copy_from_slice(&source);
    bytes[NETWORK + 16..][..4].copy_from_slice(&destination);
    let checksum = Sum::new().add_bytes(&bytes[NETWORK..TRANSPORT]).checksum();
    bytes[NETWORK + 10..][..2].copy_from_slice(&checksum.to_be_bytes());
    let udp_bytes = (n_bytes - TRANSPORT) as u16;
    bytes[TRANSPORT..][..2].copy_from_slice(&(1024 + (flow >> 16) as u16).to_be_bytes());
    bytes[TRANSPORT + 2..][..2].copy_from_slice(&9_u16.to_be_bytes());
    bytes[TRANSPORT + 4..][..2].copy_from_slice(&udp_bytes.to_be_bytes());
    let payload = &mut bytes[HEADER_BYTES..];
    let n_number = payload.len().min(8);
    payload[..n_number].copy_from_slice(&number.to_be_bytes()[..n_number]);
    let sum = Sum::new().add_pseudo_header_v4(source, destination, UDP, udp_bytes).add_bytes(&bytes[TRANSPORT..]);
    let checksum = match sum.checksum() {
        0 => 0xffff,
        checksum => checksum,
    };
    bytes[TRANSPORT + 6..][..2].copy_from_slice(&checksum.to_be_bytes());
}

impl PacketSource for Generator {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let n_left = self.traffic.n_packets.map_or(u64::MAX, |n_packets| n_packets - self.n_made);
        let n_now = (packets.len() as u64).min(n_left) as usize;
        packets[..n_now].iter_mut().for_each(|packet| self.make(packet));
        Ok(if n_now == 0 { Filled::End } else { Filled::Packets(n_now) })
    }
}

#[cfg(test)]
mod tests {
    use runtime::{Filled, Packet, PacketSource as _};

    use super::Generator;
    use crate::live::endpoint::{Rate, Sizes, Traffic};

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Frames computed with scapy 2.8.0, which fills in lengths and checksums on its own.
    #[test]
    fn packets_have_right_headers_and_stamps() {
        let traffic =
            Traffic { sizes: Sizes::Fixed(51), rate: Rate::Packets(3), n_flows: 2, n_packets: Some(3), seed: 1 };
        let mut generator = Generator::new(traffic, 100);
        let mut packets = vec![Packet::default(); 5];
        assert_eq!(generator.fill(&mut packets).unwrap(), Filled::Packets(3));
        let made: Vec<(u64, String)> =
            packets[..3].iter().map(|packet| (packet.time_ns, hex(packet.bytes()))).collect();
        let expected = EXPECTED.map(|(time_ns, frame)| (time_ns, frame.to_string()));
        assert_eq!(made, expected);
        assert_eq!(generator.fill(&mut packets).unwrap(), Filled::End);
    }

    const EXPECTED: [(u64, &str); 3] = [
        (100, "020000000002020000000001080045000025000000004011eea1c6120000c61300010400000900116f9c000000000000000000"),
        (
            333_333_433,
            "020000000002020000000001080045000025000000004011eea0c6120001c61300010400000900116f9a000000000000000100",
        ),
        (
            666_666_766,
            "020000000002020000000001080045000025000000004011eea1c6120000c61300010400000900116f9a000000000000000200",
        ),
    ];
}
