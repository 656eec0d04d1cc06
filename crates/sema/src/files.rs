//! The root file and everything that it imports, parsed.
//!
//! Files are read breadth first, each once however often it is imported, so cycles of imports are harmless.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic, FileId, SourceMap, Span};
use syntax::ast;

use crate::loader::{LoadError, Loader};
use crate::scope::Diagnostics;
use crate::suggest;

/// One parsed file.
#[derive(Clone, Debug)]
pub struct ParsedFile {
    /// Where its text is.
    pub id: FileId,
    /// What it says.
    pub ast: ast::File,
    /// Files that it imports by their own word, found ones only, in order.
    pub imports: Vec<FileId>,
}

/// Everything that was read; the root is the first.
#[derive(Default)]
pub struct Files {
    /// Texts.
    pub sources: SourceMap,
    /// Trees, in the order of reading.
    pub parsed: Vec<ParsedFile>,
    /// Whether a file has syntax errors or could not be read, so that names may be missing.
    pub is_incomplete: bool,
}

/// Reads and parses the root and its imports.
pub fn read_all(root: &str, loader: &dyn Loader, diags: &mut Diagnostics) -> Files {
    let mut files = Files::default();
    let mut known = BTreeMap::new();
    match loader.load(None, root) {
        Ok(loaded) => {
            files.parse(loaded.name, loaded.text, &mut known, diags);
        }
        Err(error) => {
            let id = files.sources.add(root.to_string(), String::new());
            let start = Span { file: id, start: 0, end: 0 };
            diags.add(not_loaded(root, start, error, loader));
            files.is_incomplete = true;
        }
    }
    let mut at = 0;
    while at < files.parsed.len() {
        files.follow_imports(at, loader, &mut known, diags);
        at += 1;
    }
    files
}

impl Files {
    fn parse(
        &mut self,
        name: String,
        text: String,
        known: &mut BTreeMap<String, FileId>,
        diags: &mut Diagnostics,
    ) -> FileId {
        let id = self.sources.add(name.clone(), text);
        known.insert(name, id);
        let parsed = syntax::parse(id, &self.sources.file(id).text);
        self.is_incomplete |=
            parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity() == diag::Severity::Error);
        parsed.diagnostics.into_iter().for_each(|diagnostic| diags.add(diagnostic));
        self.parsed.push(ParsedFile { id, ast: parsed.file, imports: Vec::new() });
        id
    }

    fn follow_imports(
        &mut self,
        at: usize,
        loader: &dyn Loader,
        known: &mut BTreeMap<String, FileId>,
        diags: &mut Diagnostics,
    ) {
        let importer = self.sources.file(self.parsed[at].id).name.clone();
        let imports: Vec<(String, Span)> = self.parsed[at].ast.items.iter().filter_map(import_path).collect();
        for (path, span) in imports {
            let found = match loader.load(Some(&importer), &path) {
                Ok(loaded) => match known.get(&loaded.name) {
                    Some(&id) => id,
                    None => self.parse(loaded.name, loaded.text, known, diags),
                },
                Err(error) => {
                    diags.add(not_loaded(&path, span, error, loader));
                    self.is_incomplete = true;
                    continue;
                }
            };
            self.parsed[at].imports.push(found);
        }
    }
}

fn import_path(item: &ast::Item) -> Option<(String, Span)> {
    match item {
        ast::Item::Import(import) => Some((import.path.clone(), import.path_span)),
        _ => None,
    }
}

fn not_loaded(path: &str, span: Span, error: LoadError, loader: &dyn Loader) -> Diagnostic {
    match error {
        LoadError::NotFound { tried } => {
            let places = if tried.is_empty() { String::new() } else { format!("looked for {}", listed(&tried)) };
            let candidates = loader.candidates();
            let help = match nearest_path(path, &candidates) {
                Some(near) => format!("did you mean `import \"{near}\"`?"),
                None => "write the path relative to this file, or to a folder given with `--library`".to_string(),
            };
            Diagnostic::new(Code::E0001, span, format!("cannot find `{path}`"), help).label(places)
        }
        LoadError::Unreadable { name, reason } => {
            let help = "source files are UTF-8 text that you may read";
            Diagnostic::new(Code::E0002, span, format!("cannot read `{name}`: {reason}"), help)
        }
    }
}

/// The library path that was meant: the same file name in another folder, or a path or file name that is spelt almost so.
fn nearest_path<'a>(path: &str, candidates: &'a [String]) -> Option<&'a str> {
    let file_name = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
    let wanted = path.rsplit('/').next().unwrap_or(path);
    let same_file = candidates.iter().find(|candidate| file_name(candidate).eq_ignore_ascii_case(wanted));
    let near_path = || suggest::nearest(path, candidates.iter().map(String::as_str));
    let near_file = || {
        let near = suggest::nearest(wanted, candidates.iter().map(|candidate| file_name(candidate)))?;
        candidates.iter().map(String::as_str).find(|candidate| file_name(candidate) == near)
    };
    same_file.map(String::as_str).or_else(near_path).or_else(near_file)
}

/// `a`, `b` and `c`.
pub fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
