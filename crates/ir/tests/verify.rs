//! The verifier: one broken rule each, made by changing a word of a text that verifies.

use ir::{Design, parse, verify};

const BASE: &str = r#"design d
file "d.clnp"
meta flow: u32
type Pair { a: u8, b: u16 }
boundary nic_in in flit_t @0:0..1
boundary nic_out out flit_t @0:0..1

element e: E @0:0..1 {
    input flit_t channel 0
    input Pair
    output flit_t channel 1
    var r: u32 = [7]
    var m: u8 [4] = [1, 2]
    init {
        %0: i32 = const 1
        reg.write r, %0
    }
    handler {
        local l: i8[2]
        %0: i32 = reg.read r
        %1: i8 = trunc %0
        %2: i1 = ult %0, %0
        mem.write m, %0, %1
        local.write l, %0, %1
        %4: i8 = if %2 {
            %3: i8 = const 3
            yield %3
        } else {
            yield %1
        }
        %7: i8 = loop (%5: i8 = %4) {
            %6: i8 = add %5, %1
            yield %2, %6
        }
        %8: i8, %9: i16 = in.read Pair, %0
        yield %0
    }
    signal poke(%0 x: u32) -> (y: u32) {
        yield %0
    }
}

element p: P @0:0..1 {
    input packet
    output packet
    packet window 64 grow 0 {
        %0: i32 = meta.read flow
        meta.write flow, %0
        emit %0
    }
    body (%0: i256, %1: i32, %2: i32) {
        yield %0
    }
    end {
        %0: i32 = pkt.len
    }
}
channel 0: nic_in flit_t -> e[1] flit_t depth 4 @0:0..1
channel 1: e[1] flit_t -> nic_out flit_t depth 4 @0:0..1
"#;

fn errors(design: &Design) -> Vec<String> {
    match verify(design) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_base_verifies() {
    assert_eq!(errors(&parse(BASE).expect("base")), Vec::<String>::new());
}

#[test]
fn each_broken_rule_is_named() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "%1: i8 = trunc",
            "%1: i32 = trunc",
            "element e, handler, %1 = trunc: wants a result narrower than the operand, has (i32) -> (i32)",
        ),
        (
            "%2: i1 = ult",
            "%2: i8 = ult",
            "element e, handler, %2 = ult: wants operands of one width and an i1, has (i32, i32) -> (i8)",
        ),
        (
            "%6: i8 = add %5, %1",
            "%6: i8 = add %5, %0",
            "element e, handler, %6 = add: wants operands and result of one width, has (i8, i32) -> (i8)",
        ),
        ("const 3", "const 256", "element e, handler, %3 = const: wants a value that fits the result, has () -> (i8)"),
        ("yield %2, %6", "yield %2, %3", "element e, handler, end of region 3: %3 is not visible here"),
        ("yield %2, %6", "yield %2", "element e, handler, end of region 3: yields have the wrong number or widths"),
        ("yield %2, %6", "yield %6, %6", "element e, handler, end of region 3: yields have the wrong number or widths"),
        ("            yield %1\n", "", "element e, handler, end of region 2: yields have the wrong number or widths"),
        ("if %2 {", "if %1 {", "element e, handler, %4 = if: its operand is an i1"),
        ("(%5: i8 = %4)", "(%5: i8 = %0)", "element e, handler, %7 = loop: its results are its carried values"),
        ("mem.write m, %0, %1", "mem.write r, %0, %1", "element e, handler, op 3 (mem.write): r is a register"),
        (
            "mem.write m, %0, %1",
            "mem.write m, %0, %0",
            "element e, handler, op 3 (mem.write): wrong shape, has (i32, i32) -> ()",
        ),
        (
            "mem.write m, %0, %1",
            "mem.write #9, %0, %1",
            "element e, handler, op 3 (mem.write): state variable 9 is not there",
        ),
        ("local.write l", "local.write #1", "element e, handler, op 4 (local.write): local 1 is not there"),
        (
            "%8: i8, %9: i16 = in.read Pair",
            "%8: i8 = in.read Pair",
            "element e, handler, %8 = in.read: wrong shape, has (i32) -> (i8)",
        ),
        (
            "= in.read Pair",
            "= in.read packet",
            "element e, handler, %8 = in.read: whole packets are not read or written field by field",
        ),
        ("= in.read Pair", "= in.read #7", "element e, handler, %8 = in.read: message type 7 is not there"),
        (
            "reg.write r, %0\n    }\n    handler",
            "emit %0\n    }\n    handler",
            "element e, init, op 1 (emit): not allowed in a body of kind Init without store",
        ),
        (
            "%0: i32 = pkt.len",
            "%0: i32 = in.mask",
            "element p, end, %0 = in.mask: not allowed in a body of kind End without store",
        ),
        (
            "emit %0",
            "pkt.truncate %0",
            "element p, packet, op 2 (pkt.truncate): not allowed in a body of kind Packet without store",
        ),
        ("meta.read flow", "meta.read #1", "element p, packet, %0 = meta.read: metadata field 1 is not there"),
        (
            "        yield %0\n    }\n    signal",
            "    }\n    signal",
            "element e, handler, end of region 0: yields have the wrong number or widths",
        ),
        ("(y: u32)", "(y: u16)", "element e, signal poke, end of region 0: yields have the wrong number or widths"),
        (
            "body (%0: i256, %1: i32, %2: i32)",
            "body (%0: i256, %1: i32)",
            "element p, body: wrong parameters of a region",
        ),
        ("var r: u32 = [7]", "var r: u32 = [7, 8]", "element e: 2 reset values for 1 words of r"),
        ("[1, 2]", "[1, 256]", "element e: a reset value of m is wider than the variable"),
        ("var m: u8 [4]", "var m: u8 [0]", "element e: memory m has no words"),
        (
            "input Pair",
            "input packet",
            "element e: input 2: flit handlers have no packet ports, packet handlers no flit ports",
        ),
        ("output flit_t channel 1", "output flit_t channel 0", "channel 1: writer's port does not name this channel"),
        ("e[1] flit_t depth", "e[2] flit_t depth", "channel 0: reader's port does not name this channel"),
        ("e[1] flit_t depth", "e[3] flit_t depth", "channel 0: reader is port 2 of element 0, which is not there"),
        ("-> nic_out flit_t", "-> nic_in flit_t", "channel 1: reader nic_in goes the other way"),
        ("-> nic_out flit_t", "-> nic_out Pair", "channel 1: only flit_t and packet convert to each other"),
        ("-> nic_out flit_t", "-> nic_out packet", "channel 1: reader nic_out has another message type"),
        ("nic_out flit_t depth 4", "nic_out flit_t depth 0", "channel 1: a depth of 0"),
        ("element p:", "element e:", "element e: two elements have this name"),
        ("element e: E @0:0..1", "element e: E @1:0..1", "element e: span in file 1, which is not there"),
        ("element e: E @0:0..1", "element e: E @0:2..1", "element e: span 2..1 runs backwards"),
        ("var m: u8", "var r: u8", "element e: two state variables have the name r"),
        ("type Pair {", "type flit_t {", "message types: two types have the name flit_t"),
    ];
    let mut wrong = Vec::new();
    for (from, to, expected) in cases {
        assert!(BASE.contains(from), "{from}");
        let text = BASE.replacen(from, to, 1);
        // Where a rename takes a name away, references to it would not parse; they name it by position instead.
        let text = match *from {
            "var m: u8" => text.replace("mem.write m", "mem.write #1"),
            "type Pair {" => text.replace("input Pair", "input #2").replace("in.read Pair", "in.read #2"),
            _ => text,
        };
        let design = parse(&text).unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
        let found = errors(&design);
        if found.first().map(String::as_str) != Some(expected) {
            wrong.push(format!("{from} to {to}\n  expected {expected}\n  found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arenas_are_checked() {
    let base = parse(BASE).expect("base");
    let handler = |design: &mut Design, change: fn(&mut ir::Body)| {
        change(design.elements[0].bodies_mut()[1]);
        errors(design).first().cloned()
    };
    let found = handler(&mut base.clone(), |body| body.regions[0].ops.push(ir::OpId(0)));
    assert_eq!(found.as_deref(), Some("element e, handler, %0 = reg.read: it stands in two places"));
    let found = handler(&mut base.clone(), |body| body.regions[0].ops.push(ir::OpId(99)));
    assert_eq!(found.as_deref(), Some("element e, handler, op 99: it is not there"));
    let found = handler(&mut base.clone(), |body| body.root = ir::RegionId(99));
    assert_eq!(found.as_deref(), Some("element e, handler: its root region is not there"));
    let found = handler(&mut base.clone(), |body| body.ops[1].operands[0] = ir::ValueId(99));
    assert_eq!(found.as_deref(), Some("element e, handler, %1 = trunc: %99 is not visible here"));
}

const TWIN: &str = r#"design d
file "d.clnp"

element e: E {
    var counter: u128
    var round_keys: u128 [11]
    var count: u32
    native "crypto::aes_ctr"
    packet window 64 grow 0 {
        drop "never out"
    }
    body (%0: i256, %1: i32, %2: i32) {
        %3: i128 = reg.read counter
        yield %0
    }
}
"#;

#[test]
fn a_native_twin_must_be_known_and_fit() {
    let design = parse(TWIN).expect("text");
    assert_eq!((errors(&design), ir::print(&design, ir::Spans::Omit).as_str()), (vec![], TWIN));
    let cases = [
        ("aes_ctr", "aes", "element e: no native twin has the name crypto::aes"),
        (
            "[11]",
            "[10]",
            "element e: `crypto::aes_ctr` needs the state variable `uint<128> round_keys[11 or 13 or 15]`; it is `uint<128> round_keys[10]`",
        ),
        (
            "%3: i128 = reg.read counter",
            "%3: i32 = reg.read count",
            "element e: `crypto::aes_ctr` works on the packet's bytes, `round_keys` and `counter` alone; `.body` uses `count`",
        ),
        (
            "%3: i128 = reg.read counter",
            "%3: i32 = pkt.len",
            "element e: `crypto::aes_ctr` works on the packet's bytes, `round_keys` and `counter` alone; `.body` does more: `pkt.len`",
        ),
    ];
    for (old, new, expected) in cases {
        let broken = parse(&TWIN.replacen(old, new, 1)).expect("text");
        assert_eq!(errors(&broken).first().map(String::as_str), Some(expected), "{new}");
    }
}
