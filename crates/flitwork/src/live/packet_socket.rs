//! `af_packet:IFACE`: frames of a Linux interface, read and sent through a packet socket (packet(7)).
//!
//! A packet socket sees frames beside the host's own network stack, which gets them too: an interface that is a port of a bump in
//! the wire has no addresses. Frames are as on the wire: tags that the kernel took out are put back, checksums are finished, large
//! frames are cut. What this host sends through the interface is not read.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use packet::capture::Frame;
use packet::link::LinkType;
use runtime::{Filled, IoError, Packet, PacketSink, PacketSource};

use super::clock::now_ns;
use super::error::{InterfaceError, Verb};
use super::ffi::{self, BATCH, Direction, Readiness, ReceiveBatch};
use super::losses::{Loss, Losses};
use super::offload::{HEADER_BYTES, OffloadHeader, Plan};

/// How long a full send queue holds the run up before packets are given up.
const PATIENCE: Duration = Duration::from_millis(200);
/// Between two tries.
const RETRY: Duration = Duration::from_micros(50);

/// An interface that is open for one or both directions.
#[derive(Debug)]
pub struct PacketSocket {
    interface: String,
    fd: OwnedFd,
    direction: Direction,
    link_type: LinkType,
    /// Packets that did not get in.
    pub received: Losses,
    /// Packets that did not get out.
    pub sent: Losses,
}

impl PacketSocket {
    /// Opens an interface. Needs CAP_NET_RAW; with CAP_NET_ADMIN its buffers may be larger than the system's limit.
    pub fn open(interface: &str, direction: Direction) -> Result<PacketSocket, InterfaceError> {
        let explain = |error| InterfaceError::new(interface, Verb::Open, error);
        let index = ffi::interface_index(interface).map_err(explain)?;
        let fd = ffi::packet_socket(index, direction).map_err(explain)?;
        let link_type = match ffi::hardware_type(&fd).map_err(explain)? {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => LinkType::ETHERNET,
            // TUN devices and tunnels.
            libc::ARPHRD_NONE | libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 | libc::ARPHRD_SIT | libc::ARPHRD_IPGRE => {
                LinkType::RAW
            }
            other => {
                let reason = format!("its frames are neither Ethernet nor IP (hardware type {other})");
                return Err(explain(io::Error::new(io::ErrorKind::Unsupported, reason)));
            }
        };
        let (received, sent) = (Losses::default(), Losses::default());
        Ok(PacketSocket { interface: interface.to_string(), fd, direction, link_type, received, sent })
    }

    /// Counts what the kernel threw away since the last call.
    pub fn count_drops(&self) {
        if self.direction == Direction::Receive
            && let Ok(n_drops) = ffi::take_drops(&self.fd)
        {
            self.received.add(Loss::QueueFull, u64::from(n_drops));
        }
    }

    fn link_bytes(&self) -> usize {
        if self.link_type == LinkType::ETHERNET { 14 } else { 0 }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The frames that arrive.
pub struct PacketInput {
    socket: Rc<PacketSocket>,
    batch: ReceiveBatch,
    /// Frames of the batch.
    n_frames: usize,
    /// The first of them that is not wholly given out.
    frame: usize,
    /// Packets of it that were given out.
    packet: usize,
}

impl PacketInput {
    /// Reads from a socket that is open for receiving.
    pub fn new(socket: Rc<PacketSocket>) -> PacketInput {
        PacketInput { socket, batch: ReceiveBatch::default(), n_frames: 0, frame: 0, packet: 0 }
    }

    /// Receives more frames, if all are given out; gives whether there are any.
    fn receive(&mut self, n_max: usize) -> io::Result<bool> {
        if self.frame < self.n_frames {
            return Ok(true);
        }
        (self.n_frames, self.frame, self.packet) = (0, 0, 0);
        match self.batch.receive(&self.socket.fd, n_max) {
            Ok(n_frames) => self.n_frames = n_frames,
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => return Ok(false),
                // The kernel has thrown away a frame whose segmentation it cannot describe; the next call goes on behind it.
                Some(libc::EINVAL) => self.socket.received.add(Loss::Unfinished, 1),
                _ => return Err(error),
            },
        }
        Ok(self.n_frames > 0)
    }

    /// Gives out packets of the frames at hand; gives how many.
    fn give(&mut self, packets: &mut [Packet], time_ns: u64) -> usize {
        let mut n_given = 0;
        while self.frame < self.n_frames && n_given < packets.len() {
            let received = self.batch.frame(self.frame);
            let plan = match received.bytes.split_first_chunk::<HEADER_BYTES>() {
                _ if received.is_cut => Err(Loss::TooLong),
                Some((header, frame)) => {
                    let plan = Plan::of(&OffloadHeader::parse(header), frame, self.socket.link_bytes());
                    plan.map(|plan| (plan, frame)).map_err(|_| Loss::Unfinished)
                }
                None => Err(Loss::Unfinished),
            };
            let n_packets = match plan {
                Ok((plan, frame)) => {
                    let rest = self.packet..plan.n_packets();
                    for (packet, idx) in packets[n_given..].iter_mut().zip(rest) {
                        plan.write(frame, idx, received.vlan, packet);
                        packet.time_ns = time_ns;
                        packet.link_type = self.socket.link_type.0;
                        self.packet = idx + 1;
                        n_given += 1;
                    }
                    plan.n_packets()
                }
                Err(loss) => {
                    self.socket.received.add(loss, 1);
                    0
                }
            };
            if self.packet >= n_packets {
                (self.frame, self.packet) = (self.frame + 1, 0);
            }
        }
        n_given
    }
}

impl PacketSource for PacketInput {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        loop {
            let has_more = self.receive(packets.len());
            if !has_more.map_err(|error| InterfaceError::new(&self.socket.interface, Verb::Receive, error))? {
                return Ok(Filled::NotYet);
            }
            match self.give(packets, now_ns()) {
                // All frames were lost.
                0 => {}
                n_given => return Ok(Filled::Packets(n_given)),
            }
        }
    }
}

/// Packets to be sent.
pub struct PacketOutput {
    socket: Rc<PacketSocket>,
    /// Frames one after the other, each behind its offload header if the socket wants one.
    bytes: Vec<u8>,
    /// Where each frame ends.
    ends: Vec<usize>,
}

impl PacketOutput {
    /// Sends through an open socket.
    pub fn new(socket: Rc<PacketSocket>) -> PacketOutput {
        PacketOutput { socket, bytes: Vec::new(), ends: Vec::with_capacity(BATCH) }
    }

    /// Sends what is gathered; waits while there is no room.
    fn send(&mut self) -> Result<(), InterfaceError> {
        let mut n_done = 0;
        let mut full_since = None;
        while n_done < self.ends.len() {
            let begins = std::iter::once(0).chain(self.ends.iter().copied());
            let frames = begins.zip(&self.ends).map(|(begin, &end)| &self.bytes[begin..end]);
            match ffi::send_frames(&self.socket.fd, frames.skip(n_done)) {
                Ok(n_sent) => {
                    n_done += n_sent;
                    full_since = None;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN | libc::ENOBUFS) => {
                        if full_since.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
                            self.wait_for_room(&error);
                        } else {
                            self.socket.sent.add(Loss::NoRoom, (self.ends.len() - n_done) as u64);
                            break;
                        }
                    }
                    Some(libc::EMSGSIZE) => {
                        self.socket.sent.add(Loss::OverMtu, 1);
                        n_done += 1;
                    }
                    Some(libc::EINVAL) => {
                        self.socket.sent.add(Loss::Refused, 1);
                        n_done += 1;
                    }
                    _ => {
                        self.socket.sent.add(Loss::Refused, (self.ends.len() - n_done) as u64);
                        self.clear();
                        return Err(InterfaceError::new(&self.socket.interface, Verb::Send, error));
                    }
                },
            }
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// A full socket buffer tells when it has room; a full device queue does not.
    fn wait_for_room(&self, error: &io::Error) {
        if error.raw_os_error() == Some(libc::EAGAIN) {
            // If the wait fails, the next try says why.
            let _ = ffi::wait(&[self.socket.as_fd()], Readiness::Writable, PATIENCE);
        } else {
            std::thread::sleep(RETRY);
        }
    }
}

impl PacketSink for PacketOutput {
    fn write(&mut self, frame: Frame<'_>) -> Result<(), IoError> {
        if frame.link_type != self.socket.link_type {
            self.socket.sent.add(Loss::OtherLinkType, 1);
            return Ok(());
        }
        if self.socket.direction == Direction::Receive {
            // All zero: nothing is left undone.
            self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        }
        self.bytes.extend_from_slice(frame.data);
        self.ends.push(self.bytes.len());
        if self.ends.len() == BATCH {
            self.send()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), IoError> {
        Ok(self.send()?)
    }
}

impl fmt::Debug for PacketInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PacketInput({})", self.socket.interface)
    }
}

impl fmt::Debug for PacketOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PacketOutput({})", self.socket.interface)
    }
}
