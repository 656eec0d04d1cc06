//! The system calls of live interfaces that the standard library lacks: packet sockets, TAP devices, waiting for several of them.
//!
//! The one file of this crate with `unsafe`. Every function takes and gives owned or borrowed Rust values, so that no pointer
//! outlives the call it is made for; each block says what it relies on. Linux only (packet(7), Documentation/networking/tuntap.rst).
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Frames that one system call moves at most.
pub const BATCH: usize = 64;
/// A frame as long as segmentation offload makes them, with its link header, tags and offload header.
const FRAME_BYTES_MAX: usize = (1 << 16) + 64;
/// So that the starts of the buffers do not all fall into the same cache sets.
const BUFFER_STRIDE: usize = FRAME_BYTES_MAX + 192;
/// Room for the one control message that is asked for, `tpacket_auxdata`, and its header.
const CONTROL_BYTES: usize = 64;

/// `sockaddr_ll.sll_hatype` of an interface.
pub type HardwareType = u16;

/// What an interface is asked for when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Frames are read, and perhaps sent.
    Receive,
    /// Frames are only sent.
    Send,
}

/// A packet socket bound to an interface, not blocking. Needs CAP_NET_RAW.
///
/// Nothing is received before the socket is bound, so no frame of another interface gets in.
pub fn packet_socket(interface: u32, direction: Direction) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed; a descriptor that is not negative is new and belongs to nobody else.
    let fd = unsafe {
        let fd = checked(libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0))?;
        OwnedFd::from_raw_fd(fd)
    };
    if direction == Direction::Receive {
        for option in [libc::PACKET_AUXDATA, PACKET_IGNORE_OUTGOING, PACKET_VNET_HDR] {
            set_option(&fd, libc::SOL_PACKET, option, &1)?;
        }
        let membership = libc::packet_mreq {
            mr_ifindex: interface as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        enlarge_buffer(&fd, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
    }
    enlarge_buffer(&fd, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
    let protocol = if direction == Direction::Receive { libc::ETH_P_ALL as u16 } else { 0 };
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`, which is plain integers.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as c_int;
    // SAFETY: the address lives through the call, and its true size is passed.
    unsafe {
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        checked(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length))?;
    }
    Ok(fd)
}

// linux/if_packet.h; not in every version of the C library's headers.
const PACKET_VNET_HDR: c_int = 15;
const PACKET_IGNORE_OUTGOING: c_int = 23;

/// Bytes of frames that may wait in each direction. At 10 Gbit/s this is about 20 ms.
const SOCKET_BUFFER_BYTES: c_int = 32 << 20;

/// The forced way ignores the system's limit but needs CAP_NET_ADMIN; the other takes as much as the limit allows.
fn enlarge_buffer(fd: &OwnedFd, forced: c_int, asked: c_int) -> io::Result<()> {
    let forced = set_option(fd, libc::SOL_SOCKET, forced, &SOCKET_BUFFER_BYTES);
    forced.or_else(|_| set_option(fd, libc::SOL_SOCKET, asked, &SOCKET_BUFFER_BYTES))
}

/// Option values that the kernel reads as bytes.
trait OptionValue: Copy {}
impl OptionValue for c_int {}
impl OptionValue for libc::packet_mreq {}

fn set_option<T: OptionValue>(fd: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value lives through the call, and its true size is passed; the kernel only reads it.
    unsafe {
        let length = size_of::<T>() as libc::socklen_t;
        checked(libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const *value).cast(), length))?;
    }
    Ok(())
}

/// The number of an interface; an error if there is none of this name.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let request = interface_request(name)?;
    // SAFETY: the name ends with a zero byte, because `interface_request` leaves at least the last one.
    match unsafe { libc::if_nametoindex(request.ifr_name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// What the frames of a bound packet socket begin with: `ARPHRD_ETHER` and so on.
pub fn hardware_type(fd: &OwnedFd) -> io::Result<HardwareType> {
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`, which is plain integers.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: both live through the call; the kernel writes at most `length` bytes.
    unsafe { checked(libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut length))? };
    Ok(address.sll_hatype)
}

/// Frames that the kernel threw away because the socket's buffer was full, since the last call.
pub fn take_drops(fd: &OwnedFd) -> io::Result<u32> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: both live through the call; the kernel writes at most `length` bytes.
    unsafe {
        checked(libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        ))?;
    }
    Ok(statistics.tp_drops)
}

/// A VLAN tag that the kernel took out of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// EtherType of the tag, usually 0x8100.
    pub tpid: u16,
    /// Priority, drop eligibility and VLAN.
    pub tci: u16,
}

/// A frame as a packet socket gives it.
#[derive(Clone, Copy, Debug)]
pub struct Received<'b> {
    /// Offload header (10 bytes), then the frame.
    pub bytes: &'b [u8],
    /// The tag that belongs behind the addresses.
    pub vlan: Option<VlanTag>,
    /// Longer than the buffer: the rest is lost.
    pub is_cut: bool,
}

/// Buffers for frames received together.
#[derive(Debug)]
pub struct ReceiveBatch {
    bytes: Vec<u8>,
    control: Vec<ControlBuffer>,
    meta: [ReceivedMeta; BATCH],
}

/// Aligned as `cmsghdr` must be.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct ControlBuffer([u8; CONTROL_BYTES]);

#[derive(Clone, Copy, Debug, Default)]
struct ReceivedMeta {
    length: usize,
    vlan: Option<VlanTag>,
    is_cut: bool,
}

impl Default for ReceiveBatch {
    /// Room for [`BATCH`] frames; memory is used as they come.
    fn default() -> ReceiveBatch {
        let meta = [ReceivedMeta::default(); BATCH];
        ReceiveBatch {
            bytes: vec![0; BATCH * BUFFER_STRIDE],
            control: vec![ControlBuffer([0; CONTROL_BYTES]); BATCH],
            meta,
        }
    }
}

impl ReceiveBatch {
    /// Receives up to `n_max` frames, without waiting; gives how many. `WouldBlock` if there is none.
    pub fn receive(&mut self, fd: &OwnedFd, n_max: usize) -> io::Result<usize> {
        let n_max = n_max.min(BATCH);
        // SAFETY: all-zero bytes are valid `iovec`s and `mmsghdr`s: null pointers with length 0.
        let (mut pieces, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
        let buffers = self.bytes.chunks_exact_mut(BUFFER_STRIDE).zip(&mut self.control);
        for ((buffer, control), (piece, header)) in buffers.zip(pieces.iter_mut().zip(&mut headers)) {
            piece.iov_base = buffer.as_mut_ptr().cast();
            piece.iov_len = FRAME_BYTES_MAX;
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: each header points to a piece, a buffer and a control buffer of its own, all of which live through the call and
        // have the lengths given; `n_max` is at most the number of headers.
        let n_frames = unsafe {
            let headers = headers.as_mut_ptr();
            checked(libc::recvmmsg(fd.as_raw_fd(), headers, n_max as u32, libc::MSG_DONTWAIT, std::ptr::null_mut()))?
        };
        let n_frames = n_frames as usize;
        for (meta, header) in self.meta.iter_mut().zip(&headers[..n_frames]) {
            *meta = ReceivedMeta {
                length: (header.msg_len as usize).min(FRAME_BYTES_MAX),
                vlan: vlan_tag(&header.msg_hdr),
                is_cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            };
        }
        Ok(n_frames)
    }

    /// A frame of the last call.
    pub fn frame(&self, idx: usize) -> Received<'_> {
        let ReceivedMeta { length, vlan, is_cut } = self.meta[idx];
        Received { bytes: &self.bytes[idx * BUFFER_STRIDE..][..length], vlan, is_cut }
    }
}

/// The tag in the auxiliary data of a received message.
fn vlan_tag(header: &libc::msghdr) -> Option<VlanTag> {
    const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
    const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
    // SAFETY: the kernel has filled `msg_control` up to `msg_controllen`, and the buffer is still there and aligned; the data of a
    // message are read only if it is long enough, and without assuming alignment.
    let data = unsafe {
        let message = libc::CMSG_FIRSTHDR(header).as_ref()?;
        let length = libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize;
        let is_auxdata = message.cmsg_level == libc::SOL_PACKET && message.cmsg_type == libc::PACKET_AUXDATA;
        if !is_auxdata || (message.cmsg_len as usize) < length {
            return None;
        }
        libc::CMSG_DATA(message).cast::<libc::tpacket_auxdata>().read_unaligned()
    };
    let has_tpid = data.tp_status & TP_STATUS_VLAN_TPID_VALID != 0;
    let tpid = if has_tpid { data.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    (data.tp_status & TP_STATUS_VLAN_VALID != 0).then_some(VlanTag { tpid, tci: data.tp_vlan_tci })
}

/// Sends up to [`BATCH`] frames, without waiting; gives how many were taken.
///
/// An error is that of the first frame: `WouldBlock` or ENOBUFS if there is no room.
pub fn send_frames<'f>(fd: &OwnedFd, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
    // SAFETY: all-zero bytes are valid `iovec`s and `mmsghdr`s: null pointers with length 0.
    let (mut pieces, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
    let mut n_frames = 0;
    for (frame, (piece, header)) in frames.zip(pieces.iter_mut().zip(&mut headers)) {
        piece.iov_base = frame.as_ptr().cast_mut().cast();
        piece.iov_len = frame.len();
        header.msg_hdr.msg_iov = piece;
        header.msg_hdr.msg_iovlen = 1;
        n_frames += 1;
    }
    // SAFETY: each header points to a piece and a frame that live through the call; the kernel only reads them, so that the frames
    // may be borrowed; `n_frames` is at most the number of headers.
    let n_sent = unsafe {
        checked(libc::sendmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr(),
            n_frames,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        ))?
    };
    Ok(n_sent as usize)
}

/// Opens (and if need be makes) a TAP device and switches it on. Needs CAP_NET_ADMIN. Frames are read and written one by one.
pub fn tap(name: &str) -> io::Result<File> {
    let device = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let mut request = interface_request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
    // SAFETY: the request is a whole `ifreq` that lives through the call; TUNSETIFF reads name and flags and writes the name.
    unsafe { checked(libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request))? };
    set_blocking(&device, false)?;
    // SAFETY: no pointers are passed; a descriptor that is not negative is new and belongs to nobody else.
    let socket = unsafe {
        let fd = checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: as above, for SIOCGIFFLAGS and SIOCSIFFLAGS; the first fills in the flags that are read after it.
    unsafe {
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request))?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as i16;
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request))?;
    }
    Ok(device)
}

fn set_blocking(file: &File, is_blocking: bool) -> io::Result<()> {
    // SAFETY: no pointers are passed, and the descriptor is open.
    unsafe {
        let flags = checked(libc::fcntl(file.as_raw_fd(), libc::F_GETFL))?;
        let flags = if is_blocking { flags & !libc::O_NONBLOCK } else { flags | libc::O_NONBLOCK };
        checked(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags))?;
    }
    Ok(())
}

/// An `ifreq` with the name and nothing else; refuses names that cannot be one.
fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid `ifreq`: an empty name and a union of plain integers and null pointers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // One byte must stay zero to end the name.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.bytes().any(|byte| byte == 0 || byte == b'/') {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "interface names have 1 to 15 characters, without `/`",
        ));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as _;
    }
    Ok(request)
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Something to read, or an error to fetch.
    Readable,
    /// Room to write.
    Writable,
}

/// Waits until one of the descriptors is ready or the time is over; a signal may end it early. At most [`BATCH`] descriptors.
pub fn wait(fds: &[BorrowedFd<'_>], readiness: Readiness, timeout: Duration) -> io::Result<()> {
    // SAFETY: all-zero bytes are valid `pollfd`s, which are plain integers.
    let mut polled: [libc::pollfd; BATCH] = unsafe { zeroed() };
    let events = match readiness {
        Readiness::Readable => libc::POLLIN,
        Readiness::Writable => libc::POLLOUT,
    };
    let n_fds = fds.len().min(BATCH);
    for (entry, fd) in polled.iter_mut().zip(fds) {
        *entry = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    }
    let timeout = libc::timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ };
    // SAFETY: the entries and the time live through the call; `n_fds` is at most the number of entries; no signal mask is passed.
    let outcome = unsafe {
        checked(libc::ppoll(polled.as_mut_ptr(), n_fds as libc::nfds_t, &raw const timeout, std::ptr::null()))
    };
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A descriptor that one thread makes readable to wake another that waits for it.
#[derive(Debug)]
pub struct Waker(File);

impl Waker {
    /// Not yet woken.
    pub fn new() -> io::Result<Waker> {
        // SAFETY: no pointers are passed; a descriptor that is not negative is new and belongs to nobody else.
        let file = unsafe { File::from_raw_fd(checked(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?) };
        Ok(Waker(file))
    }

    /// Makes it readable.
    pub fn wake(&self) {
        // It fails only when 2^64 - 2 wakes are outstanding, and then it is readable anyway.
        let _ = io::Write::write(&mut &self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it wait again.
    pub fn reset(&self) {
        // It fails only when nobody has woken it.
        let _ = io::Read::read(&mut &self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn checked(outcome: c_int) -> io::Result<c_int> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(outcome) }
}
