//! How to run, and what a run tells.

use std::sync::atomic::AtomicBool;

use crate::control::{ControlError, SignalCall, SignalError};
use crate::error::SourceFailure;
use crate::report::Report;

/// What executes the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The reference interpreter.
    #[default]
    Interp,
    /// Native code.
    Jit,
}

/// What time is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// That of the packets: it stands still while anything can fire, then jumps to the next event. The same inputs give the same
    /// results.
    #[default]
    Packets,
    /// The real one, in nanoseconds since 1970: a packet arrives when its source gives it, a wake-up comes when its time has come.
    Wall,
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
    /// Whether [`Engine::Jit`] runs native twins instead of the bodies that they stand for. It never does with strict bounds.
    pub twins: bool,
    /// How long after the last arrival wake-ups are honoured.
    pub linger_ns: u64,
    /// How long elements without inputs run, from the start; absent: until the last arrival, or one second if no input port
    /// has a source.
    pub duration_ns: Option<u64>,
    /// Firings in one instant from which on the run counts as stuck.
    pub firings_per_instant_max: u64,
    /// What time is.
    pub clock: Clock,
}

impl Options {
    /// Those that concern an engine.
    pub(crate) fn of_engine(&self) -> interp::Options {
        interp::Options { bounds: self.bounds, loop_rounds_max: self.loop_rounds_max, twins: self.twins }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            engine: Engine::Interp,
            bounds: interp::Bounds::Lenient,
            loop_rounds_max: 1 << 26,
            twins: true,
            linger_ns: 60_000_000_000,
            duration_ns: None,
            firings_per_instant_max: 10_000_000,
            clock: Clock::Packets,
        }
    }
}

/// What happened in a run that no error stopped.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whether it was stopped from outside before its end.
    pub stopped: bool,
    /// Sources that could not be read to their end.
    pub source_failures: Vec<SourceFailure>,
    /// Input ports with packets that could not enter, because the graph stopped taking them.
    pub blocked_inputs: Vec<String>,
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
    /// Looked at between packets; when true, the run ends cleanly.
    pub stop: Option<&'h AtomicBool>,
    /// Called every few thousand packets.
    pub progress: Option<&'h mut dyn FnMut(Progress)>,
    /// Called when nothing is to be done, to wait for packets, or until the given time if that is earlier. It may return at any time.
    pub wait: Option<&'h mut dyn FnMut(Option<u64>)>,
    /// Called between batches of packets and after each wait.
    pub between: Option<&'h mut Between<'h>>,
}

/// What is done between batches of packets.
pub type Between<'h> = dyn FnMut(&mut dyn Controls) + 'h;

/// What can be done to a run while it goes on.
pub trait Controls {
    /// Calls a signal now, as a line of a control file that has no time; gives what it gave: one call, or one for each entry of a
    /// listing. Nothing of it is kept in the run's own list.
    fn call_line(&mut self, line: &str) -> Result<Vec<SignalCall>, SignalError>;
    /// Replaces the control file. Its lines without a time are called from now on, some between any two batches of packets, before
    /// those of a file loaded later; times from the first packet count from now. If a line is bad, nothing changes.
    fn load_control(&mut self, text: String) -> Result<(), Vec<ControlError>>;
    /// Everything counted so far.
    fn report(&self) -> Report;
}
