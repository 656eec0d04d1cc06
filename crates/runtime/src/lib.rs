//! Runs a design on packets.
//!
//! A [`Runtime`] holds the channels, elements, boundary ports and the clock of one run. Time is virtual: it moves on only when
//! nothing can fire, to the next arrival, wake-up or control line. The same inputs give the same bytes and counters.
//!
//! ```no_run
//! # fn f(design: &ir::Design, file: std::fs::File) -> Result<(), Box<dyn std::error::Error>> {
//! use runtime::{CaptureSource, Hooks, Options, Runtime};
//!
//! let verified = ir::verify(design).map_err(|errors| errors[0].to_string())?;
//! let mut runtime = Runtime::new(verified, Options::default())?;
//! runtime.attach_source("nic_in", Box::new(CaptureSource::new(file)?))?;
//! let outcome = runtime.run(&mut Hooks::default())?;
//! println!("{:?} {:?}", runtime.report().totals, outcome.source_failures);
//! # Ok(()) }
//! ```

mod boundary;
mod carried;
mod channel;
mod control;
mod convert;
mod element;
mod engine;
pub mod error;
pub mod io;
mod options;
pub mod report;
mod ring;
mod runtime;
mod signal_value;
mod tally;

pub use control::{ControlError, SignalCall, SignalError};
pub use error::{RunError, SourceFailure};
pub use interp::{Bounds, Flags, Packet};
pub use io::{CaptureSource, Filled, IoError, MessageSink, PacketSink, PacketSource, TraceSink};
pub use options::{Between, Clock, Controls, Engine, Hooks, Options, Outcome, Progress};
pub use report::Report;
pub use runtime::Runtime;
