//! Whether applications and programs written by hand do the same: same packets, byte for byte, in the same order on the same outputs.

use std::sync::Arc;

use runtime::Engine;

use crate::batch::{BATCH, DROPPED, Driver};
use crate::graph::{Digest, Feed, Graph, SharedFeed, design};
use crate::rows::{Row, Tables};
use crate::traffic::{GAP_NS, START_NS, Trace};

/// Packets of each trace.
const N_PACKETS: usize = 8_192;

/// Runs both sides of a row over short and long packets, and compares what leaves.
pub fn verify(row: Row, tables: &Tables) -> Result<(), String> {
    let trace = |packet_bytes| {
        let trace = Trace::new(&row.flows(tables, N_PACKETS), packet_bytes, N_PACKETS);
        Arc::new(if row == Row::Router { trace.with_router_faults() } else { trace })
    };
    let traces = [trace(64), trace(1500)];
    let by_graph = of_graph(row, tables, &traces)?;
    for (name, mut program) in row.ceilings(tables, traces[0].packet_bytes) {
        let mut digests = vec![Digest::default(); row.outputs().len()];
        let mut now_ns = START_NS;
        for trace in &traces {
            let mut driver = Driver::new(trace, now_ns);
            program.run_shown(&mut driver, trace.n_packets / BATCH, &mut |batch| {
                for (at, &output) in batch.outputs.iter().enumerate().filter(|&(_, &output)| output != DROPPED) {
                    digests[usize::from(output) - 1].take(&batch.frames[at][..batch.lengths[at] as usize]);
                }
            });
            now_ns += trace.n_packets as u64 * GAP_NS;
        }
        let by_hand: Vec<(u64, u64)> = digests.iter().map(Digest::summary).collect();
        if by_hand != by_graph {
            let row = row.name();
            return Err(format!(
                "{row}: the application gives other packets than the {name} program (packets and hash by output): \
                 {by_graph:x?}, {by_hand:x?}"
            ));
        }
    }
    Ok(())
}

fn of_graph(row: Row, tables: &Tables, traces: &[Arc<Trace>]) -> Result<Vec<(u64, u64)>, String> {
    let mut now_ns = START_NS;
    let mut feeds = Vec::new();
    for trace in traces {
        feeds.push(Feed::once(trace.clone(), now_ns));
        now_ns += trace.n_packets as u64 * GAP_NS;
    }
    let design = design(row)?;
    let mut graph = Graph::new(row, &design, Engine::Jit, tables, SharedFeed::new(feeds))?;
    graph.suit(traces[0].packet_bytes)?;
    Ok(graph.run_to_end()?.iter().map(Digest::summary).collect())
}
