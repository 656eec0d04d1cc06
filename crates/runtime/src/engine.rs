//! The machine that runs an element, on whichever engine.

use interp::{Firing, Inputs, Packet, PacketFiring, Trap};
use ir::{ElementId, Value, Verified};

use crate::options::Engine;

/// One element at work. Both engines do the same; see `interp::Machine` for what.
pub(crate) enum Machine {
    Interp(Box<interp::Machine>),
    Jit(Box<jit::Machine>),
}

impl Machine {
    pub(crate) fn new(
        engine: Engine,
        design: Verified<'_>,
        element: ElementId,
        options: interp::Options,
    ) -> Result<Machine, jit::Error> {
        Ok(match engine {
            Engine::Interp => Machine::Interp(Box::new(interp::Machine::new(design.design(), element, options))),
            Engine::Jit => Machine::Jit(Box::new(jit::Machine::new(design, element, options)?)),
        })
    }

    pub(crate) fn init(&mut self) -> Result<(), Trap> {
        match self {
            Machine::Interp(machine) => machine.init(),
            Machine::Jit(machine) => machine.init(),
        }
    }

    #[inline]
    pub(crate) fn fire(&mut self, now_ns: u64, ready: u32, inputs: &dyn Inputs) -> Result<Firing, Trap> {
        match self {
            Machine::Interp(machine) => machine.fire(now_ns, ready, inputs),
            Machine::Jit(machine) => machine.fire(now_ns, ready, inputs),
        }
    }

    #[inline]
    pub(crate) fn set_outcome(&mut self, accepted: u32, refused: u32) {
        match self {
            Machine::Interp(machine) => machine.set_outcome(accepted, refused),
            Machine::Jit(machine) => machine.set_outcome(accepted, refused),
        }
    }

    #[inline]
    pub(crate) fn output(&self, port: usize) -> &[u64] {
        match self {
            Machine::Interp(machine) => machine.output(port),
            Machine::Jit(machine) => machine.output(port),
        }
    }

    #[inline]
    pub(crate) fn fire_packet(&mut self, now_ns: u64, in_port: u32, packet: &mut Packet) -> Result<PacketFiring, Trap> {
        match self {
            Machine::Interp(machine) => machine.fire_packet(now_ns, in_port, packet),
            Machine::Jit(machine) => machine.fire_packet(now_ns, in_port, packet),
        }
    }

    pub(crate) fn call_signal(&mut self, signal: usize, now_ns: u64, arguments: &[Value]) -> Result<Vec<Value>, Trap> {
        match self {
            Machine::Interp(machine) => machine.call_signal(signal, now_ns, arguments),
            Machine::Jit(machine) => machine.call_signal(signal, now_ns, arguments),
        }
    }

    /// Whether there are wake-ups or traces to be taken.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        match self {
            Machine::Interp(machine) => machine.has_news(),
            Machine::Jit(machine) => machine.has_news(),
        }
    }

    pub(crate) fn take_wakes(&mut self) -> std::vec::Drain<'_, u64> {
        match self {
            Machine::Interp(machine) => machine.take_wakes(),
            Machine::Jit(machine) => machine.take_wakes(),
        }
    }

    pub(crate) fn listen(&mut self) {
        match self {
            Machine::Interp(machine) => machine.listen(),
            Machine::Jit(machine) => machine.listen(),
        }
    }

    pub(crate) fn take_traces(&mut self) -> Vec<String> {
        match self {
            Machine::Interp(machine) => machine.take_traces().collect(),
            Machine::Jit(machine) => machine.take_traces().collect(),
        }
    }

    pub(crate) fn state(&self) -> Vec<(&str, Vec<Value>)> {
        match self {
            Machine::Interp(machine) => machine.state().collect(),
            Machine::Jit(machine) => machine.state().collect(),
        }
    }
}
