//! Every saved capture is read as other programs read it, and survives being written again.
//!
//! Judges: the listings in `tests/data/pcaps/expected`, printed by `tests/oracle/captures.py`, which
//! was compared with tshark; and, where they are installed, that script, tshark and tcpdump reading
//! what Flitwork wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{captures, captures_folder, expected_listing, listing, read_all, write_all};
use packet::capture::{CaptureReader, Format, Record, Resolution};
use packet::link::LinkType;

fn records_of(path: &Path) -> Vec<Record> {
    read_all(File::open(path).unwrap()).0
}

/// The pcap formats that hold all the packets, if they are of one link type.
fn pcap_formats(records: &[Record]) -> Vec<Format> {
    let link_types: BTreeSet<LinkType> = records.iter().map(|record| record.link_type).collect();
    match link_types.into_iter().collect::<Vec<_>>()[..] {
        [link_type] => [Resolution::Microseconds, Resolution::Nanoseconds]
            .map(|resolution| Format::Pcap { resolution, link_type })
            .to_vec(),
        _ => Vec::new(),
    }
}

/// What a file of `format` should give back for `record`, but for its place in the file.
fn after_writing(record: &Record, format: Format, link_types: &mut Vec<LinkType>) -> Record {
    let mut expected = Record { interface: 0, ..record.clone() };
    match format {
        Format::Pcap { resolution: Resolution::Microseconds, .. } => {
            expected.time_ns = record.time_ns / 1_000 * 1_000;
        }
        Format::Pcap { resolution: Resolution::Nanoseconds, .. } => {}
        Format::Pcapng => {
            let known = link_types.iter().position(|link_type| *link_type == record.link_type);
            expected.interface = known.unwrap_or(link_types.len()) as u32;
            if known.is_none() {
                link_types.push(record.link_type);
            }
        }
    }
    expected
}

#[test]
fn every_capture_reads_as_the_oracle_reads_it() {
    for path in captures() {
        let (records, error) = read_all(File::open(&path).unwrap());
        assert_eq!(listing(&records, error.as_ref()), expected_listing(&path), "{}", path.display());
    }
}

#[test]
fn every_capture_survives_each_format() {
    for path in captures() {
        let records = records_of(&path);
        for format in pcap_formats(&records).into_iter().chain([Format::Pcapng]) {
            let mut link_types = Vec::new();
            let expected: Vec<Record> =
                records.iter().map(|record| after_writing(record, format, &mut link_types)).collect();
            let file = write_all(&records, format);
            let (again, error) = read_all(&file[..]);
            assert_eq!(listing(&again, error.as_ref()), listing(&expected, None), "{}", path.display());
        }
    }
}

#[test]
fn the_formats_of_the_captures_are_told() {
    let format = |name: &str| CaptureReader::new(File::open(captures_folder().join(name)).unwrap()).unwrap().format();
    let pcap = |resolution, link_type| Format::Pcap { resolution, link_type };
    assert_eq!(format("arp.pcap"), pcap(Resolution::Microseconds, LinkType::ETHERNET));
    assert_eq!(format("nanosecond.pcap"), pcap(Resolution::Nanoseconds, LinkType::ETHERNET));
    assert_eq!(format("linux-sll2.pcap"), pcap(Resolution::Microseconds, LinkType::LINUX_SLL2));
    assert_eq!(format("mixed-linktypes.pcapng"), Format::Pcapng);

    let joined = format("arp.pcap").join(format("nanosecond.pcap"));
    assert_eq!(joined, pcap(Resolution::Nanoseconds, LinkType::ETHERNET));
    assert_eq!(format("arp.pcap").join(format("linux-sll2.pcap")), Format::Pcapng);
    assert_eq!(format("arp.pcap").join(Format::Pcapng), Format::Pcapng);
}

/// Runs a program that judges; one that is missing fails the test.
fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask tools` installs it"))
}

/// Files that hold all packets of all captures, one of pcapng and two of pcap per link type; and one of no packets.
fn rewritten(folder: &str) -> Vec<Rewritten> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let all: Vec<Record> = captures().iter().flat_map(|path| records_of(path)).collect();
    let mut by_link_type = BTreeMap::<LinkType, Vec<Record>>::new();
    for record in &all {
        by_link_type.entry(record.link_type).or_default().push(record.clone());
    }
    let mut contents =
        vec![("all.pcapng".to_owned(), Format::Pcapng, all), ("none.pcapng".to_owned(), Format::Pcapng, Vec::new())];
    for (link_type, records) in by_link_type {
        let formats = [("us", Resolution::Microseconds), ("ns", Resolution::Nanoseconds)];
        contents.extend(formats.map(|(unit, resolution)| {
            let format = Format::Pcap { resolution, link_type };
            (format!("{}.{unit}.pcap", link_type.0), format, records.clone())
        }));
    }
    contents
        .into_iter()
        .map(|(name, format, records)| {
            let path = folder.join(name);
            fs::write(&path, write_all(&records, format)).unwrap();
            let mut link_types = Vec::new();
            let expected = records.iter().map(|record| after_writing(record, format, &mut link_types)).collect();
            Rewritten { path, format, expected }
        })
        .collect()
}

/// A file that Flitwork wrote, and the packets that it should hold.
struct Rewritten {
    path: PathBuf,
    format: Format,
    expected: Vec<Record>,
}

#[test]
fn the_oracle_reads_what_was_written() {
    let oracle = captures_folder().join("../../oracle/captures.py");
    for Rewritten { path, expected, .. } in rewritten("oracle") {
        let arguments = [oracle.to_str().unwrap(), "list", path.to_str().unwrap()];
        let output = run("python3", &arguments);
        let read = String::from_utf8(output.stdout).unwrap();
        assert_eq!(read, listing(&expected, None), "{}", path.display());
    }
}

#[test]
fn tshark_reads_what_was_written() {
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.cap_len", "-e", "frame.len"];
    for Rewritten { path, expected, .. } in rewritten("tshark") {
        let arguments = [&["-n", "-r", path.to_str().unwrap()], &fields[..]].concat();
        let output = run("tshark", &arguments);
        assert!(output.status.success(), "{}: {output:?}", path.display());
        let expected: String = expected
            .iter()
            .map(|record| {
                let (seconds, nanoseconds) = (record.time_ns / 1_000_000_000, record.time_ns % 1_000_000_000);
                format!("{seconds}.{nanoseconds:09}\t{}\t{}\n", record.data.len(), record.orig_len)
            })
            .collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{}", path.display());
    }
}

#[test]
fn tcpdump_reads_what_was_written() {
    for Rewritten { path, format, expected } in rewritten("tcpdump") {
        if format == Format::Pcapng && !expected.is_empty() {
            continue; // libpcap reads only files of one link type.
        }
        let output = run("tcpdump", &["--count", "-r", path.to_str().unwrap()]);
        let n_packets = expected.len();
        let count = format!("{n_packets} packet{}\n", if n_packets == 1 { "" } else { "s" });
        assert_eq!(String::from_utf8(output.stdout).unwrap(), count, "{}", path.display());
    }
}
