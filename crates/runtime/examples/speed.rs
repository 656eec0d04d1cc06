//! How fast the interpreter is: `cargo run --release -p runtime --example speed`. A record, not a bar.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use runtime::{Filled, Hooks, IoError, Options, Packet, PacketSource, Runtime};
use support::{design, flit_pass, packet_pass};

/// The same packet again and again.
struct Repeat {
    bytes: Vec<u8>,
    left: u64,
}

impl PacketSource for Repeat {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let n_filled = self.left.min(packets.len() as u64);
        for packet in &mut packets[..n_filled as usize] {
            packet.set_bytes(&self.bytes);
            packet.time_ns = self.left.wrapping_neg();
            self.left -= 1;
        }
        Ok(if n_filled == 0 { Filled::End } else { Filled::Packets(n_filled as usize) })
    }
}

fn main() {
    passing_traffic();
    plain_ops();
}

fn measure(name: &str, text: &str, n_bytes: usize, n_packets: u64) {
    let design = design(text);
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    let source = Repeat { bytes: vec![7; n_bytes], left: n_packets };
    runtime.attach_source("nic_in", Box::new(source)).expect("the port is there");
    let start = Instant::now();
    runtime.run(&mut Hooks::default()).expect("runs");
    let seconds = start.elapsed().as_secs_f64();
    let report = runtime.report();
    let firings: u64 = report.elements.iter().map(|element| element.firings).sum();
    assert_eq!(report.totals.out, n_packets);
    println!(
        "{name}, {n_bytes} bytes: {:.2} M packets/s, {:.2} M firings/s",
        n_packets as f64 / seconds / 1e6,
        firings as f64 / seconds / 1e6
    );
}

fn chain(ends: &str, pass: fn(&str, u32, u32) -> String, n_elements: u32) -> String {
    let mut text = format!("boundary nic_in in packet @0:0..0\nboundary nic_out out {ends} @0:0..0\n");
    for i in 0..n_elements {
        text += &pass(&format!("e{i}"), i, i + 1);
    }
    for i in 0..=n_elements {
        let from = if i == 0 { "nic_in packet".to_string() } else { format!("e{}[1] {ends}", i - 1) };
        let to = if i == n_elements { "nic_out".to_string() } else { format!("e{i}[1]") };
        text += &format!("channel {i}: {from} -> {to} {ends} depth 16 @0:0..0\n");
    }
    text
}

fn passing_traffic() {
    for n_bytes in [64, 1500] {
        measure("one packet element", &chain("packet", packet_pass, 1), n_bytes, 2_000_000);
        measure("four packet elements", &chain("packet", packet_pass, 4), n_bytes, 1_000_000);
        measure("one flit element", &chain("flit_t", flit_pass, 1), n_bytes, 200_000);
    }
}

fn plain_ops() {
    // A signal that goes round 10 million times, six ops a round.
    let text = "element t: T control @0:0..0 {\n    handler {\n        %0: i32 = const 1\n        yield %0\n    }\n    signal f(%0 n: u32) -> (x: u32) {\n\
                %1: i32 = const 0\n %2: i32 = const 1\n %3: i32 = const 1664525\n %4: i32 = const 1013904223\n\
                %20: i32, %21: i32 = loop (%5: i32 = %1, %6: i32 = %2) {\n %7: i32 = mul %6, %3\n %8: i32 = add %7, %4\n %9: i32 = xor %8, %5\n \
                %10: i32 = add %5, %2\n %11: i1 = ult %10, %0\n yield %11, %10, %9\n }\n yield %21\n    }\n}\n";
    let design = design(text);
    let mut runtime = Runtime::new(ir::verify(&design).expect("verifies"), Options::default()).expect("starts");
    let start = Instant::now();
    runtime.call_signal("t", "f", &[("n", ir::Value::Small(10_000_000))]).expect("runs");
    println!("{:.0} M ops/s", 60e6 / start.elapsed().as_secs_f64() / 1e6);
}
