//! File-level names: fills [`Decls`] from the parsed files.
//!
//! There are three namespaces: what a graph can instantiate (elements, groups, aliases), types (structs, headers, enums), and
//! values (constants, functions, enum values). A second declaration in one namespace is reported with the first; the first stays.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic, Span};
use syntax::ast::{self, Ident, Item};

use crate::files::ParsedFile;
use crate::scope::{Decls, Diagnostics};

/// The names of all files together.
pub fn declarations<'a>(files: &'a [ParsedFile], diags: &mut Diagnostics) -> Decls<'a> {
    let mut resolver = Resolver { decls: Decls::default(), seen: Default::default(), diags };
    // The root comes last, so that a clash with an import is reported in the user's own file.
    for item in files.iter().rev().flat_map(|file| &file.ast.items) {
        resolver.item(item);
    }
    let Resolver { decls, diags, .. } = resolver;
    check_aliases(&decls, diags);
    decls
}

/// What a graph name stands for once aliases are followed.
#[derive(Clone, Copy, Debug)]
pub enum Instantiable<'a> {
    /// An element.
    Element(&'a ast::ElementDecl),
    /// A group.
    Group(&'a ast::GroupDecl),
}

/// The element or group behind a name, aliases followed. Nothing for unknown names and for aliases in a circle.
pub fn instantiable<'a>(decls: &Decls<'a>, name: &str) -> Option<Instantiable<'a>> {
    let mut name = name;
    for _ in 0..=decls.aliases.len() {
        if let Some(element) = decls.elements.get(name) {
            return Some(Instantiable::Element(element));
        }
        if let Some(group) = decls.groups.get(name) {
            return Some(Instantiable::Group(group));
        }
        name = &decls.aliases.get(name)?.target.text;
    }
    None
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Graph,
    Type,
    Value,
}

struct Resolver<'a, 'd> {
    decls: Decls<'a>,
    seen: [BTreeMap<&'a str, Span>; 3],
    diags: &'d mut Diagnostics,
}

impl<'a> Resolver<'a, '_> {
    fn item(&mut self, item: &'a Item) {
        match item {
            Item::Import(_) | Item::Graph(_) => {}
            Item::Element(element) => {
                if self.is_first(&element.name, Namespace::Graph) {
                    self.decls.elements.insert(&element.name.text, element);
                }
                self.parameters(&element.params);
            }
            Item::Group(group) => {
                if self.is_first(&group.name, Namespace::Graph) {
                    self.decls.groups.insert(&group.name.text, group);
                }
                self.parameters(&group.params);
            }
            Item::Alias(alias) => {
                if self.is_first(&alias.name, Namespace::Graph) {
                    self.decls.aliases.insert(&alias.name.text, alias);
                }
            }
            Item::Header(header) => {
                if self.is_first(&header.name, Namespace::Type) {
                    self.decls.headers.insert(&header.name.text, header);
                }
            }
            Item::Struct(decl) => {
                if self.is_first(&decl.name, Namespace::Type) {
                    self.decls.structs.insert(&decl.name.text, decl);
                }
            }
            Item::Enum(decl) => self.enumeration(decl),
            Item::Const(decl) => {
                if self.is_first(&decl.name, Namespace::Value) {
                    self.decls.consts.insert(&decl.name.text, decl);
                }
            }
            Item::Function(function) => {
                if self.is_first(&function.name, Namespace::Value) {
                    self.decls.functions.insert(&function.name.text, function);
                }
            }
        }
    }

    fn enumeration(&mut self, decl: &'a ast::EnumDecl) {
        if !decl.scoped {
            for (value, _) in &decl.values {
                self.is_first(value, Namespace::Value);
            }
        }
        match &decl.name {
            Some(name) if self.is_first(name, Namespace::Type) => {
                self.decls.enums.insert(&name.text, decl);
            }
            Some(_) => {}
            None => self.decls.anonymous_enums.push(decl),
        }
    }

    fn parameters(&mut self, params: &'a [ast::ParamDecl]) {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for param in params {
            if let Some(&first) = seen.get(param.name.text.as_str()) {
                let message = format!("parameter `{}` is declared twice", param.name.text);
                let twice = Diagnostic::new(Code::E0404, param.name.span, message, "give one of them another name");
                self.diags.add(twice.related(first, "first declared here"));
            }
            seen.entry(&param.name.text).or_insert(param.name.span);
        }
    }

    /// Enters a name into a namespace; reports it and says no if it is there.
    fn is_first(&mut self, name: &'a Ident, namespace: Namespace) -> bool {
        let seen = &mut self.seen[namespace as usize];
        let Some(&first) = seen.get(name.text.as_str()) else {
            seen.insert(&name.text, name.span);
            return true;
        };
        let code = match namespace {
            Namespace::Graph => Code::E0401,
            Namespace::Type => Code::E0402,
            Namespace::Value => Code::E0403,
        };
        let help = if first.file == name.span.file {
            "remove one of them, or give it another name"
        } else {
            "give one of them another name, or keep one in a file that both import"
        };
        let twice = Diagnostic::new(code, name.span, format!("`{}` is declared twice", name.text), help);
        self.diags.add(twice.related(first, "first declared here"));
        false
    }
}

fn check_aliases(decls: &Decls<'_>, diags: &mut Diagnostics) {
    for alias in decls.aliases.values() {
        let mut target = alias;
        for _ in 0..=decls.aliases.len() {
            match decls.aliases.get(target.target.text.as_str()) {
                Some(next) => target = next,
                None => break,
            }
        }
        if decls.aliases.contains_key(target.target.text.as_str()) {
            let message = format!("alias `{}` leads back to itself", alias.name.text);
            diags.add(Diagnostic::new(Code::E0405, alias.span, message, "let it name an element or a group"));
        }
    }
}
