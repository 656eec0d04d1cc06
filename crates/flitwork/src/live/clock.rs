//! The clock of live runs.

use std::time::SystemTime;

/// Nanoseconds since 1970.
pub fn now_ns() -> u64 {
    // A clock before 1970 or after 2554 is set wrong; the run goes on at time 0 or the last one.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
