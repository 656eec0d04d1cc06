//! Chains: what their nodes name, and the links between them.

use std::rc::Rc;

use diag::{Code, Diagnostic, Span};
use ir::BoundaryDirection;

use syntax::ast::{self, Ident, InstanceConfig, NodeTarget};

use super::{Elaborator, End, GroupSide, RawLink, Role, Scope, Target, Wanted};
use crate::arguments::counted;
use crate::boundary::{self, Builtin};
use crate::consts::ConstEnv;
use crate::expand;
use crate::ports::PORTS_MAX;
use crate::resolve;
use crate::suggest;

impl<'a> Elaborator<'a, '_, '_> {
    /// Adds the links of one chain.
    pub(super) fn chain(&mut self, chain: &'a ast::Chain, env: &Rc<ConstEnv<'_, 'a>>, scope: &mut Scope) {
        let targets: Vec<Target> = chain.nodes.iter().map(|node| self.target(node, env, scope)).collect();
        for (at, link) in chain.links.iter().enumerate() {
            let (source, sink) = (&chain.nodes[at], &chain.nodes[at + 1]);
            let from = self.end(source, targets[at], Role::Source, env, scope);
            let to = self.end(sink, targets[at + 1], Role::Sink, env, scope);
            let written = sink.depth.as_ref().or(source.depth.as_ref().filter(|_| at == 0));
            let Some(depth) = self.depth(written, env) else { continue };
            let depth = depth.or(match targets[at] {
                Target::Node(node) => self.out.nodes[node].depth,
                Target::Group(group) => self.out.joints[group].depth,
                Target::Builtin(_) | Target::Unknown => None,
            });
            if from != End::Unknown && to != End::Unknown {
                self.out.links.push(RawLink { from, to, depth, lossy: link.lossy, span: link.span });
            }
        }
    }

    fn target(&mut self, node: &'a ast::ChainNode, env: &Rc<ConstEnv<'_, 'a>>, scope: &mut Scope) -> Target {
        match &node.target {
            NodeTarget::Name(template) => {
                let name = match expand::name_text(template, env) {
                    Ok(name) => name,
                    Err(diagnostic) => {
                        self.diags.add(diagnostic);
                        return Target::Unknown;
                    }
                };
                if let Some(builtin) = boundary::by_name(&name) {
                    return Target::Builtin(builtin);
                }
                match scope.names.get(&name) {
                    Some((target, _)) => *target,
                    None => {
                        self.diags.add(self.unknown_instance(&name, template.span, env, scope));
                        Target::Unknown
                    }
                }
            }
            NodeTarget::Anonymous(element, config) => self.anonymous(element, config, node.span, env, scope),
        }
    }

    fn anonymous(
        &mut self,
        element: &'a Ident,
        config: &'a InstanceConfig,
        span: Span,
        env: &Rc<ConstEnv<'_, 'a>>,
        scope: &mut Scope,
    ) -> Target {
        let Some(what) = resolve::instantiable(env.decls, &element.text) else {
            let report = match (boundary::by_name(&element.text), scope.names.contains_key(&element.text)) {
                (Some(_), _) => {
                    let help = format!("write the settings as a statement of their own: `{} (rate = …)`", element.text);
                    Diagnostic::new(
                        Code::E0215,
                        span,
                        format!("`{}` takes no arguments in a chain", element.text),
                        help,
                    )
                }
                (None, true) => {
                    let help = format!("give the arguments where `{}` is declared", element.text);
                    Diagnostic::new(
                        Code::E0201,
                        element.span,
                        format!("`{}` is an instance, not an element", element.text),
                        help,
                    )
                }
                (None, false) => self.library.unknown_element(element, env.decls),
            };
            self.diags.add(report);
            return Target::Unknown;
        };
        let number = scope.anonymous.entry(element.text.clone()).or_insert(0);
        *number += 1;
        let name = format!("{}{}#{number}", scope.prefix, element.text);
        let flags = self.flags(false, config, scope);
        self.instantiate(what, Wanted { name, config, flags, env, span: element.span })
    }

    fn unknown_instance(&self, name: &str, span: Span, env: &ConstEnv<'_, 'a>, scope: &Scope) -> Diagnostic {
        if resolve::instantiable(env.decls, name).is_some() {
            let message = format!("`{name}` is an element; a chain connects instances");
            let help =
                format!("declare one with `{name} :: a_name`, or write `{name}(1, 1)` here for one without a name");
            return Diagnostic::new(Code::E0202, span, message, help);
        }
        let known = scope.names.keys().map(String::as_str).chain(boundary::NAMES);
        let help =
            match boundary::named_by_direction(name).or_else(|| suggest::nearest(name, known).map(str::to_string)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("declare it first: `Element :: {name}`"),
            };
        Diagnostic::new(Code::E0202, span, format!("no instance `{name}`"), help)
    }

    /// The end of a link at a chain node; a port that is used once already is reported.
    fn end(&mut self, node: &ast::ChainNode, target: Target, role: Role, env: &ConstEnv<'_, 'a>, scope: &Scope) -> End {
        let written = match role {
            Role::Source => node.output.as_ref(),
            Role::Sink => node.input.as_ref(),
        };
        let number = match written {
            Some(expr) => self.constant(expr, env).map(|number| (number.to_u64().unwrap_or(u64::MAX), expr.span)),
            None => Some((1, node.span)),
        };
        let Some((number, span)) = number else {
            self.doubt(target);
            return End::Unknown;
        };
        let end = match target {
            Target::Unknown => return End::Unknown,
            Target::Builtin(builtin) => self.builtin_end(builtin, node.span, role, (number, span), scope),
            Target::Node(at) => {
                let node = &self.out.nodes[at];
                let ports = if role == Role::Source { &node.outputs } else { &node.inputs };
                let n_ports = ports.len() as u32;
                self.port(number, n_ports, span, role, &self.out.nodes[at].name.clone()).map(|port| End::Node(at, port))
            }
            Target::Group(at) => {
                let joint = &self.out.joints[at];
                let (side, n_ports) = match role {
                    Role::Source => (GroupSide::Out, joint.n_outputs),
                    Role::Sink => (GroupSide::In, joint.n_inputs),
                };
                let n_ports = n_ports.expect("known once the group's body is elaborated");
                self.port(number, n_ports, span, role, &joint.name.clone()).map(|port| End::Group(at, side, port))
            }
        };
        let Some(end) = end else {
            self.doubt(target);
            return End::Unknown;
        };
        if self.is_first_use(end, role, node.span) {
            return end;
        }
        self.doubt(target);
        End::Unknown
    }

    /// The port's number from 0, if the instance has it.
    fn port(&mut self, number: u64, n_ports: u32, span: Span, role: Role, owner: &str) -> Option<u32> {
        if (1..=u64::from(n_ports)).contains(&number) {
            return Some(number as u32 - 1);
        }
        let noun = noun(role);
        let message = match n_ports {
            0 => format!("`{owner}` has no {noun}s"),
            // Stands for a negative number too.
            _ if number == u64::MAX => {
                format!("`{owner}` has {}; no {noun} has this number", counted(n_ports as usize, noun))
            }
            _ => format!("`{owner}` has {}; there is no {noun} {number}", counted(n_ports as usize, noun)),
        };
        let help = match (n_ports, role) {
            (0, Role::Source) => format!("end the chain at `{owner}`"),
            (0, Role::Sink) => format!("begin the chain at `{owner}`"),
            (1, _) => format!("use {noun} 1, or declare `{owner}` with more {noun}s"),
            _ => format!("use {noun} 1 to {n_ports}, or declare `{owner}` with more {noun}s"),
        };
        self.diags.add(Diagnostic::new(Code::E0203, span, message, help));
        None
    }

    fn builtin_end(
        &mut self,
        builtin: Builtin,
        node: Span,
        role: Role,
        port: (u64, Span),
        scope: &Scope,
    ) -> Option<End> {
        match (builtin, role) {
            (Builtin::Drop, Role::Sink) | (Builtin::Idle, Role::Source) => Some(End::Null),
            (Builtin::Boundary(name, direction @ BoundaryDirection::In), Role::Source)
            | (Builtin::Boundary(name, direction @ BoundaryDirection::Out), Role::Sink) => {
                self.port(port.0, 1, port.1, role, name)?;
                Some(End::Boundary(self.boundary(name, direction, node)))
            }
            (Builtin::Begin, Role::Source) => self.group_end(GroupSide::In, port, role, node, scope),
            (Builtin::End, Role::Sink) => self.group_end(GroupSide::Out, port, role, node, scope),
            (_, Role::Source) => {
                let report =
                    Diagnostic::new(Code::E0215, node, "nothing comes out of this port", "let the chain end there");
                self.diags.add(report);
                None
            }
            (_, Role::Sink) => {
                let report =
                    Diagnostic::new(Code::E0215, node, "nothing goes into this port", "let the chain begin there");
                self.diags.add(report);
                None
            }
        }
    }

    /// `begin` or `end` of the group that is being elaborated.
    fn group_end(&mut self, side: GroupSide, port: (u64, Span), role: Role, node: Span, scope: &Scope) -> Option<End> {
        let (name, instead) = match side {
            GroupSide::In => ("begin", "nic_in"),
            GroupSide::Out => ("end", "nic_out"),
        };
        let Some(group) = scope.group else {
            let message = format!("`{name}` is a port of the group around it, and this graph is no group");
            let help = format!("use a boundary port such as `{instead}`");
            self.diags.add(Diagnostic::new(Code::E0215, node, message, help));
            return None;
        };
        let joint = &self.out.joints[group];
        let declared = match side {
            GroupSide::In => joint.n_inputs,
            GroupSide::Out => joint.n_outputs,
        };
        // Seen from inside, the group's inputs send and its outputs receive; the report speaks of the group.
        let role_outside = if role == Role::Source { Role::Sink } else { Role::Source };
        let owner = joint.decl.name.text.clone();
        let port = self.port(port.0, declared.unwrap_or(PORTS_MAX), port.1, role_outside, &owner)?;
        Some(End::Group(group, side, port))
    }

    /// Notes the use of a port; reports a second one and says no.
    fn is_first_use(&mut self, end: End, role: Role, span: Span) -> bool {
        if matches!(end, End::Null | End::Unknown) {
            return true;
        }
        let Some(&first) = self.out.used.get(&(end, role)) else {
            self.out.used.insert((end, role), span);
            return true;
        };
        let name = match end {
            End::Node(at, port) => format!("{} {} of `{}`", noun(role), port + 1, self.out.nodes[at].name),
            End::Boundary(at) => format!("`{}`", self.out.boundaries[at].name),
            End::Group(at, _, port) => format!("{} {} of `{}`", noun(role), port + 1, self.out.joints[at].name),
            End::Null | End::Unknown => unreachable!("returned above"),
        };
        let help = match role {
            Role::Source => "one output feeds one channel: put a `Tee` behind it to copy, or use another output",
            Role::Sink => "one input reads one channel: put a `Mux` in front of it to merge, or use another input",
        };
        let twice = Diagnostic::new(Code::E0204, span, format!("{name} is used twice"), help);
        self.diags.add(twice.related(first, "first used here"));
        false
    }

    /// A port of the instance was misused: which one was meant is unknown.
    fn doubt(&mut self, target: Target) {
        match target {
            Target::Node(at) => self.out.nodes[at].is_in_doubt = true,
            Target::Group(at) => self.out.joints[at].is_in_doubt = true,
            Target::Builtin(_) | Target::Unknown => {}
        }
    }
}

fn noun(role: Role) -> &'static str {
    match role {
        Role::Source => "output",
        Role::Sink => "input",
    }
}
