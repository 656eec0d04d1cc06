//! A queue of messages of one length, in one piece of memory.

/// First in, first out; `n_words` words a message.
#[derive(Debug)]
pub(crate) struct Ring {
    words: Vec<u64>,
    n_words: usize,
    /// Messages that it has room for, less one.
    mask: usize,
    /// Position of the oldest message, in messages.
    first: usize,
    len: usize,
}

/// Messages that a ring has room for at first; it doubles with use, because most channels stay near empty. A power of two, so
/// that positions wrap by a mask.
const CAPACITY_MIN: usize = 8;

impl Ring {
    pub(crate) fn new(n_words: usize) -> Ring {
        Ring { words: vec![0; CAPACITY_MIN * n_words], n_words, mask: CAPACITY_MIN - 1, first: 0, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, message_idx: usize) -> std::ops::Range<usize> {
        let at = ((self.first + message_idx) & self.mask) * self.n_words;
        at..at + self.n_words
    }

    /// The message at a position from the oldest.
    pub(crate) fn get(&self, message_idx: usize) -> &[u64] {
        debug_assert!(message_idx < self.len, "callers ask for what is there");
        &self.words[self.place(message_idx)]
    }

    /// Adds a message with words to be filled by the caller, who finds old ones there.
    pub(crate) fn push(&mut self) -> &mut [u64] {
        if self.len > self.mask {
            self.grow();
        }
        let place = self.place(self.len);
        self.len += 1;
        &mut self.words[place]
    }

    fn grow(&mut self) {
        let mut words = Vec::with_capacity(2 * self.words.len());
        (0..self.len).for_each(|message_idx| words.extend_from_slice(self.get(message_idx)));
        words.resize(2 * self.words.len(), 0);
        self.words = words;
        self.mask = 2 * self.mask + 1;
        self.first = 0;
    }

    pub(crate) fn pop(&mut self) {
        debug_assert!(self.len > 0, "callers pop what is there");
        self.first = (self.first + 1) & self.mask;
        self.len -= 1;
    }

    /// Takes back the youngest messages.
    pub(crate) fn take_back(&mut self, n_messages: usize) {
        self.len -= n_messages;
    }
}
