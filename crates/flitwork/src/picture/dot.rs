//! The picture as Graphviz text, for who wants another layout or to process the graph further.

use std::fmt::Write as _;

use super::{Picture, Shape};

/// A `digraph` with one node a box and one edge an arrow; port numbers stand at the arrow's ends.
pub fn dot(picture: &Picture) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail; the results are dropped on purpose.
    let _ = writeln!(out, "digraph {} {{\n  rankdir=LR;\n  node [fontname=\"monospace\"];", quote(&picture.title));
    for (at, node) in picture.nodes.iter().enumerate() {
        let shape = match node.shape {
            Shape::Element => "shape=box",
            Shape::HostElement => "shape=box, style=dashed",
            Shape::Boundary => "shape=box, style=rounded",
            Shape::Null => "shape=plaintext",
        };
        let text = match node.detail.as_str() {
            "" => node.name.clone(),
            detail => format!("{}\n{detail}", node.name),
        };
        let _ = writeln!(out, "  n{at} [label={}, {shape}];", quote(&text));
    }
    for edge in &picture.edges {
        let mut attributes = Vec::new();
        if picture.nodes[edge.from].n_outputs > 1 {
            attributes.push(format!("taillabel=\"{}\"", edge.from_port + 1));
        }
        if picture.nodes[edge.to].n_inputs > 1 {
            attributes.push(format!("headlabel=\"{}\"", edge.to_port + 1));
        }
        if !edge.label.is_empty() {
            attributes.push(format!("label={}", quote(&edge.label)));
        }
        if edge.lossy {
            attributes.push("style=dashed".to_string());
        }
        let attributes = match attributes.is_empty() {
            true => String::new(),
            false => format!(" [{}]", attributes.join(", ")),
        };
        let _ = writeln!(out, "  n{} -> n{}{attributes};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
