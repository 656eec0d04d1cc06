//! Random designs on every engine.
//!
//! A [`Case`] is a design, packets and signals. [`difference`] runs it on every engine, with and without the optimiser, and
//! compares all that can be seen: outputs with their times, the report, signal results, state, and what ended the run. [`shrink`]
//! makes a case small while its engines still differ. `cargo xtask fuzz engines` does this for new seeds, the tests for those
//! that were kept in `tests/crashers`.

mod case;
mod chains;
mod engines;
mod shrink;

pub use case::{Arrival, Case, Settings};
pub use chains::both_ways;
pub use engines::{Difference, difference, outcome};
pub use shrink::shrink;
