//! How values of a body are held, and what is known of them.

use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode as Clif, Value, ValueDef, types};
use ir::ValueId;

use super::body::Lowerer;
use crate::layout::LIMB;

/// Limbs of the widest value in registers.
pub(super) const INLINE_LIMBS: usize = 8;

/// A value of the body.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// Up to 64 bits; bits above the width are 0.
    Small(Value),
    /// Up to [`INLINE_LIMBS`] limbs, least significant first.
    Limbs(Box<[Value]>),
    /// In the frame, from this limb on.
    Far(u32),
}

impl Val {
    pub(super) fn from_limbs(limbs: Vec<Value>) -> Val {
        match *limbs {
            [small] => Val::Small(small),
            _ => Val::Limbs(limbs.into()),
        }
    }
}

/// Limbs of a width in bits.
pub(super) fn n_limbs(width: u32) -> usize {
    width.div_ceil(64) as usize
}

/// All ones at a width of at most 64.
pub(super) fn ones(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl Lowerer<'_> {
    pub(super) fn width(&self, value: ValueId) -> u32 {
        self.body.width(value).bits()
    }

    pub(super) fn val(&self, value: ValueId) -> Val {
        self.values[value.index()].clone().expect("values are defined before they are used")
    }

    pub(super) fn define(&mut self, value: ValueId, val: Val) {
        self.values[value.index()] = Some(val);
    }

    /// The register of a value of at most 64 bits.
    pub(super) fn small(&self, value: ValueId) -> Value {
        match self.val(value) {
            Val::Small(small) => small,
            Val::Limbs(_) | Val::Far(_) => unreachable!("callers look at the width"),
        }
    }

    pub(super) fn iconst(&mut self, number: u64) -> Value {
        self.builder.ins().iconst(types::I64, number as i64)
    }

    pub(super) fn zero(&mut self) -> Value {
        self.iconst(0)
    }

    /// Whether the register is known to be 0.
    pub(super) fn is_zero(&self, value: Value) -> bool {
        let dfg = &self.builder.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(value) else { return false };
        matches!(dfg.insts[inst], InstructionData::UnaryImm { opcode: Clif::Iconst, imm } if imm.bits() == 0)
    }

    /// A limb of a value; 0 past its end.
    pub(super) fn limb(&mut self, val: &Val, i: usize, width: u32) -> Value {
        if i >= n_limbs(width) {
            return self.zero();
        }
        match val {
            Val::Small(small) => *small,
            Val::Limbs(limbs) => limbs[i],
            Val::Far(at) => self.load_frame(at + i as u32),
        }
    }

    /// The limbs of a value, with zeros up to `n`.
    pub(super) fn limbs(&mut self, value: ValueId, n: usize) -> Vec<Value> {
        let (val, width) = (self.val(value), self.width(value));
        (0..n).map(|i| self.limb(&val, i, width)).collect()
    }

    /// A shift amount or index as one limb: all ones if the number does not fit.
    pub(super) fn clamped(&mut self, value: ValueId) -> Value {
        let width = self.width(value);
        if width <= 64 {
            return self.small(value);
        }
        let limbs = self.limbs(value, n_limbs(width));
        let mut above = limbs[1];
        for &limb in &limbs[2..] {
            above = self.builder.ins().bor(above, limb);
        }
        let all_ones = self.iconst(u64::MAX);
        self.builder.ins().select(above, all_ones, limbs[0])
    }

    /// The constant that a value is, as one limb like [`Self::clamped`].
    pub(super) fn constant(&self, value: ValueId) -> Option<u64> {
        self.constants[value.index()].map(|known| known.to_u64().unwrap_or(u64::MAX))
    }

    /// A number that a value never exceeds.
    pub(super) fn maximum(&self, value: ValueId) -> u64 {
        let by_width = if self.width(value) <= 64 { ones(self.width(value)) } else { u64::MAX };
        self.maxima[value.index()].map_or(by_width, |known| known.min(by_width))
    }

    /// Clears the bits that a width of at most 64 does not have.
    pub(super) fn masked(&mut self, value: Value, width: u32) -> Value {
        let narrow = match width {
            64 => return value,
            32 => types::I32,
            16 => types::I16,
            8 => types::I8,
            _ => return self.builder.ins().band_imm_u(value, ones(width) as i64),
        };
        let low = self.builder.ins().ireduce(narrow, value);
        self.builder.ins().uextend(types::I64, low)
    }

    /// Clears the bits of the top limb that a width does not have.
    pub(super) fn mask_top(&mut self, limbs: &mut [Value], width: u32) {
        if !width.is_multiple_of(64) {
            let top = limbs.last_mut().expect("a value has a limb");
            *top = self.masked(*top, width % 64);
        }
    }

    /// A truth value as a limb.
    pub(super) fn truth(&mut self, flag: Value) -> Value {
        self.builder.ins().uextend(types::I64, flag)
    }

    /// Room in the frame for that many limbs.
    pub(super) fn allocate(&mut self, n_limbs: usize) -> u32 {
        let at = self.frame_limbs;
        self.frame_limbs += n_limbs as u32;
        at
    }

    pub(super) fn frame_address(&mut self, at: u32) -> Value {
        let frame = self.frame;
        self.builder.ins().iadd_imm_u(frame, i64::from(at * LIMB))
    }
}
