//! Link types, and an Ethernet view of the frames of other link layers.
//!
//! [`enter`] says which bytes of a frame to take off and which Ethernet header to put there;
//! [`leave`] undoes it. A frame whose Ethernet header nobody changed gets its own link header back
//! byte for byte; one whose EtherType or source address changed gets a header that says so.
//!
//! ```
//! use packet::link::{self, Entry, LinkType};
//!
//! let frame = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]; // IPv4 alone
//! let Entry::Converted { strip, header, info } = link::enter(LinkType::RAW, &frame) else { panic!() };
//! let ethernet = [&header[..], &frame[strip..]].concat();
//! assert_eq!(ethernet[12..14], [0x08, 0x00]);
//!
//! let exit = link::leave(&info, &ethernet).unwrap();
//! assert_eq!([exit.header(), &ethernet[exit.strip..]].concat(), frame);
//! ```

use std::fmt;

/// What the bytes of a packet begin with: a number of the registry at tcpdump.org/linktypes.html.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: a 4-byte address family in the capturing machine's byte order.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet, without preamble and (almost always) without frame check sequence.
    pub const ETHERNET: LinkType = LinkType(1);
    /// Raw IP, as numbered on most systems' `DLT_RAW`.
    pub const DLT_RAW: LinkType = LinkType(12);
    /// Raw IP, as numbered on OpenBSD's `DLT_RAW`.
    pub const DLT_RAW_OPENBSD: LinkType = LinkType(14);
    /// Raw IP, version 4 or 6 by the first nibble.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: as [`NULL`](LinkType::NULL), always big-endian.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// Raw IPv4.
    pub const IPV4: LinkType = LinkType(228);
    /// Raw IPv6.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

impl Default for LinkType {
    fn default() -> Self {
        LinkType::ETHERNET
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            LinkType::NULL => "BSD loopback",
            LinkType::ETHERNET => "Ethernet",
            LinkType::DLT_RAW | LinkType::DLT_RAW_OPENBSD | LinkType::RAW => "raw IP",
            LinkType::LOOP => "OpenBSD loopback",
            LinkType::LINUX_SLL => "Linux cooked v1",
            LinkType::IPV4 => "raw IPv4",
            LinkType::IPV6 => "raw IPv6",
            LinkType::LINUX_SLL2 => "Linux cooked v2",
            LinkType(number) => return write!(f, "{number}"),
        };
        write!(f, "{} ({name})", self.0)
    }
}

/// Bytes of an Ethernet header without tags: destination, source, EtherType.
pub const ETHERNET_HEADER_BYTES: usize = 14;

/// The EtherType in the view of a frame whose protocol has none, or that is too short to tell.
///
/// Reserved by RFC 1701, so no element takes it for a protocol that it knows.
pub const ETHERTYPE_UNKNOWN: u16 = 0xffff;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// EtherTypes start here; smaller values are the length of an IEEE 802.3 frame.
const ETHERTYPE_MIN: u16 = 0x0600;
const LENGTH_8023_MAX: u16 = 1500;

/// How a frame enters the Ethernet world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It is an Ethernet frame; nothing to do, on either way.
    Ethernet,
    /// The Ethernet view is `header` followed by the frame's bytes from `strip` on.
    Converted {
        /// How many bytes to take off the front of the frame.
        strip: usize,
        /// What to put there.
        header: [u8; ETHERNET_HEADER_BYTES],
        /// What [`leave`] needs; it travels with the packet.
        info: LinkInfo,
    },
    /// No Ethernet view exists (radio headers, USB, …). Pass the bytes on unseen, or drop the packet
    /// and count it as of an unsupported link type; do not show it to elements as Ethernet.
    Opaque,
}

/// What restores a converted frame: its link type and its own link header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    link_type: LinkType,
    original: HeaderBytes,
    /// The EtherType and source address that the view started with.
    ethertype: u16,
    source: [u8; 6],
}

impl LinkInfo {
    /// The link type that the frame had, and has again after [`leave`].
    pub fn link_type(&self) -> LinkType {
        self.link_type
    }
}

/// A link header: up to the 20 bytes of Linux cooked version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeaderBytes {
    bytes: [u8; 20],
    length: u8,
}

/// How a frame leaves the Ethernet world: [`header`](Exit::header) followed by the Ethernet
/// frame's bytes from `strip` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How many bytes to take off the front of the Ethernet frame.
    pub strip: usize,
    header: HeaderBytes,
}

impl Exit {
    /// The link header to put there; may be empty.
    pub fn header(&self) -> &[u8] {
        self.header.as_slice()
    }
}

/// Why an Ethernet frame cannot leave as a frame of its link type. Drop it, with this as the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveError {
    /// The frame has no whole Ethernet header left.
    TooShort {
        /// Its length in bytes.
        length: usize,
    },
    /// The link type has no way to say this EtherType; an Ethernet or Linux cooked capture has.
    Protocol {
        /// The link type.
        link_type: LinkType,
        /// The frame's EtherType.
        ethertype: u16,
    },
}

impl fmt::Display for LeaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaveError::TooShort { length } => {
                write!(f, "the frame has {length} bytes, less than an Ethernet header")
            }
            LeaveError::Protocol { link_type, ethertype } => {
                write!(f, "link type {link_type} cannot carry EtherType {ethertype:#06x}; write Ethernet instead")
            }
        }
    }
}

impl std::error::Error for LeaveError {}

/// The Ethernet view of `frame`, which is of type `link_type`.
///
/// Addresses that the frame does not have are zero; the sender's address of Linux cooked frames
/// becomes the source. A frame too short for its own link header, or of a protocol without EtherType,
/// becomes [`ETHERTYPE_UNKNOWN`] with all its unread bytes as payload.
///
/// The view is `14 - strip` bytes longer than the frame, on the wire as in the capture: keep
/// `orig_len - captured`, which no conversion changes, to work out the original length on either side.
pub fn enter(link_type: LinkType, frame: &[u8]) -> Entry {
    let Some(kind) = Kind::of(link_type) else {
        return if link_type == LinkType::ETHERNET { Entry::Ethernet } else { Entry::Opaque };
    };
    let view = match kind {
        Kind::Raw(versions) => View { strip: 0, ethertype: versions.ethertype_of(frame), source: [0; 6] },
        Kind::Loopback => loopback_view(frame),
        Kind::Cooked(layout) => layout.view(frame),
    };
    let mut header = [0; ETHERNET_HEADER_BYTES];
    header[6..12].copy_from_slice(&view.source);
    header[12..14].copy_from_slice(&view.ethertype.to_be_bytes());
    let info = LinkInfo {
        link_type,
        original: HeaderBytes::from_slice(&frame[..view.strip]),
        ethertype: view.ethertype,
        source: view.source,
    };
    Entry::Converted { strip: view.strip, header, info }
}

/// The way back of a frame that [`enter`] converted, whatever has become of it since.
///
/// The destination address has no place in these link types and is lost.
pub fn leave(info: &LinkInfo, ethernet: &[u8]) -> Result<Exit, LeaveError> {
    let Some((head, _)) = ethernet.split_first_chunk::<ETHERNET_HEADER_BYTES>() else {
        return Err(LeaveError::TooShort { length: ethernet.len() });
    };
    let ethertype = u16::from_be_bytes([head[12], head[13]]);
    let source = [head[6], head[7], head[8], head[9], head[10], head[11]];
    let mut header = info.original;
    if (ethertype, source) != (info.ethertype, info.source) {
        let kind = Kind::of(info.link_type).expect("only convertible link types have a LinkInfo");
        let unsayable = LeaveError::Protocol { link_type: info.link_type, ethertype };
        match kind {
            Kind::Raw(versions) if ethertype == info.ethertype || versions.carry(ethertype) => {}
            Kind::Raw(_) => return Err(unsayable),
            Kind::Loopback if ethertype == info.ethertype => {}
            Kind::Loopback => header = loopback_header(info, ethertype).ok_or(unsayable)?,
            Kind::Cooked(layout) => layout.update(&mut header, info, ethertype, source),
        }
    }
    Ok(Exit { strip: ETHERNET_HEADER_BYTES, header })
}

/// The link layers that have an Ethernet view.
#[derive(Clone, Copy)]
enum Kind {
    Raw(IpVersions),
    Loopback,
    Cooked(&'static CookedLayout),
}

impl Kind {
    fn of(link_type: LinkType) -> Option<Kind> {
        match link_type {
            LinkType::RAW | LinkType::DLT_RAW | LinkType::DLT_RAW_OPENBSD => Some(Kind::Raw(IpVersions::Both)),
            LinkType::IPV4 => Some(Kind::Raw(IpVersions::Four)),
            LinkType::IPV6 => Some(Kind::Raw(IpVersions::Six)),
            LinkType::NULL | LinkType::LOOP => Some(Kind::Loopback),
            LinkType::LINUX_SLL => Some(Kind::Cooked(&SLL)),
            LinkType::LINUX_SLL2 => Some(Kind::Cooked(&SLL2)),
            _ => None,
        }
    }
}

/// What a frame's own header says.
struct View {
    strip: usize,
    ethertype: u16,
    source: [u8; 6],
}

/// A frame that is too short for its header.
const VIEW_OF_FRAGMENT: View = View { strip: 0, ethertype: ETHERTYPE_UNKNOWN, source: [0; 6] };

/// Which versions a raw IP link type carries.
#[derive(Clone, Copy)]
enum IpVersions {
    Both,
    Four,
    Six,
}

impl IpVersions {
    fn ethertype_of(self, packet: &[u8]) -> u16 {
        match (self, packet.first().map(|first| first >> 4)) {
            (IpVersions::Four, _) | (IpVersions::Both, Some(4)) => ETHERTYPE_IPV4,
            (IpVersions::Six, _) | (IpVersions::Both, Some(6)) => ETHERTYPE_IPV6,
            (IpVersions::Both, _) => ETHERTYPE_UNKNOWN,
        }
    }

    fn carry(self, ethertype: u16) -> bool {
        match self {
            IpVersions::Both => matches!(ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6),
            IpVersions::Four => ethertype == ETHERTYPE_IPV4,
            IpVersions::Six => ethertype == ETHERTYPE_IPV6,
        }
    }
}

const FAMILY_IPV4: u32 = 2; // AF_INET, the same everywhere.
const FAMILY_IPV6_BSD: u32 = 24; // AF_INET6 of NetBSD, OpenBSD and of Npcap on Windows.
const FAMILY_IPV6_FREEBSD: u32 = 28;
const FAMILY_IPV6_DARWIN: u32 = 30;

fn loopback_view(frame: &[u8]) -> View {
    let Some((head, _)) = frame.split_first_chunk::<4>() else {
        return VIEW_OF_FRAGMENT;
    };
    // Families are small, so the half that is zero tells the byte order.
    let family = u32::from_be_bytes(*head).min(u32::from_le_bytes(*head));
    let ethertype = match family {
        FAMILY_IPV4 => ETHERTYPE_IPV4,
        FAMILY_IPV6_BSD | FAMILY_IPV6_FREEBSD | FAMILY_IPV6_DARWIN => ETHERTYPE_IPV6,
        _ => ETHERTYPE_UNKNOWN,
    };
    View { strip: 4, ethertype, source: [0; 6] }
}

/// The loopback header for a changed protocol, in the byte order of the frame's first header.
fn loopback_header(info: &LinkInfo, ethertype: u16) -> Option<HeaderBytes> {
    let family = match ethertype {
        ETHERTYPE_IPV4 => FAMILY_IPV4,
        ETHERTYPE_IPV6 if info.link_type == LinkType::LOOP => FAMILY_IPV6_BSD,
        ETHERTYPE_IPV6 => FAMILY_IPV6_DARWIN,
        _ => return None,
    };
    let was_little_endian = match info.original.as_slice().first_chunk::<4>() {
        Some(head) => u32::from_le_bytes(*head) < u32::from_be_bytes(*head),
        None => info.link_type == LinkType::NULL,
    };
    let bytes = if was_little_endian { family.to_le_bytes() } else { family.to_be_bytes() };
    Some(HeaderBytes::from_slice(&bytes))
}

/// Where a Linux cooked header has its fields (tcpdump.org: `LINKTYPE_LINUX_SLL`, `…_SLL2`).
struct CookedLayout {
    length: usize,
    protocol: usize,
    hardware_type: usize,
    /// Offset and size of the address length.
    address_length: (usize, usize),
    address: usize,
}

const SLL: CookedLayout =
    CookedLayout { length: 16, protocol: 14, hardware_type: 2, address_length: (4, 2), address: 6 };
const SLL2: CookedLayout =
    CookedLayout { length: 20, protocol: 0, hardware_type: 8, address_length: (11, 1), address: 12 };

/// The protocol number of 802.2 frames, which have no EtherType.
const COOKED_PROTOCOL_LLC: u16 = 4;

/// Hardware types for which the protocol field is no EtherType: Frame Relay, GRE, 802.11 in three
/// forms, netlink.
const HARDWARE_WITHOUT_ETHERTYPE: [u16; 6] = [770, 778, 801, 802, 803, 824];

impl CookedLayout {
    fn view(&self, frame: &[u8]) -> View {
        if frame.len() < self.length {
            return VIEW_OF_FRAGMENT;
        }
        let protocol = self.u16_at(frame, self.protocol);
        let payload_bytes = frame.len() - self.length;
        let ethertype = if HARDWARE_WITHOUT_ETHERTYPE.contains(&self.u16_at(frame, self.hardware_type)) {
            ETHERTYPE_UNKNOWN
        } else if protocol >= ETHERTYPE_MIN {
            protocol
        } else {
            match u16::try_from(payload_bytes) {
                // An 802.3 frame: the EtherType's place holds the length.
                Ok(length) if protocol == COOKED_PROTOCOL_LLC && length <= LENGTH_8023_MAX => length,
                Ok(_) | Err(_) => ETHERTYPE_UNKNOWN,
            }
        };
        let mut source = [0; 6];
        if self.has_mac_address(frame) {
            source.copy_from_slice(&frame[self.address..self.address + 6]);
        }
        View { strip: self.length, ethertype, source }
    }

    /// Writes what changed into the frame's own header, or into an empty one if it had none.
    fn update(&self, header: &mut HeaderBytes, info: &LinkInfo, ethertype: u16, source: [u8; 6]) {
        if header.as_slice().len() < self.length {
            *header = HeaderBytes::from_slice(&[0; 20][..self.length]);
            header.bytes[self.hardware_type + 1] = 1; // Ethernet.
        }
        let bytes = &mut header.bytes;
        if ethertype != info.ethertype {
            let protocol = if ethertype <= LENGTH_8023_MAX { COOKED_PROTOCOL_LLC } else { ethertype };
            bytes[self.protocol..self.protocol + 2].copy_from_slice(&protocol.to_be_bytes());
        }
        if source != info.source {
            let (at, size) = self.address_length;
            bytes[at..at + size].fill(0);
            bytes[at + size - 1] = 6;
            bytes[self.address..self.address + 6].copy_from_slice(&source);
            bytes[self.address + 6..self.address + 8].fill(0);
        }
    }

    fn has_mac_address(&self, frame: &[u8]) -> bool {
        let (at, size) = self.address_length;
        let (high, low) = frame[at..at + size].split_at(size - 1);
        high.iter().all(|byte| *byte == 0) && low == [6]
    }

    fn u16_at(&self, frame: &[u8], at: usize) -> u16 {
        u16::from_be_bytes([frame[at], frame[at + 1]])
    }
}

impl HeaderBytes {
    fn from_slice(slice: &[u8]) -> Self {
        let mut bytes = [0; 20];
        bytes[..slice.len()].copy_from_slice(slice);
        HeaderBytes { bytes, length: u8::try_from(slice.len()).expect("link headers have at most 20 bytes") }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}
