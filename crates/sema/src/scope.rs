//! What names mean at file level, and what one element instance is lowered from.
//!
//! The border between elaboration (`resolve.rs`, `elaborate.rs`, the graph checks) and bodies (`lower/`): elaboration loads files,
//! fills [`Decls`] and decides the ports and parameters of each instance; lowering turns the element's sections into IR.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic};
use ir::{Handler, MessageTypeId, Signal, Timing, Value, Var, Width};
use syntax::ast;

/// All declarations of the root file and everything that it imports. One namespace, as in C.
#[derive(Default)]
pub struct Decls<'a> {
    /// Elements by name; aliases are resolved in `aliases`.
    pub elements: BTreeMap<&'a str, &'a ast::ElementDecl>,
    /// Alias to the declaration that names its target.
    pub aliases: BTreeMap<&'a str, &'a ast::AliasDecl>,
    /// Groups by name.
    pub groups: BTreeMap<&'a str, &'a ast::GroupDecl>,
    /// Structs by name.
    pub structs: BTreeMap<&'a str, &'a ast::StructDecl>,
    /// Headers by name; each is a struct type as well.
    pub headers: BTreeMap<&'a str, &'a ast::HeaderDecl>,
    /// Named enums, and their values if not scoped.
    pub enums: BTreeMap<&'a str, &'a ast::EnumDecl>,
    /// Anonymous enums: only their values are visible.
    pub anonymous_enums: Vec<&'a ast::EnumDecl>,
    /// File-level constants by name.
    pub consts: BTreeMap<&'a str, &'a ast::ConstDecl>,
    /// File-level functions by name.
    pub functions: BTreeMap<&'a str, &'a ast::FunctionDecl>,
}

/// A compile-time integer and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstValue {
    /// The bits, below `2^width`.
    pub value: Value,
    /// Its width.
    pub width: Width,
    /// Two's complement.
    pub signed: bool,
}

/// A metadata field of the graph: `.meta` declarations of all elements put together, names unique.
pub struct MetaDecl<'a> {
    /// The declaration that was met first.
    pub var: &'a ast::VarDecl,
    /// Position in [`ir::Design::meta`] of its first scalar.
    pub first: u32,
}

/// What lowering needs to know of one instance.
pub struct LowerInput<'a> {
    /// File-level names.
    pub decls: &'a Decls<'a>,
    /// The element.
    pub element: &'a ast::ElementDecl,
    /// For default drop reasons: the instance's name.
    pub instance: &'a str,
    /// Every parameter with its value, in declaration order.
    pub params: &'a [(String, ConstValue)],
    /// Message type of each input.
    pub inputs: &'a [MessageTypeId],
    /// Message type of each output.
    pub outputs: &'a [MessageTypeId],
    /// The design's message types (0 is `flit_t`, 1 is `packet`); struct types carry the struct's name.
    pub message_types: &'a [ir::MessageType],
    /// Metadata of the graph by name.
    pub meta: &'a BTreeMap<String, MetaDecl<'a>>,
}

/// What lowering makes of one instance: the fields of [`ir::Element`] that come from its sections.
pub struct Lowered {
    /// State.
    pub vars: Vec<Var>,
    /// `.init`.
    pub init: Option<ir::Body>,
    /// `.handler` or `.packet`.
    pub handler: Handler,
    /// Signals.
    pub signals: Vec<Signal>,
    /// Promises.
    pub timing: Timing,
    /// `.hls_pragma` text.
    pub hls_pragmas: Vec<String>,
    /// `.native`: a kernel that fits.
    pub native: Option<String>,
}

/// Collects diagnostics; equal ones are kept once, so that an element instantiated twice reports once.
#[derive(Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a diagnostic unless an equal one, or one with the same code at the same place, is there.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        let same = |old: &Diagnostic| old.code == diagnostic.code && old.primary.span == diagnostic.primary.span;
        if !self.list.iter().any(same) {
            self.list.push(diagnostic);
        }
    }

    /// Whether one with this code was added.
    pub fn has(&self, code: Code) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.code == code)
    }

    /// Whether any error (not only warnings) was added.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity() == diag::Severity::Error)
    }

    /// All of them, by file and place.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|diagnostic| (diagnostic.primary.span, diagnostic.code));
        self.list
    }
}
