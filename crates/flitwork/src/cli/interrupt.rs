//! Ctrl-C: the first asks a run to end with its files whole, a later one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::exit::{Exit, Failure};
use crate::output;

/// Whether the program may be waiting for somebody else before anything has run, see [`at_once_during`].
static MAY_WAIT: AtomicBool = AtomicBool::new(false);

/// Does work during which already the first Ctrl-C ends the program: opening a pipe waits for its other end, perhaps for ever.
pub fn at_once_during<T>(work: impl FnOnce() -> T) -> T {
    MAY_WAIT.store(true, Ordering::SeqCst);
    let done = work();
    MAY_WAIT.store(false, Ordering::SeqCst);
    done
}

/// Signals so soon after the first are the same one: `timeout` sends it to the program and to its group.
const SAME_SIGNAL: Duration = Duration::from_millis(200);

/// A flag that becomes true when the user (or `kill`) asks the program to end.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let mut first: Option<Instant> = None;
    let handler = move || {
        let is_later = first.get_or_insert_with(Instant::now).elapsed() >= SAME_SIGNAL;
        raised.store(true, Ordering::SeqCst);
        if is_later || MAY_WAIT.load(Ordering::SeqCst) {
            output::remove_temporaries();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::file(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(flag)
}
