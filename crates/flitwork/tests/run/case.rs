//! One case of `tests/run`: what it reads, and its outcome as text.
//!
//! The text has one line a packet (`PORT @TIME_NS [len=N] HEX`) or message (`PORT @TIME_NS field=value …`), port by port in the
//! design's order, then `signal LINE INSTANCE.SIGNAL name=value …`, `drop PLACE "REASON" N`, and `totals …`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use flitwork::compile::compile;
use flitwork::loader::FileLoader;
use flitwork::run::output::json_value;
use flitwork::run::{RunEnd, RunOutcome, RunPlan, run};
use ir::{BoundaryDirection, Design, Field, MessageKind, Value};
use packet::capture::{CaptureReader, Frame, Record};
use runtime::{Engine, IoError, MessageSink, Options, PacketSink};

use crate::packets::{TextPacket, TextSource, hex, parse};

/// Makes of a compiled design what an engine is given.
type Prepare = fn(Design) -> Design;

/// Every way in which a design is run; all must agree.
const ENGINES: [(&str, Prepare, Engine); 4] = [
    ("interp", |design| design, Engine::Interp),
    ("interp after the optimiser", opt::pipeline::run, Engine::Interp),
    ("jit", |design| design, Engine::Jit),
    ("jit after the optimiser", opt::pipeline::run, Engine::Jit),
];

/// The cases of a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("readable").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|extension| extension == "clnp"));
    let mut names: Vec<String> =
        sources.map(|path| path.file_stem().expect("has one").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Each way to run a design: the engine's name, what it is given, and how; with native twins and without, if there are any.
fn ways(design: &Design) -> Vec<(String, Prepare, Options)> {
    let has_twins = design.elements.iter().any(|element| element.native.is_some());
    let with =
        ENGINES.map(|(name, prepare, engine)| (name.to_string(), prepare, Options { engine, ..Options::default() }));
    let without =
        ENGINES.iter().filter(|(_, _, engine)| has_twins && *engine == Engine::Jit).map(|&(name, prepare, engine)| {
            (format!("{name} without twins"), prepare, Options { engine, twins: false, ..Options::default() })
        });
    with.into_iter().chain(without).collect()
}

/// Runs a case on every engine and compares with its expected file; the error tells the first difference.
pub fn check(folder: &Path, name: &str) -> Result<(), String> {
    let source = folder.join(format!("{name}.clnp"));
    let compiled = compile(&source.to_string_lossy(), &FileLoader::new(&[folder.join("../../elements")]));
    let Some(design) = compiled.design else {
        let render = |diagnostic| diag::render(diagnostic, &compiled.sources, diag::RenderStyle::Plain);
        return Err(compiled.diagnostics.iter().map(render).collect::<String>() + "no design");
    };
    let expected_path = folder.join(format!("{name}.expected"));
    let control = fs::read_to_string(folder.join(format!("{name}.control"))).ok();
    let packets = packets(folder, name, &design);
    for (engine, prepare, options) in ways(&design) {
        let actual = execute(&prepare(design.clone()), options, packets.clone(), control.clone())?;
        if std::env::var_os("BLESS").is_some() && engine == ENGINES[0].0 {
            fs::write(&expected_path, &actual).expect("writable");
        }
        let expected =
            fs::read_to_string(&expected_path).map_err(|error| format!("{}: {error}", expected_path.display()))?;
        if actual != expected {
            return Err(format!("on {engine}: {}", first_difference(&expected, &actual)));
        }
    }
    Ok(())
}

/// The first line that differs, with its number.
pub fn first_difference(expected: &str, actual: &str) -> String {
    let (mut old, mut new) = (expected.lines(), actual.lines());
    let mut number = 1;
    loop {
        match (old.next(), new.next()) {
            (None, None) => return "only the ends of lines differ".to_string(),
            (old, new) if old == new => number += 1,
            (old, new) => {
                let shown = |line: Option<&str>| line.unwrap_or("(nothing)").to_string();
                return format!("line {number}\n  expected {}\n  actual   {}", shown(old), shown(new));
            }
        }
    }
}

/// The packets of a case by input port.
fn packets(folder: &Path, name: &str, design: &Design) -> BTreeMap<String, Vec<TextPacket>> {
    let inputs: Vec<&str> = design
        .boundaries
        .iter()
        .filter(|boundary| boundary.direction == BoundaryDirection::In)
        .map(|boundary| boundary.name.as_str())
        .collect();
    let first = inputs.iter().find(|port| **port == "nic_in").or(inputs.first());
    let mut by_port: BTreeMap<String, Vec<TextPacket>> = BTreeMap::new();
    if let Ok(text) = fs::read_to_string(folder.join(format!("{name}.in.txt"))) {
        for packet in parse(&text) {
            let port = packet.port.clone().or(first.map(|port| port.to_string())).expect("the graph has an input");
            by_port.entry(port).or_default().push(packet);
        }
    }
    for port in &inputs {
        let own = folder.join(format!("{name}.in.{port}.pcap"));
        let shared = folder.join(format!("{name}.in.pcap"));
        let path = if own.exists() { own } else { shared };
        if path.exists() && (first == Some(port) || path.to_string_lossy().contains(&format!(".{port}."))) {
            by_port.entry(port.to_string()).or_default().extend(capture_packets(&path));
        }
    }
    by_port
}

fn capture_packets(path: &Path) -> Vec<TextPacket> {
    let mut reader = CaptureReader::new(fs::File::open(path).expect("it is there")).expect("a capture");
    let mut record = Record::default();
    let mut packets = Vec::new();
    while reader.next_into(&mut record).expect("a sound capture") {
        packets.push(TextPacket {
            port: None,
            time_ns: record.time_ns,
            wire_bytes: record.orig_len as usize,
            bytes: record.data.clone(),
        });
    }
    packets
}

/// Lines by output port.
type Lines = Rc<RefCell<BTreeMap<String, Vec<String>>>>;

struct LineSink {
    port: String,
    lines: Lines,
}

impl LineSink {
    fn add(&self, line: String) {
        self.lines.borrow_mut().entry(self.port.clone()).or_default().push(format!("{} {line}", self.port));
    }
}

impl PacketSink for LineSink {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        let is_cut = frame.orig_len as usize != frame.data.len();
        let length = if is_cut { format!("len={} ", frame.orig_len) } else { String::new() };
        self.add(format!("@{} {length}{}", frame.time_ns, hex(frame.data)));
        Ok(())
    }
}

impl MessageSink for LineSink {
    fn write(&mut self, time_ns: u64, fields: &[Field], values: &[Value]) -> Result<(), IoError> {
        let values =
            fields.iter().zip(values).map(|(field, value)| format!(" {}={}", field.name, json_value(field, value)));
        self.add(format!("@{time_ns}{}", values.collect::<String>()));
        Ok(())
    }
}

fn execute(
    design: &Design,
    options: Options,
    packets: BTreeMap<String, Vec<TextPacket>>,
    control: Option<String>,
) -> Result<String, String> {
    let lines = Lines::default();
    let mut plan = RunPlan { control, options, ..RunPlan::default() };
    for (port, packets) in packets {
        plan.sources.push((port, Box::new(TextSource { packets: packets.into() })));
    }
    let outputs = design.boundaries.iter().filter(|boundary| boundary.direction == BoundaryDirection::Out);
    for boundary in outputs {
        let port = boundary.name.clone();
        let sink = LineSink { port: port.clone(), lines: Rc::clone(&lines) };
        match design.message_types[boundary.message.index()].kind {
            MessageKind::Struct => plan.message_sinks.push((port, Box::new(sink))),
            MessageKind::Flit | MessageKind::Packet => plan.sinks.push((port, Box::new(sink))),
        }
    }
    let outcome = run(design, plan).map_err(|failure| failure.to_string())?;
    let mut text = String::new();
    for boundary in &design.boundaries {
        for line in lines.borrow().get(&boundary.name).into_iter().flatten() {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text + &summary(&outcome))
}

fn summary(outcome: &RunOutcome) -> String {
    let report = &outcome.report;
    let mut text = String::new();
    for call in &outcome.signals {
        let results: String = call.results.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        text.push_str(&format!("signal {} {}{results}\n", call.line, call.call));
    }
    let elements = report.elements.iter().map(|element| (element.name.clone(), &element.drops));
    let channels =
        report.channels.iter().map(|channel| (format!("{} => {}", channel.from, channel.to), &channel.drops));
    let boundaries = report.boundaries.iter().map(|boundary| (boundary.name.clone(), &boundary.drops));
    for (place, drops) in boundaries.chain(elements).chain(channels) {
        for drop in drops.iter() {
            text.push_str(&format!("drop {place} {:?} {}\n", drop.reason, drop.packets));
        }
    }
    let totals = &report.totals;
    let balance = if totals.balance() { "" } else { " UNBALANCED" };
    text.push_str(&format!(
        "totals in={} created={} out={} dropped={} ended={} held={}{balance}\n",
        totals.entered, totals.created, totals.out, totals.dropped, totals.ended, totals.held
    ));
    match &outcome.end {
        RunEnd::Finished => {}
        RunEnd::Interrupted => text.push_str("interrupted\n"),
        RunEnd::Stopped(error) => text.push_str(&format!("stopped: {error}\n")),
    }
    text
}
