//! Exit codes, and what ends a command early.

use std::process::{ExitCode, Termination};

use crate::FileError;

/// How the program ends. The codes are part of the interface; the help text and the manual list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Success,
    /// 1: errors in the user's source or control file.
    Source,
    /// 2: the command line cannot be understood.
    Usage,
    /// 3: a file is missing, damaged or unwritable, or the disk is full.
    File,
    /// 4: the run stopped: an `assert` failed, `--strict` found an access out of range, or elements fired without time moving on.
    Stopped,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The number that the calling shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Source => 1,
            Exit::Usage => 2,
            Exit::File => 3,
            Exit::Stopped => 4,
            Exit::Interrupted => 130,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// Ends a command: what to tell the user, and the code.
#[derive(Debug)]
pub struct Failure {
    /// One line, without `error:`.
    pub message: String,
    /// The code.
    pub exit: Exit,
}

impl Failure {
    /// The command line asks for something that cannot be.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), exit: Exit::Usage }
    }

    /// A file is at fault.
    pub fn file(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), exit: Exit::File }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure::file(error.to_string())
    }
}
