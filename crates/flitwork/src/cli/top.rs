//! `run --top`: rates by port and element, drawn anew every second.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use console::Term;
use runtime::Report;
use runtime::report::{Direction, DropCount};

use super::exit::Failure;
use super::table::{Align, Table, grouped};

/// Between two drawings.
const INTERVAL: Duration = Duration::from_secs(1);

/// The drawing on standard error.
pub struct Top {
    terminal: Term,
    start: Instant,
    drawn: Instant,
    n_lines: usize,
    /// Counters as drawn last.
    before: BTreeMap<String, u64>,
}

impl Top {
    /// Refuses if nobody would see it.
    pub fn start() -> Result<Top, Failure> {
        if !std::io::stderr().is_terminal() {
            return Err(Failure::usage("--top draws on a terminal, and standard error is none"));
        }
        let start = Instant::now();
        Ok(Top { terminal: Term::stderr(), start, drawn: start, n_lines: 0, before: BTreeMap::new() })
    }

    /// Draws, if it is time for it.
    pub fn show(&mut self, report: impl FnOnce() -> Report) {
        let elapsed = self.drawn.elapsed();
        if elapsed < INTERVAL {
            return;
        }
        self.drawn = Instant::now();
        let text = self.text(&report(), elapsed.as_secs_f64());
        self.end();
        let (height, width) = self.terminal.size();
        // Longer lines would wrap, and then the wrong lines would be cleared.
        let lines: Vec<String> = text
            .lines()
            .take(usize::from(height).saturating_sub(1))
            .map(|line| line.chars().take(usize::from(width)).collect())
            .collect();
        self.n_lines = lines.len();
        // A terminal that has gone is no reason to end the run.
        let _ = self.terminal.write_line(&lines.join("\n"));
    }

    /// Takes the drawing away.
    pub fn end(&mut self) {
        let _ = self.terminal.clear_last_lines(std::mem::take(&mut self.n_lines));
    }

    fn text(&mut self, report: &Report, seconds: f64) -> String {
        let mut rate = |name: String, count: u64| {
            let before = self.before.insert(name, count).unwrap_or(0);
            count.saturating_sub(before) as f64 / seconds
        };
        let sum = |drops: &[DropCount]| -> u64 { drops.iter().map(|drop| drop.packets).sum() };
        let mut ports = Table::new(&[
            ("port", Align::Left),
            ("way", Align::Left),
            ("packets/s", Align::Right),
            ("Mbit/s", Align::Right),
            ("dropped/s", Align::Right),
            ("packets", Align::Right),
        ]);
        for port in &report.boundaries {
            let way = if port.direction == Direction::In { "in" } else { "out" };
            let packets = rate(format!("{}/packets", port.name), port.packets);
            let bits = rate(format!("{}/bytes", port.name), port.wire_bytes) * 8.0;
            let dropped = rate(format!("{}/dropped", port.name), sum(&port.drops));
            let rates = [grouped(packets as u64), format!("{:.1}", bits / 1e6), grouped(dropped as u64)];
            let mut row = vec![port.name.clone(), way.to_string()];
            row.extend(rates);
            row.push(grouped(port.packets));
            ports.row(row);
        }
        let mut elements = Table::new(&[
            ("element", Align::Left),
            ("packets in/s", Align::Right),
            ("out/s", Align::Right),
            ("dropped/s", Align::Right),
            ("packets in", Align::Right),
        ]);
        for element in &report.elements {
            let packets_in = rate(format!("{}/in", element.name), element.packets_in);
            let packets_out = rate(format!("{}/out", element.name), element.packets_out);
            let dropped = rate(format!("{}/gone", element.name), sum(&element.drops));
            let rates = [packets_in, packets_out, dropped].map(|rate| grouped(rate as u64));
            let mut row = vec![element.name.clone()];
            row.extend(rates);
            row.push(grouped(element.packets_in));
            elements.row(row);
        }
        let running = self.start.elapsed().as_secs();
        format!("running for {running} s; Ctrl-C ends the run\n{}{}", ports.text(), elements.text())
    }
}
