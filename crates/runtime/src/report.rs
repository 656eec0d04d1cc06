//! What a run counted: plain data, in the order of the design, for tables and JSON.
//!
//! Packets are counted where they pass, each count on its own, so that `in + created = out + dropped + ended + held` is a check
//! and not a definition. A packet counts when its last flit passes.

use serde::Serialize;

/// Everything that a run counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Packets, summed over the design.
    pub totals: Totals,
    /// Boundary ports, in the design's order.
    pub boundaries: Vec<BoundaryReport>,
    /// Channels, in the design's order.
    pub channels: Vec<ChannelReport>,
    /// Elements, in the design's order.
    pub elements: Vec<ElementReport>,
    /// Current time at the end, in nanoseconds.
    pub now_ns: u64,
    /// Time at which the run began.
    pub start_ns: u64,
}

/// Where the packets of a run came from and went to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Entered at boundary ports.
    #[serde(rename = "in")]
    pub entered: u64,
    /// Made by elements: copies and generated packets.
    pub created: u64,
    /// Left at boundary ports.
    pub out: u64,
    /// Dropped, by any of the reasons in the tables.
    pub dropped: u64,
    /// Consumed by elements for good.
    pub ended: u64,
    /// Still in channels.
    pub held: u64,
}

impl Totals {
    /// Whether no packet is unaccounted for.
    pub fn balance(&self) -> bool {
        self.entered + self.created == self.out + self.dropped + self.ended + self.held
    }
}

/// Packets dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropCount {
    /// In words.
    pub reason: String,
    /// How many.
    pub packets: u64,
}

/// Counters of a boundary port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoundaryReport {
    /// `nic_in`, ….
    pub name: String,
    /// `in` or `out`.
    pub direction: Direction,
    /// Packets that passed.
    pub packets: u64,
    /// Their bytes in the capture.
    pub captured_bytes: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Messages that passed, if the port carries structs.
    pub messages: u64,
    /// Packets that arrived out of order in time: their stamp was before the current time's arrival.
    pub late_stamps: u64,
    /// Packets that could not pass, such as a frame that its link type cannot carry.
    pub drops: Vec<DropCount>,
}

/// Which way a boundary port faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Into the graph.
    In,
    /// Out of the graph.
    Out,
}

/// Counters of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelReport {
    /// Writer, as `element[port]` or a boundary port.
    pub from: String,
    /// Reader.
    pub to: String,
    /// Message type that the reader reads.
    pub message: String,
    /// Whether it drops when full.
    pub lossy: bool,
    /// Capacity in messages.
    pub depth: u32,
    /// Messages written, refused ones left out.
    pub messages: u64,
    /// Packets written, dropped ones included.
    pub packets: u64,
    /// Most messages that it held.
    pub messages_max: u64,
    /// Packets that it holds at the end.
    pub held: u64,
    /// Messages without packets (structs) that were refused.
    pub messages_refused: u64,
    /// Packets dropped.
    pub drops: Vec<DropCount>,
}

/// Counters of an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElementReport {
    /// Instance name.
    pub name: String,
    /// Element type.
    pub kind: String,
    /// How often it fired.
    pub firings: u64,
    /// Packets consumed.
    pub packets_in: u64,
    /// Packets written.
    pub packets_out: u64,
    /// Messages consumed at ports that carry structs.
    pub messages_in: u64,
    /// Messages written at ports that carry structs.
    pub messages_out: u64,
    /// Packets written beyond those consumed.
    pub created: u64,
    /// Packets consumed beyond those written and dropped.
    pub ended: u64,
    /// Flits that it wrote against the framing rules: `sop` inside a packet, or none at its start.
    pub framing_errors: u64,
    /// Packets that it dropped.
    pub drops: Vec<DropCount>,
}
