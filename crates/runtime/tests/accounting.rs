//! No packet is unaccounted for, and a run gives the same twice: over random graphs of known elements, whose flows of bytes are
//! checked too, and over random designs with random bodies.

mod support;

use ir::generate::Random;
use runtime::{Options, RunError};
use support::{Stamped, at, flit_pass, packet_element, try_run};

/// Packets of random sizes at random, sometimes equal or late, times.
fn packets(random: &mut Random, n_packets: u64) -> Vec<Stamped> {
    let mut time_ns = 1_000;
    let mut packet = |i: u64| {
        time_ns += random.below(40);
        let n_bytes = random.pick(&[0, 1, 14, 31, 32, 33, 60, 64, 65, 200, 1500]);
        let bytes: Vec<u8> = (0..n_bytes).map(|k| (i + k) as u8).collect();
        let stamp = if random.one_in(9) { time_ns - 30 } else { time_ns };
        Stamped { missing: if random.one_in(5) { 100 } else { 0 }, ..at(stamp, &bytes) }
    };
    (0..n_packets).map(&mut packet).collect()
}

#[test]
fn random_designs_account_for_every_packet() {
    let options =
        Options { firings_per_instant_max: 5_000, loop_rounds_max: 1_000, linger_ns: 100_000, ..Options::default() };
    let mut n_balanced = 0;
    for seed in 0..200 {
        let design = ir::generate::design(seed, 30);
        let mut random = Random(seed ^ 0x5eed);
        let inputs: Vec<(&str, Vec<Stamped>)> = design
            .boundaries
            .iter()
            .filter(|boundary| boundary.direction == ir::BoundaryDirection::In && boundary.message.0 < 2)
            .map(|boundary| (boundary.name.as_str(), packets(&mut random, 12)))
            .collect();
        // The support checks the balance.
        let runs = [0, 1].map(|_| try_run(&design, &inputs, options, ""));
        match &runs {
            [Ok(Ok(first)), Ok(Ok(second))] => {
                assert_eq!((&first.out, &first.report), (&second.out, &second.report), "seed {seed}");
                n_balanced += 1;
            }
            [Err(first), Err(second)] => {
                assert_eq!(first.to_string(), second.to_string(), "seed {seed}");
                assert!(matches!(first, RunError::Livelock { .. } | RunError::Trap { .. }), "seed {seed}: {first}");
            }
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(n_balanced > 50, "only {n_balanced} of 200 designs ran to their end");
}

/// A graph in layers: each element reads one to two channels and writes one to two.
struct Graph {
    text: String,
    /// By number.
    channels: Vec<String>,
    /// Channels without a reader: number, and message type of the writer.
    open: Vec<(u32, &'static str, String)>,
    n_channels: u32,
    is_lossy: bool,
}

impl Graph {
    fn random(random: &mut Random) -> Graph {
        let mut graph = Graph { text: String::new(), channels: vec![], open: vec![], n_channels: 0, is_lossy: false };
        let n_inputs = 1 + random.below(2);
        let mut boundaries = String::new();
        for port in ["nic_in", "tor_in"].into_iter().take(n_inputs as usize) {
            let rate = if random.one_in(3) { " rate 5000000000" } else { "" };
            boundaries += &format!("boundary {port} in packet{rate} @0:0..0\n");
            graph.open("packet", port.to_string());
        }
        for i in 0..1 + random.below(6) {
            graph.add_element(&format!("e{i}"), random);
        }
        for (i, port) in ["nic_out", "tor_out", "host_out"].into_iter().enumerate() {
            if graph.open.is_empty() {
                break;
            }
            let rate = if random.one_in(2) { " rate 3000000000" } else { "" };
            let message = if i == 1 { "flit_t" } else { "packet" };
            boundaries += &format!("boundary {port} out {message}{rate} @0:0..0\n");
            graph.close(port, message, random);
        }
        while !graph.open.is_empty() {
            graph.close("null", "packet", random);
        }
        graph.text = format!("{boundaries}{}{}", graph.text, graph.channels.concat());
        graph
    }

    fn open(&mut self, message: &'static str, writer: String) -> u32 {
        self.open.push((self.n_channels, message, writer));
        self.channels.push(String::new());
        self.n_channels += 1;
        self.n_channels - 1
    }

    /// Gives the open channel a reader.
    fn close(&mut self, reader: &str, message: &str, random: &mut Random) -> u32 {
        let (number, from_type, writer) = self.open.remove(random.below(self.open.len() as u64) as usize);
        let depth = random.pick(&[1, 2, 5, 64]);
        let lossy = if random.one_in(4) && reader != "null" { " lossy" } else { "" };
        self.is_lossy |= !lossy.is_empty() || reader == "null";
        self.channels[number as usize] =
            format!("channel {number}: {writer} {from_type} -> {reader} {message} depth {depth}{lossy} @0:0..0\n");
        number
    }

    fn add_element(&mut self, name: &str, random: &mut Random) {
        if random.one_in(3) {
            let input = self.close(&format!("{name}[1]"), "flit_t", random);
            let output = self.open("flit_t", format!("{name}[1]"));
            self.text += &flit_pass(name, input, output);
            return;
        }
        let n_inputs = (1 + random.below(2)).min(self.open.len() as u64);
        let inputs: Vec<u32> =
            (1..=n_inputs).map(|port| self.close(&format!("{name}[{port}]"), "packet", random)).collect();
        let outputs: Vec<u32> =
            (1..=1 + random.below(2)).map(|port| self.open("packet", format!("{name}[{port}]"))).collect();
        let both = "%0: i32 = const 1\n emit %0\n %1: i32 = const 2\n emit %1";
        let first = "%0: i32 = const 1\n emit %0";
        // By the lowest bit of the first byte: to the last output, or to the first.
        let by_bit = format!(
            "%0: i32 = const 0\n %1: i8 = pkt.load %0\n %2: i1 = trunc %1\n %3: i32 = const 1\n %4: i32 = const {}\n \
                              %5: i32 = select %2, %4, %3\n emit %5",
            outputs.len()
        );
        let head = match (outputs.len(), random.below(2)) {
            (1, _) => first.to_string(),
            (_, 0) => both.to_string(),
            (_, _) => by_bit,
        };
        self.text += &packet_element(name, &inputs, &outputs, "window 8 grow 0", &head, "");
    }
}

#[test]
fn random_graphs_account_for_every_packet_and_lose_none_unless_they_may() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let graph = Graph::random(&mut random);
        let inputs: Vec<(&str, Vec<Stamped>)> = ["nic_in", "tor_in"]
            .into_iter()
            .filter(|port| graph.text.contains(&format!("boundary {port}")))
            .map(|port| (port, packets(&mut random, 40)))
            .collect();
        let design = support::design(&graph.text);
        let done =
            try_run(&design, &inputs, Options::default(), "").expect("no element traps").expect("no control file");
        let totals = done.report.totals;
        assert_eq!(totals.entered, 40 * inputs.len() as u64, "seed {seed}");
        assert_eq!((totals.held, totals.ended), (0, 0), "seed {seed}");
        if !graph.is_lossy {
            assert_eq!(totals.dropped, 0, "seed {seed}\n{}", graph.text);
        }
        // Every packet that leaves is one that entered, whole.
        let entered: Vec<(&[u8], u32)> =
            inputs.iter().flat_map(|(_, packets)| packets).map(|packet| (&packet.bytes[..], packet.missing)).collect();
        for packet in done.out.values().flatten() {
            assert!(entered.contains(&(&packet.bytes, packet.missing)), "seed {seed}: {packet:?}");
        }
    }
}
