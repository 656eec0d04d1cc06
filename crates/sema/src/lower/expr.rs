//! Expressions: values and places.
//!
//! Operands are lowered left to right. An expression that names storage is first sought as a [`Place`]; everything else is a
//! [`Rvalue`]. `&&`, `||` and `?:` lower their later operands in a region of their own, and keep it only if it has effects.

use std::cell::Cell;

use diag::{Code, Span};
use ir::{Opcode, ValueId, Width};
use syntax::ast::{self, BinaryOp, Expr, ExprKind, SizeOfArg, UnaryOp};

use super::arith::Scalar;
use super::flow::{Flow, Side};
use super::names::Entity;
use super::place::{Bits, Index, Place};
use super::{Lowerer, Res};
use crate::suggest::nearest;
use crate::types::{IntType, StructKind, Type};

/// The value of an expression: scalars in order of [`Type::scalars`].
#[derive(Clone, Debug)]
pub struct Rvalue {
    /// Its type.
    pub ty: Type,
    /// Its scalars.
    pub scalars: Vec<ValueId>,
    /// An integer made of literals only.
    pub literal: bool,
}

impl From<Scalar> for Rvalue {
    fn from(scalar: Scalar) -> Rvalue {
        Rvalue { ty: Type::Int(scalar.ty), scalars: vec![scalar.value], literal: scalar.literal }
    }
}

impl Rvalue {
    /// No value.
    pub fn void() -> Rvalue {
        Rvalue { ty: Type::Void, scalars: vec![], literal: false }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// Value of an expression. `expected` helps braced lists, which have no type of their own.
    pub fn value(&mut self, expr: &Expr, expected: Option<&Type>) -> Res<Rvalue> {
        self.nested(expr.span, |lowerer| {
            let previous = lowerer.emit.set_span(Some(expr.span));
            let result = lowerer.value_inner(expr, expected);
            lowerer.emit.set_span(previous);
            result
        })
    }

    /// Value of an expression that must be an integer.
    pub fn scalar(&mut self, expr: &Expr) -> Res<Scalar> {
        let value = self.value(expr, None)?;
        self.as_scalar(value, expr.span)
    }

    /// An integer value; anything else is reported.
    pub fn as_scalar(&mut self, value: Rvalue, span: Span) -> Res<Scalar> {
        match value.ty {
            Type::Int(ty) => Ok(Scalar { value: value.scalars[0], ty, literal: value.literal }),
            other => self.need_integer(span, &other.name()),
        }
    }

    /// Value of an expression converted to an integer type.
    pub fn scalar_as(&mut self, expr: &Expr, ty: IntType) -> Res<ValueId> {
        let value = self.value(expr, Some(&Type::Int(ty)))?;
        let scalar = self.as_scalar(value, expr.span)?;
        Ok(self.convert(scalar, ty))
    }

    /// Value of an expression as a condition of one bit.
    pub fn condition(&mut self, expr: &Expr) -> Res<ValueId> {
        let scalar = self.scalar(expr)?;
        Ok(self.emit.is_true(scalar.value))
    }

    /// A value converted for assignment to a type.
    pub fn coerced(&mut self, value: Rvalue, ty: &Type, span: Span) -> Res<Rvalue> {
        match (&value.ty, ty) {
            (Type::Int(from), Type::Int(to)) => {
                let scalar = Scalar { value: value.scalars[0], ty: *from, literal: value.literal };
                let converted = self.convert(scalar, *to);
                Ok(Rvalue { ty: ty.clone(), scalars: vec![converted], literal: false })
            }
            (from, to) if from == to => Ok(value),
            (from, to) => {
                let message = format!("a value of type `{}` does not fit type `{}`", from.name(), to.name());
                let help = "use a value of that type, or a field or element of this one";
                Err(self.error(Code::E0303, span, message, help))
            }
        }
    }

    fn value_inner(&mut self, expr: &Expr, expected: Option<&Type>) -> Res<Rvalue> {
        let span = expr.span;
        if let Some(place) = self.place(expr)? {
            let scalars = self.load(&place, span)?;
            return Ok(Rvalue { ty: place.ty, scalars, literal: false });
        }
        match &expr.kind {
            ExprKind::Int(literal) => self.literal(literal, span),
            ExprKind::Bool(value) => {
                let value = self.emit.constant_bool(*value);
                Ok(Scalar { value, ty: IntType::BOOL, literal: false }.into())
            }
            ExprKind::Char(byte) => {
                let value = self.emit.constant_u64(u64::from(*byte), Width::of(8));
                Ok(Scalar { value, ty: IntType::c(8, true), literal: true }.into())
            }
            ExprKind::Str(_) => {
                let help = "strings are for `trace`, `assert` and `drop`; use an array of characters";
                Err(self.error(Code::E0311, span, "a string is no value", help))
            }
            ExprKind::Name { qualifier, name } => self.name_value(qualifier.as_ref(), name),
            ExprKind::Dollar(name) => self.dollar_value(name),
            ExprKind::Field(base, field) => self.field_value(base, field),
            ExprKind::Index(base, index) => self.index_value(base, index, span),
            ExprKind::Slice(base, hi, lo) => {
                let whole = self.scalar(base)?;
                let bits = self.slice_bits(hi, lo, whole.ty.width, span)?;
                let value = self.select_bits(whole.value, bits);
                Ok(Scalar { value, ty: IntType::exact(bits.width), literal: false }.into())
            }
            ExprKind::Call { callee, type_args, args } => self.call(callee, type_args, args, span, expected),
            ExprKind::Cast(ty, inner) => self.cast(ty, inner),
            ExprKind::SizeOf(arg) => self.size_of(arg, span),
            ExprKind::Unary(op, inner) => self.unary(*op, inner, span),
            ExprKind::IncDec { increment, prefix, target } => self.inc_dec(*increment, *prefix, target, span),
            ExprKind::Binary(BinaryOp::And, a, b) => self.short_circuit(a, b, true),
            ExprKind::Binary(BinaryOp::Or, a, b) => self.short_circuit(a, b, false),
            ExprKind::Binary(op, a, b) => {
                let x = self.scalar(a)?;
                let y = self.scalar(b)?;
                self.emit.set_span(Some(span));
                let result = self.binary(*op, x, y);
                self.note_narrow(*op, x, y, result, span);
                Ok(result.into())
            }
            ExprKind::Assign { op, target, value } => self.assign(*op, target, value, span),
            ExprKind::Conditional(condition, yes, no) => self.conditional(condition, yes, no, span, expected),
            ExprKind::Braces { ty, elems } => self.braces(ty.as_ref(), elems, span, expected),
            ExprKind::Error => Err(self.already_reported(span)),
        }
    }

    /// What could not be parsed was reported by the parser; so that a failure always has a report, name it once more only if
    /// nothing else was said.
    fn already_reported(&mut self, span: Span) -> super::Reported {
        self.error(Code::E0311, span, "this expression could not be read", "see the syntax error above")
    }

    fn literal(&mut self, literal: &ast::IntLiteral, span: Span) -> Res<Rvalue> {
        let Some(ty) = super::arith::literal_type(literal) else {
            return Err(self.error(Code::E0319, span, "the number has more than 8192 bits", "use a smaller one"));
        };
        let value = self.emit.constant(ir::Value::from_limbs(&literal.limbs), ty.width);
        Ok(Scalar { value, ty, literal: true }.into())
    }

    fn name_value(&mut self, qualifier: Option<&ast::Ident>, name: &ast::Ident) -> Res<Rvalue> {
        if let Some(qualifier) = qualifier {
            let constant = self.qualified(qualifier, name)?;
            return Ok(self.constant_value(constant.value, constant.ty));
        }
        match self.lookup(&name.text)? {
            Some(Entity::Constant(constant)) => Ok(self.constant_value(constant.value, constant.ty)),
            Some(Entity::Place(_) | Entity::Pending(_)) => {
                unreachable!("places are taken before, pending ones evaluated")
            }
            Some(Entity::Struct(_) | Entity::Enum(_)) => {
                let message = format!("`{}` is a type, not a value", name.text);
                Err(self.error(Code::E0303, name.span, message, format!("write `{}{{}}` for a zero value", name.text)))
            }
            None => match self.port_name(name)? {
                Some(value) => Ok(value),
                None => Err(self.unknown_name(&name.text, name.span)),
            },
        }
    }

    fn constant_value(&mut self, value: ir::Value, ty: IntType) -> Rvalue {
        let value = self.emit.constant(value, ty.width);
        Scalar { value, ty, literal: false }.into()
    }

    fn dollar_value(&mut self, name: &ast::Ident) -> Res<Rvalue> {
        match self.lookup(&name.text)? {
            Some(Entity::Constant(constant)) => Ok(self.constant_value(constant.value, constant.ty)),
            _ => {
                let message = format!("`${}` is no repeat variable or parameter here", name.text);
                Err(self.error(
                    Code::E0301,
                    name.span,
                    message,
                    "`$i` stands for the variable of a `.repeat` around it",
                ))
            }
        }
    }

    // ---- places

    /// The place that an expression names; none if it is a value only.
    pub fn place(&mut self, expr: &Expr) -> Res<Option<Place>> {
        self.nested(expr.span, |lowerer| lowerer.place_inner(expr))
    }

    fn place_inner(&mut self, expr: &Expr) -> Res<Option<Place>> {
        match &expr.kind {
            ExprKind::Name { qualifier: None, name } => match self.lookup(&name.text)? {
                // Declared with an error, which was reported there.
                Some(Entity::Place(place)) if place.ty == Type::Void => Err(super::Reported),
                Some(Entity::Place(place)) => Ok(Some(place)),
                _ => Ok(None),
            },
            ExprKind::Field(base, field) => self.field_place(base, field),
            ExprKind::Index(base, index) => {
                let Some(base_place) = self.place(base)? else { return Ok(None) };
                let ty = base_place.ty.clone();
                let scalar = self.scalar(index)?;
                match ty {
                    Type::Array(..) => {
                        let index = Index { value: scalar.value, ty: scalar.ty, span: index.span };
                        Ok(Some(base_place.element(index)))
                    }
                    Type::Int(int) => {
                        let position = self.bit_position(scalar, int.width, index.span)?;
                        let bits = Bits { position, width: Width::BOOL };
                        self.bits_place(base_place, bits, IntType::BOOL, expr.span).map(Some)
                    }
                    Type::Struct(_) | Type::Void => self.cannot_index(&ty, base.span),
                }
            }
            ExprKind::Slice(base, hi, lo) => {
                let Some(base_place) = self.place(base)? else { return Ok(None) };
                let Type::Int(int) = base_place.ty else { return self.cannot_index(&base_place.ty.clone(), base.span) };
                let bits = self.slice_bits(hi, lo, int.width, expr.span)?;
                self.bits_place(base_place, bits, IntType::exact(bits.width), expr.span).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The place of an expression that must be one, for writing.
    pub fn target_place(&mut self, expr: &Expr) -> Res<Place> {
        match self.place(expr)? {
            Some(place) => match place.read_only {
                None => Ok(place),
                Some(what) => {
                    let message = format!("`{}` is {what} and cannot be assigned", place.name);
                    Err(self.error(Code::E0305, expr.span, message, "assign to a variable instead"))
                }
            },
            None => {
                if let Some(name) = self.constant_name(expr)? {
                    let message = format!("`{name}` is a constant and cannot be assigned");
                    return Err(self.error(Code::E0305, expr.span, message, "assign to a variable instead"));
                }
                // A more precise report than "cannot be assigned" if the expression itself is wrong.
                self.value(expr, None)?;
                let help = "the left side must be a variable, a field, an element or bits of one";
                Err(self.error(Code::E0305, expr.span, "this cannot be assigned", help))
            }
        }
    }

    /// The name of a constant, if the expression is one.
    fn constant_name(&mut self, expr: &Expr) -> Res<Option<String>> {
        let (name, entity) = match &expr.kind {
            ExprKind::Name { qualifier: None, name } => (name, self.lookup(&name.text)?),
            ExprKind::Field(base, name) if self.is_object(base, "_state")? => (name, self.element_name(&name.text)?),
            _ => return Ok(None),
        };
        Ok(matches!(entity, Some(Entity::Constant(_))).then(|| name.text.clone()))
    }

    fn bits_place(&mut self, base: Place, bits: Bits, ty: IntType, span: Span) -> Res<Place> {
        let bits = match base.bits {
            None => bits,
            Some(outer) => {
                let width = Width::of(32);
                let a = self.emit.resize(outer.position, width, false);
                let b = self.emit.resize(bits.position, width, false);
                Bits { position: self.emit.binary(Opcode::Add, a, b), width: bits.width }
            }
        };
        let _ = span;
        Ok(Place { ty: Type::Int(ty), bits: Some(bits), ..base })
    }

    fn cannot_index<T>(&mut self, ty: &Type, span: Span) -> Res<T> {
        let message = format!("a value of type `{}` has no elements or bits to select", ty.name());
        let help = match ty {
            Type::Struct(struct_type) if struct_type.kind == StructKind::Flit => {
                "use `f.byte(i)`, `f.get(lane)` or `f.fd.data`"
            }
            _ => "select one of its fields first",
        };
        Err(self.error(Code::E0308, span, message, help))
    }

    fn field_place(&mut self, base: &Expr, field: &ast::Ident) -> Res<Option<Place>> {
        if self.is_object(base, "_state")? {
            return match self.element_name(&field.text)? {
                Some(Entity::Place(place)) if place.ty == Type::Void => Err(super::Reported),
                Some(Entity::Place(place)) => Ok(Some(place)),
                Some(_) => Ok(None),
                None => Err(self.unknown_name(&field.text, field.span)),
            };
        }
        if self.is_object(base, "pkt")? {
            return Ok(None);
        }
        if let ExprKind::Field(object, meta) = &base.kind
            && meta.text == "meta"
            && self.is_object(object, "pkt")?
        {
            return self.meta_place(field).map(Some);
        }
        let Some(place) = self.place(base)? else { return Ok(None) };
        let Type::Struct(struct_type) = place.ty.clone() else { return self.no_field(&place.ty.clone(), field) };
        if struct_type.kind == StructKind::Flit && field.text == "fd" {
            return Ok(Some(place));
        }
        match struct_type.fields.iter().position(|(name, _)| *name == field.text) {
            Some(at) => Ok(Some(place.field(at))),
            None => self.no_field(&place.ty, field),
        }
    }

    /// Whether an expression is one of the built-in objects, not shadowed by a variable.
    pub fn is_object(&mut self, expr: &Expr, object: &str) -> Res<bool> {
        match &expr.kind {
            ExprKind::Name { qualifier: None, name } if name.text == object => Ok(self.lookup(object)?.is_none()),
            _ => Ok(false),
        }
    }

    fn no_field<T>(&mut self, ty: &Type, field: &ast::Ident) -> Res<T> {
        let help = match ty {
            Type::Struct(struct_type) => {
                let names = struct_type.fields.iter().map(|(name, _)| name.as_str());
                match nearest(&field.text, names.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it has {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
                }
            }
            _ => "only structs, headers and flits have fields".to_string(),
        };
        let message = format!("type `{}` has no field `{}`", ty.name(), field.text);
        Err(self.error(Code::E0307, field.span, message, help))
    }

    fn field_value(&mut self, base: &Expr, field: &ast::Ident) -> Res<Rvalue> {
        if self.is_object(base, "_state")? {
            return match self.element_name(&field.text)? {
                Some(Entity::Constant(constant)) => Ok(self.constant_value(constant.value, constant.ty)),
                _ => Err(self.unknown_name(&field.text, field.span)),
            };
        }
        if self.is_object(base, "pkt")? {
            let message = format!("the packet has no field `{}`", field.text);
            let help = match nearest(&field.text, super::packet::METHODS) {
                _ if super::packet::METHODS.contains(&field.text.as_str()) => format!("call it: `pkt.{}(…)`", field.text),
                Some(near) => format!("did you mean `pkt.{near}(…)`?"),
                None => "read bytes with `pkt.byte(o)`, `pkt.be16(o)`, headers with `pkt.header<H>(o)`; metadata is `pkt.meta.name`".to_string(),
            };
            return Err(self.error(Code::E0307, field.span, message, help));
        }
        let value = self.value(base, None)?;
        let Type::Struct(struct_type) = value.ty.clone() else { return self.no_field(&value.ty.clone(), field) };
        if struct_type.kind == StructKind::Flit && field.text == "fd" {
            return Ok(value);
        }
        let Some(at) = struct_type.fields.iter().position(|(name, _)| *name == field.text) else {
            return self.no_field(&value.ty, field);
        };
        let first: u64 = struct_type.fields[..at].iter().map(|(_, ty)| ty.n_scalars()).sum();
        let ty = struct_type.fields[at].1.clone();
        let scalars = value.scalars[first as usize..(first + ty.n_scalars()) as usize].to_vec();
        Ok(Rvalue { ty, scalars, literal: false })
    }

    fn index_value(&mut self, base: &Expr, index: &Expr, span: Span) -> Res<Rvalue> {
        if self.is_object(base, "_input_data")? {
            return self.peek(index, span);
        }
        let value = self.value(base, None)?;
        match value.ty.clone() {
            Type::Int(int) => {
                let scalar = self.scalar(index)?;
                let position = self.bit_position(scalar, int.width, index.span)?;
                let bit = self.select_bits(value.scalars[0], Bits { position, width: Width::BOOL });
                Ok(Scalar { value: bit, ty: IntType::BOOL, literal: false }.into())
            }
            Type::Array(element, length) => {
                // An array that is no variable: spill it, then index it like one.
                let place = self.new_local("value", &Type::Array(element, length));
                self.store(&place, &value.scalars, span)?;
                let scalar = self.scalar(index)?;
                let place = place.element(Index { value: scalar.value, ty: scalar.ty, span: index.span });
                let scalars = self.load(&place, span)?;
                Ok(Rvalue { ty: place.ty, scalars, literal: false })
            }
            other => self.cannot_index(&other, base.span),
        }
    }

    /// A bit index, checked if it is known.
    fn bit_position(&mut self, index: Scalar, width: Width, span: Span) -> Res<ValueId> {
        if let Some(known) = self.emit.known(index.value) {
            let negative = index.ty.signed && known.is_negative(index.ty.width);
            let inside = !negative && known.to_u64().is_some_and(|at| at < u64::from(width.bits()));
            if !inside {
                let message = format!("there is no such bit in {} bits", width.bits());
                return Err(self.error(Code::E0325, span, message, format!("use 0 to {}", width.bits() - 1)));
            }
        }
        Ok(self.shift_amount(index))
    }

    fn slice_bits(&mut self, hi: &Expr, lo: &Expr, width: Width, span: Span) -> Res<Bits> {
        let high = self.scalar(hi)?;
        let low = self.scalar(lo)?;
        if let (Some(top), Some(bottom)) = (self.emit.known_u64(high.value), self.emit.known_u64(low.value)) {
            if bottom > top || top >= u64::from(width.bits()) {
                let message = format!("bits {top} to {bottom} do not lie in {} bits", width.bits());
                let help = format!("write `x[hi:lo]` with {} >= hi >= lo", width.bits() - 1);
                return Err(self.error(Code::E0325, span, message, help));
            }
            return Ok(Bits { position: low.value, width: Width::of((top - bottom + 1) as u32) });
        }
        match super::aggregate::difference(self, hi, lo) {
            Some(n) if (0..i64::from(width.bits())).contains(&n) => {
                Ok(Bits { position: self.shift_amount(low), width: Width::of(n as u32 + 1) })
            }
            _ => {
                let help = "the bounds must differ by a constant, as in `x[8*i+7 : 8*i]`; else shift and mask";
                Err(self.error(Code::E0325, span, "the number of selected bits is not known at compile time", help))
            }
        }
    }

    // ---- operators

    fn cast(&mut self, ty: &ast::TypeExpr, inner: &Expr) -> Res<Rvalue> {
        let ty = self.resolve_type(ty)?;
        if ty == Type::Void {
            self.value(inner, None)?;
            return Ok(Rvalue::void());
        }
        let value = self.value(inner, Some(&ty))?;
        if let (Type::Int(from), Type::Int(to), [scalar]) = (&value.ty, &ty, value.scalars.as_slice())
            && from.width == to.width
        {
            // A cast to its own width says that it should wrap.
            self.narrow.remove(&(self.body_id, *scalar));
        }
        let value = self.coerced(value, &ty, inner.span)?;
        Ok(value)
    }

    fn size_of(&mut self, arg: &SizeOfArg, span: Span) -> Res<Rvalue> {
        let ty = match arg {
            SizeOfArg::Type(ty) => self.resolve_type(ty)?,
            SizeOfArg::Expr(expr) => match self.place(expr)? {
                Some(place) => place.ty,
                None => self.value(expr, None)?.ty,
            },
        };
        if ty == Type::Void {
            return Err(self.error(Code::E0303, span, "this has no size", "give `sizeof` a type or a value"));
        }
        Ok(self.number(ty.size_bytes(), IntType::UINT64).into())
    }

    fn unary(&mut self, op: UnaryOp, inner: &Expr, span: Span) -> Res<Rvalue> {
        match op {
            UnaryOp::Deref | UnaryOp::AddressOf => {
                let help = "use an array and an index; functions can take `T &x` or `T x[N]`";
                return Err(self.error(Code::E0311, span, "there are no pointers", help));
            }
            UnaryOp::Neg | UnaryOp::Plus | UnaryOp::BitNot | UnaryOp::Not => {}
        }
        let operand = self.scalar(inner)?;
        self.emit.set_span(Some(span));
        Ok(match op {
            UnaryOp::Neg => self.negate(operand),
            UnaryOp::BitNot => self.complement(operand),
            UnaryOp::Not => {
                let truth = self.emit.is_true(operand.value);
                Scalar { value: self.emit.not(truth), ty: IntType::BOOL, literal: false }
            }
            UnaryOp::Plus | UnaryOp::Deref | UnaryOp::AddressOf => {
                let ty = super::arith::promoted(operand.ty);
                Scalar { value: self.convert(operand, ty), ty, literal: operand.literal }
            }
        }
        .into())
    }

    fn inc_dec(&mut self, increment: bool, prefix: bool, target: &Expr, span: Span) -> Res<Rvalue> {
        let place = self.target_place(target)?;
        let Type::Int(ty) = place.ty else { return self.need_integer(target.span, &place.ty.name()) };
        let old = self.load(&place, span)?[0];
        let one = self.number(1, IntType::INT);
        let one = Scalar { literal: true, ..one };
        let op = if increment { BinaryOp::Add } else { BinaryOp::Sub };
        let sum = self.binary(op, Scalar { value: old, ty, literal: false }, one);
        let new = self.convert(sum, ty);
        self.store(&place, &[new], span)?;
        let value = if prefix { new } else { old };
        Ok(Scalar { value, ty, literal: false }.into())
    }

    fn assign(&mut self, op: Option<BinaryOp>, target: &Expr, value: &Expr, span: Span) -> Res<Rvalue> {
        let place = self.target_place(target)?;
        let Some(op) = op else {
            let new = self.initial_value(value, &place.ty)?;
            self.store(&place, &new.scalars, span)?;
            return Ok(Rvalue { literal: false, ..new });
        };
        let Type::Int(ty) = place.ty else { return self.need_integer(target.span, &place.ty.name()) };
        let old = Scalar { value: self.load(&place, span)?[0], ty, literal: false };
        let result = match op {
            BinaryOp::And | BinaryOp::Or => {
                let help = "write `a = a && b`";
                return Err(self.error(Code::E0311, span, "there is no such assignment operator", help));
            }
            _ => {
                let right = self.scalar(value)?;
                self.emit.set_span(Some(span));
                self.binary(op, old, right)
            }
        };
        let new = self.convert(result, ty);
        self.store(&place, &[new], span)?;
        Ok(Scalar { value: new, ty, literal: false }.into())
    }

    /// `a && b` (`b` counts if `a` holds) or `a || b` (`b` counts if it does not).
    fn short_circuit(&mut self, a: &Expr, b: &Expr, is_and: bool) -> Res<Rvalue> {
        let left = self.condition(a)?;
        let decided = self.emit.constant_bool(!is_and);
        let right = |lowerer: &mut Self| Ok(Side::values(vec![lowerer.condition(b)?]));
        let done = |_: &mut Self| Ok(Side { flow: Flow::FALLS, values: vec![decided] });
        let side = if is_and { self.branch(left, right, done)? } else { self.branch(left, done, right)? };
        Ok(Scalar { value: side.values[0], ty: IntType::BOOL, literal: false }.into())
    }

    fn conditional(
        &mut self,
        condition: &Expr,
        yes: &Expr,
        no: &Expr,
        span: Span,
        expected: Option<&Type>,
    ) -> Res<Rvalue> {
        let condition = self.condition(condition)?;
        if let Some(known) = self.emit.known(condition) {
            let (taken, other) = if known.is_zero() { (no, yes) } else { (yes, no) };
            let value = self.value(taken, expected)?;
            let other = self.trial(|lowerer| lowerer.value(other, expected))?;
            let ty = self.conditional_type(&value, &other, span)?;
            let literal = value.literal && other.literal;
            return Ok(Rvalue { literal, ..self.coerced(value, &ty, span)? });
        }
        let (yes_value, no_value) = (Cell::new(None), Cell::new(None));
        let common = Cell::new(None);
        let lower = |lowerer: &mut Self, expr: &Expr, cell: &Cell<Option<Rvalue>>| {
            let value = lowerer.value(expr, expected)?;
            let scalars = value.scalars.clone();
            cell.set(Some(value));
            Ok(Side::values(scalars))
        };
        let merged = self.branch_with(
            condition,
            |lowerer| lower(lowerer, yes, &yes_value),
            |lowerer| lower(lowerer, no, &no_value),
            |lowerer, regions, values| {
                let (Some(yes), Some(no)) = (yes_value.take(), no_value.take()) else { return Err(super::Reported) };
                let ty = lowerer.conditional_type(&yes, &no, span)?;
                let outer = lowerer.emit.region();
                for ((region, values), value) in regions.into_iter().zip(values).zip([yes, no]) {
                    lowerer.emit.go_to(region);
                    let value = lowerer.coerced(value, &ty, span);
                    lowerer.emit.go_to(outer);
                    *values = value?.scalars;
                }
                common.set(Some(ty));
                Ok(())
            },
        )?;
        let ty = common.take().expect("set when both sides have values");
        Ok(Rvalue { ty, scalars: merged.values, literal: false })
    }

    fn conditional_type(&mut self, yes: &Rvalue, no: &Rvalue, span: Span) -> Res<Type> {
        match (&yes.ty, &no.ty) {
            (Type::Int(a), Type::Int(b)) if a == b => Ok(Type::Int(*a)),
            (Type::Int(a), Type::Int(b)) => {
                let a = Scalar { value: yes.scalars[0], ty: *a, literal: yes.literal };
                let b = Scalar { value: no.scalars[0], ty: *b, literal: no.literal };
                Ok(Type::Int(self.common_type(a, b)))
            }
            (a, b) if a == b => Ok(a.clone()),
            (a, b) => {
                let message = format!("the two sides of `?:` have types `{}` and `{}`", a.name(), b.name());
                Err(self.error(Code::E0303, span, message, "use values of one type"))
            }
        }
    }

    /// Lowers something for what it tells, and forgets its ops and its effects on the environment.
    pub fn trial<R>(&mut self, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        let slots = self.slots.clone();
        let fate = self.fate;
        let mark = self.emit.ranges.mark();
        let (_, outer) = self.emit.open(&[]);
        let result = f(self);
        self.emit.go_to(outer);
        self.emit.ranges.rewind(mark);
        self.slots = slots;
        self.fate = fate;
        result
    }
}
