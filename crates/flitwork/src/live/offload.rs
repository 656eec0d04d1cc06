//! What an interface left undone in a frame, done in software: checksums, and cutting large frames into packets.
//!
//! Linux hands frames of local programs on before their checksums are there and before they are cut to the MTU; the offload header
//! (virtio 1.2 §5.1.6, `struct virtio_net_hdr`) says what is missing. Elements see packets as they would be on the wire.

use packet::checksum::Sum;
use runtime::Packet;

use super::ffi::VlanTag;

/// Bytes of an offload header in front of a frame.
pub const HEADER_BYTES: usize = 10;

/// What is missing, as the kernel says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadHeader {
    /// The checksum is not there.
    pub needs_checksum: bool,
    /// What to cut the frame into, [`GSO_NONE`] and so on.
    pub gso_type: u8,
    /// Payload bytes of each packet.
    pub gso_size: u16,
    /// Where the sum begins.
    pub checksum_start: u16,
    /// Where the checksum stands, from there.
    pub checksum_offset: u16,
}

/// A whole packet.
pub const GSO_NONE: u8 = 0;
/// TCP over IPv4.
pub const GSO_TCPV4: u8 = 1;
/// TCP over IPv6.
pub const GSO_TCPV6: u8 = 4;
/// UDP datagrams of one flow.
pub const GSO_UDP_L4: u8 = 5;
/// Added to the TCP types if congestion was signalled.
const GSO_ECN: u8 = 0x80;

impl OffloadHeader {
    /// Reads a header; numbers are in the processor's byte order, as packet sockets have them.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> OffloadHeader {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        OffloadHeader {
            needs_checksum: bytes[0] & 1 != 0,
            gso_type: bytes[1] & !GSO_ECN,
            gso_size: number(4),
            checksum_start: number(6),
            checksum_offset: number(8),
        }
    }
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It is a packet.
    Whole,
    /// It is a packet once its checksum is written.
    Checksum {
        /// Where the sum begins.
        start: usize,
        /// Where it is written.
        field: usize,
    },
    /// It is several packets.
    Cut(Cut),
}

/// How a large frame is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    network: Network,
    /// Where the TCP or UDP header begins.
    transport: usize,
    is_tcp: bool,
    /// Where the payload begins.
    payload: usize,
    /// Payload bytes of each packet but the last.
    size: usize,
    n_packets: usize,
}

/// The IP header of a frame, by where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    V4(usize),
    V6(usize),
}

/// The header does not fit the frame, or asks for something unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl Plan {
    /// What `header` asks for with `frame`, which has its tags outside. `link_bytes` is the length of a link header.
    pub fn of(header: &OffloadHeader, frame: &[u8], link_bytes: usize) -> Result<Plan, Unknown> {
        let start = usize::from(header.checksum_start);
        if header.gso_type == GSO_NONE {
            let field = start + usize::from(header.checksum_offset);
            return match header.needs_checksum {
                false => Ok(Plan::Whole),
                true if field + 2 <= frame.len() => Ok(Plan::Checksum { start, field }),
                true => Err(Unknown),
            };
        }
        let is_tcp = match header.gso_type {
            GSO_TCPV4 | GSO_TCPV6 => true,
            GSO_UDP_L4 => false,
            _ => return Err(Unknown),
        };
        let network = network_header(frame, link_bytes).ok_or(Unknown)?;
        let header_bytes = match is_tcp {
            true => usize::from(*frame.get(start + 12).ok_or(Unknown)? >> 4) * 4,
            false => UDP_HEADER_BYTES,
        };
        let payload = start + header_bytes;
        let size = usize::from(header.gso_size);
        let (at, network_bytes) = match network {
            Network::V4(at) => (at, IPV4_HEADER_BYTES),
            Network::V6(at) => (at, IPV6_HEADER_BYTES),
        };
        let is_sound = header.needs_checksum
            && size > 0
            && at + network_bytes <= start
            && header_bytes >= if is_tcp { TCP_HEADER_BYTES } else { UDP_HEADER_BYTES }
            && payload < frame.len()
            // A length field has 16 bits.
            && payload - at + size <= usize::from(u16::MAX);
        if !is_sound {
            return Err(Unknown);
        }
        let n_packets = (frame.len() - payload).div_ceil(size);
        Ok(Plan::Cut(Cut { network, transport: start, is_tcp, payload, size, n_packets }))
    }

    /// How many packets it gives.
    pub fn n_packets(&self) -> usize {
        match self {
            Plan::Whole | Plan::Checksum { .. } => 1,
            Plan::Cut(cut) => cut.n_packets,
        }
    }

    /// Writes packet `idx` of the frame that the plan was made for, with its tag.
    pub fn write(&self, frame: &[u8], idx: usize, vlan: Option<VlanTag>, packet: &mut Packet) {
        match self {
            Plan::Whole => packet.set_bytes(frame),
            Plan::Checksum { start, field } => {
                packet.set_bytes(frame);
                finish_checksum(packet.bytes_mut(), *start, *field);
            }
            Plan::Cut(cut) => cut.write(frame, idx, packet),
        }
        if let Some(VlanTag { tpid, tci }) = vlan
            && packet.len() >= ADDRESS_BYTES
        {
            packet.insert(ADDRESS_BYTES, 4);
            let tag = (u32::from(tpid) << 16 | u32::from(tci)).to_be_bytes();
            packet.bytes_mut()[ADDRESS_BYTES..ADDRESS_BYTES + 4].copy_from_slice(&tag);
        }
    }
}

const ADDRESS_BYTES: usize = 12;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The sum in the field is that of the pseudo-header; the rest is added. UDP has no checksum 0 (RFC 768), and TCP may do without.
fn finish_checksum(bytes: &mut [u8], start: usize, field: usize) {
    let checksum = Sum::new().add_bytes(&bytes[start..]).checksum();
    put_u16(bytes, field, if checksum == 0 { 0xffff } else { checksum });
}

/// The IP header behind the link header and any tags that are still in the frame.
fn network_header(frame: &[u8], link_bytes: usize) -> Option<Network> {
    let mut at = link_bytes;
    if link_bytes > 0 {
        let mut ether_type = u16_at(frame, at.checked_sub(2)?)?;
        while matches!(ether_type, 0x8100 | 0x88a8) {
            at += 4;
            ether_type = u16_at(frame, at - 2)?;
        }
        if !matches!(ether_type, 0x0800 | 0x86dd) {
            return None;
        }
    }
    match frame.get(at)? >> 4 {
        4 => Some(Network::V4(at)),
        6 => Some(Network::V6(at)),
        _ => None,
    }
}

impl Cut {
    fn write(&self, frame: &[u8], idx: usize, packet: &mut Packet) {
        let begin = self.payload + idx * self.size;
        let end = (begin + self.size).min(frame.len());
        packet.set_bytes(&frame[..self.payload]);
        packet.extend(&frame[begin..end]);
        let bytes = packet.bytes_mut();
        self.fix_transport(bytes, idx);
        self.fix_network(bytes, idx);
        let sum = self.pseudo_header(bytes).add_bytes(&bytes[self.transport..]);
        let field = self.transport + if self.is_tcp { 16 } else { 6 };
        let checksum = sum.checksum();
        put_u16(bytes, field, if checksum == 0 && !self.is_tcp { 0xffff } else { checksum });
    }

    /// Sequence number and flags of TCP, length of UDP, and a checksum of zero.
    fn fix_transport(&self, bytes: &mut [u8], idx: usize) {
        const FIN_AND_PSH: u8 = 0x09;
        const CWR: u8 = 0x80;
        let at = self.transport;
        if !self.is_tcp {
            put_u16(bytes, at + 4, (bytes.len() - at) as u16);
            put_u16(bytes, at + 6, 0);
            return;
        }
        let sequence = u32::from_be_bytes([bytes[at + 4], bytes[at + 5], bytes[at + 6], bytes[at + 7]]);
        let sequence = sequence.wrapping_add((idx * self.size) as u32);
        bytes[at + 4..at + 8].copy_from_slice(&sequence.to_be_bytes());
        if idx + 1 < self.n_packets {
            bytes[at + 13] &= !FIN_AND_PSH;
        }
        if idx > 0 {
            bytes[at + 13] &= !CWR;
        }
        put_u16(bytes, at + 16, 0);
    }

    fn fix_network(&self, bytes: &mut [u8], idx: usize) {
        match self.network {
            Network::V4(at) => {
                let id = u16::from_be_bytes([bytes[at + 4], bytes[at + 5]]).wrapping_add(idx as u16);
                put_u16(bytes, at + 2, (bytes.len() - at) as u16);
                put_u16(bytes, at + 4, id);
                put_u16(bytes, at + 10, 0);
                let checksum = Sum::new().add_bytes(&bytes[at..self.header_end(at, bytes)]).checksum();
                put_u16(bytes, at + 10, checksum);
            }
            Network::V6(at) => put_u16(bytes, at + 4, (bytes.len() - at - IPV6_HEADER_BYTES) as u16),
        }
    }

    fn header_end(&self, at: usize, bytes: &[u8]) -> usize {
        (at + usize::from(bytes[at] & 15) * 4).clamp(at + IPV4_HEADER_BYTES, self.transport)
    }

    fn pseudo_header(&self, bytes: &[u8]) -> Sum {
        let protocol = if self.is_tcp { TCP } else { UDP };
        let length = (bytes.len() - self.transport) as u16;
        let addresses = match self.network {
            Network::V4(at) => &bytes[at + 12..at + 20],
            Network::V6(at) => &bytes[at + 8..at + 40],
        };
        Sum::new().add_bytes(addresses).add_u16(u16::from(protocol)).add_u16(length)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

fn put_u16(bytes: &mut [u8], at: usize, number: u16) {
    bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use runtime::Packet;

    use super::{GSO_TCPV4, GSO_UDP_L4, OffloadHeader, Plan, Unknown};
    use crate::live::ffi::VlanTag;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn packets(header: &OffloadHeader, frame: &[u8], vlan: Option<VlanTag>) -> Vec<Vec<u8>> {
        let plan = Plan::of(header, frame, 14).unwrap();
        let packet = |idx| {
            let mut packet = Packet::default();
            plan.write(frame, idx, vlan, &mut packet);
            packet.bytes().to_vec()
        };
        (0..plan.n_packets()).map(packet).collect()
    }

    const ADDRESSES: &str = "020000000002 020000000001";

    // The packets below were computed with scapy 2.8.0, which fills in lengths and checksums on its own.

    #[test]
    fn large_tcp_frame_becomes_packets_with_right_headers() {
        // PSH, FIN and CWR set; 5 bytes of payload by 2; identification 0xffff goes round; sequence number as well.
        let frame = format!(
            "{ADDRESSES} 0800 4500002dffff4000400600000a0000010a000002 1f90 0050 fffffffe 00000001 5099 2000 dead 0000 0102030405"
        );
        let header = OffloadHeader {
            needs_checksum: true,
            gso_type: GSO_TCPV4,
            gso_size: 2,
            checksum_start: 34,
            checksum_offset: 16,
        };
        let expected = EXPECTED_TCP.map(|hex| bytes(&format!("{ADDRESSES}{hex}")));
        assert_eq!(packets(&header, &bytes(&frame), None), expected);
    }

    const EXPECTED_TCP: [&str; 3] = [
        "08004500002affff4000400626cc0a0000010a0000021f900050fffffffe00000001509020005a6e00000102",
        "08004500002a00004000400626cc0a0000010a0000021f90005000000000000000015010200058eb00000304",
        "08004500002900014000400626cc0a0000010a0000021f90005000000002000000015019200056e5000005",
    ];

    #[test]
    fn udp_burst_behind_a_tag_becomes_datagrams() {
        let frame = format!("{ADDRESSES} 86dd 60000000000b1140 {V6} 1000 2000 000b beef 616263");
        let header = OffloadHeader {
            needs_checksum: true,
            gso_type: GSO_UDP_L4,
            gso_size: 2,
            checksum_start: 54,
            checksum_offset: 6,
        };
        let vlan = VlanTag { tpid: 0x8100, tci: 0x2064 };
        let expected = EXPECTED_UDP.map(|hex| bytes(&format!("{ADDRESSES} 8100 2064 {hex}")));
        assert_eq!(packets(&header, &bytes(&frame), Some(vlan)), expected);
    }

    const V6: &str = "20010db8000000000000000000000001 20010db8000000000000000000000002";
    const EXPECTED_UDP: [&str; 2] = [
        "86dd60000000000a114020010db800000000000000000000000120010db8000000000000000000000002 10002000000a13036162",
        "86dd600000000009114020010db800000000000000000000000120010db8000000000000000000000002 100020000009116763",
    ];

    #[test]
    fn checksum_of_a_whole_packet_is_finished() {
        // The field holds the sum of the pseudo-header: 10.0.0.1, 10.0.0.2, 17, 11.
        let frame =
            bytes(&format!("{ADDRESSES} 0800 4500001f00010000401166cb0a0000010a000002 1000 2000 000b 141f 616263"));
        let header =
            OffloadHeader { needs_checksum: true, checksum_start: 34, checksum_offset: 6, ..OffloadHeader::default() };
        assert_eq!(packets(&header, &frame, None), [bytes(&format!("{ADDRESSES} {EXPECTED_WHOLE}"))]);
    }

    const EXPECTED_WHOLE: &str = "08004500001f00010000401166cb0a0000010a00000210002000000bf772616263";

    #[test]
    fn headers_that_do_not_fit_are_refused() {
        let frame = [0; 60];
        let checksum =
            OffloadHeader { needs_checksum: true, checksum_start: 50, checksum_offset: 9, ..OffloadHeader::default() };
        assert_eq!(Plan::of(&checksum, &frame, 14), Err(Unknown));
        for gso_type in 1..=u8::MAX {
            for start in [0, 34, 47, 59, u16::MAX] {
                let header = OffloadHeader {
                    needs_checksum: true,
                    gso_type,
                    gso_size: 1,
                    checksum_start: start,
                    checksum_offset: u16::MAX,
                };
                assert_eq!(Plan::of(&header, &frame, 14), Err(Unknown), "{header:?}");
            }
        }
    }
}
