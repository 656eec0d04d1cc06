//! What the capture tests share: the saved captures, and the listing that the oracle also prints.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use packet::capture::{CaptureError, CaptureReader, CaptureWriter, Format, Record};
use sha2::{Digest, Sha256};

/// The repository's folder of saved captures.
pub fn captures_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/pcaps")
}

/// The saved captures, by name.
pub fn captures() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(captures_folder())
        .expect("the captures are in the repository")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 38, "only {} captures", paths.len());
    paths
}

/// What `tests/oracle/captures.py` prints for `path`, as committed.
pub fn expected_listing(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    std::fs::read_to_string(captures_folder().join("expected").join(format!("{name}.txt"))).unwrap()
}

/// All packets of a capture, and the error that ended it, if one did.
pub fn read_all(input: impl Read) -> (Vec<Record>, Option<CaptureError>) {
    let mut reader = match CaptureReader::new(input) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut records = Vec::new();
    let mut record = Record::default();
    loop {
        match reader.next_into(&mut record) {
            Ok(true) => records.push(record.clone()),
            Ok(false) => return (records, None),
            Err(error) => {
                assert!(!reader.next_into(&mut record).unwrap(), "nothing is read after an error");
                assert_eq!(reader.n_packets(), records.len() as u64);
                return (records, Some(error));
            }
        }
    }
}

/// The packets as a capture file of `format`.
pub fn write_all(records: &[Record], format: Format) -> Vec<u8> {
    let mut writer = CaptureWriter::new(Vec::new(), format).unwrap();
    for record in records {
        writer.write(record.frame()).unwrap();
    }
    writer.finish().unwrap()
}

/// The listing of `tests/oracle/captures.py`.
pub fn listing(records: &[Record], error: Option<&CaptureError>) -> String {
    let mut text = String::new();
    for (index, record) in records.iter().enumerate() {
        let Record { data, orig_len, time_ns, link_type, interface, .. } = record;
        let digest = Sha256::digest(data);
        writeln!(text, "{} {time_ns} {} {orig_len} {} {interface} {digest:x}", index + 1, data.len(), link_type.0)
            .unwrap();
    }
    match error {
        None => text.push_str("end\n"),
        Some(CaptureError::Truncated { place, .. }) => writeln!(text, "truncated {}", place.offset).unwrap(),
        Some(CaptureError::Damaged { place, .. }) => writeln!(text, "damaged {}", place.offset).unwrap(),
        Some(other) => panic!("{other}"),
    }
    text
}
