//! One case on one engine as text, and on all of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use ir::{BoundaryDirection, Design, Field, MessageKind, Value, Verified};
use packet::capture::Frame;
use runtime::io::Filled;
use runtime::{
    Bounds, Engine, Hooks, IoError, MessageSink, Options, Packet, PacketSink, PacketSource, RunError, Runtime,
    TraceSink,
};

use crate::case::{Arrival, Case};
use crate::chains::both_ways;

/// Firings in an instant that no graph without a way back needs for so few packets.
const FIRINGS_MAX: u64 = 2_000;
/// How long elements without packets are waited for.
const LINGER_NS: u64 = 20_000;
/// Characters from which on a run ends: some designs make packets without end.
const OUTPUT_CHARS_MAX: usize = 2_000_000;

/// Two engines that do not do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The engine that is believed.
    pub judge: &'static str,
    /// The other one.
    pub engine: &'static str,
    /// The first line that differs, of both.
    pub text: String,
}

/// How a case is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    name: &'static str,
    engine: Engine,
    traced: bool,
    /// Elements in a row run as one, as far as they can.
    chained: bool,
}

const JUDGE: Variant = Variant { name: "interp", engine: Engine::Interp, traced: false, chained: false };
const JUDGE_TRACED: Variant =
    Variant { name: "interp with traces", engine: Engine::Interp, traced: true, chained: false };
const NATIVE: Variant = Variant { name: "jit", engine: Engine::Jit, traced: false, chained: false };
const CHAINED: Variant = Variant { name: "jit with a chain in the runtime", chained: true, ..NATIVE };
const NATIVE_TRACED: Variant = Variant { name: "jit with traces", engine: Engine::Jit, traced: true, chained: false };

/// Runs a case on every engine; gives the first that differs from its judge.
///
/// Code that was optimised is judged by the interpreter on the same code. It need not end for the same reason as the code before:
/// an access out of range or a loop may be gone with its result; otherwise it does the same.
pub fn difference(case: &Case) -> Option<Difference> {
    let plain = run(&case.design, case, JUDGE);
    judge(JUDGE, &plain, NATIVE, &run(&case.design, case, NATIVE))
        .or_else(|| chained(&case.design, case, JUDGE, &plain))
        .or_else(|| {
            let traced = run(&case.design, case, JUDGE_TRACED);
            judge(JUDGE_TRACED, &traced, NATIVE_TRACED, &run(&case.design, case, NATIVE_TRACED))
        })
        .or_else(|| {
            let optimised = match catch_unwind(AssertUnwindSafe(|| opt::pipeline::run(case.design.clone()))) {
                Ok(optimised) => optimised,
                Err(panic) => return Some(panicked("the optimiser", &*panic)),
            };
            let after = run(&optimised, case, JUDGE);
            let ends_alike = case.settings.bounds == Bounds::Lenient && !plain.contains("\nended: ");
            let optimiser = Variant { name: "interp after the optimiser", ..JUDGE };
            let of_optimiser = if ends_alike {
                judge(JUDGE, &without_firings(&plain), optimiser, &without_firings(&after))
            } else {
                None
            };
            let native = Variant { name: "jit after the optimiser", ..NATIVE };
            of_optimiser
                .or_else(|| judge(optimiser, &after, native, &run(&optimised, case, native)))
                .or_else(|| chained(&optimised, case, optimiser, &after))
                .or_else(|| of_chain(&case.design, case))
                .or_else(|| of_chain(&optimised, case))
        })
}

/// How a run with a chain differs from its judge. The chain is optimised, so it need not end for the same reason.
fn chained(design: &Design, case: &Case, variant: Variant, expected: &str) -> Option<Difference> {
    if case.settings.bounds == Bounds::Strict || expected.contains("\nended: ") {
        return None;
    }
    judge(variant, expected, CHAINED, &run(design, case, CHAINED))
}

/// How the chain of a design differs from its elements one by one, if it has one.
fn of_chain(design: &Design, case: &Case) -> Option<Difference> {
    const CHAIN: &str = "jit with a chain";
    match catch_unwind(AssertUnwindSafe(|| both_ways(design, case))) {
        Ok(texts) => {
            let text = texts.and_then(|(expected, found)| first_difference(&expected, &found))?;
            Some(Difference { judge: JUDGE.name, engine: CHAIN, text })
        }
        Err(panic) => Some(panicked(CHAIN, &*panic)),
    }
}

/// What the reference interpreter makes of a case, as text.
pub fn outcome(case: &Case) -> String {
    run(&case.design, case, JUDGE)
}

/// An element that asks for what became of its writes fires once more to see it; the optimiser may find that it does not care.
fn without_firings(text: &str) -> String {
    text.lines().filter(|line| !line.contains("\"firings\": ")).map(|line| format!("{line}\n")).collect()
}

fn judge(judge: Variant, expected: &str, engine: Variant, found: &str) -> Option<Difference> {
    let text = first_difference(expected, found)?;
    Some(Difference { judge: judge.name, engine: engine.name, text })
}

fn panicked(engine: &'static str, panic: &(dyn std::any::Any + Send)) -> Difference {
    Difference { judge: JUDGE.name, engine, text: format!("panic: {}", panic_text(panic)) }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
}

fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (mut old, mut new) = (expected.lines(), found.lines());
    loop {
        let (old, new) = (old.next(), new.next());
        if old != new || old.is_none() {
            let shown = |line: Option<&str>| line.unwrap_or("(nothing)").to_string();
            return Some(format!("expected {}\n   found {}", shown(old), shown(new)));
        }
    }
}

fn run(design: &Design, case: &Case, variant: Variant) -> String {
    let ran = catch_unwind(AssertUnwindSafe(|| match ir::verify(design) {
        Ok(verified) => observe(verified, case, variant),
        Err(errors) => format!("{}\n", errors[0]),
    }));
    ran.unwrap_or_else(|panic| format!("panic: {}\n", panic_text(&*panic)))
}

/// All that can be seen of a run, as text: outputs in the order of the design, signals, report, state, and its end.
fn observe(verified: Verified<'_>, case: &Case, variant: Variant) -> String {
    let options = Options {
        engine: variant.engine,
        bounds: case.settings.bounds,
        loop_rounds_max: case.settings.loop_rounds_max,
        firings_per_instant_max: FIRINGS_MAX,
        linger_ns: LINGER_NS,
        duration_ns: Some(LINGER_NS),
        ..Options::default()
    };
    let lines = Lines::default();
    let mut runtime = match Runtime::new(verified, options) {
        Ok(runtime) => runtime,
        Err(error) => return format!("\nended: {error}\n"),
    };
    if variant.chained
        && let Some(chain) = opt::fuse::run(verified.design())
        && let Err(error) = runtime.use_chain(&opt::pipeline::run_chain(verified.design(), chain))
    {
        return format!("\nended: {error}\n");
    }
    let mut text = String::new();
    let outcome = attach(&mut runtime, verified, case, variant, &lines).and_then(|()| {
        if let Err(errors) = runtime.load_control(case.control.join("\n")) {
            let _ = writeln!(text, "control: {errors:?}");
        }
        runtime.run(&mut Hooks::default())
    });
    for (port, lines) in &lines.borrow().ports {
        lines.iter().for_each(|line| {
            let _ = writeln!(text, "{port} {line}");
        });
    }
    for call in runtime.signal_calls() {
        let _ = writeln!(text, "{call:?}");
    }
    for element in &verified.elements {
        for (name, words) in runtime.state(&element.name).into_iter().flatten() {
            let words: Vec<String> = words.iter().map(Value::to_string).collect();
            let _ = writeln!(text, "{}.{name} = {}", element.name, words.join(" "));
        }
    }
    let report = serde_json::to_string_pretty(&runtime.report());
    let _ = writeln!(text, "{}", report.unwrap_or_else(|error| error.to_string()));
    let _ = match outcome {
        Ok(outcome) => writeln!(text, "blocked: {:?}", outcome.blocked_inputs),
        Err(error) => writeln!(text, "\nended: {error}"),
    };
    text
}

fn attach<'d>(
    runtime: &mut Runtime<'d>,
    verified: Verified<'d>,
    case: &Case,
    variant: Variant,
    lines: &Lines,
) -> Result<(), RunError> {
    for boundary in &verified.design().boundaries {
        let (name, lines) = (boundary.name.clone(), Rc::clone(lines));
        let is_struct = verified.message_types[boundary.message.index()].kind == MessageKind::Struct;
        match boundary.direction {
            BoundaryDirection::In => {
                let arrivals = case.arrivals.iter().filter(|arrival| arrival.port == name).cloned().collect();
                runtime.attach_source(&name, Box::new(Source { arrivals }))?;
            }
            BoundaryDirection::Out if is_struct => {
                runtime.attach_message_sink(&boundary.name, Box::new(Sink { name, lines }))?;
            }
            BoundaryDirection::Out => runtime.attach_sink(&boundary.name, Box::new(Sink { name, lines }))?,
        }
    }
    if variant.traced {
        runtime.attach_trace(Box::new(Sink { name: "trace".to_string(), lines: Rc::clone(lines) }));
    }
    Ok(())
}

struct Source {
    arrivals: VecDeque<Arrival>,
}

impl PacketSource for Source {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let n_packets = packets.len().min(self.arrivals.len());
        for (packet, arrival) in packets.iter_mut().zip(self.arrivals.drain(..n_packets)) {
            packet.set_bytes(&arrival.bytes);
            (packet.missing, packet.time_ns) = (arrival.missing, arrival.time_ns);
            packet.link_type = arrival.link_type;
        }
        Ok(if n_packets == 0 { Filled::End } else { Filled::Packets(n_packets) })
    }
}

/// Lines by output port.
type Lines = Rc<RefCell<Output>>;

#[derive(Default)]
struct Output {
    ports: BTreeMap<String, Vec<String>>,
    n_chars: usize,
}

struct Sink {
    name: String,
    lines: Lines,
}

impl Sink {
    fn add(&self, line: String) -> Result<(), IoError> {
        let output = &mut *self.lines.borrow_mut();
        output.n_chars += line.len();
        output.ports.entry(self.name.clone()).or_default().push(line);
        if output.n_chars > OUTPUT_CHARS_MAX { Err("more than anybody reads".into()) } else { Ok(()) }
    }
}

impl PacketSink for Sink {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        self.add(format!("@{} len={} link={} {:02x?}", frame.time_ns, frame.orig_len, frame.link_type.0, frame.data))
    }
}

impl MessageSink for Sink {
    fn write(&mut self, time_ns: u64, fields: &[Field], values: &[Value]) -> Result<(), IoError> {
        let fields = fields.iter().zip(values).map(|(field, value)| format!(" {}={value}", field.name));
        self.add(format!("@{time_ns}{}", fields.collect::<String>()))
    }
}

impl TraceSink for Sink {
    fn trace(&mut self, time_ns: u64, element: &str, text: &str) {
        // Traces cannot end a run.
        let _ = self.add(format!("@{time_ns} {element}: {text}"));
    }
}
