//! The Ethernet view of other link layers: each header layout by hand, and the way back for any frame.
//!
//! Layouts from tcpdump.org/linktypes.html (LINKTYPE_NULL, LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2)
//! and RFC 894; the saved captures' EtherTypes are those that tshark shows.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use packet::capture::{CaptureReader, Record};
use packet::link::{self, Entry, LeaveError, LinkInfo, LinkType};
use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};

const CONVERTIBLE: [LinkType; 9] = [
    LinkType::NULL,
    LinkType::DLT_RAW,
    LinkType::DLT_RAW_OPENBSD,
    LinkType::RAW,
    LinkType::LOOP,
    LinkType::LINUX_SLL,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::LINUX_SLL2,
];

/// The Ethernet view of a frame of a convertible link type.
fn view(link_type: LinkType, frame: &[u8]) -> (Vec<u8>, LinkInfo) {
    let Entry::Converted { strip, header, info } = link::enter(link_type, frame) else {
        panic!("{link_type} has an Ethernet view")
    };
    assert_eq!(info.link_type(), link_type);
    ([&header[..], &frame[strip..]].concat(), info)
}

/// The frame as it leaves.
fn back(info: &LinkInfo, ethernet: &[u8]) -> Result<Vec<u8>, LeaveError> {
    let exit = link::leave(info, ethernet)?;
    Ok([exit.header(), &ethernet[exit.strip..]].concat())
}

/// An Ethernet frame without destination.
fn ethernet(source: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&[0; 6][..], &source, &ethertype.to_be_bytes(), payload].concat()
}

const NONE: [u8; 6] = [0; 6];
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

#[test]
fn ethernet_stays_and_foreign_types_are_opaque() {
    assert_eq!(link::enter(LinkType::ETHERNET, &[1, 2, 3]), Entry::Ethernet);
    assert_eq!(link::enter(LinkType(127), &[0; 64]), Entry::Opaque);
    assert_eq!(link::enter(LinkType(274), &[0; 64]), Entry::Opaque);
}

#[test]
fn raw_ip() {
    for link_type in [LinkType::RAW, LinkType::DLT_RAW, LinkType::DLT_RAW_OPENBSD] {
        assert_eq!(view(link_type, &[0x45, 1]).0, ethernet(NONE, 0x0800, &[0x45, 1]));
        assert_eq!(view(link_type, &[0x6f, 1]).0, ethernet(NONE, 0x86dd, &[0x6f, 1]));
        assert_eq!(view(link_type, &[0x10, 1]).0, ethernet(NONE, 0xffff, &[0x10, 1]));
        assert_eq!(view(link_type, &[]).0, ethernet(NONE, 0xffff, &[]));
    }
    assert_eq!(view(LinkType::IPV4, &[0x65]).0, ethernet(NONE, 0x0800, &[0x65]));
    assert_eq!(view(LinkType::IPV6, &[]).0, ethernet(NONE, 0x86dd, &[]));

    let (_, info) = view(LinkType::RAW, &[0x45, 1]);
    assert_eq!(back(&info, &ethernet(MAC, 0x86dd, &[0x60])), Ok(vec![0x60]));
    let refused = |link_type, ethertype| Err(LeaveError::Protocol { link_type, ethertype });
    assert_eq!(back(&info, &ethernet(NONE, 0x0806, &[1])), refused(LinkType::RAW, 0x0806));
    let (_, info) = view(LinkType::IPV4, &[0x45]);
    assert_eq!(back(&info, &ethernet(NONE, 0x86dd, &[1])), refused(LinkType::IPV4, 0x86dd));
    assert_eq!(back(&info, &[0; 13]), Err(LeaveError::TooShort { length: 13 }));
}

#[test]
fn loopback_in_either_byte_order() {
    for (head, ethertype) in [
        ([2, 0, 0, 0], 0x0800),
        ([0, 0, 0, 2], 0x0800),
        ([24, 0, 0, 0], 0x86dd),
        ([0, 0, 0, 28], 0x86dd),
        ([30, 0, 0, 0], 0x86dd),
        ([7, 0, 0, 0], 0xffff),
    ] {
        for link_type in [LinkType::NULL, LinkType::LOOP] {
            let frame = [&head[..], &[0xee]].concat();
            assert_eq!(view(link_type, &frame).0, ethernet(NONE, ethertype, &[0xee]), "{head:?}");
        }
    }
    assert_eq!(view(LinkType::NULL, &[2, 0, 0]).0, ethernet(NONE, 0xffff, &[2, 0, 0]), "too short");

    let changed =
        |link_type, head: &[u8], ethertype| back(&view(link_type, head).1, &ethernet(MAC, ethertype, &[0xee]));
    let to_v6 = 0x86dd;
    assert_eq!(changed(LinkType::NULL, &[2, 0, 0, 0], to_v6), Ok(vec![30, 0, 0, 0, 0xee]));
    assert_eq!(changed(LinkType::NULL, &[0, 0, 0, 2], to_v6), Ok(vec![0, 0, 0, 30, 0xee]));
    assert_eq!(changed(LinkType::LOOP, &[0, 0, 0, 2], to_v6), Ok(vec![0, 0, 0, 24, 0xee]));
    assert_eq!(changed(LinkType::NULL, &[28, 0, 0, 0], to_v6), Ok(vec![28, 0, 0, 0, 0xee]), "unchanged");
    assert_eq!(changed(LinkType::NULL, &[28, 0, 0, 0], 0x0800), Ok(vec![2, 0, 0, 0, 0xee]));
    assert_eq!(changed(LinkType::NULL, &[9], 0x0800), Ok(vec![2, 0, 0, 0, 0xee]), "had no header");
    let refused = LeaveError::Protocol { link_type: LinkType::NULL, ethertype: 0x8100 };
    assert_eq!(changed(LinkType::NULL, &[2, 0, 0, 0], 0x8100), Err(refused));
}

/// A Linux cooked header, packet type 4 (sent by us): hardware type, address, its length, protocol.
type CookedHeader = fn(u16, &[u8; 8], u8, u16) -> Vec<u8>;

fn sll(hardware: u16, address: &[u8; 8], address_length: u8, protocol: u16) -> Vec<u8> {
    let hardware = hardware.to_be_bytes();
    [&[0, 4][..], &hardware, &[0, address_length], address, &protocol.to_be_bytes()].concat()
}

/// From interface 5.
fn sll2(hardware: u16, address: &[u8; 8], address_length: u8, protocol: u16) -> Vec<u8> {
    let hardware = hardware.to_be_bytes();
    let interface = [0, 0, 0, 0, 0, 5];
    [&protocol.to_be_bytes()[..], &interface, &hardware, &[4, address_length], address].concat()
}

const ADDRESS: [u8; 8] = [2, 0, 0, 0, 0, 9, 0xaa, 0xbb];

#[test]
fn linux_cooked() {
    for (link_type, cooked) in [(LinkType::LINUX_SLL, sll as CookedHeader), (LinkType::LINUX_SLL2, sll2)] {
        let with_payload = |header: Vec<u8>| [&header[..], &[0xee; 3]].concat();
        let seen = |header: Vec<u8>| view(link_type, &with_payload(header)).0;
        assert_eq!(seen(cooked(1, &ADDRESS, 6, 0x0800)), ethernet(MAC, 0x0800, &[0xee; 3]));
        assert_eq!(seen(cooked(1, &ADDRESS, 6, 0x8100)), ethernet(MAC, 0x8100, &[0xee; 3]));
        assert_eq!(seen(cooked(1, &ADDRESS, 0, 0x86dd)), ethernet(NONE, 0x86dd, &[0xee; 3]), "no address");
        assert_eq!(seen(cooked(1, &ADDRESS, 8, 0x86dd)), ethernet(NONE, 0x86dd, &[0xee; 3]), "no MAC");
        assert_eq!(seen(cooked(1, &ADDRESS, 6, 4)), ethernet(MAC, 3, &[0xee; 3]), "802.2: the length");
        assert_eq!(seen(cooked(1, &ADDRESS, 6, 1)), ethernet(MAC, 0xffff, &[0xee; 3]), "Novell 802.3");
        assert_eq!(seen(cooked(824, &ADDRESS, 0, 0x0800)), ethernet(NONE, 0xffff, &[0xee; 3]), "netlink");

        let whole = cooked(1, &ADDRESS, 6, 0x0800);
        let cut = &whole[..whole.len() - 1];
        assert_eq!(view(link_type, cut).0, ethernet(NONE, 0xffff, cut), "too short");

        let changed = |frame: &[u8], source, ethertype| {
            back(&view(link_type, frame).1, &ethernet(source, ethertype, &[0xee; 3])).unwrap()
        };
        assert_eq!(changed(&whole, MAC, 0x8100), with_payload(cooked(1, &ADDRESS, 6, 0x8100)));
        assert_eq!(changed(&whole, MAC, 3), with_payload(cooked(1, &ADDRESS, 6, 4)), "802.3");
        let other = [2, 0, 0, 0, 0, 7];
        let other_address = [2, 0, 0, 0, 0, 7, 0, 0];
        assert_eq!(changed(&whole, other, 0x0800), with_payload(cooked(1, &other_address, 6, 0x0800)));
        let no_address = cooked(1, &[0; 8], 0, 0x0800);
        assert_eq!(changed(&no_address, other, 0x0806), with_payload(cooked(1, &other_address, 6, 0x0806)));
        let mut made = cooked(1, &[0; 8], 0, 0x0800);
        match link_type {
            LinkType::LINUX_SLL => made[1] = 0,
            _ => (made[7], made[10]) = (0, 0),
        }
        assert_eq!(changed(cut, NONE, 0x0800), with_payload(made), "had no header");
    }
}

/// How many packets of a saved capture have which EtherType in their view; each also goes back.
fn ethertypes(name: &str) -> BTreeMap<u16, usize> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/pcaps").join(name);
    let mut reader = CaptureReader::new(File::open(path).unwrap()).unwrap();
    let mut record = Record::default();
    let mut counts = BTreeMap::new();
    while reader.next_into(&mut record).unwrap() {
        if link::enter(record.link_type, &record.data) == Entry::Ethernet {
            continue;
        }
        let (ethernet, info) = view(record.link_type, &record.data);
        assert_eq!(back(&info, &ethernet).unwrap(), record.data);
        *counts.entry(u16::from_be_bytes([ethernet[12], ethernet[13]])).or_default() += 1;
    }
    counts
}

#[test]
fn saved_captures_show_the_ethertypes_that_tshark_shows() {
    assert_eq!(ethertypes("raw-ip.pcap"), BTreeMap::from([(0x0800, 52)]));
    assert_eq!(ethertypes("linux-sll.pcap"), BTreeMap::from([(0x0800, 75)]));
    let sll2 = BTreeMap::from([(0x0800, 2), (0x0806, 1), (0x8035, 1), (0x86dd, 2)]);
    assert_eq!(ethertypes("linux-sll2.pcap"), sll2);
    assert_eq!(ethertypes("loopback-null.pcap"), BTreeMap::from([(0x0800, 42)]));
    assert_eq!(ethertypes("pcapng-multi-interface.pcapng"), BTreeMap::from([(0x0800, 2)]));
    assert_eq!(ethertypes("big-endian-pcapng.pcapng"), BTreeMap::from([(0x0800, 2)]));
}

/// Bytes that often look like the link headers of the convertible types.
fn a_frame() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(prop::sample::select(&[0, 1, 2, 4, 6, 8, 24, 28, 30, 0x45, 0x60, 0xdd][..]), 0..64),
    ]
}

proptest! {
    #[test]
    fn an_unchanged_view_gives_the_frame_back(
        link_type in prop::sample::select(&CONVERTIBLE[..]),
        frame in a_frame(),
        destination in any::<[u8; 6]>(),
    ) {
        let Entry::Converted { strip, header, info } = link::enter(link_type, &frame) else {
            panic!("{link_type} has an Ethernet view")
        };
        let mut ethernet = [&header[..], &frame[strip..]].concat();
        ethernet[..6].copy_from_slice(&destination);
        let exit = link::leave(&info, &ethernet).unwrap();
        prop_assert_eq!([exit.header(), &ethernet[exit.strip..]].concat(), frame);
    }

    /// What leaves enters again with the protocol that it left with.
    #[test]
    fn a_changed_protocol_is_written_into_the_link_header(
        link_type in prop::sample::select(&CONVERTIBLE[..]),
        frame in a_frame(),
        ethertype in prop::sample::select(&[0x0800, 0x86dd, 0x0806, 0x8100_u16][..]),
        source in any::<[u8; 6]>(),
    ) {
        let Entry::Converted { strip, header, info } = link::enter(link_type, &frame) else {
            panic!("{link_type} has an Ethernet view")
        };
        let mut ethernet = [&header[..], &frame[strip..]].concat();
        ethernet[6..12].copy_from_slice(&source);
        ethernet[12..14].copy_from_slice(&ethertype.to_be_bytes());
        let Ok(exit) = link::leave(&info, &ethernet) else {
            prop_assert!(![LinkType::LINUX_SLL, LinkType::LINUX_SLL2].contains(&link_type));
            return Ok(());
        };
        let left = [exit.header(), &ethernet[exit.strip..]].concat();
        let Entry::Converted { strip: strip_again, header: again, .. } = link::enter(link_type, &left) else {
            panic!("{link_type} has an Ethernet view")
        };
        prop_assert_eq!(&left[strip_again..], &ethernet[14..]);
        match link_type {
            // The payload's own version nibble speaks here, and the header cannot contradict it.
            LinkType::RAW | LinkType::DLT_RAW | LinkType::DLT_RAW_OPENBSD => {}
            // The hardware type of the original header may say that the protocol is no EtherType.
            LinkType::LINUX_SLL | LinkType::LINUX_SLL2 if again[12..14] == [0xff, 0xff] => {}
            LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => prop_assert_eq!(&again[6..14], &ethernet[6..14]),
            _ => prop_assert_eq!(&again[12..14], &ethernet[12..14]),
        }
    }
}
