//! Captures in and out: what is left on disk when things go well and when they do not.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use packet::capture::{CaptureReader, Format, Record, Resolution};

use crate::program::{Ended, Folder, capture};

const PASS: &str = "import \"core/Pass.clnp\";\n\nPass :: pass\n\nnic_in -> pass -> nic_out\n";

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("app.clnp", PASS);
    folder
}

/// Runs PASS from one file to another.
fn pass(folder: &Folder, input: &str, output: &str) -> Ended {
    folder.flitwork(&["run", "app.clnp", "--in", &format!("nic_in={input}"), "--out", &format!("nic_out={output}")])
}

fn records(bytes: &[u8]) -> (Format, Vec<Record>) {
    let mut reader = CaptureReader::new(bytes).expect("a capture");
    let mut records = Vec::new();
    loop {
        let mut record = Record::default();
        if !reader.next_into(&mut record).expect("whole") {
            return (reader.format(), records);
        }
        records.push(record);
    }
}

/// All that a capture file says of its packets.
fn frames(bytes: &[u8]) -> Vec<(u32, u64, u32, Vec<u8>)> {
    let (_, records) = records(bytes);
    records.into_iter().map(|record| (record.link_type.0, record.time_ns, record.orig_len, record.data)).collect()
}

#[test]
fn passed_capture_is_equal_byte_for_byte() {
    let folder = folder("equal");
    let input = capture("tcp-ethernet.pcap");
    pass(&folder, &input.to_string_lossy(), "out.pcap").with_code(0);
    let original = fs::read(input).unwrap();
    // The file header may differ in the snap length, the packets may not.
    assert_eq!(folder.read("out.pcap")[24..], original[24..]);
    assert_eq!(folder.names(), ["app.clnp", "out.pcap"]);
}

#[test]
fn nanosecond_input_gives_nanosecond_output() {
    let folder = folder("nanosecond");
    let input = capture("nanosecond.pcap");
    pass(&folder, &input.to_string_lossy(), "out.pcap").with_code(0);
    let (format, written) = records(&folder.read("out.pcap"));
    assert!(matches!(format, Format::Pcap { resolution: Resolution::Nanoseconds, .. }), "{format:?}");
    let times = |records: &[Record]| records.iter().map(|record| record.time_ns).collect::<Vec<_>>();
    assert_eq!(times(&written), times(&records(&fs::read(input).unwrap()).1));
}

#[test]
fn mixed_link_types_need_pcapng() {
    let folder = folder("mixed");
    let input = capture("pcapng-multi-interface.pcapng");
    let ended = pass(&folder, &input.to_string_lossy(), "out.pcap").with_code(3);
    assert!(ended.stderr.contains("a pcap file has one link type"), "{}", ended.stderr);
    assert!(ended.stderr.contains("write out.pcapng"), "{}", ended.stderr);
    assert_eq!(folder.names(), ["app.clnp"]);
    pass(&folder, &input.to_string_lossy(), "out.pcapng").with_code(0);
    let mut expected = frames(&fs::read(input).unwrap());
    // The interfaces' clocks differ: time in the graph never runs back, so late stamps become those of the packet before.
    for at in 1..expected.len() {
        expected[at].1 = expected[at].1.max(expected[at - 1].1);
    }
    assert_eq!(frames(&folder.read("out.pcapng")), expected);
}

#[test]
fn damaged_capture_is_named_with_its_offset_and_the_rest_is_whole() {
    let folder = folder("damaged");
    let original = fs::read(capture("tcp-ethernet.pcap")).unwrap();
    folder.write("cut.pcap", &original[..1000]);
    let ended = pass(&folder, "cut.pcap", "out.pcap").with_code(3);
    assert!(ended.stderr.contains("cut.pcap: the file is cut short: it ends at offset 1000"), "{}", ended.stderr);
    assert!(ended.stdout.contains("Totals"), "{}", ended.stdout);
    let whole = frames(&original);
    let written = frames(&folder.read("out.pcap"));
    assert!(!written.is_empty() && written.len() < whole.len());
    assert_eq!(written, whole[..written.len()]);
}

#[test]
fn file_that_is_no_capture_is_refused_before_anything_runs() {
    let folder = folder("no_capture");
    let ended = pass(&folder, "app.clnp", "out.pcap").with_code(3);
    assert!(ended.stderr.starts_with("error: app.clnp: not a capture file"), "{}", ended.stderr);
    assert_eq!((ended.stdout.as_str(), folder.names()), ("", vec!["app.clnp".to_string()]));
}

#[test]
fn missing_input_leaves_no_output() {
    let folder = folder("missing");
    let ended = pass(&folder, "nowhere.pcap", "out.pcap").with_code(3);
    assert!(ended.stderr.starts_with("error: cannot read nowhere.pcap: no such file"), "{}", ended.stderr);
    assert_eq!(folder.names(), ["app.clnp"]);
}

#[test]
fn missing_output_folder_is_an_error_before_the_run() {
    let folder = folder("no_folder");
    let input = capture("tcp-ethernet.pcap");
    let ended = pass(&folder, &input.to_string_lossy(), "no/out.pcap").with_code(3);
    let expected =
        "error: cannot write no/out.pcap: no such file or directory; its folder does not exist; create it first\n";
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", expected));
}

#[test]
fn full_disk_leaves_the_earlier_file_alone() {
    let folder = folder("full");
    folder.write("out.pcap", "earlier");
    let input = capture("snapped.pcap");
    // A limit of 8 blocks for written files stands for a full disk; the shell ignores the signal that comes with it.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec '{}' run app.clnp --in 'nic_in={}' --out nic_out=out.pcap",
        env!("CARGO_BIN_EXE_flitwork"),
        input.display()
    );
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
    let ended = Ended::from(output).with_code(3);
    assert!(ended.stderr.starts_with("error: cannot write out.pcap: file too large"), "{}", ended.stderr);
    assert_eq!(folder.names(), ["app.clnp", "out.pcap"]);
    assert_eq!(folder.read("out.pcap"), b"earlier");
}

#[test]
fn device_is_written_without_renaming() {
    let folder = folder("device");
    let input = capture("tcp-ethernet.pcap");
    pass(&folder, &input.to_string_lossy(), "/dev/null").with_code(0);
    let ended = pass(&folder, &input.to_string_lossy(), "/dev/full").with_code(3);
    assert!(ended.stderr.starts_with("error: cannot write /dev/full: no space left on device"), "{}", ended.stderr);
}

#[test]
fn standard_streams_stand_for_files() {
    let folder = folder("streams");
    let bytes = fs::read(capture("tcp-ethernet.pcap")).unwrap();
    let mut command = folder.command(&["run", "app.clnp", "--in", "nic_in=-", "--out", "nic_out=-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout[24..], bytes[24..]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Totals"));
}

#[test]
fn standard_output_by_its_device_name_keeps_the_report_away() {
    let folder = folder("dev_stdout");
    let input = capture("tcp-ethernet.pcap");
    let file = fs::File::create(folder.path("redirected.pcap")).unwrap();
    let args = ["run", "app.clnp", "--in", &format!("nic_in={}", input.display()), "--out", "nic_out=/dev/stdout"];
    let output = folder.command(&args).stdout(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.read("redirected.pcap")[24..], fs::read(input).unwrap()[24..]);
}

#[test]
fn struct_messages_are_json_lines() {
    let folder = Folder::new("messages");
    let source = "struct Seen {\n    uint16_t type;\n    bool is_short;\n}\n\n.element Watch <1, 1: packet + 1: Seen> {\n    \
                  .packet {\n        Seen seen = {};\n        seen.type = pkt.be16(12);\n        \
                  seen.is_short = pkt.avail() < 60;\n        set_output_port(2, seen);\n        emit(1);\n    }\n}\n\n\
                  Watch :: watch\n\nnic_in -> watch[1] -> Drop\nwatch[2] -> host_out\n";
    folder.write("app.clnp", source);
    let input = format!("nic_in={}", capture("tcp-ethernet.pcap").display());
    let run =
        |output: &str| folder.flitwork(&["run", "app.clnp", "--in", &input, "--out", &format!("host_out={output}")]);
    let ended = run("seen.pcap").with_code(2);
    let expected = "error: host_out carries Seen messages, not packets: write seen.jsonl instead of seen.pcap\n";
    assert_eq!(ended.stderr, expected);
    run("seen.jsonl").with_code(0);
    let text = String::from_utf8(folder.read("seen.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 40);
    // The first packet: 54 bytes of IPv4, as tshark shows it.
    let (_, records) = records(&fs::read(capture("tcp-ethernet.pcap")).unwrap());
    let first = format!("{{\"time_ns\":{},\"type\":2048,\"is_short\":true}}", records[0].time_ns);
    assert_eq!(text.lines().next().unwrap(), first);
}

#[test]
fn interrupt_ends_a_waiting_run_with_its_file_whole() {
    let folder = folder("interrupt");
    let fifo = folder.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut command = folder.command(&["run", "app.clnp", "--in", "nic_in=fifo", "--out", "nic_out=out.pcap"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let original = fs::read(capture("tcp-ethernet.pcap")).unwrap();
    // Stays open: the program waits for the rest of a packet that never comes.
    let mut writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&original[..1000]).unwrap();
    let start = Instant::now();
    while !folder.names().iter().any(|name| name.ends_with(".partial")) {
        assert!(start.elapsed() < Duration::from_secs(20), "the program has not begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = Ended::from(child.wait_with_output().unwrap()).with_code(130);
    assert!(ended.stderr.contains("interrupted; the outputs hold what had left by then"), "{}", ended.stderr);
    let written = frames(&folder.read("out.pcap"));
    assert!(!written.is_empty());
    assert_eq!(written, frames(&original)[..written.len()]);
    assert_eq!(folder.names(), ["app.clnp", "fifo", "out.pcap"]);
    drop(writer);
}

#[test]
fn interrupt_ends_the_wait_for_the_other_end_of_a_pipe() {
    let folder = folder("interrupt_open");
    assert!(Command::new("mkfifo").arg(folder.path("fifo")).status().unwrap().success());
    let original = capture("tcp-ethernet.pcap");
    let original = format!("nic_in={}", original.display());
    let ways: [[&str; 6]; 2] = [
        ["run", "app.clnp", "--in", "nic_in=fifo", "--out", "nic_out=out.pcap"],
        ["run", "app.clnp", "--in", &original, "--out", "nic_out=fifo"],
    ];
    for args in ways {
        let mut child = folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let start = Instant::now();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > Duration::from_secs(20) {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(ended.code(), Some(130), "{args:?}");
        assert_eq!(folder.names(), ["app.clnp", "fifo"]);
    }
}

#[test]
fn several_ports_read_one_file_but_no_two_write_one() {
    let folder = folder("shared");
    folder.write("app.clnp", "nic_in -> tor_out\ntor_in -> nic_out\n");
    folder.write("in.pcap", fs::read(capture("tcp-ethernet.pcap")).unwrap());
    let run = |first: &str, second: &str, out: [&str; 2]| {
        let [tor_out, nic_out] = out.map(|file| file.to_string());
        let inputs = [format!("nic_in={first}"), format!("tor_in={second}")];
        let outputs = [format!("tor_out={tor_out}"), format!("nic_out={nic_out}")];
        folder.flitwork(&[
            "run",
            "app.clnp",
            "--in",
            &inputs[0],
            "--in",
            &inputs[1],
            "--out",
            &outputs[0],
            "--out",
            &outputs[1],
        ])
    };
    run("in.pcap", "in.pcap", ["a.pcap", "b.pcap"]).with_code(0);
    assert_eq!(frames(&folder.read("a.pcap")), frames(&folder.read("in.pcap")));
    assert_eq!(folder.read("a.pcap"), folder.read("b.pcap"));
    let ended = run("-", "-", ["c.pcap", "d.pcap"]).with_code(2);
    assert_eq!(ended.stderr, "error: --in names file - twice\n");
    std::os::unix::fs::symlink("c.pcap", folder.path("link.pcap")).unwrap();
    for other in ["./c.pcap", "link.pcap"] {
        let ended = run("in.pcap", "in.pcap", ["c.pcap", other]).with_code(3);
        assert_eq!(ended.stderr, format!("error: cannot write {other}: another output is written to the same file\n"));
        assert_eq!(folder.names(), ["a.pcap", "app.clnp", "b.pcap", "in.pcap", "link.pcap"]);
    }
    // A link stays one, and what it leads to is made.
    run("in.pcap", "in.pcap", ["d.pcap", "link.pcap"]).with_code(0);
    assert_eq!(fs::read_link(folder.path("link.pcap")).unwrap().to_str(), Some("c.pcap"));
    assert_eq!(folder.read("c.pcap"), folder.read("a.pcap"));
}

#[test]
fn captures_have_any_name_but_sources_are_named_in_text() {
    let folder = folder("names");
    let name = |text: &[u8]| OsStr::from_bytes(text).to_os_string();
    fs::copy(capture("tcp-ethernet.pcap"), folder.path("").join(name(b"\xff.pcap"))).unwrap();
    let mut command = folder.command(&["run", "app.clnp"]);
    command.arg("--in").arg(name(b"nic_in=\xff.pcap")).arg("--out").arg(name(b"nic_out=\xfe.pcap"));
    Ended::from(command.output().unwrap()).with_code(0);
    let written = fs::read(folder.path("").join(name(b"\xfe.pcap"))).unwrap();
    assert_eq!(frames(&written), frames(&fs::read(capture("tcp-ethernet.pcap")).unwrap()));
    folder.write("app2/readme", "");
    fs::write(folder.path("app2").join(name(b"\xff.clnp")), PASS).unwrap();
    let ended = folder.flitwork(&["check", "app2"]).with_code(3);
    assert_eq!(ended.stderr, "error: cannot read app2/\u{fffd}.clnp: its name is not UTF-8 text; rename it\n");
}

#[test]
fn folder_in_place_of_the_application_is_named() {
    let folder = folder("folder_as_file");
    folder.write("app/app.clnp/readme", "");
    let ended = folder.flitwork(&["run", "app"]).with_code(3);
    assert_eq!(ended.stderr, "error: cannot read app/app.clnp: is a directory; it is a folder; name a file in it\n");
}
