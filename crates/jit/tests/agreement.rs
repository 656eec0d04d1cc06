//! Random designs in code and in the reference interpreter: the same outputs, fates, traps, traces, wake-ups and state.

use ir::engine::{Bounds, Inputs, Options, Packet, Trap};
use ir::generate::Random;
use ir::{Attr, Body, Design, Element, ElementId, Handler, Op, Opcode, RegionId, Spans, Value, generate};

/// Rounds that loops may take: few, so that the limit is met now and then.
const ROUNDS_MAX: u64 = 60;

#[test]
fn random_designs_agree_with_the_interpreter() {
    let n_seeds = std::env::var("JIT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for seed in 0..n_seeds {
        let size = if seed % 5 == 0 { 150 } else { 40 };
        compare(seed, &generate::design(seed, size));
    }
}

#[test]
fn optimized_designs_agree_with_the_interpreter() {
    for seed in 10_000..10_060 {
        compare(seed, &opt::pipeline::run(generate::design(seed, 80)));
    }
}

/// Ports, masks and offsets that are constants have code of their own; here none is known to be one.
#[test]
fn designs_without_constants_agree_with_the_interpreter() {
    for seed in 20_000..20_080 {
        let mut design = generate::design(seed, 60);
        for element in &mut design.elements {
            element.bodies_mut().into_iter().for_each(hide_constants);
        }
        compare(seed, &design);
    }
}

/// Makes of each constant the complement of another.
fn hide_constants(body: &mut Body) {
    for region in 0..body.regions.len() {
        for id in std::mem::take(&mut body.regions[region].ops) {
            body.regions[region].ops.push(id);
            let Attr::Const(value) = &body.ops[id.index()].attr else { continue };
            let result = body.ops[id.index()].results[0];
            let width = body.width(result);
            let complement = ir::eval::pure(Opcode::Not, &Attr::None, &[(value, width)], width);
            let hidden = body.add_value(width);
            body.ops[id.index()].attr = Attr::Const(complement);
            body.ops[id.index()].results = vec![hidden];
            let op = Op {
                code: Opcode::Not,
                attr: Attr::None,
                operands: vec![hidden],
                results: vec![],
                regions: vec![],
                span: None,
            };
            let not = body.push(RegionId(region as u32), op, &[]);
            body.ops[not.index()].results = vec![result];
        }
    }
}

fn compare(seed: u64, design: &Design) {
    let verified = ir::verify(design).unwrap_or_else(|errors| panic!("seed {seed}: {}", errors[0]));
    for (idx, element) in design.elements.iter().enumerate() {
        let bounds = if seed.is_multiple_of(3) { Bounds::Strict } else { Bounds::Lenient };
        let options = Options { bounds, loop_rounds_max: ROUNDS_MAX, ..Options::default() };
        let id = ElementId(idx as u32);
        let mut expected = interp::Machine::new(design, id, options);
        let mut found = jit::Machine::new(verified, id, options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        expected.listen();
        found.listen();
        let mut random = Random(seed);
        for step in 0..30 {
            let (expected, found) = act(design, element, &mut expected, &mut found, &mut random, step);
            assert_eq!(found, expected, "seed {seed}, element {idx}, step {step}\n{}", ir::print(design, Spans::Omit));
            if expected.contains("Err(") {
                break;
            }
        }
    }
}

/// Messages at each input.
struct Front(Vec<Vec<u64>>);

impl Inputs for Front {
    fn front(&self, port: usize) -> &[u64] {
        &self.0[port]
    }
}

/// One call into both; gives all that can be seen of each as text.
fn act(
    design: &Design,
    element: &Element,
    expected: &mut interp::Machine,
    found: &mut jit::Machine,
    random: &mut Random,
    step: u64,
) -> (String, String) {
    let now_ns = 1000 * step;
    let is_signal = !element.signals.is_empty() && random.one_in(4);
    let (first, second) = if step == 0 {
        (format!("{:?}", expected.init()), format!("{:?}", found.init()))
    } else if is_signal {
        let signal = random.below(element.signals.len() as u64) as usize;
        let arguments: Vec<Value> =
            element.signals[signal].params.iter().map(|param| random.value(param.width)).collect();
        let first = expected.call_signal(signal, now_ns, &arguments);
        (format!("{first:?}"), format!("{:?}", found.call_signal(signal, now_ns, &arguments)))
    } else if let Handler::Flit(_) = element.handler {
        fire_flit(design, element, expected, found, random, now_ns)
    } else {
        fire_packet(element, expected, found, random, now_ns)
    };
    let outside = |wakes: Vec<u64>, traces: Vec<String>, state: Vec<(&str, Vec<Value>)>| {
        format!("\n{wakes:?}\n{traces:?}\n{state:?}")
    };
    let (wakes, traces) = (expected.take_wakes().collect(), expected.take_traces().collect());
    let first = first + &outside(wakes, traces, expected.state().collect());
    let (wakes, traces) = (found.take_wakes().collect(), found.take_traces().collect());
    (first, second + &outside(wakes, traces, found.state().collect()))
}

fn fire_flit(
    design: &Design,
    element: &Element,
    expected: &mut interp::Machine,
    found: &mut jit::Machine,
    random: &mut Random,
    now_ns: u64,
) -> (String, String) {
    let message = |port: &ir::Port, random: &mut Random| {
        let fields = &design.message_types[port.message.index()].fields;
        let mut words = Vec::new();
        for field in fields {
            let value = random.value(field.width);
            let at = words.len();
            words.extend_from_slice(value.limbs());
            words.resize(at + field.width.limbs(), 0);
        }
        words
    };
    let front = Front(element.inputs.iter().map(|port| message(port, random)).collect());
    let ready = random.below(1 << element.inputs.len()) as u32;
    let first = expected.fire(now_ns, ready, &front);
    let second = found.fire(now_ns, ready, &front);
    let written = first.as_ref().map_or(0, |firing| firing.written);
    let ports: Vec<usize> = (0..element.outputs.len()).filter(|port| written >> port & 1 == 1).collect();
    let expected_messages: Vec<&[u64]> = ports.iter().map(|&port| expected.output(port)).collect();
    let messages: Vec<&[u64]> = ports.iter().map(|&port| found.output(port)).collect();
    let texts = (format!("{first:?} {expected_messages:?}"), format!("{second:?} {messages:?}"));
    if written != 0 {
        let refused = random.below(4) as u32 & written;
        expected.set_outcome(written & !refused, refused);
        found.set_outcome(written & !refused, refused);
    }
    texts
}

fn fire_packet(
    element: &Element,
    expected: &mut interp::Machine,
    found: &mut jit::Machine,
    random: &mut Random,
    now_ns: u64,
) -> (String, String) {
    let in_port = if random.one_in(8) { 0 } else { 1 };
    let mut packet = Packet::default();
    packet.clear();
    if in_port != 0 {
        let n_bytes = if random.one_in(3) { random.below(10) } else { random.below(300) };
        let bytes: Vec<u8> = (0..n_bytes).map(|_| random.bits() as u8).collect();
        packet.set_bytes(&bytes);
        packet.time_ns = random.bits();
        packet.missing = if random.one_in(3) { random.below(50) as u32 } else { 0 };
        packet.flags = ir::engine::Flags(random.below(8) as u8);
        packet.set_meta_bits(0, 41, random.bits());
    }
    let mut copy = packet.clone();
    let first = expected.fire_packet(now_ns, in_port, &mut packet);
    let second = found.fire_packet(now_ns, in_port, &mut copy);
    let written = first.as_ref().map_or(0, |firing| firing.written);
    let ports: Vec<usize> = (0..element.outputs.len()).filter(|port| written >> port & 1 == 1).collect();
    let expected_messages: Vec<&[u64]> = ports.iter().map(|&port| expected.output(port)).collect();
    let messages: Vec<&[u64]> = ports.iter().map(|&port| found.output(port)).collect();
    let text = |outcome: Result<ir::engine::PacketFiring, Trap>, messages: Vec<&[u64]>, packet: &Packet| {
        let meta = (packet.meta_bits(0, 32), packet.meta_bits(32, 9));
        let side = (packet.missing, packet.excess, packet.time_ns, packet.flags);
        format!("{outcome:?} {messages:?} {:?} {meta:?} {side:?}", packet.bytes())
    };
    (text(first, expected_messages, &packet), text(second, messages, &copy))
}
