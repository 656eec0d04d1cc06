//! The run: elements, channels, boundary ports and the clock.

use std::sync::atomic::AtomicBool;

use ir::{Value, Verified};

use crate::control::{ControlError, SignalCall, SignalError};
use crate::error::{RunError, SourceFailure};
use crate::io::{MessageSink, PacketSink, PacketSource, TraceSink};
use crate::report::Report;

/// What executes the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The reference interpreter.
    #[default]
    Interp,
}

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What executes the bodies.
    pub engine: Engine,
    /// Whether an access out of an array's range stops the run.
    pub bounds: interp::Bounds,
    /// How often loops may go round in one firing.
    pub loop_rounds_max: u64,
    /// How long after the last arrival wake-ups are honoured.
    pub linger_ns: u64,
    /// How long elements without inputs run, from the start; absent: until the last arrival, or one second if the graph has no
    /// input ports.
    pub duration_ns: Option<u64>,
    /// Firings in one instant from which on the run is stuck.
    pub firings_per_instant_max: u64,
}

/// What happened in a run that was not stopped by an error.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whether it was stopped from outside before its end.
    pub stopped: bool,
    /// Sources that could not be read to their end.
    pub source_failures: Vec<SourceFailure>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Packets that entered.
    pub packets: u64,
    /// Bytes of the sources read.
    pub bytes_read: u64,
    /// Current time.
    pub now_ns: u64,
}

/// What a run asks and tells while it runs.
#[derive(Default)]
pub struct Hooks<'h> {
    /// Checked between packets; when true, the run ends cleanly.
    pub stop: Option<&'h AtomicBool>,
    /// Called every few thousand packets.
    pub progress: Option<&'h mut dyn FnMut(Progress)>,
}

/// One run of a design.
pub struct Runtime<'d> {
    design: Verified<'d>,
}

impl<'d> Runtime<'d> {
    /// Sets up a run and runs `.init` of every element.
    pub fn new(design: Verified<'d>, _options: Options) -> Result<Runtime<'d>, RunError> {
        Ok(Runtime { design })
    }

    /// Gives an input port its packets. A port without a source stays silent.
    pub fn attach_source(&mut self, _boundary: &str, _source: Box<dyn PacketSource + 'd>) -> Result<(), RunError> {
        todo!()
    }

    /// Takes the packets of an output port. Without a sink they are counted only.
    pub fn attach_sink(&mut self, _boundary: &str, _sink: Box<dyn PacketSink + 'd>) -> Result<(), RunError> {
        todo!()
    }

    /// Takes the messages of an output port that carries structs.
    pub fn attach_message_sink(&mut self, _boundary: &str, _sink: Box<dyn MessageSink + 'd>) -> Result<(), RunError> {
        todo!()
    }

    /// Takes the output of `trace`.
    pub fn attach_trace(&mut self, _sink: Box<dyn TraceSink + 'd>) {
        todo!()
    }

    /// Schedules the signals of a control file. If any line is bad, nothing of it is applied.
    pub fn load_control(&mut self, _text: String) -> Result<(), Vec<ControlError>> {
        todo!()
    }

    /// Calls a signal now, between two firings. Arguments by name, in any order; gives the results by name.
    pub fn call_signal(
        &mut self,
        _instance: &str,
        _signal: &str,
        _arguments: &[(&str, Value)],
    ) -> Result<Vec<(String, Value)>, SignalError> {
        let _ = self.design;
        todo!()
    }

    /// Runs to the end, or until stopped.
    pub fn run(&mut self, _hooks: &mut Hooks<'_>) -> Result<Outcome, RunError> {
        todo!()
    }

    /// Runs until at least `n_packets` more have entered and run through; gives whether there is more to do.
    pub fn run_packets(&mut self, _n_packets: u64) -> Result<bool, RunError> {
        todo!()
    }

    /// The signals called from control files so far.
    pub fn signal_calls(&self) -> &[SignalCall] {
        todo!()
    }

    /// Everything counted so far.
    pub fn report(&self) -> Report {
        todo!()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            engine: Engine::Interp,
            bounds: interp::Bounds::Lenient,
            loop_rounds_max: 1 << 26,
            linger_ns: 60_000_000_000,
            duration_ns: None,
            firings_per_instant_max: 10_000_000,
        }
    }
}
