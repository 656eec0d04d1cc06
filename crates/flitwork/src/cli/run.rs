//! `flitwork run`: an application on captures or live interfaces.
//!
//! Opens everything before anything runs, so that a misspelt path costs no time; then runs; then gives the files their names.

use std::path::{Path, PathBuf};

use ir::{BoundaryDirection, Design, MessageKind};
use packet::capture::Format;
use runtime::{Bounds, Clock, Controls, Options, PacketSink, RunError, TraceSink};
use serde::Serialize;

use super::args::{Engine, PortFile, RunArgs};
use super::check::{CheckReport, show_diagnostics};
use super::dump::no_graph;
use super::exit::{Exit, Failure};
use super::live::Live;
use super::progress::Progress;
use super::terminal::{error_style, output_style, say, say_aside, say_json, warning};
use super::{inputs, interrupt, live, ports, report, terminal};
use crate::FileError;
use crate::app::App;
use crate::compile::{Compiled, compile};
use crate::live::interfaces::Interfaces;
use crate::loader::FileLoader;
use crate::output::is_stdout;
use crate::run::output::{CaptureOutput, Lifetime, MessageOutput, OutputKind, PortOutput};
use crate::run::{RunEnd, RunFailure, RunOutcome, RunPlan, SignalCall, Throughput, run as run_design};

/// Runs an application and reports on it.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if writes_stdout(args) && args.json {
        return Err(Failure::usage("--json and --out PORT=- both want standard output; name a file for one of them"));
    }
    let outcome = compile_and_run(args);
    if let (Err(failure), true) = (&outcome, args.json) {
        // One object in any case; the message goes to standard error as well.
        say_json(&FailureReport { errors: [ErrorEntry { kind: "failure", message: failure.message.clone() }] })?;
    }
    outcome
}

/// Whether packets or messages go where the report would go.
fn writes_stdout(args: &RunArgs) -> bool {
    args.outputs.iter().any(|output| is_stdout(&output.file))
}

#[derive(Serialize)]
struct FailureReport {
    errors: [ErrorEntry; 1],
}

fn compile_and_run(args: &RunArgs) -> Result<Exit, Failure> {
    let app = App::find(&args.app)?;
    let compiled = compile(&app.source_name(), &FileLoader::new(&args.library.dirs));
    if let Err(exit) = show_diagnostics(&compiled) {
        if args.json {
            say_json(&CheckReport::of(&compiled))?;
        }
        return Ok(exit);
    }
    let Some(design) = compiled.design.clone() else {
        return Err(Failure { message: no_graph(&app), exit: Exit::Source });
    };
    let design = opt::pipeline::run(design);
    let control_path = args.control.clone().or_else(|| app.control());
    let control = control_path.as_deref().map(read_control).transpose()?;
    let input_files = ports::inputs(&design, &app, &args.inputs)?;
    let stop = interrupt::flag()?;
    let live = Live::of(args, &input_files);
    let mut interfaces = Interfaces::default();
    let (sources, format) = inputs::open(&input_files, &mut interfaces, &live, &stop)?;
    let sinks = live::open_sinks(&design, args, &mut interfaces)?;
    let mut outputs = interrupt::at_once_during(|| open_outputs(&design, args, format, live.lifetime()))?;

    let watch = live.watch(args, &design, &interfaces, &stop)?;
    let progress = Progress::start(input_files.iter().map(|input| input.endpoint.file()));
    let mut on_progress = |state| progress.show(state);
    let mut between = |controls: &mut dyn Controls| watch.between(controls);
    let mut wait = |until_ns| watch.wait(until_ns);
    let mut plan = RunPlan { options: options(args, &live), control, stop: Some(&stop), sources, ..RunPlan::default() };
    plan.sinks.extend(sinks.into_iter().map(|(port, sink)| (port, sink as Box<dyn PacketSink>)));
    for (port, output) in &mut outputs {
        if let Some(temporary) = output.temporary() {
            live.announce(port, temporary);
        }
        match output {
            PortOutput::Packets(output) => plan.sinks.push((port.clone(), Box::new(output))),
            PortOutput::Messages(output) => plan.message_sinks.push((port.clone(), Box::new(output))),
        }
    }
    plan.trace = Some(Box::new(TraceToStderr));
    plan.progress = Some(&mut on_progress);
    if watch.is_needed() {
        plan.between = Some(&mut between);
    }
    plan.wait = Some(&mut wait);
    let outcome = run_design(&design, plan);
    progress.end();
    watch.end();
    let mut outcome = outcome.map_err(|failure| refusal(&failure, control_path.as_deref()))?;
    interfaces.add_losses(&mut outcome.report);
    if watch.ended_as_asked() && matches!(outcome.end, RunEnd::Interrupted) {
        outcome.end = RunEnd::Finished;
    }
    drop(watch);

    let is_writable = live.is_live || !matches!(outcome.end, RunEnd::Stopped(RunError::Sink { .. }));
    // A file that cannot be finished does not take the others with it.
    let finished = outputs.into_iter().filter(|_| is_writable).map(|(_, output)| output.finish());
    let unwritten = finished.filter_map(|finished| Some(finished.err()?.to_string())).collect();
    tell(args, &design, &compiled, &outcome, (input_files, unwritten))
}

/// Shows the report and every error; decides the exit code.
fn tell(
    args: &RunArgs,
    design: &Design,
    compiled: &Compiled,
    outcome: &RunOutcome,
    (input_files, unwritten): (Vec<PortFile>, Vec<String>),
) -> Result<Exit, Failure> {
    let (mut errors, mut exit) = errors(compiled, outcome);
    for message in unwritten {
        errors.push(ErrorEntry { kind: "output", message });
        exit = Exit::File;
    }
    if args.json {
        say_json(&RunReport {
            application: &design.name,
            engine: args.engine.name(),
            report: &outcome.report,
            signals: &outcome.signals,
            throughput: outcome.throughput,
            interrupted: matches!(outcome.end, RunEnd::Interrupted),
            errors: &errors,
        })?;
    } else {
        let ends = input_files.iter().chain(&args.outputs);
        let files: Vec<(String, PathBuf)> = ends.map(|end| (end.port.clone(), end.file.clone())).collect();
        match writes_stdout(args) {
            true => say_aside(&report::text(outcome, &files, error_style())),
            false => say(&report::text(outcome, &files, output_style()))?,
        }
    }
    for boundary in outcome.report.boundaries.iter().filter(|boundary| boundary.late_stamps > 0) {
        let (name, n_late) = (&boundary.name, boundary.late_stamps);
        warning(&format!(
            "{name}: {n_late} packets have a time before the one ahead of them, and entered at that one's time"
        ));
    }
    for error in &errors {
        terminal::error(&error.message);
    }
    if matches!(outcome.end, RunEnd::Interrupted) {
        warning("interrupted; the outputs hold what had left by then");
    }
    Ok(exit)
}

/// What `--json` prints.
#[derive(Serialize)]
struct RunReport<'r> {
    application: &'r str,
    engine: &'r str,
    #[serde(flatten)]
    report: &'r runtime::Report,
    signals: &'r [SignalCall],
    throughput: Throughput,
    interrupted: bool,
    errors: &'r [ErrorEntry],
}

#[derive(Serialize)]
struct ErrorEntry {
    /// `input`, `stopped`, `output` or `failure`.
    kind: &'static str,
    message: String,
}

/// Everything that went wrong in a run, and the exit code for the worst of it.
fn errors(compiled: &Compiled, outcome: &RunOutcome) -> (Vec<ErrorEntry>, Exit) {
    let mut exit = Exit::Success;
    let mut entries = Vec::new();
    for failure in &outcome.source_failures {
        let message = format!("{}; what was read before has run", failure.source);
        entries.push(ErrorEntry { kind: "input", message });
        exit = Exit::File;
    }
    match &outcome.end {
        RunEnd::Finished => {}
        RunEnd::Interrupted => exit = Exit::Interrupted,
        RunEnd::Stopped(error) => {
            let place = error.span().map(|span| format!("{}: ", compiled.sources.place(span)));
            let message = format!("{}{error}", place.unwrap_or_default());
            let (kind, code) = match error {
                RunError::Sink { .. } => ("output", Exit::File),
                RunError::Trap { .. } | RunError::Livelock { .. } => ("stopped", Exit::Stopped),
                RunError::TooManyPorts { .. } => ("failure", Exit::Source),
                RunError::NoSuchBoundary { .. } | RunError::Engine(_) => ("failure", Exit::Usage),
            };
            entries.push(ErrorEntry { kind, message });
            exit = code;
        }
    }
    (entries, exit)
}

/// A run that could not begin.
fn refusal(failure: &RunFailure, control: Option<&Path>) -> Failure {
    match failure {
        RunFailure::Control(errors) => {
            let file = control.map_or(String::new(), |path| path.display().to_string());
            let mut lines: Vec<String> = errors.iter().map(|error| format!("{file}:{error}")).collect();
            lines.push(format!("nothing of {file} was applied, and nothing has run"));
            Failure { message: lines.join("\n"), exit: Exit::Source }
        }
        RunFailure::Plan(error @ RunError::NoSuchBoundary { .. }) => Failure::usage(error.to_string()),
        RunFailure::Plan(error @ (RunError::Trap { .. } | RunError::Livelock { .. })) => {
            Failure { message: error.to_string(), exit: Exit::Stopped }
        }
        RunFailure::Plan(RunError::Sink { .. } | RunError::TooManyPorts { .. } | RunError::Engine(_))
        | RunFailure::Unverified(_) => Failure { message: failure.to_string(), exit: Exit::Source },
    }
}

fn options(args: &RunArgs, live: &Live) -> Options {
    let defaults = Options::default();
    Options {
        engine: match args.engine {
            Engine::Interp => runtime::Engine::Interp,
            Engine::Jit => runtime::Engine::Jit,
        },
        bounds: if args.strict { Bounds::Strict } else { Bounds::Lenient },
        twins: !args.no_twins,
        linger_ns: args.linger.unwrap_or(defaults.linger_ns),
        duration_ns: args.duration.or(defaults.duration_ns),
        clock: if live.is_live { Clock::Wall } else { Clock::Packets },
        ..defaults
    }
}

fn read_control(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|source| FileError::reading(path, source))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message =
            format!("{} is not UTF-8 text (byte {at}); a control file has one signal call a line", path.display());
        Failure { message, exit: Exit::Source }
    })
}

/// Opens the files of `--out`, each of the kind that its port needs.
fn open_outputs(
    design: &Design,
    args: &RunArgs,
    input: Option<Format>,
    lifetime: Lifetime,
) -> Result<Vec<(String, PortOutput)>, Failure> {
    let mut outputs = Vec::new();
    for output in ports::distinct("--out", &args.outputs)?.iter().filter(|output| output.endpoint.file().is_some()) {
        let boundary = ports::boundary(design, &output.port, BoundaryDirection::Out)?;
        let message = &design.message_types[boundary.message.index()];
        let kind = OutputKind::of(&output.file);
        let path = &output.file;
        let shown = path.display();
        let opened = match (message.kind, kind) {
            (MessageKind::Struct, OutputKind::JsonLines) => {
                PortOutput::Messages(MessageOutput::create(path, lifetime)?)
            }
            // A device or standard output has no extension to go by.
            (MessageKind::Struct, OutputKind::Pcap) if path.extension().is_none() => {
                PortOutput::Messages(MessageOutput::create(path, lifetime)?)
            }
            (MessageKind::Struct, OutputKind::Pcap | OutputKind::Pcapng) => {
                let (port, name) = (&output.port, &message.name);
                let better = path.with_extension("jsonl");
                let message = format!(
                    "{port} carries {name} messages, not packets: write {} instead of {shown}",
                    better.display()
                );
                return Err(Failure::usage(message));
            }
            (MessageKind::Flit | MessageKind::Packet, OutputKind::JsonLines) => {
                let better = path.with_extension("pcap");
                let message = format!("{} carries packets: write {} instead of {shown}", output.port, better.display());
                return Err(Failure::usage(message));
            }
            (MessageKind::Flit | MessageKind::Packet, OutputKind::Pcap | OutputKind::Pcapng) => {
                PortOutput::Packets(CaptureOutput::create(path, kind, input, lifetime)?)
            }
        };
        outputs.push((output.port.clone(), opened));
    }
    Ok(outputs)
}

/// `trace` lines as they come.
struct TraceToStderr;

impl TraceSink for TraceToStderr {
    fn trace(&mut self, time_ns: u64, element: &str, text: &str) {
        let (seconds, nanoseconds) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        say_aside(&format!("trace {seconds}.{nanoseconds:09} {element}: {text}\n"));
    }
}
