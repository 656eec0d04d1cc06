//! The rows of the benchmark: for each an application, its control lines, its packets, and the programs written by hand.

use std::fmt::Write;

use crate::batch::{Batch, Driver, Program};
use crate::ceilings::{Balancer, CachedFirewall, Copy, Firewall, Limiter, Pass, Router, Server};
use crate::traffic::{
    self, Flow, N_FLOWS, N_HOPS, N_ROUTES, Prefix, Route, Rule, SERVICE, filtered_flows, flows, hop, routed_flows,
    service_flows,
};

/// Places in the flow tables of both sides.
const FLOW_SLOTS: usize = 32_768;
const N_SERVERS: u8 = 8;

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Nothing but packets in and out.
    Copy,
    /// Pass, Counter, Tee with one branch that ends, Pass.
    Pass,
    /// Header checks, route, next hop.
    Router,
    /// 64 rules.
    Firewall64,
    /// 1,000 rules.
    Firewall1000,
    /// 10,000 flows to 8 servers.
    Balancer,
    /// A bucket for each of 10,000 flows.
    Limiter,
    /// A flit element that forwards.
    FlitPass,
    /// A flit element with two outputs.
    FlitTee,
}

/// All rows, in the order of the tables.
pub const ROWS: &[Row] = &[
    Row::Copy,
    Row::Pass,
    Row::Router,
    Row::Firewall64,
    Row::Firewall1000,
    Row::Balancer,
    Row::Limiter,
    Row::FlitPass,
    Row::FlitTee,
];

/// Routes and rules that rows share.
pub struct Tables {
    routes: Vec<Route>,
    rules_64: Vec<Rule>,
    rules_1000: Vec<Rule>,
}

impl Tables {
    /// Makes them.
    pub fn new() -> Tables {
        Tables { routes: traffic::routes(N_ROUTES), rules_64: traffic::rules(64), rules_1000: traffic::rules(1_000) }
    }
}

/// A signal of the element for which the application is named.
pub struct Signal {
    pub name: &'static str,
    pub arguments: Vec<(&'static str, u64)>,
}

/// A program written by hand, of any row.
pub trait Ceiling {
    /// Runs some batches.
    fn run(&mut self, driver: &mut Driver<'_>, n_batches: usize);

    /// Runs some batches, and shows each when it is through.
    fn run_shown(&mut self, driver: &mut Driver<'_>, n_batches: usize, show: &mut dyn FnMut(&mut Batch));
}

impl<P: Program> Ceiling for P {
    fn run(&mut self, driver: &mut Driver<'_>, n_batches: usize) {
        driver.run(self, n_batches);
    }

    fn run_shown(&mut self, driver: &mut Driver<'_>, n_batches: usize, show: &mut dyn FnMut(&mut Batch)) {
        driver.run_shown(self, n_batches, show);
    }
}

impl Row {
    /// The name of the row, and of its application in `bench/apps`.
    pub fn name(self) -> &'static str {
        match self {
            Row::Copy => "copy",
            Row::Pass => "pass",
            Row::Router => "router",
            Row::Firewall64 => "firewall_64",
            Row::Firewall1000 => "firewall_1000",
            Row::Balancer => "balancer",
            Row::Limiter => "limiter",
            Row::FlitPass => "flit_pass",
            Row::FlitTee => "flit_tee",
        }
    }

    /// Source of the application.
    pub fn app(self) -> &'static str {
        match self {
            Row::Copy => include_str!("../../apps/copy.clnp"),
            Row::Pass => include_str!("../../apps/pass.clnp"),
            Row::Router => include_str!("../../apps/router.clnp"),
            Row::Firewall64 => include_str!("../../apps/firewall_64.clnp"),
            Row::Firewall1000 => include_str!("../../apps/firewall_1000.clnp"),
            Row::Balancer => include_str!("../../apps/balancer.clnp"),
            Row::Limiter => include_str!("../../apps/limiter.clnp"),
            Row::FlitPass => include_str!("../../apps/flit_pass.clnp"),
            Row::FlitTee => include_str!("../../apps/flit_tee.clnp"),
        }
    }

    /// Boundary outputs of the application, in the order of the outputs of the programs.
    pub fn outputs(self) -> &'static [&'static str] {
        match self {
            Row::Router => &["tor_out", "nic_out", "host_out"],
            _ => &["tor_out"],
        }
    }

    /// Lines that fill the tables.
    pub fn control(self, tables: &Tables) -> String {
        match self {
            Row::Router => routes_control(&tables.routes),
            Row::Firewall64 => rules_control(&tables.rules_64),
            Row::Firewall1000 => rules_control(&tables.rules_1000),
            Row::Balancer => balancer_control(),
            Row::Copy | Row::Pass | Row::Limiter | Row::FlitPass | Row::FlitTee => String::new(),
        }
    }

    /// Flows of the packets, of which there are `n_packets` in a trace.
    pub fn flows(self, tables: &Tables, n_packets: usize) -> Vec<Flow> {
        match self {
            Row::Router => routed_flows(&tables.routes, n_packets),
            Row::Firewall64 => filtered_flows(&tables.rules_64, N_FLOWS),
            Row::Firewall1000 => filtered_flows(&tables.rules_1000, N_FLOWS),
            Row::Balancer => service_flows(N_FLOWS),
            Row::Copy | Row::Pass | Row::Limiter | Row::FlitPass | Row::FlitTee => flows(N_FLOWS),
        }
    }

    /// Programs that do the same by hand, for packets of this length. The first is the one to be compared with.
    pub fn ceilings(self, tables: &Tables, packet_bytes: usize) -> Vec<(&'static str, Box<dyn Ceiling>)> {
        match self {
            Row::Copy | Row::FlitPass | Row::FlitTee => vec![("ceiling", Box::new(Copy))],
            Row::Pass => vec![("ceiling", Box::new(Pass::default()))],
            Row::Router => vec![("ceiling", Box::new(Router::new(&tables.routes, (0..N_HOPS).map(hop))))],
            Row::Firewall64 => vec![("ceiling", Box::new(Firewall::<1>::new(&tables.rules_64)))],
            Row::Firewall1000 => vec![
                ("ceiling", Box::new(Firewall::<16>::new(&tables.rules_1000))),
                ("ceiling with cache", Box::new(CachedFirewall::<16>::new(&tables.rules_1000, FLOW_SLOTS))),
            ],
            Row::Balancer => {
                let servers = (0..N_SERVERS).map(server).collect();
                vec![("ceiling", Box::new(Balancer::new(SERVICE, servers, FLOW_SLOTS)))]
            }
            Row::Limiter => {
                let (rate, burst) = rate_and_burst(packet_bytes);
                vec![("ceiling", Box::new(Limiter::new(FLOW_SLOTS, rate, burst)))]
            }
        }
    }

    /// Signals that suit the application to packets of this length.
    pub fn signals(self, packet_bytes: usize) -> Vec<Signal> {
        let (rate, burst) = rate_and_burst(packet_bytes);
        match self {
            Row::Limiter => vec![
                Signal { name: "set", arguments: vec![("rate_bps", rate), ("burst_bytes", burst)] },
                Signal { name: "clear", arguments: Vec::new() },
            ],
            _ => Vec::new(),
        }
    }
}

/// Bits a second twice what a flow sends on average, and bytes of ten packets.
fn rate_and_burst(packet_bytes: usize) -> (u64, u64) {
    let packets_per_second = 1_000_000_000 / traffic::GAP_NS / N_FLOWS as u64;
    (2 * packets_per_second * 8 * packet_bytes as u64, 10 * packet_bytes as u64)
}

fn server(number: u8) -> Server {
    Server {
        address: 0x0a00_000b + u32::from(number),
        port: 8080,
        station: [2, 0, 0, 0, 1, number],
        packets: 0,
        flows: 0,
    }
}

fn dotted(address: u32) -> std::net::Ipv4Addr {
    address.into()
}

fn station(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

fn routes_control(routes: &[Route]) -> String {
    let mut lines = String::new();
    for number in 0..N_HOPS {
        let (to, from, port) = hop(number);
        let (to, from) = (station(to), station(from));
        writeln!(lines, "hops.insert index={number} station={to} source={from} port={port}").expect("text grows");
    }
    for route in routes {
        let Route { prefix, length, hop } = *route;
        let prefix = dotted(prefix);
        writeln!(lines, "routes.insert version=4 prefix={prefix} length={length} next_hop={hop}").expect("text grows");
    }
    lines
}

fn rules_control(rules: &[Rule]) -> String {
    let mut lines = String::new();
    for (priority, rule) in rules.iter().enumerate() {
        let protocol = rule.protocol.map_or(256, u16::from);
        let prefix = |prefix: Prefix| (dotted(prefix.address), prefix.length);
        let ((src, src_len), (dst, dst_len)) = (prefix(rule.src), prefix(rule.dst));
        let ((sport_lo, sport_hi), (dport_lo, dport_hi)) = (rule.sports, rule.dports);
        let accept = rule.accept;
        writeln!(
            lines,
            "wall.insert priority={priority} version=4 protocol={protocol} src={src} src_len={src_len} dst={dst} \
             dst_len={dst_len} sport_lo={sport_lo} sport_hi={sport_hi} dport_lo={dport_lo} dport_hi={dport_hi} \
             accept={accept}"
        )
        .expect("text grows");
    }
    lines
}

fn balancer_control() -> String {
    let (address, port) = (dotted(SERVICE.0), SERVICE.1);
    let mut lines = format!("balancer.set_service version=4 address={address} port={port}\n");
    for Server { address, port, station: to, .. } in (0..N_SERVERS).map(server) {
        let (address, to) = (dotted(address), station(to));
        writeln!(lines, "balancer.add version=4 address={address} port={port} station={to} weight=1")
            .expect("text grows");
    }
    lines
}
