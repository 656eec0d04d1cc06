//! What the engines are given, at random or from files.
//!
//! A folder holds `design.ir`, `packets.txt` (a line a packet: `PORT @TIME_NS missing=N link=N HEX`), `control.txt` (as control
//! files are) and `settings.txt` (`name value`).

use std::path::Path;
use std::{fs, io};

use ir::generate::{Hostility, Random, graph};
use ir::{BoundaryDirection, Design, Handler, Spans};
use runtime::Bounds;

/// A packet that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Boundary port.
    pub port: String,
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// Bytes that the capture lacks.
    pub missing: u32,
    /// As in pcap.
    pub link_type: u32,
    /// As captured.
    pub bytes: Vec<u8>,
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether the first access out of range ends the run.
    pub bounds: Bounds,
    /// Rounds that loops may take in a firing.
    pub loop_rounds_max: u64,
}

/// A design and what happens to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The design; it verifies.
    pub design: Design,
    /// In the order in which each port gives them.
    pub arrivals: Vec<Arrival>,
    /// Lines of a control file.
    pub control: Vec<String>,
    /// Limits.
    pub settings: Settings,
}

/// Loops of generated designs end long before this.
const ROUNDS_MANY: u64 = 1 << 20;

impl Case {
    /// The case of a seed. One in three seeds is hostile: offsets, indices and lengths lie near every border.
    pub fn random(seed: u64) -> Case {
        let mut random = Random(seed ^ 0x0a9e_e3e7);
        let hostility = if random.one_in(3) { Hostility::Hostile } else { Hostility::Friendly };
        let size = random.pick(&[4, 10, 25, 25, 60]);
        let design = graph(random.bits(), size, hostility);
        let bounds = if random.one_in(6) { Bounds::Strict } else { Bounds::Lenient };
        let loop_rounds_max = if random.one_in(10) { 40 } else { ROUNDS_MANY };
        let arrivals = arrivals(&design, hostility, &mut random);
        let control = control(&design, &mut random);
        Case { design, arrivals, control, settings: Settings { bounds, loop_rounds_max } }
    }

    /// Writes the files of a folder, which is made.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("design.ir"), ir::print(&self.design, Spans::Omit))?;
        let packets: String = self.arrivals.iter().map(|arrival| line(arrival) + "\n").collect();
        fs::write(folder.join("packets.txt"), packets)?;
        fs::write(folder.join("control.txt"), self.control.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        let bounds = if self.settings.bounds == Bounds::Strict { "strict" } else { "lenient" };
        let rounds = self.settings.loop_rounds_max;
        fs::write(folder.join("settings.txt"), format!("bounds {bounds}\nloop_rounds_max {rounds}\n"))
    }

    /// Reads the files of a folder; the error says what is wrong.
    pub fn load(folder: &Path) -> Result<Case, String> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let design = ir::parse(&read("design.ir")?).map_err(|error| format!("design.ir: {error}"))?;
        let arrivals = read("packets.txt")?.lines().map(parse_line).collect::<Result<_, _>>()?;
        let control = read("control.txt")?.lines().map(str::to_string).collect();
        let mut settings = Settings { bounds: Bounds::Lenient, loop_rounds_max: ROUNDS_MANY };
        for line in read("settings.txt")?.lines() {
            match line.split_once(' ') {
                Some(("bounds", "strict")) => settings.bounds = Bounds::Strict,
                Some(("bounds", "lenient")) => settings.bounds = Bounds::Lenient,
                Some(("loop_rounds_max", rounds)) => {
                    settings.loop_rounds_max = rounds.parse().map_err(|error| format!("settings.txt: {error}"))?;
                }
                _ => return Err(format!("settings.txt: what is `{line}`?")),
            }
        }
        Ok(Case { design, arrivals, control, settings })
    }
}

fn line(arrival: &Arrival) -> String {
    let hex: String = arrival.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let Arrival { port, time_ns, missing, link_type, .. } = arrival;
    format!("{port} @{time_ns} missing={missing} link={link_type} {hex}")
}

fn parse_line(line: &str) -> Result<Arrival, String> {
    let wrong = || format!("packets.txt: what is `{line}`?");
    let words: Vec<&str> = line.split(' ').collect();
    let [port, time, missing, link, hex] = words[..] else { return Err(wrong()) };
    let number = |word: &str, prefix: &str| word.strip_prefix(prefix).and_then(|number| number.parse::<u64>().ok());
    let byte = |at: usize| hex.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let parsed = || {
        Some(Arrival {
            port: port.to_string(),
            time_ns: number(time, "@")?,
            missing: u32::try_from(number(missing, "missing=")?).ok()?,
            link_type: u32::try_from(number(link, "link=")?).ok()?,
            bytes: (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?,
        })
    };
    parsed().ok_or_else(wrong)
}

fn arrivals(design: &Design, hostility: Hostility, random: &mut Random) -> Vec<Arrival> {
    let is_input = |boundary: &&ir::Boundary| boundary.direction == BoundaryDirection::In;
    let ports: Vec<&str> = design.boundaries.iter().filter(is_input).map(|boundary| boundary.name.as_str()).collect();
    let windows: Vec<u64> = design
        .elements
        .iter()
        .filter_map(|element| match element.handler {
            Handler::Packet { window, .. } => Some(u64::from(window)),
            Handler::Flit(_) => None,
        })
        .chain([64])
        .collect();
    let mut time_ns = 1_000_000;
    let n_packets = 1 + random.below(40);
    (0..n_packets)
        .map(|_| {
            time_ns += random.pick(&[0, 0, 1, 10, 100, 1_000, 50_000]);
            let stamp = if random.one_in(12) { time_ns - 30 } else { time_ns };
            let near_window = (random.pick(&windows) + random.below(5)).saturating_sub(2);
            let n_bytes = match (hostility, random.below(6)) {
                (Hostility::Hostile, 0..=3) | (_, 0) => random.below(71),
                (_, 1) => near_window,
                _ => random.pick(&[14, 60, 60, 64, 65, 128, 300, 1500]),
            };
            // Few values, so that elements meet the same ones again and branches go both ways.
            let mut bytes: Vec<u8> = (0..n_bytes).map(|_| random.pick(&[0, 0, 1, 2, 8, 69, 255])).collect();
            if random.one_in(6) {
                bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
            }
            Arrival {
                port: random.pick(&ports).to_string(),
                time_ns: stamp,
                missing: if random.one_in(8) { random.below(2000) as u32 } else { 0 },
                link_type: if random.one_in(20) { 101 } else { 1 },
                bytes,
            }
        })
        .collect()
}

/// Signals before, between and after the packets.
fn control(design: &Design, random: &mut Random) -> Vec<String> {
    let signals: Vec<(&str, &ir::Signal)> = design
        .elements
        .iter()
        .flat_map(|element| element.signals.iter().map(|signal| (element.name.as_str(), signal)))
        .collect();
    if signals.is_empty() {
        return Vec::new();
    }
    (0..random.below(10))
        .map(|_| {
            let (element, signal) = random.pick(&signals);
            let time = match random.below(4) {
                0 => String::new(),
                1 => "@end ".to_string(),
                _ => format!("@0.{:09} ", 1_000_000 + random.below(200_000)),
            };
            let arguments: String =
                signal.params.iter().map(|param| format!(" {}={}", param.name, random.value(param.width))).collect();
            format!("{time}{element}.{}{arguments}", signal.name)
        })
        .collect()
}
