//! Runs designs given as IR text on packets given as bytes, and keeps everything that comes out.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ir::{Field, Value};
use packet::capture::Frame;
use runtime::report::Report;
use runtime::{
    ControlError, Filled, Hooks, IoError, MessageSink, Options, Outcome, Packet, PacketSink, PacketSource, RunError,
    Runtime, SignalCall, TraceSink,
};

/// A packet on its way in or out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    pub time_ns: u64,
    pub bytes: Vec<u8>,
    pub missing: u32,
    pub link_type: u32,
}

/// An Ethernet packet that the capture has whole.
pub fn at(time_ns: u64, bytes: &[u8]) -> Stamped {
    Stamped { time_ns, bytes: bytes.to_vec(), missing: 0, link_type: 1 }
}

/// Bytes that tell their place: `first`, `first + 1`, ….
pub fn counting(first: u8, n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|i| first.wrapping_add(i as u8)).collect()
}

/// Everything that came out of a run.
#[derive(Debug)]
pub struct Done {
    pub out: BTreeMap<String, Vec<Stamped>>,
    pub messages: BTreeMap<String, Vec<(u64, Vec<Value>)>>,
    pub traces: Vec<String>,
    pub report: Report,
    pub calls: Vec<SignalCall>,
    pub outcome: Outcome,
}

impl Done {
    pub fn out(&self, port: &str) -> &[Stamped] {
        self.out.get(port).map_or(&[], Vec::as_slice)
    }

    pub fn times(&self, port: &str) -> Vec<u64> {
        self.out(port).iter().map(|packet| packet.time_ns).collect()
    }

    /// Drop reasons and counts of all tables.
    pub fn drops(&self) -> Vec<(String, u64)> {
        let report = &self.report;
        let boundaries = report.boundaries.iter().flat_map(|port| &port.drops);
        let channels = report.channels.iter().flat_map(|channel| &channel.drops);
        let elements = report.elements.iter().flat_map(|element| &element.drops);
        boundaries.chain(channels).chain(elements).map(|drop| (drop.reason.clone(), drop.packets)).collect()
    }
}

/// A design with its name and file lines in front.
pub fn design(text: &str) -> ir::Design {
    let text = format!("design \"test\"\nfile \"test.clnp\"\n{text}");
    let design = ir::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir::verify(&design).unwrap_or_else(|errors| panic!("{errors:?}"));
    design
}

pub fn run(text: &str, inputs: &[(&str, Vec<Stamped>)]) -> Done {
    try_run(&design(text), inputs, Options::default(), "")
        .expect("the run ends well")
        .expect("the control file is good")
}

pub fn run_with_control(text: &str, inputs: &[(&str, Vec<Stamped>)], control: &str) -> Done {
    try_run(&design(text), inputs, Options::default(), control)
        .expect("the run ends well")
        .expect("the control file is good")
}

pub fn try_run(
    design: &ir::Design,
    inputs: &[(&str, Vec<Stamped>)],
    options: Options,
    control: &str,
) -> Result<Result<Done, Vec<ControlError>>, RunError> {
    let out = Rc::new(RefCell::new(BTreeMap::new()));
    let messages = Rc::new(RefCell::new(BTreeMap::new()));
    let traces = Rc::new(RefCell::new(Vec::new()));
    let verified = ir::verify(design).expect("the design verifies");
    let mut runtime = Runtime::new(verified, options)?;
    for (port, packets) in inputs {
        runtime.attach_source(port, Box::new(Packets(packets.clone().into_iter())))?;
    }
    for boundary in &design.boundaries {
        if boundary.direction == ir::BoundaryDirection::Out {
            let name = boundary.name.clone();
            runtime.attach_sink(&boundary.name, Box::new(Kept { name: name.clone(), out: out.clone() }))?;
            runtime.attach_message_sink(&boundary.name, Box::new(KeptMessages { name, messages: messages.clone() }))?;
        }
    }
    runtime.attach_trace(Box::new(KeptTraces(traces.clone())));
    if let Err(errors) = runtime.load_control(control.to_string()) {
        return Ok(Err(errors));
    }
    let outcome = runtime.run(&mut Hooks::default())?;
    let report = runtime.report();
    assert!(report.totals.balance(), "packets unaccounted for: {:?}", report.totals);
    let calls = runtime.signal_calls().to_vec();
    drop(runtime);
    Ok(Ok(Done { out: out.take(), messages: messages.take(), traces: traces.take(), report, calls, outcome }))
}

/// Packets from memory.
pub struct Packets(pub std::vec::IntoIter<Stamped>);

impl PacketSource for Packets {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let Some(next) = self.0.next() else { return Ok(Filled::End) };
        let packet = &mut packets[0];
        packet.set_bytes(&next.bytes);
        (packet.time_ns, packet.missing, packet.link_type) = (next.time_ns, next.missing, next.link_type);
        Ok(Filled::Packets(1))
    }
}

type ByPort<T> = Rc<RefCell<BTreeMap<String, Vec<T>>>>;

struct Kept {
    name: String,
    out: ByPort<Stamped>,
}

impl PacketSink for Kept {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        let missing = frame.orig_len.saturating_sub(frame.data.len() as u32);
        let packet =
            Stamped { time_ns: frame.time_ns, bytes: frame.data.to_vec(), missing, link_type: frame.link_type.0 };
        self.out.borrow_mut().entry(self.name.clone()).or_default().push(packet);
        Ok(())
    }
}

struct KeptMessages {
    name: String,
    messages: ByPort<(u64, Vec<Value>)>,
}

impl MessageSink for KeptMessages {
    fn write(&mut self, time_ns: u64, _fields: &[Field], values: &[Value]) -> Result<(), IoError> {
        self.messages.borrow_mut().entry(self.name.clone()).or_default().push((time_ns, values.to_vec()));
        Ok(())
    }
}

struct KeptTraces(Rc<RefCell<Vec<String>>>);

impl TraceSink for KeptTraces {
    fn trace(&mut self, time_ns: u64, element: &str, text: &str) {
        self.0.borrow_mut().push(format!("{time_ns} {element}: {text}"));
    }
}

/// A flit element that passes what comes, one flit a firing.
pub fn flit_pass(name: &str, input: u32, output: u32) -> String {
    format!(
        "element {name}: Pass @0:0..0 {{
    input flit_t channel {input}
    output flit_t channel {output}
    handler {{
        %0: i32 = const 1
        %1: i1 = in.ready %0
        if %1 {{
            %2: i256, %3: i1, %4: i1, %5: i1, %6: i1, %7: i1, %8: i8, %9: i16, %10: i128 = in.read flit_t, %0
            out.write flit_t, %0, %2, %3, %4, %5, %6, %7, %8, %9, %10
        }}
        yield %0
    }}
}}
"
    )
}

/// A packet element that passes what comes.
pub fn packet_pass(name: &str, input: u32, output: u32) -> String {
    packet_element(name, &[input], &[output], "window 0 grow 0", "%0: i32 = const 1\n emit %0", "")
}

/// A packet element with the given options and head; `more` holds further sections.
pub fn packet_element(name: &str, inputs: &[u32], outputs: &[u32], options: &str, head: &str, more: &str) -> String {
    let inputs: String = inputs.iter().map(|channel| format!("    input packet channel {channel}\n")).collect();
    let outputs: String = outputs.iter().map(|channel| format!("    output packet channel {channel}\n")).collect();
    format!(
        "element {name}: P control @0:0..0 {{\n{inputs}{outputs}    packet {options} {{\n{head}\n    }}\n{more}}}\n"
    )
}
