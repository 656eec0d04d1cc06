//! The applications of the rows, run by the runtime as users run them.

use std::sync::{Arc, Mutex, MutexGuard};

use flitwork::compile::compile;
use flitwork::loader::FileLoader;
use ir::{Design, Value};
use runtime::{Engine, Filled, IoError, Options, Packet, PacketSink, PacketSource, Runtime};

use crate::rows::{Row, Signal, Tables};
use crate::traffic::{GAP_NS, START_NS, Trace};

/// Gives the packets of traces, from memory.
pub struct Feed {
    trace: Arc<Trace>,
    place: usize,
    now_ns: u64,
    /// Packets that are left to give.
    n_left: usize,
}

impl Feed {
    /// The trace round and round.
    pub fn endless(trace: Arc<Trace>) -> Feed {
        Feed { trace, place: 0, now_ns: START_NS, n_left: usize::MAX }
    }

    /// The trace once, beginning at a time.
    pub fn once(trace: Arc<Trace>, now_ns: u64) -> Feed {
        let n_left = trace.n_packets;
        Feed { trace, place: 0, now_ns, n_left }
    }

    /// Gives another trace from now on.
    fn change(&mut self, trace: Arc<Trace>) {
        (self.trace, self.place) = (trace, 0);
    }

    fn give(&mut self, packet: &mut Packet) {
        packet.set_bytes(self.trace.packet(self.place));
        packet.time_ns = self.now_ns;
        self.now_ns += GAP_NS;
        self.place = if self.place + 1 == self.trace.n_packets { 0 } else { self.place + 1 };
    }
}

/// Traces one after the other, which can be changed while a runtime reads them.
#[derive(Clone)]
pub struct SharedFeed(Arc<Mutex<Vec<Feed>>>);

impl SharedFeed {
    /// These, in order.
    pub fn new(mut feeds: Vec<Feed>) -> SharedFeed {
        feeds.reverse();
        SharedFeed(Arc::new(Mutex::new(feeds)))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Feed>> {
        self.0.lock().expect("nobody panics while it is locked")
    }
}

impl PacketSource for SharedFeed {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let mut feeds = self.lock();
        while let Some(feed) = feeds.last_mut() {
            let n_packets = packets.len().min(feed.n_left);
            if n_packets > 0 {
                packets[..n_packets].iter_mut().for_each(|packet| feed.give(packet));
                feed.n_left -= n_packets;
                return Ok(Filled::Packets(n_packets));
            }
            feeds.pop();
        }
        Ok(Filled::End)
    }
}

/// The design of a row's application.
pub fn design(row: Row) -> Result<Design, String> {
    let name = format!("{}.clnp", row.name());
    let compiled = compile(&name, &FileLoader::default().with_text(&name, row.app()));
    match compiled.design {
        Some(design) => Ok(opt::pipeline::run(design)),
        None => Err(format!("{name} does not compile; `flitwork check bench/apps/{name}` says why")),
    }
}

/// A row's application, ready to run.
pub struct Graph<'d> {
    row: Row,
    runtime: Runtime<'d>,
    feed: SharedFeed,
}

impl<'d> Graph<'d> {
    /// With its tables filled, so far as control lines do that before the first packet.
    pub fn new(
        row: Row,
        design: &'d Design,
        engine: Engine,
        tables: &Tables,
        feed: SharedFeed,
    ) -> Result<Self, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", row.name());
        let verified = ir::verify(design).map_err(|errors| fail(&errors[0]))?;
        let options = Options { engine, ..Options::default() };
        let mut runtime = Runtime::new(verified, options).map_err(|error| fail(&error))?;
        if engine == Engine::Jit
            && let Some(chain) = opt::fuse::run(design)
        {
            runtime.use_chain(&opt::pipeline::run_chain(design, chain)).map_err(|error| fail(&error))?;
        }
        runtime.attach_source("nic_in", Box::new(feed.clone())).map_err(|error| fail(&error))?;
        runtime.load_control(row.control(tables)).map_err(|errors| fail(&errors[0]))?;
        Ok(Graph { row, runtime, feed })
    }

    /// Goes on with another trace. A few packets of the one before are on their way already.
    pub fn change(&mut self, trace: Arc<Trace>) -> Result<(), String> {
        let packet_bytes = trace.packet_bytes;
        if let Some(feed) = self.feed.lock().last_mut() {
            feed.change(trace);
        }
        self.suit(packet_bytes)
    }

    /// Calls the signals that suit the application to packets of this length.
    pub fn suit(&mut self, packet_bytes: usize) -> Result<(), String> {
        for Signal { name, arguments } in self.row.signals(packet_bytes) {
            let values: Vec<(&str, Value)> =
                arguments.iter().map(|&(argument, value)| (argument, Value::from(value))).collect();
            self.runtime.call_signal(self.row.name(), name, &values).map_err(|error| error.message)?;
        }
        Ok(())
    }

    /// Runs packets through.
    pub fn run(&mut self, n_packets: u64) -> Result<(), String> {
        match self.runtime.run_packets(n_packets) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("{}: the run ended", self.row.name())),
            Err(error) => Err(format!("{}: {error}", self.row.name())),
        }
    }

    /// Runs to the end of the feed with sinks at the outputs, which are given back.
    pub fn run_to_end(mut self) -> Result<Vec<Digest>, String> {
        let fail = |error: runtime::RunError| format!("{}: {error}", self.row.name());
        let mut sinks = Vec::new();
        for output in self.row.outputs() {
            let sink = SharedDigest(Arc::new(Mutex::new(Digest::default())));
            self.runtime.attach_sink(output, Box::new(sink.clone())).map_err(fail)?;
            sinks.push(sink);
        }
        self.runtime.run(&mut runtime::Hooks::default()).map_err(fail)?;
        Ok(sinks.iter().map(|sink| sink.0.lock().expect("nobody panics while it is locked").clone()).collect())
    }
}

/// What left at one output: how many packets, and a hash over their bytes in order.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    n_packets: u64,
    hasher: std::hash::DefaultHasher,
}

impl Digest {
    /// Takes a packet.
    pub fn take(&mut self, bytes: &[u8]) {
        use std::hash::Hasher;
        self.n_packets += 1;
        self.hasher.write_usize(bytes.len());
        self.hasher.write(bytes);
    }

    /// Packets, and the hash.
    pub fn summary(&self) -> (u64, u64) {
        use std::hash::Hasher;
        (self.n_packets, self.hasher.finish())
    }
}

#[derive(Clone)]
struct SharedDigest(Arc<Mutex<Digest>>);

impl PacketSink for SharedDigest {
    fn write(&mut self, frame: packet::capture::Frame<'_>) -> Result<(), IoError> {
        self.0.lock().expect("nobody panics while it is locked").take(frame.data);
        Ok(())
    }
}
