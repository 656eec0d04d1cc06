//! Graph statements as s-expressions.

use super::Lines;
use super::bodies::expr;
use crate::ast::{Chain, ChainNode, GraphStmt, InstanceConfig, NamePart, NameTemplate, NodeTarget};

impl Lines {
    pub(super) fn graph_stmt(&mut self, stmt: &GraphStmt) {
        match stmt {
            GraphStmt::Instance(instance) => {
                let names: Vec<String> = instance.names.iter().map(template).collect();
                let host = if instance.on_host { " host" } else { "" };
                let config = config(&instance.config);
                self.line(&format!("(instance {} [{}]{host}{config})", instance.element.text, names.join(" ")));
            }
            GraphStmt::Chain(chain) => self.line(&self::chain(chain)),
            GraphStmt::Repeat(repeat) => {
                let head = format!("repeat {} {} {}", repeat.var.text, expr(&repeat.lo), expr(&repeat.hi));
                self.node(&head, |out| repeat.body.iter().for_each(|stmt| out.graph_stmt(stmt)));
            }
            GraphStmt::Break(_) => self.line("(BREAK)"),
            GraphStmt::If { cond, then, otherwise, .. } => self.node(&format!("if {}", expr(cond)), |out| {
                out.node("then", |out| then.iter().for_each(|stmt| out.graph_stmt(stmt)));
                if !otherwise.is_empty() {
                    out.node("else", |out| otherwise.iter().for_each(|stmt| out.graph_stmt(stmt)));
                }
            }),
        }
    }
}

fn chain(chain: &Chain) -> String {
    let mut text = format!("(chain {}", node(&chain.nodes[0]));
    for (link, target) in chain.links.iter().zip(&chain.nodes[1..]) {
        text.push_str(if link.lossy { " => " } else { " -> " });
        text.push_str(&node(target));
    }
    text + ")"
}

fn node(node: &ChainNode) -> String {
    let input = node.input.as_ref().map_or(String::new(), |port| format!("[{}]", expr(port)));
    let target = match &node.target {
        NodeTarget::Name(name) => template(name),
        NodeTarget::Anonymous(element, settings) => format!("(new {}{})", element.text, config(settings)),
    };
    let depth = node.depth.as_ref().map_or(String::new(), |depth| format!("*{}", expr(depth)));
    let output = node.output.as_ref().map_or(String::new(), |port| format!("[{}{depth}]", expr(port)));
    format!("{input}{target}{output}")
}

fn config(config: &InstanceConfig) -> String {
    let mut text = String::new();
    if config.host_control {
        text.push_str(" @");
    }
    if config.autorun {
        text.push_str(" &");
    }
    for (word, value) in [("inputs", &config.n_inputs), ("outputs", &config.n_outputs), ("depth", &config.depth)] {
        if let Some(value) = value {
            text.push_str(&format!(" ({word} {})", expr(value)));
        }
    }
    for arg in &config.args {
        match &arg.name {
            Some(name) => text.push_str(&format!(" ({} {})", name.text, expr(&arg.value))),
            None => text.push_str(&format!(" (arg {})", expr(&arg.value))),
        }
    }
    text
}

fn template(name: &NameTemplate) -> String {
    let part = |part: &NamePart| match part {
        NamePart::Text(text) => text.clone(),
        NamePart::Var(name) => format!("${{{name}}}"),
    };
    name.parts.iter().map(part).collect()
}
