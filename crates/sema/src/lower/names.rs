//! What a name means at a place, and constants, structs and enums by name.
//!
//! Names are looked up from the innermost block outwards to the element's state, its parameters, and the file. Inside a function
//! only its own blocks and the file are visible. File-level constants are evaluated on first use, in the file's scope.

use std::rc::Rc;

use diag::{Code, Span};
use ir::{Value, Width};
use syntax::ast::{self, Expr, ExprKind};

use super::place::{Place, Rom, Storage, StoredLeaf};
use super::{Lowerer, Reported, Res};
use crate::scope::ConstValue;
use crate::suggest::nearest;
use crate::types::{IntKind, IntType, StructKind, StructType, Type};

/// How many structs may stand in each other.
const STRUCT_DEPTH_MAX: usize = 32;
/// How many numbers a struct may hold, an array counted once.
const STRUCT_LEAVES_MAX: usize = 4096;

/// A compile-time integer of a type.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its bits.
    pub value: Value,
    /// Its type.
    pub ty: IntType,
}

/// An enum with its values.
#[derive(Debug)]
pub struct EnumType {
    /// Underlying type.
    pub ty: IntType,
    /// Values by name.
    pub values: Vec<(String, Value)>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Entity<'a> {
    /// A variable, or a constant array.
    Place(Place),
    /// A constant.
    Constant(Constant),
    /// A struct type.
    Struct(Rc<StructType>),
    /// An enum type.
    Enum(Rc<EnumType>),
    /// A constant that is evaluated on first use.
    Pending(&'a ast::ConstDecl),
}

/// The type of a parameter or repeat variable, which carries only width and sign.
pub fn const_value_type(value: &ConstValue) -> IntType {
    let kind = match value.width.bits() {
        1 => IntKind::Bool,
        8 | 16 | 32 | 64 => IntKind::C,
        _ => IntKind::Exact,
    };
    IntType { kind, width: value.width, signed: value.signed }
}

impl<'a> Lowerer<'a, '_> {
    /// What a name stands for here; the error of a constant's value is reported.
    pub fn lookup(&mut self, name: &str) -> Res<Option<Entity<'a>>> {
        let visible = &self.scopes[self.scope_base..];
        if let Some(entity) = visible.iter().rev().find_map(|scope| scope.get(name)) {
            return Ok(Some(entity.clone()));
        }
        if self.calls.is_empty() {
            if let Some(entity) = self.element_name(name)? {
                return Ok(Some(entity));
            }
            if let Some(value) = self.params.get(name) {
                let ty = const_value_type(value);
                return Ok(Some(Entity::Constant(Constant { value: value.value.clone(), ty })));
            }
        }
        self.file_name(name)
    }

    /// A state variable or constant of the element.
    pub fn element_name(&mut self, name: &str) -> Res<Option<Entity<'a>>> {
        match self.element_names.get(name).cloned() {
            Some(Entity::Pending(decl)) => {
                let entity = self.constant_entity(decl)?;
                self.element_names.insert(name.to_string(), entity.clone());
                Ok(Some(entity))
            }
            other => Ok(other),
        }
    }

    fn file_name(&mut self, name: &str) -> Res<Option<Entity<'a>>> {
        if let Some(entity) = self.file_consts.get(name) {
            return Ok(Some(entity.clone()));
        }
        if let Some(&decl) = self.decls.consts.get(name) {
            let entity = self.in_file_scope(|lowerer| lowerer.constant_entity(decl))?;
            self.file_consts.insert(name.to_string(), entity.clone());
            return Ok(Some(entity));
        }
        let decls = self.decls;
        let unscoped = decls.enums.values().copied().filter(|decl| !decl.scoped);
        let holds = |decl: &&ast::EnumDecl| decl.values.iter().any(|(value, _)| value.text == name);
        let Some(decl) = decls.anonymous_enums.iter().copied().chain(unscoped).find(holds) else { return Ok(None) };
        let enum_type = self.in_file_scope(|lowerer| lowerer.enum_type(decl))?;
        for (value_name, value) in &enum_type.values {
            let constant = Constant { value: value.clone(), ty: enum_type.ty };
            self.file_consts.insert(value_name.clone(), Entity::Constant(constant));
        }
        Ok(self.file_consts.get(name).cloned())
    }

    /// Evaluates with only the file's names visible.
    pub fn in_file_scope<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let scopes = std::mem::replace(&mut self.scopes, vec![Default::default()]);
        let base = std::mem::replace(&mut self.scope_base, 0);
        let element_names = std::mem::take(&mut self.element_names);
        let params = std::mem::take(&mut self.params);
        let result = f(self);
        self.scopes = scopes;
        self.scope_base = base;
        self.element_names = element_names;
        self.params = params;
        result
    }

    /// The error for a name that stands for nothing.
    pub fn unknown_name(&mut self, name: &str, span: Span) -> Reported {
        let mut candidates: Vec<&str> =
            self.scopes[self.scope_base..].iter().flat_map(|scope| scope.keys().map(String::as_str)).collect();
        candidates.extend(self.element_names.keys().map(String::as_str));
        candidates.extend(self.params.keys().map(String::as_str));
        candidates.extend(self.decls.consts.keys().copied());
        let enums = self.decls.enums.values().filter(|decl| !decl.scoped).chain(&self.decls.anonymous_enums);
        candidates.extend(enums.flat_map(|decl| decl.values.iter().map(|(value, _)| value.text.as_str())));
        candidates.extend([
            "PORT_ALL",
            "PORT_NULL",
            "NUM_INPORT",
            "NUM_OUTPORT",
            "_input_port",
            "last_rport",
            "pkt",
            "event",
        ]);
        candidates.sort_unstable();
        let help = match nearest(name, candidates) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it in this block, in `.state`, or as a parameter of the element".to_string(),
        };
        self.error(Code::E0301, span, format!("unknown name `{name}`"), help)
    }

    /// Declares a name in the innermost block.
    pub fn declare(&mut self, name: &ast::Ident, entity: Entity<'a>) {
        let scope = self.scopes.last_mut().expect("there is a scope");
        if scope.insert(name.text.clone(), entity).is_some() {
            let message = format!("`{}` is declared twice in this block", name.text);
            self.error(Code::E0318, name.span, message, "use another name, or assign to the first one");
        }
    }

    /// The value of a constant declaration.
    pub fn constant_entity(&mut self, decl: &'a ast::ConstDecl) -> Res<Entity<'a>> {
        let name = &decl.name.text;
        if self.const_stack.contains(name) {
            let message = format!("the value of `{name}` needs itself");
            return Err(self.error(
                Code::E0326,
                decl.name.span,
                message,
                "give one of the constants a value of its own",
            ));
        }
        self.const_stack.push(name.clone());
        let entity = self.constant_value_entity(decl);
        self.const_stack.pop();
        entity
    }

    fn constant_value_entity(&mut self, decl: &'a ast::ConstDecl) -> Res<Entity<'a>> {
        let mut ty = if matches!(decl.ty.kind, ast::TypeKind::Auto) {
            let (ty, _) = self.constant(&decl.value, None)?;
            ty
        } else {
            self.resolve_type(&decl.ty)?
        };
        for (at, dim) in decl.dims.iter().enumerate().rev() {
            let length = match dim {
                Some(dim) => self.array_length(dim)?,
                None if at == 0 => self.initialiser_length(&decl.value)?,
                None => {
                    let help = "only the first dimension may be left to the initialiser";
                    return Err(self.error(Code::E0322, decl.name.span, "array dimension without a size", help));
                }
            };
            ty = Type::Array(Box::new(ty), length);
        }
        let (ty, values) = self.constant(&decl.value, Some(&ty))?;
        Ok(match ty {
            Type::Int(int) => Entity::Constant(Constant { value: values[0].clone(), ty: int }),
            other => Entity::Place(self.rom_place(&decl.name.text, other, &values)),
        })
    }

    fn initialiser_length(&mut self, value: &Expr) -> Res<u64> {
        match &value.kind {
            ExprKind::Braces { elems, .. } if !elems.is_empty() => Ok(elems.len() as u64),
            _ => {
                let help = "write its elements in braces, or its size in the brackets";
                Err(self.error(Code::E0322, value.span, "the array's size is not known", help))
            }
        }
    }

    /// A read-only place whose words are constants; values in order of [`Type::scalars`].
    pub fn rom_place(&mut self, name: &str, ty: Type, values: &[Value]) -> Place {
        let orders = leaf_orders(&ty);
        let leaves = ty
            .leaves()
            .into_iter()
            .zip(orders)
            .map(|(leaf, order)| {
                let words = order.iter().map(|&at| values[at].clone()).collect();
                let name = if leaf.path.is_empty() { name.to_string() } else { format!("{name}.{}", leaf.path) };
                let rom = Rom { name, words, var: None.into() };
                StoredLeaf { ty: leaf.ty, dims: leaf.dims, storage: Storage::Rom(Rc::new(rom)) }
            })
            .collect();
        Place {
            ty,
            leaves: Rc::new(leaves),
            first: 0,
            indices: vec![],
            bits: None,
            read_only: Some("a constant"),
            body: self.body_id,
            name: name.to_string(),
        }
    }

    /// The enum's values.
    pub fn enum_type(&mut self, decl: &ast::EnumDecl) -> Res<Rc<EnumType>> {
        let ty = match &decl.underlying {
            None => IntType::INT,
            Some(written) => match self.resolve_type(written)? {
                Type::Int(int) => int,
                other => {
                    let message = format!("an enum cannot be of type `{}`", other.name());
                    return Err(self.error(Code::E0303, written.span, message, "use an integer type"));
                }
            },
        };
        // Later values may name earlier ones.
        self.scopes.push(Default::default());
        let mut values = Vec::new();
        let mut next = Value::ZERO;
        let one = Value::Small(1);
        for (name, init) in &decl.values {
            if let Some(init) = init {
                match self.constant(init, Some(&Type::Int(ty))) {
                    Ok((_, given)) => next = given[0].clone(),
                    Err(reported) => {
                        self.scopes.pop();
                        return Err(reported);
                    }
                }
            }
            let constant = Entity::Constant(Constant { value: next.clone(), ty });
            self.scopes.last_mut().expect("pushed above").insert(name.text.clone(), constant);
            values.push((name.text.clone(), next.clone()));
            next = ir::eval::pure(ir::Opcode::Add, &ir::Attr::None, &[(&next, ty.width), (&one, ty.width)], ty.width);
        }
        self.scopes.pop();
        Ok(Rc::new(EnumType { ty, values }))
    }

    /// `Enum::A`.
    pub fn qualified(&mut self, qualifier: &ast::Ident, name: &ast::Ident) -> Res<Constant> {
        let enum_type = match self.type_name(&qualifier.text)? {
            Some(Entity::Enum(enum_type)) => enum_type,
            _ => {
                let message = format!("unknown enum `{}`", qualifier.text);
                let help = "declare it with `enum`; other qualified names are not in the language or its library";
                return Err(self.error(Code::E0302, qualifier.span, message, help));
            }
        };
        match enum_type.values.iter().find(|(value, _)| *value == name.text) {
            Some((_, value)) => Ok(Constant { value: value.clone(), ty: enum_type.ty }),
            None => {
                let near = nearest(&name.text, enum_type.values.iter().map(|(value, _)| value.as_str()));
                let help = near.map_or("see its declaration".to_string(), |near| format!("did you mean `{near}`?"));
                let message = format!("`{}` has no value `{}`", qualifier.text, name.text);
                Err(self.error(Code::E0301, name.span, message, help))
            }
        }
    }

    /// A struct, header or enum by name.
    pub fn type_name(&mut self, name: &str) -> Res<Option<Entity<'a>>> {
        let is_type = |entity: &&Entity<'a>| matches!(entity, Entity::Struct(_) | Entity::Enum(_));
        let visible = &self.scopes[self.scope_base..];
        let local = visible.iter().rev().find_map(|scope| scope.get(name).filter(is_type));
        let element = || self.element_names.get(name).filter(is_type);
        if let Some(entity) = local.or_else(element) {
            return Ok(Some(entity.clone()));
        }
        if let Some(done) = self.structs.get(name) {
            return Ok(Some(Entity::Struct(done.clone())));
        }
        if let Some(&decl) = self.decls.structs.get(name) {
            if self.faulty_structs.contains(name) {
                return Err(Reported);
            }
            let outcome = self.in_file_scope(|lowerer| lowerer.struct_type(decl));
            match &outcome {
                Ok(done) => _ = self.structs.insert(name.to_string(), done.clone()),
                Err(_) => _ = self.faulty_structs.insert(name.to_string()),
            }
            return outcome.map(|done| Some(Entity::Struct(done)));
        }
        if let Some(&decl) = self.decls.headers.get(name) {
            return self.in_file_scope(|lowerer| lowerer.header_type(decl)).map(|done| {
                self.structs.insert(name.to_string(), done.clone());
                Some(Entity::Struct(done))
            });
        }
        match self.decls.enums.get(name) {
            Some(&decl) => Ok(Some(Entity::Enum(self.in_file_scope(|lowerer| lowerer.enum_type(decl))?))),
            None => Ok(None),
        }
    }

    /// A struct declaration as a type.
    pub fn struct_type(&mut self, decl: &ast::StructDecl) -> Res<Rc<StructType>> {
        let name = &decl.name.text;
        if self.struct_stack.contains(name) {
            let message = format!("struct `{name}` contains itself");
            return Err(self.error(Code::E0422, decl.name.span, message, "keep an index into an array instead"));
        }
        if self.struct_stack.len() >= STRUCT_DEPTH_MAX {
            let message = format!("struct `{name}` is nested too deeply");
            let help = format!(
                "at most {STRUCT_DEPTH_MAX} structs stand in each other; put the fields of some directly into the outer one"
            );
            return Err(self.error(Code::E0322, decl.name.span, message, help));
        }
        self.struct_stack.push(name.clone());
        let mut fields: Vec<(String, Type)> = Vec::new();
        let mut failed = None;
        for field in &decl.fields {
            match self.declared_type(&field.ty, &field.dims) {
                Ok(ty) if fields.iter().any(|(old, _)| *old == field.name.text) => {
                    let message = format!("field `{}` is declared twice", field.name.text);
                    failed = Some(self.error(Code::E0318, field.name.span, message, "rename one of them"));
                    let _ = ty;
                }
                Ok(ty) => fields.push((field.name.text.clone(), ty)),
                Err(reported) => failed = Some(reported),
            }
        }
        self.struct_stack.pop();
        let n_leaves: usize = fields.iter().map(|(_, ty)| ty.n_leaves()).sum();
        if failed.is_none() && n_leaves > STRUCT_LEAVES_MAX {
            let message = format!("struct `{name}` has {n_leaves} numbers, those of structs in it counted");
            let help =
                format!("at most {STRUCT_LEAVES_MAX}; an array counts once, so replace repeated fields by an array");
            failed = Some(self.error(Code::E0322, decl.name.span, message, help));
        }
        match failed {
            Some(reported) => Err(reported),
            None => Ok(Rc::new(StructType { name: name.clone(), kind: StructKind::Plain, fields })),
        }
    }

    fn header_type(&mut self, decl: &ast::HeaderDecl) -> Res<Rc<StructType>> {
        let mut fields = Vec::new();
        let mut total = 0_u64;
        for (field, bits) in &decl.fields {
            let width = self.width_argument(bits)?;
            total += u64::from(width.bits());
            fields.push((field.text.clone(), Type::Int(IntType::exact(width))));
        }
        if total == 0 || !total.is_multiple_of(8) || total > u64::from(Width::MAX_BITS) {
            let message = format!("the fields of header `{}` take {total} bits", decl.name.text);
            let help = if total > u64::from(Width::MAX_BITS) {
                "a header has at most 1024 bytes".to_string()
            } else {
                format!("a header fills whole bytes: add {} bits", (8 - total % 8) % 8)
            };
            return Err(self.error(Code::E0421, decl.name.span, message, help));
        }
        Ok(Rc::new(StructType { name: decl.name.text.clone(), kind: StructKind::Header, fields }))
    }
}

/// For each leaf of a type, where its words (row-major) stand among the type's scalars.
pub fn leaf_orders(ty: &Type) -> Vec<Vec<usize>> {
    fn walk(ty: &Type, leaf: &mut usize, scalar: &mut usize, orders: &mut [Vec<usize>]) {
        match ty {
            Type::Void => {}
            Type::Int(_) => {
                orders[*leaf].push(*scalar);
                *leaf += 1;
                *scalar += 1;
            }
            Type::Struct(struct_type) => {
                struct_type.fields.iter().for_each(|(_, ty)| walk(ty, leaf, scalar, orders));
            }
            Type::Array(element, length) => {
                let first = *leaf;
                for _ in 0..*length {
                    *leaf = first;
                    walk(element, leaf, scalar, orders);
                }
            }
        }
    }
    let mut orders = vec![Vec::new(); ty.n_leaves()];
    walk(ty, &mut 0, &mut 0, &mut orders);
    orders
}
