//! The tree as text: s-expressions, one declaration or statement a line, nested ones indented.
//!
//! Spans are left out, so two texts with equal dumps mean the same. Used by `dump --stage ast` and by the formatter's tests.

mod bodies;
mod graphs;

use crate::ast::{
    ConstDecl, ElementDecl, EnumDecl, Expr, File, FnParam, GroupDecl, Item, ParamDecl, PortList, Section, SectionKind,
    SignalDecl, StateDecl, StructDecl, VarDecl,
};
use bodies::{expr, ty};

/// The tree of a file, spans left out. Ends with a newline unless empty.
pub fn dump(file: &File) -> String {
    let mut out = Lines::default();
    file.items.iter().for_each(|item| out.item(item));
    out.text
}

/// Lines of s-expressions under construction.
#[derive(Default)]
struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// `(head`, what `inner` writes on lines of their own, and `)` at the end of the last one.
    fn node(&mut self, head: &str, inner: impl FnOnce(&mut Lines)) {
        self.line(&format!("({head}"));
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.text.pop();
        self.text.push_str(")\n");
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Import(import) => self.line(&format!("(import {:?})", import.path)),
            Item::Element(element) => self.element(element),
            Item::Group(group) => self.group(group),
            Item::Alias(alias) => self.line(&format!("(alias {} {})", alias.name.text, alias.target.text)),
            Item::Header(header) => self.node(&format!("header {}{}", header.name.text, doc(&header.doc)), |out| {
                for (name, width) in &header.fields {
                    out.line(&format!("({} {})", name.text, expr(width)));
                }
            }),
            Item::Struct(decl) => self.structure(decl),
            Item::Enum(decl) => self.line(&enumeration(decl)),
            Item::Const(decl) => self.line(&constant(decl)),
            Item::Function(function) => {
                let head = format!(
                    "function {} {} {}{}",
                    function.name.text,
                    ty(&function.result),
                    params(&function.params),
                    doc(&function.doc)
                );
                self.node(&head, |out| out.block(&function.body));
            }
            Item::Graph(stmt) => self.graph_stmt(stmt),
        }
    }

    fn element(&mut self, element: &ElementDecl) {
        let head = format!(
            "element {} {} {}{}{}",
            element.name.text,
            ports(&element.inputs),
            ports(&element.outputs),
            element_params(&element.params),
            doc(&element.doc)
        );
        self.node(&head, |out| element.sections.iter().for_each(|section| out.section(section)));
    }

    fn group(&mut self, group: &GroupDecl) {
        let side = |list: &Option<PortList>| list.as_ref().map_or("-".to_owned(), ports);
        let head = format!(
            "element_group {} {} {}{}{}",
            group.name.text,
            side(&group.inputs),
            side(&group.outputs),
            element_params(&group.params),
            doc(&group.doc)
        );
        self.node(&head, |out| group.body.iter().for_each(|stmt| out.graph_stmt(stmt)));
    }

    fn section(&mut self, section: &Section) {
        match &section.kind {
            SectionKind::State(decls) => self.node("state", |out| decls.iter().for_each(|decl| out.state_decl(decl))),
            SectionKind::Meta(fields) => {
                self.node("meta", |out| fields.iter().for_each(|field| out.line(&variable(field))))
            }
            SectionKind::Init(body) => self.node("init", |out| out.block(body)),
            SectionKind::Handler(body) => self.node("handler", |out| out.block(body)),
            SectionKind::Packet(options, body) => {
                let named = [("window", &options.window), ("grow", &options.grow), ("store", &options.store)];
                let given = named.iter().filter_map(|(name, e)| e.as_ref().map(|e| format!(" ({name} {})", expr(e))));
                self.node(&format!("packet{}", given.collect::<String>()), |out| out.block(body));
            }
            SectionKind::Body(list, body) => self.node(&format!("body {}", params(list)), |out| out.block(body)),
            SectionKind::End(body) => self.node("end", |out| out.block(body)),
            SectionKind::Signal(SignalDecl::Raw { params: list, body }) => {
                self.node(&format!("signal {}", params(list)), |out| out.block(body));
            }
            SectionKind::Signal(SignalDecl::Typed { doc: text, name, params: list, results, body }) => {
                let head = format!("signal {} {} {}{}", name.text, params(list), params(results), doc(text));
                self.node(&head, |out| out.block(body));
            }
            SectionKind::Timing(timing) => {
                let ii = timing.ii.as_ref().map_or(String::new(), |ii| format!(" (ii {})", expr(ii)));
                let always = if timing.always.is_some() { " always" } else { "" };
                self.line(&format!("(timing{ii}{always})"));
            }
            SectionKind::HlsPragma(text) => self.line(&format!("(hls_pragma {text:?})")),
            SectionKind::Native(name) => self.line(&format!("(native {})", name.text)),
        }
    }

    fn state_decl(&mut self, decl: &StateDecl) {
        match decl {
            StateDecl::Var(decl) => self.line(&variable(decl)),
            StateDecl::Const(decl) => self.line(&constant(decl)),
            StateDecl::Struct(decl) => self.structure(decl),
            StateDecl::Enum(decl) => self.line(&enumeration(decl)),
        }
    }

    fn structure(&mut self, decl: &StructDecl) {
        self.node(&format!("struct {:?}", decl.name.text), |out| {
            decl.fields.iter().for_each(|field| out.line(&variable(field)));
        });
    }
}

fn doc(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" (doc {text:?})") }
}

fn ports(list: &PortList) -> String {
    let groups: Vec<String> = list
        .groups
        .iter()
        .map(|group| match &group.ty {
            Some(message) => format!("{}:{}", expr(&group.count), ty(message)),
            None => expr(&group.count),
        })
        .collect();
    format!("[{}]", groups.join(" "))
}

fn element_params(list: &[ParamDecl]) -> String {
    list.iter()
        .map(|param| {
            let default = param.default.as_ref().map_or(String::new(), |value| format!(" {}", expr(value)));
            let range =
                param.range.as_ref().map_or(String::new(), |(lo, hi)| format!(" (in {} {})", expr(lo), expr(hi)));
            format!(" (param {} {}{default}{range})", param.name.text, ty(&param.ty))
        })
        .collect()
}

fn params(list: &[FnParam]) -> String {
    let one = |param: &FnParam| {
        let dims: String = param.dims.iter().map(|dim| format!("[{}]", expr(dim))).collect();
        let reference = if param.by_reference { "&" } else { "" };
        let default = param.default.as_ref().map_or(String::new(), |default| format!(" {}", expr(default)));
        format!("({}{dims} {}{reference}{default})", param.name.text, ty(&param.ty))
    };
    format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(" "))
}

fn variable(decl: &VarDecl) -> String {
    let word = if decl.is_const { "const-var" } else { "var" };
    let dims: String = decl.dims.iter().map(|dim| format!("[{}]", expr(dim))).collect();
    let init = decl.init.as_ref().map_or(String::new(), |init| format!(" {}", expr(init)));
    format!("({word} {}{dims} {}{init})", decl.name.text, ty(&decl.ty))
}

fn constant(decl: &ConstDecl) -> String {
    let size = |dim: &Option<Expr>| format!("[{}]", dim.as_ref().map_or(String::new(), expr));
    let dims: String = decl.dims.iter().map(size).collect();
    format!("(const {}{dims} {} {})", decl.name.text, ty(&decl.ty), expr(&decl.value))
}

fn enumeration(decl: &EnumDecl) -> String {
    let name = decl.name.as_ref().map_or("-", |name| &name.text);
    let underlying = decl.underlying.as_ref().map_or(String::new(), |under| format!(" (underlying {})", ty(under)));
    let values: String = decl
        .values
        .iter()
        .map(|(name, value)| match value {
            Some(value) => format!(" ({} {})", name.text, expr(value)),
            None => format!(" {}", name.text),
        })
        .collect();
    let word = if decl.scoped { "enum-class" } else { "enum" };
    format!("({word} {name}{underlying}{values})")
}
