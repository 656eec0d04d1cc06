//! Checks of the finished graph: open ports, cycles without a buffer, and a graph that nothing can enter.
//!
//! A cycle of lossless channels is an error unless one of them has a depth that the user gave (that is the user's buffer, and
//! the user's promise that it is deep enough), because a full cycle of channels that wait for each other never moves again.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic, Span};
use ir::ChannelEnd;
use syntax::ast::{GraphStmt, Item};

use crate::connect::Joined;
use crate::elaborate::{Elaborated, End, GroupSide, Role};
use crate::files::ParsedFile;
use crate::scope::Diagnostics;

/// Every instance, group instance and boundary port must have all its ports connected.
pub fn open_ports(elaborated: &Elaborated<'_>, diags: &mut Diagnostics) {
    let is_used = |end: End, role: Role| elaborated.used.contains_key(&(end, role));
    for (at, node) in elaborated.nodes.iter().enumerate().filter(|(_, node)| !node.is_in_doubt) {
        let open = |n_ports: usize, role| open_numbers(n_ports as u32, |port| is_used(End::Node(at, port), role));
        let open =
            Open { inputs: open(node.inputs.len(), Role::Sink), outputs: open(node.outputs.len(), Role::Source) };
        open.report(&node.name, node.span, node.inputs.len() + node.outputs.len(), diags);
    }
    for (at, joint) in elaborated.joints.iter().enumerate().filter(|(_, joint)| !joint.is_in_doubt) {
        let (n_inputs, n_outputs) = (joint.n_inputs.unwrap_or(0), joint.n_outputs.unwrap_or(0));
        let open = |n_ports, side, role| open_numbers(n_ports, |port| is_used(End::Group(at, side, port), role));
        let outside = Open {
            inputs: open(n_inputs, GroupSide::In, Role::Sink),
            outputs: open(n_outputs, GroupSide::Out, Role::Source),
        };
        outside.report(&joint.name, joint.span, (n_inputs + n_outputs) as usize, diags);
        inner_ports(
            joint.decl,
            &open(n_inputs, GroupSide::In, Role::Source),
            &open(n_outputs, GroupSide::Out, Role::Sink),
            diags,
        );
    }
    for (at, boundary) in elaborated.boundaries.iter().enumerate() {
        if !is_used(End::Boundary(at), Role::Source) && !is_used(End::Boundary(at), Role::Sink) {
            let message = format!("`{}` is never connected", boundary.name);
            diags.add(Diagnostic::new(Code::E0214, boundary.span, message, "connect it, or remove this line"));
        }
    }
}

/// Numbers from 1 of the open ports of one instance.
struct Open {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl Open {
    fn report(&self, name: &str, span: Span, n_ports: usize, diags: &mut Diagnostics) {
        let n_open = self.inputs.len() + self.outputs.len();
        if n_open == 0 {
            return;
        }
        if n_open == n_ports {
            let message = format!("instance `{name}` is never connected");
            let help = format!("connect it, for example `nic_in -> {name} -> nic_out`, or remove it");
            diags.add(Diagnostic::new(Code::E0214, span, message, help));
            return;
        }
        let sides = [("input", &self.inputs), ("output", &self.outputs)];
        let open: Vec<String> = sides.into_iter().filter(|(_, ports)| !ports.is_empty()).map(ports_text).collect();
        let verb = if n_open == 1 { "is" } else { "are" };
        let message = format!("{} of `{name}` {verb} not connected", open.join(" and "));
        let remedy = match (name.contains('#'), self.outputs.first(), self.inputs.first()) {
            (true, ..) => "to reach the other ports of an instance, declare it with a name".to_string(),
            (false, Some(port), _) => format!("`{name}[{port}] -> Drop` throws away what comes out"),
            (false, None, Some(port)) => format!("`Idle -> [{port}]{name}` says that nothing comes in"),
            (false, None, None) => unreachable!("some port is open"),
        };
        diags.add(Diagnostic::new(Code::E0205, span, message, format!("connect all ports; {remedy}")));
    }
}

/// `output 2`, `inputs 1, 3`.
fn ports_text((noun, ports): (&str, &Vec<u32>)) -> String {
    let numbers: Vec<String> = ports.iter().map(u32::to_string).collect();
    let plural = if ports.len() == 1 { "" } else { "s" };
    format!("{noun}{plural} {}", numbers.join(", "))
}

fn open_numbers(n_ports: u32, is_used: impl Fn(u32) -> bool) -> Vec<u32> {
    (0..n_ports).filter(|&port| !is_used(port)).map(|port| port + 1).collect()
}

fn inner_ports(group: &syntax::ast::GroupDecl, inputs: &[u32], outputs: &[u32], diags: &mut Diagnostics) {
    let name = &group.name.text;
    let (what, help) = match (inputs.first(), outputs.first()) {
        (None, None) => return,
        (Some(port), _) => (format!("input {port}"), format!("add a chain `begin[{port}] -> …` to the group")),
        (None, Some(port)) => (format!("output {port}"), format!("add a chain `… -> [{port}]end` to the group")),
    };
    let message = format!("{what} of group `{name}` leads nowhere inside");
    diags.add(Diagnostic::new(Code::E0205, group.name.span, message, help));
}

/// Reports each knot of lossless channels without a depth by one of its shortest cycles.
pub fn cycles(elaborated: &Elaborated<'_>, channels: &[Joined], diags: &mut Diagnostics) {
    let n_nodes = elaborated.nodes.len();
    let mut next: Vec<Vec<Edge>> = vec![Vec::new(); n_nodes];
    for (at, Joined { channel, has_own_depth }) in channels.iter().enumerate() {
        if let (ChannelEnd::Element { element: from, .. }, ChannelEnd::Element { element: to, .. }) =
            (channel.from, channel.to)
            && !channel.lossy
            && !has_own_depth
        {
            next[from.index()].push((to.index(), at));
        }
    }
    for knot in knots(&next) {
        let start = *knot.iter().min().expect("a knot has a node");
        let Some(cycle) = shortest_cycle(start, &next) else { continue };
        diags.add(cycle_report(elaborated, channels, &cycle));
    }
}

/// Where a lossless channel leads, and its position among the channels.
type Edge = (usize, usize);

fn cycle_report(elaborated: &Elaborated<'_>, channels: &[Joined], cycle: &[Edge]) -> Diagnostic {
    let mut names: Vec<&str> = cycle.iter().map(|(node, _)| elaborated.nodes[*node].name.as_str()).collect();
    names.push(names[0]);
    let message = format!("these lossless channels wait for each other: {}", names.join(" -> "));
    let span = |edge: &Edge| channels[edge.1].channel.span;
    let (closing, others) = cycle.split_last().expect("a cycle has a channel");
    let (from, to) = (names[cycle.len() - 1], names[0]);
    let (output, input) = match (channels[closing.1].channel.from, channels[closing.1].channel.to) {
        (ChannelEnd::Element { port: output, .. }, ChannelEnd::Element { port: input, .. }) => (output + 1, input + 1),
        _ => unreachable!("edges are channels between elements"),
    };
    let help = format!(
        "give the way back room for all that can be under way, `{from}[{output}] -> [{input}]{to}[1*1024]`, \
         or let it drop, `{from}[{output}] => [{input}]{to}`"
    );
    let report = Diagnostic::new(Code::E0207, span(closing), message, help).label("closes the cycle");
    others.iter().fold(report, |report, edge| report.related(span(edge), ""))
}

/// The shortest way from a node back to itself: each node with the channel that leaves it.
fn shortest_cycle(start: usize, next: &[Vec<Edge>]) -> Option<Vec<Edge>> {
    let mut came_from: BTreeMap<usize, Edge> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &(to, channel) in &next[node] {
            if came_from.contains_key(&to) {
                continue;
            }
            came_from.insert(to, (node, channel));
            queue.push_back(to);
        }
        if came_from.contains_key(&start) {
            break;
        }
    }
    let mut cycle = Vec::new();
    let mut at = start;
    loop {
        let &(before, channel) = came_from.get(&at)?;
        cycle.push((before, channel));
        at = before;
        if at == start {
            cycle.reverse();
            return Some(cycle);
        }
    }
}

/// Strongly connected components with a cycle, by Tarjan's algorithm without recursion.
fn knots(next: &[Vec<Edge>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n_nodes = next.len();
    let (mut index, mut low, mut on_stack) = (vec![UNSEEN; n_nodes], vec![0; n_nodes], vec![false; n_nodes]);
    let (mut stack, mut count, mut knots) = (Vec::new(), 0, Vec::new());
    for root in 0..n_nodes {
        if index[root] != UNSEEN {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                (index[node], low[node], on_stack[node]) = (count, count, true);
                stack.push(node);
                count += 1;
            }
            if let Some(&(to, _)) = next[node].get(edge) {
                work.push((node, edge + 1));
                if index[to] == UNSEEN {
                    work.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            if let Some(&(parent, _)) = work.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let at = stack.iter().position(|&on| on == node).expect("a node stays until its component is complete");
                let component = stack.split_off(at);
                component.iter().for_each(|&member| on_stack[member] = false);
                let loops_itself = next[node].iter().any(|&(to, _)| to == node);
                if component.len() > 1 || loops_itself {
                    knots.push(component);
                }
            }
        }
    }
    knots.sort();
    knots
}

/// Warns of a graph with neither a boundary input nor an element that makes messages.
pub fn sources(elaborated: &Elaborated<'_>, span: Span, diags: &mut Diagnostics) {
    let has_source = elaborated.nodes.iter().any(|node| node.inputs.is_empty());
    let has_boundary = elaborated.boundaries.iter().any(|boundary| boundary.direction == ir::BoundaryDirection::In);
    if !has_source && !has_boundary {
        let help = "begin a chain with `nic_in`, `tor_in` or `host_in`, or with an element that has no inputs";
        diags.add(Diagnostic::new(Code::W0202, span, "nothing can enter this graph", help));
    }
}

/// Warns of imports whose files have a graph, which is not part of the application.
pub fn imported_graphs(root: &ParsedFile, files: &[ParsedFile], diags: &mut Diagnostics) {
    let imports = root.ast.items.iter().filter_map(|item| match item {
        Item::Import(import) => Some(import),
        _ => None,
    });
    let has_graph = |file: &ParsedFile| file.ast.items.iter().any(|item| matches!(item, Item::Graph(_)));
    for (import, id) in imports.zip(&root.imports) {
        if *id != root.id && files.iter().any(|file| file.id == *id && has_graph(file)) {
            let message = format!("`{}` has a graph of its own, which is ignored here", import.path);
            let help = "import a file without a graph; to use that graph here, make it an `.element_group`";
            diags.add(Diagnostic::new(Code::W0201, import.path_span, message, help));
        }
    }
}

/// Where a graph statement stands.
pub fn stmt_span(stmt: &GraphStmt) -> Span {
    match stmt {
        GraphStmt::Instance(decl) => decl.span,
        GraphStmt::Chain(chain) => chain.span,
        GraphStmt::Repeat(repeat) => repeat.span,
        GraphStmt::Break(span) | GraphStmt::If { span, .. } => *span,
    }
}
