//! Types as written, constants, and declarations of state and local variables.

use std::rc::Rc;

use diag::{Code, Span};
use ir::{Attr, BodyKind, Field, Opcode, Value, VarId, Width};
use syntax::ast::{self, Expr, ExprKind, TypeExpr, TypeKind};

use super::emit::Emitter;
use super::names::{Constant, Entity};
use super::place::{Place, Storage, StoredLeaf};
use super::{Lowerer, Res, Section, run};
use crate::scope::ConstValue;
use crate::suggest::{nearest, type_spelling};
use crate::types::{IntKind, IntType, Type};

/// Elements up to which an array may be declared: 2^28 words are 256 MiB of bytes.
const DEPTH_MAX: u64 = 1 << 28;
/// Scalars that a constant array may have.
const CONSTANT_SCALARS_MAX: u64 = 1 << 20;

impl<'a> Lowerer<'a, '_> {
    /// A type as written; `auto` must be handled before.
    pub fn resolve_type(&mut self, written: &TypeExpr) -> Res<Type> {
        match &written.kind {
            TypeKind::Void => Ok(Type::Void),
            TypeKind::UInt(width) => {
                let width = self.width_argument(width)?;
                Ok(Type::Int(IntType { kind: IntKind::Exact, width, signed: false }))
            }
            TypeKind::Int(width) => {
                let width = self.width_argument(width)?;
                Ok(Type::Int(IntType { kind: IntKind::Exact, width, signed: true }))
            }
            TypeKind::Auto => {
                let help = "write the type, or give a local variable an initial value";
                Err(self.error(Code::E0302, written.span, "`auto` has nothing here to take the type from", help))
            }
            TypeKind::Name(name) => self.named_type(name, written.span),
        }
    }

    fn named_type(&mut self, name: &str, span: Span) -> Res<Type> {
        if let Some(int) = IntType::by_name(name) {
            return Ok(Type::Int(int));
        }
        match name {
            "flit_t" => return Ok(Type::Struct(self.flit_type.clone())),
            "packet" => {
                let help = "a packet is only seen through `pkt` in a `.packet` element";
                return Err(self.error(Code::E0302, span, "there are no variables of type `packet`", help));
            }
            "float" | "double" => {
                let help = "use integers: `int<N>` with a fixed point";
                return Err(self.error(Code::E0302, span, "floating point is not in the language", help));
            }
            _ => {}
        }
        match self.type_name(name)? {
            Some(Entity::Struct(struct_type)) => Ok(Type::Struct(struct_type)),
            Some(Entity::Enum(enum_type)) => Ok(Type::Int(enum_type.ty)),
            // The spellings of ClickNP's first years.
            _ if name == "flit" => Ok(Type::Struct(self.flit_type.clone())),
            _ if name == "ClSignal" => Ok(super::raw_signal::answer_type()),
            _ => {
                let mut known: Vec<&str> =
                    vec!["bool", "char", "int", "uint", "size_t", "flit_t", "uint8_t", "uint16_t"];
                known.extend(["uint32_t", "uint64_t", "int8_t", "int16_t", "int32_t", "int64_t"]);
                known.extend(self.decls.structs.keys().chain(self.decls.headers.keys()).chain(self.decls.enums.keys()));
                let is_qualified = span.end - span.start > name.len() as u32;
                let help = match (type_spelling(name), nearest(name, known)) {
                    (Some(exact), Some(near)) if exact.contains('<') => format!("did you mean `{near}`, or `{exact}`?"),
                    (Some(meant), _) => format!("did you mean `{meant}`?"),
                    (None, Some(near)) => format!("did you mean `{near}`?"),
                    (None, None) if is_qualified => {
                        let advice = "declare a `struct` and functions on it, or use the element that does this";
                        format!("types of C++ libraries are not in the language: {advice}")
                    }
                    (None, None) => {
                        "declare it with `struct`, `enum` or `.header`, or import the file that does".to_string()
                    }
                };
                Err(self.error(Code::E0302, span, format!("unknown type `{name}`"), help))
            }
        }
    }

    /// The `N` of `uint<N>` or of a header field.
    pub fn width_argument(&mut self, expr: &Expr) -> Res<Width> {
        let value = self.const_expr_here(expr)?;
        let negative = value.signed && value.value.is_negative(value.width);
        let bits = value.value.to_u64().filter(|_| !negative).and_then(|bits| u32::try_from(bits).ok());
        bits.and_then(Width::new).ok_or_else(|| {
            let message = "a width is 1 to 8192 bits";
            self.error(Code::E0319, expr.span, message, "use several variables, or an array, for more")
        })
    }

    /// The length of an array.
    pub fn array_length(&mut self, expr: &Expr) -> Res<u64> {
        let value = self.const_expr_here(expr)?;
        let negative = value.signed && value.value.is_negative(value.width);
        match value.value.to_u64() {
            Some(length) if !negative && (1..=DEPTH_MAX).contains(&length) => Ok(length),
            _ => Err(self.error(Code::E0322, expr.span, "an array has 1 to 2^28 elements", "use a size in that range")),
        }
    }

    /// A type with the dimensions of a declarator.
    pub fn declared_type(&mut self, written: &TypeExpr, dims: &[Expr]) -> Res<Type> {
        let mut ty = self.resolve_type(written)?;
        if ty == Type::Void {
            return Err(self.error(
                Code::E0302,
                written.span,
                "a variable cannot be `void`",
                "give it a type with values",
            ));
        }
        for dim in dims.iter().rev() {
            ty = Type::Array(Box::new(ty), self.array_length(dim)?);
        }
        let depth = ty.leaves().iter().map(|leaf| leaf.dims.iter().fold(1_u64, |n, &d| n.saturating_mul(d))).max();
        if depth.unwrap_or(0) > DEPTH_MAX {
            let span = dims.first().map_or(written.span, |dim| dim.span);
            return Err(self.error(Code::E0322, span, "the array has more than 2^28 elements", "make it smaller"));
        }
        Ok(ty)
    }

    // ---- constants

    /// Value of a constant expression of integer type, in the present scope.
    pub fn const_expr_here(&mut self, expr: &Expr) -> Res<ConstValue> {
        if let ExprKind::Int(literal) = &expr.kind
            && literal.limbs.len() <= 1
        {
            let small = literal.limbs.first().copied().unwrap_or(0);
            if small <= i32::MAX as u64 {
                return Ok(ConstValue { value: small.into(), width: Width::of(32), signed: true });
            }
        }
        let (ty, values) = self.constant(expr, None)?;
        match ty {
            Type::Int(int) => Ok(ConstValue { value: values[0].clone(), width: int.width, signed: int.signed }),
            other => {
                let message = format!("an integer is needed here, this is of type `{}`", other.name());
                Err(self.error(Code::E0303, expr.span, message, "use an element or field of it"))
            }
        }
    }

    /// Value of a constant expression as scalars in order of [`Type::scalars`], converted to a type if one is given.
    pub fn constant(&mut self, expr: &Expr, ty: Option<&Type>) -> Res<(Type, Vec<Value>)> {
        if let Some(ty) = ty
            && ty.n_scalars() > CONSTANT_SCALARS_MAX
        {
            let help = "fill it in `.init` with a loop";
            return Err(self.error(Code::E0321, expr.span, "the constant has more than 2^20 scalars", help));
        }
        let (outcome, emit) = self.in_scratch_body(|lowerer| {
            let value = match ty {
                Some(ty) => lowerer.initial_value(expr, ty)?,
                None => lowerer.value(expr, None)?,
            };
            Ok(value)
        });
        let value = outcome?;
        let known: Option<Vec<Value>> = value.scalars.iter().map(|&scalar| emit.known(scalar).cloned()).collect();
        let values = match known {
            Some(values) => values,
            None => {
                let body = emit.finish(value.scalars);
                match run::run(&body, &self.vars) {
                    Ok(values) => values,
                    Err(run::Stop::TooLong) => {
                        let help = "simplify it, or compute it in `.init`";
                        let message = "this takes too long to evaluate at compile time";
                        return Err(self.error(Code::E0306, expr.span, message, help));
                    }
                    Err(run::Stop::NotConstant) => {
                        let help = "use literals, parameters, enum values and `constexpr` names here";
                        return Err(self.error(Code::E0306, expr.span, "this is not known at compile time", help));
                    }
                }
            }
        };
        Ok((value.ty, values))
    }

    fn in_scratch_body<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (R, Emitter) {
        let emit = std::mem::replace(&mut self.emit, Emitter::new(BodyKind::Signal, &[]));
        let slots = std::mem::take(&mut self.slots);
        let frames = std::mem::take(&mut self.frames);
        let saved = (self.body_id, self.in_constant, self.loop_depth, self.fate, self.section, self.written);
        self.n_bodies += 1;
        self.body_id = self.n_bodies;
        self.in_constant = true;
        self.loop_depth = 0;
        self.section = Section::Constant;
        self.written = None;
        let result = f(self);
        (self.body_id, self.in_constant, self.loop_depth, self.fate, self.section, self.written) = saved;
        self.frames = frames;
        self.slots = slots;
        (result, std::mem::replace(&mut self.emit, emit))
    }

    // ---- state

    /// Declares a state variable: registers and memories with their reset values.
    pub fn declare_state(&mut self, decl: &ast::VarDecl) -> Res<()> {
        let ty = self.declared_type(&decl.ty, &decl.dims)?;
        if let Some(init) = &decl.init
            && decl.is_const
        {
            let (ty, values) = self.constant(init, Some(&ty))?;
            let entity = match ty {
                Type::Int(int) => Entity::Constant(Constant { value: values[0].clone(), ty: int }),
                other => {
                    let mut place = self.rom_place(&decl.name.text, other, &values);
                    place.body = 0;
                    Entity::Place(place)
                }
            };
            return self.add_element_name(&decl.name, entity);
        }
        let resets = match &decl.init {
            Some(init) if !is_zero(init) => Some(self.constant(init, Some(&ty))?.1),
            _ => None,
        };
        let orders = resets.as_ref().map(|_| super::names::leaf_orders(&ty));
        let mut leaves = Vec::new();
        for (at, leaf) in ty.leaves().into_iter().enumerate() {
            let var = VarId(self.vars.len() as u32);
            let depth = (!leaf.dims.is_empty()).then(|| leaf.dims.iter().product());
            let mut reset = match (&resets, &orders) {
                (Some(values), Some(orders)) => orders[at].iter().map(|&word| values[word].clone()).collect(),
                _ => vec![],
            };
            while reset.last() == Some(&Value::ZERO) {
                reset.pop();
            }
            let name = &decl.name.text;
            let name = if leaf.path.is_empty() { name.clone() } else { format!("{name}.{}", leaf.path) };
            self.vars.push(ir::Var { name, width: leaf.ty.width, signed: leaf.ty.signed, depth, reset });
            let storage = if depth.is_some() { Storage::Memory(var) } else { Storage::Register(var) };
            leaves.push(StoredLeaf { ty: leaf.ty, dims: leaf.dims, storage });
        }
        let place = Place {
            ty,
            leaves: Rc::new(leaves),
            first: 0,
            indices: vec![],
            bits: None,
            read_only: None,
            body: 0,
            name: decl.name.text.clone(),
        };
        self.add_element_name(&decl.name, Entity::Place(place))
    }

    /// Adds a name to the element's state.
    pub fn add_element_name(&mut self, name: &ast::Ident, entity: Entity<'a>) -> Res<()> {
        if self.element_names.insert(name.text.clone(), entity).is_some() {
            let message = format!("`{}` is declared twice in `.state`", name.text);
            return Err(self.error(Code::E0318, name.span, message, "rename one of them"));
        }
        Ok(())
    }

    // ---- locals

    /// Declares a local variable and runs its initialiser.
    pub fn declare_local(&mut self, decl: &'a ast::VarDecl) -> Res<()> {
        if matches!(decl.ty.kind, TypeKind::Auto) {
            return self.declare_auto(decl);
        }
        let ty = match self.declared_type(&decl.ty, &decl.dims) {
            Ok(ty) => ty,
            Err(reported) => {
                self.declare_unknown(&decl.name);
                return Err(reported);
            }
        };
        if decl.is_const
            && matches!(ty, Type::Array(..))
            && let Some(init) = &decl.init
            && is_literal(init)
        {
            let (ty, values) = self.constant(init, Some(&ty))?;
            let place = self.rom_place(&decl.name.text, ty, &values);
            self.declare(&decl.name, Entity::Place(place));
            return Ok(());
        }
        let place = self.new_local(&decl.name.text, &ty);
        let result = match &decl.init {
            Some(init) => self.initialise(&place, init),
            None => Ok(()),
        };
        self.finish_local(decl, place);
        result
    }

    fn declare_auto(&mut self, decl: &'a ast::VarDecl) -> Res<()> {
        let Some(init) = &decl.init else {
            self.declare_unknown(&decl.name);
            let help = "write the type, or give it an initial value";
            return Err(self.error(Code::E0302, decl.ty.span, "`auto` has nothing here to take the type from", help));
        };
        let value = match self.value(init, None) {
            Ok(value) => value,
            Err(reported) => {
                self.declare_unknown(&decl.name);
                return Err(reported);
            }
        };
        let place = self.new_local(&decl.name.text, &value.ty);
        let result = self.store(&place, &value.scalars, decl.span);
        self.finish_local(decl, place);
        result
    }

    /// After an error in its declaration a name is known, so that its uses are not reported too.
    fn declare_unknown(&mut self, name: &ast::Ident) {
        let place = self.new_local(&name.text, &Type::Int(IntType::INT));
        self.declare(name, Entity::Place(Place { ty: Type::Void, ..place }));
    }

    fn finish_local(&mut self, decl: &ast::VarDecl, mut place: Place) {
        if decl.is_const {
            place.read_only = Some("a constant");
            if let (Type::Int(ty), [slot]) = (&place.ty, &place.slots()[..])
                && let Some(value) = self.emit.known(self.slots[*slot])
            {
                let constant = Constant { value: value.clone(), ty: *ty };
                return self.declare(&decl.name, Entity::Constant(constant));
            }
        }
        self.declare(&decl.name, Entity::Place(place));
    }

    /// Storage for a local of a type, zero.
    pub fn new_local(&mut self, name: &str, ty: &Type) -> Place {
        let mut leaves = Vec::new();
        for leaf in ty.leaves() {
            let storage = if leaf.dims.is_empty() {
                let zero = self.emit.zero(leaf.ty.width);
                Storage::Slot(self.add_slot(zero))
            } else {
                let name = if leaf.path.is_empty() { name.to_string() } else { format!("{name}.{}", leaf.path) };
                let local = self.emit.add_local(&name, leaf.ty.width, leaf.dims.iter().product());
                if self.loop_depth > 0 {
                    self.emit.effect(Opcode::LocalClear, Attr::Local(local), vec![], &[]);
                }
                Storage::Local(local)
            };
            leaves.push(StoredLeaf { ty: leaf.ty, dims: leaf.dims, storage });
        }
        Place {
            ty: ty.clone(),
            leaves: Rc::new(leaves),
            first: 0,
            indices: vec![],
            bits: None,
            read_only: None,
            body: self.body_id,
            name: name.to_string(),
        }
    }

    // ---- for messages and metadata

    /// Flattened scalars of a struct or header.
    pub fn struct_fields(&mut self, name: &str) -> Res<Vec<Field>> {
        let decls = self.decls;
        let span = decls.structs.get(name).map(|decl| decl.span);
        let span = span.or_else(|| decls.headers.get(name).map(|decl| decl.span));
        let Some(Entity::Struct(struct_type)) = self.type_name(name)? else {
            let span = span.unwrap_or(Span { file: diag::FileId(0), start: 0, end: 0 });
            let message = format!("`{name}` is no struct");
            return Err(self.error(Code::E0302, span, message, "declare it with `struct` or `.header`"));
        };
        let ty = Type::Struct(struct_type);
        if let Some(span) = span {
            self.check_scalar_count(&ty, span)?;
        }
        Ok(ty.scalars(""))
    }

    /// Flattened scalars of a `.meta` variable.
    pub fn var_fields(&mut self, var: &ast::VarDecl) -> Res<Vec<Field>> {
        let ty = self.declared_type(&var.ty, &var.dims)?;
        self.check_scalar_count(&ty, var.span)?;
        Ok(ty.scalars(&var.name.text))
    }
}

/// `{}`, `0`, `{0}`.
fn is_zero(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(literal) => literal.limbs.is_empty(),
        ExprKind::Bool(value) => !value,
        ExprKind::Braces { elems, .. } => {
            elems.len() <= 1 && elems.iter().all(|(name, elem)| name.is_none() && is_zero(elem))
        }
        _ => false,
    }
}

/// Whether an initialiser is made of literals only, so that a constant array of it can be read-only memory.
fn is_literal(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Char(_) => true,
        ExprKind::Unary(_, inner) | ExprKind::Cast(_, inner) => is_literal(inner),
        ExprKind::Binary(_, a, b) => is_literal(a) && is_literal(b),
        ExprKind::Braces { elems, .. } => elems.iter().all(|(_, elem)| is_literal(elem)),
        _ => false,
    }
}
