//! What ends a run early, and who can mend it.

use std::fmt;

use interp::Trap;
use ir::Span;

use crate::io::IoError;

/// Why a run could not go on. Outputs hold what left before it.
#[derive(Debug)]
pub enum RunError {
    /// An element broke a promise of its source: mend the source.
    Trap {
        /// The instance.
        element: String,
        /// What it was doing: `handler`, `init`, `signal insert`.
        body: String,
        /// What happened, and where.
        trap: Trap,
    },
    /// Elements kept firing without time moving on: mend their source, or the graph.
    Livelock {
        /// The instances that fired last.
        elements: Vec<String>,
        /// Firings in one instant.
        firings: u64,
        /// The instant.
        now_ns: u64,
    },
    /// A sink failed, for example because the disk is full.
    Sink {
        /// The boundary port.
        boundary: String,
        /// Its reason.
        source: IoError,
    },
    /// A boundary port that the design does not have, or that faces the other way.
    NoSuchBoundary {
        /// The name asked for.
        name: String,
        /// The ports that would do.
        known: Vec<String>,
    },
    /// No native code can be made: take the interpreter.
    Engine(jit::Error),
    /// An element with more ports than a mask has bits.
    TooManyPorts {
        /// The instance.
        element: String,
        /// Its declaration.
        span: Span,
    },
}

impl RunError {
    /// The source that it speaks of, if any.
    pub fn span(&self) -> Option<Span> {
        match self {
            RunError::Trap { trap, .. } => trap.span,
            RunError::TooManyPorts { span, .. } => Some(*span),
            RunError::Livelock { .. }
            | RunError::Sink { .. }
            | RunError::NoSuchBoundary { .. }
            | RunError::Engine(_) => None,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Trap { element, body, trap } => write!(f, "{element}, {body}: {trap}"),
            RunError::Livelock { elements, firings, now_ns } => write!(
                f,
                "{firings} firings at {now_ns} ns without time moving on; firing: {}; give an element that makes messages \
                 a pause with `wake_at`, or the boundary port a rate",
                elements.join(", ")
            ),
            RunError::Sink { boundary, source } => write!(f, "{boundary}: {source}"),
            RunError::NoSuchBoundary { name, known } if known.is_empty() => {
                write!(f, "the graph has no port `{name}`, and no other for packets this way")
            }
            RunError::NoSuchBoundary { name, known } => {
                write!(f, "the graph has no such port `{name}`; it has {}", known.join(", "))
            }
            RunError::Engine(error) => write!(f, "{error}; `--engine interp` runs everywhere"),
            RunError::TooManyPorts { element, .. } => write!(f, "{element} has more than 32 ports on one side"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Trap { trap, .. } => Some(trap),
            RunError::Sink { source, .. } => Some(source.as_ref()),
            RunError::Engine(error) => Some(error),
            RunError::Livelock { .. } | RunError::NoSuchBoundary { .. } | RunError::TooManyPorts { .. } => None,
        }
    }
}

/// A source that could not be read to its end. The packets before it ran as usual.
#[derive(Debug)]
pub struct SourceFailure {
    /// The boundary port.
    pub boundary: String,
    /// Its reason.
    pub source: IoError,
}
