//! Copying alone, and four elements that look at nothing: Pass, Counter, Tee with one branch that ends, Pass.

use crate::batch::{BATCH, Batch, Program};

/// Nothing but the copy into buffers: what every other row contains.
#[derive(Debug, Default)]
pub struct Copy;

impl Program for Copy {
    type Plan = ();

    #[inline(always)]
    fn begin(&mut self, _: &Batch) {}

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, (): ()) {
        batch.outputs = [1; BATCH];
    }
}

/// Counters of the four elements.
#[derive(Debug, Default)]
pub struct Pass {
    pub errors: u64,
    pub first: u64,
    pub packets: u64,
    pub bytes: u64,
    pub flits: u64,
    pub ended: u64,
    pub last: u64,
}

impl Program for Pass {
    type Plan = ();

    #[inline(always)]
    fn begin(&mut self, _: &Batch) {}

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, (): ()) {
        for (at, output) in batch.outputs.iter_mut().enumerate() {
            let is_sound = u64::from(!batch.errors[at]);
            let n_bytes = u64::from(batch.lengths[at]);
            self.errors += 1 - is_sound;
            self.first += is_sound;
            self.packets += is_sound;
            self.bytes += is_sound * n_bytes;
            self.flits += is_sound * n_bytes.div_ceil(32);
            self.ended += is_sound;
            self.last += is_sound;
            *output = is_sound as u8;
        }
    }
}
