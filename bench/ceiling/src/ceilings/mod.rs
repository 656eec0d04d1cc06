//! The programs written by hand: each does what one application of `bench/apps` does, on plain packets, as fast as can be.
//!
//! They count what the elements count, and give the same packets on the same outputs, which the benchmark checks before it measures.

mod balancer;
mod firewall;
mod limiter;
mod pass;
mod router;

pub use balancer::{Balancer, Server};
pub use firewall::{CachedFirewall, Firewall};
pub use limiter::Limiter;
pub use pass::{Copy, Pass};
pub use router::Router;
