//! `flitwork dump`: what the compiler makes of an application, stage by stage.

use diag::{FileId, Severity, SourceMap};

use super::args::{DumpArgs, Stage};
use super::check::show_diagnostics;
use super::exit::{Exit, Failure};
use super::terminal::{error_style, say, say_aside};
use crate::FileError;
use crate::app::App;
use crate::compile::compile;
use crate::loader::{FileLoader, read_source};

/// Prints one stage.
pub fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let app = App::find(&args.app)?;
    if args.optimised && args.stage != Stage::Ir {
        return Err(Failure::usage("--optimised goes with --stage ir only"));
    }
    if args.stage == Stage::Ast {
        let text = read_source(&app.source).map_err(|source| FileError::reading(&app.source, source))?;
        let parsed = syntax::parse(FileId(0), &text);
        say(&syntax::dump(&parsed.file))?;
        let mut sources = SourceMap::default();
        sources.add(app.source_name(), text);
        for diagnostic in &parsed.diagnostics {
            say_aside(&diag::render(diagnostic, &sources, error_style()));
        }
        let has_errors = parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error);
        return Ok(if has_errors { Exit::Source } else { Exit::Success });
    }
    let compiled = compile(&app.source_name(), &FileLoader::new(&args.library.dirs));
    if let Err(exit) = show_diagnostics(&compiled) {
        return Ok(exit);
    }
    if let (Stage::Graph, Some(graph)) = (args.stage, &compiled.graph) {
        say(&sema::graph::to_text(graph))?;
        return Ok(Exit::Success);
    }
    let Some(design) = compiled.design else {
        return Err(Failure { message: no_graph(&app), exit: Exit::Source });
    };
    let design = if args.optimised { opt::pipeline::run(design) } else { design };
    say(&ir::print(&design, ir::Spans::Omit))?;
    Ok(Exit::Success)
}

/// What to tell about a file that declares elements and wires none.
pub fn no_graph(app: &App) -> String {
    format!(
        "{} has no graph: it declares elements only; add for example `nic_in -> Pass(1, 1) -> nic_out`",
        app.source.display()
    )
}
