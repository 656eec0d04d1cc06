//! Signals by name and control files: values, errors with their places, nothing applied from a bad file.

mod support;

use std::fmt::Write as _;
use std::time::Instant;

use ir::Value;
use runtime::{Options, Runtime};
use support::{design, run_with_control, try_run};

/// `t.put` keeps a key and a value in a table; `t.read` gives a value; `u` is not host-controlled.
const TABLE: &str = "element t: Table control @0:0..0 {
    var keys: u32 [1048576]
    var wide: u128
    handler {
        %0: i32 = const 1
        yield %0
    }
    signal put(%0 key: u32, %1 at: u20) -> () {
        mem.write keys, %1, %0
    }
    signal get(%0 at: u20) -> (key: u32) {
        %1: i32 = mem.read keys, %0
        yield %1
    }
    signal swap(%0 wide: u128, %1 mac: u48, %2 flag: u1, %3 delta: s8) -> (old: u128, mac: u48, flag: u1, delta: s8) {
        %4: i128 = reg.read wide
        reg.write wide, %0
        yield %4, %1, %2, %3
    }
    signal signal(%0 cmd: u32 = 0, %1 sparam: u32 = 0, %2 lparam0: u64 = 0) -> (lparam0: u64) {
        %3: i64 = zext %0
        %4: i64 = add %3, %2
        yield %4
    }
}
element \"grp/u#1\": Other @0:0..0 {
    handler {
        %0: i32 = const 1
        yield %0
    }
    signal clear() -> () {
    }
}
";

#[test]
fn values_are_numbers_and_addresses() {
    // Some editors begin a file with a byte order mark.
    let control = "\u{feff}t.put 10.0.0.1 at=5\nt.get 5\nt.swap 2001:db8::1 02:00:00:00:00:ff true -3\n\
                   t.swap flag=0 delta=127 mac=0xfe wide=0xffffffffffffffffffffffffffffffff\nt.signal cmd=1 lparam0=41 # raw\n";
    let done = run_with_control(TABLE, &[], control);
    let results: Vec<(u32, Vec<Value>)> = done
        .calls
        .iter()
        .map(|call| (call.line, call.results.iter().map(|(_, value)| value.clone()).collect()))
        .collect();
    let address = Value::from_limbs(&[1, 0x2001_0db8_0000_0000]);
    let small = |numbers: &[u64]| numbers.iter().map(|&number| Value::Small(number)).collect::<Vec<_>>();
    assert_eq!(
        results,
        [
            (2, small(&[0x0a00_0001])),
            (3, small(&[0, 0x0200_0000_00ff, 1, 0xfd])),
            (4, vec![address, Value::Small(0xfe), Value::Small(0), Value::Small(127)]),
            (5, small(&[42])),
        ]
    );
}

#[test]
fn every_bad_line_is_named_with_its_column() {
    let control = "t.put 1 2\n  tt.put 1 2\nt.pot 1 2\nt.put 1\nt.put 1 at=2097152\nt.put key=1 at=x\ngrp/u#1.clear\nt.put key=1 2\n\
                   t.put 1 2 3\nt.put kye=1\nput\n@12x t.put 1 2\n@12\nt.swap 1 2 2 0\nt.swap 1 2 1 -129\nt.put -1 0\nt.put key=1 key=2 at=0\nt.swap 1 2 1 128\n";
    let errors =
        try_run(&design(TABLE), &[], Options::default(), control).expect("no element traps").expect_err("bad lines");
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let value = "write a number, 0x…, 0b…, true, 10.0.0.1, 2001:db8::1 or 02:00:00:00:00:01";
    assert_eq!(texts, [
        "2:3: no element is called `tt`; did you mean `t`?".to_string(),
        "3:1: `t` has no signal `pot`; did you mean `put`?".to_string(),
        "4:1: `put` also needs at=…".to_string(),
        "5:12: 2097152 does not fit the 20 bits of `at`".to_string(),
        format!("6:16: `x` is no value for `at`; {value}"),
        "7:1: `grp/u#1` is not host-controlled; write `@` behind its declaration in the graph".to_string(),
        "8:13: `2` stands behind a named argument; write `name=2`".to_string(),
        "9:11: `put` takes 2 arguments, this is one too many".to_string(),
        "10:7: `put` has no argument `kye`; did you mean `key`?".to_string(),
        "11:1: `put` is no signal; write `instance.signal name=value …`".to_string(),
        "12:1: `@12x` is no time; write `@1700000000.25` (seconds since 1970), `+1.5s` (from the first packet) or `@end`".to_string(),
        "13:1: a time without a signal; write `@TIME instance.signal …`".to_string(),
        "14:12: 2 does not fit the 1 bits of `flag`".to_string(),
        "15:14: -129 does not fit the 8 bits of `delta`".to_string(),
        "16:7: `key` is unsigned, so it cannot be -1".to_string(),
        "17:13: `key` is given twice".to_string(),
        "18:14: 128 does not fit the 8 bits of `delta`".to_string(),
    ]);
}

#[test]
fn a_bad_file_applies_nothing() {
    let design = design(TABLE);
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    assert!(runtime.load_control("t.put 7 1\nt.put 8\n".to_string()).is_err());
    runtime.run(&mut runtime::Hooks::default()).expect("runs");
    let read = runtime.call_signal("t", "get", &[("at", Value::Small(1))]).expect("a good call");
    assert_eq!(read, [("key".to_string(), Value::Small(0))]);
}

#[test]
fn signals_can_be_called_between_packets() {
    let design = design(TABLE);
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    runtime.call_signal("t", "put", &[("at", Value::Small(3)), ("key", Value::Small(9))]).expect("a good call");
    assert!(!runtime.run_packets(1).expect("runs"), "there is nothing to do");
    let read = runtime.call_signal("t", "get", &[("at", Value::Small(3))]).expect("a good call");
    assert_eq!(read, [("key".to_string(), Value::Small(9))]);
    let error = runtime.call_signal("t", "get", &[("att", Value::Small(3))]).expect_err("a wrong name");
    assert_eq!(error.message, "`get` has no argument `att`; did you mean `at`?");
}

#[test]
fn a_million_lines_fill_a_table_in_seconds() {
    let mut control = String::new();
    for i in 0..1_000_000_u32 {
        let _ = writeln!(control, "t.put key=10.{}.{}.{} at={i}", i >> 16, i >> 8 & 255, i & 255);
    }
    control += "t.get 999999\n";
    let start = Instant::now();
    let done = run_with_control(TABLE, &[], &control);
    assert_eq!(done.calls[0].results, [("key".to_string(), Value::Small(0x0a0f_423f))]);
    // Both passes; generous, because tests run unoptimised and beside others.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

/// `l.list` goes through a list of the numbers from 1 to `n`; `l.set` changes `n` and refuses more than 9.
const LIST: &str = "element l: List control @0:0..0 {
    var n: u32
    handler {
        %0: i32 = const 1
        yield %0
    }
    signal set(%0 n: u32) -> (ok: u1) {
        %1: i32 = const 9
        %2: i1 = ule %0, %1
        if %2 {
            reg.write n, %0
        }
        yield %2
    }
    signal list(%0 cursor: u32) -> (next: u32, valid: u1, number: u32) {
        %1: i32 = const 1
        %2: i32 = const 0
        %3: i32 = reg.read n
        %4: i1 = ult %0, %3
        %5: i32 = add %0, %1
        %6: i1 = ult %5, %3
        %7: i32 = select %6, %5, %2
        yield %7, %4, %5
    }
    signal forever(%0 cursor: u32) -> (next: u32) {
        %1: i32 = const 1
        %2: i32 = add %0, %1
        yield %2
    }
}
";

#[test]
fn listings_are_walked_and_refusals_told() {
    // The end comes last wherever it stands; what worked is not told, nor an empty listing.
    let control = "@end l.list cursor=all\nl.list cursor=all\nl.set 3\n@5 l.set 10\n@7 l.list 1\n@9 l.set 2\n";
    let done = run_with_control(LIST, &[], control);
    let calls: Vec<(u32, u64, Vec<Value>)> = done
        .calls
        .iter()
        .map(|call| (call.line, call.time_ns, call.results.iter().map(|(_, value)| value.clone()).collect()))
        .collect();
    let small = |numbers: &[u64]| numbers.iter().map(|&number| Value::Small(number)).collect::<Vec<_>>();
    assert_eq!(
        calls,
        [
            (4, 5_000_000_000, small(&[0])),
            (5, 7_000_000_000, small(&[2, 1, 2])),
            (1, 9_000_000_000, small(&[1, 1, 1])),
            (1, 9_000_000_000, small(&[0, 1, 2])),
        ]
    );
}

#[test]
fn a_listing_that_does_not_end_is_stopped() {
    let ended = try_run(&design(LIST), &[], Options::default(), "l.forever cursor=all\n");
    let message = ended.expect_err("it cannot end").to_string();
    assert!(message.starts_with("2097152 firings at 0 ns without time moving on; firing: l;"), "{message}");
}
