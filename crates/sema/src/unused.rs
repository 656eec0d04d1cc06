//! Checks what the root file declares and its graph does not reach: elements, functions, types and constants.
//!
//! Bodies are lowered only where they are instantiated, functions only where they are called. What nobody uses is lowered here once,
//! only to report its faults: an element with its default parameters, everything else through an element made for it, a *probe*,
//! whose own text no report may name.

use std::collections::BTreeSet;

use diag::{Code, Diagnostic, FileId, Severity, SourceMap, Span};
use syntax::ast::{ElementDecl, FunctionDecl, Item, TypeKind};

use crate::arguments;
use crate::consts::ConstEnv;
use crate::files::ParsedFile;
use crate::instances::{Blueprint, Lowering};
use crate::meta;
use crate::ports::{self, MessageTypes, Side};
use crate::scope::{Decls, Diagnostics};

/// The file of probes, which is in no source map.
const PROBE: FileId = FileId(u32::MAX);

/// Reports faults of elements of the root file that are not in `used`, and of its other declarations.
pub fn check(
    root: &ParsedFile,
    used: &BTreeSet<Span>,
    decls: &Decls<'_>,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) {
    for item in &root.ast.items {
        if let Item::Element(element) = item
            && !used.contains(&element.span)
        {
            lower(element, decls, diags);
        }
    }
    for item in &root.ast.items {
        match item {
            Item::Function(function) => probe(&function_probe(function, sources), decls, diags),
            Item::Struct(declared) => probe(&type_probe(&declared.name.text), decls, diags),
            Item::Header(declared) => probe(&type_probe(&declared.name.text), decls, diags),
            Item::Const(declared) => probe(&body_probe("", &format!("{};", declared.name.text)), decls, diags),
            _ => {}
        }
    }
}

/// Lowers an element with its default parameters and port counts.
fn lower(element: &ElementDecl, decls: &Decls<'_>, diags: &mut Diagnostics) {
    let metadata = meta::collect([element], decls, diags);
    if metadata.is_incomplete {
        return;
    }
    let Some(params) = arguments::smallest(&element.params, decls, diags) else { return };
    let mut types = MessageTypes::new();
    let env = ConstEnv { decls, names: params.iter().cloned().collect() };
    let mut side = |list, noun| {
        let side = Side { list, count: None, default: ports::default_message(element), noun };
        ports::message_types(&side, &env, &mut types).map_err(|diagnostic| diags.add(diagnostic)).ok()
    };
    let (Some(inputs), Some(outputs)) = (side(&element.inputs, "input"), side(&element.outputs, "output")) else {
        return;
    };
    let message_types = types.complete(&metadata.fields);
    let mut lowering = Lowering::new(decls, &message_types, &metadata.by_name);
    let blueprint = Blueprint { element, params: &params, inputs: &inputs, outputs: &outputs };
    lowering.lower(&blueprint, &element.name.text, diags);
}

/// Lowers the element of a probe and reports what it finds outside of it.
fn probe(text: &str, decls: &Decls<'_>, diags: &mut Diagnostics) {
    let parsed = syntax::parse(PROBE, text);
    let Some(Item::Element(element)) = parsed.file.items.first().filter(|_| parsed.diagnostics.is_empty()) else {
        return;
    };
    let mut found = Diagnostics::default();
    lower(element, decls, &mut found);
    for report in found.into_sorted() {
        // A circle or a nest of types is one fault, whichever of its names is looked at.
        let spans_names = [Code::E0310, Code::E0322, Code::E0326].contains(&report.code);
        if holds_everywhere(&report) && !(spans_names && diags.has(report.code)) {
            let related = report.related.into_iter().filter(|label| label.span.file != PROBE).collect();
            diags.add(Diagnostic { related, ..report });
        }
    }
}

/// Whether a report on a body is true of each caller: not of the ports and sections of the probe, and not of values.
fn holds_everywhere(report: &Diagnostic) -> bool {
    let depends_on_caller = [Code::E0311, Code::E0314, Code::E0315, Code::E0316, Code::E0321];
    let is_of_bodies = report.code.name().starts_with("E03") && !depends_on_caller.contains(&report.code);
    let is_of_types = [Code::E0421, Code::E0422].contains(&report.code);
    report.severity() == Severity::Error && report.primary.span.file != PROBE && (is_of_bodies || is_of_types)
}

fn type_probe(name: &str) -> String {
    body_probe(&format!("{name} value;"), "")
}

fn body_probe(state: &str, body: &str) -> String {
    format!(".element probe <1, 1> {{ .state {{ {state} }} .handler {{ {body} return PORT_1; }} }}")
}

/// Calls a function with state variables, whose values are not known.
fn function_probe(function: &FunctionDecl, sources: &SourceMap) -> String {
    let (mut state, mut args) = (String::new(), Vec::new());
    let mut takes_packet = false;
    for (param, number) in function.params.iter().zip(1..) {
        if matches!(&param.ty.kind, TypeKind::Name(name) if name == "packet") {
            takes_packet = true;
            args.push("pkt".to_string());
            continue;
        }
        let dims: String = param.dims.iter().map(|dim| format!("[{}]", sources.text(dim.span))).collect();
        state.push_str(&format!("{} argument_{number}{dims}; ", sources.text(param.ty.span)));
        args.push(format!("argument_{number}"));
    }
    let call = format!("{}({});", function.name.text, args.join(", "));
    if takes_packet {
        return format!(".element probe <1, 1> {{ .state {{ {state} }} .packet {{ {call} }} }}");
    }
    body_probe(&state, &call)
}
