//! Pictures of an element graph: SVG with a layout of its own, and Graphviz text.
//!
//! A [`Picture`] is what is to be seen: boxes with ports, and arrows between ports. `layers.rs` puts the boxes into columns and orders
//! them (Sugiyama's method: break cycles, longest path, fewest crossings), `place.rs` finds coordinates, `svg.rs` draws. Same
//! picture, same bytes.

mod dot;
mod graph;
mod layers;
mod place;
mod svg;

pub use dot::dot;
pub use graph::of_graph;
pub use svg::svg;

/// Boxes and arrows, without coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Title, shown by viewers and screen readers.
    pub title: String,
    /// Boxes; edges name them by position.
    pub nodes: Vec<Node>,
    /// Arrows.
    pub edges: Vec<Edge>,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// First line: the instance or boundary port.
    pub name: String,
    /// Second line: the element type with its parameters; may be empty.
    pub detail: String,
    /// What it stands for, which decides its shape.
    pub shape: Shape,
    /// Input ports that are drawn on its left side.
    pub n_inputs: usize,
    /// Output ports that are drawn on its right side.
    pub n_outputs: usize,
}

/// The kinds of boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An element that the device runs: a rectangle.
    Element,
    /// An element that the host runs: a rectangle with a dashed border.
    HostElement,
    /// A boundary port: rounded.
    Boundary,
    /// `Drop` or `Idle`: a small rounded box.
    Null,
}

/// An arrow from an output port to an input port; ports count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Sending node.
    pub from: usize,
    /// Its output port.
    pub from_port: usize,
    /// Receiving node.
    pub to: usize,
    /// Its input port.
    pub to_port: usize,
    /// Drawn dashed.
    pub lossy: bool,
    /// Words on the arrow, such as the message type; may be empty.
    pub label: String,
    /// Shown when the pointer rests on it.
    pub tooltip: String,
}
