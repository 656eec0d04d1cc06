//! Virtual time: arrivals, wake-ups, rates, sources, control lines.

mod support;

use runtime::{Options, RunError};
use support::{Stamped, at, counting, design, packet_element, packet_pass, run, run_with_control, try_run};

const SECOND: u64 = 1_000_000_000;

fn through(head: &str, rates: (&str, &str)) -> String {
    format!(
        "boundary nic_in in packet{} @0:0..0\nboundary nic_out out packet{} @0:0..0\n{}\
         channel 0: nic_in packet -> e[1] packet depth 4 @0:0..0\nchannel 1: e[1] packet -> nic_out packet depth 4 @0:0..0\n",
        rates.0,
        rates.1,
        packet_element("e", &[0], &[1], "window 20 grow 8", head, "")
    )
}

const PASS: &str = "%0: i32 = const 1\n emit %0";

#[test]
fn packets_leave_when_they_came_and_late_stamps_do_not_turn_time_back() {
    let packets = vec![at(100, &[1]), at(90, &[2]), at(110, &[3])];
    let done = run(&through(PASS, ("", "")), &[("nic_in", packets)]);
    assert_eq!(done.times("nic_out"), [100, 100, 110]);
    assert_eq!(done.report.boundaries[0].late_stamps, 1);
}

#[test]
fn packet_time_keeps_the_stamp() {
    let head = "%0: i64 = pkt.time\n %1: i64 = now\n trace \"{} {}\", %0, %1\n %2: i32 = const 1\n emit %2";
    let done = run(&through(head, ("", "")), &[("nic_in", vec![at(100, &[1]), at(90, &[2])])]);
    assert_eq!(done.traces, ["100 e: 100 100", "100 e: 90 100"]);
}

#[test]
fn ports_enter_in_order_of_time_then_port() {
    let text = format!(
        "boundary nic_in in packet @0:0..0\nboundary tor_in in packet @0:0..0\nboundary nic_out out packet @0:0..0\n{}\
         channel 0: nic_in packet -> e[1] packet depth 4 @0:0..0\nchannel 1: e[1] packet -> nic_out packet depth 4 @0:0..0\n\
         channel 2: tor_in packet -> e[2] packet depth 4 @0:0..0\n",
        packet_element("e", &[0, 2], &[1], "window 0 grow 0", PASS, "")
    );
    let nic = vec![at(10, &[1]), at(20, &[2]), at(20, &[3]), at(40, &[4])];
    let tor = vec![at(5, &[11]), at(20, &[12]), at(30, &[13])];
    let done = run(&text, &[("nic_in", nic), ("tor_in", tor)]);
    let order: Vec<u8> = done.out("nic_out").iter().map(|packet| packet.bytes[0]).collect();
    assert_eq!(order, [11, 1, 2, 3, 12, 13, 4]);
}

#[test]
fn a_rate_at_the_way_in_spaces_arrivals() {
    // 125 bytes at 1 Gbit/s take 1000 ns; the missing bytes of a cut packet take their time as well.
    let packets = vec![
        at(0, &counting(0, 125)),
        Stamped { missing: 25, ..at(0, &counting(0, 100)) },
        at(0, &[1]),
        at(5_000, &[2]),
    ];
    let done = run(&through(PASS, (" rate 1000000000", "")), &[("nic_in", packets)]);
    assert_eq!(done.times("nic_out"), [0, 1_000, 2_000, 5_000]);
}

#[test]
fn a_rate_at_the_way_out_makes_packets_queue() {
    let packets = (0..4).map(|i| at(SECOND + i, &counting(0, 125))).collect();
    let done = run(&through(PASS, ("", " rate 1000000000")), &[("nic_in", packets)]);
    assert_eq!(done.times("nic_out"), [SECOND, SECOND + 1_000, SECOND + 2_000, SECOND + 3_000]);
    // The second and third waited behind the element when the fourth came.
    assert_eq!(done.report.channels[1].messages_max, 3);
}

/// A flit element that holds a one-flit packet back until 500 ns after it came.
const DELAY: &str = "boundary nic_in in flit_t @0:0..0
boundary nic_out out flit_t @0:0..0
element d: Delay @0:0..0 {
    input flit_t channel 0
    output flit_t channel 1
    var release: u64
    handler {
        %0: i32 = const 1
        %1: i1 = in.ready %0
        %2: i64 = reg.read release
        %3: i64 = const 0
        %4: i1 = eq %2, %3
        %5: i1 = and %1, %4
        %6: i64 = now
        if %5 {
            %7: i64 = const 500
            %8: i64 = add %6, %7
            reg.write release, %8
            wake.at %8
        }
        %9: i64 = reg.read release
        %10: i1 = ule %9, %6
        %11: i1 = and %1, %10
        if %11 {
            %12: i256, %13: i1, %14: i1, %15: i1, %16: i1, %17: i1, %18: i8, %19: i16, %20: i128 = in.read flit_t, %0
            out.write flit_t, %0, %12, %13, %14, %15, %16, %17, %18, %19, %20
            reg.write release, %3
        }
        yield %0
    }
}
channel 0: nic_in flit_t -> d[1] flit_t depth 8 @0:0..0
channel 1: d[1] flit_t -> nic_out flit_t depth 8 @0:0..0
";

#[test]
fn wake_ups_release_packets_at_their_time_also_after_the_last_arrival() {
    let done = run(DELAY, &[("nic_in", vec![at(1_000, &[1]), at(1_200, &[2]), at(9_000, &[3])])]);
    // The second starts its wait when the first is gone.
    assert_eq!(done.times("nic_out"), [1_500, 2_000, 9_500]);
}

#[test]
fn wake_ups_past_the_linger_are_not_waited_for() {
    let options = Options { linger_ns: 400, ..Options::default() };
    let done = try_run(&design(DELAY), &[("nic_in", vec![at(1_000, &[1])])], options, "")
        .expect("no error")
        .expect("no control");
    assert_eq!((done.report.totals.held, done.report.totals.out), (1, 0));
}

/// A source that makes a packet of 2 bytes, its number, every 300 ms.
const TICKS: &str = "element tick: Tick control @0:0..0 {
    output packet channel 0
    var n: u16
    var next: u64
    packet window 0 grow 2 {
        %0: i64 = now
        %1: i64 = reg.read next
        %2: i1 = ule %1, %0
        if %2 {
            %3: i32 = const 2
            pkt.push %3
            %4: i16 = reg.read n
            %5: i32 = const 0
            pkt.store %5, %4
            %6: i16 = const 1
            %7: i16 = add %4, %6
            reg.write n, %7
            %8: i64 = const 300000000
            %9: i64 = add %0, %8
            reg.write next, %9
            wake.at %9
            %10: i32 = const 1
            emit %10
        } else {
            drop \"nothing to send\"
        }
    }
    signal count() -> (n: u16) {
        %0: i16 = reg.read n
        yield %0
    }
    signal set(%0 n: u16) -> () {
        reg.write n, %0
    }
}
channel 0: tick[1] packet -> nic_out packet depth 4 @0:0..0
";

#[test]
fn sources_run_for_a_second_or_the_duration() {
    let text = format!("boundary nic_out out packet @0:0..0\n{TICKS}");
    let done = run(&text, &[]);
    let expected: Vec<Stamped> = (0..4).map(|i| at(i * 300_000_000, &[0, i as u8])).collect();
    assert_eq!(done.out("nic_out"), expected);
    let totals = done.report.totals;
    assert_eq!((totals.created, totals.out, totals.dropped), (4, 4, 0));
    let options = Options { duration_ns: Some(2 * SECOND), ..Options::default() };
    let done = try_run(&design(&text), &[], options, "").expect("no error").expect("no control");
    assert_eq!(done.out("nic_out").len(), 7);
}

#[test]
fn sources_beside_inputs_run_until_the_last_arrival() {
    let pass = packet_pass("p", 1, 2);
    let (ticks, channel) = TICKS.split_at(TICKS.find("channel 0: tick").expect("the source has a channel"));
    let text = format!(
        "boundary nic_out out packet @0:0..0\nboundary nic_in in packet @0:0..0\nboundary tor_out out packet @0:0..0\n{ticks}{pass}\
         {channel}channel 1: nic_in packet -> p[1] packet depth 4 @0:0..0\nchannel 2: p[1] packet -> tor_out packet depth 4 @0:0..0\n"
    );
    let done = run(&text, &[("nic_in", vec![at(SECOND, &[1]), at(2 * SECOND, &[2])])]);
    assert_eq!(done.times("nic_out"), [0, 3, 6, 9].map(|i| SECOND + i * 100_000_000));
}

#[test]
fn control_lines_come_after_earlier_packets_and_before_those_of_their_time() {
    let head = "%0: i8 = reg.read mark\n %1: i32 = const 0\n pkt.store %1, %0\n %2: i32 = const 1\n emit %2";
    let text = through(head, ("", "")).replace("    packet window", "    var mark: u8\n    packet window");
    let signal = "    signal mark(%0 m: u8) -> (old: u8) {\n        %1: i8 = reg.read mark\n        reg.write mark, %0\n        yield %1\n    }\n}\nchannel 0:";
    let text = text.replace("}\nchannel 0:", signal);
    let packets = [10, 11, 12, 13].map(|time| at(time * SECOND, &[0])).to_vec();
    let control =
        "# fills\n@12 e.mark 3   # the third packet's time\n\ne.mark m=1\n@+1s e.mark m=0x2\n@20.5 e.mark 9\n";
    let done = run_with_control(&text, &[("nic_in", packets)], control);
    let marks: Vec<u8> = done.out("nic_out").iter().map(|packet| packet.bytes[0]).collect();
    assert_eq!(marks, [1, 2, 3, 3]);
    let calls: Vec<(u32, u64, u64)> =
        done.calls.iter().map(|call| (call.line, call.time_ns, call.results[0].1.low_u64())).collect();
    assert_eq!(
        calls,
        [(4, 10 * SECOND, 0), (5, 11 * SECOND, 1), (2, 12 * SECOND, 2), (6, 20 * SECOND + SECOND / 2, 3)]
    );
}

#[test]
fn endless_firing_in_one_instant_is_an_error_that_names_the_element() {
    // Makes an empty packet at every chance.
    let text = "boundary nic_out out packet @0:0..0\nelement flood: Flood @0:0..0 {\n    output packet channel 0\n    packet window 0 grow 1 {\n\
                %0: i32 = const 1\n pkt.push %0\n emit %0\n    }\n}\nchannel 0: flood[1] packet -> nic_out packet depth 4 @0:0..0\n";
    let options = Options { firings_per_instant_max: 1_000, ..Options::default() };
    match try_run(&design(text), &[], options, "") {
        Err(RunError::Livelock { elements, firings, now_ns }) => {
            assert_eq!((elements, firings, now_ns), (vec!["flood".to_string()], 1_000, 0));
        }
        other => panic!("{other:?}"),
    }
    // A rate bounds it: 1 byte at 8 kbit/s takes 1 ms, and one second has room for a thousand, with those that wait behind.
    let done = run(&text.replace("nic_out out packet", "nic_out out packet rate 8000"), &[]);
    assert_eq!(done.out("nic_out").len(), 1_004);
}

#[test]
fn an_element_that_only_counts_lets_time_go_on() {
    let text = "boundary nic_in in flit_t @0:0..0\nelement c: Count @0:0..0 {\n    input flit_t channel 0\n    var n: u32\n    timing always\n    \
                handler {\n %0: i32 = reg.read n\n %1: i32 = const 1\n %2: i32 = add %0, %1\n reg.write n, %2\n in.clear %1\n yield %1\n    }\n}\n\
                channel 0: nic_in flit_t -> c[1] flit_t depth 4 @0:0..0\n";
    let done = run(text, &[("nic_in", vec![at(1, &[1]), at(2, &[2])])]);
    assert_eq!((done.report.totals.entered, done.report.totals.ended), (2, 2));
}

#[test]
fn what_waits_for_the_time_fires_before_the_packet_that_moves_it_on() {
    // A source that makes a packet, its time, whenever the time has changed; it never asks to be woken.
    let poll = "element poll: Poll @0:0..0 {
    output packet channel 1
    var last: u64
    packet window 0 grow 1 {
        %0: i64 = now
        %1: i64 = reg.read last
        %2: i1 = ne %0, %1
        if %2 {
            reg.write last, %0
            %3: i32 = const 1
            pkt.push %3
            %4: i8 = trunc %0
            %5: i32 = const 0
            pkt.store %5, %4
            emit %3
        } else {
            drop \"nothing to send\"
        }
    }
}
";
    let merge = packet_element("m", &[0, 1], &[2], "window 0 grow 0", PASS, "");
    let text = format!(
        "boundary nic_in in packet @0:0..0\nboundary nic_out out packet @0:0..0\n{poll}{merge}\
         channel 0: nic_in packet -> m[1] packet depth 4 @0:0..0\nchannel 1: poll[1] packet -> m[2] packet depth 4 @0:0..0\n\
         channel 2: m[1] packet -> nic_out packet depth 4 @0:0..0\n"
    );
    let done = run(&text, &[("nic_in", vec![at(10, &[110]), at(10, &[111]), at(20, &[120])])]);
    let order: Vec<u8> = done.out("nic_out").iter().map(|packet| packet.bytes[0]).collect();
    assert_eq!(order, [10, 110, 111, 20, 120]);
}
