//! A run of a design: sources in, sinks filled, everything counted.
//!
//! ```no_run
//! use flitwork::compile::compile;
//! use flitwork::loader::FileLoader;
//! use flitwork::run::{RunPlan, run};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let compiled = compile("app.clnp", &FileLoader::default());
//! let design = compiled.design.ok_or("the application has errors or no graph")?;
//! let capture = runtime::CaptureSource::new(std::fs::File::open("in.pcap")?)?;
//! let plan = RunPlan { sources: vec![("nic_in".to_string(), Box::new(capture))], ..RunPlan::default() };
//! let outcome = run(&design, plan)?;
//! println!("{:?}", outcome.report.totals);
//! # Ok(()) }
//! ```

pub mod input;
pub mod output;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ir::{Design, Field, VerifyError};
use runtime::report::Direction;
use runtime::{
    Between, ControlError, Engine, Hooks, MessageSink, Options, PacketSink, PacketSource, Progress, Report, RunError,
    Runtime, SourceFailure, TraceSink,
};
use serde::Serialize;

/// What to run a design on. Ports that are not named stay silent (inputs) or are only counted (outputs).
#[derive(Default)]
pub struct RunPlan<'p> {
    /// Engine, bounds and limits.
    pub options: Options,
    /// Text of a control file.
    pub control: Option<String>,
    /// Packets by input port.
    pub sources: Vec<(String, Box<dyn PacketSource + 'p>)>,
    /// Takers of packets by output port.
    pub sinks: Vec<(String, Box<dyn PacketSink + 'p>)>,
    /// Takers of struct messages by output port.
    pub message_sinks: Vec<(String, Box<dyn MessageSink + 'p>)>,
    /// Taker of `trace` lines.
    pub trace: Option<Box<dyn TraceSink + 'p>>,
    /// Ends the run cleanly when it becomes true.
    pub stop: Option<&'p AtomicBool>,
    /// Told now and then how far the run is.
    pub progress: Option<&'p mut dyn FnMut(Progress)>,
    /// Waits for packets of live sources, see [`Hooks::wait`].
    pub wait: Option<&'p mut dyn FnMut(Option<u64>)>,
    /// Called between batches of packets, see [`Hooks::between`].
    pub between: Option<&'p mut Between<'p>>,
}

/// What a run did.
#[derive(Debug)]
pub struct RunOutcome {
    /// Everything counted.
    pub report: Report,
    /// The calls of the control file with their results.
    pub signals: Vec<SignalCall>,
    /// How fast it was.
    pub throughput: Throughput,
    /// How it ended.
    pub end: RunEnd,
    /// Sources that could not be read to their end; what was read before has run.
    pub source_failures: Vec<SourceFailure>,
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// Nothing was left to do.
    Finished,
    /// [`RunPlan::stop`] became true.
    Interrupted,
    /// It could not go on.
    Stopped(RunError),
}

/// Speed in terms of what entered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Wall-clock time of the run, without compilation.
    pub seconds: f64,
    /// Packets that entered, by second.
    pub packets_per_second: f64,
    /// Bits on the wire that entered, by second.
    pub bits_per_second: f64,
}

/// A signal that was called from a control file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignalCall {
    /// Line of the control file, from 1.
    pub line: u32,
    /// Current time at the call.
    pub time_ns: u64,
    /// `instance.signal`.
    pub call: String,
    /// Results by name, in order.
    #[serde(serialize_with = "as_object")]
    pub results: Vec<(String, serde_json::Value)>,
}

/// Why a run could not begin.
#[derive(Debug)]
pub enum RunFailure {
    /// Bad lines of the control file; nothing of it was applied.
    Control(Vec<ControlError>),
    /// The plan names a port that is not there, or an element cannot run.
    Plan(RunError),
    /// The design breaks a rule of the intermediate representation: a fault of the compiler's.
    Unverified(Vec<VerifyError>),
}

impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunFailure::Control(errors) => {
                let lines: Vec<String> = errors.iter().map(ControlError::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            RunFailure::Plan(error) => error.fmt(f),
            RunFailure::Unverified(errors) => {
                let first = errors.first().map_or(String::new(), VerifyError::to_string);
                write!(f, "the compiler made a faulty design ({first}); please report this with the source file")
            }
        }
    }
}

impl std::error::Error for RunFailure {}

/// Runs a design to its end, or until it is stopped.
pub fn run(design: &Design, plan: RunPlan<'_>) -> Result<RunOutcome, RunFailure> {
    let verified = ir::verify(design).map_err(RunFailure::Unverified)?;
    let mut runtime = Runtime::new(verified, plan.options).map_err(RunFailure::Plan)?;
    if plan.options.engine == Engine::Jit
        && let Some(chain) = opt::fuse::run(design)
    {
        runtime.use_chain(&opt::pipeline::run_chain(design, chain)).map_err(RunFailure::Plan)?;
    }
    for (port, source) in plan.sources {
        runtime.attach_source(&port, source).map_err(RunFailure::Plan)?;
    }
    for (port, sink) in plan.sinks {
        runtime.attach_sink(&port, sink).map_err(RunFailure::Plan)?;
    }
    for (port, sink) in plan.message_sinks {
        runtime.attach_message_sink(&port, sink).map_err(RunFailure::Plan)?;
    }
    if let Some(trace) = plan.trace {
        runtime.attach_trace(trace);
    }
    if let Some(control) = plan.control {
        runtime.load_control(control).map_err(RunFailure::Control)?;
    }
    let start = Instant::now();
    let mut hooks = Hooks { stop: plan.stop, progress: plan.progress, wait: plan.wait, between: plan.between };
    let outcome = runtime.run(&mut hooks);
    let seconds = start.elapsed().as_secs_f64();
    // A source that sees the flag first ends like a file, and the run ends with it.
    let is_interrupted = plan.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let (end, source_failures) = match outcome {
        Ok(outcome) if outcome.stopped || is_interrupted => (RunEnd::Interrupted, outcome.source_failures),
        Ok(outcome) => (RunEnd::Finished, outcome.source_failures),
        Err(error) => (RunEnd::Stopped(error), Vec::new()),
    };
    let report = runtime.report();
    let signals = runtime.signal_calls().iter().map(|call| signal_call(design, call)).collect();
    let throughput = throughput(&report, seconds);
    Ok(RunOutcome { report, signals, throughput, end, source_failures })
}

fn throughput(report: &Report, seconds: f64) -> Throughput {
    let entered = report.boundaries.iter().filter(|boundary| boundary.direction == Direction::In);
    let n_bytes: u64 = entered.map(|boundary| boundary.wire_bytes).sum();
    // A run without packets may take no measurable time.
    let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    Throughput {
        seconds,
        packets_per_second: rate(report.totals.entered as f64),
        bits_per_second: rate(n_bytes as f64 * 8.0),
    }
}

/// A call with its results as the signal's declaration shows them: signed, one bit as a truth value.
pub fn signal_call(design: &Design, call: &runtime::SignalCall) -> SignalCall {
    let element = design.elements.iter().find(|element| element.name == call.instance);
    let signal = element.and_then(|element| element.signals.iter().find(|signal| signal.name == call.signal));
    let fields: &[Field] = signal.map_or(&[], |signal| &signal.results);
    let results = call.results.iter().zip(fields);
    SignalCall {
        line: call.line,
        time_ns: call.time_ns,
        call: format!("{}.{}", call.instance, call.signal),
        results: results.map(|((name, value), field)| (name.clone(), output::json_value(field, value))).collect(),
    }
}

fn as_object<S: serde::Serializer>(results: &[(String, serde_json::Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(results.iter().map(|(name, value)| (name, value)))
}
