//! Chains in native code against the interpreter's machines, packet by packet: where packets leave and as what, every counter,
//! and the state of every element.
//!
//! Both sides share a small event loop: a packet that an element emits goes to the elements behind it, in order. The judge runs all
//! of a packet's way through it, the chain only what is left behind its exit.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use ir::chain::{
    CAUSE_APPEND, CAUSE_LONG, CAUSE_NO_PORT, CAUSE_NO_ROOM, CAUSE_POP_OUTSIDE, CAUSE_PUSH_OUTSIDE, CAUSE_UNDECIDED,
    FIRST_OWN_CAUSE,
};
use ir::engine::{Bounds, DropCause, Fate, Options, Packet, PacketFiring, Trap};
use ir::{BoundaryDirection, Chain, ChannelEnd, Counter, Design, ElementId};
use jit::Slot;

use crate::case::{Arrival, Case};

/// Fires an element on a packet from an input.
type Fire<'m> = dyn FnMut(ElementId, u64, u32, &mut Packet) -> Result<PacketFiring, Trap> + 'm;

/// What was seen outside of the elements.
#[derive(Default)]
struct Seen {
    log: String,
    counts: BTreeMap<Counter, u64>,
}

impl Seen {
    fn count(&mut self, counter: Counter) {
        *self.counts.entry(counter).or_default() += 1;
    }
}

fn cause_number(cause: &DropCause, chain: &Chain) -> u32 {
    match cause {
        DropCause::Element(reason) => {
            let position = chain.reasons.iter().position(|known| known == reason);
            FIRST_OWN_CAUSE + position.expect("the chain knows the reasons of its members") as u32
        }
        DropCause::NoRoomToGrow => CAUSE_NO_ROOM,
        DropCause::PushOutside => CAUSE_PUSH_OUTSIDE,
        DropCause::PopOutside => CAUSE_POP_OUTSIDE,
        DropCause::NoSuchPort(_) => CAUSE_NO_PORT,
        DropCause::LongerThanStore(_) => CAUSE_LONG,
        DropCause::AppendPastStore => CAUSE_APPEND,
        DropCause::Undecided => CAUSE_UNDECIDED,
    }
}

type Queue = VecDeque<(ElementId, u32, Packet)>;

/// Hands a packet to each of an element's outputs in the mask, from port 1 up.
fn emit(
    design: &Design,
    chain: &Chain,
    queue: &mut Queue,
    seen: &mut Seen,
    (from, ports): (ElementId, u32),
    packet: &Packet,
) {
    for port in (0..32).filter(|port| ports >> port & 1 == 1) {
        let Some(channel) = design.elements[from.index()].outputs[port].channel else {
            seen.count(Counter::Unconnected(from, port as u32));
            continue;
        };
        seen.count(Counter::Channel(channel));
        match design.channels[channel.index()].to {
            ChannelEnd::Null => {}
            ChannelEnd::Element { element, port } if chain.members.contains(&element) => {
                queue.push_back((element, port + 1, packet.clone()));
            }
            ChannelEnd::Element { .. } | ChannelEnd::Boundary(_) => {
                let _ = writeln!(seen.log, "{channel:?} {:?} {:?} {:?}", packet.bytes(), packet.meta, packet.missing);
            }
        }
    }
}

fn settle(
    design: &Design,
    chain: &Chain,
    fire: &mut Fire<'_>,
    queue: &mut Queue,
    seen: &mut Seen,
    now_ns: u64,
) -> Result<(), (ElementId, Trap)> {
    while let Some((element, in_port, mut packet)) = queue.pop_front() {
        let firing = fire(element, now_ns, in_port, &mut packet).map_err(|trap| (element, trap))?;
        match firing.fate {
            Fate::Emitted(ports) => emit(design, chain, queue, seen, (element, ports), &packet),
            Fate::Dropped(cause) => seen.count(Counter::Dropped(element, cause_number(&cause, chain))),
            Fate::Nothing => {}
        }
    }
    Ok(())
}

fn packet_of(arrival: &Arrival, words: usize) -> Packet {
    let mut packet = Packet::default();
    packet.clear();
    packet.set_bytes(&arrival.bytes);
    (packet.missing, packet.time_ns) = (arrival.missing, arrival.time_ns);
    packet.meta = vec![0; words];
    packet
}

/// Runs the packets of a case through a design's chain and through the interpreter; gives the interpreter's text and the chain's,
/// which must be the same. None if the design has no chain.
pub fn both_ways(design: &Design, case: &Case) -> Option<(String, String)> {
    let chain = opt::fuse::run(design)?;
    if let Err(errors) = ir::verify_chain(design, &chain) {
        return Some(("a chain that verifies".to_string(), errors[0].to_string()));
    }
    let verified = ir::verify(design).expect("generated designs verify");
    let options = Options { bounds: Bounds::Lenient, loop_rounds_max: 1 << 20, ..Options::default() };
    let ids = || (0..design.elements.len() as u32).map(ElementId);
    let mut judges: Vec<_> = ids().map(|id| interp::Machine::new(design, id, options)).collect();
    let machine = |id| jit::Machine::new(verified, id, options).expect("elements compile");
    let mut natives: Vec<_> = ids().map(machine).collect();
    for (judge, native) in judges.iter_mut().zip(&mut natives) {
        if judge.init() != native.init() {
            return Some(("init".to_string(), "another init".to_string()));
        }
    }
    let machines: Vec<&jit::Machine> = natives.iter().collect();
    let mut compiled = jit::Chain::new(verified, &chain, &machines, options).expect("chains compile");
    let (mut expected, mut found) = (Seen::default(), Seen::default());
    for arrival in &case.arrivals {
        let entry = chain.entries.iter().position(|channel| {
            let ChannelEnd::Boundary(boundary) = design.channels[channel.index()].from else { return false };
            let boundary = &design.boundaries[boundary.index()];
            boundary.direction == BoundaryDirection::In && boundary.name == arrival.port
        });
        let Some(entry) = entry else { continue };
        let ChannelEnd::Element { element, port } = design.channels[chain.entries[entry].index()].to else { continue };
        let now_ns = arrival.time_ns;
        let packet = packet_of(arrival, compiled.meta_words());
        let mut queue = Queue::from([(element, port + 1, packet.clone())]);
        let judge: &mut Fire<'_> =
            &mut |element, now_ns, in_port, packet| judges[element.index()].fire_packet(now_ns, in_port, packet);
        let first = settle(design, &chain, judge, &mut queue, &mut expected, now_ns);

        let mut packet = packet;
        let mut slots = [Slot::new(&mut packet, now_ns, entry as u32)];
        let second = compiled.run(&mut slots).map_err(|trap| (trap.element, trap.trap));
        let (exit, has_stopped) = (slots[0].exit(), slots[0].has_stopped());
        let second = second.and_then(|_| {
            let mut queue = Queue::new();
            if let Some((from, 0)) = exit {
                found.count(Counter::Dropped(from, CAUSE_NO_PORT));
            } else if let Some((from, ports)) = exit {
                let before = found.counts.clone();
                emit(design, &chain, &mut queue, &mut found, (from, ports), &packet);
                if !has_stopped {
                    // The chain has counted this one itself.
                    found.counts = before;
                }
            }
            let native: &mut Fire<'_> =
                &mut |element, now_ns, in_port, packet| natives[element.index()].fire_packet(now_ns, in_port, packet);
            settle(design, &chain, native, &mut queue, &mut found, now_ns)
        });
        let _ = writeln!(expected.log, "{first:?}");
        let _ = writeln!(found.log, "{second:?}");
        if first.is_err() {
            break;
        }
    }
    for (counter, n) in compiled.counters().filter(|&(counter, n)| n > 0 && !matches!(counter, Counter::LastInput(_))) {
        *found.counts.entry(counter).or_default() += n;
    }
    let text = |seen: Seen, state: Vec<String>| format!("{}\n{:?}\n{}", seen.log, seen.counts, state.join("\n"));
    let expected_state = judges.iter().map(|machine| format!("{:?}", machine.state().collect::<Vec<_>>())).collect();
    let found_state = natives.iter().map(|machine| format!("{:?}", machine.state().collect::<Vec<_>>())).collect();
    Some((text(expected, expected_state), text(found, found_state)))
}
