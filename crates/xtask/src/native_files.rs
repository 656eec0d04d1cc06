//! File to file: `flitwork run --in a.pcap --out b.pcap` beside Debian's tools, for the same rewrite of station addresses.
//!
//! Captures of a million packets in memory (tmpfs), processor time of the whole process, start and compilation of the application
//! included. `tcprewrite`'s packets must come out the same; `editcap` only copies, and `cp` is what the system takes for the bytes alone.

use std::path::{Path, PathBuf};
use std::{fs, io};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};

use crate::bars::{Bar, Target, release_build, write_capture};
use crate::native::bar;
use crate::process::{is_installed, output};
use crate::root;

const N_PACKETS: u64 = 1_000_000;
const LENGTHS: &[usize] = &[64, 512];
const N_REPEATS: usize = 5;
/// The peer, and how many times its packets per second of processor time flitwork must do.
const PEER: &str = "tcprewrite";
const PEER_TIMES: f64 = 3.0;

/// One program on packets of one length.
pub struct FileRow {
    program: &'static str,
    packet_bytes: usize,
    ns_per_packet: Vec<f64>,
}

impl FileRow {
    fn median(&self) -> f64 {
        let mut ns = self.ns_per_packet.clone();
        ns.sort_by(f64::total_cmp);
        ns[ns.len() / 2]
    }
}

/// Runs every program in turn, on short and longer packets.
pub fn measure() -> Result<Vec<FileRow>, String> {
    for (program, package) in [(PEER, "tcpreplay"), ("editcap", "wireshark-common")] {
        if !is_installed(program) {
            return Err(format!("{program} is not there: `cargo xtask tools` installs it (Debian: {package})"));
        }
    }
    let flitwork = release_build()?;
    let folder = Folder::new()?;
    let mut rows = Vec::new();
    for &packet_bytes in LENGTHS {
        let input = folder.file("in.pcap");
        write_capture(Path::new(&input), N_PACKETS * (packet_bytes as u64 + 16), packet_bytes)?;
        let mut here = ["flitwork", PEER, "editcap", "cp"].map(|program| FileRow {
            program,
            packet_bytes,
            ns_per_packet: Vec::new(),
        });
        let out = |program: &str| folder.file(&format!("{program}.pcap"));
        for round in 0..=N_REPEATS {
            for row in &mut here {
                let ns = processor_ns(row.program, &flitwork, &input, &out(row.program))?;
                if round > 0 {
                    row.ns_per_packet.push(ns / N_PACKETS as f64);
                    remove(&out(row.program))?;
                }
            }
            // The first round is not timed: its files are compared.
            if round == 0 {
                if !same_packets(&out("flitwork"), &out(PEER))? {
                    return Err(format!("flitwork and {PEER} write different packets at {packet_bytes} B"));
                }
                // Each file in memory is a lack of memory for whoever comes next, so all begin without.
                here.iter().try_for_each(|row| remove(&out(row.program)))?;
            }
        }
        rows.extend(here);
    }
    Ok(rows)
}

/// Processor time of a program over a whole capture.
fn processor_ns(program: &str, flitwork: &Path, input: &str, out: &str) -> Result<f64, String> {
    let flitwork = flitwork.display().to_string();
    let ports = [format!("nic_in={input}"), format!("tor_out={out}")];
    let (name, args): (&str, Vec<&str>) = match program {
        "flitwork" => (&flitwork, vec!["run", "bench/apps/rewrite.clnp", "--in", &ports[0], "--out", &ports[1]]),
        PEER => {
            let stations = ["--enet-dmac=02:00:00:00:01:02", "--enet-smac=02:00:00:00:01:01"];
            (PEER, vec![stations[0], stations[1], "-i", input, "-o", out])
        }
        "editcap" => (program, vec!["-F", "pcap", input, out]),
        _ => (program, vec![input, out]),
    };
    let before = children_ns()?;
    output(name, &args)?;
    Ok(children_ns()? - before)
}

/// Processor time of all programs that were started and have ended.
fn children_ns() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("processor time: {error}"))?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(microseconds as f64 * 1e3)
}

fn remove(path: &str) -> Result<(), String> {
    fs::remove_file(path).map_err(|error| format!("{path}: {error}"))
}

/// Whether two pcap files have the same records.
fn same_packets(a: &str, b: &str) -> Result<bool, String> {
    const FILE_HEADER_BYTES: usize = 24;
    let read = |path: &str| fs::read(path).map_err(|error| format!("{path}: {error}"));
    let (a, b) = (read(a)?, read(b)?);
    Ok(a.len() > FILE_HEADER_BYTES && a.get(FILE_HEADER_BYTES..) == b.get(FILE_HEADER_BYTES..))
}

/// Prints the table.
pub fn print(rows: &[FileRow]) {
    println!("\n| file to file | bytes | ns of processor time a packet | packets a second |");
    println!("|---|---:|---:|---:|");
    for row in rows {
        let ns = row.median();
        println!("| {} | {} | {ns:.0} | {:.0} |", row.program, row.packet_bytes, 1e9 / ns);
    }
}

/// The rows for the record.
pub fn record(rows: &[FileRow]) -> Value {
    let described = rows.iter().map(|row| {
        let ns = &row.ns_per_packet;
        let rounded = |ns: f64| (ns * 10.0).round() / 10.0;
        let best = ns.iter().copied().fold(f64::INFINITY, f64::min);
        let worst = ns.iter().copied().fold(0.0, f64::max);
        json!({
            "program": row.program,
            "packet_bytes": row.packet_bytes,
            "packets": N_PACKETS,
            "ns_per_packet": { "best": rounded(best), "median": rounded(row.median()), "worst": rounded(worst) },
        })
    });
    described.collect()
}

/// How many times the peer's packets per second of processor time.
pub fn bars(rows: &[FileRow]) -> Vec<Bar> {
    let median = |program: &str, packet_bytes: usize| {
        let found = rows.iter().find(|row| row.program == program && row.packet_bytes == packet_bytes);
        found.map_or(f64::NAN, FileRow::median)
    };
    let of_length = |&packet_bytes: &usize| {
        let (ours, peers) = (median("flitwork", packet_bytes), median(PEER, packet_bytes));
        let (editcap, cp) = (median("editcap", packet_bytes), median("cp", packet_bytes));
        let note = format!(
            "{packet_bytes} B: {ours:.0} ns a packet, {PEER} {peers:.0} ns, editcap {editcap:.0} ns, cp {cp:.0} ns"
        );
        bar(format!("file_{packet_bytes}B_vs_{PEER}"), peers / ours, "times", Target::AtLeast(PEER_TIMES), vec![note])
    };
    LENGTHS.iter().map(of_length).collect()
}

/// A folder for captures, in memory if the system has such a place; gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { root().join("target") };
        let folder = parent.join(format!("flitwork-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error: io::Error| format!("{}: {error}", folder.display()))?;
        Ok(Folder(folder))
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays; there is nobody to tell.
        let _ = fs::remove_dir_all(&self.0);
    }
}
