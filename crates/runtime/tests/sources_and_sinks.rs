//! Capture files as sources and sinks, their failures, and stopping from outside.

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use packet::capture::{CaptureReader, CaptureWriter, Format, Frame, Record, Resolution};
use packet::link::LinkType;
use runtime::{CaptureSource, Hooks, IoError, Options, PacketSink, Progress, RunError, Runtime};
use support::{Packets, at, counting, design, packet_pass};

fn pass() -> ir::Design {
    design(&format!(
        "boundary nic_in in packet @0:0..0\nboundary nic_out out packet @0:0..0\n{}\
         channel 0: nic_in packet -> p[1] packet depth 4 @0:0..0\nchannel 1: p[1] packet -> nic_out packet depth 4 @0:0..0\n",
        packet_pass("p", 0, 1)
    ))
}

/// A nanosecond capture of four packets, one of them cut and one with an original length below the captured one.
fn capture() -> Vec<u8> {
    let format = Format::Pcap { resolution: Resolution::Nanoseconds, link_type: LinkType::ETHERNET };
    let mut writer = CaptureWriter::new(Vec::new(), format).expect("a header");
    for (time_ns, n_bytes, orig_len) in
        [(1_000_000_007, 60, 60), (1_000_000_008, 96, 1500), (2_000_000_000, 80, 70), (3_000_000_000, 0, 0)]
    {
        let data = counting(time_ns as u8, n_bytes);
        writer.write(Frame { link_type: LinkType::ETHERNET, time_ns, orig_len, data: &data }).expect("it fits");
    }
    writer.finish().expect("memory takes it")
}

/// Runs a capture through; gives the one that comes out and the error of its source.
fn through(bytes: &[u8]) -> (Vec<u8>, Vec<String>) {
    let design = pass();
    let format = CaptureReader::new(bytes).expect("a header").format();
    let mut writer = CaptureWriter::new(Vec::new(), format).expect("a header");
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    // The runtime borrows the design's lifetime, so what it takes must live as long.
    let kept = Rc::new(RefCell::new(Vec::new()));
    runtime
        .attach_source("nic_in", Box::new(CaptureSource::new(std::io::Cursor::new(bytes.to_vec())).expect("a header")))
        .expect("a port");
    runtime.attach_sink("nic_out", Box::new(Kept(kept.clone()))).expect("a port");
    let outcome = runtime.run(&mut Hooks::default()).expect("runs");
    for record in kept.borrow().iter() {
        let record: &Record = record;
        writer.write(record.frame()).expect("it fits");
    }
    let failures =
        outcome.source_failures.iter().map(|failure| format!("{}: {}", failure.boundary, failure.source)).collect();
    (writer.finish().expect("memory takes it"), failures)
}

struct Kept(Rc<RefCell<Vec<Record>>>);

impl PacketSink for Kept {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        let Frame { link_type, time_ns, orig_len, data } = frame;
        self.0.borrow_mut().push(Record { link_type, time_ns, orig_len, data: data.to_vec(), ..Record::default() });
        Ok(())
    }
}

#[test]
fn captures_go_through_byte_for_byte() {
    let bytes = capture();
    assert_eq!(through(&bytes), (bytes, vec![]));
}

#[test]
fn a_damaged_capture_keeps_what_came_before_and_tells_where() {
    let bytes = capture();
    let (out, failures) = through(&bytes[..bytes.len() - 20]);
    // 24 bytes of header, then 16 bytes a record and its data: the third begins at 24 + 76 + 112 = 212.
    assert_eq!(out, bytes[..212]);
    assert_eq!(failures.len(), 1);
    assert!(failures[0].starts_with("nic_in: the file is cut short"), "{failures:?}");
    assert!(failures[0].contains(" 212 "), "{failures:?}");
}

struct Full;

impl PacketSink for Full {
    fn write(&mut self, _frame: Frame<'_>) -> Result<(), IoError> {
        Err("no space left on device".into())
    }
}

#[test]
fn a_failing_sink_ends_the_run_by_name() {
    let design = pass();
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    runtime.attach_source("nic_in", Box::new(Packets(vec![at(1, &[1])].into_iter()))).expect("a port");
    runtime.attach_sink("nic_out", Box::new(Full)).expect("a port");
    let error = runtime.run(&mut Hooks::default()).expect_err("the sink is full");
    assert_eq!(error.to_string(), "nic_out: no space left on device");
}

#[test]
fn a_stop_ends_between_packets_and_accounts_for_all() {
    let design = pass();
    let stop = AtomicBool::new(false);
    let mut seen = Vec::new();
    let mut progress = |progress: Progress| {
        stop.store(true, Ordering::Relaxed);
        seen.push(progress.packets);
    };
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    let packets: Vec<_> = (0..10_000).map(|i| at(i, &[1])).collect();
    runtime.attach_source("nic_in", Box::new(Packets(packets.into_iter()))).expect("a port");
    let outcome =
        runtime.run(&mut Hooks { stop: Some(&stop), progress: Some(&mut progress), ..Hooks::default() }).expect("runs");
    let totals = runtime.report().totals;
    assert!(outcome.stopped && totals.balance());
    assert_eq!((totals.entered, totals.out + totals.held), (4096, 4096));
    assert_eq!(seen, [4096, 4096]);
}

#[test]
fn a_port_that_is_not_there_is_an_error_that_names_the_others() {
    let design = pass();
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    let error = runtime.attach_source("tor_in", Box::new(Packets(vec![].into_iter()))).expect_err("no such port");
    assert!(matches!(error, RunError::NoSuchBoundary { .. }));
    assert_eq!(error.to_string(), "the graph has no such port `tor_in`; it has nic_in");
}

#[test]
fn a_port_of_structs_takes_no_packets() {
    let text =
        "type Head { a: u8 }\nboundary host_in in Head @0:0..0\nchannel 0: host_in Head -> null Head depth 1 @0:0..0\n";
    let design = design(text);
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    let error =
        runtime.attach_source("host_in", Box::new(Packets(vec![at(1, &[1])].into_iter()))).expect_err("structs");
    assert_eq!(error.to_string(), "the graph has no port `host_in`, and no other for packets this way");
}

#[test]
fn struct_messages_leave_with_names_and_values() {
    // Each packet's first two bytes leave as a message on the second output.
    let text = "type Head { a: u8, b: u70 }\nboundary nic_in in packet @0:0..0\nboundary host_out out Head @0:0..0\nelement e: E @0:0..0 {
    input packet channel 0
    output Head channel 1
    packet window 2 grow 0 {
        %0: i32 = const 0
        %1: i8 = pkt.load %0
        %2: i32 = const 1
        %3: i8 = pkt.load %2
        %4: i70 = zext %3
        %5: i70 = not %4
        out.write Head, %2, %1, %5
        drop \"read\"
    }
}
channel 0: nic_in packet -> e[1] packet depth 4 @0:0..0
channel 1: e[1] Head -> host_out Head depth 1 @0:0..0
";
    let done = support::run(text, &[("nic_in", vec![at(5, &[1, 2]), at(6, &[3, 0])])]);
    let ones = |low| ir::Value::from_limbs(&[low, 0x3f]);
    let small = ir::Value::Small;
    assert_eq!(done.messages["host_out"], [(5, vec![small(1), ones(!2)]), (6, vec![small(3), ones(!0)])]);
    assert_eq!(done.drops(), [("read".to_string(), 2)]);
    assert_eq!((done.report.elements[0].messages_out, done.report.boundaries[1].messages), (2, 2));
}
