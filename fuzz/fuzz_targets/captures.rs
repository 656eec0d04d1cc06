//! Any bytes as a capture file: the reader ends, and what it read survives writing and reading.
//!
//! Also each packet's Ethernet view, taken off again, gives the packet back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use packet::capture::{CaptureReader, CaptureWriter, Format, Record};
use packet::link::{self, Entry};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = CaptureReader::new(bytes) else { return };
    let mut records = Vec::new();
    let mut record = Record::default();
    while let Ok(true) = reader.next_into(&mut record) {
        records.push(record.clone());
    }
    for record in &records {
        check_view(record);
    }
    check_written(&records, Format::Pcapng);
    if let format @ Format::Pcap { .. } = reader.format() {
        check_written(&records, format);
    }
});

fn check_view(record: &Record) {
    if let Entry::Converted { strip, header, info } = link::enter(record.link_type, &record.data) {
        let ethernet = [&header[..], &record.data[strip..]].concat();
        let exit = link::leave(&info, &ethernet).expect("an unchanged frame leaves");
        assert_eq!([exit.header(), &ethernet[exit.strip..]].concat(), record.data);
    }
}

fn check_written(records: &[Record], format: Format) {
    let mut writer = CaptureWriter::new(Vec::new(), format).expect("a format that was read");
    // pcap has link types that pcapng has no room for.
    let fitting = records.iter().filter(|record| format != Format::Pcapng || record.link_type.0 <= 0xffff);
    let mut written = Vec::new();
    for record in fitting {
        writer.write(record.frame()).expect("memory takes everything");
        written.push(record);
    }
    let file = writer.finish().expect("memory takes everything");

    let mut reader = CaptureReader::new(&file[..]).expect("the header is whole");
    let mut again = Record::default();
    for record in written {
        assert!(reader.next_into(&mut again).expect("the file is whole"));
        let time_ns = match format {
            // A fraction of a second or more carries over, beyond what the seconds can count.
            Format::Pcap { .. } => record.time_ns.min(4_294_967_295_999_999_999),
            Format::Pcapng => record.time_ns,
        };
        let unit_ns = match format {
            Format::Pcap { resolution: packet::capture::Resolution::Microseconds, .. } => 1_000,
            Format::Pcap { .. } | Format::Pcapng => 1,
        };
        assert_eq!(again.data, record.data);
        assert_eq!(again.orig_len, record.orig_len);
        assert_eq!(again.time_ns, time_ns / unit_ns * unit_ns);
        assert_eq!(again.link_type, record.link_type);
    }
    assert!(!reader.next_into(&mut again).expect("the file is whole"));
}
