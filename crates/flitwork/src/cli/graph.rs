//! `flitwork graph`: the element graph as a picture.

use std::path::Path;

use super::args::GraphArgs;
use super::check::show_diagnostics;
use super::dump::no_graph;
use super::exit::{Exit, Failure};
use super::terminal::say;
use crate::app::App;
use crate::compile::compile;
use crate::loader::FileLoader;
use crate::{output, picture};

/// Draws an application.
pub fn run(args: &GraphArgs) -> Result<Exit, Failure> {
    let app = App::find(&args.app)?;
    let compiled = compile(&app.source_name(), &FileLoader::new(&args.library.dirs));
    let shown = show_diagnostics(&compiled);
    // A graph with faults in its bodies can still be drawn; one with faults in the wiring cannot.
    let Some(graph) = &compiled.graph else {
        return match shown {
            Err(exit) => Ok(exit),
            Ok(()) => Err(Failure { message: no_graph(&app), exit: Exit::Source }),
        };
    };
    let picture = picture::of_graph(graph, &compiled.library);
    if let Some(path) = &args.svg {
        write(path, &picture::svg(&picture))?;
    }
    match &args.dot {
        Some(path) => write(path, &picture::dot(&picture))?,
        None if args.svg.is_none() => say(&picture::dot(&picture))?,
        None => {}
    }
    Ok(shown.err().unwrap_or(Exit::Success))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(output::write_whole(path, text.as_bytes())?)
}
