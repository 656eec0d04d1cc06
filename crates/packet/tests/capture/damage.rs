//! Files that are no captures, are cut short, or contradict their format: the error says what and
//! where, and every packet before it has been handed out.

use std::fs;
use std::io::{self, Read};

use crate::support::{captures_folder, read_all};
use packet::capture::error::{Damage, Foreign, Place};
use packet::capture::{CaptureError, CaptureReader, Record};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const SECTION: [u32; 7] = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
const INTERFACE: [u32; 5] = [1, 20, 1, 0, 20];
/// A packet of 4 bytes on interface 0.
const PACKET: [u32; 9] = [6, 36, 0, 0, 0, 4, 4, 0xdddd_dddd, 36];
const PCAP_HEADER: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];

/// The damage in the block that follows a section, an interface and a packet.
fn damage_of(block: &[u32]) -> Damage {
    let file = words(&[&SECTION[..], &INTERFACE, &PACKET, block].concat());
    let (records, error) = read_all(&file[..]);
    assert_eq!(records.len(), 1, "the packet before the damage");
    match error {
        Some(CaptureError::Damaged { place, damage }) => {
            assert_eq!(place, Place { offset: 28 + 20 + 36, packets_before: 1 });
            damage
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn pcapng_blocks_that_contradict_themselves() {
    let block_length = |block_type, length, length_min| Damage::BlockLength { block_type, length, length_min };
    assert_eq!(damage_of(&[6, 28, 0, 0, 0, 0, 28]), block_length(6, 28, 32));
    assert_eq!(damage_of(&[2, 28, 0, 0, 0, 0, 28]), block_length(2, 28, 32));
    assert_eq!(damage_of(&[3, 12, 12]), block_length(3, 12, 16));
    assert_eq!(damage_of(&[1, 16, 1, 16]), block_length(1, 16, 20));
    assert_eq!(damage_of(&[0x0a0d_0d0a, 24, 0x1a2b_3c4d, 1, 0, 24]), block_length(0x0a0d_0d0a, 24, 28));
    assert_eq!(damage_of(&[77, 8, 0, 0]), block_length(77, 8, 12));
    assert_eq!(damage_of(&[77, 15, 0, 0]), block_length(77, 15, 12));
    assert_eq!(damage_of(&[77, 0, 0, 0]), block_length(77, 0, 12));

    assert_eq!(damage_of(&[77, 16, 0, 20]), Damage::BlockLengthsDiffer { first: 16, last: 20 });
    assert_eq!(damage_of(&[6, 36, 0, 0, 0, 4, 4, 0, 32]), Damage::BlockLengthsDiffer { first: 36, last: 32 });
    assert_eq!(damage_of(&[6, 36, 0, 0, 0, 5, 5, 0, 36]), Damage::PacketOverrunsBlock { length: 5, room: 4 });
    assert_eq!(damage_of(&[3, 16, 1, 16]), Damage::PacketOverrunsBlock { length: 1, room: 0 });
    assert_eq!(damage_of(&[6, 300_032, 0, 0, 0, 300_000, 300_000]), Damage::PacketTooLong { length: 300_000 });
    assert_eq!(damage_of(&[6, 36, 1, 0, 0, 4, 4, 0, 36]), Damage::UnknownInterface { interface: 1, n_interfaces: 1 });
    assert_eq!(damage_of(&[0x0a0d_0d0a, 28, 5, 1, 0, 0, 28]), Damage::ByteOrder { found: [5, 0, 0, 0] });

    let option = |head: u32| damage_of(&[1, 24, 1, 0, head, 24]);
    assert_eq!(option(4 << 16 | 2), Damage::Option { code: 2, length: 4 });
    assert_eq!(option(0xffff << 16 | 2), Damage::Option { code: 2, length: 0xffff });
    assert_eq!(option(9), Damage::Option { code: 9, length: 0 });
    assert_eq!(option(4 << 16 | 14), Damage::Option { code: 14, length: 4 });
}

#[test]
fn a_section_cannot_describe_interfaces_without_end() {
    let mut file = words(&SECTION);
    for _ in 0..65_537 {
        file.extend(words(&INTERFACE));
    }
    let (_, error) = read_all(&file[..]);
    let Some(CaptureError::Damaged { place, damage }) = error else { panic!("{error:?}") };
    assert_eq!(place, Place { offset: 28 + 20 * 65_536, packets_before: 0 });
    assert_eq!(damage, Damage::TooManyInterfaces { n_interfaces_max: 65_536 });
}

#[test]
fn a_simple_packet_needs_an_interface() {
    let (_, error) = read_all(&words(&[&SECTION[..], &[3, 16, 0, 16]].concat())[..]);
    let Some(CaptureError::Damaged { damage, .. }) = error else { panic!("{error:?}") };
    assert_eq!(damage, Damage::UnknownInterface { interface: 0, n_interfaces: 0 });
}

#[test]
fn interfaces_end_with_their_section() {
    let file = words(&[&SECTION[..], &INTERFACE, &SECTION, &PACKET].concat());
    let (_, error) = read_all(&file[..]);
    let Some(CaptureError::Damaged { damage, .. }) = error else { panic!("{error:?}") };
    assert_eq!(damage, Damage::UnknownInterface { interface: 0, n_interfaces: 0 });
}

#[test]
fn a_length_that_lies_costs_no_memory() {
    let file = words(&[&PCAP_HEADER[..], &[0, 0, 262_144, 262_144, 1, 2, 3]].concat());
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let mut record = Record::default();
    let error = reader.next_into(&mut record).unwrap_err();
    let CaptureError::Truncated { place, end, missing } = error else { panic!("{error:?}") };
    assert_eq!((place, end, missing), (Place { offset: 24, packets_before: 0 }, 52, 262_132));
    assert!(record.data.capacity() < 4_096, "{}", record.data.capacity());
}

/// Where each packet's record ends, from the lengths in a little-endian pcap file.
fn pcap_packet_ends(file: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let captured = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap());
        at += 16 + captured as usize;
        ends.push(at);
    }
    ends
}

#[test]
fn a_pcap_file_cut_anywhere_keeps_what_came_before() {
    let file = fs::read(captures_folder().join("tcp-ethernet.pcap")).unwrap();
    let ends = pcap_packet_ends(&file);
    let (whole, _) = read_all(&file[..]);
    assert_eq!(whole.len(), ends.len());
    for cut in 4..file.len() {
        let (records, error) = read_all(&file[..cut]);
        let n_whole = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(records, whole[..n_whole], "cut at {cut}");
        let boundary = if n_whole == 0 { 24 } else { ends[n_whole - 1] };
        match error {
            None => assert_eq!(cut, boundary),
            Some(CaptureError::Truncated { place, end, missing }) => {
                let start = if cut < 24 { 0 } else { boundary };
                assert_eq!(place, Place { offset: start as u64, packets_before: n_whole as u64 });
                assert_eq!(end, cut as u64);
                assert!(missing >= 1);
            }
            Some(other) => panic!("cut at {cut}: {other}"),
        }
    }
}

#[test]
fn a_pcapng_file_cut_anywhere_keeps_what_came_before() {
    let file = fs::read(captures_folder().join("bad-totlen.pcap")).unwrap();
    let (whole, error) = read_all(&file[..]);
    assert!(error.is_none());
    // The two packet blocks, from the lengths in the file.
    let end = |record: &Record| {
        let at = record.offset as usize + 4;
        record.offset as usize + u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize
    };
    let ends: Vec<usize> = whole.iter().map(end).collect();
    let mut n_clean = 0;
    for cut in 4..file.len() {
        let (records, error) = read_all(&file[..cut]);
        let n_whole = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(records, whole[..n_whole], "cut at {cut}");
        match error {
            None => n_clean += 1, // Between two blocks.
            Some(CaptureError::Truncated { place, end, .. }) => {
                assert_eq!(place.packets_before, n_whole as u64);
                assert_eq!(end, cut as u64);
            }
            Some(other) => panic!("cut at {cut}: {other}"),
        }
    }
    assert!((2..10).contains(&n_clean), "{n_clean} cuts between blocks");
}

#[test]
fn files_of_other_kinds() {
    let found = |bytes: &[u8]| match read_all(bytes).1 {
        Some(CaptureError::NotACapture { found }) => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(found(b""), Foreign::Empty);
    assert_eq!(found(&[0xd4, 0xc3]), Foreign::Unknown([0xd4, 0xc3, 0, 0]));
    assert_eq!(found(b"\x1f\x8b\x08\x00rest"), Foreign::Compressed("gzip"));
    assert_eq!(found(b"\x28\xb5\x2f\xfdrest"), Foreign::Compressed("zstd"));
    assert_eq!(found(b"\xfd7zXZ\0"), Foreign::Compressed("xz"));
    assert_eq!(found(b"\x04\x22\x4d\x18rest"), Foreign::Compressed("lz4"));
    assert_eq!(found(b"BZh91AY"), Foreign::Compressed("bzip2"));
    assert_eq!(found(b"hello"), Foreign::Unknown(*b"hell"));
}

#[test]
fn versions_without_a_published_layout() {
    let version = |file: &[u32]| match read_all(&words(file)[..]).1 {
        Some(CaptureError::UnsupportedVersion { place, major, minor }) => (place.offset, major, minor),
        other => panic!("{other:?}"),
    };
    assert_eq!(version(&[0xa1b2_c3d4, 1, 0, 0, 0, 0]), (0, 1, 0));
    assert_eq!(version(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 2, 0, 0, 28]), (0, 2, 0));
    let later_section = [&SECTION[..], &[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 0x0003_0001, 0, 0, 28]].concat();
    assert_eq!(version(&later_section), (28, 1, 3));
}

/// Gives a byte at a time, with an interruption before each, then fails.
struct Dripping<'a> {
    bytes: &'a [u8],
    interrupted: bool,
    error_at_end: Option<io::ErrorKind>,
}

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match (self.bytes.split_first(), self.error_at_end) {
            (None, Some(kind)) => Err(kind.into()),
            (None, None) => Ok(0),
            (Some((first, rest)), _) => {
                buffer[0] = *first;
                self.bytes = rest;
                Ok(1)
            }
        }
    }
}

#[test]
fn a_slow_input_reads_the_same() {
    for name in ["tcp-ethernet.pcap", "big-endian-pcapng.pcapng"] {
        let file = fs::read(captures_folder().join(name)).unwrap();
        let (records, error) = read_all(Dripping { bytes: &file, interrupted: false, error_at_end: None });
        assert!(error.is_none(), "{error:?}");
        assert_eq!(records, read_all(&file[..]).0);
    }
}

#[test]
fn an_input_that_fails_says_where() {
    let file = fs::read(captures_folder().join("tcp-ethernet.pcap")).unwrap();
    let second_packet = pcap_packet_ends(&file)[0];
    let bytes = &file[..second_packet + 20];
    let failing = Dripping { bytes, interrupted: false, error_at_end: Some(io::ErrorKind::PermissionDenied) };
    let (records, error) = read_all(failing);
    assert_eq!(records.len(), 1);
    let Some(CaptureError::Io { place, source }) = error else { panic!("{error:?}") };
    assert_eq!(place, Place { offset: second_packet as u64, packets_before: 1 });
    assert_eq!(source.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn messages_name_the_place_and_the_remedy() {
    let message = |bytes: &[u8]| read_all(bytes).1.unwrap().to_string();
    let read = |name: &str| fs::read(captures_folder().join(name)).unwrap();
    assert_eq!(
        message(&read("insane-caplen.pcap")),
        "the file is damaged at offset 5035 (after packet 6): a packet of 4325376 bytes, more than the 262144 that \
         a capture can hold; the packets before that are good; copy or capture the file again to get the rest"
    );
    assert_eq!(
        message(&read("truncated-file.pcap")),
        "the file is cut short: it ends at offset 360, inside the record at offset 359 (after packet 1), with at \
         least 15 more bytes due; the packets before that are good; copy or capture the file again to get the rest"
    );
    assert_eq!(
        message(b"\x1f\x8b\x08\x00"),
        "not a capture file: it is compressed by gzip; unpack it first, for example with `gzip -dk`"
    );
}
