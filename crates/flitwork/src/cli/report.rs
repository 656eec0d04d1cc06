//! The tables that `flitwork run` prints: ports, elements, channels, drops, totals.

use std::path::PathBuf;

use diag::RenderStyle;
use runtime::report::{BoundaryReport, ChannelReport, Direction, DropCount, ElementReport, Report};

use super::signals;
use super::table::{Align, Table, grouped};
use super::terminal::bold;
use crate::run::RunOutcome;

/// Everything that a run counted, as text.
///
/// `files` names the file of each boundary port that has one.
pub fn text(outcome: &RunOutcome, files: &[(String, PathBuf)], style: RenderStyle) -> String {
    let report = &outcome.report;
    let sections = [
        ("Boundary ports", boundaries(&report.boundaries, files)),
        ("Elements", elements(&report.elements)),
        ("Channels", channels(&report.channels)),
        ("Drops", drops(report)),
    ];
    let mut text = String::new();
    for (heading, table) in sections {
        if !table.is_empty() {
            text.push_str(&format!("{}\n{}\n", bold(heading, style), table.text()));
        }
    }
    if !outcome.signals.is_empty() {
        text.push_str(&format!("{}\n{}\n", bold("Signals", style), signals::text(&outcome.signals)));
    }
    text.push_str(&format!("{}\n{}\n", bold("Totals", style), totals(report)));
    text.push_str(&format!("  {}\n", throughput(outcome)));
    text
}

fn boundaries(boundaries: &[BoundaryReport], files: &[(String, PathBuf)]) -> Table {
    let mut table = Table::new(&[
        ("port", Align::Left),
        ("way", Align::Left),
        ("packets", Align::Right),
        ("bytes", Align::Right),
        ("messages", Align::Right),
        ("file", Align::Left),
    ]);
    for boundary in boundaries {
        let way = match boundary.direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        let file = files.iter().find(|(port, _)| *port == boundary.name);
        let counts = [boundary.packets, boundary.wire_bytes, boundary.messages];
        let mut row = vec![boundary.name.clone(), way.to_string()];
        row.extend(counts.map(grouped));
        row.push(file.map_or("-".to_string(), |(_, path)| path.display().to_string()));
        table.row(row);
    }
    table
}

fn elements(elements: &[ElementReport]) -> Table {
    let mut table = Table::new(&[
        ("element", Align::Left),
        ("type", Align::Left),
        ("firings", Align::Right),
        ("packets in", Align::Right),
        ("out", Align::Right),
        ("dropped", Align::Right),
        ("created", Align::Right),
        ("ended", Align::Right),
        ("messages in", Align::Right),
        ("out", Align::Right),
    ]);
    for element in elements {
        let counts = [
            element.firings,
            element.packets_in,
            element.packets_out,
            sum(&element.drops),
            element.created,
            element.ended,
            element.messages_in,
            element.messages_out,
        ];
        let mut row = vec![element.name.clone(), element.kind.clone()];
        row.extend(counts.map(grouped));
        table.row(row);
    }
    table
}

fn channels(channels: &[ChannelReport]) -> Table {
    let mut table = Table::new(&[
        ("channel", Align::Left),
        ("carries", Align::Left),
        ("messages", Align::Right),
        ("packets", Align::Right),
        ("fullest", Align::Right),
        ("held", Align::Right),
        ("dropped", Align::Right),
    ]);
    for channel in channels {
        table.row(vec![
            channel_name(channel),
            channel.message.clone(),
            grouped(channel.messages),
            grouped(channel.packets),
            format!("{} of {}", channel.messages_max, channel.depth),
            grouped(channel.held),
            grouped(sum(&channel.drops) + channel.messages_refused),
        ]);
    }
    table
}

/// Every reason for which anything was dropped, wherever that was.
fn drops(report: &Report) -> Table {
    let mut table = Table::new(&[("at", Align::Left), ("reason", Align::Left), ("packets", Align::Right)]);
    let boundaries = report.boundaries.iter().map(|boundary| (boundary.name.clone(), &boundary.drops));
    let elements = report.elements.iter().map(|element| (element.name.clone(), &element.drops));
    let channels = report.channels.iter().map(|channel| (channel_name(channel), &channel.drops));
    for (place, drops) in boundaries.chain(elements).chain(channels) {
        for drop in drops {
            table.row(vec![place.clone(), drop.reason.clone(), grouped(drop.packets)]);
        }
    }
    for channel in report.channels.iter().filter(|channel| channel.messages_refused > 0) {
        let reason = "channel full (messages without packets)".to_string();
        table.row(vec![channel_name(channel), reason, grouped(channel.messages_refused)]);
    }
    table
}

fn totals(report: &Report) -> String {
    let totals = &report.totals;
    let sign = if totals.balance() { "=" } else { "!=" };
    format!(
        "  in {} + created {} {sign} out {} + dropped {} + ended {} + held {}",
        grouped(totals.entered),
        grouped(totals.created),
        grouped(totals.out),
        grouped(totals.dropped),
        grouped(totals.ended),
        grouped(totals.held)
    )
}

fn throughput(outcome: &RunOutcome) -> String {
    let throughput = &outcome.throughput;
    format!(
        "{} packets in {:.3} s: {} packets/s, {:.1} Mbit/s",
        grouped(outcome.report.totals.entered),
        throughput.seconds,
        grouped(throughput.packets_per_second as u64),
        throughput.bits_per_second / 1e6
    )
}

fn channel_name(channel: &ChannelReport) -> String {
    let arrow = if channel.lossy { "=>" } else { "->" };
    format!("{} {arrow} {}", channel.from, channel.to)
}

fn sum(drops: &[DropCount]) -> u64 {
    drops.iter().map(|drop| drop.packets).sum()
}
