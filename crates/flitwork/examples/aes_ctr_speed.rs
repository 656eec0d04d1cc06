//! The element AES_CTR on packets from memory, nanoseconds a byte of payload: by its native kernel, by its compiled body, on the interpreter,
//! and beside them the installed `openssl` in the same minute.
//!
//! Run: `cargo run --release -p flitwork --example aes_ctr_speed > bench/results/aes_ctr.json`. Rounds take turns; each figure is
//! the median of the rounds, with the fastest and slowest beside it. Both sides count processor time.

use std::process::Command;
use std::time::Duration;

use flitwork::compile::compile;
use flitwork::loader::FileLoader;
use runtime::{Engine, Filled, IoError, Options, Packet, PacketSource, Runtime};
use serde_json::{Value, json};

const APP: &str = "import \"crypto/AES_CTR.clnp\"\nAES_CTR :: aes @ (1, 1, OFFSET = 42)\nnic_in -> aes -> nic_out\n";
const KEY: &str = "aes.set_key key=0x2b7e151628aed2a6abf7158809cf4f3c\n";
const HEADER_BYTES: usize = 42;
const PAYLOAD_BYTES: [usize; 3] = [64, 512, 1500];
const N_ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(200);
const SLICE_PACKETS: u64 = 512;
const WAYS: [(&str, Engine, bool); 3] =
    [("twin", Engine::Jit, true), ("body", Engine::Jit, false), ("interp", Engine::Interp, false)];

/// One packet for ever.
struct Feed {
    bytes: Vec<u8>,
    now_ns: u64,
}

impl PacketSource for Feed {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        for packet in packets.iter_mut() {
            packet.set_bytes(&self.bytes);
            packet.time_ns = self.now_ns;
            self.now_ns += 100;
        }
        Ok(Filled::Packets(packets.len()))
    }
}

fn main() {
    let rows: Vec<Value> = PAYLOAD_BYTES.into_iter().map(measure).collect();
    let report = json!({
        "command": "cargo run --release -p flitwork --example aes_ctr_speed",
        "unit": "nanoseconds of processor time a byte of payload, AES-128; [fastest round, median, slowest round]",
        "rounds": N_ROUNDS,
        "rows": rows,
    });
    println!("{report:#}");
}

fn measure(n_bytes: usize) -> Value {
    let compiled = compile("aes.clnp", &FileLoader::default().with_text("aes.clnp", APP));
    let design = opt::pipeline::run(compiled.design.expect("the application compiles"));
    let verified = ir::verify(&design).expect("a compiled design keeps the rules");
    let mut runtimes: Vec<Runtime<'_>> = WAYS
        .iter()
        .map(|&(_, engine, twins)| {
            let options = Options { engine, twins, ..Options::default() };
            let mut runtime = Runtime::new(verified, options).expect("the engine takes the design");
            if engine == Engine::Jit
                && let Some(chain) = opt::fuse::run(&design)
            {
                runtime.use_chain(&opt::pipeline::run_chain(&design, chain)).expect("the engine takes the chain");
            }
            let feed = Feed { bytes: vec![0x5a; HEADER_BYTES + n_bytes], now_ns: 0 };
            runtime.attach_source("nic_in", Box::new(feed)).expect("there is this port");
            runtime.load_control(KEY.to_string()).expect("there is this signal");
            runtime
        })
        .collect();
    let mut times = vec![Vec::new(); WAYS.len() + 1];
    for _ in 0..N_ROUNDS {
        for (runtime, times) in runtimes.iter_mut().zip(&mut times) {
            times.push(time(runtime) / n_bytes as f64);
        }
        times[WAYS.len()].push(openssl_time(n_bytes));
    }
    let mut row = json!({ "payload bytes": n_bytes });
    for (name, times) in WAYS.iter().map(|(name, ..)| *name).chain(["openssl"]).zip(times) {
        row[name] = spread(times);
    }
    row
}

/// Nanoseconds a packet.
fn time(runtime: &mut Runtime<'_>) -> f64 {
    let mut run = || assert!(runtime.run_packets(SLICE_PACKETS).expect("nothing stops the run"));
    run(); // Caches are warm afterwards.
    let (start, mut n_packets) = (processor_time(), 0);
    loop {
        run();
        n_packets += SLICE_PACKETS;
        let spent = processor_time() - start;
        if spent >= ROUND {
            return spent.as_secs_f64() * 1e9 / n_packets as f64;
        }
    }
}

/// Time on a processor of this thread so far (`Documentation/scheduler/sched-stats.rst`, first field).
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with schedstat");
    Duration::from_nanos(text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds"))
}

/// Nanoseconds a byte of `openssl speed`, which counts thousands of bytes a second.
fn openssl_time(n_bytes: usize) -> f64 {
    let arguments = ["speed", "-seconds", "1", "-bytes", &n_bytes.to_string(), "-evp", "aes-128-ctr"];
    let output = Command::new("openssl").args(arguments).output().expect("the openssl program");
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.split_whitespace().next_back().and_then(|field| field.strip_suffix('k'));
    1e6 / rate.and_then(|rate| rate.parse::<f64>().ok()).expect("a rate")
}

fn spread(mut times: Vec<f64>) -> Value {
    times.sort_by(f64::total_cmp);
    let rounded = |time: f64| (time * 1e4).round() / 1e4;
    json!([rounded(times[0]), rounded(times[times.len() / 2]), rounded(times[times.len() - 1])])
}
