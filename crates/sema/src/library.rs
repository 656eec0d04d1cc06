//! What the element library holds, for suggestions: read only once a name is unknown.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use diag::{Code, Diagnostic, FileId};
use syntax::ast::{Ident, Item};

use crate::loader::Loader;
use crate::scope::Decls;
use crate::suggest;

/// Elements, groups and aliases that could be imported, with the import path of each.
pub struct Library<'l> {
    loader: &'l dyn Loader,
    importer: String,
    paths: OnceCell<BTreeMap<String, String>>,
}

impl<'l> Library<'l> {
    /// The library that the file named `importer` can import from.
    pub fn new(loader: &'l dyn Loader, importer: &str) -> Library<'l> {
        Library { loader, importer: importer.to_string(), paths: OnceCell::new() }
    }

    /// The report about a name that is no element: the import line if the library has it, else the nearest known name.
    pub fn unknown_element(&self, name: &Ident, decls: &Decls<'_>) -> Diagnostic {
        let paths = self.paths.get_or_init(|| self.read());
        let word = name.text.as_str();
        let declared = decls.elements.keys().chain(decls.groups.keys()).chain(decls.aliases.keys()).copied();
        let help = match (paths.get(word), suggest::nearest(word, declared)) {
            (Some(path), _) => format!("add `import \"{path}\";` at the top of the file"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => match suggest::nearest(word, paths.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`? then add `import \"{}\";` too", paths[near]),
                None => format!("import the file that declares it, or write `.element {word} <1, 1> {{ … }}`"),
            },
        };
        Diagnostic::new(Code::E0201, name.span, format!("no element `{word}`"), help)
    }

    fn read(&self) -> BTreeMap<String, String> {
        let mut paths = BTreeMap::new();
        for path in self.loader.candidates() {
            let Ok(loaded) = self.loader.load(Some(&self.importer), &path) else { continue };
            for item in &syntax::parse(FileId(0), &loaded.text).file.items {
                let name = match item {
                    Item::Element(element) => &element.name,
                    Item::Group(group) => &group.name,
                    Item::Alias(alias) => &alias.name,
                    Item::Import(_) | Item::Header(_) | Item::Struct(_) | Item::Enum(_) => continue,
                    Item::Const(_) | Item::Function(_) | Item::Graph(_) => continue,
                };
                paths.entry(name.text.clone()).or_insert_with(|| path.clone());
            }
        }
        paths
    }
}
