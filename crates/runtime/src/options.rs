//! How to run, and what a run tells.

use std::sync::atomic::AtomicBool;

use crate::error::SourceFailure;

/// What executes the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The reference interpreter.
    #[default]
    Interp,
    /// Native code.
    Jit,
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
    /// How long elements without inputs run, from the start; absent: until the last arrival, or one second if no input port
    /// has a source.
    pub duration_ns: Option<u64>,
    /// Firings in one instant from which on the run counts as stuck.
    pub firings_per_instant_max: u64,
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
}
