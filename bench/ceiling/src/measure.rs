//! Times both sides of all rows in turn, round after round, so that what disturbs the machine disturbs all of them alike.

use std::sync::Arc;

use runtime::Engine;
use serde_json::{Value, json};

use crate::batch::{BATCH, Driver};
use crate::clock::thread_ns;
use crate::graph::{Feed, Graph, SharedFeed, design};
use crate::rows::{Ceiling, Row, Tables};
use crate::traffic::Trace;

/// Processor time that one figure takes, about.
const SLICE_NS: f64 = 5e6;
/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'p> {
    pub rows: &'p [Row],
    pub lengths: &'p [usize],
    pub n_repeats: usize,
    /// Whether the interpreter is measured as well.
    pub interp: bool,
}

/// One side of a row at one length.
struct Subject<'s> {
    row: Row,
    side: &'static str,
    packet_bytes: usize,
    n_packets: u64,
    runner: Runner<'s>,
    ns_per_packet: Vec<f64>,
}

enum Runner<'s> {
    ByHand(Box<dyn Ceiling>, Box<Driver<'s>>),
    Graph(usize),
}

/// Packets of a trace of packets of this length.
fn packets_in_trace(packet_bytes: usize) -> usize {
    if packet_bytes <= 512 { 16_384 } else { 10_240 }
}

/// Measures; gives a JSON object for each row, side and length.
pub fn measure(plan: Plan<'_>, tables: &Tables) -> Result<Vec<Value>, String> {
    let designs = plan.rows.iter().map(|&row| design(row)).collect::<Result<Vec<_>, _>>()?;
    let engines: &[(&str, Engine)] = match plan.interp {
        true => &[("jit", Engine::Jit), ("interp", Engine::Interp)],
        false => &[("jit", Engine::Jit)],
    };
    let any = Arc::new(Trace::new(&Row::Copy.flows(tables, BATCH), 64, BATCH));
    let mut graphs = Vec::new();
    for (&row, design) in plan.rows.iter().zip(&designs) {
        for &(side, engine) in engines {
            let feed = SharedFeed::new(vec![Feed::endless(any.clone())]);
            graphs.push((row, side, Graph::new(row, design, engine, tables, feed)?));
        }
    }
    let mut results = Vec::new();
    for &packet_bytes in plan.lengths {
        let n_packets = packets_in_trace(packet_bytes);
        let trace = |&row: &Row| Arc::new(Trace::new(&row.flows(tables, n_packets), packet_bytes, n_packets));
        let traces: Vec<Arc<Trace>> = plan.rows.iter().map(trace).collect();
        let mut subjects = Vec::new();
        for (&row, trace) in plan.rows.iter().zip(&traces) {
            for (side, program) in row.ceilings(tables, packet_bytes) {
                let driver = Box::new(Driver::new(trace, crate::traffic::START_NS));
                subjects.push(Subject::new(row, side, packet_bytes, Runner::ByHand(program, driver)));
            }
            for (at, (of, side, graph)) in graphs.iter_mut().enumerate().filter(|(_, (of, ..))| *of == row) {
                graph.change(trace.clone())?;
                subjects.push(Subject::new(*of, side, packet_bytes, Runner::Graph(at)));
            }
        }
        for subject in &mut subjects {
            subject.settle(&mut graphs, n_packets as u64)?;
        }
        for _ in 0..plan.n_repeats {
            for subject in &mut subjects {
                // The others of this round have taken the caches: one trace, if that is no more than half of what is timed.
                let warm_up = (n_packets as u64).min(subject.n_packets / 2).next_multiple_of(BATCH as u64);
                subject.time(&mut graphs, warm_up)?;
                let ns = subject.time(&mut graphs, subject.n_packets)?;
                subject.ns_per_packet.push(ns);
            }
        }
        results.extend(subjects.into_iter().map(Subject::result));
    }
    Ok(results)
}

impl<'s> Subject<'s> {
    fn new(row: Row, side: &'static str, packet_bytes: usize, runner: Runner<'s>) -> Subject<'s> {
        Subject { row, side, packet_bytes, n_packets: 0, runner, ns_per_packet: Vec::new() }
    }

    /// Lets every flow be seen, and finds how many packets take one slice of time.
    fn settle(&mut self, graphs: &mut [(Row, &str, Graph<'_>)], n_in_trace: u64) -> Result<(), String> {
        let few = self.time(graphs, 256)?;
        if few * (n_in_trace as f64) < 20.0 * SLICE_NS {
            self.time(graphs, n_in_trace)?;
        }
        let enough = SLICE_NS / self.time(graphs, 512)?;
        self.n_packets = (enough as u64).clamp(512, 100 * n_in_trace).next_multiple_of(BATCH as u64);
        Ok(())
    }

    /// Nanoseconds for each of some packets, whose number is a multiple of [`BATCH`].
    fn time(&mut self, graphs: &mut [(Row, &str, Graph<'_>)], n_packets: u64) -> Result<f64, String> {
        let start = thread_ns();
        match &mut self.runner {
            Runner::ByHand(program, driver) => program.run(driver, n_packets as usize / BATCH),
            Runner::Graph(at) => graphs[*at].2.run(n_packets)?,
        }
        Ok((thread_ns() - start) as f64 / n_packets as f64)
    }

    fn result(self) -> Value {
        let mut ns = self.ns_per_packet;
        ns.sort_by(f64::total_cmp);
        let rounded = |ns: f64| (ns * 100.0).round() / 100.0;
        json!({
            "row": self.row.name(),
            "side": self.side,
            "packet_bytes": self.packet_bytes,
            "packets": self.n_packets,
            "ns_per_packet": {
                "best": rounded(ns[0]),
                "median": rounded(ns[ns.len() / 2]),
                "worst": rounded(ns[ns.len() - 1]),
            },
        })
    }
}
