//! Metadata that travels with each packet: the `.meta` fields of all elements of a graph, put together.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic};
use ir::{Field, MetaField};
use syntax::ast::{ElementDecl, SectionKind, VarDecl};

use crate::consts::ConstEnv;
use crate::scope::{Decls, Diagnostics, MetaDecl};
use crate::types;

/// Most bits that metadata may have: 128 bytes.
const BITS_MAX: u32 = 1024;

/// The metadata of a graph.
#[derive(Default)]
pub struct Metadata<'a> {
    /// Scalars in layout order.
    pub fields: Vec<MetaField>,
    /// Declarations by field name.
    pub by_name: BTreeMap<String, MetaDecl<'a>>,
    /// A field was left out, which is reported; bodies that use it would be reported too.
    pub is_incomplete: bool,
}

/// Collects the fields of these elements; two declarations of a name must agree in type.
pub fn collect<'a>(
    elements: impl IntoIterator<Item = &'a ElementDecl>,
    decls: &Decls<'a>,
    diags: &mut Diagnostics,
) -> Metadata<'a> {
    let mut metadata = Metadata::default();
    let env = ConstEnv { decls, names: BTreeMap::new() };
    for var in elements.into_iter().flat_map(declared) {
        match types::var_fields(decls, &env, var) {
            Ok(fields) => metadata.add(var, &fields, diags),
            Err(diagnostic) => {
                diags.add(diagnostic);
                metadata.is_incomplete = true;
            }
        }
    }
    metadata
}

fn declared(element: &ElementDecl) -> impl Iterator<Item = &VarDecl> {
    element.sections.iter().flat_map(|section| match &section.kind {
        SectionKind::Meta(vars) => vars.as_slice(),
        SectionKind::State(_) | SectionKind::Init(_) | SectionKind::Handler(_) | SectionKind::Packet(..) => &[],
        SectionKind::Body(..) | SectionKind::End(_) | SectionKind::Signal(_) => &[],
        SectionKind::Timing(_) | SectionKind::HlsPragma(_) | SectionKind::Native(_) => &[],
    })
}

impl<'a> Metadata<'a> {
    fn add(&mut self, var: &'a VarDecl, fields: &[Field], diags: &mut Diagnostics) {
        let scalars: Vec<MetaField> = fields.iter().map(meta_field).collect();
        if let Some(known) = self.by_name.get(&var.name.text) {
            let first = known.first as usize;
            let begins_other = |at: &usize| self.by_name.values().any(|other| other.first as usize == *at);
            let end = (first + 1..self.fields.len()).find(begins_other).unwrap_or(self.fields.len());
            if self.fields[first..end] != scalars[..] {
                diags.add(differs(var, known.var));
            }
            return;
        }
        let bits = |fields: &[MetaField]| fields.iter().map(|field| field.width.bits()).sum::<u32>();
        let total = bits(&self.fields) + bits(&scalars);
        if total > BITS_MAX {
            let message = format!("with `{}`, metadata takes {total} bits", var.name.text);
            let help = format!("keep the metadata of a graph within {BITS_MAX} bits; narrow fields with `uint<N>`");
            self.is_incomplete = true;
            diags.add(Diagnostic::new(Code::E0219, var.span, message, help));
            return;
        }
        let first = self.fields.len() as u32;
        self.fields.extend(scalars);
        self.by_name.insert(var.name.text.clone(), MetaDecl { var, first });
    }
}

fn meta_field(field: &Field) -> MetaField {
    MetaField { name: field.name.clone(), width: field.width, signed: field.signed }
}

fn differs(var: &VarDecl, first: &VarDecl) -> Diagnostic {
    let message = format!("metadata field `{}` has two types", var.name.text);
    let help = "metadata is one for the whole graph: give both the same type, or one of them another name";
    Diagnostic::new(Code::E0218, var.span, message, help).related(first.span, "declared with another type here")
}
