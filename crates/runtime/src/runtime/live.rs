//! Runs in real time: the clock, waiting, and what others do to a run between batches of packets.

use std::time::SystemTime;

use super::Runtime;
use crate::control::{Control, ControlError, SignalCall, SignalError};
use crate::error::RunError;
use crate::options::{Clock, Controls, Hooks};
use crate::report::Report;

/// Lines of a control file that are called between two batches of packets.
const LINES_PER_TURN: usize = 64;

/// Nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    // A clock before 1970 or after 2554 is set wrong; time then stands still at an end.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Clock {
    /// The time, if it does not come from packets.
    pub(super) fn now_ns(self) -> Option<u64> {
        match self {
            Clock::Packets => None,
            Clock::Wall => Some(now_ns()),
        }
    }
}

impl Runtime<'_> {
    /// What happens when all packets read so far have run through.
    pub(super) fn between_batches(&mut self, hooks: &mut Hooks<'_>) -> Result<(), RunError> {
        self.settle()?;
        if self.options.clock == Clock::Wall {
            self.flush()?;
        }
        for _ in 0..LINES_PER_TURN {
            let Some(call) = self.control.next_untimed(&self.signals) else { break };
            self.call(call)?;
        }
        if let Some(between) = &mut hooks.between {
            self.take_counts();
            between(self);
        }
        Ok(())
    }

    /// Waits for packets, or until the given time.
    pub(super) fn wait(&mut self, hooks: &mut Hooks<'_>, until_ns: Option<u64>) -> Result<(), RunError> {
        self.between_batches(hooks)?;
        match &mut hooks.wait {
            Some(_) if self.control.has_untimed() => {}
            Some(wait) => wait(until_ns),
            None => std::thread::yield_now(),
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        for port in &mut self.out_ports {
            let packets = port.sink.as_mut().map_or(Ok(()), |sink| sink.flush());
            let messages = port.message_sink.as_mut().map_or(Ok(()), |sink| sink.flush());
            packets.and(messages).map_err(|source| RunError::Sink { boundary: port.name.clone(), source })?;
        }
        Ok(())
    }

    /// The end of a run that goes on until somebody stops it: what has entered runs through, and the lines for the end are called.
    pub(super) fn end_live(&mut self) -> Result<(), RunError> {
        self.settle()?;
        self.control.skip_to_end();
        while let Some(call) = self.control.next_end(&self.signals) {
            self.call(call)?;
        }
        self.settle()
    }
}

impl Controls for Runtime<'_> {
    fn call_line(&mut self, line: &str) -> Result<Vec<SignalCall>, SignalError> {
        let call = Control::single(&self.signals, line)?;
        let mut calls = Vec::new();
        self.call_into(call, &mut calls).map_err(|error| SignalError { message: error.to_string() })?;
        Ok(calls)
    }

    fn load_control(&mut self, text: String) -> Result<(), Vec<ControlError>> {
        Runtime::load_control(self, text)?;
        self.control.fix_times(self.now_ns);
        // Each load may record what its lines gave; a run that is loaded again and again keeps what the last file gave.
        self.calls.clear();
        Ok(())
    }

    fn report(&self) -> Report {
        Runtime::report(self)
    }
}
