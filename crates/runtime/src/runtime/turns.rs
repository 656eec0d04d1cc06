//! Turns: what nodes do while time stands still, until nothing can fire.

use std::cmp::Reverse;

use super::{NodeState, RECENT, Runtime};
use crate::convert::Assembled;
use crate::element::{Surroundings, Turn, Woken};
use crate::error::RunError;

impl Runtime<'_> {
    pub(super) fn enqueue(&mut self, node: u32) {
        let state = &mut self.nodes[node as usize];
        if !std::mem::replace(&mut state.is_queued, true) {
            self.queue.push_back(node);
        }
    }

    /// A port of the node changed.
    pub(super) fn poke(&mut self, node: u32) {
        self.nodes[node as usize].is_asleep = false;
        self.enqueue(node);
    }

    /// Gives turns until nothing can fire.
    pub(super) fn settle(&mut self) -> Result<(), RunError> {
        while let Some(node) = self.queue.pop_front() {
            self.nodes[node as usize].is_queued = false;
            match (node as usize).checked_sub(self.elements.len()) {
                None => self.turn_element(node as usize)?,
                Some(out_port) => self.turn_out_port(out_port)?,
            }
        }
        Ok(())
    }

    fn turn_element(&mut self, idx: usize) -> Result<(), RunError> {
        let NodeState { is_asleep, is_due, .. } = self.nodes[idx];
        if is_asleep && !is_due {
            return Ok(());
        }
        let may_start = !self.elements[idx].is_source || self.now_ns < self.source_limit_ns();
        let mut around = Surroundings {
            channels: &mut self.channels,
            pool: &mut self.pool,
            now_ns: self.now_ns,
            woken: &mut self.woken,
        };
        let turn = self.elements[idx].turn(&mut around, is_due, may_start);
        let turn = turn.map_err(|trap| self.trap(idx, "handler", trap))?;
        if turn == Turn::Idle {
            return Ok(());
        }
        self.nodes[idx].is_due = false;
        self.recent[self.firings_at_instant as usize % RECENT] = idx as u32;
        self.firings_at_instant += 1;
        self.poke_woken();
        if self.elements[idx].machine.has_news() {
            self.pass_traces(idx);
            self.take_wakes(idx);
        }
        if turn == Turn::Asleep {
            self.nodes[idx].is_asleep = true;
            self.sleepers.push(idx as u32);
        } else if self.elements[idx].has_more(&self.channels, may_start) {
            self.enqueue(idx as u32);
        }
        if self.firings_at_instant >= self.options.firings_per_instant_max {
            return Err(self.livelock());
        }
        Ok(())
    }

    pub(super) fn poke_woken(&mut self) {
        for idx in 0..self.woken.len() {
            let Woken { node, waited } = self.woken[idx];
            if waited || self.nodes[node as usize].is_asleep {
                self.poke(node);
            }
        }
        self.woken.clear();
    }

    pub(super) fn pass_traces(&mut self, idx: usize) {
        let Some(trace) = &mut self.trace else { return };
        let lines = self.elements[idx].machine.take_traces();
        let name = &self.design.design().elements[idx].name;
        lines.iter().for_each(|line| trace.trace(self.now_ns, name, line));
    }

    pub(super) fn take_wakes(&mut self, idx: usize) {
        let element = &mut self.elements[idx];
        let wakes = if element.is_source { &mut self.source_wakes } else { &mut self.wakes };
        for time_ns in element.machine.take_wakes() {
            if time_ns > self.now_ns {
                // Elements ask for the same time again and again while they wait.
                if element.last_wake_ns != time_ns {
                    element.last_wake_ns = time_ns;
                    wakes.push(Reverse((time_ns, idx as u32)));
                }
            } else {
                self.nodes[idx].is_due = true;
            }
        }
        if self.nodes[idx].is_due {
            self.enqueue(idx as u32);
        }
    }

    fn livelock(&self) -> RunError {
        let mut recent = self.recent.to_vec();
        recent.sort_unstable();
        recent.dedup();
        let elements = recent.iter().map(|&idx| self.design.design().elements[idx as usize].name.clone()).collect();
        RunError::Livelock { elements, firings: self.firings_at_instant, now_ns: self.now_ns }
    }

    /// Passes one message out, if there is one and the port is free.
    fn turn_out_port(&mut self, idx: usize) -> Result<(), RunError> {
        let port = &mut self.out_ports[idx];
        let Some(channel) = port.channel else { return Ok(()) };
        let queue = &mut self.channels[channel as usize];
        if !queue.is_readable() || port.rate.free_at_ns() > self.now_ns {
            return Ok(());
        }
        let had_room = queue.has_room();
        let outcome = if queue.carries_packets() {
            let mut carried = queue.pop_packet();
            let outcome = port.leave(&mut carried, self.now_ns);
            self.pool.give(carried);
            outcome
        } else if queue.carries_structs() {
            let fields = &self.design.design().message_types[port.message.index()].fields;
            let outcome = port.pass_message(self.now_ns, fields, queue.front());
            queue.pop_message(&mut self.pool);
            outcome
        } else {
            let assembled = port.assembler.feed(queue.front(), self.now_ns, &mut self.pool);
            queue.pop_message(&mut self.pool);
            match assembled {
                Assembled::Partial => Ok(()),
                Assembled::NoStart => {
                    port.counts.drop("no start of packet");
                    Ok(())
                }
                Assembled::Packet(mut carried) => {
                    let outcome = port.leave(&mut carried, self.now_ns);
                    self.pool.give(carried);
                    outcome
                }
            }
        };
        outcome.map_err(|source| RunError::Sink { boundary: port.name.clone(), source })?;
        let (writer, has_more) = (queue.writer, queue.is_readable());
        if let Some(writer) = writer
            && (!had_room || self.nodes[writer as usize].is_asleep)
        {
            self.poke(writer);
        }
        if has_more {
            self.enqueue((self.elements.len() + idx) as u32);
        }
        Ok(())
    }
}
