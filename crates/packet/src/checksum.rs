//! The Internet checksum: RFC 1071, with the incremental update of RFC 1624 and pseudo-headers.
//!
//! Checksums are plain `u16` values: the number that stands, big-endian, in a packet.

/// A running ones'-complement sum.
///
/// It folds only at the end; 64 bits hold the sum of 2^48 words, more than any packet has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// The sum of nothing.
    pub const fn new() -> Self {
        Sum(0)
    }

    /// Adds `bytes` as big-endian 16-bit words; an odd last byte counts as if a zero followed it.
    ///
    /// Pieces of one message may be added one by one if all but the last are of even length.
    pub fn add_bytes(self, bytes: &[u8]) -> Self {
        // A 32-bit word is `high * 2^16 + low`, and 2^16 = 1 (mod 2^16 - 1), so that words may be
        // added two at a time and folded later (RFC 1071 §2(D)).
        let (quads, rest) = bytes.as_chunks::<4>();
        let mut sum = self.0;
        for quad in quads {
            sum += u64::from(u32::from_be_bytes(*quad));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Sum(fold_to_32(sum + u64::from(u32::from_be_bytes(last))))
    }

    /// Adds one 16-bit word.
    pub fn add_u16(self, word: u16) -> Self {
        Sum(fold_to_32(self.0 + u64::from(word)))
    }

    /// Adds one 32-bit number, as its two words.
    pub fn add_u32(self, number: u32) -> Self {
        Sum(fold_to_32(self.0 + u64::from(number)))
    }

    /// Adds the IPv4 pseudo-header of TCP and UDP (RFC 9293 §3.1): `length` is that of header and payload.
    pub fn add_pseudo_header_v4(self, source: [u8; 4], destination: [u8; 4], protocol: u8, length: u16) -> Self {
        self.add_bytes(&source).add_bytes(&destination).add_u16(u16::from(protocol)).add_u16(length)
    }

    /// Adds the IPv6 pseudo-header (RFC 8200 §8.1): `length` is that of the upper layer's packet.
    pub fn add_pseudo_header_v6(self, source: [u8; 16], destination: [u8; 16], next_header: u8, length: u32) -> Self {
        self.add_bytes(&source).add_bytes(&destination).add_u32(length).add_u16(u16::from(next_header))
    }

    /// The checksum: the complement of the sum.
    ///
    /// Over a message that holds its own right checksum it is 0. UDP sends a computed 0 as `0xffff`
    /// (RFC 768); that is for the caller to do.
    pub fn checksum(self) -> u16 {
        !fold_to_16(self.0)
    }
}

/// The checksum of `bytes`, whose checksum field, if they hold one, should be zero.
///
/// Over bytes with a right checksum in place it is 0.
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::new().add_bytes(bytes).checksum()
}

/// The checksum after a covered 16-bit word changed from `old` to `new`.
///
/// RFC 1624 §3, equation 3: `HC' = ~(~HC + ~m + m')`. It gives what recomputing the message would,
/// as long as the message is not all zeros.
pub fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    !fold_to_16(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// The checksum after a covered 32-bit number, at an even offset, changed from `old` to `new`.
pub fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    !fold_to_16(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

fn fold_to_32(sum: u64) -> u64 {
    (sum & 0xffff_ffff) + (sum >> 32)
}

fn fold_to_16(sum: u64) -> u16 {
    // Each step adds the carries back in; a fourth would change nothing.
    let sum = fold_to_32(sum);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    u16::try_from(sum).expect("three folds leave 16 bits")
}
