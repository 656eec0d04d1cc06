//! Where an element's variables and a body's local arrays lie.
//!
//! The state is one block: the registers, each in limbs of its own, then one pointer for each memory. Words of memories take the
//! smallest machine word that holds them.

use ir::{Var, VarId, Width};

/// Bytes of a limb.
pub(crate) const LIMB: u32 = 8;

/// How the words of an array lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Bytes of one word: 1, 2, 4, 8 or a number of limbs.
    pub(crate) bytes: u32,
    /// Words.
    pub(crate) depth: u64,
}

impl Words {
    pub(crate) fn new(width: Width, depth: u64) -> Words {
        let bytes = match width.bits() {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            _ => width.limbs() as u32 * LIMB,
        };
        Words { bytes, depth }
    }

    /// Bytes of all words; panics beyond the address space, which the verifier's limits exclude.
    pub(crate) fn total_bytes(self) -> usize {
        let depth = usize::try_from(self.depth).expect("a memory fits the address space");
        depth.checked_mul(self.bytes as usize).expect("a memory fits the address space")
    }
}

/// Where a variable lives. Offsets are bytes from the block's start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Its limbs.
    Register { offset: u32 },
    /// The pointer to its words.
    Memory { pointer_offset: u32, words: Words },
}

/// The places of an element's variables.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    places: Vec<Place>,
    /// Limbs and pointers of the block.
    pub(crate) n_words: usize,
}

impl Layout {
    pub(crate) fn new(vars: &[Var]) -> Layout {
        let mut next = 0;
        let mut take = |n_words: usize| {
            let offset = next as u32 * LIMB;
            next += n_words;
            offset
        };
        let registers: Vec<u32> =
            vars.iter().map(|var| if var.depth.is_none() { take(var.width.limbs()) } else { 0 }).collect();
        let place = |(var, offset): (&Var, u32)| match var.depth {
            None => Place::Register { offset },
            Some(depth) => Place::Memory { pointer_offset: take(1), words: Words::new(var.width, depth) },
        };
        let places = vars.iter().zip(registers).map(place).collect();
        Layout { places, n_words: next }
    }

    pub(crate) fn place(&self, var: VarId) -> Place {
        self.places[var.index()]
    }
}
