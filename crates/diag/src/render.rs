//! Diagnostics as text.

use crate::{Diagnostic, SourceMap};

/// Whether the text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderStyle {
    /// For files, pipes and tests.
    Plain,
    /// For terminals.
    Coloured,
}

/// The report of one diagnostic, with the source lines it speaks of. Ends with a newline.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, style: RenderStyle) -> String {
    let _ = style;
    format!("{}[{}]: {}: {}\n", "error", diagnostic.code, sources.place(diagnostic.primary.span), diagnostic.message)
}
