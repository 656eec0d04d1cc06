//! Runs on live interfaces: where their packets come from and go to, and what can be asked of them while they go on.
//!
//! [`endpoint`] reads what stands behind `--in PORT=` and `--out PORT=`; [`interfaces`] opens it. [`requests`] is how threads that
//! serve the [`control_socket`] or [`prometheus`] reach the run, which answers between two batches of packets.

pub mod endpoint;
pub mod interfaces;

pub mod generator;
pub mod packet_socket;
pub mod replay;
pub mod tap;

pub mod clock;
pub mod error;
pub mod ffi;
pub mod losses;
pub mod offload;

pub mod client;
pub mod control_socket;
pub mod prometheus;
pub mod requests;
