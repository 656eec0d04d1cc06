//! Runs a design on packets: channels, sources, sinks, signals, counters.
