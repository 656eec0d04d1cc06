//! State of an element, and local arrays: registers as limbs, memories as narrow words.
//!
//! A memory takes the smallest machine word that holds its width, and is allocated zeroed: pages that nobody writes cost
//! nothing, so a table of millions of entries takes no time at start.

use ir::{Value, Var, Width};

/// Words of one width.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    words: Words,
    depth: u64,
}

#[derive(Clone, Debug)]
enum Words {
    Bits8(Vec<u8>),
    Bits16(Vec<u16>),
    Bits32(Vec<u32>),
    Bits64(Vec<u64>),
    Limbs { n_limbs: usize, limbs: Vec<u64> },
}

impl Memory {
    pub(crate) fn new(width: Width, depth: u64) -> Memory {
        let n = usize::try_from(depth).expect("a memory fits the address space");
        let words = match width.bits() {
            0..=8 => Words::Bits8(vec![0; n]),
            9..=16 => Words::Bits16(vec![0; n]),
            17..=32 => Words::Bits32(vec![0; n]),
            33..=64 => Words::Bits64(vec![0; n]),
            _ => Words::Limbs { n_limbs: width.limbs(), limbs: vec![0; n * width.limbs()] },
        };
        Memory { words, depth }
    }

    pub(crate) fn depth(&self) -> u64 {
        self.depth
    }

    /// A word of at most 64 bits. The index is below the depth.
    #[inline]
    pub(crate) fn small(&self, index: usize) -> u64 {
        match &self.words {
            Words::Bits8(words) => u64::from(words[index]),
            Words::Bits16(words) => u64::from(words[index]),
            Words::Bits32(words) => u64::from(words[index]),
            Words::Bits64(words) => words[index],
            Words::Limbs { .. } => unreachable!("wide words are read as limbs"),
        }
    }

    /// Sets a word of at most 64 bits; tells whether it changed.
    #[inline]
    pub(crate) fn set_small(&mut self, index: usize, value: u64) -> bool {
        match &mut self.words {
            Words::Bits8(words) => std::mem::replace(&mut words[index], value as u8) != value as u8,
            Words::Bits16(words) => std::mem::replace(&mut words[index], value as u16) != value as u16,
            Words::Bits32(words) => std::mem::replace(&mut words[index], value as u32) != value as u32,
            Words::Bits64(words) => std::mem::replace(&mut words[index], value) != value,
            Words::Limbs { .. } => unreachable!("wide words are written as limbs"),
        }
    }

    /// A wide word.
    #[inline]
    pub(crate) fn wide(&self, index: usize) -> &[u64] {
        match &self.words {
            Words::Limbs { n_limbs, limbs } => &limbs[index * n_limbs..][..*n_limbs],
            Words::Bits8(_) | Words::Bits16(_) | Words::Bits32(_) | Words::Bits64(_) => {
                unreachable!("narrow words are read as numbers")
            }
        }
    }

    /// Sets a wide word; tells whether it changed.
    pub(crate) fn set_wide(&mut self, index: usize, value: &[u64]) -> bool {
        match &mut self.words {
            Words::Limbs { n_limbs, limbs } => {
                let word = &mut limbs[index * *n_limbs..][..*n_limbs];
                let changed = word != value;
                word.copy_from_slice(value);
                changed
            }
            Words::Bits8(_) | Words::Bits16(_) | Words::Bits32(_) | Words::Bits64(_) => {
                unreachable!("narrow words are written as numbers")
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        match &mut self.words {
            Words::Bits8(words) => words.fill(0),
            Words::Bits16(words) => words.fill(0),
            Words::Bits32(words) => words.fill(0),
            Words::Bits64(words) => words.fill(0),
            Words::Limbs { limbs, .. } => limbs.fill(0),
        }
    }

    fn value(&self, index: usize) -> Value {
        match &self.words {
            Words::Limbs { .. } => Value::from_limbs(self.wide(index)),
            Words::Bits8(_) | Words::Bits16(_) | Words::Bits32(_) | Words::Bits64(_) => Value::Small(self.small(index)),
        }
    }

    fn set_value(&mut self, index: usize, value: &Value) {
        match &self.words {
            Words::Limbs { n_limbs, .. } => {
                let mut limbs = value.limbs().to_vec();
                limbs.resize(*n_limbs, 0);
                self.set_wide(index, &limbs);
            }
            Words::Bits8(_) | Words::Bits16(_) | Words::Bits32(_) | Words::Bits64(_) => {
                self.set_small(index, value.low_u64());
            }
        }
    }
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Limbs of the register file, from here on.
    Register { at: u32, n_limbs: u32 },
    /// A memory, by position.
    Memory(u32),
}

/// All variables of one element.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) registers: Vec<u64>,
    pub(crate) memories: Vec<Memory>,
    places: Vec<Place>,
}

impl State {
    /// The reset state.
    pub(crate) fn new(vars: &[Var]) -> State {
        let mut state = State { registers: Vec::new(), memories: Vec::new(), places: Vec::new() };
        for var in vars {
            state.add(var);
        }
        state
    }

    fn add(&mut self, var: &Var) {
        match var.depth {
            None => {
                let at = self.registers.len() as u32;
                let n_limbs = var.width.limbs();
                let mut limbs = var.reset.first().map_or(vec![0], |value| value.limbs().to_vec());
                limbs.resize(n_limbs, 0);
                self.registers.extend(limbs);
                self.places.push(Place::Register { at, n_limbs: n_limbs as u32 });
            }
            Some(depth) => {
                let mut memory = Memory::new(var.width, depth);
                for (index, value) in var.reset.iter().enumerate() {
                    memory.set_value(index, value);
                }
                self.memories.push(memory);
                self.places.push(Place::Memory(self.memories.len() as u32 - 1));
            }
        }
    }

    pub(crate) fn place(&self, var: ir::VarId) -> Place {
        self.places[var.index()]
    }

    /// Words of a variable: one for a register.
    pub(crate) fn values(&self, var: ir::VarId) -> Vec<Value> {
        match self.place(var) {
            Place::Register { at, n_limbs } => {
                vec![Value::from_limbs(&self.registers[at as usize..(at + n_limbs) as usize])]
            }
            Place::Memory(memory) => {
                let memory = &self.memories[memory as usize];
                (0..memory.depth as usize).map(|index| memory.value(index)).collect()
            }
        }
    }
}
