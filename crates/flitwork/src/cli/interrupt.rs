//! Ctrl-C: the first asks a run to end with its files whole, the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit::{Exit, Failure};
use crate::output;

/// A flag that becomes true when the user (or `kill`) asks the program to end.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let handler = move || {
        if raised.swap(true, Ordering::SeqCst) {
            output::remove_temporaries();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::file(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(flag)
}
