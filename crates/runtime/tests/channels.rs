//! Channels: conversion, back-pressure, loss; what is held and blocked at the end.

mod support;

use support::{Stamped, at, counting, flit_pass, packet_element, packet_pass, run};

const ENDS: &str = "boundary nic_in in packet @0:0..0\nboundary nic_out out packet @0:0..0\n";

/// `nic_in -> f -> nic_out` over flits of the given depths.
fn through_flits(depth: u32) -> String {
    format!(
        "{ENDS}{}channel 0: nic_in packet -> f[1] flit_t depth {depth} @0:0..0\n\
         channel 1: f[1] flit_t -> nic_out packet depth {depth} @0:0..0\n",
        flit_pass("f", 0, 1)
    )
}

#[test]
fn packets_of_every_size_go_through_flits_unchanged() {
    // ceil(n / 32) flits, at least one.
    let sizes = [(0, 1), (1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3), (1500, 47), (9216, 288)];
    for depth in [1, 2, 64] {
        for (n_bytes, n_flits) in sizes {
            let packets = vec![at(1_000, &counting(3, n_bytes)), at(2_000, &counting(7, n_bytes))];
            let done = run(&through_flits(depth), &[("nic_in", packets.clone())]);
            assert_eq!(done.out("nic_out"), packets, "{n_bytes} bytes, depth {depth}");
            assert_eq!(done.report.channels[0].messages, 2 * n_flits, "{n_bytes} bytes, depth {depth}");
            assert_eq!(done.report.elements[0].packets_out, 2);
        }
    }
}

#[test]
fn what_a_capture_cut_off_stays_cut_off_through_flits() {
    let cut = Stamped { missing: 1400, ..at(5, &counting(0, 96)) };
    assert_eq!(run(&through_flits(4), &[("nic_in", vec![cut.clone()])]).out("nic_out"), [cut]);
}

#[test]
fn other_link_layers_get_ethernet_inside_and_their_own_header_outside() {
    let ipv4 = [&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &counting(0, 20)].concat();
    let raw = Stamped { link_type: 101, ..at(7, &ipv4) };
    let opaque = Stamped { link_type: 105, ..at(8, &counting(0, 40)) };
    let packets = vec![raw, opaque];
    // The element sees EtherType 0x0800 of the first one and the bytes of the second as they are.
    let head = "%0: i32 = const 12\n %1: i16 = pkt.load %0\n trace \"{:x}\", %1\n %2: i32 = const 1\n emit %2";
    let text = format!(
        "{ENDS}{}channel 0: nic_in packet -> e[1] packet depth 4 @0:0..0\nchannel 1: e[1] packet -> nic_out packet depth 4 @0:0..0\n",
        packet_element("e", &[0], &[1], "window 20 grow 0", head, "")
    );
    let done = run(&text, &[("nic_in", packets.clone())]);
    assert_eq!(done.out("nic_out"), packets);
    assert_eq!(done.traces, ["7 e: 800", "8 e: c0d"]);
    // Through flits too: raw IP has no header of its own that could be lost.
    assert_eq!(run(&through_flits(2), &[("nic_in", packets.clone())]).out("nic_out"), packets);
}

/// `nic_in -> f => nic_out`, the lossy channel of the given kind and depth, 64 bytes a microsecond at the way out.
fn lossy(message: &str, depth: u32) -> String {
    let pass = if message == "packet" { packet_pass("f", 0, 1) } else { flit_pass("f", 0, 1) };
    format!(
        "boundary nic_in in packet @0:0..0\nboundary nic_out out {message} rate 512000000 @0:0..0\n{pass}\
         channel 0: nic_in packet -> f[1] {message} depth 4 @0:0..0\n\
         channel 1: f[1] {message} -> nic_out {message} depth {depth} lossy @0:0..0\n"
    )
}

#[test]
fn lossy_flit_channels_drop_whole_packets() {
    // Two flits each. Packet 0 leaves at once; 1 waits; 2 finds room for one flit only and is taken back; 3 comes when 1 left.
    let packets: Vec<Stamped> =
        [(0, 0), (1, 1), (2, 2), (1_001, 3)].map(|(time, i)| at(time, &counting(i << 4, 64))).to_vec();
    let done = run(&lossy("flit_t", 3), &[("nic_in", packets)]);
    let seen: Vec<(u64, u8)> = done.out("nic_out").iter().map(|packet| (packet.time_ns, packet.bytes[0])).collect();
    assert_eq!(seen, [(0, 0x00), (1_000, 0x10), (2_000, 0x30)]);
    assert!(done.out("nic_out").iter().all(|packet| packet.bytes == counting(packet.bytes[0], 64)));
    assert_eq!(done.drops(), [("channel full".to_string(), 1)]);
    let channel = &done.report.channels[1];
    assert_eq!((channel.messages, channel.packets, channel.messages_max), (6, 4, 3));
}

#[test]
fn the_rest_of_a_dropped_packet_goes_with_it() {
    // Three flits each. Packet 0 leaves at once; 1 waits; of 2 there is room for the first flit, none for the second, and again
    // for the third once the first is taken back: it must not come through alone.
    let packets: Vec<Stamped> = (0..3).map(|i| at(u64::from(i), &counting(i << 4, 96))).collect();
    let done = run(&lossy("flit_t", 4), &[("nic_in", packets.clone())]);
    let bytes: Vec<&[u8]> = done.out("nic_out").iter().map(|packet| &packet.bytes[..]).collect();
    assert_eq!(bytes, [&packets[0].bytes[..], &packets[1].bytes]);
    assert_eq!(done.drops(), [("channel full".to_string(), 1)]);
    assert_eq!(done.report.channels[1].messages, 6);
}

#[test]
fn lossy_packet_channels_drop_at_the_depth() {
    let packets: Vec<Stamped> = (0..5).map(|i| at(u64::from(i), &counting(i << 4, 64))).collect();
    let done = run(&lossy("packet", 2), &[("nic_in", packets)]);
    let seen: Vec<(u64, u8)> = done.out("nic_out").iter().map(|packet| (packet.time_ns, packet.bytes[0])).collect();
    assert_eq!(seen, [(0, 0x00), (1_000, 0x10), (2_000, 0x20)]);
    assert_eq!(done.drops(), [("channel full".to_string(), 2)]);
    assert_eq!(done.report.totals.dropped, 2);
}

#[test]
fn lossless_channels_lose_nothing_at_any_depth() {
    for (message, depth) in [("flit_t", 1), ("flit_t", 3), ("packet", 1), ("packet", 2)] {
        let packets: Vec<Stamped> = (0..9).map(|i| at(u64::from(i), &counting(i << 4, 60 + usize::from(i)))).collect();
        let text = lossy(message, depth).replace(" lossy", "");
        let done = run(&text, &[("nic_in", packets.clone())]);
        let bytes = |packets: &[Stamped]| packets.iter().map(|packet| packet.bytes.clone()).collect::<Vec<_>>();
        assert_eq!(bytes(done.out("nic_out")), bytes(&packets), "{message} {depth}");
        // Each packet leaves when the one before is through: n bytes take n / 64 µs, rounded up to the next nanosecond.
        let mut exact_ns = 0.0;
        for (packet, i) in done.out("nic_out").iter().zip(0_u8..) {
            assert_eq!(packet.time_ns, f64::ceil(exact_ns) as u64, "{message} {depth}");
            exact_ns += f64::from(60 + i) * 15.625;
        }
    }
}

/// A flit element that never reads.
const DEAF: &str = "element deaf: Deaf @0:0..0 {
    input flit_t channel 0
    handler {
        %0: i32 = const 1
        yield %0
    }
}
channel 0: nic_in packet -> deaf[1] flit_t depth 4 @0:0..0
";

#[test]
fn packets_that_nobody_reads_are_held_and_the_input_is_blocked() {
    let packets = (0..5).map(|i| at(i, &counting(0, 64))).collect();
    let done = run(&format!("boundary nic_in in packet @0:0..0\n{DEAF}"), &[("nic_in", packets)]);
    // Two packets of two flits fill the channel.
    let totals = done.report.totals;
    assert_eq!((totals.entered, totals.held), (2, 2));
    assert_eq!(done.outcome.blocked_inputs, ["nic_in"]);
    // It fired on the first flit, and once more on each flit that came.
    assert!(done.report.elements[0].firings <= 4, "{}", done.report.elements[0].firings);
}

#[test]
fn sending_to_drop_counts_as_dropped_by_the_sender() {
    for (message, pass) in [("packet", packet_pass("p", 0, 1)), ("flit_t", flit_pass("p", 0, 1))] {
        let text = format!(
            "boundary nic_in in packet @0:0..0\n{pass}channel 0: nic_in packet -> p[1] {message} depth 4 @0:0..0\n\
             channel 1: p[1] {message} -> null {message} depth 4 @0:0..0\n"
        );
        let done = run(&text, &[("nic_in", vec![at(0, &counting(0, 100)), at(0, &counting(0, 10))])]);
        assert_eq!(done.drops(), [("sent to Drop by p[1]".to_string(), 2)]);
        assert_eq!((done.report.totals.entered, done.report.totals.dropped), (2, 2));
    }
}

#[test]
fn flits_without_start_are_no_packet() {
    // Clears `sop` of everything.
    let broken = flit_pass("f", 0, 1)
        .replace("out.write flit_t, %0, %2, %3", "%11: i1 = const 0\n out.write flit_t, %0, %2, %11");
    let text = format!(
        "{ENDS}{broken}channel 0: nic_in packet -> f[1] flit_t depth 4 @0:0..0\nchannel 1: f[1] flit_t -> nic_out packet depth 4 @0:0..0\n"
    );
    let done = run(&text, &[("nic_in", vec![at(0, &counting(0, 40))])]);
    assert_eq!(done.out("nic_out"), []);
    assert_eq!(done.drops(), [("no start of packet".to_string(), 1)]);
    assert_eq!(done.report.elements[0].framing_errors, 1);
}
