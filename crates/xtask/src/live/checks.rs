//! The checks of `cargo xtask live`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::network::{ADDRESS_B, Background, Network, balanced};
use crate::root;

/// Lets everything pass, with the rules of the example out of the way.
const RULES: &str =
    "inbound.set_default accept=true accept_non_ip=true\noutbound.set_default accept=true accept_non_ip=true\n";

const BUMP: [&str; 8] = [
    "--in",
    "nic_in=af_packet:left",
    "--out",
    "tor_out=af_packet:right",
    "--in",
    "tor_in=af_packet:right",
    "--out",
    "nic_out=af_packet:left",
];

/// A folder for the files of a check, empty.
fn folder(check: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("flitwork-live-{}-{check}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<String, String> {
    fs::write(path, contents).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

/// ping, TCP and UDP through the Firewall, beside the same hosts on a plain cable.
pub fn traffic(flitwork: &Path) -> Result<Value, String> {
    let folder = folder("traffic")?;
    let rules = write(&folder.join("rules"), RULES)?;
    let network = Network::with_box("t")?;
    let mut args = vec!["run", "examples/Firewall", "--json", "--control", &rules];
    args.extend(BUMP);
    let run = network.start("m", flitwork, &args)?;
    let through = measure(&network)?;
    let report = run.report()?;
    let drops: u64 = report["totals"]["dropped"].as_u64().unwrap_or(u64::MAX);
    drop(network);
    let plain = measure(&Network::plain("p")?)?;
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(json!({"through": through, "plain_veth": plain, "counted_drops": drops}))
}

/// Rates between the hosts, and zero loss at half the UDP rate that lost nothing.
fn measure(network: &Network) -> Result<Value, String> {
    network.output("a", "ping", &["-c", "5", "-i", "0.2", "-W", "1", ADDRESS_B])?;
    let tcp = network.iperf(&["-t", "4"])?;
    let tcp_bps = tcp["end"]["sum_received"]["bits_per_second"].as_f64().ok_or("iperf3 reports no TCP rate")?;
    let udp = |mbps: u32, seconds: &str| -> Result<(u64, u64), String> {
        let rate = format!("{mbps}M");
        let result = network.iperf(&["-u", "-b", &rate, "-l", "1400", "-t", seconds])?;
        let sum = &result["end"]["sum"];
        let number = |name: &str| sum[name].as_u64().ok_or(format!("iperf3 reports no {name}"));
        Ok((number("lost_packets")?, number("packets")?))
    };
    const STEPS_MBPS: [u32; 9] = [50, 100, 200, 400, 600, 800, 1200, 1600, 2400];
    let mut n_loss_free = 0;
    while n_loss_free < STEPS_MBPS.len() && udp(STEPS_MBPS[n_loss_free], "2")?.0 == 0 {
        n_loss_free += 1;
    }
    // A short run may have been lucky: a rate is loss-free if half of it holds for longer.
    let mut losses = Vec::new();
    let (loss_free, sent) = loop {
        let Some(&loss_free) = STEPS_MBPS[..n_loss_free].last() else {
            return Err(format!("no UDP rate passes without loss; lost at each: {losses:?}"));
        };
        match udp(loss_free / 2, "5")? {
            (0, sent) => break (loss_free, sent),
            (lost, _) => losses.push((loss_free / 2, lost)),
        }
        n_loss_free -= 1;
    };
    Ok(
        json!({"tcp_mbps": (tcp_bps / 1e6) as u64, "udp_loss_free_mbps": loss_free, "udp_packets_at_half": sent, "lost": 0}),
    )
}

/// Frames sent by tcpreplay on one side are those that tcpdump sees on the other.
pub fn bytes(flitwork: &Path) -> Result<Value, String> {
    let folder = folder("bytes")?;
    let frames = frames();
    let sent = write(&folder.join("sent.pcap"), pcap(&frames))?;
    let got = folder.join("got.pcap").display().to_string();
    let network = Network::with_box("f")?;
    let mut args = vec!["run", "examples/PassTraffic", "--json"];
    args.extend(BUMP);
    let run = network.start("m", flitwork, &args)?;
    let mut dump = network.command("b", "tcpdump", &["-q", "-U", "-i", "host", "-Q", "in", "-w", &got]);
    let dump = dump.stderr(Stdio::null()).spawn().map_err(|error| format!("cannot start tcpdump: {error}"))?;
    let mut dump = Background(dump);
    std::thread::sleep(Duration::from_millis(700));
    network.output("a", "tcpreplay", &["-q", "-p", "5000", "-i", "host", &sent])?;
    std::thread::sleep(Duration::from_millis(700));
    crate::process::run("kill", &["-INT", &dump.0.id().to_string()])?;
    dump.end(Duration::from_secs(5))?;
    run.report()?;
    let arrived = frames_of(&fs::read(&got).map_err(|error| format!("{got}: {error}"))?)?;
    if arrived != frames {
        let first = arrived.iter().zip(&frames).position(|(arrived, sent)| arrived != sent);
        return Err(format!("{} frames sent, {} arrived; first difference at {first:?}", frames.len(), arrived.len()));
    }
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(json!({"frames": frames.len()}))
}

/// UDP packets of all lengths up to the MTU, every third behind one VLAN tag, every seventh behind two.
fn frames() -> Vec<Vec<u8>> {
    let frame = |idx: usize| {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        if idx.is_multiple_of(7) {
            frame.extend([0x88, 0xa8, 0x20, 0x07]);
        }
        if idx.is_multiple_of(7) || idx.is_multiple_of(3) {
            frame.extend([0x81, 0x00, 0x60, 0x64]);
        }
        // An experimental EtherType (IEEE 802), so that neither host answers.
        frame.extend([0x88, 0xb5]);
        let n_payload = 46 + idx * 7 % 1450;
        frame.extend((0..n_payload).map(|at| (at * 31 + idx) as u8));
        frame
    };
    (0..1000).map(frame).collect()
}

/// A pcap file (draft-ietf-opsawg-pcap, little-endian, microseconds).
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 1] {
        bytes.extend(number.to_le_bytes());
    }
    for (idx, frame) in frames.iter().enumerate() {
        for number in [1_700_000_000, idx as u32, frame.len() as u32, frame.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(frame);
    }
    bytes
}

fn frames_of(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut rest = bytes.get(24..).ok_or("the capture has no header")?;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let length = rest.get(8..12).ok_or("the capture is cut off")?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        frames.push(rest.get(16..16 + length).ok_or("the capture is cut off")?.to_vec());
        rest = &rest[16 + length..];
    }
    Ok(frames)
}

/// Signals as fast as they are taken, then control files, while UDP passes: nothing is lost, memory stays.
pub fn storm(flitwork: &Path) -> Result<Value, String> {
    const LOADS: u32 = 1000;
    const STORM: Duration = Duration::from_secs(4);
    let folder = folder("storm")?;
    let rules = write(&folder.join("rules"), RULES)?;
    let other = write(&folder.join("other"), format!("{RULES}inbound.insert priority=9 protocol=6 accept=true\n"))?;
    let socket = folder.join("socket").display().to_string();
    let network = Network::with_box("s")?;
    let mut args = vec!["run", "examples/Firewall", "--json", "--control", &rules, "--control-socket", &socket];
    args.extend(BUMP);
    let run = network.start("m", flitwork, &args)?;
    let memory_before = run.memory_kib()?;
    let (calls_per_second, lost) = std::thread::scope(|scope| {
        let storm = scope.spawn(|| call_for(&socket, STORM));
        let udp = network.iperf(&["-u", "-b", "20M", "-l", "1400", "-t", "3"]);
        let calls = storm.join().map_err(|_| "the storm broke down".to_string())??;
        let lost = udp?["end"]["sum"]["lost_packets"].as_u64().ok_or("iperf3 reports no loss")?;
        Ok::<_, String>((calls as f64 / STORM.as_secs_f64(), lost))
    })?;
    let load = |idx: u32| json!({"load": if idx.is_multiple_of(2) { &other } else { &rules }}).to_string();
    let loads: Vec<String> = (0..LOADS).map(load).collect();
    let lost_at_loads = std::thread::scope(|scope| {
        let loading = scope.spawn(|| ask_all(&socket, &loads));
        let udp = network.iperf(&["-u", "-b", "20M", "-l", "1400", "-t", "3"]);
        loading.join().map_err(|_| "loading broke down".to_string())??;
        udp?["end"]["sum"]["lost_packets"].as_u64().ok_or("iperf3 reports no loss".to_string())
    })?;
    let grown = run.memory_kib()?.saturating_sub(memory_before);
    run.report()?;
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    let figures = json!({
        "calls_per_second": calls_per_second as u64, "lost_during_calls": lost, "loads": LOADS,
        "lost_during_loads": lost_at_loads, "memory_grown_kib": grown,
    });
    // The flow of questions takes buffers of a known size; 16 MiB leaves room for those of the sockets' threads.
    let is_sound = calls_per_second >= 100_000.0 && lost == 0 && lost_at_loads == 0 && grown < 16 << 10;
    if is_sound { Ok(figures) } else { Err(figures.to_string()) }
}

/// Calls a signal for so long, many lines at a time; gives how many calls were answered.
fn call_for(socket: &str, duration: Duration) -> Result<u64, String> {
    const AT_ONCE: usize = 64;
    let lines = "{\"call\":\"inbound.stats\"}\n".repeat(AT_ONCE);
    let explain = |error: std::io::Error| format!("{socket}: {error}");
    let mut stream = UnixStream::connect(socket).map_err(explain)?;
    let mut answers = BufReader::new(stream.try_clone().map_err(explain)?).lines();
    let begin = Instant::now();
    let mut n_calls = 0;
    while begin.elapsed() < duration {
        stream.write_all(lines.as_bytes()).map_err(explain)?;
        for answer in answers.by_ref().take(AT_ONCE) {
            let answer = answer.map_err(explain)?;
            if !answer.starts_with("{\"ok\":true") {
                return Err(format!("a call was answered {answer}"));
            }
            n_calls += 1;
        }
    }
    Ok(n_calls)
}

fn ask_all(socket: &str, lines: &[String]) -> Result<(), String> {
    let explain = |error: std::io::Error| format!("{socket}: {error}");
    let mut stream = UnixStream::connect(socket).map_err(explain)?;
    let mut answers = BufReader::new(stream.try_clone().map_err(explain)?).lines();
    for line in lines {
        writeln!(stream, "{line}").map_err(explain)?;
        match answers.next() {
            Some(Ok(answer)) if answer == "{\"ok\":true}" => {}
            other => return Err(format!("{line} was answered {other:?}")),
        }
    }
    Ok(())
}

/// The interface is removed under a run.
pub fn interface_gone(flitwork: &Path) -> Result<Value, String> {
    let network = Network::with_box("g")?;
    let mut args = vec!["run", "examples/PassTraffic", "--json"];
    args.extend(BUMP);
    let run = network.start("m", flitwork, &args)?;
    network.output("a", "ping", &["-c", "3", "-i", "0.2", "-W", "1", ADDRESS_B])?;
    network.remove_link("m", "left")?;
    let (code, stdout, stderr) = run.end()?;
    let report = balanced(&stdout)?;
    let entered = report["totals"]["in"].as_u64().unwrap_or(0);
    let is_told = stderr.contains("interface left") && stderr.contains("switched off or removed");
    if code == Some(3) && is_told && entered >= 6 {
        Ok(json!({"exit": 3, "in": entered}))
    } else {
        Err(format!("exit code {code:?}, {entered} packets in: {stderr}"))
    }
}

/// A run that writes a capture is killed.
pub fn killed(flitwork: &Path) -> Result<Value, String> {
    let folder = folder("killed")?;
    let capture = folder.join("got.pcap");
    let output = format!("tor_out={}", capture.display());
    let network = Network::with_box("k")?;
    let args = ["run", "examples/PassTraffic", "--in", "nic_in=af_packet:left", "--out", &output];
    let run = network.start("m", flitwork, &args)?;
    // Nobody answers; the requests for the address are what is captured.
    let _ = network.output("a", "ping", &["-c", "4", "-i", "0.5", "-W", "1", ADDRESS_B]);
    run.signal("-KILL")?;
    let _ = run.end();
    let part = folder.join("got.pcap.part").display().to_string();
    let listed = crate::process::output("tcpdump", &["-n", "-r", &part])?;
    let n_packets = listed.lines().count();
    let figures = json!({"packets": n_packets});
    let is_sound = n_packets > 0 && listed.lines().all(|line| line.contains("who-has 10.211.0.2")) && !capture.exists();
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    if is_sound { Ok(figures) } else { Err(format!("{figures}: {listed}")) }
}

/// A user without privileges asks for an interface, and for a TAP device.
pub fn refused(flitwork: &Path) -> Result<Value, String> {
    // The program must lie where that user can read it.
    let program = std::env::temp_dir().join(format!("flitwork-live-{}", std::process::id()));
    fs::copy(flitwork, &program).map_err(|error| format!("{}: {error}", program.display()))?;
    let app = root().join("examples/PassTraffic/app.clnp");
    let source = std::env::temp_dir().join(format!("flitwork-live-{}.clnp", std::process::id()));
    fs::copy(&app, &source).map_err(|error| format!("{}: {error}", app.display()))?;
    let (program_name, source_name) = (program.display().to_string(), source.display().to_string());
    let mut faults = Vec::new();
    for (input, capability) in [("nic_in=af_packet:lo", "CAP_NET_RAW"), ("nic_in=tap:flitworktap", "CAP_NET_ADMIN")] {
        let words =
            ["--reuid=65534", "--regid=65534", "--clear-groups", &program_name, "run", &source_name, "--in", input];
        let output = crate::process::command("setpriv", &words).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(3) || !said.contains(capability) || !said.contains("setcap") {
            faults.push(format!("{input}: {}: {said}", output.status));
        }
    }
    let _ = fs::remove_file(&program);
    let _ = fs::remove_file(&source);
    if faults.is_empty() { Ok(json!({})) } else { Err(faults.join("; ")) }
}
