//! Coordinates: where each box and waypoint of the columns stands.
//!
//! Expects: ordered columns. Ensures: nothing in a column overlaps, and boxes stand as level with their neighbours as that allows.
//! Each round moves one column at a time to the least squares of the wished places under the distances that must be kept.

use super::layers::{Item, Layers};
use super::{Node, Picture, Shape};

/// All lengths are in SVG user units (pixels at scale 1).
pub const CHAR_WIDTH: f64 = 7.3;
/// Height of a port's share of a box side.
const PORT_HEIGHT: f64 = 22.0;
/// Space between two boxes of a column.
const GAP_Y: f64 = 26.0;
/// Space between two waypoints of a column.
const WAYPOINT_GAP_Y: f64 = 14.0;
/// Least space between two columns; labels and many edges widen it.
const GAP_X: f64 = 64.0;
/// Around the drawing.
const MARGIN: f64 = 24.0;
const N_ROUNDS: usize = 16;

/// A rectangle; waypoints have no height and the width of their column.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Extent to the right.
    pub width: f64,
    /// Extent downwards.
    pub height: f64,
}

impl Rect {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }
}

/// All rectangles by item of [`Layers`], and the size of the drawing.
#[derive(Debug)]
pub struct Placement {
    /// By item.
    pub rects: Vec<Rect>,
    /// Left and right edge of each column.
    pub columns: Vec<(f64, f64)>,
    /// Width of the drawing.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
}

/// Finds coordinates for all items.
pub fn place(picture: &Picture, layers: &Layers) -> Placement {
    let mut rects: Vec<Rect> = layers.items.iter().map(|item| size(picture, *item)).collect();
    let columns = place_columns(picture, layers, &mut rects);
    for column in &layers.order {
        let mut y = 0.0;
        for (at, &item) in column.iter().enumerate() {
            y += if at == 0 { 0.0 } else { distance(layers, column[at - 1], item) };
            rects[item].y = y;
            y += rects[item].height;
        }
    }
    for round in 0..N_ROUNDS {
        let columns: Vec<usize> = match round % 2 {
            0 => (0..layers.order.len()).collect(),
            _ => (0..layers.order.len()).rev().collect(),
        };
        for column in columns {
            level(picture, layers, column, &mut rects);
        }
    }
    let top = rects.iter().map(|rect| rect.y).fold(f64::INFINITY, f64::min);
    for rect in &mut rects {
        rect.y += MARGIN - top;
    }
    let width = rects.iter().map(Rect::right).fold(0.0, f64::max) + MARGIN;
    let bottom = rects.iter().map(|rect| rect.y + rect.height).fold(0.0, f64::max);
    Placement { rects, columns, width, height: bottom + MARGIN }
}

fn size(picture: &Picture, item: Item) -> Rect {
    match item {
        Item::Waypoint(_) => Rect::default(),
        Item::Node(node) => {
            let node = &picture.nodes[node];
            let (width, height) = node_size(node);
            Rect { width, height, ..Rect::default() }
        }
    }
}

fn node_size(node: &Node) -> (f64, f64) {
    let n_ports = node.n_inputs.max(node.n_outputs) as f64;
    let chars = node.name.chars().count().max(node.detail.chars().count()) as f64;
    // Port numbers stand inside the box, one column a side.
    let ports_width = if n_ports > 1.0 { 30.0 } else { 0.0 };
    let text_height: f64 = if node.detail.is_empty() { 30.0 } else { 44.0 };
    match node.shape {
        Shape::Element | Shape::HostElement | Shape::Boundary => {
            ((chars * CHAR_WIDTH + 24.0 + ports_width).max(72.0), text_height.max(n_ports * PORT_HEIGHT))
        }
        Shape::Null => (chars * CHAR_WIDTH + 16.0, 22.0),
    }
}

/// Left edges: a column is as wide as its widest box, and boxes stand in its middle. Gives the columns' edges.
fn place_columns(picture: &Picture, layers: &Layers, rects: &mut [Rect]) -> Vec<(f64, f64)> {
    let mut columns = Vec::with_capacity(layers.order.len());
    let mut x = MARGIN;
    let turns_at = |column: usize, of_from: bool| {
        let ends = picture.edges.iter().zip(&layers.backward).filter(|(_, back)| **back);
        ends.filter(|(edge, _)| layers.column[if of_from { edge.from } else { edge.to }] == column).count()
    };
    for (column, items) in layers.order.iter().enumerate() {
        x += 12.0 * turns_at(column, false) as f64;
        let width = items.iter().map(|&item| rects[item].width).fold(0.0, f64::max);
        for &item in items {
            match layers.items[item] {
                Item::Node(_) => rects[item].x = x + (width - rects[item].width) / 2.0,
                Item::Waypoint(_) => (rects[item].x, rects[item].width) = (x, width),
            }
        }
        let leaving: Vec<_> = layers.pieces.iter().filter(|piece| layers.column[piece.left] == column).collect();
        let labels = picture.edges.iter().filter(|edge| layers.column[edge.from] == column);
        let label_chars = labels.map(|edge| edge.label.chars().count()).max().unwrap_or(0);
        let label_width = label_chars as f64 * CHAR_WIDTH + 28.0;
        let crowd = 5.0 * leaving.len() as f64;
        columns.push((x, x + width));
        x += width + GAP_X.max(label_width) + crowd.min(120.0) + 12.0 * turns_at(column, true) as f64;
    }
    columns
}

/// Space that must stay between two items, the second below the first.
fn distance(layers: &Layers, above: usize, below: usize) -> f64 {
    match (layers.items[above], layers.items[below]) {
        (Item::Waypoint(_), Item::Waypoint(_)) => WAYPOINT_GAP_Y,
        (Item::Node(_) | Item::Waypoint(_), Item::Node(_) | Item::Waypoint(_)) => GAP_Y,
    }
}

/// Moves the items of one column towards their neighbours.
fn level(picture: &Picture, layers: &Layers, column: usize, rects: &mut [Rect]) {
    let items = &layers.order[column];
    // `wishes[i]` is the wished upper edge less the room that everything above needs, so that the wanted sequence is
    // just non-decreasing: isotonic regression by pooling neighbours that would overlap.
    let mut room = 0.0;
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    let mut rooms = Vec::with_capacity(items.len());
    for (at, &item) in items.iter().enumerate() {
        if at > 0 {
            room += rects[items[at - 1]].height + distance(layers, items[at - 1], item);
        }
        rooms.push(room);
        let (wish, weight) = wish(picture, layers, item, rects);
        let mut pool = (wish - room, weight, 1);
        while let Some(&(mean, heft, count)) = pools.last().filter(|earlier| earlier.0 > pool.0) {
            pools.pop();
            pool = ((mean * heft + pool.0 * pool.1) / (heft + pool.1), heft + pool.1, count + pool.2);
        }
        pools.push(pool);
    }
    let mut next = items.iter().zip(rooms);
    for (mean, _, count) in pools {
        for (&item, room) in next.by_ref().take(count) {
            rects[item].y = mean + room;
        }
    }
}

/// Where an item's upper edge would make its edges straight, and how much that matters.
fn wish(picture: &Picture, layers: &Layers, item: usize, rects: &[Rect]) -> (f64, f64) {
    let mut sum = 0.0;
    let mut weight = 0.0;
    let mut pull = |y: f64, strength: f64| {
        sum += y * strength;
        weight += strength;
    };
    let is_waypoint = |item: usize| matches!(layers.items[item], Item::Waypoint(_));
    for piece in layers.pieces.iter().filter(|piece| piece.left == item || piece.right == item) {
        let (own_at, other, other_at) = match piece.left == item {
            true => (piece.left_at, piece.right, piece.right_at),
            false => (piece.right_at, piece.left, piece.left_at),
        };
        // Long edges are kept straight before boxes are kept level.
        let strength = if is_waypoint(item) && is_waypoint(other) { 4.0 } else { 1.0 };
        pull(rects[other].y + rects[other].height * other_at - rects[item].height * own_at, strength);
    }
    if let Item::Waypoint(edge_idx) = layers.items[item] {
        let edge = &picture.edges[edge_idx];
        for end in [edge.from, edge.to].into_iter().filter(|_| layers.backward[edge_idx]) {
            if layers.column[end] == layers.column[item] {
                pull(rects[end].y + rects[end].height + GAP_Y, 1.0);
            }
        }
    }
    if weight == 0.0 { (rects[item].y, 0.1) } else { (sum / weight, weight) }
}

#[cfg(test)]
mod tests {
    use super::super::layers::layers;
    use super::super::{Edge, Node, Picture, Shape};
    use super::{Rect, place};

    /// A random graph, cycles and parallel edges included.
    fn random_picture(seed: u64) -> Picture {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        let n_nodes = 1 + below(30);
        let node = |at: usize, n_ports: usize| Node {
            name: format!("n{at}"),
            detail: "Type".repeat(at % 7),
            shape: [Shape::Element, Shape::HostElement, Shape::Boundary, Shape::Null][at % 4],
            n_inputs: n_ports,
            n_outputs: n_ports,
        };
        let nodes: Vec<Node> = (0..n_nodes).map(|at| node(at, 1 + below(4))).collect();
        let edges = (0..below(60)).map(|_| {
            let (from, to) = (below(n_nodes), below(n_nodes));
            let (from_port, to_port) = (below(nodes[from].n_outputs), below(nodes[to].n_inputs));
            Edge { from, from_port, to, to_port, lossy: false, label: String::new(), tooltip: String::new() }
        });
        let edges = edges.collect();
        Picture { title: String::new(), nodes, edges }
    }

    #[test]
    fn boxes_never_overlap_and_forward_arrows_go_right() {
        for seed in 0..300 {
            let picture = random_picture(seed);
            let layers = layers(&picture);
            let placement = place(&picture, &layers);
            let boxes = &placement.rects[..picture.nodes.len()];
            let apart = |a: &Rect, b: &Rect| {
                a.right() <= b.x || b.right() <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
            };
            for (at, a) in boxes.iter().enumerate() {
                assert!(a.x >= 0.0 && a.y >= 0.0 && a.right() <= placement.width, "seed {seed}: box {at} {a:?}");
                assert!(boxes[at + 1..].iter().all(|b| apart(a, b)), "seed {seed}: box {at} overlaps");
            }
            for (edge, backward) in picture.edges.iter().zip(&layers.backward) {
                assert!(*backward || boxes[edge.from].right() < boxes[edge.to].x, "seed {seed}: {edge:?}");
            }
        }
    }
}
