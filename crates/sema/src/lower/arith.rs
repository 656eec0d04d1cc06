//! Integer conversions and arithmetic: C's rules for C types, the wider width for exact types.
//!
//! Literals beside exact-width operands take the other operand's type if they fit it, else their own minimal width. Shifts have
//! the left operand's type; a negative count counts as past the width.

use diag::{Code, Span};
use ir::{Attr, Opcode, Value, ValueId, Width};
use syntax::ast::{BinaryOp, IntLiteral};

use super::{Lowerer, Res};
use crate::types::{IntKind, IntType};

/// An integer value during lowering.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// Its SSA value.
    pub value: ValueId,
    /// Its type.
    pub ty: IntType,
    /// Made of literals only, so that it adapts to exact widths.
    pub literal: bool,
}

/// C's integer promotion.
pub fn promoted(ty: IntType) -> IntType {
    match ty.kind {
        IntKind::Exact => ty,
        IntKind::Bool => IntType::INT,
        IntKind::C if ty.width.bits() < 32 => IntType::INT,
        IntKind::C => ty,
    }
}

/// The common type of two operands, neither of them an adapting literal.
pub fn common(a: IntType, b: IntType) -> IntType {
    if a.kind != IntKind::Exact && b.kind != IntKind::Exact {
        let (a, b) = (promoted(a), promoted(b));
        return wider(a, b, IntKind::C);
    }
    wider(a, b, IntKind::Exact)
}

fn wider(a: IntType, b: IntType, kind: IntKind) -> IntType {
    let signed = match a.width.cmp(&b.width) {
        std::cmp::Ordering::Greater => a.signed,
        std::cmp::Ordering::Less => b.signed,
        std::cmp::Ordering::Equal => a.signed && b.signed,
    };
    IntType { kind, width: a.width.max(b.width), signed }
}

/// Type of a literal: C's, or its minimal exact width above 64 bits.
pub fn literal_type(literal: &IntLiteral) -> Option<IntType> {
    let value = Value::from_limbs(&literal.limbs);
    let bits = value.significant_bits();
    if bits > 64 {
        return Width::new(bits).map(IntType::exact);
    }
    let either = literal.non_decimal || literal.unsigned;
    Some(match (literal.long, literal.unsigned) {
        (false, false) if bits <= 31 => IntType::INT,
        (false, _) if bits <= 32 && either => IntType::UINT,
        (_, false) if bits <= 63 => IntType::c(64, true),
        _ => IntType::UINT64,
    })
}

impl Lowerer<'_, '_> {
    /// A value as another integer type.
    pub fn convert(&mut self, from: Scalar, to: IntType) -> ValueId {
        if to.kind == IntKind::Bool {
            return self.emit.is_true(from.value);
        }
        if to.width > from.ty.width {
            self.warn_narrow(from);
        }
        self.emit.resize(from.value, to.width, from.ty.signed)
    }

    /// Remembers a result beside a literal that may have wrapped in its exact width, for [`Self::warn_narrow`].
    pub(super) fn note_narrow(&mut self, op: BinaryOp, a: Scalar, b: Scalar, result: Scalar, span: Span) {
        let exact = result.ty.kind == IntKind::Exact && !result.ty.signed && result.ty.width.bits() < 64;
        if !exact || a.literal == b.literal || self.emit.known(result.value).is_some() {
            return;
        }
        let highest = |scalar: Scalar| super::ranges::range(&self.emit, scalar.value).map(|range| u128::from(range.hi));
        let (Some(x), Some(y)) = (highest(a), highest(b)) else { return };
        let largest = match op {
            BinaryOp::Add => x + y,
            BinaryOp::Mul => x * y,
            BinaryOp::Shl if b.literal && y < 64 => x << y,
            _ => return,
        };
        if largest >> result.ty.width.bits() != 0 {
            self.narrow.insert((self.body_id, result.value), span);
        }
    }

    /// Warns of a result that is widened after it may have wrapped.
    fn warn_narrow(&mut self, from: Scalar) {
        let Some(&span) = self.narrow.get(&(self.body_id, from.value)) else { return };
        let bits = from.ty.width.bits();
        let message = format!("this wraps at {bits} bits before it is used in a wider place");
        let help = format!(
            "cast an operand first, as in `4 * (uint)x`; if it should wrap, cast the result: `(uint<{bits}>)(x + 1)`"
        );
        self.warn(Code::W0304, span, message, help);
    }

    /// The type in which two operands are computed or compared.
    pub fn common_type(&mut self, a: Scalar, b: Scalar) -> IntType {
        match (a.literal && b.ty.kind == IntKind::Exact, b.literal && a.ty.kind == IntKind::Exact) {
            (true, false) => common(b.ty, self.adapted(a, b.ty)),
            (false, true) => common(a.ty, self.adapted(b, a.ty)),
            _ => common(a.ty, b.ty),
        }
    }

    /// The type of a literal beside an operand of exact width.
    fn adapted(&self, literal: Scalar, other: IntType) -> IntType {
        let Some(value) = self.emit.known(literal.value) else { return literal.ty };
        let width = literal.ty.width;
        let negative = literal.ty.signed && value.is_negative(width);
        let bits = if negative {
            value.wrapping_neg(width).significant_bits() + 1
        } else {
            value.significant_bits() + u32::from(other.signed)
        };
        if bits <= other.width.bits() {
            return other;
        }
        let width = Width::new(bits).unwrap_or(width);
        IntType { kind: IntKind::Exact, width, signed: negative || other.signed }
    }

    /// `a op b`, except `&&` and `||`.
    pub fn binary(&mut self, op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
        let literal = a.literal && b.literal;
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let ty = promoted(a.ty);
            let left = self.convert(a, ty);
            let amount = self.shift_amount(b);
            let code = match op {
                BinaryOp::Shl => Opcode::Shl,
                _ if ty.signed => Opcode::AShr,
                _ => Opcode::LShr,
            };
            return Scalar { value: self.emit.binary(code, left, amount), ty, literal };
        }
        let ty = self.common_type(a, b);
        let (x, y) = (self.convert(a, ty), self.convert(b, ty));
        let s = ty.signed;
        let arithmetic = |emit: &mut super::emit::Emitter, code| Scalar { value: emit.binary(code, x, y), ty, literal };
        let compared = |emit: &mut super::emit::Emitter, code, x, y| Scalar {
            value: emit.compare(code, x, y),
            ty: IntType::BOOL,
            literal: false,
        };
        let emit = &mut self.emit;
        match op {
            BinaryOp::Add => arithmetic(emit, Opcode::Add),
            BinaryOp::Sub => arithmetic(emit, Opcode::Sub),
            BinaryOp::Mul => arithmetic(emit, Opcode::Mul),
            BinaryOp::Div => arithmetic(emit, if s { Opcode::SDiv } else { Opcode::UDiv }),
            BinaryOp::Rem => arithmetic(emit, if s { Opcode::SRem } else { Opcode::URem }),
            BinaryOp::BitAnd => arithmetic(emit, Opcode::And),
            BinaryOp::BitXor => arithmetic(emit, Opcode::Xor),
            BinaryOp::BitOr => arithmetic(emit, Opcode::Or),
            BinaryOp::Eq => compared(emit, Opcode::Eq, x, y),
            BinaryOp::Ne => compared(emit, Opcode::Ne, x, y),
            BinaryOp::Lt => compared(emit, if s { Opcode::SLt } else { Opcode::ULt }, x, y),
            BinaryOp::Le => compared(emit, if s { Opcode::SLe } else { Opcode::ULe }, x, y),
            BinaryOp::Gt => compared(emit, if s { Opcode::SLt } else { Opcode::ULt }, y, x),
            BinaryOp::Ge => compared(emit, if s { Opcode::SLe } else { Opcode::ULe }, y, x),
            BinaryOp::Shl | BinaryOp::Shr => unreachable!("handled above"),
            BinaryOp::And | BinaryOp::Or => unreachable!("these do not evaluate both operands"),
        }
    }

    /// A shift count as an unsigned number: negative ones become too large for any width.
    pub fn shift_amount(&mut self, amount: Scalar) -> ValueId {
        if amount.ty.signed && amount.ty.width.bits() < 32 {
            return self.emit.resize(amount.value, Width::of(32), true);
        }
        amount.value
    }

    /// `-a`, `~a`, `+a`.
    pub fn negate(&mut self, a: Scalar) -> Scalar {
        let ty = promoted(a.ty);
        let operand = self.convert(a, ty);
        let value = self.emit.pure(Opcode::Neg, Attr::None, &[operand], ty.width);
        Scalar { value, ty, literal: a.literal }
    }

    /// Bitwise complement.
    pub fn complement(&mut self, a: Scalar) -> Scalar {
        let ty = promoted(a.ty);
        let operand = self.convert(a, ty);
        Scalar { value: self.emit.not(operand), ty, literal: a.literal }
    }

    /// A constant of 32 bits or fewer as a scalar of a type.
    pub fn number(&mut self, value: u64, ty: IntType) -> Scalar {
        Scalar { value: self.emit.constant_u64(value, ty.width), ty, literal: false }
    }

    /// Fails with "an integer is needed".
    pub fn need_integer<T>(&mut self, span: Span, found: &str) -> Res<T> {
        let message = format!("an integer is needed here, this is of type `{found}`");
        Err(self.error(Code::E0303, span, message, "use a field or an element of it"))
    }
}
