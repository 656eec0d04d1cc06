//! The arguments of every command, and the help texts that go with them.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::live::endpoint::Endpoint;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    errors in a source file or in a control file
  2    the command line cannot be understood
  3    a file is missing, damaged or cannot be written, the disk is full, or an
       interface is missing, refused or went away
  4    the run stopped: an assert failed, --strict met an access out of range, or
       elements kept each other busy without time moving on
  130  interrupted (Ctrl-C), unless the run was live; outputs are whole up to
       that point";

const FIRST_STEPS: &str = "\
First steps:
  flitwork new hello          make a project that passes traffic
  flitwork run hello          run it on the capture that comes with it
  flitwork elements           see what you can put into a graph
  flitwork graph hello        draw the graph";

/// Compile streaming applications and run them on captures.
///
/// An application (`app.clnp`) wires elements (parsers, tables, meters, rewriters) into a graph. Flitwork checks it, draws it,
/// and runs it on packet captures, counting where every packet went.
#[derive(Debug, Parser)]
#[command(name = "flitwork", version, after_help = FIRST_STEPS, after_long_help = format!("{FIRST_STEPS}\n\n{EXIT_CODES}"))]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a project folder: app.clnp, a control file, a capture and a README
    New(NewArgs),
    /// Run an application on captures or live interfaces and count where every packet went
    Run(RunArgs),
    /// Call a signal of a run that goes on, or ask it for its counters
    Signal(SignalArgs),
    /// Report every error and warning in source files
    Check(CheckArgs),
    /// Lay out source files in the one standard way
    Fmt(FmtArgs),
    /// Explain an error code, with an example of the fault and of the cure
    Explain(ExplainArgs),
    /// List the elements of the library, or describe one of them
    Elements(ElementsArgs),
    /// Draw the element graph (SVG), or print it for Graphviz
    Graph(GraphArgs),
    /// Print what the compiler makes of an application, stage by stage
    Dump(DumpArgs),
    /// Print a completion script for your shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
}

/// `flitwork new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwork new hello\n  flitwork new my-firewall --from Firewall")]
pub struct NewArgs {
    /// The folder to make; its last part is the project's name
    pub name: PathBuf,
    /// Start from this example instead of the starter
    #[arg(long, value_name = "EXAMPLE")]
    pub from: Option<String>,
}

/// Where source files are looked up.
#[derive(Debug, Args)]
pub struct LibraryArgs {
    /// Look for imports in DIR too, before the embedded library (repeatable)
    #[arg(long = "library", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
}

/// `flitwork check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwork check app.clnp\n  flitwork check elements --json")]
pub struct CheckArgs {
    /// Source files, or folders to check every .clnp file in
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub library: LibraryArgs,
    /// Print one JSON object for programs to read
    #[arg(long)]
    pub json: bool,
}

/// `flitwork fmt`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwork fmt app.clnp\n  flitwork fmt --check elements\n  flitwork fmt - < app.clnp"
)]
pub struct FmtArgs {
    /// Source files or folders; `-` formats standard input to standard output
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Change nothing; name the files that would change and exit with 1
    #[arg(long)]
    pub check: bool,
}

/// `flitwork explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwork explain E0201\n  flitwork explain         lists all codes")]
pub struct ExplainArgs {
    /// A code such as E0201
    pub code: Option<String>,
}

/// `flitwork elements`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  flitwork elements\n  flitwork elements Tee\n  flitwork elements --json")]
pub struct ElementsArgs {
    /// Describe this element (or alias); without it, list all
    pub name: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub library: LibraryArgs,
    /// Print one JSON object for programs to read
    #[arg(long)]
    pub json: bool,
}

/// `flitwork graph`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  flitwork graph examples/Firewall                      prints the graph for Graphviz
  flitwork graph examples/Firewall --svg firewall.svg   draws it")]
pub struct GraphArgs {
    /// An application: a folder with app.clnp, or a .clnp file
    pub app: PathBuf,
    /// Draw the graph into FILE (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write Graphviz text into FILE (`-`: standard output, which is also what happens without options)
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub library: LibraryArgs,
}

/// `flitwork dump`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwork dump --stage ir examples/Firewall\n  flitwork dump --stage ir --optimised app.clnp"
)]
pub struct DumpArgs {
    /// An application: a folder with app.clnp, or a .clnp file
    pub app: PathBuf,
    /// Which stage of the compiler to show
    #[arg(long, value_enum)]
    pub stage: Stage,
    /// Show the IR after the optimiser
    #[arg(long)]
    pub optimised: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub library: LibraryArgs,
}

/// Stages that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The syntax tree of the file
    Ast,
    /// Instances, channels and boundary ports, groups and repeats expanded
    Graph,
    /// The intermediate representation
    Ir,
}

const RUN_EXAMPLES: &str = "\
Examples:
  flitwork run examples/Firewall
  flitwork run examples/Firewall --in nic_in=traffic.pcap --out tor_out=passed.pcap
  flitwork run app.clnp --in nic_in=traffic.pcap --control rules --json
  tcpdump -w - -i eth0 | flitwork run app.clnp --in nic_in=- --out nic_out=out.pcapng

  sudo flitwork run examples/Firewall --in nic_in=af_packet:eth0 --out tor_out=af_packet:eth1 \
                                      --in tor_in=af_packet:eth1 --out nic_out=af_packet:eth0

A folder is run with what it holds: app.clnp, `control`, `in.pcap` for its first
input (nic_in if it has that) and `in.<port>.pcap` for others. Without --out
nothing is written; the counts are shown all the same.";

const ENDPOINTS: &str = "\
Instead of a file:
  af_packet:IFACE     a Linux interface; needs CAP_NET_RAW
  tap:NAME            a TAP device, made if there is none; needs CAP_NET_ADMIN
  pcap:FILE*N         (input) a capture N times; `*loop`: for ever
  gen:size=64|64-1500|imix,rate=1Mpps|1Gbps,flows=N,count=N,seed=N
                      (input) made UDP packets; every part may be left out
  null:               nothing comes in, what leaves is counted only
With an interface or a TAP device a run is live: it goes on until Ctrl-C or
--duration, in real time; captures and generators keep the pace of their stamps.";

const CONTROL_FILES: &str = "\
Control file: one call a line, `#` begins a comment. `@TIME` in front makes the
call at that packet time (seconds, as in the capture) instead of at the start.
  count.reset
  @1700000000.5 count.stats
`flitwork elements NAME` shows the signals of an element.";

/// `flitwork run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES, after_long_help = format!("{RUN_EXAMPLES}\n\n{ENDPOINTS}\n\n{CONTROL_FILES}\n\n{EXIT_CODES}"))]
pub struct RunArgs {
    /// An application: a folder with app.clnp, or a .clnp file
    pub app: PathBuf,
    /// Feed a boundary input from a pcap or pcapng file, or an interface (repeatable; `-`: standard input)
    #[arg(long = "in", value_name = "PORT=FILE", value_parser = OsStringValueParser::new().try_map(port_file))]
    pub inputs: Vec<PortFile>,
    /// Write what leaves at a boundary output: .pcap, .pcapng, or .jsonl for struct messages, or an interface (repeatable; `-`: standard output)
    #[arg(long = "out", value_name = "PORT=FILE", value_parser = OsStringValueParser::new().try_map(port_file))]
    pub outputs: Vec<PortFile>,
    /// Call signals from this file instead of the folder's `control`
    #[arg(long, value_name = "FILE")]
    pub control: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub library: LibraryArgs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
    /// What executes the elements
    #[arg(long, value_enum, default_value_t = Engine::Jit)]
    pub engine: Engine,
    /// Stop at the first array access out of range, and say where it is
    #[arg(long)]
    pub strict: bool,
    /// Run the `.body` of elements that name a native kernel for it
    #[arg(long)]
    pub no_twins: bool,
    /// Let timers go on for this many seconds of packet time after the last packet [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub linger: Option<u64>,
    /// End a live run after this many seconds; in a replay, let generators run for so much packet time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<u64>,
    /// Answer `flitwork signal` and JSON lines at this Unix socket, which only you may open
    #[arg(long, value_name = "PATH")]
    pub control_socket: Option<PathBuf>,
    /// Show counters to Prometheus at http://ADDRESS/metrics; the address must be a loopback one, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
    /// Show rates in the terminal while running
    #[arg(long)]
    pub top: bool,
}

/// `flitwork signal`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  flitwork signal /run/fw.sock inbound.insert priority=5 protocol=6 accept=true
  flitwork signal /run/fw.sock inbound.list cursor=all
  flitwork signal /run/fw.sock --load rules
  flitwork signal /run/fw.sock --counters
  flitwork signal /run/fw.sock --stop

PATH is that of `flitwork run --control-socket PATH`. For each line that programs
may write there see the manual.")]
#[command(group = ArgGroup::new("what").required(true).args(["call", "signals", "counters", "load", "stop"]))]
pub struct SignalArgs {
    /// The socket of the run
    pub path: PathBuf,
    /// INSTANCE.SIGNAL and its arguments, as in a control file
    #[arg(value_name = "INSTANCE.SIGNAL [NAME=VALUE]…")]
    pub call: Vec<String>,
    /// List the signals that can be called
    #[arg(long)]
    pub signals: bool,
    /// Print everything counted so far, as JSON
    #[arg(long)]
    pub counters: bool,
    /// Call every line of a control file; if one is bad, none
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    /// End the run, with its report
    #[arg(long)]
    pub stop: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

/// Engines that can run a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Native code
    Jit,
    /// The reference interpreter: the same results, slower, on every processor
    Interp,
}

impl Engine {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Interp => "interp",
            Engine::Jit => "jit",
        }
    }
}

/// `flitwork completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  flitwork completions bash > ~/.local/share/bash-completion/completions/flitwork")]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: Shell,
}

/// `flitwork man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  flitwork man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The folder to write into; it is made if missing
    pub dir: PathBuf,
}

/// A boundary port and the file or interface that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFile {
    /// The port.
    pub port: String,
    /// The file, or an interface in the same way, as the user wrote it.
    pub file: PathBuf,
    /// What that means.
    pub endpoint: Endpoint,
}

impl PortFile {
    /// A plain file.
    pub fn new(port: &str, file: PathBuf) -> PortFile {
        PortFile { port: port.to_string(), endpoint: Endpoint::File(file.clone()), file }
    }
}

/// File names are bytes and need not be UTF-8.
fn port_file(argument: OsString) -> Result<PortFile, String> {
    let bytes = argument.as_bytes();
    let parts = bytes.iter().position(|&byte| byte == b'=').map(|at| (&bytes[..at], &bytes[at + 1..]));
    match parts.and_then(|(port, file)| Some((std::str::from_utf8(port).ok()?, file))) {
        Some((port, file)) if !port.is_empty() && !file.is_empty() => {
            let file = OsStr::from_bytes(file);
            let endpoint = Endpoint::parse(file)?;
            Ok(PortFile { port: port.to_string(), file: PathBuf::from(file), endpoint })
        }
        Some(_) | None => Err("write it as PORT=FILE, for example nic_in=traffic.pcap".to_string()),
    }
}

/// Nanoseconds of a decimal number of seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let refusal = || format!("`{text}` is no number of seconds; write for example 2 or 0.5");
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || fraction.len() > 9 {
        return Err(refusal());
    }
    let nanoseconds: u64 = format!("{fraction:0<9}").parse().map_err(|_| refusal())?;
    let whole: u64 = whole.parse().map_err(|_| refusal())?;
    whole.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(nanoseconds)).ok_or_else(refusal)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{Cli, seconds};

    #[test]
    fn argument_table_has_no_conflicts() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        assert_eq!(seconds("2"), Ok(2_000_000_000));
        assert_eq!(seconds("0.5"), Ok(500_000_000));
        assert_eq!(seconds("0.000000001"), Ok(1));
        for bad in ["", "-1", ".5", "1e3", "0.0000000001", "99999999999999", "two"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
