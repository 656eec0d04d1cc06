//! A chain as native code: several packet elements, a batch of packets at a time.
#![allow(unsafe_code)]

use std::rc::Rc;

use ir::engine::{Options, Trap};
use ir::{ChainVar, Counter, ElementId, Verified};

use crate::code::{Assembly, ChainEntryPoint, CodeMemory};
use crate::context::{Context, Outside};
use crate::layout::FixedPlace;
use crate::lower::{ElementInput, Tables, TrapSite, Vars, compile_chain};
use crate::memory::State;
use crate::{Error, Machine, Slot};

/// A compiled chain. It shares its members' state with their machines.
#[derive(Debug)]
pub struct Chain {
    entry: ChainEntryPoint,
    context: Context,
    outside: Outside,
    frame: Vec<u64>,
    /// Of `Counter`s, in the order of `counted`.
    counters: Rc<State>,
    counted: Vec<Counter>,
    members: Vec<ElementId>,
    traps: Vec<TrapSite>,
    meta_words: usize,
    /// The members' states, which code reaches by address.
    _states: Vec<Rc<State>>,
    /// Owns the code.
    _memory: CodeMemory,
}

/// A chain that stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTrap {
    /// Packets done before.
    pub n_done: usize,
    /// The element.
    pub element: ElementId,
    /// What happened.
    pub trap: Trap,
}

impl Chain {
    /// Compiles a chain of the design, which `ir::verify_chain` accepts. `machines` are those of the design's elements, by
    /// [`ElementId`].
    pub fn new(
        design: Verified<'_>,
        chain: &ir::Chain,
        machines: &[&Machine],
        options: Options,
    ) -> Result<Chain, Error> {
        let element = chain.element(design.design());
        let is_counter = |var: &&ChainVar| matches!(var, ChainVar::Counter(_));
        let counter_vars: Vec<ir::Var> = element
            .vars
            .iter()
            .zip(&chain.vars)
            .filter(|(_, var)| is_counter(var))
            .map(|(var, _)| var.clone())
            .collect();
        let counters = Rc::new(State::new(&counter_vars, crate::layout::Layout::new(&counter_vars)));
        let mut counted = Vec::new();
        let places: Vec<FixedPlace> = chain
            .vars
            .iter()
            .map(|&var| match var {
                ChainVar::Member(element, var) => machines[element.index()].shared_state().place(var),
                ChainVar::Counter(counter) => {
                    counted.push(counter);
                    counters.place(ir::VarId(counted.len() as u32 - 1))
                }
            })
            .collect();
        let input = ElementInput {
            design: design.design(),
            element: &element,
            vars: Vars::Fixed(&places),
            options,
            output_words: 0,
            packet_outputs: 0,
        };
        let mut tables = Tables::default();
        let mut assembly = Assembly::new()?;
        let compiled = compile_chain(&mut assembly, input, &chain.body, &mut tables)
            .map_err(|message| Error::Body { element: element.name.clone(), body: "packet".to_string(), message })?;
        let memory = assembly.finish()?;
        Ok(Chain {
            entry: memory.chain_entry(compiled.defined),
            context: Context::new(options.loop_rounds_max),
            outside: Outside { trace_texts: tables.traces, reasons: tables.reasons, ..Outside::default() },
            frame: vec![0; compiled.frame_limbs],
            counters,
            counted,
            members: chain.members.clone(),
            traps: tables.traps,
            meta_words: crate::machine::meta_words(design.design()),
            _states: chain.members.iter().map(|member| machines[member.index()].shared_state().clone()).collect(),
            _memory: memory,
        })
    }

    /// Words of metadata that each packet must have.
    pub fn meta_words(&self) -> usize {
        self.meta_words
    }

    /// Runs packets from the front; gives how many were done. It stops behind the first that
    /// [`Slot::has_stopped`], which is to be finished elsewhere first. No machine of a member may run meanwhile, which `&mut` to their owner ensures.
    #[inline]
    pub fn run(&mut self, slots: &mut [Slot<'_>]) -> Result<usize, ChainTrap> {
        if slots.is_empty() {
            return Ok(0);
        }
        self.context.frame = self.frame.as_mut_ptr();
        self.context.outside = &mut self.outside;
        // SAFETY: `_memory` owns the code and `_states` and `counters` what it was compiled for; states are shared within this thread only
        // (`Rc`), and nothing else runs during the call. The frame has the chain's size. Slots are made of packets that they borrow.
        let status = unsafe { self.entry.call(&mut self.context, slots) };
        let n_done = status as u32 as usize;
        match status >> 32 {
            0 => Ok(n_done),
            site => Err(self.trap(n_done, site)),
        }
    }

    #[cold]
    fn trap(&self, n_done: usize, site: u64) -> ChainTrap {
        let site = &self.traps[site as usize - 1];
        let element = self.members[site.member.max(1) - 1];
        ChainTrap { n_done, element, trap: site.trap(&self.context) }
    }

    /// Port, from 1, of the last `emit` to one that does not exist.
    pub fn no_port(&self) -> u64 {
        self.context.no_port
    }

    /// Zeroes each [`Counter::LastInput`].
    pub fn forget_last_inputs(&mut self) {
        for (idx, counter) in self.counted.iter().enumerate() {
            if matches!(counter, Counter::LastInput(_)) {
                self.counters.zero_register(ir::VarId(idx as u32));
            }
        }
    }

    /// What it counted since it was made.
    pub fn counters(&self) -> impl Iterator<Item = (Counter, u64)> {
        let values = self.counters.values().map(|(_, values)| values[0].to_u64().expect("counters have 64 bits"));
        self.counted.iter().copied().zip(values)
    }
}
