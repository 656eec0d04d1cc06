//! Every element of the library that names a native kernel, run with it and on the interpreter, which runs its `.body`: the same
//! fate, bytes and state after every packet.
//!
//! Made from the library itself: each parameter takes its default and the ends and middle of its range, in all combinations that the
//! element accepts. State begins at random values, and packets have all lengths at which pieces begin and end around the window.

use flitwork::catalogue::{CatalogueEntry, ParamEntry, catalogue};
use flitwork::compile::compile;
use flitwork::library;
use flitwork::loader::FileLoader;
use ir::engine::{Options, Packet};
use ir::{Design, ElementId, Handler, Value};

/// Bytes behind the window.
const LENGTHS: &[usize] =
    &[0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1024, 1500, 9000];
const N_STATES: usize = 3;
const N_RANDOM_LENGTHS: usize = 6;

/// Random numbers that need no secrecy (Steele, Lea, Flood 2014: SplitMix64).
struct SplitMix(u64);

impl SplitMix {
    fn limb(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.limb() % bound as u64) as usize
    }

    fn bytes(&mut self, n_bytes: usize) -> Vec<u8> {
        (0..n_bytes).map(|_| self.limb() as u8).collect()
    }

    /// Any value of a width; of a few, all ones or all ones but for the last bits, from which counters wrap.
    fn value(&mut self, bits: u32) -> Value {
        let mut bytes = self.bytes(bits.div_ceil(8) as usize);
        if self.below(3) == 0 {
            bytes[1..].fill(0xff);
        }
        if !bits.is_multiple_of(8)
            && let Some(last) = bytes.last_mut()
        {
            *last &= (1 << (bits % 8)) - 1;
        }
        Value::from_le_bytes(&bytes)
    }
}

/// Entries of the library's files in which `.native` stands.
fn entries() -> Vec<CatalogueEntry> {
    let paths: Vec<String> = library::FILES
        .iter()
        .filter(|(_, text)| text.lines().any(|line| line.trim_start().starts_with(".native ")))
        .map(|(path, _)| path.to_string())
        .collect();
    catalogue(&paths, FileLoader::new(&[])).into_iter().filter(|entry| paths.contains(&entry.import)).collect()
}

/// The values that a parameter takes.
fn values(param: &ParamEntry) -> Vec<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let mut values: Vec<u64> = param.default.as_deref().and_then(number).into_iter().collect();
    if let Some((lo, hi)) = param.range.as_deref().and_then(|range| range.split_once(".."))
        && let (Some(lo), Some(hi)) = (number(lo), number(hi))
    {
        values.extend([lo, lo.midpoint(hi), hi]);
    }
    values.sort_unstable();
    values.dedup();
    values
}

/// The arguments of every instance, such as `DEPTH = 4, WIDTH = 8`.
fn arguments(params: &[ParamEntry]) -> Vec<String> {
    let Some((param, rest)) = params.split_first() else { return vec![String::new()] };
    let own: Vec<String> = values(param).iter().map(|value| format!(", {} = {value}", param.name)).collect();
    let own = if own.is_empty() { vec![String::new()] } else { own };
    arguments(rest).iter().flat_map(|rest| own.iter().map(move |own| format!("{own}{rest}"))).collect()
}

/// A design of one element between two ports, if the element accepts the arguments.
fn design(entry: &CatalogueEntry, arguments: &str) -> Option<Design> {
    let text = format!("import \"{}\"\n{} :: e (1, 1{arguments})\nnic_in -> e -> nic_out\n", entry.import, entry.name);
    compile("twin.clnp", &FileLoader::new(&[]).with_text("twin.clnp", &text)).design
}

/// Runs both on the same packets; gives how many the element passed on, or `None` if it does not accept its parameters.
fn compare(design: &Design, random: &mut SplitMix, name: &str) -> Option<usize> {
    let verified = ir::verify(design).expect("a compiled design keeps the rules");
    let element = ElementId(0);
    let mut judge = interp::Machine::new(design, element, Options::default());
    let mut native = jit::Machine::new(verified, element, Options::default()).expect("compiles");
    judge.init().ok()?;
    native.init().expect("as the interpreter");
    let Handler::Packet { window, .. } = &design.elements[0].handler else { panic!("{name}: only packets have twins") };
    let mut lengths: Vec<usize> = LENGTHS.iter().map(|length| *window as usize + length).collect();
    lengths.extend((0..N_RANDOM_LENGTHS).map(|_| random.below(*window as usize + 1600)));
    let mut n_passed = 0;
    for n_bytes in lengths {
        let mut expected = Packet::default();
        expected.set_bytes(&random.bytes(n_bytes));
        let mut found = expected.clone();
        let judged = judge.fire_packet(7, 1, &mut expected).expect("no assert fails on packets");
        let firing = native.fire_packet(7, 1, &mut found).expect("as the interpreter");
        assert_eq!(firing, judged, "{name}: a packet of {n_bytes} bytes");
        assert!(found.bytes() == expected.bytes(), "{name}: other bytes of a packet of {n_bytes}");
        assert!(native.state().eq(judge.state()), "{name}: another state after a packet of {n_bytes} bytes");
        n_passed += usize::from(judged.fate == ir::engine::Fate::Emitted(1));
    }
    Some(n_passed)
}

#[test]
fn twins_do_what_bodies_do() {
    let mut random = SplitMix(0x7715);
    for entry in entries() {
        let (mut n_instances, mut n_passed) = (0, 0);
        for arguments in arguments(&entry.params) {
            let Some(mut design) = design(&entry, &arguments) else { continue };
            if design.elements[0].native.is_none() {
                continue;
            }
            let name = format!("{}{arguments}", entry.name);
            for _ in 0..N_STATES {
                for var in &mut design.elements[0].vars {
                    let bits = var.width.bits();
                    var.reset = (0..var.depth.unwrap_or(1)).map(|_| random.value(bits)).collect();
                }
                let Some(passed) = compare(&design, &mut random, &name) else { break };
                (n_instances, n_passed) = (n_instances + 1, n_passed + passed);
            }
        }
        println!("{}: {n_instances} instances, {n_passed} packets passed on", entry.name);
        assert!(n_passed > 100, "{}: too few packets show anything", entry.name);
    }
}
