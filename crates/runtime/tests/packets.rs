//! Packet elements: windows, growth, tails, fate; each expected packet is worked out by hand.

mod support;

use support::{at, counting, packet_element, run};

const ENDS: &str = "boundary nic_in in packet @0:0..0\nboundary nic_out out packet @0:0..0\n";
const CHANNELS: &str = "channel 0: nic_in packet -> e[1] packet depth 4 @0:0..0\nchannel 1: e[1] packet -> nic_out packet depth 4 @0:0..0\n";

/// Runs one element between the ports on packets that arrive at 10, 20, … ns; gives bytes and drops.
fn one(options: &str, head: &str, more: &str, packets: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<(String, u64)>) {
    let text = format!("{ENDS}{}{CHANNELS}", packet_element("e", &[0], &[1], options, head, more));
    let packets = packets.iter().enumerate().map(|(i, bytes)| at(10 * (i as u64 + 1), bytes)).collect();
    let done = run(&text, &[("nic_in", packets)]);
    (done.out("nic_out").iter().map(|packet| packet.bytes.clone()).collect(), done.drops())
}

#[test]
fn push_and_pop_reach_to_the_borders_of_window_and_growth() {
    // Pops the whole window of 4, then pushes the whole growth of 3 and writes into it.
    let head = "%0: i32 = const 4\n pkt.pop %0\n %1: i32 = const 3\n pkt.push %1\n %2: i24 = const 0xabcdef\n \
                %3: i32 = const 0\n pkt.store %3, %2\n %4: i32 = const 1\n emit %4";
    let (out, drops) = one("window 4 grow 3", head, "", &[counting(1, 6), counting(1, 4), counting(1, 3)]);
    assert_eq!(out, [vec![0xab, 0xcd, 0xef, 5, 6], vec![0xab, 0xcd, 0xef]]);
    assert_eq!(drops, [("pop past the window".to_string(), 1)]);
}

#[test]
fn a_push_past_the_growth_drops() {
    let head = "%0: i32 = const 2\n pkt.push %0\n pkt.push %0\n %4: i32 = const 1\n emit %4";
    let (out, drops) = one("window 4 grow 3", head, "", &[counting(1, 6)]);
    assert_eq!(out, Vec::<Vec<u8>>::new());
    assert_eq!(drops, [("no room to grow".to_string(), 1)]);
}

#[test]
fn push_at_and_pop_at_move_what_stands_before() {
    let head = "%0: i32 = const 2\n %1: i32 = const 3\n pkt.push_at %0, %1\n %2: i32 = const 6\n %3: i32 = const 1\n \
                pkt.pop_at %2, %3\n emit %3";
    let (out, _) = one("window 8 grow 3", head, "", &[counting(1, 10)]);
    assert_eq!(out, [vec![1, 2, 0, 0, 0, 3, 5, 6, 7, 8, 9, 10]]);
}

#[test]
fn reads_past_the_window_give_zero_and_set_short() {
    // Stores the sum of a good load and a cut one at 0, and `short` at 2.
    let head = "%0: i32 = const 2\n %1: i32 = pkt.load %0\n %2: i1 = pkt.short\n %3: i8 = zext %2\n %4: i32 = const 0\n \
                pkt.store %4, %1\n %5: i32 = const 1\n emit %5";
    let (out, _) = one("window 4 grow 0", head, "", &[counting(1, 6), counting(1, 3)]);
    // Of the first packet the window has bytes 1 to 4, so the load gives 03 04 00 00; of the second, 1 to 3.
    assert_eq!(out, [vec![3, 4, 0, 0, 5, 6], vec![3, 0, 0]]);
}

/// Adds 1 to the first byte of each piece and keeps offset and length of the last one in state.
const TAIL: &str = "    body (%0: i256, %1: i32, %2: i32) {
        %3: i256 = const 1
        %4: i256 = add %0, %3
        trace \"{} {}\", %1, %2
        yield %4
    }
";

#[test]
fn tails_see_the_original_pieces_behind_the_window() {
    let head = "%0: i32 = const 3\n pkt.pop %0\n %1: i32 = const 1\n emit %1";
    let text = format!("{ENDS}{}{CHANNELS}", packet_element("e", &[0], &[1], "window 10 grow 0", head, TAIL));
    let done =
        run(&text, &[("nic_in", vec![at(5, &counting(0, 75)), at(6, &counting(0, 10)), at(7, &counting(0, 42))])]);
    let mut first = counting(0, 75);
    for place in [10, 42, 74] {
        first[place] += 1;
    }
    let mut third = counting(0, 42);
    third[10] += 1;
    let out: Vec<&[u8]> = done.out("nic_out").iter().map(|packet| &packet.bytes[..]).collect();
    assert_eq!(out, [&first[3..], &counting(3, 7), &third[3..]]);
    assert_eq!(done.traces, ["5 e: 32 10", "5 e: 32 42", "5 e: 1 74", "7 e: 32 10"]);
}

#[test]
fn an_end_with_store_may_change_the_window_after_the_last_piece() {
    // The end writes the packet's length at 0; the head appends two bytes and the element stores at most 40.
    let head = "%0: i32 = const 2\n pkt.append %0\n %1: i32 = const 1\n emit %1";
    let end = "    end {\n        %0: i32 = pkt.len\n        %1: i16 = trunc %0\n        %2: i32 = const 0\n        \
               pkt.store %2, %1\n    }\n";
    let packets = [counting(1, 38), counting(1, 39), counting(1, 41)];
    let (out, drops) = one("window 4 grow 0 store 40", head, end, &packets);
    assert_eq!(out, [[vec![0, 40], counting(3, 36), vec![0, 0]].concat()]);
    let expected = [("longer than the 40 bytes stored", 1), ("append past the bytes stored", 1)];
    assert_eq!(sorted(drops), sorted(expected.map(|(reason, n)| (reason.to_string(), n)).to_vec()));
}

fn sorted(mut drops: Vec<(String, u64)>) -> Vec<(String, u64)> {
    drops.sort();
    drops
}

#[test]
fn truncation_counts_on_the_wire() {
    let head = "%0: i32 = pkt.len\n %1: i32 = const 50\n pkt.truncate %1\n %2: i32 = const 1\n emit %2";
    let text = format!("{ENDS}{}{CHANNELS}", packet_element("e", &[0], &[1], "window 4 grow 0 store 2000", head, ""));
    let cut = |n_bytes, missing| support::Stamped { missing, ..at(1, &counting(0, n_bytes)) };
    let done = run(&text, &[("nic_in", vec![cut(60, 40), cut(40, 60), cut(40, 0)])]);
    let lengths: Vec<(usize, u32)> =
        done.out("nic_out").iter().map(|packet| (packet.bytes.len(), packet.missing)).collect();
    assert_eq!(lengths, [(50, 0), (40, 10), (40, 0)]);
}

#[test]
fn emitting_to_several_ports_copies_and_missing_ports_drop() {
    let ends = format!("{ENDS}boundary tor_out out packet @0:0..0\n");
    let channels = format!("{CHANNELS}channel 2: e[2] packet -> tor_out packet depth 4 @0:0..0\n");
    // A first byte of 9 goes to port 9, everything else to both.
    let head = "%0: i32 = const 0\n %1: i8 = pkt.load %0\n %2: i8 = const 9\n %3: i1 = eq %1, %2\n %4: i32 = const 9\n \
                if %3 {\n emit %4\n } else {\n %5: i32 = const 1\n emit %5\n %6: i32 = const 2\n emit %6\n %7: i8 = const 7\n \
                pkt.store %0, %7\n }";
    let text = format!("{ends}{}{channels}", packet_element("e", &[0], &[1, 2], "window 4 grow 0", head, ""));
    let done = run(&text, &[("nic_in", vec![at(1, &[1, 2]), at(2, &[9, 2])])]);
    // The image at return goes everywhere, also to a port marked before the store.
    assert_eq!(done.out("nic_out"), [at(1, &[7, 2])]);
    assert_eq!(done.out("tor_out"), [at(1, &[7, 2])]);
    assert_eq!(done.drops(), [("emitted to port 9, which does not exist".to_string(), 1)]);
    let totals = done.report.totals;
    assert_eq!((totals.entered, totals.created, totals.out, totals.dropped), (2, 1, 2, 1));
}

#[test]
fn inputs_take_turns_by_packet() {
    let ends = format!("{ENDS}boundary tor_in in packet @0:0..0\n");
    let channels = "channel 0: nic_in packet -> e[1] packet depth 4 @0:0..0\n\
                    channel 1: e[1] packet -> nic_out packet depth 1 @0:0..0\n\
                    channel 2: tor_in packet -> e[2] packet depth 4 @0:0..0\n";
    let ends = ends.replace("nic_out out packet", "nic_out out packet rate 8000000000");
    let head = "%0: i32 = pkt.in_port\n %1: i8 = trunc %0\n %2: i32 = const 0\n pkt.store %2, %1\n %3: i32 = const 1\n emit %3";
    let text = format!("{ends}{}{channels}", packet_element("e", &[0, 2], &[1], "window 4 grow 0", head, ""));
    // 100 bytes at 8 Gbit/s take 100 ns. The first packet leaves at 0 and the second one fills the channel; then both inputs
    // have packets waiting and take turns.
    let nic: Vec<_> = (0..4).map(|i| at(i, &counting(0x10 * i as u8, 100))).collect();
    let tor: Vec<_> = (2..4).map(|i| at(i, &counting(0x10 * i as u8 + 8, 100))).collect();
    let done = run(&text, &[("nic_in", nic), ("tor_in", tor)]);
    let seen: Vec<(u64, u8, u8)> =
        done.out("nic_out").iter().map(|packet| (packet.time_ns, packet.bytes[0], packet.bytes[1])).collect();
    assert_eq!(seen, [(0, 1, 0x01), (100, 1, 0x11), (200, 2, 0x29), (300, 1, 0x21), (400, 2, 0x39), (500, 1, 0x31),]);
}

#[test]
fn metadata_travel_from_element_to_element_and_through_flits() {
    // The first element writes 0x155 into a 9-bit field behind a 60-bit one; the second stores it at 0.
    let meta = "meta pad: u60\nmeta mark: u9\n";
    let write = "%0: i9 = const 0x155\n meta.write mark, %0\n %1: i32 = const 1\n emit %1";
    let read = "%0: i9 = meta.read mark\n %1: i16 = zext %0\n %2: i32 = const 0\n pkt.store %2, %1\n %3: i32 = const 1\n emit %3";
    let flits = support::flit_pass("f", 1, 2).replace("i128", "i197");
    let text = format!(
        "{meta}{ENDS}{}{flits}{}channel 0: nic_in packet -> a[1] packet depth 4 @0:0..0\n\
         channel 1: a[1] packet -> f[1] flit_t depth 1 @0:0..0\nchannel 2: f[1] flit_t -> b[1] packet depth 1 @0:0..0\n\
         channel 3: b[1] packet -> nic_out packet depth 1 @0:0..0\n",
        packet_element("a", &[0], &[1], "window 4 grow 0", write, ""),
        packet_element("b", &[2], &[3], "window 4 grow 0", read, ""),
    );
    let done = run(&text, &[("nic_in", vec![at(3, &counting(0, 70))])]);
    assert_eq!(done.out("nic_out"), [at(3, &[vec![0x01, 0x55], counting(2, 68)].concat())]);
}
