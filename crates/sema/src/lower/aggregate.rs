//! Braced lists: initialisers of structs and arrays, and concatenation of integers.

use diag::{Code, Span};
use ir::{Value, ValueId, Width};
use syntax::ast::{self, BinaryOp, Expr, ExprKind};

use super::arith::Scalar;
use super::expr::Rvalue;
use super::place::{Index, Place};
use super::{Lowerer, Res};
use crate::types::{IntKind, IntType, Type};

type Elems = [(Option<ast::Ident>, Expr)];

impl<'a> Lowerer<'a, '_> {
    /// Value of an initialiser or right side, converted to a type.
    pub fn initial_value(&mut self, expr: &Expr, ty: &Type) -> Res<Rvalue> {
        let value = self.value(expr, Some(ty))?;
        self.coerced(value, ty, expr.span)
    }

    /// Runs the initialiser of a zeroed variable: elements that are not given stay zero without being written.
    pub fn initialise(&mut self, place: &Place, init: &Expr) -> Res<()> {
        if let (Type::Array(_, length), ExprKind::Str(text)) = (&place.ty, &init.kind) {
            return self.initialise_text(place, *length, text, init.span);
        }
        if let ExprKind::Braces { ty: None, elems } = &init.kind {
            match place.ty.clone() {
                Type::Array(_, length) => return self.initialise_array(place, length, elems, init.span),
                Type::Struct(struct_type) => {
                    let positions =
                        self.element_positions(&place.ty, elems, struct_type.fields.len() as u64, init.span)?;
                    for (at, (_, elem)) in positions.into_iter().zip(elems) {
                        self.initialise(&place.field(at as usize), elem)?;
                    }
                    return Ok(());
                }
                Type::Int(_) | Type::Void => {}
            }
        }
        let value = self.initial_value(init, &place.ty)?;
        self.store(place, &value.scalars, init.span)
    }

    fn initialise_array(&mut self, place: &Place, length: u64, elems: &Elems, span: Span) -> Res<()> {
        let positions = self.element_positions(&place.ty, elems, length, span)?;
        for (at, (_, elem)) in positions.into_iter().zip(elems) {
            let value = self.emit.constant_u64(at, Width::of(32));
            let element = place.element(Index { value, ty: IntType::UINT, span: elem.span });
            self.initialise(&element, elem)?;
        }
        Ok(())
    }

    fn initialise_text(&mut self, place: &Place, length: u64, text: &str, span: Span) -> Res<()> {
        if text.len() as u64 > length {
            let message = format!("the text has {} bytes, the array {length}", text.len());
            return Err(self.error(Code::E0320, span, message, "make the array larger"));
        }
        for (at, byte) in text.bytes().enumerate() {
            let value = self.emit.constant_u64(at as u64, Width::of(32));
            let element = place.element(Index { value, ty: IntType::UINT, span });
            let Type::Int(ty) = element.ty else { return self.need_integer(span, &element.ty.name()) };
            let byte = self.emit.constant_u64(u64::from(byte), Width::of(8));
            let byte = self.convert(Scalar { value: byte, ty: IntType::c(8, false), literal: true }, ty);
            self.store(&element, &[byte], span)?;
        }
        Ok(())
    }

    /// Which element each entry of a list is for.
    fn element_positions(&mut self, ty: &Type, elems: &Elems, length: u64, span: Span) -> Res<Vec<u64>> {
        let mut positions = Vec::new();
        let mut next = 0;
        for (designator, elem) in elems {
            if let Some(name) = designator {
                let fields = match ty {
                    Type::Struct(struct_type) => &struct_type.fields[..],
                    Type::Array(..) | Type::Int(_) | Type::Void => &[],
                };
                match fields.iter().position(|(field, _)| *field == name.text) {
                    Some(at) => next = at as u64,
                    None => {
                        let message = format!("type `{}` has no field `{}`", ty.name(), name.text);
                        return Err(self.error(Code::E0320, name.span, message, "name one of its fields"));
                    }
                }
            }
            if next >= length {
                let message = format!("type `{}` has {length} elements, the list has more", ty.name());
                return Err(self.error(Code::E0320, elem.span, message, "remove the surplus, or make it larger"));
            }
            positions.push(next);
            next += 1;
        }
        let _ = span;
        Ok(positions)
    }

    /// Value of a braced list.
    pub fn braces(
        &mut self,
        written: Option<&ast::TypeExpr>,
        elems: &Elems,
        span: Span,
        expected: Option<&Type>,
    ) -> Res<Rvalue> {
        let ty = match (written, expected) {
            (Some(written), _) => self.resolve_type(written)?,
            (None, Some(expected)) => expected.clone(),
            (None, None) => return self.concatenation_of(elems, span),
        };
        match &ty {
            Type::Void => Err(self.error(Code::E0303, span, "a `void` has no value", "leave it out")),
            Type::Int(int) => self.braced_integer(*int, elems, span),
            Type::Struct(struct_type) => {
                self.check_scalar_count(&ty, span)?;
                let types: Vec<Type> = struct_type.fields.iter().map(|(_, ty)| ty.clone()).collect();
                self.braced_parts(&ty, &types, elems, span)
            }
            Type::Array(element, length) => {
                if !self.in_constant {
                    self.check_scalar_count(&ty, span)?;
                }
                let types = vec![(**element).clone(); *length as usize];
                self.braced_parts(&ty, &types, elems, span)
            }
        }
    }

    fn braced_parts(&mut self, ty: &Type, types: &[Type], elems: &Elems, span: Span) -> Res<Rvalue> {
        let positions = self.element_positions(ty, elems, types.len() as u64, span)?;
        let mut parts: Vec<Option<Vec<ValueId>>> = vec![None; types.len()];
        for (at, (_, elem)) in positions.into_iter().zip(elems) {
            let at = at as usize;
            parts[at] = Some(self.initial_value(elem, &types[at])?.scalars);
        }
        let mut scalars = Vec::new();
        for (part, ty) in parts.into_iter().zip(types) {
            match part {
                Some(given) => scalars.extend(given),
                None => {
                    for int in ty.scalar_types() {
                        scalars.push(self.emit.zero(int.width));
                    }
                }
            }
        }
        Ok(Rvalue { ty: ty.clone(), scalars, literal: false })
    }

    /// `{}` is 0, `{a}` is `a`, `{a, b}` of an exact type is a concatenation.
    fn braced_integer(&mut self, ty: IntType, elems: &Elems, span: Span) -> Res<Rvalue> {
        match elems {
            [] => Ok(Scalar { value: self.emit.zero(ty.width), ty, literal: false }.into()),
            [(None, only)] => self.initial_value(only, &Type::Int(ty)),
            _ if ty.kind == IntKind::Exact => {
                let whole = self.concatenation_of(elems, span)?;
                self.coerced(whole, &Type::Int(ty), span)
            }
            _ => {
                let message = format!("an integer of type `{}` has one value", ty.name());
                Err(self.error(Code::E0320, span, message, "use `concat(a, b)`, or an array"))
            }
        }
    }

    fn concatenation_of(&mut self, elems: &Elems, span: Span) -> Res<Rvalue> {
        let mut parts = Vec::new();
        for (designator, elem) in elems {
            if designator.is_some() {
                let help = "write the type before the braces: `Key{.src = 1}`";
                return Err(self.error(Code::E0311, span, "this list has no type", help));
            }
            parts.push(elem);
        }
        self.concatenation(&parts, span)
    }

    /// The operands' bits, the first one on top.
    pub fn concatenation(&mut self, parts: &[&Expr], span: Span) -> Res<Rvalue> {
        let mut whole: Option<ValueId> = None;
        for part in parts {
            let scalar = self.scalar(part)?;
            if scalar.literal {
                let help = "give it a width: `uint<8>(5)`";
                return Err(self.error(
                    Code::E0303,
                    part.span,
                    "a literal has no width of its own in a concatenation",
                    help,
                ));
            }
            whole = Some(match whole {
                None => scalar.value,
                Some(above) => {
                    let bits = self.emit.width(above).bits() + scalar.ty.width.bits();
                    if Width::new(bits).is_none() {
                        return Err(self.error(
                            Code::E0319,
                            span,
                            "the concatenation has more than 8192 bits",
                            "use an array",
                        ));
                    }
                    self.emit.concat(above, scalar.value)
                }
            });
        }
        match whole {
            Some(value) => {
                let ty = IntType::exact(self.emit.width(value));
                Ok(Scalar { value, ty, literal: false }.into())
            }
            None => {
                let help = "write the type before the braces, as in `flit_t{}`";
                Err(self.error(Code::E0311, span, "this empty list has no type", help))
            }
        }
    }
}

/// `hi - lo` if that is a constant whatever the variables in them are.
pub fn difference(lowerer: &mut Lowerer<'_, '_>, hi: &Expr, lo: &Expr) -> Option<i64> {
    let mut sum = Linear::default();
    linear(lowerer, hi, 1, &mut sum)?;
    linear(lowerer, lo, -1, &mut sum)?;
    sum.terms.retain(|(_, factor)| *factor != 0);
    sum.terms.is_empty().then_some(sum.constant)
}

#[derive(Default)]
struct Linear {
    constant: i64,
    terms: Vec<(String, i64)>,
}

fn linear(lowerer: &mut Lowerer<'_, '_>, expr: &Expr, factor: i64, sum: &mut Linear) -> Option<()> {
    if let Some(known) = known_number(lowerer, expr) {
        sum.constant = sum.constant.checked_add(known.checked_mul(factor)?)?;
        return Some(());
    }
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Add, a, b) => {
            linear(lowerer, a, factor, sum)?;
            linear(lowerer, b, factor, sum)
        }
        ExprKind::Binary(BinaryOp::Sub, a, b) => {
            linear(lowerer, a, factor, sum)?;
            linear(lowerer, b, factor.checked_neg()?, sum)
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            if let Some(known) = known_number(lowerer, a) {
                return linear(lowerer, b, factor.checked_mul(known)?, sum);
            }
            let known = known_number(lowerer, b)?;
            linear(lowerer, a, factor.checked_mul(known)?, sum)
        }
        ExprKind::Cast(_, inner) => linear(lowerer, inner, factor, sum),
        _ => {
            let term = spelling(expr)?;
            match sum.terms.iter_mut().find(|(old, _)| *old == term) {
                Some((_, total)) => *total = total.checked_add(factor)?,
                None => sum.terms.push((term, factor)),
            }
            Some(())
        }
    }
}

/// The constant that a literal or constant name stands for; quiet otherwise.
fn known_number(lowerer: &mut Lowerer<'_, '_>, expr: &Expr) -> Option<i64> {
    let n_reports = lowerer.reports.len();
    let outcome = match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name { .. } | ExprKind::Dollar(_) => lowerer.trial(|lowerer| {
            let scalar = lowerer.scalar(expr)?;
            let value: Option<Value> = lowerer.emit.known(scalar.value).cloned();
            Ok(value.and_then(|value| value.to_u64()).and_then(|value| i64::try_from(value).ok()))
        }),
        _ => Ok(None),
    };
    lowerer.reports.truncate(n_reports);
    outcome.ok().flatten()
}

/// A spelling that is equal for equal variables; none if the expression may have effects.
fn spelling(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name { qualifier: None, name } => Some(name.text.clone()),
        ExprKind::Field(base, field) => Some(format!("{}.{}", spelling(base)?, field.text)),
        ExprKind::Binary(op, a, b) => Some(format!("({} {op:?} {})", spelling(a)?, spelling(b)?)),
        ExprKind::Int(literal) => Some(format!("{:?}", literal.limbs)),
        ExprKind::Index(base, index) => Some(format!("{}[{}]", spelling(base)?, spelling(index)?)),
        _ => None,
    }
}
