//! The Internet checksum against published examples and against the packets of saved captures.

use std::fs::File;
use std::path::Path;

use packet::capture::{CaptureReader, Record};
use packet::checksum::{Sum, checksum, update_u16, update_u32};
use proptest::prelude::{any, prop, proptest};
use proptest::prop_assert_eq;

#[test]
fn published_examples() {
    // RFC 1071 §3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
    assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    // RFC 1624 §4: a header with checksum dd2f in which 5555 becomes 3285 has checksum 0, not ffff.
    assert_eq!(update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
    assert_eq!(checksum(&[]), 0xffff);
    assert_eq!(checksum(&[0xff]), 0x00ff, "an odd byte is the high one");
    assert_eq!(checksum(&[0; 5]), 0xffff);
    assert_eq!(checksum(&[0xff; 65_535]), 0x00ff);
}

fn records(name: &str) -> Vec<Record> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/pcaps").join(name);
    let mut reader = CaptureReader::new(File::open(path).unwrap()).unwrap();
    let mut records = Vec::new();
    let mut record = Record::default();
    while reader.next_into(&mut record).unwrap() {
        records.push(record.clone());
    }
    records
}

/// The senders of these packets computed the sums, and tshark finds them right.
#[test]
fn saved_ipv4_packets_are_right() {
    for record in records("tcp-ethernet.pcap") {
        let ip = &record.data[14..];
        assert_eq!(checksum(&ip[..20]), 0);
        let total_length = u16::from_be_bytes([ip[2], ip[3]]);
        let (source, destination) = (ip[12..16].try_into().unwrap(), ip[16..20].try_into().unwrap());
        let sum = Sum::new()
            .add_pseudo_header_v4(source, destination, ip[9], total_length - 20)
            .add_bytes(&ip[20..usize::from(total_length)]);
        assert_eq!(sum.checksum(), 0);

        // One hop: the lifetime falls by one, as routers do it and as computed from nothing.
        let mut hop = ip[..20].to_vec();
        hop[8] -= 1;
        hop[10..12].fill(0);
        let old = u16::from_be_bytes([ip[8], ip[9]]);
        let new = u16::from_be_bytes([hop[8], hop[9]]);
        assert_eq!(update_u16(u16::from_be_bytes([ip[10], ip[11]]), old, new), checksum(&hop));
    }
}

#[test]
fn saved_ipv6_packets_are_right() {
    let records = records("udp-ipv6.pcap");
    for record in &records {
        let ip = &record.data[14..];
        let (source, destination) = (ip[8..24].try_into().unwrap(), ip[24..40].try_into().unwrap());
        let payload_length = u16::from_be_bytes([ip[4], ip[5]]);
        let sum = Sum::new()
            .add_pseudo_header_v6(source, destination, ip[6], u32::from(payload_length))
            .add_bytes(&ip[40..40 + usize::from(payload_length)]);
        assert_eq!(sum.checksum(), 0);
    }
    assert_eq!(records.len(), 40);
}

/// RFC 1071 §1 as it is written: 16-bit words, one by one, each carry added back at once.
fn plain(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | word.get(1).map_or(0, |byte| u32::from(*byte));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

proptest! {
    #[test]
    fn any_bytes_sum_as_the_plain_definition_says(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..100_usize) {
        prop_assert_eq!(checksum(&bytes), plain(&bytes));
        let cut = (cut * 2).min(bytes.len() / 2 * 2);
        let in_pieces = Sum::new().add_bytes(&bytes[..cut]).add_bytes(&bytes[cut..]);
        prop_assert_eq!(in_pieces.checksum(), plain(&bytes));
    }

    #[test]
    fn an_update_equals_a_recomputation(
        mut bytes in prop::collection::vec(any::<u8>(), 8..40),
        new in any::<u32>(),
        at in 0..2_usize,
    ) {
        bytes[7] |= 1; // A message of zeros alone is the one case that equation 3 leaves out.
        let before = checksum(&bytes);
        let mut changed = bytes.clone();
        changed[at * 2..at * 2 + 2].copy_from_slice(&new.to_be_bytes()[2..]);
        let old = u16::from_be_bytes([bytes[at * 2], bytes[at * 2 + 1]]);
        prop_assert_eq!(update_u16(before, old, new as u16), checksum(&changed));

        changed = bytes.clone();
        changed[at * 2..at * 2 + 4].copy_from_slice(&new.to_be_bytes());
        let old = u32::from_be_bytes([bytes[at * 2], bytes[at * 2 + 1], bytes[at * 2 + 2], bytes[at * 2 + 3]]);
        prop_assert_eq!(update_u32(before, old, new), checksum(&changed));
    }
}
