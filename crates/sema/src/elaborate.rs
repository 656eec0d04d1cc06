//! From graph statements to instances and links.
//!
//! Groups are inlined: their inner instances join the flat list under the group's path, and each port of a group becomes a
//! joint between an outer and an inner link, which `connect.rs` takes out again. A chain node with an error becomes
//! [`End::Unknown`], so that one fault does not show as others at the far end of its arrows.

mod chain;

use std::collections::BTreeMap;
use std::rc::Rc;

use diag::{Code, Diagnostic, Span};
use ir::{Boundary, BoundaryDirection, Design, MessageTypeId};
use syntax::ast::{self, Ident, InstanceConfig, InstanceDecl};

use crate::arguments::{self, Arguments, Params};
use crate::boundary::{self, Builtin};
use crate::consts::{self, ConstEnv};
use crate::expand::{self, Flat, FlatStmt};
use crate::library::Library;
use crate::number::Number;
use crate::ports::{self, MessageTypes, Side};
use crate::resolve::{self, Instantiable};
use crate::scope::{Decls, Diagnostics};

/// Greatest depth of a channel in messages.
const DEPTH_MAX: u64 = 65_536;

/// An element instance before lowering.
pub struct Node<'a> {
    /// Groups as path.
    pub name: String,
    /// The element.
    pub decl: &'a ast::ElementDecl,
    /// Every parameter.
    pub params: Params,
    /// `@`, `&`, `host`.
    pub flags: Flags,
    /// Message type of each input.
    pub inputs: Vec<MessageTypeId>,
    /// Message type of each output.
    pub outputs: Vec<MessageTypeId>,
    /// Depth of its outgoing channels, if given.
    pub depth: Option<u32>,
    /// The instance declaration.
    pub span: Span,
    /// A port of it was misused; which one was meant is unknown, so open ports are not reported.
    pub is_in_doubt: bool,
}

/// A group instance: what is left of it are its ports.
pub struct Joint<'a> {
    /// Path.
    pub name: String,
    /// The group.
    pub decl: &'a ast::GroupDecl,
    /// Ports, once known: a group may leave it to its body.
    pub n_inputs: Option<u32>,
    /// Ports, once known.
    pub n_outputs: Option<u32>,
    /// Depth of its outgoing channels, if given.
    pub depth: Option<u32>,
    /// The instance declaration.
    pub span: Span,
    /// As for [`Node`].
    pub is_in_doubt: bool,
}

/// What stands before and after an instance's name; a group's flags hold for all in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `@`.
    pub host_control: bool,
    /// `&`.
    pub autorun: bool,
    /// `host`.
    pub on_host: bool,
}

/// A side of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupSide {
    /// `begin`.
    In,
    /// `end`.
    Out,
}

/// One end of a link; ports count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A port of an instance.
    Node(usize, u32),
    /// A boundary port.
    Boundary(usize),
    /// A port of a group, from outside or inside.
    Group(usize, GroupSide, u32),
    /// `Drop` or `Idle`.
    Null,
    /// Already reported.
    Unknown,
}

/// Whether an end writes or reads the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Stands before the arrow.
    Source,
    /// Stands behind it.
    Sink,
}

/// An arrow.
#[derive(Clone, Copy, Debug)]
pub struct RawLink {
    /// Before the arrow.
    pub from: End,
    /// Behind it.
    pub to: End,
    /// As given in the chain.
    pub depth: Option<u32>,
    /// `=>`.
    pub lossy: bool,
    /// The arrow.
    pub span: Span,
}

/// All instances and links of an application.
pub struct Elaborated<'a> {
    /// Element instances in source order.
    pub nodes: Vec<Node<'a>>,
    /// Group instances.
    pub joints: Vec<Joint<'a>>,
    /// Arrows in source order.
    pub links: Vec<RawLink>,
    /// Where each port is used first.
    pub used: BTreeMap<(End, Role), Span>,
    /// Boundary ports in order of appearance.
    pub boundaries: Vec<Boundary>,
    /// Message types of all ports.
    pub message_types: MessageTypes,
}

/// Elaborates the main graph.
pub fn elaborate<'a>(
    stmts: impl IntoIterator<Item = &'a ast::GraphStmt>,
    decls: &Decls<'a>,
    library: &Library<'_>,
    diags: &mut Diagnostics,
) -> Elaborated<'a> {
    let mut elaborator = Elaborator {
        out: Elaborated::empty(),
        library,
        diags,
        open_groups: Vec::new(),
        budget: expand::STATEMENTS_MAX,
    };
    let env = Rc::new(ConstEnv { decls, names: BTreeMap::new() });
    let flats = expand::expand(stmts, &env, &mut elaborator.budget, elaborator.diags);
    elaborator.scope(&flats, Scope::new(String::new(), None, Flags::default()));
    // A graph that was cut off, which is reported, has open ends everywhere.
    if elaborator.budget == 0 { Elaborated::empty() } else { elaborator.out }
}

impl Elaborated<'_> {
    fn empty() -> Self {
        Elaborated {
            nodes: Vec::new(),
            joints: Vec::new(),
            links: Vec::new(),
            used: BTreeMap::new(),
            boundaries: Vec::new(),
            message_types: MessageTypes::new(),
        }
    }
}

/// What a name of a scope, or a chain node, stands for.
#[derive(Clone, Copy)]
enum Target {
    Node(usize),
    Group(usize),
    Builtin(Builtin),
    Unknown,
}

/// The main graph or the inside of a group instance.
struct Scope {
    /// `encap/`, or nothing.
    prefix: String,
    group: Option<usize>,
    flags: Flags,
    names: BTreeMap<String, (Target, Span)>,
    /// How many anonymous instances each element has.
    anonymous: BTreeMap<String, u32>,
}

impl Scope {
    fn new(prefix: String, group: Option<usize>, flags: Flags) -> Scope {
        Scope { prefix, group, flags, names: BTreeMap::new(), anonymous: BTreeMap::new() }
    }
}

struct Elaborator<'a, 'x, 'l> {
    out: Elaborated<'a>,
    library: &'x Library<'l>,
    diags: &'x mut Diagnostics,
    /// Groups that are being inlined, outermost first.
    open_groups: Vec<&'a str>,
    budget: usize,
}

/// An instance to be made.
struct Wanted<'x, 'd, 'a> {
    name: String,
    config: &'a InstanceConfig,
    flags: Flags,
    env: &'x Rc<ConstEnv<'d, 'a>>,
    span: Span,
}

impl<'a> Elaborator<'a, '_, '_> {
    fn scope(&mut self, flats: &[Flat<'_, 'a>], mut scope: Scope) {
        for flat in flats {
            if let FlatStmt::Instance(decl) = flat.stmt {
                self.declare(decl, &flat.env, &mut scope);
            }
        }
        for flat in flats {
            if let FlatStmt::Chain(chain) = flat.stmt {
                self.chain(chain, &flat.env, &mut scope);
            }
        }
    }

    fn declare(&mut self, decl: &'a InstanceDecl, env: &Rc<ConstEnv<'_, 'a>>, scope: &mut Scope) {
        if decl.names.is_empty() {
            return self.boundary_setting(decl, env);
        }
        let element = resolve::instantiable(env.decls, &decl.element.text);
        if element.is_none() {
            self.diags.add(self.library.unknown_element(&decl.element, env.decls));
        }
        for template in &decl.names {
            let name = match expand::name_text(template, env) {
                Ok(name) => name,
                Err(diagnostic) => {
                    self.diags.add(diagnostic);
                    continue;
                }
            };
            if let Some(report) = name_taken(&name, template, scope) {
                self.diags.add(report);
                continue;
            }
            let flags = self.flags(decl.on_host, &decl.config, scope);
            let path = format!("{}{name}", scope.prefix);
            let wanted = Wanted { name: path, config: &decl.config, flags, env, span: template.span };
            let target = element.map_or(Target::Unknown, |element| self.instantiate(element, wanted));
            scope.names.insert(name, (target, template.span));
        }
    }

    fn flags(&self, on_host: bool, config: &InstanceConfig, scope: &Scope) -> Flags {
        Flags {
            host_control: config.host_control || scope.flags.host_control,
            autorun: config.autorun || scope.flags.autorun,
            on_host: on_host || scope.flags.on_host,
        }
    }

    /// `nic_out (rate = 1'000'000'000)`.
    fn boundary_setting(&mut self, decl: &'a InstanceDecl, env: &ConstEnv<'_, 'a>) {
        let Some(Builtin::Boundary(_, direction)) = boundary::by_name(&decl.element.text) else {
            let message = format!("`{}` is no boundary port, so it has no settings", decl.element.text);
            let help = format!("declare an instance: `{} :: name`", decl.element.text);
            self.diags.add(Diagnostic::new(Code::E0215, decl.element.span, message, help));
            return;
        };
        let at = self.boundary(&decl.element.text, direction, decl.element.span);
        let help = format!("write `{} (rate = 1'000'000'000)`, in bits per second", decl.element.text);
        let InstanceConfig { host_control, autorun, n_inputs, n_outputs, depth, .. } = &decl.config;
        if *host_control || *autorun || n_inputs.is_some() || n_outputs.is_some() || depth.is_some() {
            let message = "a boundary port takes no flags and no numbers without a name";
            self.diags.add(Diagnostic::new(Code::E0224, decl.span, message, help.as_str()));
        }
        for arg in &decl.config.args {
            if arg.name.as_ref().is_none_or(|name| name.text != "rate") {
                let span = arg.name.as_ref().map_or(arg.value.span, |name| name.span);
                self.diags.add(Diagnostic::new(
                    Code::E0224,
                    span,
                    "a boundary port has one setting, `rate`",
                    help.as_str(),
                ));
                continue;
            }
            let Some(rate) = self.constant(&arg.value, env) else { continue };
            match rate.to_u64() {
                Some(rate) if rate > 0 => self.out.boundaries[at].rate_bps = Some(rate),
                _ => {
                    let message = format!("a rate of {rate} bits per second is not possible");
                    let help = "give a rate from 1 to 2^64 - 1, or leave it out for as fast as it goes";
                    self.diags.add(Diagnostic::new(Code::E0224, arg.value.span, message, help));
                }
            }
        }
    }

    fn boundary(&mut self, name: &str, direction: BoundaryDirection, span: Span) -> usize {
        if let Some(at) = self.out.boundaries.iter().position(|boundary| boundary.name == name) {
            return at;
        }
        let name = name.to_string();
        self.out.boundaries.push(Boundary { name, direction, rate_bps: None, message: Design::PACKET, span });
        self.out.boundaries.len() - 1
    }

    fn instantiate(&mut self, what: Instantiable<'a>, wanted: Wanted<'_, '_, 'a>) -> Target {
        match what {
            Instantiable::Element(element) => self.node(element, wanted),
            Instantiable::Group(group) => self.group(group, wanted),
        }
    }

    fn bind(&mut self, callee: &'a Ident, params: &'a [ast::ParamDecl], wanted: &Wanted<'_, '_, 'a>) -> Option<Params> {
        let span = wanted.config.span.unwrap_or(wanted.span);
        let args = &wanted.config.args;
        let arguments = Arguments { callee: &callee.text, params, args, caller: wanted.env, span };
        arguments::bind(&arguments, self.diags)
    }

    fn node(&mut self, element: &'a ast::ElementDecl, wanted: Wanted<'_, '_, 'a>) -> Target {
        let Some(params) = self.bind(&element.name, &element.params, &wanted) else { return Target::Unknown };
        let Some(depth) = self.depth(wanted.config.depth.as_ref(), wanted.env) else { return Target::Unknown };
        let inputs = self.side(&element.inputs, "input", &wanted.config.n_inputs, element, &wanted, &params);
        let outputs = self.side(&element.outputs, "output", &wanted.config.n_outputs, element, &wanted, &params);
        let (Some(inputs), Some(outputs)) = (inputs, outputs) else { return Target::Unknown };
        let Wanted { name, flags, span, .. } = wanted;
        self.out.nodes.push(Node {
            name,
            decl: element,
            params,
            flags,
            inputs,
            outputs,
            depth,
            span,
            is_in_doubt: false,
        });
        Target::Node(self.out.nodes.len() - 1)
    }

    fn side(
        &mut self,
        list: &'a ast::PortList,
        noun: &str,
        count: &Option<ast::Expr>,
        element: &ast::ElementDecl,
        wanted: &Wanted<'_, '_, 'a>,
        params: &Params,
    ) -> Option<Vec<MessageTypeId>> {
        let count = match count {
            Some(count) => Some((self.constant(count, wanted.env)?.to_u64().unwrap_or(u64::MAX), count.span)),
            None => None,
        };
        let side = Side { list, count, default: ports::default_message(element), noun };
        let env = ports::param_env(wanted.env, params);
        match ports::message_types(&side, &env, &mut self.out.message_types) {
            Ok(types) => Some(types),
            Err(diagnostic) => {
                self.diags.add(diagnostic);
                None
            }
        }
    }

    fn group(&mut self, group: &'a ast::GroupDecl, wanted: Wanted<'_, '_, 'a>) -> Target {
        let own_name = group.name.text.as_str();
        if let Some(at) = self.open_groups.iter().position(|open| *open == own_name) {
            let cycle: Vec<&str> = self.open_groups[at..].iter().copied().chain([own_name]).collect();
            let message = format!("group `{own_name}` contains itself: {}", cycle.join(" -> "));
            let help = "take one of these instances out: a group is copied into place, so it cannot hold itself";
            self.diags.add(
                Diagnostic::new(Code::E0208, wanted.span, message, help).related(group.name.span, "declared here"),
            );
            return Target::Unknown;
        }
        let Some(params) = self.bind(&group.name, &group.params, &wanted) else { return Target::Unknown };
        let Some(depth) = self.depth(wanted.config.depth.as_ref(), wanted.env) else { return Target::Unknown };
        let env = Rc::new(ports::param_env(wanted.env, &params));
        let n_inputs = self.group_side(&wanted.config.n_inputs, group.inputs.as_ref(), &wanted, &env);
        let n_outputs = self.group_side(&wanted.config.n_outputs, group.outputs.as_ref(), &wanted, &env);
        let (Some(n_inputs), Some(n_outputs)) = (n_inputs, n_outputs) else { return Target::Unknown };
        let Wanted { name, flags, span, .. } = wanted;
        let prefix = format!("{name}/");
        self.out.joints.push(Joint { name, decl: group, n_inputs, n_outputs, depth, span, is_in_doubt: false });
        let at = self.out.joints.len() - 1;
        self.open_groups.push(own_name);
        let flats = expand::expand(&group.body, &env, &mut self.budget, self.diags);
        self.scope(&flats, Scope::new(prefix, Some(at), flags));
        self.open_groups.pop();
        self.count_used_ports(at);
        Target::Group(at)
    }

    /// The number of ports of a group's side: given, declared, or unknown until its body was seen. The outer `None` is an error.
    fn group_side(
        &mut self,
        given: &'a Option<ast::Expr>,
        declared: Option<&'a ast::PortList>,
        wanted: &Wanted<'_, '_, 'a>,
        inner: &ConstEnv<'_, 'a>,
    ) -> Option<Option<u32>> {
        let (number, span) = match (given, declared) {
            (Some(given), _) => (self.constant(given, wanted.env)?.to_u64(), given.span),
            (None, Some(list)) => {
                let mut total = Some(0_u64);
                for group in &list.groups {
                    let count = self.constant(&group.count, inner)?.to_u64();
                    total = total.zip(count).and_then(|(total, count)| total.checked_add(count));
                }
                (total, list.span)
            }
            (None, None) => return Some(None),
        };
        match number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number <= ports::PORTS_MAX) {
            Some(number) => Some(Some(number)),
            None => {
                let help = format!("give 0 to {} ports", ports::PORTS_MAX);
                self.diags.add(Diagnostic::new(Code::E0216, span, "port count out of range", help));
                None
            }
        }
    }

    /// A group that declares no ports has those that its body uses.
    fn count_used_ports(&mut self, at: usize) {
        let n_used = |side: GroupSide, role: Role| {
            let keys = (End::Group(at, side, 0), role)..=(End::Group(at, side, u32::MAX), role);
            let mut ports = self.out.used.range(keys).filter(|((_, used_role), _)| *used_role == role);
            ports.next_back().map_or(0, |((end, _), _)| match end {
                End::Group(_, _, port) => port + 1,
                End::Node(..) | End::Boundary(_) | End::Null | End::Unknown => {
                    unreachable!("the range holds group ports")
                }
            })
        };
        let (n_inputs, n_outputs) = (n_used(GroupSide::In, Role::Source), n_used(GroupSide::Out, Role::Sink));
        let joint = &mut self.out.joints[at];
        joint.n_inputs.get_or_insert(n_inputs);
        joint.n_outputs.get_or_insert(n_outputs);
    }

    fn depth(&mut self, depth: Option<&ast::Expr>, env: &ConstEnv<'_, 'a>) -> Option<Option<u32>> {
        let Some(depth) = depth else { return Some(None) };
        let number = self.constant(depth, env)?;
        match number.to_u64().filter(|depth| (1..=DEPTH_MAX).contains(depth)) {
            Some(number) => Some(Some(number as u32)),
            None => {
                let message = format!("a channel cannot be {number} messages deep");
                let help = format!("give a depth from 1 to {DEPTH_MAX}");
                self.diags.add(Diagnostic::new(Code::E0216, depth.span, message, help));
                None
            }
        }
    }

    fn constant(&mut self, expr: &ast::Expr, env: &ConstEnv<'_, 'a>) -> Option<Number> {
        match consts::eval(expr, env) {
            Ok(value) => Some(Number::of(&value)),
            Err(diagnostic) => {
                self.diags.add(diagnostic);
                None
            }
        }
    }
}

fn name_taken(name: &str, template: &ast::NameTemplate, scope: &Scope) -> Option<Diagnostic> {
    if boundary::by_name(name).is_some() {
        let message = format!("`{name}` is a built-in port and cannot name an instance");
        return Some(Diagnostic::new(Code::E0215, template.span, message, "choose another name"));
    }
    let (_, first) = scope.names.get(name)?;
    let message = format!("instance `{name}` is declared twice");
    if *first == template.span {
        let help = format!("put the repeat variable into the name, for example `{name}$i`");
        return Some(Diagnostic::new(Code::E0213, template.span, message, help));
    }
    let report = Diagnostic::new(Code::E0213, template.span, message, "give one of them another name");
    Some(report.related(*first, "first declared here"))
}
