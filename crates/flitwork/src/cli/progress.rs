//! A progress bar for runs that take long enough to wonder.

use std::io::IsTerminal as _;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::run::input::file_bytes;

/// Files up to this size are done before anybody could read the bar.
const SILENT_BYTES_MAX: u64 = 4 << 20;

/// A bar on standard error; nothing if that is no terminal, or the inputs are small or of unknown size.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// The bar for a run on these files.
    pub fn start<'p>(files: impl Iterator<Item = Option<&'p Path>>) -> Progress {
        let n_bytes: Option<u64> = files.map(|file| file.and_then(file_bytes)).sum();
        let is_watched = std::io::stderr().is_terminal();
        let bar = match n_bytes.filter(|n_bytes| is_watched && *n_bytes > SILENT_BYTES_MAX) {
            Some(n_bytes) => ProgressBar::with_draw_target(Some(n_bytes), ProgressDrawTarget::stderr_with_hz(5)),
            None => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("  {wide_bar} {bytes} of {total_bytes}, {msg}, {eta} left");
        bar.set_style(style.expect("the template is sound"));
        Progress { bar }
    }

    /// Moves the bar.
    pub fn show(&self, state: runtime::Progress) {
        self.bar.set_position(state.bytes_read);
        self.bar.set_message(format!("{} packets", super::table::grouped(state.packets)));
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
