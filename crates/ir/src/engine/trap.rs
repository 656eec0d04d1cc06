//! What stops an element: a broken promise of its source.

use std::fmt;

use diag::Span;

/// Why a body could not go on, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// What happened.
    pub kind: TrapKind,
    /// The statement, if known.
    pub span: Option<Span>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// An `assert` did not hold; its text.
    Assert(String),
    /// With strict bounds: an index at or past the depth of an array.
    OutOfRange {
        /// The array.
        array: String,
        /// The index used.
        index: u64,
        /// Words of the array.
        depth: u64,
    },
    /// Loops of one firing went round more often than allowed.
    LoopLimit {
        /// The limit.
        rounds_max: u64,
    },
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrapKind::Assert(text) => write!(f, "assertion failed: {text}"),
            TrapKind::OutOfRange { array, index, depth } => {
                write!(f, "index {index} is out of range: `{array}` has {depth} words")
            }
            TrapKind::LoopLimit { rounds_max } => {
                write!(f, "loops went round more than {rounds_max} times in one firing; does one of them never end?")
            }
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for Trap {}
