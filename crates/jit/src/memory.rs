//! The state of an element: a block of registers and pointers, and the memories that it points to.
#![allow(unsafe_code)]

use std::alloc::{Layout as Allocation, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use ir::{Value, Var, VarId};

use crate::layout::{LIMB, Layout, Place};

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

    fn as_slice(&self) -> &[u8] {
        // SAFETY: the allocation is this large, zeroed when made, and only code called through `&mut Machine` writes it.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr(), self.allocation.size()) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; `&mut self` excludes other users.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr(), self.allocation.size()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and dropped once.
        unsafe { dealloc(self.bytes.as_ptr(), self.allocation) }
    }
}

/// All variables of one element.
#[derive(Debug)]
pub(crate) struct State {
    block: Vec<u64>,
    memories: Vec<Memory>,
    vars: Vec<Var>,
    layout: Layout,
}

impl State {
    /// The reset state.
    pub(crate) fn new(vars: &[Var], layout: Layout) -> State {
        let memories = layout.records.iter().map(|records| Memory::new(records.n_bytes)).collect();
        let mut state = State { block: vec![0; layout.n_words], memories, vars: vars.to_vec(), layout };
        for (records, memory) in state.layout.records.iter().zip(&state.memories) {
            state.block[(records.pointer_offset / LIMB) as usize] = memory.bytes.as_ptr().expose_provenance() as u64;
        }
        for (idx, var) in vars.iter().enumerate() {
            match state.layout.place(VarId(idx as u32)) {
                Place::Register { offset } => {
                    let limbs = var.reset.first().map_or(&[][..], Value::limbs);
                    let at = (offset / LIMB) as usize;
                    state.block[at..at + limbs.len()].copy_from_slice(limbs);
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
    pub(crate) fn block(&mut self) -> *mut u64 {
        self.block.as_mut_ptr()
    }

    /// Each variable with its words, one for a register, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, Vec<Value>)> {
        self.vars.iter().enumerate().map(move |(idx, var)| {
            let values = match self.layout.place(VarId(idx as u32)) {
                Place::Register { offset } => {
                    let at = (offset / LIMB) as usize;
                    vec![Value::from_limbs(&self.block[at..at + var.width.limbs()])]
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
