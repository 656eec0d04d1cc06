//! What a reader of the library catalogue wants to know of each element and group, as the source says it.

use std::collections::BTreeMap;

use diag::{SourceMap, Span};
use syntax::ast::{self, FnParam, Item, PortList, SectionKind, SignalDecl};

use crate::files::ParsedFile;
use crate::ports;
use crate::resolve::{self, Instantiable};
use crate::scope::Decls;

/// What a catalogue entry describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// `.element` with `.handler`.
    Flit,
    /// `.element` with `.packet`.
    Packet,
    /// `.element_group`.
    Group,
}

/// A declared element or group.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementInfo {
    /// Its name.
    pub name: String,
    /// Further names, sorted.
    pub aliases: Vec<String>,
    /// What it is.
    pub kind: ElementKind,
    /// The folder of its file, such as `core`; empty for a file without folder.
    pub category: String,
    /// The file's name as reports show it.
    pub file: String,
    /// The comment above it.
    pub doc: String,
    /// Input port groups.
    pub inputs: Vec<PortInfo>,
    /// Output port groups.
    pub outputs: Vec<PortInfo>,
    /// Compile-time parameters.
    pub params: Vec<ParamInfo>,
    /// Signals.
    pub signals: Vec<SignalInfo>,
    /// The declaration.
    pub span: Span,
}

/// A group of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// How many, as written.
    pub count: String,
    /// The message type's name.
    pub message: String,
}

/// A compile-time parameter, each part as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// Its default.
    pub default: Option<String>,
    /// Least and greatest value.
    pub range: Option<(String, String)>,
}

/// A signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalInfo {
    /// Its name; `signal` for the raw form.
    pub name: String,
    /// The comment above it.
    pub doc: String,
    /// Type and name of each argument; the name is followed by ` = default` if it may be left out.
    pub params: Vec<(String, String)>,
    /// Type and name of each result.
    pub results: Vec<(String, String)>,
}

/// Every element and group of these files, in order of declaration.
pub fn elements(files: &[ParsedFile], decls: &Decls<'_>, sources: &SourceMap) -> Vec<ElementInfo> {
    let mut aliases: BTreeMap<Span, Vec<String>> = BTreeMap::new();
    for name in decls.aliases.keys() {
        let target = match resolve::instantiable(decls, name) {
            Some(Instantiable::Element(element)) => element.span,
            Some(Instantiable::Group(group)) => group.span,
            None => continue,
        };
        aliases.entry(target).or_default().push(name.to_string());
    }
    let reader = Reader { sources };
    let items = files.iter().flat_map(|file| &file.ast.items);
    let infos = items.filter_map(|item| match item {
        Item::Element(element) => Some(reader.element(element)),
        Item::Group(group) => Some(reader.group(group)),
        Item::Import(_) | Item::Alias(_) | Item::Header(_) | Item::Struct(_) | Item::Enum(_) => None,
        Item::Const(_) | Item::Function(_) | Item::Graph(_) => None,
    });
    infos.map(|info| ElementInfo { aliases: aliases.remove(&info.span).unwrap_or_default(), ..info }).collect()
}

struct Reader<'s> {
    sources: &'s SourceMap,
}

impl Reader<'_> {
    fn element(&self, element: &ast::ElementDecl) -> ElementInfo {
        let default = ports::default_message(element);
        let (kind, message) =
            if default == ir::Design::PACKET { (ElementKind::Packet, "packet") } else { (ElementKind::Flit, "flit_t") };
        let signals = element.sections.iter().filter_map(|section| match &section.kind {
            SectionKind::Signal(signal) => Some(self.signal(signal)),
            SectionKind::State(_) | SectionKind::Meta(_) | SectionKind::Init(_) | SectionKind::Handler(_) => None,
            SectionKind::Packet(..) | SectionKind::Body(..) | SectionKind::End(_) => None,
            SectionKind::Timing(_) | SectionKind::HlsPragma(_) | SectionKind::Native(_) => None,
        });
        ElementInfo {
            kind,
            inputs: self.ports(&element.inputs, message),
            outputs: self.ports(&element.outputs, message),
            params: element.params.iter().map(|param| self.param(param)).collect(),
            signals: signals.collect(),
            ..self.blank(&element.name.text, &element.doc, element.span)
        }
    }

    fn group(&self, group: &ast::GroupDecl) -> ElementInfo {
        let side = |list: &Option<PortList>| list.as_ref().map_or(Vec::new(), |list| self.ports(list, "any"));
        ElementInfo {
            inputs: side(&group.inputs),
            outputs: side(&group.outputs),
            params: group.params.iter().map(|param| self.param(param)).collect(),
            ..self.blank(&group.name.text, &group.doc, group.span)
        }
    }

    fn blank(&self, name: &str, doc: &str, span: Span) -> ElementInfo {
        let file = self.sources.file(span.file).name.clone();
        ElementInfo {
            name: name.to_string(),
            aliases: Vec::new(),
            kind: ElementKind::Group,
            category: category(&file),
            file,
            doc: doc.to_string(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            params: Vec::new(),
            signals: Vec::new(),
            span,
        }
    }

    fn ports(&self, list: &PortList, message: &str) -> Vec<PortInfo> {
        let info = |group: &ast::PortGroup| PortInfo {
            count: self.text(group.count.span),
            message: group.ty.as_ref().map_or(message.to_string(), |ty| self.text(ty.span)),
        };
        list.groups.iter().map(info).collect()
    }

    fn param(&self, param: &ast::ParamDecl) -> ParamInfo {
        ParamInfo {
            name: param.name.text.clone(),
            ty: self.text(param.ty.span),
            default: param.default.as_ref().map(|default| self.text(default.span)),
            range: param.range.as_ref().map(|(low, high)| (self.text(low.span), self.text(high.span))),
        }
    }

    fn signal(&self, signal: &SignalDecl) -> SignalInfo {
        let typed = |params: &[FnParam]| -> Vec<(String, String)> {
            let default = |param: &FnParam| param.default.as_ref().map(|value| format!(" = {}", self.text(value.span)));
            let name = |param: &FnParam| param.name.text.clone() + &default(param).unwrap_or_default();
            params.iter().map(|param| (self.text(param.ty.span), name(param))).collect()
        };
        match signal {
            SignalDecl::Raw { params, .. } => SignalInfo {
                name: "signal".to_string(),
                doc: String::new(),
                params: typed(params),
                results: Vec::new(),
            },
            SignalDecl::Typed { doc, name, params, results, .. } => {
                SignalInfo { name: name.text.clone(), doc: doc.clone(), params: typed(params), results: typed(results) }
            }
        }
    }

    fn text(&self, span: Span) -> String {
        self.sources.text(span).to_string()
    }
}

/// `core` of `library:core/Pass.clnp` and of `elements/core/Pass.clnp`.
fn category(file: &str) -> String {
    let path = file.rsplit(':').next().unwrap_or(file);
    path.rsplit('/').nth(1).unwrap_or_default().to_string()
}
