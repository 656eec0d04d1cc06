//! The bars: promises with a number, measured anew at each call.
//!
//! One line a bar: `AREA NAME FIGURE UNIT TARGET pass|fail`. Everything is measured live with a release build. The area `run`
//! takes about a minute, most of it for the 2 GB capture, and `native` (see `native.rs`) about two.

use std::borrow::Cow;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::process::{self, command};
use crate::{TaskResult, captures, native, root};

/// One measured promise.
pub struct Bar {
    pub area: &'static str,
    pub name: Cow<'static, str>,
    pub figure: f64,
    pub unit: &'static str,
    pub target: Target,
    /// Lines that explain the figure.
    pub notes: Vec<String>,
}

/// What a figure must keep to.
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    fn passes(&self) -> bool {
        match self.target {
            Target::AtMost(limit) => self.figure <= limit,
            Target::AtLeast(limit) => self.figure >= limit,
        }
    }

    fn line(&self) -> String {
        let target = match self.target {
            Target::AtMost(limit) => format!("<={limit}"),
            Target::AtLeast(limit) => format!(">={limit}"),
        };
        let verdict = if self.passes() { "pass" } else { "fail" };
        let figure = (self.figure * 100.0).round() / 100.0;
        format!("{} {} {figure} {} {target} {verdict}", self.area, self.name, self.unit)
    }
}

/// Measures one bar, with the release program.
type Measure = fn(&Path) -> Result<Bar, String>;

/// The areas, in the order of printing.
const AREAS: &[&str] = &["run", "native"];
/// The bars of the area `run`.
const RUN: &[Measure] = &[firewall_accounting, capture_failures, newcomer_errors, front_end_time, memory_for_2_gb];

/// Measures and prints the bars of one area, or of all.
pub fn run(area: Option<&str>) -> TaskResult {
    if area.is_some_and(|wanted| !AREAS.contains(&wanted)) {
        return Err(format!("no such area; there is {}", AREAS.join(", ")));
    }
    let mut n_failed = 0;
    if area.is_none_or(|wanted| wanted == "run") {
        let flitwork = release_build()?;
        for measure in RUN {
            n_failed += print(&measure(&flitwork)?);
        }
    }
    if area.is_none_or(|wanted| wanted == "native") {
        n_failed += native::bars()?.iter().map(print).sum::<u32>();
    }
    if n_failed == 0 { Ok(()) } else { Err(format!("{n_failed} bars failed")) }
}

/// Prints a bar; gives how many failed.
fn print(bar: &Bar) -> u32 {
    println!("{}", bar.line());
    for note in &bar.notes {
        eprintln!("  {note}");
    }
    u32::from(!bar.passes())
}

/// Where cargo puts what it builds.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds and gives the release program.
pub fn release_build() -> Result<PathBuf, String> {
    process::run("cargo", &["build", "--quiet", "--release", "--package", "flitwork"])?;
    Ok(target_folder().join("release/flitwork"))
}

/// Packets of the Firewall example that the report does not account for.
fn firewall_accounting(flitwork: &Path) -> Result<Bar, String> {
    let output = command(&flitwork.display().to_string(), &["run", "examples/Firewall", "--json"])
        .output()
        .map_err(|error| format!("cannot start flitwork: {error}"))?;
    let result = if output.status.success() {
        captures::accounted(&output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let notes: Vec<String> = result.err().into_iter().collect();
    Ok(Bar {
        area: "run",
        name: "firewall_unaccounted".into(),
        figure: notes.len() as f64,
        unit: "runs",
        target: Target::AtMost(0.0),
        notes,
    })
}

/// Captures that IP_Forwarding does not get through cleanly.
fn capture_failures(flitwork: &Path) -> Result<Bar, String> {
    let (n_captures, failures) = captures::run(flitwork)?;
    let mut notes: Vec<String> =
        failures.iter().map(|failure| format!("{}: {}", failure.capture, failure.what)).collect();
    if n_captures == 0 {
        notes.push("there are no captures".to_string());
    }
    Ok(Bar {
        area: "run",
        name: "captures_failing".into(),
        figure: notes.len() as f64,
        unit: "captures",
        target: Target::AtMost(0.0),
        notes,
    })
}

/// The mistakes of newcomers whose report must name line, column and remedy: files of `tests/errors`.
const NEWCOMER_ERRORS: &[&str] = &[
    "unknown_element",
    "port_out_of_range",
    "port_used_twice",
    "port_not_connected",
    "channel_types_differ",
    "misspelt_state_variable",
    "missing_return",
    "parameter_out_of_range",
    "import_not_found",
    "lossless_cycle",
];

/// How many of the newcomers' mistakes are reported with place and remedy, exit code 1 and no panic.
fn newcomer_errors(flitwork: &Path) -> Result<Bar, String> {
    let folder = root().join("tests/errors");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let mut notes = Vec::new();
    for kind in NEWCOMER_ERRORS {
        let ends = format!("_{kind}.clnp");
        let found = files.iter().find(|path| path.to_string_lossy().ends_with(&ends));
        let result = found.map_or(Err("no such file".to_string()), |path| reports_place_and_remedy(flitwork, path));
        notes.extend(result.err().map(|what| format!("{kind}: {what}")));
    }
    let figure = (NEWCOMER_ERRORS.len() - notes.len()) as f64;
    Ok(Bar {
        area: "run",
        name: "newcomer_errors".into(),
        figure,
        unit: "reports",
        target: Target::AtLeast(NEWCOMER_ERRORS.len() as f64),
        notes,
    })
}

fn reports_place_and_remedy(flitwork: &Path, file: &Path) -> Result<(), String> {
    let output = command(&flitwork.display().to_string(), &["check"])
        .arg(file)
        .output()
        .map_err(|error| format!("cannot start flitwork: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let has_place = said.split(&format!("{name}:")).skip(1).any(|after| {
        let mut numbers = after.split([':', '\n', ' ']);
        let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u32>().is_ok());
        is_number(numbers.next()) && is_number(numbers.next())
    });
    if output.status.code() != Some(1) {
        Err(format!("{}", output.status))
    } else if !has_place {
        Err("no line and column".to_string())
    } else if !said.contains("help:") {
        Err("no remedy".to_string())
    } else {
        Ok(())
    }
}

/// How often the front end is timed; the least counts, since the machine is shared.
const N_TIMINGS: usize = 15;

/// Milliseconds from source to verified IR for the example that takes longest, start of the process and printing included.
fn front_end_time(flitwork: &Path) -> Result<Bar, String> {
    let mut slowest = (0.0, String::new());
    for folder in examples()? {
        let mut least = f64::INFINITY;
        for _ in 0..N_TIMINGS {
            let mut dump = command(&flitwork.display().to_string(), &["dump", "--stage", "ir"]);
            dump.arg(&folder).stdout(Stdio::null());
            let start = Instant::now();
            let status = dump.status().map_err(|error| format!("cannot start flitwork: {error}"))?;
            if !status.success() {
                return Err(format!("flitwork dump --stage ir {} failed: {status}", folder.display()));
            }
            least = least.min(start.elapsed().as_secs_f64() * 1000.0);
        }
        if least > slowest.0 {
            slowest = (least, folder.display().to_string());
        }
    }
    let notes = vec![format!("slowest: {}", slowest.1)];
    Ok(Bar {
        area: "run",
        name: "front_end_largest_example".into(),
        figure: slowest.0,
        unit: "ms",
        target: Target::AtMost(50.0),
        notes,
    })
}

/// Folders of the example applications, relative to the root.
pub fn examples() -> Result<Vec<PathBuf>, String> {
    let folder = root().join("examples");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join("app.clnp").is_file()).collect();
    found.sort();
    Ok(found)
}

/// Peak memory in MB of a run over a 2 GB capture.
fn memory_for_2_gb(flitwork: &Path) -> Result<Bar, String> {
    let capture = root().join("target/2gb.pcap");
    let result = write_capture(&capture, 2_000_000_000, 1_400).and_then(|()| peak_memory(flitwork, &capture));
    let _ = fs::remove_file(&capture);
    let figure = result? as f64 / 1e6;
    Ok(Bar {
        area: "run",
        name: "memory_2gb_capture".into(),
        figure,
        unit: "MB",
        target: Target::AtMost(100.0),
        notes: Vec::new(),
    })
}

/// Runs PassTraffic over a capture, writing it again, and gives its peak resident set in bytes.
fn peak_memory(flitwork: &Path, capture: &Path) -> Result<u64, String> {
    let mut run = command(
        &flitwork.display().to_string(),
        &["run", "examples/PassTraffic", "--json", "--out", "tor_out=/dev/null", "--in"],
    );
    run.arg(format!("nic_in={}", capture.display())).stdout(Stdio::null());
    let mut child = run.spawn().map_err(|error| format!("cannot start flitwork: {error}"))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0;
    loop {
        // The high-water mark only grows, so the last reading before the end is the peak but for the last instant.
        let status = fs::read_to_string(&status_file).unwrap_or_default();
        let mark =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak_kb = mark.unwrap_or(0).max(peak_kb);
        match child.try_wait().map_err(|error| format!("cannot wait for flitwork: {error}"))? {
            Some(status) if status.success() => return Ok(peak_kb * 1024),
            Some(status) => return Err(format!("flitwork run over 2 GB failed: {status}")),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Writes a classic pcap of about `size` bytes: UDP over IPv4 packets of `packet_len` bytes, 1 µs apart.
pub fn write_capture(path: &Path, size: u64, packet_len: usize) -> TaskResult {
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = BufWriter::with_capacity(1 << 20, fs::File::create(path).map_err(fail)?);
    let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];
    file.write_all(&header.map(u32::to_le_bytes).concat()).map_err(fail)?;
    let mut packet = udp_packet(packet_len);
    for at in 0..size / (packet_len as u64 + 16) {
        let flow = (at % 4096) as u16;
        packet[34..36].copy_from_slice(&flow.to_be_bytes());
        let record = [(at / 1_000_000) as u32, (at % 1_000_000) as u32, packet_len as u32, packet_len as u32];
        file.write_all(&record.map(u32::to_le_bytes).concat()).map_err(fail)?;
        file.write_all(&packet).map_err(fail)?;
    }
    file.flush().map_err(fail)
}

/// An Ethernet + IPv4 + UDP packet with a right header checksum and no UDP checksum (0, as RFC 768 allows).
fn udp_packet(len: usize) -> Vec<u8> {
    assert!(len >= 42, "headers take 42 bytes");
    let ip_len = (len - 14) as u16;
    let mut packet = vec![0; len];
    packet[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    packet[14..34].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet[16..18].copy_from_slice(&ip_len.to_be_bytes());
    let words = packet[14..34].chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    packet[36..38].copy_from_slice(&53u16.to_be_bytes());
    packet[38..40].copy_from_slice(&(ip_len - 20).to_be_bytes());
    packet
}

#[cfg(test)]
mod tests {
    use super::{Bar, Target};

    #[test]
    fn a_bar_is_one_line_and_fails_past_its_target() {
        let bar = |figure| Bar {
            area: "run",
            name: "x".into(),
            figure,
            unit: "ms",
            target: Target::AtMost(50.0),
            notes: Vec::new(),
        };
        assert_eq!(bar(12.345).line(), "run x 12.35 ms <=50 pass");
        assert_eq!(bar(50.5).line(), "run x 50.5 ms <=50 fail");
    }
}
