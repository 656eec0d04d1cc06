//! Packets that live ports lost, by reason: each is in the report, whoever threw it away.

use std::sync::atomic::{AtomicU64, Ordering};

use runtime::Report;
use runtime::report::{Direction, DropCount};

/// Why a packet did not get in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It came faster than packets were taken.
    QueueFull,
    /// Longer than any buffer.
    TooLong,
    /// Left to be cut or summed in a way that is not known.
    Unfinished,
    /// Longer than the interface sends.
    OverMtu,
    /// The interface takes no more.
    NoRoom,
    /// Its frame begins in another way than those of the interface.
    OtherLinkType,
    /// The interface takes no such frame.
    Refused,
}

/// All reasons.
const LOSSES: [Loss; 7] =
    [Loss::QueueFull, Loss::TooLong, Loss::Unfinished, Loss::OverMtu, Loss::NoRoom, Loss::OtherLinkType, Loss::Refused];

impl Loss {
    /// As in reports.
    pub fn reason(self) -> &'static str {
        match self {
            Loss::QueueFull => "the interface's receive queue was full",
            Loss::TooLong => "longer than 64 KiB",
            Loss::Unfinished => "offloaded in an unknown way",
            Loss::OverMtu => "longer than the interface's MTU",
            Loss::NoRoom => "the interface's send queue was full",
            Loss::OtherLinkType => "another link type than the interface's",
            Loss::Refused => "refused by the interface",
        }
    }
}

/// Counters of one port.
#[derive(Debug, Default)]
pub struct Losses([AtomicU64; LOSSES.len()]);

impl Losses {
    /// Counts packets.
    pub fn add(&self, loss: Loss, n_packets: u64) {
        self.0[loss as usize].fetch_add(n_packets, Ordering::Relaxed);
    }

    /// Reasons and packets, those that occurred.
    fn counts(&self) -> impl Iterator<Item = (Loss, u64)> {
        let counts = LOSSES.iter().map(|&loss| (loss, self.0[loss as usize].load(Ordering::Relaxed)));
        counts.filter(|&(_, packets)| packets > 0)
    }

    /// Adds them to a port's row, and keeps the totals in balance.
    ///
    /// What was lost at an input counts as entered and dropped; what was lost at an output has not left, as the runtime thought.
    pub fn add_to(&self, report: &mut Report, boundary: &str, direction: Direction) {
        let rows = &mut report.boundaries;
        let Some(row) = rows.iter_mut().find(|row| row.name == boundary && row.direction == direction) else { return };
        for (loss, packets) in self.counts() {
            match direction {
                Direction::In => report.totals.entered += packets,
                Direction::Out => {
                    row.packets = row.packets.saturating_sub(packets);
                    report.totals.out = report.totals.out.saturating_sub(packets);
                }
            }
            report.totals.dropped += packets;
            row.drops.push(DropCount { reason: loss.reason().to_string(), packets });
        }
    }
}
