//! What may stand behind `PORT=` of `--in` and `--out` besides a file name, as text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The far side of a boundary port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A capture, or a file of messages.
    File(PathBuf),
    /// `pcap:FILE`, `pcap:FILE*N`, `pcap:FILE*loop`: a capture, several times.
    Looped {
        /// The capture.
        file: PathBuf,
        /// How often; for ever if absent.
        n_rounds: Option<u64>,
    },
    /// `af_packet:IFACE`.
    Interface(String),
    /// `tap:NAME`.
    Tap(String),
    /// `gen:…`.
    Generator(Traffic),
    /// `null:`.
    Null,
}

/// What a generator makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Frame lengths.
    pub sizes: Sizes,
    /// How fast.
    pub rate: Rate,
    /// How many flows take turns.
    pub n_flows: u32,
    /// How many packets; without end if absent.
    pub n_packets: Option<u64>,
    /// What the random lengths come from.
    pub seed: u64,
}

/// Frame lengths in bytes, from the first byte of the Ethernet header to the last of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All equal.
    Fixed(u16),
    /// 64, 570 and 1518 bytes (less 4 for the check sequence) as 7 : 4 : 1, the simple IMIX.
    Imix,
    /// Equally likely, both ends included.
    Between(u16, u16),
}

/// How fast packets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as they are taken.
    Unlimited,
    /// Packets a second.
    Packets(u64),
    /// Bits a second, counted from frame lengths.
    Bits(u64),
}

/// The shortest frame that holds the headers: Ethernet, IPv4, UDP.
pub const FRAME_BYTES_MIN: u16 = 42;
const FRAME_BYTES_MAX: u16 = 9018;

impl Endpoint {
    /// Reads an endpoint. A name without one of the prefixes is a file; write `./gen:x` for a file of such a name.
    pub fn parse(text: &OsStr) -> Result<Endpoint, String> {
        let file = || Endpoint::File(PathBuf::from(text));
        let bytes = text.as_bytes();
        let Some(colon) = bytes.iter().position(|&byte| byte == b':') else { return Ok(file()) };
        let rest = &bytes[colon + 1..];
        let rest_text = || std::str::from_utf8(rest).map_err(|_| "interface names are text".to_string());
        match &bytes[..colon] {
            b"af_packet" => name(rest_text()?, "af_packet:eth0").map(Endpoint::Interface),
            b"tap" => name(rest_text()?, "tap:tap0").map(Endpoint::Tap),
            b"pcap" => looped(rest),
            b"gen" => traffic(rest_text()?).map(Endpoint::Generator),
            b"null" if rest.is_empty() => Ok(Endpoint::Null),
            b"null" => Err("`null:` takes nothing behind the colon".to_string()),
            b"af_xdp" => Err("af_xdp is not supported; `af_packet:` works on every interface".to_string()),
            _ => Ok(file()),
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Endpoint::File(file) | Endpoint::Looped { file, .. } => Some(file),
            Endpoint::Interface(_) | Endpoint::Tap(_) | Endpoint::Generator(_) | Endpoint::Null => None,
        }
    }

    /// Whether packets come and go in real time.
    pub fn is_live(&self) -> bool {
        matches!(self, Endpoint::Interface(_) | Endpoint::Tap(_))
    }
}

fn name(text: &str, example: &str) -> Result<String, String> {
    if text.is_empty() {
        Err(format!("an interface is missing; write for example {example}"))
    } else {
        Ok(text.to_string())
    }
}

fn looped(bytes: &[u8]) -> Result<Endpoint, String> {
    let (file, rounds) = match bytes.iter().rposition(|&byte| byte == b'*') {
        Some(star) => (&bytes[..star], Some(&bytes[star + 1..])),
        None => (bytes, None),
    };
    let n_rounds = match rounds {
        None => Some(1),
        Some(b"loop" | b"") => None,
        Some(digits) => {
            let n_rounds = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).filter(|&n| n > 0);
            Some(n_rounds.ok_or("write `pcap:FILE*3` for three rounds, `pcap:FILE*loop` for ever")?)
        }
    };
    if file.is_empty() || file == b"-" {
        return Err("`pcap:` needs a file that can be read again, for example pcap:traffic.pcap*loop".to_string());
    }
    Ok(Endpoint::Looped { file: PathBuf::from(OsStr::from_bytes(file)), n_rounds })
}

fn traffic(text: &str) -> Result<Traffic, String> {
    let mut traffic = Traffic { sizes: Sizes::Fixed(64), rate: Rate::Unlimited, n_flows: 1, n_packets: None, seed: 1 };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let bad = |example: &str| format!("`{part}` is not understood; write for example {example}");
        match key {
            "size" => {
                traffic.sizes = sizes(value).ok_or_else(|| {
                    bad(&format!(
                        "size=64, size=64-1500 or size=imix, with {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes"
                    ))
                })?
            }
            "rate" => traffic.rate = rate(value).ok_or_else(|| bad("rate=1Mpps or rate=100Mbps"))?,
            "flows" => {
                let n_flows = scaled(value).and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=1 << 24).contains(n));
                traffic.n_flows = n_flows.ok_or_else(|| bad("flows=1000, at most 16777216"))?;
            }
            "count" => traffic.n_packets = Some(scaled(value).ok_or_else(|| bad("count=1000000 or count=1M"))?),
            "seed" => traffic.seed = value.parse().map_err(|_| bad("seed=7"))?,
            _ => return Err(format!("`gen:` knows no `{key}`; it has size, rate, flows, count and seed")),
        }
    }
    Ok(traffic)
}

fn sizes(text: &str) -> Option<Sizes> {
    let one = |text: &str| text.parse().ok().filter(|size| (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(size));
    match text.split_once('-') {
        _ if text == "imix" => Some(Sizes::Imix),
        None => one(text).map(Sizes::Fixed),
        Some((from, to)) => {
            let (from, to) = (one(from)?, one(to)?);
            (from <= to).then_some(Sizes::Between(from, to))
        }
    }
}

fn rate(text: &str) -> Option<Rate> {
    // Zero packets a second would never end.
    let number = |digits: &str| scaled(digits).filter(|&number| number > 0);
    if let Some(digits) = text.strip_suffix("pps") {
        return number(digits).map(Rate::Packets);
    }
    text.strip_suffix("bps").or_else(|| text.strip_suffix("bit/s")).and_then(number).map(Rate::Bits)
}

/// A whole number, perhaps with k, M or G behind it, perhaps with a fraction before that.
fn scaled(text: &str) -> Option<u64> {
    let (digits, power) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 3),
        b'M' => (&text[..text.len() - 1], 6),
        b'G' => (&text[..text.len() - 1], 9),
        _ => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || fraction.len() > power {
        return None;
    }
    format!("{whole}{fraction:0<power$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::PathBuf;

    use super::{Endpoint, Rate, Sizes, Traffic};

    fn parse(text: &str) -> Result<Endpoint, String> {
        Endpoint::parse(OsStr::new(text))
    }

    #[test]
    fn prefixes_choose_and_all_else_is_a_file() {
        let looped = |n_rounds| Endpoint::Looped { file: PathBuf::from("a.pcap"), n_rounds };
        for (text, expected) in [
            ("a.pcap", Endpoint::File(PathBuf::from("a.pcap"))),
            ("./gen:x", Endpoint::File(PathBuf::from("./gen:x"))),
            ("odd:name.pcap", Endpoint::File(PathBuf::from("odd:name.pcap"))),
            ("pcap:a.pcap", looped(Some(1))),
            ("pcap:a.pcap*3", looped(Some(3))),
            ("pcap:a.pcap*loop", looped(None)),
            ("af_packet:eth0", Endpoint::Interface("eth0".to_string())),
            ("tap:t0", Endpoint::Tap("t0".to_string())),
            ("null:", Endpoint::Null),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for bad in ["pcap:", "pcap:a*0", "pcap:a*x", "pcap:-", "af_packet:", "tap:", "null:x", "af_xdp:eth0"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn generators_are_described_by_name() {
        let traffic = Traffic { sizes: Sizes::Fixed(64), rate: Rate::Unlimited, n_flows: 1, n_packets: None, seed: 1 };
        assert_eq!(parse("gen:"), Ok(Endpoint::Generator(traffic)));
        let traffic = Traffic {
            sizes: Sizes::Between(64, 1500),
            rate: Rate::Packets(1_500_000),
            n_flows: 10_000,
            n_packets: Some(2_000_000),
            seed: 9,
        };
        assert_eq!(parse("gen:size=64-1500,rate=1.5Mpps,flows=10k,count=2M,seed=9"), Ok(Endpoint::Generator(traffic)));
        let traffic =
            Traffic { sizes: Sizes::Imix, rate: Rate::Bits(1_000_000_000), n_flows: 1, n_packets: None, seed: 1 };
        assert_eq!(parse("gen:size=imix,rate=1Gbps"), Ok(Endpoint::Generator(traffic)));
        for bad in
            ["size=41", "size=99999", "size=9-", "rate=1", "rate=0pps", "flows=0", "count=1.5", "speed=1", "seed=x"]
        {
            assert!(parse(&format!("gen:{bad}")).is_err(), "{bad}");
        }
    }
}
