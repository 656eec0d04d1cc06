//! A token bucket for each flow, by the packets' own times.
//!
//! A hash table of entries of one cache line each, probed from the home place on; levels in billionths of a bit, so that verdicts are
//! exact.

use crate::batch::{BATCH, Batch, DROPPED, Key, Program, plain_key};
use crate::processor::prefetch;
use crate::traffic::GAP_NS;

const PROBES: usize = 8;
const UNITS_PER_BYTE: u64 = 8_000_000_000;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    /// The default is a place that is free: no plain packet has it.
    key: Key,
    seen_ns: u64,
    level: u64,
    passed: u64,
    dropped: u64,
}

/// The table and the totals.
#[derive(Debug)]
pub struct Limiter {
    buckets: Vec<Bucket>,
    rate: u64,
    full: u64,
    pub passed: u64,
    pub exceeded: u64,
    /// Packets that found no room, and those that are not plain.
    pub refused: u64,
}

impl Limiter {
    /// `n_slots` is a power of two; rate in bits a second, burst in bytes.
    pub fn new(n_slots: usize, rate: u64, burst: u64) -> Limiter {
        assert!(n_slots.is_power_of_two(), "the table is masked");
        let buckets = vec![Bucket::default(); n_slots];
        Limiter { buckets, rate, full: burst * UNITS_PER_BYTE, passed: 0, exceeded: 0, refused: 0 }
    }

    /// The bucket of a flow, made full if it is new.
    #[inline(always)]
    fn bucket(&mut self, key: Key, hash: usize, now_ns: u64) -> Option<&mut Bucket> {
        let mask = self.buckets.len() - 1;
        let holds = |bucket: &Bucket| bucket.key == key;
        let slots = (0..PROBES).map(|probe| (hash + probe) & mask);
        let known = slots.clone().find(|&slot| holds(&self.buckets[slot]));
        if let Some(slot) = known {
            return self.buckets.get_mut(slot);
        }
        let slot = slots.clone().find(|&slot| self.buckets[slot].key == Key::default())?;
        self.buckets[slot] = Bucket { key, seen_ns: now_ns, level: self.full, ..Bucket::default() };
        self.buckets.get_mut(slot)
    }
}

impl Program for Limiter {
    /// Keys and their hashes.
    type Plan = [Option<(Key, usize)>; BATCH];

    #[inline(always)]
    fn begin(&mut self, batch: &Batch) -> Self::Plan {
        let mask = self.buckets.len() - 1;
        let mut keys = [None; BATCH];
        for (at, key) in keys.iter_mut().enumerate() {
            *key = plain_key(&batch.frames[at], batch.lengths[at]).map(|key| (key, key.hash()));
            if let Some((_, hash)) = *key {
                prefetch(&self.buckets, hash & mask);
            }
        }
        keys
    }

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, keys: Self::Plan) {
        let (rate, full) = (self.rate, self.full);
        let (mut n_passed, mut n_exceeded) = (0, 0);
        for (at, key) in keys.into_iter().enumerate() {
            let now_ns = batch.start_ns + at as u64 * GAP_NS;
            let bucket = key.and_then(|(key, hash)| self.bucket(key, hash, now_ns));
            let Some(bucket) = bucket else {
                self.refused += 1;
                batch.outputs[at] = DROPPED;
                continue;
            };
            if now_ns > bucket.seen_ns {
                // A product past 64 bits fills every bucket; that branch is foreseen, the two minima are none.
                let product = u128::from(now_ns - bucket.seen_ns) * u128::from(rate);
                let tokens = u64::try_from(product).unwrap_or(u64::MAX);
                bucket.level = tokens.saturating_add(bucket.level).min(full);
                bucket.seen_ns = now_ns;
            }
            let cost = u64::from(batch.lengths[at]) * UNITS_PER_BYTE;
            let passes = cost <= bucket.level;
            bucket.level -= if passes { cost } else { 0 };
            bucket.passed += u64::from(passes);
            bucket.dropped += u64::from(!passes);
            n_passed += u64::from(passes);
            n_exceeded += u64::from(!passes);
            batch.outputs[at] = u8::from(passes);
        }
        self.passed += n_passed;
        self.exceeded += n_exceeded;
    }
}
