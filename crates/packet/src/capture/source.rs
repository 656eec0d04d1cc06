//! A buffered input that knows where it is.
//!
//! The readers look at small headers in place with [`Source::peek`], then consume them; packet
//! bytes are copied once, into the caller's buffer, which grows only as bytes arrive.

use std::io::{self, Read};

use super::error::{CaptureError, Damage, Place};

/// Buffer size. Large enough that the cost of a read call vanishes, small enough for the L2 cache.
const BUFFER_BYTES: usize = 256 * 1024;

/// Bytes of a capture file, with the offset of the next one and the record being read.
#[derive(Debug)]
pub(super) struct Source<R> {
    inner: R,
    buffer: Box<[u8]>,
    /// The bytes read and not yet consumed are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    /// The record being read, for errors.
    place: Place,
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R) -> Self {
        let place = Place { offset: 0, packets_before: 0 };
        Source { inner, buffer: vec![0; BUFFER_BYTES].into_boxed_slice(), start: 0, end: 0, offset: 0, place }
    }

    /// Marks the next byte as the first of a record.
    pub(super) fn begin_record(&mut self) {
        self.place.offset = self.offset;
    }

    /// Counts the record being read as a packet.
    pub(super) fn count_packet(&mut self) {
        self.place.packets_before += 1;
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Offset in the file of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The error that the record being read has `damage`.
    pub(super) fn damaged(&self, damage: Damage) -> CaptureError {
        CaptureError::Damaged { place: self.place, damage }
    }

    /// Whether no byte is left.
    pub(super) fn at_end(&mut self) -> Result<bool, CaptureError> {
        Ok(self.fill(1)? == 0)
    }

    /// The next bytes, at most `n`; fewer only if the file ends.
    pub(super) fn peek_up_to(&mut self, n: usize) -> Result<&[u8], CaptureError> {
        let n = self.fill(n)?.min(n);
        Ok(&self.buffer[self.start..self.start + n])
    }

    /// The next `N` bytes, which stay unconsumed.
    #[inline]
    pub(super) fn peek<const N: usize>(&mut self) -> Result<[u8; N], CaptureError> {
        if let Some(bytes) = self.buffer[self.start..self.end].first_chunk() {
            return Ok(*bytes);
        }
        let n = self.fill(N)?;
        match self.buffer[self.start..self.start + n].first_chunk() {
            Some(bytes) => Ok(*bytes),
            None => Err(self.truncated(n, N as u64)),
        }
    }

    /// The next `N` bytes.
    #[inline]
    pub(super) fn read<const N: usize>(&mut self) -> Result<[u8; N], CaptureError> {
        let bytes = self.peek()?;
        self.consume(N);
        Ok(bytes)
    }

    /// Copies the next `n` bytes to the end of `out`.
    #[inline]
    pub(super) fn append_to(&mut self, out: &mut Vec<u8>, n: u32) -> Result<(), CaptureError> {
        let mut left = n as usize;
        loop {
            let chunk = left.min(self.end - self.start);
            out.extend_from_slice(&self.buffer[self.start..self.start + chunk]);
            self.consume(chunk);
            left -= chunk;
            if left == 0 {
                return Ok(());
            }
            if self.fill(1)? == 0 {
                return Err(self.truncated(0, left as u64));
            }
        }
    }

    /// Passes over the next `n` bytes.
    #[inline]
    pub(super) fn skip(&mut self, n: u32) -> Result<(), CaptureError> {
        let mut left = n as usize;
        loop {
            let chunk = left.min(self.end - self.start);
            self.consume(chunk);
            left -= chunk;
            if left == 0 {
                return Ok(());
            }
            if self.fill(1)? == 0 {
                return Err(self.truncated(0, left as u64));
            }
        }
    }

    fn consume(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Buffers at least `n` bytes if the file has them, and says how many are buffered.
    fn fill(&mut self, n: usize) -> Result<usize, CaptureError> {
        assert!(n <= self.buffer.len(), "headers are smaller than the buffer");
        if self.end - self.start < n {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < n {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                // A faulty `Read` may claim more than it was asked for.
                Ok(n_read) => self.end = (self.end + n_read).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(CaptureError::Io { place: self.place, source });
                }
            }
        }
        Ok(self.end - self.start)
    }

    /// The error that only `found` of the next `expected` bytes are there.
    fn truncated(&self, found: usize, expected: u64) -> CaptureError {
        CaptureError::Truncated { place: self.place, end: self.offset + found as u64, missing: expected - found as u64 }
    }
}

/// The byte order of the numbers in a file or section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The 16-bit number at `bytes[at..at + 2]`.
    #[inline]
    pub(super) fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = [bytes[at], bytes[at + 1]];
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    /// The 32-bit number at `bytes[at..at + 4]`.
    #[inline]
    pub(super) fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }
}
