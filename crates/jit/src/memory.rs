//! The state of an element: a block of registers and pointers, and the memories that it points to.
#![allow(unsafe_code)]

use std::alloc::{Layout as Allocation, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use ir::{Value, Var, VarId};

use crate::layout::{FixedPlace, LIMB, Layout, Place};

/// The words of one memory, zeroed at first. Pages that nobody writes cost nothing, so large tables take no time at start.
#[derive(Debug)]
struct Memory {
    bytes: NonNull<u8>,
    allocation: Allocation,
}

impl Memory {
    fn new(n_bytes: usize) -> Memory {
        let allocation = Allocation::from_size_align(n_bytes.max(1), 64).expect("a memory fits the address space");
        // SAFETY: the size is not 0.
        let bytes = unsafe { alloc_zeroed(allocation) };
        let bytes = NonNull::new(bytes).unwrap_or_else(|| handle_alloc_error(allocation));
        Memory { bytes, allocation }
    }

    fn address(&self) -> u64 {
        self.bytes.as_ptr().expose_provenance() as u64
    }

    fn as_slice(&self) -> &[u8] {
        // SAFETY: the allocation is this large, zeroed when made, and only code writes it, which never runs during a borrow: machines
        // and chains are not shared between threads and call code through `&mut self`.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr(), self.allocation.size()) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; `&mut self` excludes other users.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr(), self.allocation.size()) }
    }
}

/// Bytes of a register in its block.
fn register_range(offset: u32, var: &Var) -> std::ops::Range<usize> {
    let offset = offset as usize;
    offset..offset + var.width.limbs() * LIMB as usize
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and dropped once.
        unsafe { dealloc(self.bytes.as_ptr(), self.allocation) }
    }
}

/// All variables of one element. Its machine and a chain that the element is a member of share it.
#[derive(Debug)]
pub(crate) struct State {
    block: Memory,
    memories: Vec<Memory>,
    vars: Vec<Var>,
    layout: Layout,
}

impl State {
    /// The reset state.
    pub(crate) fn new(vars: &[Var], layout: Layout) -> State {
        let memories = layout.records.iter().map(|records| Memory::new(records.n_bytes)).collect();
        let mut state =
            State { block: Memory::new(layout.n_words * LIMB as usize), memories, vars: vars.to_vec(), layout };
        for (records, memory) in state.layout.records.iter().zip(&state.memories) {
            let at = records.pointer_offset as usize;
            state.block.as_mut_slice()[at..at + LIMB as usize].copy_from_slice(&memory.address().to_ne_bytes());
        }
        for (idx, var) in vars.iter().enumerate() {
            match state.layout.place(VarId(idx as u32)) {
                Place::Register { offset } => {
                    let bytes = &mut state.block.as_mut_slice()[register_range(offset, var)];
                    var.reset.first().iter().for_each(|value| value.write_le_bytes(bytes));
                }
                Place::Memory { record, words, .. } => {
                    let records = state.memories[record].as_mut_slice().chunks_exact_mut(words.stride as usize);
                    for (value, record) in var.reset.iter().zip(records) {
                        value.write_le_bytes(&mut record[words.range()]);
                    }
                }
            }
        }
        state
    }

    /// The block, as code takes it.
    pub(crate) fn block(&self) -> *mut u64 {
        self.block.bytes.as_ptr().cast()
    }

    /// Where a variable lives.
    pub(crate) fn place(&self, var: VarId) -> FixedPlace {
        let block = self.block.address();
        match self.layout.place(var) {
            Place::Register { offset } => FixedPlace::Register { address: block + u64::from(offset) },
            Place::Memory { record, words, .. } => {
                FixedPlace::Memory { address: self.memories[record].address(), words }
            }
        }
    }

    /// Zeroes a register; no code may be running.
    pub(crate) fn zero_register(&self, var: VarId) {
        let n_limbs = self.vars[var.index()].width.limbs();
        (0..n_limbs).for_each(|limb| self.set_register_limb(var, limb, 0));
    }

    /// Writes all limbs of a register; no code may be running. The value must fit its width.
    pub(crate) fn set_register(&self, var: VarId, limbs: &[u64]) {
        assert_eq!(limbs.len(), self.vars[var.index()].width.limbs(), "a value has the limbs of its register");
        limbs.iter().enumerate().for_each(|(limb, &value)| self.set_register_limb(var, limb, value));
    }

    fn set_register_limb(&self, var: VarId, limb: usize, value: u64) {
        let place = self.register_limb_place(var, limb);
        // SAFETY: the limb lies in the block, aligned, and nobody else accesses it now: states are shared within one thread.
        unsafe { place.write(value) }
    }

    /// One limb of a register; no code may be running.
    pub(crate) fn register_limb(&self, var: VarId, limb: usize) -> u64 {
        let place = self.register_limb_place(var, limb);
        // SAFETY: as in `set_register_limb`.
        unsafe { place.read() }
    }

    /// In the block. Panics if it is none of a register's limbs.
    fn register_limb_place(&self, var: VarId, limb: usize) -> *mut u64 {
        assert!(limb < self.vars[var.index()].width.limbs(), "a register has this limb");
        let Place::Register { offset } = self.layout.place(var) else { panic!("a register") };
        self.block().wrapping_add((offset / LIMB) as usize + limb)
    }

    /// The words of an array of scalars, one after the other, each little-endian; no code may be running. Panics if it is anything else.
    pub(crate) fn memory_bytes(&self, var: VarId) -> &[u8] {
        let Place::Memory { record, words, .. } = self.layout.place(var) else { panic!("a memory") };
        assert_eq!(words.stride, words.bytes, "an array of scalars has nothing between its words");
        &self.memories[record].as_slice()[..words.total_bytes()]
    }

    /// Each variable with its words, one for a register, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, Vec<Value>)> {
        self.vars.iter().enumerate().map(move |(idx, var)| {
            let values = match self.layout.place(VarId(idx as u32)) {
                Place::Register { offset } => {
                    vec![Value::from_le_bytes(&self.block.as_slice()[register_range(offset, var)])]
                }
                Place::Memory { record, words, .. } => {
                    let bytes = &self.memories[record].as_slice()[..words.total_bytes()];
                    let records = bytes.chunks_exact(words.stride as usize);
                    records.map(|record| Value::from_le_bytes(&record[words.range()])).collect()
                }
            };
            (var.name.as_str(), values)
        })
    }
}
