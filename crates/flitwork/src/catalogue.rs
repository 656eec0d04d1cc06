//! The catalogue of library elements: what each is called, connects and can be told.
//!
//! Counts, types and defaults are shown as they are written in the source.

use sema::catalogue::{ElementInfo, ElementKind, PortInfo, SignalInfo};
use serde::Serialize;

use crate::loader::FileLoader;

/// One element of the library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CatalogueEntry {
    /// Its name.
    pub name: String,
    /// The folder that it is in: `core`, `parsers`, ….
    pub category: String,
    /// What to write after `import`.
    pub import: String,
    /// Further names for it.
    pub aliases: Vec<String>,
    /// First sentence of the doc comment.
    pub summary: String,
    /// The whole doc comment.
    pub doc: String,
    /// `packet` for elements on whole packets, `flit` for those on 32-byte messages, `group` for element groups.
    pub level: &'static str,
    /// Input ports by group.
    pub inputs: Vec<PortEntry>,
    /// Output ports by group.
    pub outputs: Vec<PortEntry>,
    /// Compile-time parameters.
    pub params: Vec<ParamEntry>,
    /// Signals that the host can call.
    pub signals: Vec<SignalEntry>,
}

/// Ports of one message type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortEntry {
    /// How many, as written.
    pub count: String,
    /// What passes.
    pub message: String,
}

/// A compile-time parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParamEntry {
    /// Its name.
    pub name: String,
    /// Its type, as written.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its default, as written.
    pub default: Option<String>,
    /// The inclusive range, as written: `1..4096`.
    pub range: Option<String>,
}

/// A signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignalEntry {
    /// Its name; `signal` for the raw form.
    pub name: String,
    /// Arguments with types, as written.
    pub params: Vec<String>,
    /// Results with types, as written.
    pub results: Vec<String>,
    /// The comment above it.
    pub doc: String,
}

/// The catalogue of every element that these import paths declare; `loader` finds the files.
///
/// Elements come by category and name. A file with faults gives what can be read of it.
pub fn catalogue(import_paths: &[String], loader: FileLoader) -> Vec<CatalogueEntry> {
    /// A file that imports everything; no user's file is called so.
    const ROOT: &str = "(catalogue)";
    let imports: String = import_paths.iter().map(|path| format!("import \"{path}\";\n")).collect();
    let analysis = sema::analyze(ROOT, &loader.with_text(ROOT, &imports));
    let mut entries: Vec<CatalogueEntry> = analysis.library.into_iter().map(|info| entry(info, import_paths)).collect();
    entries.sort_by(|a, b| (&a.category, &a.name).cmp(&(&b.category, &b.name)));
    entries
}

fn entry(info: ElementInfo, import_paths: &[String]) -> CatalogueEntry {
    let import = import_paths.iter().filter(|path| info.file.ends_with(path.as_str())).max_by_key(|path| path.len());
    let range = |(low, high): (String, String)| format!("{low}..{high}");
    CatalogueEntry {
        import: import.unwrap_or(&info.file).clone(),
        summary: summary(&info.doc),
        level: match info.kind {
            ElementKind::Flit => "flit",
            ElementKind::Packet => "packet",
            ElementKind::Group => "group",
        },
        inputs: ports(info.inputs),
        outputs: ports(info.outputs),
        params: info
            .params
            .into_iter()
            .map(|param| ParamEntry {
                name: param.name,
                ty: param.ty,
                default: param.default,
                range: param.range.map(range),
            })
            .collect(),
        signals: info.signals.into_iter().map(signal).collect(),
        name: info.name,
        category: info.category,
        aliases: info.aliases,
        doc: info.doc,
    }
}

fn ports(groups: Vec<PortInfo>) -> Vec<PortEntry> {
    let entries = groups.into_iter().map(|group| PortEntry { count: group.count, message: group.message });
    entries.filter(|group| group.count != "0").collect()
}

fn signal(info: SignalInfo) -> SignalEntry {
    let typed = |fields: Vec<(String, String)>| fields.into_iter().map(|(ty, name)| format!("{ty} {name}")).collect();
    SignalEntry { name: info.name, params: typed(info.params), results: typed(info.results), doc: info.doc }
}

/// The text up to the first full stop that ends a line or stands before a space.
fn summary(doc: &str) -> String {
    let paragraph = doc.trim().split("\n\n").next().unwrap_or("");
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.find(". ") {
        Some(end) => line[..=end].to_string(),
        None => line,
    }
}
