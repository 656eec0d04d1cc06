//! Variables, the places inside them, and how they are read and written.
//!
//! A variable is a list of leaves (its scalars, arrays kept as dimensions), each with a storage: a slot of the SSA environment, a
//! local array, a register, a memory, a metadata field, or constants. A [`Place`] narrows the leaves by field names and collects
//! index values, until a scalar is reached.

use std::cell::Cell;
use std::rc::Rc;

use diag::{Code, Span};
use ir::{Attr, Opcode, Value, ValueId, VarId, Width};

use super::{Lowerer, Res};
use crate::types::{IntKind, IntType, Type};

/// Where the words of a leaf live.
#[derive(Clone, Debug)]
pub enum Storage {
    /// A slot of the environment.
    Slot(usize),
    /// One storage an element, row-major; for small arrays of things that are no memory.
    Elements(Rc<Vec<Storage>>),
    /// A local array of the body.
    Local(u32),
    /// A state register.
    Register(VarId),
    /// A state memory.
    Memory(VarId),
    /// A metadata field of the packet.
    Meta(u32),
    /// Constants.
    Rom(Rc<Rom>),
}

/// A constant array; becomes a memory with reset values where it is indexed by something that is not constant.
#[derive(Debug)]
pub struct Rom {
    /// Name of the memory.
    pub name: String,
    /// Words.
    pub words: Vec<Value>,
    /// The memory, once it is there.
    pub var: Cell<Option<VarId>>,
}

/// A leaf and its storage.
#[derive(Clone, Debug)]
pub struct StoredLeaf {
    /// The scalar.
    pub ty: IntType,
    /// Dimensions, outermost first.
    pub dims: Vec<u64>,
    /// Where it lives.
    pub storage: Storage,
}

/// The value of an index as evaluated.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its value.
    pub value: ValueId,
    /// Its type.
    pub ty: IntType,
    /// Where it stands.
    pub span: Span,
}

/// Selected bits of an integer place.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    /// Lowest bit.
    pub position: ValueId,
    /// How many.
    pub width: Width,
}

/// Something that can be read, and written unless it is constant.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its type.
    pub ty: Type,
    /// Leaves of the whole variable.
    pub leaves: Rc<Vec<StoredLeaf>>,
    /// First leaf of this place; as many follow as the type has.
    pub first: usize,
    /// Index values up to here.
    pub indices: Vec<Index>,
    /// Bits of the scalar.
    pub bits: Option<Bits>,
    /// What cannot be assigned: `a constant`, for the report.
    pub read_only: Option<&'static str>,
    /// The body that the storage belongs to; 0 for the element's.
    pub body: u32,
    /// The variable, for reports.
    pub name: String,
}

impl Place {
    /// A field of a struct place, by position.
    pub fn field(&self, at: usize) -> Place {
        let Type::Struct(struct_type) = &self.ty else { unreachable!("callers look at the type") };
        let before: usize = struct_type.fields[..at].iter().map(|(_, ty)| ty.n_leaves()).sum();
        Place { ty: struct_type.fields[at].1.clone(), first: self.first + before, ..self.clone() }
    }

    /// An element of an array place.
    pub fn element(&self, index: Index) -> Place {
        let Type::Array(element, _) = &self.ty else { unreachable!("callers look at the type") };
        let mut place = Place { ty: (**element).clone(), ..self.clone() };
        place.indices.push(index);
        place
    }

    /// Slots of the environment that hold it.
    pub fn slots(&self) -> Vec<usize> {
        let mut slots = Vec::new();
        for leaf in &self.leaves[self.first..self.first + self.ty.n_leaves()] {
            storage_slots(&leaf.storage, &mut slots);
        }
        slots
    }
}

fn storage_slots(storage: &Storage, slots: &mut Vec<usize>) {
    match storage {
        Storage::Slot(slot) => slots.push(*slot),
        Storage::Elements(elements) => elements.iter().for_each(|inner| storage_slots(inner, slots)),
        Storage::Local(_) | Storage::Register(_) | Storage::Memory(_) | Storage::Meta(_) | Storage::Rom(_) => {}
    }
}

/// A word of an array.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// At compile time, in range.
    Known(u64),
    /// At run time; the array's depth or more if any index is out of range.
    Dynamic(ValueId),
}

impl Lowerer<'_, '_> {
    /// All scalar places inside a place, in order of [`Type::scalars`].
    pub fn scalar_places(&mut self, place: &Place, span: Span, all: &mut Vec<Place>) {
        match &place.ty {
            Type::Void => {}
            Type::Int(_) => all.push(place.clone()),
            Type::Struct(struct_type) => {
                for at in 0..struct_type.fields.len() {
                    self.scalar_places(&place.field(at), span, all);
                }
            }
            Type::Array(_, length) => {
                for at in 0..*length {
                    let value = self.emit.constant_u64(at, Width::of(32));
                    self.scalar_places(&place.element(Index { value, ty: IntType::UINT, span }), span, all);
                }
            }
        }
    }

    /// Reads every scalar of a place.
    pub fn load(&mut self, place: &Place, span: Span) -> Res<Vec<ValueId>> {
        if let Type::Int(ty) = place.ty {
            return Ok(vec![self.load_scalar(place, ty, span)?]);
        }
        self.check_scalar_count(&place.ty, span)?;
        let mut places = Vec::new();
        self.scalar_places(place, span, &mut places);
        places.iter().map(|scalar| self.load_scalar(scalar, scalar_type(scalar), span)).collect()
    }

    /// Writes every scalar of a place; the values have the scalars' widths.
    pub fn store(&mut self, place: &Place, values: &[ValueId], span: Span) -> Res<()> {
        if let Some(what) = place.read_only {
            let message = format!("`{}` is {what} and cannot be assigned", place.name);
            return Err(self.error(Code::E0305, span, message, "assign to a variable instead, or drop the `const`"));
        }
        let mut places = Vec::new();
        self.check_scalar_count(&place.ty, span)?;
        self.scalar_places(place, span, &mut places);
        for (scalar, &value) in places.iter().zip(values) {
            self.store_scalar(scalar, value, span)?;
        }
        Ok(())
    }

    /// Refuses values of more scalars than anybody could mean to copy in one go.
    pub fn check_scalar_count(&mut self, ty: &Type, span: Span) -> Res<()> {
        const SCALARS_MAX: u64 = 4096;
        if ty.n_scalars() <= SCALARS_MAX {
            return Ok(());
        }
        let message = format!("a value of type `{}` is too large to be copied as a whole", ty.name());
        Err(self.error(Code::E0321, span, message, "copy it element by element in a loop"))
    }

    fn load_scalar(&mut self, place: &Place, ty: IntType, span: Span) -> Res<ValueId> {
        let Some(bits) = place.bits else { return self.load_leaf(place, span) };
        let whole = self.load_leaf(place, span)?;
        let _ = ty;
        Ok(self.select_bits(whole, bits))
    }

    fn store_scalar(&mut self, place: &Place, value: ValueId, span: Span) -> Res<()> {
        let Some(bits) = place.bits else { return self.store_leaf(place, value, span) };
        let whole = self.load_leaf(place, span)?;
        let changed = match self.emit.known_u64(bits.position) {
            Some(position) => self.emit.insert(whole, position as u32, value),
            None => self.emit.insert_at(whole, bits.position, value),
        };
        self.store_leaf(place, changed, span)
    }

    /// Bits of a value; those past its end are 0.
    pub fn select_bits(&mut self, whole: ValueId, bits: Bits) -> ValueId {
        let width = self.emit.width(whole).bits();
        match self.emit.known_u64(bits.position) {
            Some(position) if position + u64::from(bits.width.bits()) <= u64::from(width) => {
                self.emit.extract(whole, position as u32, bits.width)
            }
            _ => {
                let shifted = self.emit.binary(Opcode::LShr, whole, bits.position);
                self.emit.resize(shifted, bits.width, false)
            }
        }
    }

    fn load_leaf(&mut self, place: &Place, span: Span) -> Res<ValueId> {
        self.check_reachable(place, span)?;
        let leaf = place.leaves[place.first].clone();
        let word = self.word(place, &leaf)?;
        let previous = self.emit.set_span(Some(span));
        let value = self.load_word(&leaf.storage, leaf.ty.width, word);
        self.emit.set_span(previous);
        Ok(value)
    }

    fn store_leaf(&mut self, place: &Place, value: ValueId, span: Span) -> Res<()> {
        self.check_reachable(place, span)?;
        let leaf = place.leaves[place.first].clone();
        let word = self.word(place, &leaf)?;
        let previous = self.emit.set_span(Some(span));
        self.store_word(&leaf.storage, word, value);
        self.emit.set_span(previous);
        Ok(())
    }

    /// A constant expression may not touch variables from outside of it.
    fn check_reachable(&mut self, place: &Place, span: Span) -> Res<()> {
        if place.body == self.body_id || (place.body == 0 && !self.in_constant) {
            return Ok(());
        }
        let message = format!("`{}` is not known at compile time", place.name);
        Err(self.error(Code::E0306, span, message, "use literals, parameters, enum values and `constexpr` names here"))
    }

    /// Which word a leaf's index values name.
    fn word(&mut self, place: &Place, leaf: &StoredLeaf) -> Res<Word> {
        if leaf.dims.is_empty() {
            return Ok(Word::Known(0));
        }
        let depth: u64 = leaf.dims.iter().product();
        for (index, &dim) in place.indices.iter().zip(&leaf.dims) {
            self.check_bound(place, index, dim);
        }
        if let [index] = &place.indices[..] {
            if let Some(known) = self.emit.known_u64(index.value) {
                let negative = index.ty.signed && Value::from(known).is_negative(index.ty.width);
                return Ok(Word::Known(if negative { depth } else { known }));
            }
            // A negative number of few bits must not look like a small positive one.
            let needs_sign = index.ty.signed && index.ty.width.bits() < 32;
            let wide = if needs_sign { self.emit.resize(index.value, Width::of(32), true) } else { index.value };
            return Ok(Word::Dynamic(wide));
        }
        self.flat_word(&place.indices, &leaf.dims, depth)
    }

    /// Row-major position; the depth if any index is out of range.
    fn flat_word(&mut self, indices: &[Index], dims: &[u64], depth: u64) -> Res<Word> {
        let known: Option<Vec<u64>> = indices.iter().map(|index| self.emit.known_u64(index.value)).collect();
        if let Some(known) = known {
            // A negative number is a large one here, past every dimension.
            let inside = known.iter().zip(dims).all(|(at, dim)| at < dim);
            let flat = known.iter().zip(dims).fold(0_u64, |sum, (at, dim)| sum.wrapping_mul(*dim).wrapping_add(*at));
            return Ok(Word::Known(if inside { flat } else { depth }));
        }
        let width = Width::of(64 - depth.leading_zeros());
        let mut flat = self.emit.zero(width);
        let mut inside = self.emit.constant_bool(true);
        for (index, &dim) in indices.iter().zip(dims) {
            let proven = super::ranges::range(&self.emit, index.value).is_some_and(|range| range.hi < dim);
            if !proven && (index.ty.signed || index.ty.width.bits() > 63 || dim >> index.ty.width.bits() == 0) {
                let index_width = Width::of(index.ty.width.bits().max(64 - dim.leading_zeros() + 1));
                let wide = self.emit.resize(index.value, index_width, index.ty.signed);
                let limit = self.emit.constant_u64(dim, index_width);
                let ok = self.emit.compare(Opcode::ULt, wide, limit);
                inside = self.emit.binary(Opcode::And, inside, ok);
            }
            let factor = self.emit.constant_u64(dim, width);
            let scaled = self.emit.binary(Opcode::Mul, flat, factor);
            let part = self.emit.resize(index.value, width, false);
            flat = self.emit.binary(Opcode::Add, scaled, part);
        }
        let outside = self.emit.constant_u64(depth, width);
        Ok(Word::Dynamic(self.emit.select(inside, flat, outside)))
    }

    /// Reports an index that is surely out of range, and warns of one that may be.
    fn check_bound(&mut self, place: &Place, index: &Index, dim: u64) {
        if let Some(known) = self.emit.known(index.value) {
            let negative = index.ty.signed && known.is_negative(index.ty.width);
            if !negative && known.to_u64().is_some_and(|at| at < dim) {
                return;
            }
            let shown = if index.ty.signed { known.to_signed_string(index.ty.width) } else { known.to_string() };
            let message = format!("index {shown} is outside of `{}`, which has {dim} elements here", place.name);
            let help = format!("use an index from 0 to {}; this reads 0, and writing here is ignored", dim - 1);
            self.warn(Code::W0302, index.span, message, help);
            return;
        }
        if super::ranges::range(&self.emit, index.value).is_some_and(|range| range.hi < dim) {
            return;
        }
        // A later access with the same index needs the same test: one report is enough.
        let reports = &self.reports;
        let is_reported =
            |first: &Span| reports.iter().any(|old| old.code == Code::W0301 && old.primary.span == *first);
        let key = (self.body_id, index.value, place.name.clone());
        if self.unproven.get(&key).is_some_and(is_reported) {
            return;
        }
        self.unproven.insert(key, index.span);
        let message = format!("cannot prove that this index of `{}` is below {dim}", place.name);
        let help = format!(
            "test it first (`if (i < {dim})`), or reduce it (`i % {dim}`); out of range reads give 0, writes are ignored"
        );
        self.warn(Code::W0301, index.span, message, help);
    }

    fn load_word(&mut self, storage: &Storage, width: Width, word: Word) -> ValueId {
        match (storage, word) {
            (Storage::Slot(slot), _) => self.slots[*slot],
            (Storage::Register(var), _) => self.emit.ask(Opcode::RegRead, Attr::Var(*var), vec![], width),
            (Storage::Meta(field), _) => self.emit.ask(Opcode::MetaRead, Attr::Meta(*field), vec![], width),
            (Storage::Elements(elements), Word::Known(at)) => match elements.get(at as usize) {
                Some(element) => self.load_word(element, width, Word::Known(0)),
                None => self.emit.zero(width),
            },
            (Storage::Elements(elements), Word::Dynamic(at)) => {
                let mut result = self.emit.zero(width);
                for (position, element) in elements.iter().enumerate() {
                    let value = self.load_word(element, width, Word::Known(0));
                    let here = self.is_position(at, position as u64);
                    result = self.emit.select(here, value, result);
                }
                result
            }
            (Storage::Rom(rom), Word::Known(at)) => {
                let word = rom.words.get(at as usize).cloned().unwrap_or(Value::ZERO);
                self.emit.constant(word, width)
            }
            (Storage::Rom(rom), Word::Dynamic(at)) => {
                let var = self.rom_memory(rom, width);
                self.emit.ask(Opcode::MemRead, Attr::Var(var), vec![at], width)
            }
            (Storage::Local(local), _) => {
                let at = self.word_value(word);
                self.emit.ask(Opcode::LocalRead, Attr::Local(*local), vec![at], width)
            }
            (Storage::Memory(var), _) => {
                let at = self.word_value(word);
                self.emit.ask(Opcode::MemRead, Attr::Var(*var), vec![at], width)
            }
        }
    }

    fn store_word(&mut self, storage: &Storage, word: Word, value: ValueId) {
        match (storage, word) {
            (Storage::Slot(slot), _) => self.slots[*slot] = value,
            (Storage::Register(var), _) => drop(self.emit.effect(Opcode::RegWrite, Attr::Var(*var), vec![value], &[])),
            (Storage::Meta(field), _) => {
                drop(self.emit.effect(Opcode::MetaWrite, Attr::Meta(*field), vec![value], &[]))
            }
            (Storage::Elements(elements), Word::Known(at)) => {
                if let Some(element) = elements.get(at as usize) {
                    self.store_word(element, Word::Known(0), value);
                }
            }
            (Storage::Elements(elements), Word::Dynamic(at)) => {
                let width = self.emit.width(value);
                for (position, element) in elements.iter().enumerate() {
                    let old = self.load_word(element, width, Word::Known(0));
                    let here = self.is_position(at, position as u64);
                    let chosen = self.emit.select(here, value, old);
                    self.store_word(element, Word::Known(0), chosen);
                }
            }
            (Storage::Rom(_), _) => unreachable!("constants are read-only places"),
            (Storage::Local(local), _) => {
                let at = self.word_value(word);
                self.emit.effect(Opcode::LocalWrite, Attr::Local(*local), vec![at, value], &[]);
            }
            (Storage::Memory(var), _) => {
                let at = self.word_value(word);
                self.emit.effect(Opcode::MemWrite, Attr::Var(*var), vec![at, value], &[]);
            }
        }
    }

    fn is_position(&mut self, at: ValueId, position: u64) -> ValueId {
        let width = self.emit.width(at);
        if width.bits() < 64 && position >> width.bits() != 0 {
            return self.emit.constant_bool(false);
        }
        let position = self.emit.constant_u64(position, width);
        self.emit.compare(Opcode::Eq, at, position)
    }

    fn word_value(&mut self, word: Word) -> ValueId {
        match word {
            Word::Known(at) => {
                let bits = (64 - at.leading_zeros()).max(1);
                self.emit.constant_u64(at, Width::of(bits.max(32)))
            }
            Word::Dynamic(value) => value,
        }
    }

    fn rom_memory(&mut self, rom: &Rc<Rom>, width: Width) -> VarId {
        if let Some(var) = rom.var.get() {
            return var;
        }
        let var = VarId(self.vars.len() as u32);
        self.vars.push(ir::Var {
            name: rom.name.clone(),
            width,
            signed: false,
            depth: Some(rom.words.len() as u64),
            reset: rom.words.clone(),
        });
        rom.var.set(Some(var));
        var
    }
}

/// The integer type of a scalar place.
pub fn scalar_type(place: &Place) -> IntType {
    match place.ty {
        Type::Int(ty) => ty,
        Type::Void | Type::Struct(_) | Type::Array(..) => IntType { kind: IntKind::C, ..IntType::UINT },
    }
}
