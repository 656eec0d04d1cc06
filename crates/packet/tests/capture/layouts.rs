//! The corners of the two capture formats that the saved captures do not reach, built by hand from
//! draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng and libpcap's `sf-pcap.c`.

use crate::support::read_all;
use packet::capture::Record;
use packet::link::LinkType;

/// The bytes of `words`, in the order that `bytes_of` gives each.
fn words(bytes_of: fn(u32) -> [u8; 4], words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| bytes_of(*word)).collect()
}

/// A pcapng block around `body`, whose length must be a multiple of 4.
fn block(bytes_of: fn(u32) -> [u8; 4], block_type: u32, body: &[u8]) -> Vec<u8> {
    let length = bytes_of(body.len() as u32 + 12);
    [&bytes_of(block_type)[..], &length, body, &length].concat()
}

fn little_section() -> Vec<u8> {
    block(u32::to_le_bytes, 0x0a0d_0d0a, &words(u32::to_le_bytes, &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]))
}

fn little_interface(link_type: u32, snap_length: u32, options: &[u8]) -> Vec<u8> {
    let body = [&words(u32::to_le_bytes, &[link_type, snap_length])[..], options].concat();
    block(u32::to_le_bytes, 1, &body)
}

/// An Enhanced Packet Block of interface 0 with the data `ab cd`.
fn little_packet(ticks: u64) -> Vec<u8> {
    let fields = [0, (ticks >> 32) as u32, ticks as u32, 2, 2];
    block(u32::to_le_bytes, 6, &[&words(u32::to_le_bytes, &fields)[..], &[0xab, 0xcd, 0, 0]].concat())
}

/// The time of a packet with `ticks` on an interface with these options.
fn time_with_options(options: &[u8], ticks: u64) -> u64 {
    let file = [little_section(), little_interface(1, 0, options), little_packet(ticks)].concat();
    let (records, error) = read_all(&file[..]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].data, [0xab, 0xcd]);
    records[0].time_ns
}

fn resolution(value: u8) -> Vec<u8> {
    vec![9, 0, 1, 0, value, 0, 0, 0]
}

fn offset(seconds: i64) -> Vec<u8> {
    [&[14, 0, 8, 0][..], &seconds.to_le_bytes()].concat()
}

#[test]
fn time_units_and_offsets() {
    assert_eq!(time_with_options(&[], 1_500_000_000_123_456), 1_500_000_000_123_456_000, "microseconds");
    assert_eq!(time_with_options(&resolution(0), 1_500_000_000), 1_500_000_000_000_000_000, "seconds");
    assert_eq!(time_with_options(&resolution(3), 1_500_000_000_123), 1_500_000_000_123_000_000);
    assert_eq!(time_with_options(&resolution(9), 1_500_000_000_123_456_789), 1_500_000_000_123_456_789);
    assert_eq!(time_with_options(&resolution(12), 1_234_999), 1_234, "picoseconds are cut, not rounded");
    assert_eq!(time_with_options(&resolution(127), u64::MAX), 0, "10^-127 s");
    assert_eq!(time_with_options(&resolution(0x80), 7), 7_000_000_000, "2^0 s");
    assert_eq!(time_with_options(&resolution(0x80 | 32), 5 << 31), 2_500_000_000, "2^-32 s");
    assert_eq!(time_with_options(&resolution(0x80 | 127), u64::MAX), 0, "2^-127 s");

    assert_eq!(time_with_options(&offset(1_000), 5), 1_000_000_005_000);
    assert_eq!(time_with_options(&offset(-1), 1_000_001), 1_000, "an offset back in time");
    assert_eq!(time_with_options(&offset(-2), 1_000_001), 0, "before 1970");
    assert_eq!(time_with_options(&offset(i64::MAX), 0), u64::MAX, "after 2554");
    assert_eq!(time_with_options(&resolution(0), u64::MAX), u64::MAX);
    let both = [resolution(9), offset(3), vec![0, 0, 0, 0]].concat();
    assert_eq!(time_with_options(&both, 4), 3_000_000_004);
    let name_first = [vec![2, 0, 5, 0, b'e', b't', b'h', b'1', b'0', 0, 0, 0], resolution(9)].concat();
    assert_eq!(time_with_options(&name_first, 4), 4, "other options are passed over with their padding");
    let after_end = [vec![0, 0, 0, 0], resolution(9)].concat();
    assert_eq!(time_with_options(&after_end, 4), 4_000, "nothing counts after the end of options");
}

#[test]
fn sections_of_both_byte_orders_with_packets_of_all_kinds() {
    let big = u32::to_be_bytes;
    let file = [
        little_section(),
        little_interface(1, 3, &[]),
        little_interface(101, 0, &[]),
        block(u32::to_le_bytes, 0x0bad_f00d, &[1; 40]), // A block that nobody knows.
        // Simple Packet: 9 bytes on the wire, 3 by the snap length of interface 0.
        block(u32::to_le_bytes, 3, &[9, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0]),
        // Obsolete Packet: interface 1, 0xffff drops, time, 1 of 60 bytes, an option after it.
        block(
            u32::to_le_bytes,
            2,
            &[1, 0, 0xff, 0xff, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 60, 0, 0, 0, 0x45, 0, 0, 0, 0, 0, 0, 0],
        ),
        block(big, 0x0a0d_0d0a, &words(big, &[0x1a2b_3c4d, 0x0001_0000, 0, 0])),
        block(big, 1, &words(big, &[276 << 16, 0, 0x0009_0001, 0x0900_0000])),
        // Enhanced Packet: interface 0 of this section, 2^32 + 1 ns, no bytes of 5.
        block(big, 6, &words(big, &[0, 1, 1, 0, 5])),
        // Obsolete Packet: interface 0, no drops, more bytes (4) than there were (2).
        block(big, 2, &words(big, &[0, 0, 2, 4, 2, 0x0102_0304])),
    ]
    .concat();
    let (records, error) = read_all(&file[..]);
    assert!(error.is_none(), "{error:?}");

    let record = |data: &[u8], orig_len, time_ns, link_type, interface, offset| Record {
        data: data.to_vec(),
        orig_len,
        time_ns,
        link_type,
        interface,
        offset,
    };
    let expected = [
        record(&[0xaa, 0xbb, 0xcc], 9, 0, LinkType::ETHERNET, 0, 120),
        record(&[0x45], 60, 7_000, LinkType::RAW, 1, 140),
        record(&[], 5, 4_294_967_297, LinkType::LINUX_SLL2, 2, 236),
        record(&[1, 2, 3, 4], 2, 2, LinkType::LINUX_SLL2, 2, 268),
    ];
    assert_eq!(records, expected);
}

#[test]
fn old_pcap_layouts() {
    let little = u32::to_le_bytes;
    let one_packet = |magic, version, record: &[u32]| {
        let header = words(little, &[magic, version, 0, 0, 96, 1]);
        let file = [header, words(little, record), vec![0xab, 0xcd]].concat();
        let (records, error) = read_all(&file[..]);
        assert!(error.is_none(), "{error:?}");
        let [record] = &records[..] else { panic!("{records:?}") };
        assert_eq!(record.data, [0xab, 0xcd]);
        (record.time_ns, record.orig_len)
    };
    let version = |major: u32, minor: u32| minor << 16 | major;
    let expected = (3_000_004_000, 60);
    assert_eq!(one_packet(0xa1b2_c3d4, version(2, 4), &[3, 4, 2, 60]), expected);
    assert_eq!(one_packet(0xa1b2_c3d4, version(2, 2), &[3, 4, 60, 2]), expected);
    assert_eq!(one_packet(0xa1b2_c3d4, version(2, 3), &[3, 4, 60, 2]), expected);
    assert_eq!(one_packet(0xa1b2_c3d4, version(2, 3), &[3, 4, 2, 60]), expected);
    assert_eq!(one_packet(0xa1b2_c3d4, version(543, 0), &[3, 4, 60, 2]), expected);
    assert_eq!(one_packet(0xa1b2_c3d4, version(4, 2), &[3, 4, 2, 60]), expected);
    assert_eq!(one_packet(0xa1b2_cd34, version(2, 4), &[3, 4, 2, 60, 1, 8]), expected, "Kuznetzov");
    assert_eq!(one_packet(0xa1b2_3c4d, version(2, 4), &[3, 4, 2, 60]), (3_000_000_004, 60));
    let late = (u64::from(u32::MAX) * 1_000_000_000 + u64::from(u32::MAX) * 1_000, 60);
    assert_eq!(one_packet(0xa1b2_c3d4, version(2, 4), &[u32::MAX, u32::MAX, 2, 60]), late);
}

#[test]
fn the_link_type_is_read_apart_from_the_check_sequence_bits() {
    let file = words(u32::to_be_bytes, &[0xa1b2_c3d4, 0x0002_0004, 0, 0, 96, 0x4400_0001, 0, 0, 0, 0]);
    let (records, error) = read_all(&file[..]);
    assert!(error.is_none(), "{error:?}");
    let expected = Record { link_type: LinkType::ETHERNET, offset: 24, ..Record::default() };
    assert_eq!(records, [expected]);
}
