//! Random designs on the reference interpreter before and after the pipeline: same messages, packets, state, traces, wakes.

use interp::{Firing, Inputs, Machine, Options, Packet, PacketFiring, Trap, message_words};
use ir::generate::{self, Random};
use ir::{Design, ElementId, Handler, Value, Width};
use opt::pipeline;

/// Messages at the inputs.
struct Fronts(Vec<Vec<u64>>);

impl Inputs for Fronts {
    fn front(&self, port: usize) -> &[u64] {
        &self.0[port]
    }
}

/// What is seen of one firing and one signal call.
#[derive(Debug, PartialEq)]
struct Seen {
    flit: Option<Result<Firing, Trap>>,
    packet: Option<(Result<PacketFiring, Trap>, Packet)>,
    signal: Result<Vec<Value>, Trap>,
    outputs: Vec<Vec<u64>>,
    wakes: Vec<u64>,
    traces: Vec<String>,
    state: Vec<(String, Vec<Value>)>,
}

#[test]
fn pipeline_agrees_with_the_reference() {
    for seed in 5000..5150 {
        let design = generate::design(seed, 80);
        let optimized = pipeline::run(design.clone());
        for i in 0..design.elements.len() {
            let element = ElementId(i as u32);
            let rounds = run(&optimized, element, seed).into_iter().zip(run(&design, element, seed));
            for (round, (found, expected)) in rounds.enumerate() {
                assert_eq!(found, expected, "seed {seed}, element {i}, round {round}");
            }
        }
    }
}

fn run(design: &Design, element: ElementId, seed: u64) -> Vec<Seen> {
    let mut random = Random(seed);
    let mut machine = Machine::new(design, element, Options::default());
    machine.init().expect("generated bodies end and assert nothing");
    (0..8).map(|round| fire(design, element, &mut machine, round, &mut random)).collect()
}

fn fire(design: &Design, id: ElementId, machine: &mut Machine, round: u64, random: &mut Random) -> Seen {
    let element = &design.elements[id.index()];
    let (mut flit, mut packet) = (None, None);
    let now_ns = 1000 + round;
    let written = match &element.handler {
        Handler::Flit(_) => {
            let ready = random.bits() as u32 & ((1 << element.inputs.len()) - 1);
            let fronts = element.inputs.iter().map(|port| message(design, port.message, random)).collect();
            let firing = machine.fire(now_ns, ready, &Fronts(fronts));
            let written = firing.as_ref().map_or(0, |firing| firing.written);
            // A handler that asks for outcomes in vain counts as changed after a write; without the dead question it does not.
            flit = Some(firing.map(|firing| Firing { changed: false, ..firing }));
            written
        }
        Handler::Packet { .. } => {
            let bytes: Vec<u8> = (0..20 + random.below(150)).map(|_| random.bits() as u8).collect();
            let mut given = Packet::default();
            given.time_ns = round;
            given.meta = vec![0; 16];
            given.set_bytes(&bytes);
            let firing = machine.fire_packet(now_ns, 1, &mut given);
            let written = firing.as_ref().map_or(0, |firing| firing.written);
            packet = Some((firing.map(|firing| PacketFiring { changed: false, ..firing }), given));
            written
        }
    };
    machine.set_outcome(written & random.bits() as u32, 0);
    let outputs = (0..element.outputs.len()).filter(|port| written >> port & 1 == 1);
    let outputs = outputs.map(|port| machine.output(port).to_vec()).collect();
    let signal = machine.call_signal(0, now_ns, &[random.value(Width::of(32))]);
    Seen {
        flit,
        packet,
        signal,
        outputs,
        wakes: machine.take_wakes().collect(),
        traces: machine.take_traces().collect(),
        state: machine.state().map(|(name, words)| (name.to_string(), words)).collect(),
    }
}

fn message(design: &Design, message: ir::MessageTypeId, random: &mut Random) -> Vec<u64> {
    let mut words = Vec::new();
    for field in &design.message_types[message.index()].fields {
        let value = random.value(field.width);
        words.extend((0..field.width.limbs()).map(|i| value.limbs().get(i).copied().unwrap_or(0)));
    }
    assert_eq!(words.len(), message_words(design, message), "fields in limbs");
    words
}
