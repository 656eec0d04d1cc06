//! A firewall of ordered rules by intersection of bit vectors, and the same behind a cache of verdicts.
//!
//! Each of four dimensions (source, destination, source port, destination port with protocol) maps a value to a class: the values
//! that the same rules take. A class has one bit for each rule; the lowest bit that the four classes of a packet share is its rule
//! (Lakshman and Stiliadis, SIGCOMM 1998). Addresses find their class in tables of 16, 8 and 8 bits.

use std::collections::BTreeMap;

use crate::batch::{BATCH, Batch, DROPPED, Key, Program, plain_key};
use crate::processor::{nonzero_words, prefetch};
use crate::traffic::{Rule, mask};

/// One bit for each rule.
type Bits<const WORDS: usize> = [u64; WORDS];

/// Number of a class.
type Class = u16;

/// The classes of one dimension: each vector once.
#[derive(Debug)]
struct Classes<const WORDS: usize> {
    vectors: Vec<Aligned<WORDS>>,
    known: BTreeMap<Bits<WORDS>, Class>,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Aligned<const WORDS: usize>(Bits<WORDS>);

impl<const WORDS: usize> Classes<WORDS> {
    fn new() -> Self {
        Classes { vectors: Vec::new(), known: BTreeMap::new() }
    }

    /// The class of a value that the chosen rules take.
    fn class(&mut self, takes: impl Iterator<Item = bool>) -> Class {
        let mut bits = [0; WORDS];
        takes.enumerate().for_each(|(rule, takes)| bits[rule / 64] |= u64::from(takes) << (rule % 64));
        let vectors = &mut self.vectors;
        *self.known.entry(bits).or_insert_with(|| {
            vectors.push(Aligned(bits));
            (vectors.len() - 1) as Class
        })
    }
}

/// Classes of ports.
fn port_classes<const WORDS: usize>(
    classes: &mut Classes<WORDS>,
    rules: &[Rule],
    takes: impl Fn(&Rule, u16) -> bool,
    ports: impl Fn(&Rule) -> (u16, u16),
) -> Vec<Class> {
    // The class can change only where a range begins, or behind its end.
    let mut starts = vec![false; 1 << 16];
    for (low, high) in rules.iter().map(ports) {
        starts[usize::from(low)] = true;
        if high < u16::MAX {
            starts[usize::from(high) + 1] = true;
        }
    }
    let mut class = 0;
    (0..=u16::MAX)
        .map(|port| {
            if port == 0 || starts[usize::from(port)] {
                class = classes.class(rules.iter().map(|rule| takes(rule, port)));
            }
            class
        })
        .collect()
}

/// An entry that names a group of 256 further entries, not a class.
const IS_GROUP: u16 = 0x8000;

/// From an address to its class.
#[derive(Debug)]
struct Addresses<const WORDS: usize> {
    /// By the first 16 bits.
    first: Vec<u16>,
    /// By group and 8 further bits, for both levels below.
    further: Vec<u16>,
    classes: Classes<WORDS>,
}

impl<const WORDS: usize> Addresses<WORDS> {
    fn new(rules: &[Rule], prefix: impl Fn(&Rule) -> (u32, u8)) -> Self {
        let prefixes: Vec<(u32, u8)> = rules.iter().map(prefix).collect();
        let mut addresses = Addresses { first: Vec::new(), further: vec![0; 256], classes: Classes::new() };
        // Only where a prefix begins or ends, or a longer one lies, an entry differs from the one before.
        let mut starts = vec![false; (1 << 16) + 1];
        starts[0] = true;
        for &(address, length) in &prefixes {
            let first = address as usize >> 16;
            starts[first] = true;
            starts[first + (1 << (16 - length.min(16)))] = true;
        }
        starts.truncate(1 << 16);
        let mut entry = 0;
        for (top, is_start) in (0..).zip(starts) {
            if is_start {
                entry = addresses.entry(&prefixes, top << 16, 16);
            }
            addresses.first.push(entry);
        }
        addresses
    }

    /// The entry for all addresses that share the first bits of `start`.
    fn entry(&mut self, prefixes: &[(u32, u8)], start: u32, n_bits: u8) -> u16 {
        let is_split = |&(address, length): &(u32, u8)| length > n_bits && (address ^ start) & mask(n_bits) == 0;
        if !prefixes.iter().any(is_split) {
            let takes = prefixes.iter().map(|&(address, length)| (address ^ start) & mask(length) == 0);
            return self.classes.class(takes);
        }
        let group = self.further.len() / 256;
        self.further.resize(self.further.len() + 256, 0);
        for next in 0..256 {
            let start = start | (next as u32) << (24 - n_bits);
            self.further[group * 256 + next] = self.entry(prefixes, start, n_bits + 8);
        }
        IS_GROUP | group as u16
    }

    /// The entry one level further down.
    #[inline(always)]
    fn next(&self, entry: u16, byte: u32) -> u16 {
        if WORDS == 1 {
            // Few rules make few groups, and a branch that is mostly foreseen.
            return if entry & IS_GROUP != 0 { self.further[Self::place(entry, byte)] } else { entry };
        }
        // Always a read, so that nothing hangs on a branch that addresses take at random: all ones for a group.
        let group = entry.cast_signed() >> 15;
        let below = self.further[Self::place(entry, byte) & isize::from(group).cast_unsigned()];
        below & group.cast_unsigned() | entry & !group.cast_unsigned()
    }

    #[inline(always)]
    fn place(entry: u16, byte: u32) -> usize {
        usize::from(entry & !IS_GROUP) * 256 + (byte & 255) as usize
    }
}

/// Tables and counters for up to `64 * WORDS` rules; what none takes is dropped.
#[derive(Debug)]
pub struct Firewall<const WORDS: usize> {
    src: Addresses<WORDS>,
    dst: Addresses<WORDS>,
    sports: Vec<Class>,
    sport_classes: Classes<WORDS>,
    /// TCP, then UDP.
    dports: Vec<Class>,
    dport_classes: Classes<WORDS>,
    /// Verdict and packets of each rule, then of the default.
    verdicts: Vec<(u64, bool)>,
}

impl<const WORDS: usize> Firewall<WORDS> {
    pub fn new(rules: &[Rule]) -> Self {
        assert!(rules.len() <= 64 * WORDS, "a bit for each rule");
        let mut sport_classes = Classes::new();
        let takes_sport = |rule: &Rule, port| (rule.sports.0..=rule.sports.1).contains(&port);
        let sports = port_classes(&mut sport_classes, rules, takes_sport, |rule| rule.sports);
        let mut dport_classes = Classes::new();
        let mut dports = Vec::new();
        for protocol in [6, 17] {
            let takes = |rule: &Rule, port| {
                rule.protocol.is_none_or(|wanted| wanted == protocol) && (rule.dports.0..=rule.dports.1).contains(&port)
            };
            dports.extend(port_classes(&mut dport_classes, rules, takes, |rule| rule.dports));
        }
        Firewall {
            src: Addresses::new(rules, |rule| (rule.src.address, rule.src.length)),
            dst: Addresses::new(rules, |rule| (rule.dst.address, rule.dst.length)),
            sports,
            sport_classes,
            dports,
            dport_classes,
            verdicts: (0..=64 * WORDS).map(|rule| (0, rules.get(rule).is_some_and(|rule| rule.accept))).collect(),
        }
    }

    #[inline(always)]
    fn dport_place(key: Key) -> usize {
        key.dport() | usize::from(key.protocol() == 17) << 16
    }

    /// Begins to read the first tables.
    #[inline(always)]
    fn prefetch(&self, key: Key) {
        prefetch(&self.src.first, key.src() as usize >> 16);
        prefetch(&self.dst.first, key.dst() as usize >> 16);
        prefetch(&self.sports, key.sport());
        prefetch(&self.dports, Self::dport_place(key));
    }

    /// The first rule of each packet. The reads of one level of the tables are begun for the whole batch before the next.
    #[inline(always)]
    fn rules(&self, keys: &[Key; BATCH]) -> [u16; BATCH] {
        let mut srcs = [0; BATCH];
        let mut dsts = [0; BATCH];
        for (at, key) in keys.iter().enumerate() {
            srcs[at] = self.src.first[key.src() as usize >> 16];
            dsts[at] = self.dst.first[key.dst() as usize >> 16];
            prefetch(&self.src.further, Addresses::<WORDS>::place(srcs[at], key.src() >> 8));
            prefetch(&self.dst.further, Addresses::<WORDS>::place(dsts[at], key.dst() >> 8));
        }
        let mut ports = [[0; 2]; BATCH];
        for (at, key) in keys.iter().enumerate() {
            srcs[at] = self.src.next(self.src.next(srcs[at], key.src() >> 8), key.src());
            dsts[at] = self.dst.next(self.dst.next(dsts[at], key.dst() >> 8), key.dst());
            ports[at] = [self.sports[key.sport()], self.dports[Self::dport_place(*key)]];
            if WORDS > 1 {
                prefetch(&self.src.classes.vectors, srcs[at].into());
                prefetch(&self.dst.classes.vectors, dsts[at].into());
            }
        }
        let mut rules = [0; BATCH];
        for (at, rule) in rules.iter_mut().enumerate() {
            *rule = self.shared([srcs[at], dsts[at]], ports[at]);
        }
        rules
    }

    /// The first rule of one packet.
    fn rule(&self, key: Key) -> u16 {
        let class = |addresses: &Addresses<WORDS>, address: u32| {
            let entry = addresses.first[address as usize >> 16];
            addresses.next(addresses.next(entry, address >> 8), address)
        };
        let ports = [self.sports[key.sport()], self.dports[Self::dport_place(key)]];
        self.shared([class(&self.src, key.src()), class(&self.dst, key.dst())], ports)
    }

    /// The first rule that takes the classes of addresses and ports.
    #[inline(always)]
    fn shared(&self, addresses: [Class; 2], ports: [Class; 2]) -> u16 {
        lowest(&intersection([
            &self.src.classes.vectors[usize::from(addresses[0])],
            &self.dst.classes.vectors[usize::from(addresses[1])],
            &self.sport_classes.vectors[usize::from(ports[0])],
            &self.dport_classes.vectors[usize::from(ports[1])],
        ]))
    }

    /// Counts the verdict of a rule and gives the output.
    #[inline(always)]
    fn count(&mut self, rule: u16) -> u8 {
        let (packets, accepts) = &mut self.verdicts[usize::from(rule)];
        *packets += 1;
        u8::from(*accepts)
    }
}

#[inline(always)]
fn intersection<const WORDS: usize>(vectors: [&Aligned<WORDS>; 4]) -> Bits<WORDS> {
    let [a, b, c, d] = vectors.map(|vector| &vector.0);
    let mut shared = [0; WORDS];
    for (word, shared) in shared.iter_mut().enumerate() {
        *shared = a[word] & b[word] & c[word] & d[word];
    }
    shared
}

/// The lowest bit that is set; behind the last one if none is.
#[inline(always)]
fn lowest<const WORDS: usize>(bits: &Bits<WORDS>) -> u16 {
    if WORDS == 1 {
        return bits[0].trailing_zeros() as u16;
    }
    let word = (nonzero_words(bits).trailing_zeros() as usize).min(WORDS);
    let within = bits.get(word).map_or(0, |bits| bits.trailing_zeros() as usize);
    (word * 64 + within) as u16
}

/// The keys of a batch of plain packets; of others the key is one that no plain packet has.
#[inline(always)]
fn keys(batch: &Batch) -> [Key; BATCH] {
    let mut keys = [Key::default(); BATCH];
    for (at, key) in keys.iter_mut().enumerate() {
        *key = plain_key(&batch.frames[at], batch.lengths[at]).unwrap_or_default();
    }
    keys
}

impl<const WORDS: usize> Program for Firewall<WORDS> {
    type Plan = [Key; BATCH];

    #[inline(always)]
    fn begin(&mut self, batch: &Batch) -> [Key; BATCH] {
        let keys = keys(batch);
        keys.iter().for_each(|&key| self.prefetch(key));
        keys
    }

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, keys: [Key; BATCH]) {
        let rules = self.rules(&keys);
        for at in 0..BATCH {
            batch.outputs[at] = if keys[at] == Key::default() { DROPPED } else { self.count(rules[at]) };
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Cached {
    key: Key,
    rule: u16,
}

/// A firewall behind a table of the flows seen: two places for each, of which the newer flow takes the one of the older.
#[derive(Debug)]
pub struct CachedFirewall<const WORDS: usize> {
    pub inner: Firewall<WORDS>,
    cache: Vec<[Cached; 2]>,
}

impl<const WORDS: usize> CachedFirewall<WORDS> {
    /// `n_sets` is a power of two.
    pub fn new(rules: &[Rule], n_sets: usize) -> Self {
        assert!(n_sets.is_power_of_two(), "the table is masked");
        CachedFirewall { inner: Firewall::new(rules), cache: vec![Default::default(); n_sets] }
    }

    /// The rule of a flow that the cache does not hold.
    #[cold]
    fn miss(&mut self, key: Key, place: usize) -> u16 {
        let rule = self.inner.rule(key);
        self.cache[place] = [Cached { key, rule }, self.cache[place][0]];
        rule
    }
}

impl<const WORDS: usize> Program for CachedFirewall<WORDS> {
    /// Keys and their places.
    type Plan = [(Key, usize); BATCH];

    #[inline(always)]
    fn begin(&mut self, batch: &Batch) -> Self::Plan {
        let mask = self.cache.len() - 1;
        let mut places = [(Key::default(), 0); BATCH];
        for (place, key) in places.iter_mut().zip(keys(batch)) {
            *place = (key, key.hash() & mask);
            prefetch(&self.cache, place.1);
        }
        places
    }

    #[inline(always)]
    fn finish(&mut self, batch: &mut Batch, places: Self::Plan) {
        for (at, (key, place)) in places.into_iter().enumerate() {
            if key == Key::default() {
                batch.outputs[at] = DROPPED;
                continue;
            }
            let [newer, older] = &self.cache[place];
            let is_older = older.key == key;
            let rule = if is_older { older.rule } else { newer.rule };
            let is_known = is_older || newer.key == key;
            let rule = if is_known { rule } else { self.miss(key, place) };
            batch.outputs[at] = self.inner.count(rule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Firewall;
    use crate::batch::Key;
    use crate::random::Random;
    use crate::traffic::{Flow, Rule, filtered_flows, mask, rules};

    /// The first rule by trying one after the other.
    fn first_rule(rules: &[Rule], flow: Flow) -> usize {
        let takes = |rule: &Rule| {
            (flow.src ^ rule.src.address) & mask(rule.src.length) == 0
                && (flow.dst ^ rule.dst.address) & mask(rule.dst.length) == 0
                && (rule.sports.0..=rule.sports.1).contains(&flow.sport)
                && (rule.dports.0..=rule.dports.1).contains(&flow.dport)
                && rule.protocol.is_none_or(|protocol| protocol == flow.protocol)
        };
        rules.iter().position(takes).unwrap_or(usize::MAX)
    }

    fn compare<const WORDS: usize>(n_rules: usize) {
        let rules = rules(n_rules);
        let firewall = Firewall::<WORDS>::new(&rules);
        let mut random = Random::new(5);
        for flow in filtered_flows(&rules, 2_000) {
            // One bit off, so that the edges of prefixes and ranges are met.
            let src = flow.src ^ 1u32.unbounded_shl(random.below(64) as u32);
            let flow = Flow { src, dport: flow.dport.wrapping_add(random.below(2) as u16), ..flow };
            let key = Key {
                addresses: u64::from(flow.src) << 32 | u64::from(flow.dst),
                ports: u64::from(flow.sport) << 24 | u64::from(flow.dport) << 8 | u64::from(flow.protocol),
            };
            let rule = usize::from(firewall.rule(key));
            let rule = if rule < n_rules { rule } else { usize::MAX };
            assert_eq!(rule, first_rule(&rules, flow), "{flow:?}");
        }
    }

    #[test]
    fn the_first_of_64_rules_is_that_of_a_linear_search() {
        compare::<1>(64);
    }

    #[test]
    fn the_first_of_1000_rules_is_that_of_a_linear_search() {
        compare::<16>(1_000);
    }
}
