//! Identities of ops that move bits: extend, truncate, extract, concatenate, swap bytes.

use ir::{Attr, Opcode, Value, ValueId, Width};

use crate::fold::Folder;

impl Folder<'_> {
    pub(super) fn bits(&mut self, code: Opcode, attr: &Attr, a: ValueId, width: Width) -> Option<ValueId> {
        match (code, attr) {
            (Opcode::ZExt | Opcode::SExt, _) => self.extend(code, a, width),
            (Opcode::Trunc, _) => self.slice(a, 0, width),
            (Opcode::Extract, &Attr::Bit(0)) => Some(self.part(a, 0, width)),
            (Opcode::Extract, &Attr::Bit(bit)) => self.slice(a, bit, width),
            (Opcode::ByteSwap, _) if width.bits() == 8 => Some(a),
            (Opcode::ByteSwap, _) => self.operands_of(a, Opcode::ByteSwap).map(|operands| operands[0]),
            _ => None,
        }
    }

    /// `width` bits of `a` from `bit` on, in the plainest form.
    pub(super) fn part(&mut self, a: ValueId, bit: u32, width: Width) -> ValueId {
        match bit {
            0 if width == self.rebuild.width(a) => a,
            0 => self.pure(Opcode::Trunc, Attr::None, &[a], width),
            _ => self.pure(Opcode::Extract, Attr::Bit(bit), &[a], width),
        }
    }

    /// `a` with zeros above.
    fn zeros_above(&mut self, a: ValueId, width: Width) -> ValueId {
        if width == self.rebuild.width(a) { a } else { self.pure(Opcode::ZExt, Attr::None, &[a], width) }
    }

    fn extend(&mut self, code: Opcode, a: ValueId, width: Width) -> Option<ValueId> {
        if width == self.rebuild.width(a) {
            return Some(a);
        }
        let op = self.rebuild.definition(a)?;
        match (code, op.code) {
            (_, Opcode::ZExt) => {
                let inner = op.operands[0];
                Some(self.pure(Opcode::ZExt, Attr::None, &[inner], width))
            }
            (Opcode::SExt, Opcode::SExt) => {
                let inner = op.operands[0];
                Some(self.pure(Opcode::SExt, Attr::None, &[inner], width))
            }
            _ => None,
        }
    }

    /// `width` bits of `a` from `bit` on, if what gives `a` shows where they come from.
    fn slice(&mut self, a: ValueId, bit: u32, width: Width) -> Option<ValueId> {
        let op = self.rebuild.definition(a)?;
        let end = bit + width.bits();
        let first = *op.operands.first()?;
        let first_bits = self.rebuild.width(first).bits();
        match (op.code, &op.attr) {
            (Opcode::Trunc, _) => Some(self.part(first, bit, width)),
            (Opcode::Extract, &Attr::Bit(inner)) => Some(self.part(first, bit + inner, width)),
            (Opcode::ZExt | Opcode::SExt, _) if end <= first_bits => Some(self.part(first, bit, width)),
            (Opcode::ZExt, _) if bit >= first_bits => Some(self.constant(Value::ZERO, width)),
            (Opcode::ZExt, _) => {
                let rest = self.part(first, bit, Width::of(first_bits - bit));
                Some(self.zeros_above(rest, width))
            }
            (Opcode::SExt, _) if bit == 0 => Some(self.pure(Opcode::SExt, Attr::None, &[first], width)),
            (Opcode::Concat, _) => {
                let lo = op.operands[1];
                let lo_bits = self.rebuild.width(lo).bits();
                if end <= lo_bits {
                    Some(self.part(lo, bit, width))
                } else if bit >= lo_bits {
                    Some(self.part(first, bit - lo_bits, width))
                } else {
                    None
                }
            }
            (Opcode::LShr, _) => {
                let amount = self.small_constant(op.operands[1])?;
                let inside = amount.checked_add(end).is_some_and(|end| end <= first_bits);
                inside.then(|| self.part(first, bit + amount, width))
            }
            (Opcode::Shl, _) => {
                let amount = self.small_constant(op.operands[1])?;
                if amount <= bit {
                    Some(self.part(first, bit - amount, width))
                } else if amount >= end {
                    Some(self.constant(Value::ZERO, width))
                } else {
                    None
                }
            }
            (Opcode::And, _) => {
                let mask = self.rebuild.constant(op.operands[1])?.bits_at(bit, width);
                if mask == Value::ones(width) {
                    Some(self.part(first, bit, width))
                } else if mask.is_zero() {
                    Some(self.constant(Value::ZERO, width))
                } else {
                    None
                }
            }
            (Opcode::Or, _) => {
                let mask = self.rebuild.constant(op.operands[1])?.bits_at(bit, width);
                mask.is_zero().then(|| self.part(first, bit, width))
            }
            (Opcode::ByteSwap, _) if bit.is_multiple_of(8) && width.bits() == 8 => {
                Some(self.part(first, first_bits - 8 - bit, width))
            }
            _ => None,
        }
    }

    fn small_constant(&self, value: ValueId) -> Option<u32> {
        self.rebuild.constant(value)?.to_u64().and_then(|known| u32::try_from(known).ok())
    }

    pub(super) fn concat(&mut self, hi: ValueId, lo: ValueId, width: Width) -> Option<ValueId> {
        if self.rebuild.constant(hi).is_some_and(Value::is_zero) {
            return Some(self.zeros_above(lo, width));
        }
        if let Some(&[inner]) = self.operands_of(hi, Opcode::ZExt) {
            let inner_bits = self.rebuild.width(inner).bits() + self.rebuild.width(lo).bits();
            let joined = self.pure(Opcode::Concat, Attr::None, &[inner, lo], Width::of(inner_bits));
            return Some(self.zeros_above(joined, width));
        }
        // Neighbouring parts of one value are a part of it.
        let (hi_source, hi_bit) = self.source(hi)?;
        let (lo_source, lo_bit) = self.source(lo)?;
        let neighbours = hi_source == lo_source && hi_bit == lo_bit + self.rebuild.width(lo).bits();
        neighbours.then(|| self.part(lo_source, lo_bit, width))
    }

    /// The value that a part was taken from, and the first bit.
    fn source(&self, part: ValueId) -> Option<(ValueId, u32)> {
        let op = self.rebuild.definition(part)?;
        match (op.code, &op.attr) {
            (Opcode::Trunc, _) => Some((op.operands[0], 0)),
            (Opcode::Extract, &Attr::Bit(bit)) => Some((op.operands[0], bit)),
            _ => None,
        }
    }
}
