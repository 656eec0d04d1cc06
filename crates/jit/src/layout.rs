//! Where an element's variables and a body's local arrays lie.
//!
//! The state is one block: the registers, each in limbs of its own, then one pointer for each record array. The fields of an array of
//! structs lie side by side, so that an entry of a table takes as few cache lines as it can; an array of scalars is a record of
//! one field. Fields take the smallest machine word that holds them.

use ir::{Var, VarId, Width};

/// Bytes of a limb.
pub(crate) const LIMB: u32 = 8;

/// How the words of an array lie: word `i` at byte `offset + i * stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Bytes of one word: 1, 2, 4, 8 or a number of limbs.
    pub(crate) bytes: u32,
    /// Words.
    pub(crate) depth: u64,
    /// Bytes from one word to the next.
    pub(crate) stride: u32,
    /// Where in its record the word lies.
    pub(crate) offset: u32,
}

impl Words {
    /// Words one after the other.
    pub(crate) fn new(width: Width, depth: u64) -> Words {
        let bytes = match width.bits() {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            _ => width.limbs() as u32 * LIMB,
        };
        Words { bytes, depth, stride: bytes, offset: 0 }
    }

    /// Bytes of all words and what lies between; panics beyond the address space, which the verifier's limits exclude.
    pub(crate) fn total_bytes(self) -> usize {
        let depth = usize::try_from(self.depth).expect("a memory fits the address space");
        depth.checked_mul(self.stride as usize).expect("a memory fits the address space")
    }

    /// Where in its record a word lies.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.offset as usize..(self.offset + self.bytes) as usize
    }

    fn alignment(self) -> u32 {
        self.bytes.min(LIMB)
    }
}

/// Where a variable lives. Offsets are bytes from the block's start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Its limbs.
    Register { offset: u32 },
    /// The pointer to its record array.
    Memory { pointer_offset: u32, record: usize, words: Words },
}

/// Where a variable lives, by address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FixedPlace {
    /// Its limbs.
    Register { address: u64 },
    /// Its record array.
    Memory { address: u64, words: Words },
}

/// An array of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records {
    pub(crate) pointer_offset: u32,
    pub(crate) n_bytes: usize,
}

/// The places of an element's variables.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    places: Vec<Place>,
    pub(crate) records: Vec<Records>,
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
        let mut places: Vec<Option<Place>> = vec![None; vars.len()];
        for (place, var) in places.iter_mut().zip(vars) {
            if var.depth.is_none() {
                *place = Some(Place::Register { offset: take(var.width.limbs()) });
            }
        }
        let mut records = Vec::new();
        for first in 0..vars.len() {
            let (Some(depth), None) = (vars[first].depth, &places[first]) else { continue };
            let same = |var: &Var| var.depth == Some(depth) && record_name(var) == record_name(&vars[first]);
            let mut fields: Vec<usize> = vec![first];
            if record_name(&vars[first]).is_some() {
                fields.extend((first + 1..vars.len()).filter(|&idx| same(&vars[idx])));
            }
            let pointer_offset = take(1);
            let words = record_words(&fields.iter().map(|&idx| vars[idx].width).collect::<Vec<_>>(), depth);
            records.push(Records { pointer_offset, n_bytes: words[0].total_bytes() });
            for (&idx, words) in fields.iter().zip(words) {
                places[idx] = Some(Place::Memory { pointer_offset, record: records.len() - 1, words });
            }
        }
        let places = places.into_iter().map(|place| place.expect("each variable has been placed")).collect();
        Layout { places, records, n_words: next }
    }

    pub(crate) fn place(&self, var: VarId) -> Place {
        self.places[var.index()]
    }
}

/// The array of structs that a variable is a field of.
fn record_name(var: &Var) -> Option<&str> {
    var.name.split_once('.').map(|(array, _)| array)
}

/// The fields of a record, each aligned, the largest first.
fn record_words(widths: &[Width], depth: u64) -> Vec<Words> {
    let mut words: Vec<Words> = widths.iter().map(|&width| Words::new(width, depth)).collect();
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by_key(|&idx| std::cmp::Reverse(words[idx].alignment()));
    let mut end = 0;
    for &idx in &order {
        words[idx].offset = end;
        end += words[idx].bytes;
    }
    let alignment = words[order[0]].alignment();
    let stride = end.next_multiple_of(alignment);
    words.iter_mut().for_each(|word| word.stride = stride);
    words
}

#[cfg(test)]
mod tests {
    use ir::{Var, VarId, Width};

    use super::{Layout, Place, Words};

    fn memory(name: &str, bits: u32, depth: u64) -> Var {
        Var { name: name.to_string(), width: Width::of(bits), signed: false, depth: Some(depth), reset: vec![] }
    }

    #[test]
    fn fields_of_an_entry_lie_side_by_side() {
        let vars = [memory("t.used", 1, 8), memory("t.key", 48, 8), memory("u", 16, 8), memory("t.wide", 128, 8)];
        let layout = Layout::new(&vars);
        let words = |idx| match layout.place(VarId(idx)) {
            Place::Memory { words, record, .. } => (record, words),
            Place::Register { .. } => panic!("a memory"),
        };
        assert_eq!(words(1), (0, Words { bytes: 8, depth: 8, stride: 32, offset: 0 }));
        assert_eq!(words(3), (0, Words { bytes: 16, depth: 8, stride: 32, offset: 8 }));
        assert_eq!(words(0), (0, Words { bytes: 1, depth: 8, stride: 32, offset: 24 }));
        assert_eq!(words(2), (1, Words { bytes: 2, depth: 8, stride: 2, offset: 0 }));
        assert_eq!((layout.n_words, layout.records[0].n_bytes), (2, 256));
    }
}
