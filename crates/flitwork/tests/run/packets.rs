//! Packets as text, so that a reviewer can read them.
//!
//! One packet a line: `[PORT] @TIME_NS [len=WIRE_LENGTH] HEX`. Without a port it enters at the first input (`nic_in` if there is
//! one); without `len` nothing was cut off. Spaces and `_` between hex digits mean nothing, `aa*60` repeats a byte, `#` begins a comment.

use std::collections::VecDeque;

use runtime::{Filled, IoError, Packet, PacketSource};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPacket {
    pub port: Option<String>,
    pub time_ns: u64,
    pub wire_bytes: usize,
    pub bytes: Vec<u8>,
}

/// All packets of a text; panics with the line that is wrong.
pub fn parse(text: &str) -> Vec<TextPacket> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.split('#').next().unwrap_or("").trim()));
    lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| parse_line(number, line)).collect()
}

fn parse_line(number: usize, line: &str) -> TextPacket {
    let mut packet = TextPacket { port: None, time_ns: 0, wire_bytes: 0, bytes: Vec::new() };
    let (mut has_time, mut wire_bytes) = (false, None);
    for word in line.split_whitespace() {
        if let Some(time) = word.strip_prefix('@') {
            packet.time_ns = time.parse().unwrap_or_else(|_| panic!("line {number}: bad time `{word}`"));
            has_time = true;
        } else if let Some(length) = word.strip_prefix("len=") {
            wire_bytes = Some(length.parse().unwrap_or_else(|_| panic!("line {number}: bad length `{word}`")));
        } else if !has_time {
            packet.port = Some(word.to_string());
        } else {
            append_hex(&mut packet.bytes, word, number);
        }
    }
    assert!(has_time, "line {number}: no @TIME_NS");
    packet.wire_bytes = wire_bytes.unwrap_or(packet.bytes.len());
    packet
}

fn append_hex(bytes: &mut Vec<u8>, word: &str, number: usize) {
    let (digits, count) = match word.split_once('*') {
        Some((digits, count)) => {
            (digits, count.parse().unwrap_or_else(|_| panic!("line {number}: bad count `{word}`")))
        }
        None => (word, 1),
    };
    let digits = digits.replace('_', "");
    assert!(digits.len() % 2 == 0 && digits.is_ascii(), "line {number}: odd hex `{word}`");
    let byte = |at: usize| {
        u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or_else(|_| panic!("line {number}: bad hex `{word}`"))
    };
    for _ in 0..count {
        bytes.extend((0..digits.len()).step_by(2).map(byte));
    }
}

/// Bytes as lower-case hex, long runs of one byte as `aa*60`.
pub fn hex(bytes: &[u8]) -> String {
    const RUN_BYTES_MIN: usize = 12;
    let mut text = String::new();
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let run = rest.iter().take_while(|byte| **byte == first).count();
        if run >= RUN_BYTES_MIN {
            let gap = |text: &str| if text.is_empty() || text.ends_with(' ') { "" } else { " " };
            text.push_str(&format!("{}{first:02x}*{run} ", gap(&text)));
            rest = &rest[run..];
        } else {
            text.push_str(&format!("{first:02x}"));
            rest = &rest[1..];
        }
    }
    text.trim_end().to_string()
}

/// Packets from memory.
pub struct TextSource {
    pub packets: VecDeque<TextPacket>,
}

impl PacketSource for TextSource {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        const ETHERNET: u32 = 1;
        let Some(next) = self.packets.pop_front() else {
            return Ok(Filled::End);
        };
        let packet = &mut packets[0];
        packet.set_bytes(&next.bytes);
        packet.missing = (next.wire_bytes - next.bytes.len()) as u32;
        packet.time_ns = next.time_ns;
        packet.link_type = ETHERNET;
        Ok(Filled::Packets(1))
    }
}

#[test]
fn text_and_bytes_agree() {
    let packets = parse("# two\nnic_in @5 len=64 00_01 02*3 # c\n\n@6 ff*20aa\n".replace("*20aa", "*20 aa").as_str());
    let first = TextPacket { port: Some("nic_in".into()), time_ns: 5, wire_bytes: 64, bytes: vec![0, 1, 2, 2, 2] };
    let bytes = [[0xff; 20].as_slice(), &[0xaa]].concat();
    let second = TextPacket { port: None, time_ns: 6, wire_bytes: 21, bytes };
    assert_eq!(packets, [first.clone(), second.clone()]);
    assert_eq!((hex(&first.bytes).as_str(), hex(&second.bytes).as_str()), ("0001020202", "ff*20 aa"));
}
