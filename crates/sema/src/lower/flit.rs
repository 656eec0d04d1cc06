//! Methods of `flit_t`: flags, bytes, lanes and buffers.

use diag::{Code, Span};
use ir::{Opcode, ValueId, Width, side};
use syntax::ast::{self, BinaryOp, Expr, ExprKind, UnaryOp};

use super::arith::Scalar;
use super::expr::Rvalue;
use super::flow::{Flow, Side};
use super::place::{Index, Place};
use super::{Lowerer, Res};
use crate::scope::LowerInput;
use crate::suggest::nearest;
use crate::types::{IntKind, IntType, StructKind, StructType, Type};

/// Payload bytes of a flit.
const BYTES: u64 = 32;

/// Methods, for suggestions.
const METHODS: [&str; 40] = [
    "sop",
    "eop",
    "error",
    "fcs_error",
    "fcs_valid",
    "padbytes",
    "slot_id",
    "set_sop",
    "set_eop",
    "set_error",
    "set_fcs_error",
    "set_fcs_valid",
    "set_padbytes",
    "set_slot_id",
    "get",
    "set",
    "get_data",
    "set_data",
    "byte",
    "be16",
    "be32",
    "be64",
    "le16",
    "le32",
    "le64",
    "set_byte",
    "set_be16",
    "set_be32",
    "set_be64",
    "set_le16",
    "set_le32",
    "set_le64",
    "time_ns",
    "missing",
    "in_port",
    "link",
    "set_time_ns",
    "set_missing",
    "set_in_port",
    "set_link",
];

/// `flit_t` in a design whose sideband is as wide as the message type says.
pub fn flit_type(input: Option<&LowerInput<'_>>) -> StructType {
    let message = input.and_then(|input| input.message_types.first());
    let side_width = message
        .and_then(|message| message.fields.get(side::FLIT_FIELDS.len()))
        .map_or(Width::of(side::META_LO), |field| field.width);
    let field = |&(name, bits): &(&str, u32)| {
        let int = match bits {
            1 => IntType::BOOL,
            256 => IntType::exact(Width::of(256)),
            bits => IntType::c(bits, false),
        };
        (name.to_string(), Type::Int(int))
    };
    let mut fields: Vec<(String, Type)> = side::FLIT_FIELDS.iter().map(field).collect();
    fields.push(("side".to_string(), Type::Int(IntType { kind: IntKind::Exact, width: side_width, signed: false })));
    StructType { name: "flit_t".to_string(), kind: StructKind::Flit, fields }
}

/// Parts of the sideband that have methods: name, place, type.
fn side_part(name: &str) -> Option<(side::SidePart, IntType)> {
    Some(match name {
        "time_ns" => (side::TIME_NS, IntType::UINT64),
        "missing" => (side::MISSING, IntType::UINT),
        "in_port" => (side::IN_PORT, IntType::UINT),
        "link" => (side::LINK, IntType::UINT),
        _ => return None,
    })
}

/// A number inside the payload: how many bytes, and in which order.
#[derive(Clone, Copy)]
struct Part {
    n_bytes: u32,
    big_endian: bool,
}

/// `be16` and the like, without `set_`.
pub fn part_named(name: &str) -> Option<(u32, bool)> {
    Some(match name {
        "byte" => (1, false),
        "be16" => (2, true),
        "be32" => (4, true),
        "be64" => (8, true),
        "le16" => (2, false),
        "le32" => (4, false),
        "le64" => (8, false),
        _ => return None,
    })
}

impl<'a> Lowerer<'a, '_> {
    /// `f.method(args)`.
    pub fn flit_method(&mut self, receiver: &Expr, method: &ast::Ident, args: &[Expr], span: Span) -> Res<Rvalue> {
        let place = self.place(receiver)?;
        let ty = match &place {
            Some(place) => place.ty.clone(),
            None => self.trial(|lowerer| lowerer.value(receiver, None))?.ty,
        };
        if !matches!(&ty, Type::Struct(struct_type) if struct_type.kind == StructKind::Flit) {
            let message = format!("a value of type `{}` has no methods", ty.name());
            return Err(self.error(
                Code::E0312,
                method.span,
                message,
                "flits and `pkt` have methods; fields stand without `()`",
            ));
        }
        let name = method.text.as_str();
        if let Some(field) = name.strip_prefix("set_").filter(|field| flag_position(field).is_some()) {
            let place = self.writable_flit(place, receiver)?;
            self.n_args(name, args, 1, &format!("f.{name}(value)"), span)?;
            let field = place.field(flag_position(field).expect("filtered above"));
            let value = self.initial_value(&args[0], &field.ty)?;
            self.store(&field, &value.scalars, span)?;
            return Ok(Rvalue::void());
        }
        if let Some((part, ty)) = name.strip_prefix("set_").and_then(side_part) {
            let place = self.writable_flit(place, receiver)?.field(side::FLIT_FIELDS.len());
            self.n_args(name, args, 1, &format!("f.{name}(value)"), span)?;
            let value = self.scalar_as(&args[0], ty)?;
            let value = self.emit.resize(value, Width::of(part.width), false);
            let old = self.load(&place, span)?[0];
            let new = self.emit.insert(old, part.lo, value);
            self.store(&place, &[new], span)?;
            return Ok(Rvalue::void());
        }
        match name {
            "set" | "set_data" => {
                let place = self.writable_flit(place, receiver)?;
                return if name == "set" {
                    self.set_lane(&place, args, span)
                } else {
                    self.set_data(&place, args, span)
                };
            }
            _ => {}
        }
        if let Some((n_bytes, big_endian)) = name.strip_prefix("set_").and_then(part_named) {
            let place = self.writable_flit(place, receiver)?;
            return self.set_part(&place, name, args, Part { n_bytes, big_endian }, span);
        }
        self.flit_getter(place, receiver, method, args, span)
    }

    fn flit_getter(
        &mut self,
        place: Option<Place>,
        receiver: &Expr,
        method: &ast::Ident,
        args: &[Expr],
        span: Span,
    ) -> Res<Rvalue> {
        let name = method.text.as_str();
        if let Some(position) = flag_position(name) {
            self.n_args(name, args, 0, &format!("f.{name}()"), span)?;
            return self.flit_field(place, receiver, position, span);
        }
        if let Some((part, ty)) = side_part(name) {
            self.n_args(name, args, 0, &format!("f.{name}()"), span)?;
            let side = self.flit_field(place, receiver, side::FLIT_FIELDS.len(), span)?.scalars[0];
            let value = self.emit.extract(side, part.lo, Width::of(part.width));
            let value = self.emit.resize(value, ty.width, false);
            return Ok(Scalar { value, ty, literal: false }.into());
        }
        if name == "get_data" {
            let data = self.flit_field(place, receiver, 0, span)?.scalars[0];
            return self.get_data(data, args, span);
        }
        let part = match name {
            "get" => Part { n_bytes: 8, big_endian: false },
            _ => match part_named(name) {
                Some((n_bytes, big_endian)) => Part { n_bytes, big_endian },
                None => {
                    let help = match nearest(name, METHODS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "see the methods of `flit_t` in the language reference".to_string(),
                    };
                    return Err(self.error(Code::E0312, method.span, format!("`flit_t` has no method `{name}`"), help));
                }
            },
        };
        let usage = if name == "get" { "f.get(lane)".to_string() } else { format!("f.{name}(offset)") };
        self.n_args(name, args, 1, &usage, span)?;
        let data = self.flit_field(place, receiver, 0, span)?.scalars[0];
        let unit = if name == "get" { 64 } else { 8 };
        let position = self.bit_offset(&args[0], unit)?;
        let width = Width::of(8 * part.n_bytes);
        let value = self.select_bits(data, super::place::Bits { position, width });
        let value = self.ordered(value, part);
        Ok(Scalar { value, ty: IntType::c(8 * part.n_bytes, false), literal: false }.into())
    }

    fn writable_flit(&mut self, place: Option<Place>, receiver: &Expr) -> Res<Place> {
        match place {
            Some(_) => self.target_place(receiver),
            None => {
                let help = "store the flit in a variable first";
                Err(self.error(Code::E0305, receiver.span, "this flit is no variable, so it cannot be changed", help))
            }
        }
    }

    fn flit_field(&mut self, place: Option<Place>, receiver: &Expr, position: usize, span: Span) -> Res<Rvalue> {
        match place {
            Some(place) => {
                let field = place.field(position);
                let scalars = self.load(&field, span)?;
                Ok(Rvalue { ty: field.ty, scalars, literal: false })
            }
            None => {
                let value = self.value(receiver, None)?;
                let ty = match &value.ty {
                    Type::Struct(struct_type) => struct_type.fields[position].1.clone(),
                    Type::Void | Type::Int(_) | Type::Array(..) => unreachable!("callers looked at the type"),
                };
                Ok(Rvalue { ty, scalars: vec![value.scalars[position]], literal: false })
            }
        }
    }

    /// An offset in units of `unit` bits as a bit position that cannot wrap.
    fn bit_offset(&mut self, offset: &Expr, unit: u64) -> Res<ValueId> {
        let scalar = self.scalar(offset)?;
        let shift = u64::from(unit.trailing_zeros());
        if super::ranges::range(&self.emit, scalar.value).is_some_and(|range| range.hi <= 0xffff) {
            let width = Width::of(32);
            let offset = self.emit.resize(scalar.value, width, false);
            let amount = self.emit.constant_u64(shift, width);
            return Ok(self.emit.binary(Opcode::Shl, offset, amount));
        }
        // 64 value bits and 8 more: an offset near 2^64 must not come back into the flit.
        let wide = Width::of(72);
        let in_64 = self.emit.resize(scalar.value, Width::of(64), scalar.ty.signed);
        let offset = self.emit.resize(in_64, wide, false);
        let amount = self.emit.constant_u64(shift, wide);
        Ok(self.emit.binary(Opcode::Shl, offset, amount))
    }

    fn ordered(&mut self, value: ValueId, part: Part) -> ValueId {
        if part.big_endian {
            return self.emit.pure(Opcode::ByteSwap, ir::Attr::None, &[value], Width::of(8 * part.n_bytes));
        }
        value
    }

    fn set_part(&mut self, place: &Place, name: &str, args: &[Expr], part: Part, span: Span) -> Res<Rvalue> {
        self.n_args(name, args, 2, &format!("f.{name}(offset, value)"), span)?;
        let position = self.bit_offset(&args[0], 8)?;
        self.set_bits(place, position, &args[1], part, span)
    }

    fn set_lane(&mut self, place: &Place, args: &[Expr], span: Span) -> Res<Rvalue> {
        self.n_args("set", args, 2, "f.set(lane, value)", span)?;
        let position = self.bit_offset(&args[0], 64)?;
        self.set_bits(place, position, &args[1], Part { n_bytes: 8, big_endian: false }, span)
    }

    fn set_bits(&mut self, place: &Place, position: ValueId, value: &Expr, part: Part, span: Span) -> Res<Rvalue> {
        let value = self.scalar_as(value, IntType::c(8 * part.n_bytes, false))?;
        let value = self.ordered(value, part);
        let data = place.field(0);
        let old = self.load(&data, span)?[0];
        let new = match self.emit.known_u64(position) {
            Some(bit) if bit < 256 => self.emit.insert(old, bit as u32, value),
            Some(_) => old,
            None => self.emit.insert_at(old, position, value),
        };
        self.store(&data, &[new], span)?;
        Ok(Rvalue::void())
    }

    // ---- buffers

    /// `arr`, `arr + off`, `&arr[off]`: an array of bytes and the offset in it.
    fn buffer(&mut self, expr: &Expr) -> Res<(Place, Option<Scalar>)> {
        match &expr.kind {
            ExprKind::Unary(UnaryOp::AddressOf, inner) => {
                if let ExprKind::Index(array, offset) = &inner.kind {
                    let (place, outer) = self.buffer(array)?;
                    let offset = self.scalar(offset)?;
                    return Ok((place, Some(self.sum(outer, offset))));
                }
                self.buffer(inner)
            }
            ExprKind::Binary(BinaryOp::Add, array, offset) => {
                let (place, outer) = self.buffer(array)?;
                let offset = self.scalar(offset)?;
                Ok((place, Some(self.sum(outer, offset))))
            }
            ExprKind::Cast(_, inner) => self.buffer(inner),
            _ => match self.place(expr)? {
                Some(place) if is_bytes(&place.ty) => Ok((place, None)),
                _ => {
                    let help = "pass an array of `uint8_t`, as `buf`, `buf + n` or `&buf[n]`";
                    Err(self.error(Code::E0303, expr.span, "this is no array of bytes", help))
                }
            },
        }
    }

    fn sum(&mut self, outer: Option<Scalar>, offset: Scalar) -> Scalar {
        match outer {
            Some(outer) => self.binary(BinaryOp::Add, outer, offset),
            None => offset,
        }
    }

    fn buffer_arguments(&mut self, what: &str, args: &[Expr], span: Span) -> Res<(Place, Option<Scalar>, ValueId)> {
        self.n_args(what, args, 2, &format!("f.{what}(buffer, n_bytes)"), span)?;
        let (place, offset) = self.buffer(&args[0])?;
        let n = self.scalar(&args[1])?;
        // A negative number of bytes is none.
        let n_bytes = if n.ty.signed {
            let zero = self.emit.zero(n.ty.width);
            let negative = self.emit.compare(Opcode::SLt, n.value, zero);
            self.emit.select(negative, zero, n.value)
        } else {
            n.value
        };
        Ok((place, offset, n_bytes))
    }

    /// The buffer's element for byte `at` of the flit.
    fn buffer_byte(&mut self, place: &Place, offset: Option<Scalar>, at: u64, span: Span) -> Place {
        let at = self.number(at, IntType::UINT);
        let index = match offset {
            None => at,
            Some(offset) => self.binary(BinaryOp::Add, offset, Scalar { literal: true, ..at }),
        };
        place.element(Index { value: index.value, ty: index.ty, span })
    }

    /// `f.get_data(buf, n)`: the first `n` bytes, at most 32.
    fn get_data(&mut self, data: ValueId, args: &[Expr], span: Span) -> Res<Rvalue> {
        let (place, offset, n) = self.buffer_arguments("get_data", args, span)?;
        self.each_byte(n, |lowerer, at| {
            let byte = lowerer.emit.extract(data, 8 * at as u32, Width::of(8));
            let element = lowerer.buffer_byte(&place, offset, at, args[0].span);
            lowerer.store(&element, &[byte], span)
        })?;
        Ok(Rvalue::void())
    }

    /// `f.set_data(buf, n)`: replaces the first `n` bytes, at most 32.
    fn set_data(&mut self, flit: &Place, args: &[Expr], span: Span) -> Res<Rvalue> {
        let (place, offset, n) = self.buffer_arguments("set_data", args, span)?;
        let data = flit.field(0);
        let mut bytes = Vec::new();
        let old = self.load(&data, span)?[0];
        self.each_known_byte(n, |lowerer, at, inside| {
            let element = lowerer.buffer_byte(&place, offset, at, args[0].span);
            let kept = lowerer.emit.extract(old, 8 * at as u32, Width::of(8));
            let side = lowerer.branch(
                inside,
                |lowerer| Ok(Side::values(lowerer.load(&element, span)?)),
                |_| Ok(Side::values(vec![kept])),
            )?;
            bytes.push(side.values[0]);
            Ok(())
        })?;
        let mut new = old;
        let mut joined: Option<ValueId> = None;
        for &byte in &bytes {
            joined = Some(match joined {
                None => byte,
                Some(low) => self.emit.concat(byte, low),
            });
        }
        if let Some(joined) = joined {
            new = self.emit.insert(old, 0, joined);
        }
        self.store(&data, &[new], span)?;
        Ok(Rvalue::void())
    }

    fn each_byte(&mut self, n: ValueId, mut f: impl FnMut(&mut Self, u64) -> Res<()>) -> Res<()> {
        self.each_known_byte(n, |lowerer, at, inside| {
            lowerer.branch(
                inside,
                |lowerer| f(lowerer, at).map(|()| Side::flow(Flow::FALLS)),
                |_| Ok(Side::flow(Flow::FALLS)),
            )?;
            Ok(())
        })
    }

    /// Calls `f` for the bytes that may be among the first `n`, with whether they are.
    fn each_known_byte(&mut self, n: ValueId, mut f: impl FnMut(&mut Self, u64, ValueId) -> Res<()>) -> Res<()> {
        let limit = match self.emit.known(n) {
            Some(known) => known.to_u64().unwrap_or(BYTES).min(BYTES),
            None => BYTES,
        };
        for at in 0..limit {
            let width = self.emit.width(n);
            let inside = if width.bits() < 64 && at >> width.bits() != 0 {
                self.emit.constant_bool(false)
            } else {
                let position = self.emit.constant_u64(at, width);
                self.emit.compare(Opcode::ULt, position, n)
            };
            f(self, at, inside)?;
        }
        Ok(())
    }
}

/// Position of a flag among the fields of `flit_t`.
fn flag_position(name: &str) -> Option<usize> {
    side::FLIT_FIELDS.iter().position(|&(field, _)| field == name && field != "data")
}

fn is_bytes(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => matches!(**element, Type::Int(int) if int.width.bits() == 8),
        Type::Void | Type::Int(_) | Type::Struct(_) => false,
    }
}
