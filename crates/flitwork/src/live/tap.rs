//! `tap:NAME`: a TAP device, the other end of which is an interface of the host with this name.
//!
//! What the host sends through the interface enters; what leaves arrives there. The device is made if it does not exist, and then
//! vanishes with the run. The kernel finishes checksums and cuts frames before they get here.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use packet::capture::Frame;
use packet::link::LinkType;
use runtime::{Filled, IoError, Packet, PacketSink, PacketSource};

use super::clock::now_ns;
use super::error::{InterfaceError, Verb};
use super::ffi::{self, Readiness};
use super::losses::{Loss, Losses};

const FRAME_BYTES_MAX: usize = (1 << 16) + 64;
/// How long a device without room holds the run up before a packet is given up.
const PATIENCE: Duration = Duration::from_millis(200);

/// An open device.
#[derive(Debug)]
pub struct Tap {
    name: String,
    file: File,
    /// Packets that the kernel had thrown away before the run.
    n_drops_before: u64,
    n_drops_counted: std::cell::Cell<u64>,
    /// Packets that did not get in.
    pub received: Losses,
    /// Packets that did not get out.
    pub sent: Losses,
}

impl Tap {
    /// Opens or makes a device, and switches it on. Needs CAP_NET_ADMIN.
    pub fn open(name: &str) -> Result<Tap, InterfaceError> {
        let file = ffi::tap(name).map_err(|error| InterfaceError::new(name, Verb::OpenTap, error))?;
        let mut tap = Tap {
            name: name.to_string(),
            file,
            n_drops_before: 0,
            n_drops_counted: 0.into(),
            received: Losses::default(),
            sent: Losses::default(),
        };
        tap.n_drops_before = tap.n_drops();
        Ok(tap)
    }

    /// Packets that the host sent while the device's queue was full; 0 if the kernel does not say.
    fn n_drops(&self) -> u64 {
        let path = PathBuf::from(format!("/sys/class/net/{}/statistics/tx_dropped", self.name));
        fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Counts what the kernel threw away since the last call.
    pub fn count_drops(&self) {
        let n_drops = self.n_drops().saturating_sub(self.n_drops_before);
        let n_counted = self.n_drops_counted.replace(n_drops.max(self.n_drops_counted.get()));
        self.received.add(Loss::QueueFull, n_drops.saturating_sub(n_counted));
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The frames that the host sends.
pub struct TapInput {
    tap: Rc<Tap>,
    frame: Vec<u8>,
}

impl TapInput {
    /// Reads from a device.
    pub fn new(tap: Rc<Tap>) -> TapInput {
        TapInput { tap, frame: vec![0; FRAME_BYTES_MAX] }
    }
}

impl PacketSource for TapInput {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let time_ns = now_ns();
        for (n_given, packet) in packets.iter_mut().enumerate() {
            match (&self.tap.file).read(&mut self.frame) {
                Ok(n_bytes) => {
                    packet.set_bytes(&self.frame[..n_bytes]);
                    packet.time_ns = time_ns;
                    packet.link_type = LinkType::ETHERNET.0;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) if n_given == 0 => return Ok(Filled::NotYet),
                    // The next call tells of the error.
                    _ if n_given > 0 => return Ok(Filled::Packets(n_given)),
                    _ => return Err(InterfaceError::new(&self.tap.name, Verb::Receive, error).into()),
                },
            }
        }
        Ok(Filled::Packets(packets.len()))
    }
}

/// Frames for the host.
pub struct TapOutput {
    tap: Rc<Tap>,
}

impl TapOutput {
    /// Writes to a device.
    pub fn new(tap: Rc<Tap>) -> TapOutput {
        TapOutput { tap }
    }
}

impl PacketSink for TapOutput {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        if frame.link_type != LinkType::ETHERNET {
            self.tap.sent.add(Loss::OtherLinkType, 1);
            return Ok(());
        }
        let begin = Instant::now();
        loop {
            let Err(error) = (&self.tap.file).write(frame.data) else { return Ok(()) };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN | libc::ENOBUFS) if begin.elapsed() < PATIENCE => {
                    ffi::wait(&[self.tap.as_fd()], Readiness::Writable, PATIENCE)?;
                }
                Some(libc::EAGAIN | libc::ENOBUFS) => {
                    self.tap.sent.add(Loss::NoRoom, 1);
                    return Ok(());
                }
                Some(libc::EINVAL) => {
                    self.tap.sent.add(Loss::Refused, 1);
                    return Ok(());
                }
                _ => {
                    self.tap.sent.add(Loss::Refused, 1);
                    return Err(InterfaceError::new(&self.tap.name, Verb::Send, error).into());
                }
            }
        }
    }
}

impl fmt::Debug for TapInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TapInput({})", self.tap.name)
    }
}

impl fmt::Debug for TapOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TapOutput({})", self.tap.name)
    }
}
