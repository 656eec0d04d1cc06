//! The whole front end: from the name of a file to diagnostics, graph and design.
//!
//! Expects: a loader. Ensures: every fault of every file that was read is reported once, in order of place, and a design is
//! given only if there is none; warnings speak of the root file only, since its user cannot mend what it imports. Where files have syntax errors or are missing, only names are looked at besides, since the
//! rest would report what follows from them.

use std::collections::BTreeSet;

use diag::{Diagnostic, FileId, Severity, SourceMap, Span};
use ir::{Design, ElementId};
use syntax::ast::{ElementDecl, GraphStmt, Item};

use crate::arguments::{self, Params};
use crate::catalogue::{self, ElementInfo};
use crate::check;
use crate::connect::{self, Joined};
use crate::elaborate::{self, Elaborated, Node};
use crate::files::{self, Files, ParsedFile};
use crate::graph::{Graph, Instance};
use crate::instances::{self, Blueprint, Lowering};
use crate::library::Library;
use crate::loader::Loader;
use crate::meta::{self, Metadata};
use crate::resolve;
use crate::scope::{Decls, Diagnostics};
use crate::unused;

/// What the front end found out about a file and its imports.
#[derive(Default)]
pub struct Analysis {
    /// Texts of all files that were read; the root is the first.
    pub sources: SourceMap,
    /// Faults by file and place, each once, and warnings about the root.
    pub diagnostics: Vec<Diagnostic>,
    /// Trees of all files, the root's first.
    pub files: Vec<ParsedFile>,
    /// Every element and group that is declared in them.
    pub library: Vec<ElementInfo>,
    /// The elaborated graph, if the root has one that is sound.
    pub graph: Option<Graph>,
    /// The design, if the root has a graph and there is no error at all.
    pub design: Option<Design>,
}

/// The root is read first.
const ROOT: FileId = FileId(0);

/// Analyses the file that the loader knows as `root`. Never panics, whatever the files say.
pub fn analyze(root: &str, loader: &dyn Loader) -> Analysis {
    let mut diags = Diagnostics::default();
    let Files { sources, parsed, is_incomplete } = files::read_all(root, loader, &mut diags);
    let decls = resolve::declarations(&parsed, &mut diags);
    let library = catalogue::elements(&parsed, &decls, &sources);
    let (graph, design) = if is_incomplete {
        (None, None)
    } else {
        let root_name = sources.files().next().map_or(root, |(_, file)| file.name.as_str());
        let suggestions = Library::new(loader, root_name);
        application(&parsed, &decls, &suggestions, &sources, &mut diags)
    };
    let design = design.filter(|_| !diags.has_errors());
    drop(decls);
    let mut diagnostics = diags.into_sorted();
    diagnostics.retain(|report| report.severity() == Severity::Error || report.primary.span.file == ROOT);
    Analysis { sources, diagnostics, files: parsed, library, graph, design }
}

/// Checks everything that depends on whole files: the graph, the bodies of what it instantiates, and the root's other declarations.
fn application(
    parsed: &[ParsedFile],
    decls: &Decls<'_>,
    library: &Library<'_>,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> (Option<Graph>, Option<Design>) {
    let Some(root) = parsed.first() else { return (None, None) };
    check::imported_graphs(root, parsed, diags);
    for alias in decls.aliases.values() {
        let is_open = resolve::instantiable(decls, &alias.target.text).is_none();
        if is_open && !decls.aliases.contains_key(alias.target.text.as_str()) {
            diags.add(library.unknown_element(&alias.target, decls));
        }
    }
    let stmts: Vec<&GraphStmt> = root.ast.items.iter().filter_map(graph_stmt).collect();
    let mut elaborated = elaborate::elaborate(stmts.iter().copied(), decls, library, diags);
    connect::set_host_messages(&mut elaborated);
    let channels = connect::channels(&elaborated, diags);
    check::open_ports(&elaborated, diags);
    check::cycles(&elaborated, &channels, diags);
    // In a graph with errors, what would let messages in may be what is wrong.
    if let Some(first) = stmts.first().filter(|_| !diags.has_errors()) {
        check::sources(&elaborated, check::stmt_span(first), diags);
    }
    let is_sound = !diags.has_errors();

    let used: BTreeSet<Span> = elaborated.nodes.iter().map(|node| node.decl.span).collect();
    let metadata = meta::collect(elaborated.nodes.iter().map(|node| node.decl), decls, diags);
    let lowered = if metadata.is_incomplete { None } else { lower_nodes(&elaborated, decls, &metadata, diags) };
    unused::check(root, &used, decls, sources, diags);

    if stmts.is_empty() {
        return (None, None);
    }
    let graph = is_sound.then(|| graph(application_name(sources), &elaborated, &channels, &metadata));
    let design = graph.as_ref().zip(lowered).map(|(graph, lowered)| design(graph, lowered, &metadata, sources));
    (graph, design)
}

fn graph_stmt(item: &Item) -> Option<&GraphStmt> {
    match item {
        Item::Graph(stmt) => Some(stmt),
        _ => None,
    }
}

/// One lowered element a node; nothing if any has an error.
fn lower_nodes(
    elaborated: &Elaborated<'_>,
    decls: &Decls<'_>,
    metadata: &Metadata<'_>,
    diags: &mut Diagnostics,
) -> Option<Vec<crate::scope::Lowered>> {
    let message_types = elaborated.message_types.complete(&metadata.fields);
    let mut lowering = Lowering::new(decls, &message_types, &metadata.by_name);
    let lowered: Vec<_> =
        elaborated.nodes.iter().map(|node| lowering.lower(&blueprint(node), &node.name, diags)).collect();
    lowered.into_iter().collect()
}

fn blueprint<'x, 'a>(node: &'x Node<'a>) -> Blueprint<'x, 'a> {
    Blueprint { element: node.decl, params: &node.params, inputs: &node.inputs, outputs: &node.outputs }
}

fn graph(name: String, elaborated: &Elaborated<'_>, channels: &[Joined], metadata: &Metadata<'_>) -> Graph {
    Graph {
        name,
        instances: elaborated.nodes.iter().map(instance).collect(),
        channels: channels.iter().map(|joined| joined.channel.clone()).collect(),
        boundaries: elaborated.boundaries.clone(),
        message_types: elaborated.message_types.complete(&metadata.fields),
    }
}

fn instance(node: &Node<'_>) -> Instance {
    Instance {
        name: node.name.clone(),
        kind: node.decl.name.text.clone(),
        params: params_text(node.decl, &node.params),
        host_control: node.flags.host_control,
        autorun: node.flags.autorun,
        on_host: node.flags.on_host,
        inputs: node.inputs.clone(),
        outputs: node.outputs.clone(),
        span: node.span,
    }
}

fn params_text(element: &ElementDecl, params: &Params) -> Vec<ir::Param> {
    let texts = element.params.iter().zip(params).map(|(decl, (_, value))| arguments::value_text(decl, value));
    element.params.iter().zip(texts).map(|(decl, value)| ir::Param { name: decl.name.text.clone(), value }).collect()
}

/// The file stem of the root; its folder's name if that is `app`.
fn application_name(sources: &SourceMap) -> String {
    let name = sources.files().next().map_or("", |(_, file)| file.name.as_str());
    let mut parts = name.rsplit(['/', '\\', ':']);
    let stem = parts.next().unwrap_or_default().trim_end_matches(".clnp");
    match (stem, parts.next()) {
        ("app", Some(folder)) if !matches!(folder, "" | "." | "..") => folder.to_string(),
        _ => stem.to_string(),
    }
}

fn design(graph: &Graph, lowered: Vec<crate::scope::Lowered>, metadata: &Metadata<'_>, sources: &SourceMap) -> Design {
    let mut elements: Vec<ir::Element> =
        graph.instances.iter().zip(lowered).map(|(instance, lowered)| instances::element(instance, lowered)).collect();
    for (at, channel) in graph.channels.iter().enumerate() {
        let id = Some(ir::ChannelId(at as u32));
        if let ir::ChannelEnd::Element { element: ElementId(element), port } = channel.from {
            elements[element as usize].outputs[port as usize].channel = id;
        }
        if let ir::ChannelEnd::Element { element: ElementId(element), port } = channel.to {
            elements[element as usize].inputs[port as usize].channel = id;
        }
    }
    Design {
        name: graph.name.clone(),
        files: sources.files().map(|(_, file)| file.name.clone()).collect(),
        meta: metadata.fields.clone(),
        message_types: graph.message_types.clone(),
        elements,
        channels: graph.channels.clone(),
        boundaries: graph.boundaries.clone(),
    }
}
