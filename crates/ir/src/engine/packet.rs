//! A packet in software: its bytes, with room to grow in front, and what travels with it.

/// Free bytes in front of a packet that enters, so that pushed headers need no move.
const HEADROOM_BYTES: usize = 128;

/// `LINKTYPE_ETHERNET` of pcap.
const LINK_ETHERNET: u32 = 1;

/// A frame, and its sideband: see `crate::side` for the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The packet is `buffer[start..]`.
    buffer: Vec<u8>,
    start: usize,
    /// Bytes that the capture cut off behind the last one.
    pub missing: u32,
    /// Bytes by which the capture's original length is below the captured one, as damaged files have it. Flits lose it.
    pub excess: u32,
    /// When it entered the graph.
    pub time_ns: u64,
    /// Boundary port through which it entered, as `BoundaryId` plus 1; 0 if it was made inside.
    pub in_boundary: u8,
    /// Link type that the frame had on entering, as in pcap.
    pub link_type: u32,
    /// What is known of it.
    pub flags: Flags,
    /// Metadata as packed in the sideband, from its bit `crate::side::META_LO` on.
    pub meta: Vec<u64>,
}

/// The flags of the sideband.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// An Ethernet header was put in front on entering.
    pub const ETHERNET_ADDED: Flags = Flags(1);
    /// The packet is marked in error.
    pub const ERROR: Flags = Flags(2);
    /// The frame has no Ethernet view; its bytes passed as they are.
    pub const OPAQUE: Flags = Flags(4);

    /// Whether the given flag is set.
    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    /// Sets or clears the given flag.
    pub fn set(&mut self, flag: Flags, on: bool) {
        self.0 = if on { self.0 | flag.0 } else { self.0 & !flag.0 };
    }
}

impl Packet {
    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The bytes, to be changed in place.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    /// How many bytes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether there is no byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes on the wire: those present, and those that the capture lacks.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        (self.len() as u32).saturating_add(self.missing).saturating_sub(self.excess)
    }

    /// Makes it an empty packet without sideband; keeps its buffers.
    #[inline]
    pub fn clear(&mut self) {
        self.make_headroom();
        (self.missing, self.excess, self.time_ns, self.in_boundary, self.link_type) = (0, 0, 0, 0, LINK_ETHERNET);
        self.flags = Flags::default();
        self.meta.clear();
    }

    /// Leaves nothing but the room in front, whose old bytes nobody sees.
    #[inline]
    fn make_headroom(&mut self) {
        match self.buffer.len() {
            HEADROOM_BYTES.. => self.buffer.truncate(HEADROOM_BYTES),
            _ => self.buffer.resize(HEADROOM_BYTES, 0),
        }
        self.start = HEADROOM_BYTES;
    }

    /// Replaces the bytes.
    #[inline]
    pub fn set_bytes(&mut self, bytes: &[u8]) {
        self.make_headroom();
        self.buffer.extend_from_slice(bytes);
    }

    /// Adds bytes at the end.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Adds zero bytes at the end.
    pub fn append(&mut self, n_bytes: usize) {
        self.buffer.resize(self.buffer.len() + n_bytes, 0);
    }

    /// Keeps the first `n_bytes`, if there are more.
    #[inline]
    pub fn truncate(&mut self, n_bytes: usize) {
        self.buffer.truncate(self.start + n_bytes);
    }

    /// Adds zero bytes before the byte at `offset`, by moving what stands before it. Panics if `offset` is past the end.
    pub fn insert(&mut self, offset: usize, n_bytes: usize) {
        assert!(offset <= self.len(), "callers check the offset");
        if self.start < n_bytes {
            let more = n_bytes - self.start + HEADROOM_BYTES;
            self.buffer.splice(0..0, std::iter::repeat_n(0, more));
            self.start += more;
        }
        let start = self.start - n_bytes;
        self.buffer.copy_within(self.start..self.start + offset, start);
        self.buffer[start + offset..start + offset + n_bytes].fill(0);
        self.start = start;
    }

    /// Removes bytes from `offset` on, by moving what stands before them. Panics if they are not all there.
    pub fn remove(&mut self, offset: usize, n_bytes: usize) {
        assert!(offset + n_bytes <= self.len(), "callers check the range");
        self.buffer.copy_within(self.start..self.start + offset, self.start + n_bytes);
        self.start += n_bytes;
    }

    /// Bits of the metadata, at most 64.
    #[inline]
    pub fn meta_bits(&self, lo: u32, width: u32) -> u64 {
        let (word, shift) = ((lo / 64) as usize, lo % 64);
        let at = |i: usize| self.meta.get(i).copied().unwrap_or(0);
        let mut bits = at(word) >> shift;
        if shift + width > 64 {
            bits |= at(word + 1) << (64 - shift);
        }
        bits & (u64::MAX >> (64 - width))
    }

    /// Sets bits of the metadata, at most 64.
    #[inline]
    pub fn set_meta_bits(&mut self, lo: u32, width: u32, value: u64) {
        let (word, shift) = ((lo / 64) as usize, lo % 64);
        let words = ((lo + width).div_ceil(64)) as usize;
        if self.meta.len() < words {
            self.meta.resize(words, 0);
        }
        let mask = u64::MAX >> (64 - width);
        let value = value & mask;
        self.meta[word] = self.meta[word] & !(mask << shift) | value << shift;
        if shift + width > 64 {
            let rest = 64 - shift;
            self.meta[word + 1] = self.meta[word + 1] & !(mask >> rest) | value >> rest;
        }
    }
}
