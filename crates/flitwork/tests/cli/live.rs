//! Made and repeated traffic, and runs that are asked things while they go on. Interfaces need root: `cargo xtask live`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Ended, Folder};

const COUNT: &str = "import \"core/Counter.clnp\";\n\nCounter :: count @\n\nnic_in -> count -> nic_out\n";

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("app.clnp", COUNT);
    folder
}

/// A pcap of frames with 14 zero bytes and one number, at these microseconds.
fn pcap(packets: &[(u32, u8)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 1] {
        bytes.extend(number.to_le_bytes());
    }
    for &(micros, number) in packets {
        for field in [1_700_000_000, micros, 15, 15] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend([0; 14]);
        bytes.push(number);
    }
    bytes
}

#[test]
fn looped_capture_goes_on_at_its_pace() {
    let folder = folder("looped");
    folder.write("in.pcap", pcap(&[(100, 1), (150, 2), (300, 3)]));
    folder.flitwork(&["run", "app.clnp", "--in", "nic_in=pcap:in.pcap*2", "--out", "nic_out=out.pcap"]).with_code(0);
    // The mean distance is 100 microseconds, so the second round begins at 400.
    let expected = pcap(&[(100, 1), (150, 2), (300, 3), (400, 1), (450, 2), (600, 3)]);
    assert_eq!(folder.read("out.pcap")[24..], expected[24..]);
}

#[test]
fn made_packets_are_counted_to_the_last() {
    let folder = folder("made");
    let made =
        ["run", "app.clnp", "--json", "--in", "nic_in=gen:size=100,count=5000,rate=1kpps", "--out", "nic_out=null:"];
    let ended = folder.flitwork(&made).with_code(0);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["boundaries"][1]["packets"], 5000);
    assert_eq!(report["boundaries"][1]["wire_bytes"], 500_000);
    // The last of 5000 packets comes 4.999 s after the first.
    assert_eq!(report["now_ns"], 4_999_000_000_u64);
    let endless = ["run", "app.clnp", "--json", "--duration", "2", "--in", "nic_in=gen:rate=1kpps"];
    let ended = folder.flitwork(&endless).with_code(0);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["totals"]["in"], 2000);
}

#[test]
fn ends_that_make_no_sense_are_refused() {
    let folder = folder("nonsense");
    for (args, hint) in [
        (["--in", "nic_in=gen:speed=1"], "size, rate, flows, count and seed"),
        (["--in", "nic_in=af_xdp:eth0"], "af_packet:"),
        (["--out", "nic_out=gen:"], "is for --in"),
    ] {
        let mut words = vec!["run", "app.clnp"];
        if args[0] == "--out" {
            words.extend(["--in", "nic_in=null:"]);
        }
        words.extend(args);
        let ended = folder.flitwork(&words).with_code(2);
        assert!(ended.stderr.contains(hint), "{}", ended.stderr);
    }
    let missing = folder.flitwork(&["run", "app.clnp", "--in", "nic_in=af_packet:nosuchif0"]).with_code(3);
    assert!(missing.stderr.contains("there is no such interface"), "{}", missing.stderr);
}

#[test]
fn socket_that_no_client_could_name_is_refused() {
    let folder = folder("long_socket");
    let name = "x".repeat(150);
    let words = ["run", "app.clnp", "--in", "nic_in=gen:count=1", "--control-socket", &name];
    let ended = folder.flitwork(&words).with_code(3);
    assert!(ended.stderr.contains("path must be shorter than SUN_LEN"), "{}", ended.stderr);
}

/// `timeout` sends its signal to the program and to the program's group.
#[test]
fn one_signal_sent_twice_ends_a_run_with_its_report() {
    let folder = folder("twice");
    let child = endless(&folder, &[]);
    let id = child.id().to_string();
    for _ in 0..2 {
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }
    let ended = Ended::from(child.wait_with_output().unwrap()).with_code(130);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(report["totals"]["in"].as_u64().unwrap() > 0);
}

/// A run without an end, with its socket.
fn endless(folder: &Folder, more: &[&str]) -> Child {
    let mut words = vec!["run", "app.clnp", "--json", "--in", "nic_in=gen:", "--out", "nic_out=null:"];
    words.extend(["--control-socket", "socket"]);
    words.extend(more);
    let child = folder.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let begin = Instant::now();
    while UnixStream::connect(folder.path("socket")).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20), "no socket");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn run_answers_at_its_socket() {
    let folder = folder("socket");
    // A socket file that nobody listens to is replaced.
    drop(UnixListener::bind(folder.path("socket")).unwrap());
    let child = endless(&folder, &[]);
    assert_eq!(fs::metadata(folder.path("socket")).unwrap().permissions().mode() & 0o777, 0o600);
    let second =
        folder.flitwork(&["run", "app.clnp", "--in", "nic_in=gen:", "--control-socket", "socket"]).with_code(3);
    assert!(second.stderr.contains("another run listens there"), "{}", second.stderr);

    let signals = folder.flitwork(&["signal", "socket", "--signals"]).with_code(0);
    assert!(signals.stdout.contains("count.stats -> "), "{}", signals.stdout);
    let refused = folder.flitwork(&["signal", "socket", "count.stat"]).with_code(1);
    assert_eq!(refused.stderr, "error: `count` has no signal `stat`; did you mean `stats`?\n");
    folder.write("bad", "count.reset\ncount.nothing\n");
    let bad = folder.flitwork(&["signal", "socket", "--load", "bad"]).with_code(1);
    assert!(bad.stderr.contains("2:1: `count` has no signal `nothing`"), "{}", bad.stderr);

    let endless = folder.flitwork(&["signal", "socket", "--load", "/dev/zero"]).with_code(1);
    assert_eq!(endless.stderr, "error: /dev/zero: a control file is a regular file\n");

    // Many lines at once, answered in order.
    let mut stream = UnixStream::connect(folder.path("socket")).unwrap();
    for id in 0..1000 {
        writeln!(stream, "{{\"id\":{id},\"call\":\"count.reset\"}}").unwrap();
    }
    let answers: Vec<String> = BufReader::new(&stream).lines().take(1000).map(Result::unwrap).collect();
    for (id, answer) in answers.iter().enumerate() {
        assert!(answer.starts_with(&format!("{{\"id\":{id},\"ok\":true")), "{answer}");
    }
    folder.flitwork(&["signal", "socket", "--stop"]).with_code(0);
    let ended = Ended::from(child.wait_with_output().unwrap()).with_code(0);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let total = |name: &str| report["totals"][name].as_u64().unwrap();
    assert_eq!(total("in"), total("out") + total("held"));
    assert!(!folder.path("socket").exists());
    let gone = folder.flitwork(&["signal", "socket", "--counters"]).with_code(3);
    assert!(gone.stderr.contains("no run listens at socket"), "{}", gone.stderr);
}

#[test]
fn prometheus_reads_counters_on_this_machine_only() {
    let folder = folder("prometheus");
    let public = ["run", "app.clnp", "--in", "nic_in=gen:count=1", "--prometheus", "0.0.0.0:0"];
    let refused = folder.flitwork(&public).with_code(3);
    assert!(refused.stderr.contains("others could read it there"), "{}", refused.stderr);

    let mut child = endless(&folder, &["--prometheus", "127.0.0.1:0"]);
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("counters at http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let packets = |port: &str, way: &str| -> u64 {
        let name = format!("flitwork_port_packets_total{{port=\"{port}\",direction=\"{way}\"}} ");
        answer.lines().find_map(|line| line.strip_prefix(&name)).expect("the counter is there").parse().unwrap()
    };
    assert!(packets("nic_in", "in") > 0);
    // Between batches nothing is under way.
    assert_eq!(packets("nic_in", "in"), packets("nic_out", "out"));
    folder.flitwork(&["signal", "socket", "--stop"]).with_code(0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
