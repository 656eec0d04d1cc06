//! Signals by name, and control files.

use std::fmt;

use ir::Value;

/// A bad line of a control file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ControlError {}

/// Why a signal could not be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalError {
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for SignalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SignalError {}

/// A signal that was called from a control file, and what it gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalCall {
    /// Line of the control file, from 1.
    pub line: u32,
    /// When it ran.
    pub time_ns: u64,
    /// Instance name.
    pub instance: String,
    /// Signal name.
    pub signal: String,
    /// Results by name, in order.
    pub results: Vec<(String, Value)>,
}
