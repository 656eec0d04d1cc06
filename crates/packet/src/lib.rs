//! Wire formats, checksums and capture files.
//!
//! [`capture`] reads and writes pcap and pcapng as streams; [`link`] gives frames of other link
//! layers an Ethernet header and takes it off again; [`checksum`] is the Internet checksum, whole
//! and incremental. Nothing here opens files, prints, or reads the clock.

pub mod capture;
pub mod checksum;
pub mod link;
