//! Bodies: control flow, state, traps and traces, against hand-computed values and against the plain evaluator that judges passes.

#[path = "../../opt/tests/support/mod.rs"]
mod plain;

use interp::{Bounds, Fate, Inputs, Machine, Options, Packet, TrapKind};
use ir::generate::Random;
use ir::{Attr, Design, ElementId, Op, Opcode, Span, Value};

/// An element with the given state and signals.
fn machine(vars: &str, signals: &str, options: Options) -> Machine {
    let handler = "    handler {\n        %0: i32 = const 0\n        yield %0\n    }\n";
    let text = format!("design \"t\"\nfile \"t.clnp\"\nelement e: E @0:0..0 {{\n{vars}{handler}{signals}}}\n");
    let design = ir::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir::verify(&design).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut machine = Machine::new(&design, ElementId(0), options);
    machine.listen();
    machine
}

#[test]
fn random_signals_agree_with_the_plain_evaluator() {
    let mut n_compared = 0;
    for seed in 0..600 {
        let mut design = ir::generate::design(seed, 60);
        for element in 0..design.elements.len() {
            // The evaluator begins with random state; the machine gets the same as reset values.
            let mut random = Random(seed);
            for var in &mut design.elements[element].vars {
                var.reset = (0..var.depth.unwrap_or(1)).map(|_| random.value(var.width)).collect();
            }
            for signal in 0..design.elements[element].signals.len() {
                let body = &mut design.elements[element].signals[signal].body;
                body.ops.iter_mut().filter(|op| op.code == Opcode::Now).for_each(stop_the_clock);
                let params = body.region(body.root).params.clone();
                let mut random = Random(random.0);
                let arguments: Vec<Value> = params.iter().map(|&param| random.value(body.width(param))).collect();
                n_compared += u32::from(agrees(&design, element, signal, &arguments, seed));
            }
        }
    }
    assert!(n_compared > 200, "only {n_compared} compared");
}

/// The plain evaluator answers with a hash where the machine tells the time.
fn stop_the_clock(op: &mut Op) {
    (op.code, op.attr) = (Opcode::Const, Attr::Const(Value::Small(12_345)));
}

/// Compares results and state; tells whether both ran to the end.
fn agrees(design: &Design, element: usize, signal: usize, arguments: &[Value], seed: u64) -> bool {
    let declared = &design.elements[element];
    let expected = plain::run(design, declared, &declared.signals[signal].body, seed);
    let mut machine = Machine::new(design, ElementId(element as u32), Options::default());
    machine.listen();
    match machine.call_signal(signal, 0, arguments) {
        Err(trap) => {
            let TrapKind::Assert(_) = trap.kind else { panic!("seed {seed}: {trap}") };
            let failed = |effect: &String| effect.starts_with("assert") && effect.ends_with("[Small(0)]");
            assert!(expected.effects.iter().any(failed), "seed {seed}: {trap}");
            false
        }
        Ok(results) => {
            assert_eq!(results, expected.yields, "seed {seed}");
            for (var, (name, words)) in (0..).zip(machine.state()) {
                for (word, value) in (0..).zip(words) {
                    let plain = expected.state.get(&(var, word)).cloned().unwrap_or(Value::ZERO);
                    assert_eq!(value, plain, "seed {seed}, {name}[{word}]");
                }
            }
            assert_eq!(
                machine.take_traces().count(),
                expected.effects.iter().filter(|effect| effect.starts_with("trace")).count()
            );
            true
        }
    }
}

#[test]
fn loops_change_their_carried_values_all_at_once() {
    // Fibonacci by a swap: (a, b) = (b, a + b), 10 times from (0, 1); and a value that only changes places, with (c, d) = (d, c).
    let signals = "    signal f() -> (a: u32, b: u32, c: u80, d: u80) {
        %0: i32 = const 0
        %1: i32 = const 1
        %2: i32 = const 10
        %3: i80 = const 0xaaaaaaaaaaaaaaaaaaaa
        %4: i80 = const 0x5
        %20: i32, %21: i32, %22: i32, %23: i80, %24: i80 = loop (%5: i32 = %0, %6: i32 = %1, %7: i32 = %2, %8: i80 = %3, %9: i80 = %4) {
            %10: i32 = add %5, %6
            %11: i32 = sub %7, %1
            %12: i1 = ne %11, %0
            yield %12, %6, %10, %11, %9, %8
        }
        yield %20, %21, %23, %24
    }
";
    let results = machine("", signals, Options::default()).call_signal(0, 0, &[]).expect("it ends");
    let wide = Value::from_limbs(&[0xaaaa_aaaa_aaaa_aaaa, 0xaaaa]);
    assert_eq!(results, [Value::Small(55), Value::Small(89), wide, Value::Small(5)]);
}

const TABLE: &str = "    signal put(%0 i: u70, %1 x: u200) -> () {
        mem.write table, %0, %1 @0:10..20
    }
    signal get(%0 i: u70) -> (x: u200) {
        %1: i200 = mem.read table, %0 @0:30..40
        yield %1
    }
";

#[test]
fn out_of_range_reads_zero_and_writes_nothing() {
    let mut machine = machine("    var table: u200 [3]\n", TABLE, Options::default());
    let big = Value::from_limbs(&[1, 2, 3, 0xff]);
    let past = Value::from_limbs(&[0, 1]); // 2^64: the low limb alone would be in range.
    for index in [&Value::Small(2), &Value::Small(3), &past] {
        machine.call_signal(0, 0, &[index.clone(), big.clone()]).expect("lenient");
    }
    assert_eq!(machine.state().collect::<Vec<_>>(), [("table", vec![Value::ZERO, Value::ZERO, big.clone()])]);
    let read = |machine: &mut Machine, index: Value| machine.call_signal(1, 0, &[index]).expect("lenient");
    assert_eq!(read(&mut machine, Value::Small(2)), [big]);
    assert_eq!(read(&mut machine, past), [Value::ZERO]);
}

#[test]
fn strict_bounds_name_array_index_and_place() {
    let options = Options { bounds: Bounds::Strict, ..Options::default() };
    let mut machine = machine("    var table: u200 [3]\n", TABLE, options);
    let trap = machine.call_signal(1, 0, &[Value::Small(3)]).expect_err("out of range");
    assert_eq!(trap.to_string(), "index 3 is out of range: `table` has 3 words");
    let file = trap.span.expect("the op has a place").file;
    assert_eq!(trap.span, Some(Span { file, start: 30, end: 40 }));
}

#[test]
fn endless_loops_and_failed_assertions_are_traps() {
    let signals = "    signal spin() -> () {
        %0: i1 = const 1
        loop () @0:1..2 {
            yield %0
        }
    }
    signal check(%0 x: u8) -> () {
        %1: i8 = const 7
        %2: i1 = ult %0, %1
        assert \"x is small\", %2 @0:3..4
    }
";
    let mut machine = machine("", signals, Options { loop_rounds_max: 1000, ..Options::default() });
    let trap = machine.call_signal(0, 0, &[]).expect_err("it never ends");
    assert_eq!(trap.kind, TrapKind::LoopLimit { rounds_max: 1000 });
    assert_eq!(trap.span.map(|span| span.start), Some(1));
    assert!(machine.call_signal(1, 0, &[Value::Small(6)]).is_ok());
    let trap = machine.call_signal(1, 0, &[Value::Small(7)]).expect_err("7 is not below 7");
    assert_eq!(
        (trap.to_string().as_str(), trap.span.map(|span| span.start)),
        ("assertion failed: x is small", Some(3))
    );
}

#[test]
fn traces_fill_in_their_values() {
    let signals = "    signal f(%0 a: u8, %1 b: u100) -> () {\n        trace \"a={} b={:x} {} { end\", %0, %1\n    }\n";
    let mut machine = machine("", signals, Options::default());
    machine.call_signal(0, 0, &[Value::Small(200), Value::from_limbs(&[0xab, 0x1])]).expect("it runs");
    assert_eq!(machine.take_traces().collect::<Vec<_>>(), ["a=200 b=100000000000000ab { } { end".replace("{ }", "{}")]);
}

#[test]
fn local_arrays_are_zero_at_every_start() {
    let signals = "    signal f(%0 i: u8) -> (before: u8, after: u8) {
        local seen: i8[4]
        %1: i8 = local.read seen, %0
        %2: i8 = const 9
        local.write seen, %0, %2
        %3: i8 = local.read seen, %0
        yield %1, %3
    }
";
    let mut machine = machine("", signals, Options::default());
    for _ in 0..2 {
        let results = machine.call_signal(0, 0, &[Value::Small(1)]).expect("it runs");
        assert_eq!(results, [Value::Small(0), Value::Small(9)]);
    }
    // Out of range: reads give zero.
    assert_eq!(machine.call_signal(0, 0, &[Value::Small(4)]).expect("it runs"), [Value::Small(0), Value::Small(0)]);
}

struct One<'a>(&'a [u64]);

impl Inputs for One<'_> {
    fn front(&self, _port: usize) -> &[u64] {
        self.0
    }
}

#[test]
fn firings_tell_what_they_consumed_wrote_and_changed() {
    // Passes the message of input 1 to output 1 when bit 0 of its field is set, else only looks; counts what it passes.
    let text = "design \"t\"\nfile \"t.clnp\"\ntype S { x: u8, y: u70 }\nelement e: E @0:0..0 {
    input S
    output S
    var n: u8
    var second: u8 = [77]
    handler {
        %0: i32 = const 1
        %1: i8, %2: i70 = in.peek S, %0
        %3: i1 = trunc %1
        if %3 {
            %4: i8, %5: i70 = in.read S, %0
            %6: i8, %7: i70 = in.read S, %0
            reg.write second, %6
            out.write S, %0, %6, %7
            out.write S, %0, %4, %5
            %8: i8 = reg.read n
            %9: i8 = const 1
            %10: i8 = add %8, %9
            reg.write n, %10
        }
        yield %0
    }
}
";
    let design = ir::parse(text).expect("a design");
    ir::verify(&design).expect("a good design");
    let mut machine = Machine::new(&design, ElementId(0), Options::default());
    let firing = machine.fire(0, 1, &One(&[2, 7, 1])).expect("it runs");
    // The mask differs from the one at the start.
    assert_eq!((firing.consumed, firing.written, firing.mask, firing.changed), (0, 0, 1, true));
    let firing = machine.fire(0, 1, &One(&[2, 7, 1])).expect("it runs");
    assert_eq!((firing.consumed, firing.written, firing.changed), (0, 0, false));
    let firing = machine.fire(0, 1, &One(&[3, 7, 1])).expect("it runs");
    assert_eq!((firing.consumed, firing.written, firing.changed), (1, 1, true));
    // A second read of the firing finds nothing, and the second write replaces the first.
    assert_eq!(machine.output(0), [3, 7, 1]);
    let state: Vec<Value> = machine.state().flat_map(|(_, words)| words).collect();
    assert_eq!(state, [Value::Small(1), Value::Small(0)]);
    let firing = machine.fire(0, 0, &One(&[])).expect("it runs");
    assert_eq!((firing.consumed, firing.written, firing.changed), (0, 0, false));
}

#[test]
fn packets_grow_past_their_headroom() {
    let text = "design \"t\"\nfile \"t.clnp\"\nelement e: E @0:0..0 {
    input packet
    output packet
    packet window 4 grow 300 {
        %0: i32 = const 300
        pkt.push %0
        %1: i32 = const 1
        emit %1
    }
}
";
    let design = ir::parse(text).expect("a design");
    ir::verify(&design).expect("a good design");
    let mut machine = Machine::new(&design, ElementId(0), Options::default());
    let mut packet = Packet::default();
    packet.set_bytes(&[1, 2, 3, 4, 5]);
    let firing = machine.fire_packet(0, 1, &mut packet).expect("it runs");
    assert_eq!(firing.fate, Fate::Emitted(1));
    assert_eq!(packet.bytes(), [vec![0; 300], vec![1, 2, 3, 4, 5]].concat());
}

#[test]
fn a_table_of_sixteen_million_entries_starts_at_once() {
    let start = std::time::Instant::now();
    let machine = machine("    var table: u64 [16777216]\n", "", Options::default());
    // A fresh table costs no time; writing 128 MiB would take tens of milliseconds.
    assert!(start.elapsed().as_millis() < 20, "{:?}", start.elapsed());
    drop(machine);
}

#[test]
fn reset_values_stand_at_their_words() {
    let machine = machine("    var a: u9 = [0x1ff]\n    var m: u24 [4] = [1, 0xabcdef]\n", "", Options::default());
    let words = [1, 0xab_cdef, 0, 0].map(Value::Small).to_vec();
    assert_eq!(machine.state().collect::<Vec<_>>(), [("a", vec![Value::Small(0x1ff)]), ("m", words)]);
}
