//! Types of the language and how they flatten to exact-width scalars.
//!
//! Lowering knows a type as a tree ([`Type`]); the intermediate representation knows scalars only. [`Type::leaves`] keeps arrays
//! as dimensions (state and local arrays become one memory a leaf), [`Type::scalars`] spells them out element by element
//! (messages, metadata and signal arguments). Both go through the fields in declaration order.

use std::rc::Rc;

use diag::Diagnostic;
use ir::{Field, Width};
use syntax::ast;

use crate::consts::ConstEnv;
use crate::lower::scratch;
use crate::scope::Decls;

/// How an integer type behaves in arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntKind {
    /// `bool`: everything but 0 converts to 1.
    Bool,
    /// A C type: promoted to 32 bits at least.
    C,
    /// `uint<N>`, `int<N>`: keeps its width.
    Exact,
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntType {
    /// Which rules it follows.
    pub kind: IntKind,
    /// Bits.
    pub width: Width,
    /// Two's complement.
    pub signed: bool,
}

impl IntType {
    /// `bool`.
    pub const BOOL: IntType = IntType { kind: IntKind::Bool, width: Width::BOOL, signed: false };
    /// `int`.
    pub const INT: IntType = IntType::c(32, true);
    /// `uint`.
    pub const UINT: IntType = IntType::c(32, false);
    /// `uint64_t`.
    pub const UINT64: IntType = IntType::c(64, false);

    /// A C type of 8, 16, 32 or 64 bits.
    pub const fn c(bits: u32, signed: bool) -> IntType {
        IntType { kind: IntKind::C, width: Width::of(bits), signed }
    }

    /// `uint<N>`.
    pub const fn exact(width: Width) -> IntType {
        IntType { kind: IntKind::Exact, width, signed: false }
    }

    /// As the user would write it.
    pub fn name(self) -> String {
        let bits = self.width.bits();
        match (self.kind, self.signed) {
            (IntKind::Bool, _) => "bool".to_string(),
            (IntKind::C, true) => format!("int{bits}_t"),
            (IntKind::C, false) => format!("uint{bits}_t"),
            (IntKind::Exact, true) => format!("int<{bits}>"),
            (IntKind::Exact, false) => format!("uint<{bits}>"),
        }
    }

    /// The C and built-in integer types by name.
    pub fn by_name(name: &str) -> Option<IntType> {
        Some(match name {
            "bool" => IntType::BOOL,
            "char" | "int8_t" => IntType::c(8, true),
            "uint8_t" | "uchar" => IntType::c(8, false),
            "int16_t" | "short" => IntType::c(16, true),
            "uint16_t" | "ushort" => IntType::c(16, false),
            "int32_t" | "int" => IntType::INT,
            "uint32_t" | "uint" | "port_mask_t" | "unsigned" => IntType::UINT,
            "int64_t" | "long" => IntType::c(64, true),
            "uint64_t" | "size_t" | "ulong" => IntType::UINT64,
            _ => return None,
        })
    }
}

/// What a struct type is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructKind {
    /// `struct`.
    Plain,
    /// `.header`: fields in network order, at bit positions from the first byte on.
    Header,
    /// `flit_t`.
    Flit,
}

/// A struct, header or flit.
#[derive(Debug, PartialEq, Eq)]
pub struct StructType {
    /// Its name.
    pub name: String,
    /// What it is made from.
    pub kind: StructKind,
    /// Fields in declaration order.
    pub fields: Vec<(String, Type)>,
}

/// A type of a variable or expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// No value.
    Void,
    /// An integer.
    Int(IntType),
    /// A struct.
    Struct(Rc<StructType>),
    /// A fixed array.
    Array(Box<Type>, u64),
}

/// A scalar of a type with the array dimensions that stand around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Dotted path without dimensions; empty for the type itself.
    pub path: String,
    /// The scalar.
    pub ty: IntType,
    /// Dimensions, outermost first.
    pub dims: Vec<u64>,
}

impl Type {
    /// As the user would write it.
    pub fn name(&self) -> String {
        match self {
            Type::Void => "void".to_string(),
            Type::Int(int) => int.name(),
            Type::Struct(struct_type) => struct_type.name.clone(),
            Type::Array(element, length) => format!("{}[{length}]", element.name()),
        }
    }

    /// Scalars with dimensions, in order.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.collect_leaves("", &[], &mut leaves);
        leaves
    }

    fn collect_leaves(&self, path: &str, dims: &[u64], leaves: &mut Vec<Leaf>) {
        match self {
            Type::Void => {}
            Type::Int(int) => leaves.push(Leaf { path: path.to_string(), ty: *int, dims: dims.to_vec() }),
            Type::Struct(struct_type) => {
                for (name, ty) in &struct_type.fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    ty.collect_leaves(&path, dims, leaves);
                }
            }
            Type::Array(element, length) => element.collect_leaves(path, &[dims, &[*length]].concat(), leaves),
        }
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        match self {
            Type::Void => 0,
            Type::Int(_) => 1,
            Type::Struct(struct_type) => struct_type.fields.iter().map(|(_, ty)| ty.n_leaves()).sum(),
            Type::Array(element, _) => element.n_leaves(),
        }
    }

    /// Number of scalars with arrays spelt out; saturates.
    pub fn n_scalars(&self) -> u64 {
        match self {
            Type::Void => 0,
            Type::Int(_) => 1,
            Type::Struct(struct_type) => {
                struct_type.fields.iter().fold(0, |sum: u64, (_, ty)| sum.saturating_add(ty.n_scalars()))
            }
            Type::Array(element, length) => element.n_scalars().saturating_mul(*length),
        }
    }

    /// Types of all scalars with arrays spelt out, in order. Callers bound [`Type::n_scalars`] before.
    pub fn scalar_types(&self) -> Vec<IntType> {
        let mut fields = Vec::new();
        self.collect_scalars("", &mut fields);
        fields.into_iter().map(|(_, int)| int).collect()
    }

    /// Named scalars with arrays spelt out, as messages and signals carry them. `name` is put in front.
    pub fn scalars(&self, name: &str) -> Vec<Field> {
        let mut fields = Vec::new();
        self.collect_scalars(name, &mut fields);
        fields.into_iter().map(|(name, int)| Field { name, width: int.width, signed: int.signed }).collect()
    }

    fn collect_scalars(&self, path: &str, fields: &mut Vec<(String, IntType)>) {
        match self {
            Type::Void => {}
            Type::Int(int) => fields.push((path.to_string(), *int)),
            Type::Struct(struct_type) => {
                for (name, ty) in &struct_type.fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    ty.collect_scalars(&path, fields);
                }
            }
            Type::Array(element, length) => {
                for at in 0..*length {
                    element.collect_scalars(&format!("{path}[{at}]"), fields);
                }
            }
        }
    }

    /// Size in bytes with C alignment; exact widths count whole bytes, headers are packed.
    pub fn size_bytes(&self) -> u64 {
        self.layout().0
    }

    fn layout(&self) -> (u64, u64) {
        match self {
            Type::Void => (1, 1),
            Type::Int(int) => {
                let bytes = u64::from(int.width.bits().div_ceil(8));
                (bytes, if int.kind == IntKind::Exact { 1 } else { bytes })
            }
            Type::Array(element, length) => {
                let (size, align) = element.layout();
                (size.saturating_mul(*length), align)
            }
            Type::Struct(struct_type) if struct_type.kind == StructKind::Header => {
                (self.leaves().iter().map(|leaf| u64::from(leaf.ty.width.bits())).sum::<u64>() / 8, 1)
            }
            Type::Struct(struct_type) if struct_type.kind == StructKind::Flit => (64, 1),
            Type::Struct(struct_type) => {
                let mut end = 0_u64;
                let mut align_max = 1;
                for (_, ty) in &struct_type.fields {
                    let (size, align) = ty.layout();
                    end = end.next_multiple_of(align).saturating_add(size);
                    align_max = align_max.max(align);
                }
                (end.checked_next_multiple_of(align_max).unwrap_or(end), align_max)
            }
        }
    }
}

/// Flattened scalars of a struct or header, for the fields of a message type.
///
/// The error is the first thing wrong with the declaration; an unknown name has no place to report, so callers look it up first.
pub fn struct_fields(decls: &Decls<'_>, env: &ConstEnv<'_, '_>, name: &str) -> Result<Vec<Field>, Diagnostic> {
    scratch::with(decls, &env.names, |lowerer| lowerer.struct_fields(name))
}

/// Flattened scalars of a `.meta` variable, each name beginning with the variable's.
pub fn var_fields(decls: &Decls<'_>, env: &ConstEnv<'_, '_>, var: &ast::VarDecl) -> Result<Vec<Field>, Diagnostic> {
    scratch::with(decls, &env.names, |lowerer| lowerer.var_fields(var))
}
