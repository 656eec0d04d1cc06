//! Properties over generated packets: what is written is read again, in every format.

use crate::support::{read_all, write_all};
use packet::capture::{CaptureWriter, Format, Frame, PACKET_BYTES_MAX, Record, Resolution, WriteError};
use packet::link::LinkType;
use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};

fn a_link_type() -> impl Strategy<Value = LinkType> {
    prop_oneof![(0..3_u32).prop_map(LinkType), (0..=u32::from(u16::MAX)).prop_map(LinkType)]
}

fn a_record() -> impl Strategy<Value = Record> {
    let length = prop_oneof![8 => 0..200_usize, 1 => 0..5_000_usize, 1 => 0..100_000_usize];
    let data = (length, any::<u8>())
        .prop_map(|(length, first)| (0..length).map(|i| first.wrapping_add(i as u8)).collect::<Vec<u8>>());
    (data, any::<u32>(), any::<u64>(), a_link_type()).prop_map(|(data, orig_len, time_ns, link_type)| Record {
        data,
        orig_len,
        time_ns,
        link_type,
        interface: 0,
        offset: 0,
    })
}

/// The part of a record that every format keeps.
fn kept(records: &[Record]) -> Vec<Record> {
    records.iter().map(|record| Record { interface: 0, offset: 0, ..record.clone() }).collect()
}

proptest! {
    #[test]
    fn pcapng_keeps_every_packet(records in prop::collection::vec(a_record(), 0..20)) {
        let (again, error) = read_all(&write_all(&records, Format::Pcapng)[..]);
        prop_assert!(error.is_none());
        prop_assert_eq!(kept(&again), records);
    }

    #[test]
    fn pcap_keeps_every_packet_of_its_link_type(
        records in prop::collection::vec(a_record(), 0..20),
        link_type in 0..1_u32 << 26,
        resolution in prop::sample::select(&[Resolution::Microseconds, Resolution::Nanoseconds][..]),
    ) {
        let unit_ns = match resolution { Resolution::Microseconds => 1_000, Resolution::Nanoseconds => 1 };
        let link_type = LinkType(link_type);
        let last = u64::from(u32::MAX) * 1_000_000_000 + 999_999_999;
        let records: Vec<Record> = records.into_iter().map(|record| Record {
            link_type,
            time_ns: record.time_ns % last / unit_ns * unit_ns,
            ..record
        }).collect();
        let (again, error) = read_all(&write_all(&records, Format::Pcap { resolution, link_type })[..]);
        prop_assert!(error.is_none());
        prop_assert_eq!(kept(&again), records);
    }

    /// Any bytes at all: the reader ends, with an error or without.
    #[test]
    fn no_input_upsets_the_reader(mut bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0..5_usize) {
        let starts: [&[u8]; 5] = [
            b"",
            b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00",
            b"\xa1\xb2\x3c\x4d\x00\x02\x00\x04",
            b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00",
            b"\x0a\x0d\x0d\x0a\x00\x00\x00\x1c\x1a\x2b\x3c\x4d\x00\x01\x00\x00",
        ];
        bytes.splice(0..0, starts[start].iter().copied());
        let (records, _) = read_all(&bytes[..]);
        prop_assert!(records.iter().map(|record| record.data.len()).sum::<usize>() <= bytes.len());
    }
}

#[test]
fn times_out_of_range_become_the_nearest() {
    let record = |time_ns| Record { time_ns, ..Record::default() };
    let times = |format| {
        let (records, error) = read_all(&write_all(&[record(999), record(u64::MAX)], format)[..]);
        assert!(error.is_none());
        records.iter().map(|record| record.time_ns).collect::<Vec<u64>>()
    };
    let pcap = |resolution| Format::Pcap { resolution, link_type: LinkType::ETHERNET };
    assert_eq!(times(pcap(Resolution::Microseconds)), [0, 4_294_967_295_999_999_000]);
    assert_eq!(times(pcap(Resolution::Nanoseconds)), [999, 4_294_967_295_999_999_999]);
    assert_eq!(times(Format::Pcapng), [999, u64::MAX]);
}

#[test]
fn packets_beyond_the_limit_are_cut_as_a_capturing_program_would() {
    for format in [Format::Pcapng, Format::Pcap { resolution: Resolution::Microseconds, link_type: LinkType::ETHERNET }]
    {
        let long = Record { data: vec![7; 300_000], orig_len: 300_000, ..Record::default() };
        let next = Record { data: vec![8; 3], orig_len: 3, ..Record::default() };
        let (again, error) = read_all(&write_all(&[long.clone(), next.clone()], format)[..]);
        assert!(error.is_none());
        let cut = Record { data: vec![7; PACKET_BYTES_MAX as usize], ..long };
        assert_eq!(kept(&again), [cut, next]);
    }
}

#[test]
fn a_link_type_that_does_not_fit_leaves_the_file_as_it_was() {
    let frame = |link_type| Frame { link_type, time_ns: 0, orig_len: 0, data: &[] };
    let pcap = |link_type| Format::Pcap { resolution: Resolution::Microseconds, link_type };

    let mut writer = CaptureWriter::new(Vec::new(), pcap(LinkType::ETHERNET)).unwrap();
    let error = writer.write(frame(LinkType::RAW)).unwrap_err();
    assert!(matches!(error, WriteError::OtherLinkType { file: LinkType::ETHERNET, packet: LinkType::RAW }));
    assert_eq!(
        error.to_string(),
        "a packet of link type 101 (raw IP) does not fit a pcap file of link type 1 (Ethernet); \
         write pcapng, which holds both"
    );
    writer.write(frame(LinkType::ETHERNET)).unwrap();
    assert_eq!(read_all(&writer.finish().unwrap()[..]).0.len(), 1);

    let mut writer = CaptureWriter::new(Vec::new(), Format::Pcapng).unwrap();
    let error = writer.write(frame(LinkType(65_536))).unwrap_err();
    assert!(matches!(error, WriteError::LinkTypeRange { link_type: LinkType(65_536) }));
    writer.write(frame(LinkType(65_535))).unwrap();
    assert_eq!(read_all(&writer.finish().unwrap()[..]).0.len(), 1);

    assert!(CaptureWriter::new(Vec::new(), pcap(LinkType(1 << 26))).is_err());
}
