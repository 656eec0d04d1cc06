//! The report from the counters of a run.

use ir::{Channel, ChannelEnd, Design};

use crate::report::{BoundaryReport, ChannelReport, Direction, DropCount, ElementReport, Report, Totals};
use crate::runtime::Runtime;

impl Runtime<'_> {
    /// Everything counted so far.
    pub fn report(&self) -> Report {
        let boundaries = self.boundary_reports();
        let channels: Vec<ChannelReport> = (0..self.channels.len()).map(|idx| self.channel_report(idx)).collect();
        let elements: Vec<ElementReport> = (0..self.elements.len()).map(|idx| self.element_report(idx)).collect();
        let passed = |direction: Direction| -> u64 {
            boundaries.iter().filter(|port| port.direction == direction).map(|port| port.packets).sum()
        };
        let drops = boundaries.iter().map(|port| &port.drops);
        let drops = drops.chain(channels.iter().map(|channel| &channel.drops));
        let drops = drops.chain(elements.iter().map(|element| &element.drops)).flatten();
        let totals = Totals {
            entered: passed(Direction::In),
            created: elements.iter().map(|element| element.created).sum(),
            out: passed(Direction::Out),
            dropped: drops.map(|drop| drop.packets).sum(),
            ended: elements.iter().map(|element| element.ended).sum(),
            held: channels.iter().map(|channel| channel.held).sum(),
        };
        Report { totals, boundaries, channels, elements, now_ns: self.now_ns, start_ns: self.start_ns }
    }

    /// Input ports and output ports, in the design's order.
    fn boundary_reports(&self) -> Vec<BoundaryReport> {
        let ins = self.in_ports.iter().map(|port| (&port.name, Direction::In, &port.counts));
        let outs = self.out_ports.iter().map(|port| (&port.name, Direction::Out, &port.counts));
        let mut ports: Vec<BoundaryReport> = ins
            .chain(outs)
            .map(|(name, direction, counts)| BoundaryReport {
                name: name.clone(),
                direction,
                packets: counts.packets,
                captured_bytes: counts.captured_bytes,
                wire_bytes: counts.wire_bytes,
                messages: counts.messages,
                late_stamps: counts.late_stamps,
                drops: named(counts.drops.iter().map(|(reason, &packets)| (reason.clone(), packets))),
            })
            .collect();
        let order =
            |port: &BoundaryReport| self.design.boundaries.iter().position(|boundary| boundary.name == port.name);
        ports.sort_by_key(order);
        ports
    }

    fn channel_report(&self, idx: usize) -> ChannelReport {
        let declared = &self.design.channels[idx];
        let channel = &self.channels[idx];
        let counts = channel.counts;
        let from = writer_name(&self.design, declared);
        let drops = [
            (format!("sent to Drop by {from}"), counts.dropped_null),
            ("channel full".to_string(), counts.dropped_full),
            ("no start of packet".to_string(), counts.dropped_no_start),
        ];
        ChannelReport {
            from,
            to: reader_name(&self.design, declared),
            message: self.design.message_types[declared.to_type.index()].name.clone(),
            lossy: declared.lossy,
            depth: declared.depth,
            messages: counts.messages,
            packets: counts.packets,
            messages_max: counts.messages_max,
            held: channel.held(),
            messages_refused: counts.messages_refused,
            drops: named(drops.into_iter()),
        }
    }

    fn element_report(&self, idx: usize) -> ElementReport {
        let declared = &self.design.elements[idx];
        let element = &self.elements[idx];
        let counts = &element.counts;
        let own = counts.drops.iter().map(|(cause, &packets)| (cause.to_string(), packets));
        let unconnected = counts.drops_unconnected.iter();
        let unconnected =
            unconnected.map(|(port, &packets)| (format!("output {} is not connected", port + 1), packets));
        ElementReport {
            name: declared.name.clone(),
            kind: declared.kind.clone(),
            firings: counts.firings,
            packets_in: counts.packets_in,
            packets_out: counts.packets_out,
            messages_in: counts.messages_in,
            messages_out: counts.messages_out,
            created: element.created(),
            ended: element.ended(),
            framing_errors: counts.framing_errors,
            drops: named(own.chain(unconnected)),
        }
    }
}

fn named(counts: impl Iterator<Item = (String, u64)>) -> Vec<DropCount> {
    counts.filter(|&(_, packets)| packets > 0).map(|(reason, packets)| DropCount { reason, packets }).collect()
}

fn writer_name(design: &Design, channel: &Channel) -> String {
    match channel.from {
        ChannelEnd::Element { element, port } => format!("{}[{}]", design.elements[element.index()].name, port + 1),
        ChannelEnd::Boundary(boundary) => design.boundaries[boundary.index()].name.clone(),
        ChannelEnd::Null => "Idle".to_string(),
    }
}

fn reader_name(design: &Design, channel: &Channel) -> String {
    match channel.to {
        ChannelEnd::Element { element, port } => format!("[{}]{}", port + 1, design.elements[element.index()].name),
        ChannelEnd::Boundary(boundary) => design.boundaries[boundary.index()].name.clone(),
        ChannelEnd::Null => "Drop".to_string(),
    }
}
