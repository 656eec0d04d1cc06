//! Source in, design out: the whole front end as one call.

use diag::{Diagnostic, Severity, SourceMap};
use sema::catalogue::ElementInfo;
use sema::loader::Loader;

/// What the front end makes of an application.
#[derive(Debug)]
pub struct Compiled {
    /// Every file that was read.
    pub sources: SourceMap,
    /// All errors and warnings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// Every element that was read.
    pub library: Vec<ElementInfo>,
    /// Instances, channels and boundaries; absent if the wiring has errors or there is none.
    pub graph: Option<sema::graph::Graph>,
    /// The design; absent if there are errors, or if the file only declares elements.
    pub design: Option<ir::Design>,
}

impl Compiled {
    /// Whether anything must be mended before the application can run.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error)
    }
}

/// Compiles the application whose root file `loader` knows as `root`.
///
/// Faults of the user's are in the result; a root file that cannot be loaded is one of them.
pub fn compile(root: &str, loader: &dyn Loader) -> Compiled {
    let analysis = sema::analyze(root, loader);
    Compiled {
        sources: analysis.sources,
        diagnostics: analysis.diagnostics,
        library: analysis.library,
        graph: analysis.graph,
        design: analysis.design,
    }
}
