//! Columns: which boxes stand above each other, and in which order.
//!
//! Expects: a picture whose edges name existing nodes and ports. Ensures: every edge that is not turned back goes from a
//! column to a later one; edges that span several columns are cut into pieces by waypoints, so that each piece joins neighbours.

use super::Picture;

/// Rounds of ordering; more than enough for graphs of some hundred boxes.
const N_SWEEPS: usize = 24;

/// A place in a column: a box, or a point that a long edge passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A node of the picture.
    Node(usize),
    /// A waypoint of an edge of the picture.
    Waypoint(usize),
}

/// A piece of an edge between neighbouring columns, from the earlier to the later.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Item in the earlier column.
    pub left: usize,
    /// Where it leaves `left`, as a fraction of its height.
    pub left_at: f64,
    /// Item in the later column.
    pub right: usize,
    /// Where it enters `right`.
    pub right_at: f64,
}

/// The columns of a picture.
#[derive(Debug, Default)]
pub struct Layers {
    /// Everything that stands in a column.
    pub items: Vec<Item>,
    /// The column of each item.
    pub column: Vec<usize>,
    /// Items from top to bottom, by column.
    pub order: Vec<Vec<usize>>,
    /// Edge pieces between neighbouring columns.
    pub pieces: Vec<Piece>,
    /// Waypoints of each edge, in its own direction.
    pub waypoints: Vec<Vec<usize>>,
    /// Edges that run from a column to the same or an earlier one.
    pub backward: Vec<bool>,
}

/// Where a port stands on the side of its box, as a fraction of the height.
pub fn port_at(port: usize, n_ports: usize) -> f64 {
    (port as f64 + 0.5) / n_ports.max(1) as f64
}

/// Puts all boxes into columns.
pub fn layers(picture: &Picture) -> Layers {
    let backward = backward_edges(picture);
    let column = longest_paths(picture, &backward);
    let mut layers =
        Layers { items: (0..picture.nodes.len()).map(Item::Node).collect(), column, backward, ..Layers::default() };
    for edge_idx in 0..picture.edges.len() {
        cut(picture, edge_idx, &mut layers);
    }
    let n_columns = layers.column.iter().max().map_or(0, |last| last + 1);
    layers.order = vec![Vec::new(); n_columns];
    for (item, &column) in layers.column.iter().enumerate() {
        layers.order[column].push(item);
    }
    order(&mut layers);
    layers
}

/// The edges that close a cycle, found by a depth-first walk from the sources in declaration order.
fn backward_edges(picture: &Picture) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Done,
    }
    let n_nodes = picture.nodes.len();
    let mut leaving = vec![Vec::new(); n_nodes];
    let mut n_entering = vec![0_usize; n_nodes];
    for (edge_idx, edge) in picture.edges.iter().enumerate() {
        leaving[edge.from].push(edge_idx);
        n_entering[edge.to] += 1;
    }
    let mut starts: Vec<usize> = (0..n_nodes).collect();
    starts.sort_by_key(|&node| n_entering[node] > 0);
    let mut backward = vec![false; picture.edges.len()];
    let mut visits = vec![Visit::New; n_nodes];
    for start in starts {
        if visits[start] != Visit::New {
            continue;
        }
        visits[start] = Visit::Open;
        // A stack of its own: graphs that a `.repeat` makes can be deeper than the thread's stack.
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            let Some(&edge_idx) = leaving[node].get(next) else {
                visits[node] = Visit::Done;
                continue;
            };
            stack.push((node, next + 1));
            let to = picture.edges[edge_idx].to;
            match visits[to] {
                Visit::New => {
                    visits[to] = Visit::Open;
                    stack.push((to, 0));
                }
                Visit::Open => backward[edge_idx] = true,
                Visit::Done => {}
            }
        }
    }
    backward
}

/// The column of each node: one more than the last of those that send to it.
fn longest_paths(picture: &Picture, backward: &[bool]) -> Vec<usize> {
    let n_nodes = picture.nodes.len();
    let forward = || picture.edges.iter().zip(backward).filter(|(_, back)| !**back).map(|(edge, _)| edge);
    let mut n_waiting = vec![0_usize; n_nodes];
    for edge in forward() {
        n_waiting[edge.to] += 1;
    }
    let mut leaving = vec![Vec::new(); n_nodes];
    for edge in forward() {
        leaving[edge.from].push(edge.to);
    }
    let mut column = vec![0; n_nodes];
    let mut ready: Vec<usize> = (0..n_nodes).filter(|&node| n_waiting[node] == 0).collect();
    let mut sequence = Vec::with_capacity(n_nodes);
    while let Some(node) = ready.pop() {
        sequence.push(node);
        for &to in &leaving[node] {
            column[to] = column[to].max(column[node] + 1);
            n_waiting[to] -= 1;
            if n_waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    // A source stands just before its first reader, not at the far left.
    for &node in sequence.iter().rev() {
        let is_source = forward().all(|edge| edge.to != node);
        if let (true, Some(first)) = (is_source, leaving[node].iter().map(|&to| column[to]).min()) {
            column[node] = first - 1;
        }
    }
    column
}

/// Makes the pieces of one edge, with waypoints in the columns that it crosses.
///
/// A backward edge leaves to the right and arrives from the left like any other, so it turns twice: it also has waypoints in the
/// columns of its two ends.
fn cut(picture: &Picture, edge_idx: usize, layers: &mut Layers) {
    let edge = &picture.edges[edge_idx];
    let (from_column, to_column) = (layers.column[edge.from], layers.column[edge.to]);
    let waypoint = |column: usize, layers: &mut Layers| {
        layers.items.push(Item::Waypoint(edge_idx));
        layers.column.push(column);
        layers.items.len() - 1
    };
    let mut passed = Vec::new();
    if layers.backward[edge_idx] {
        for column in (to_column..=from_column).rev() {
            passed.push(waypoint(column, layers));
        }
        for pair in passed.windows(2) {
            layers.pieces.push(Piece { left: pair[1], left_at: 0.5, right: pair[0], right_at: 0.5 });
        }
    } else {
        let mut left = edge.from;
        let mut left_at = port_at(edge.from_port, picture.nodes[edge.from].n_outputs);
        for column in from_column + 1..to_column {
            let right = waypoint(column, layers);
            passed.push(right);
            layers.pieces.push(Piece { left, left_at, right, right_at: 0.5 });
            (left, left_at) = (right, 0.5);
        }
        let right_at = port_at(edge.to_port, picture.nodes[edge.to].n_inputs);
        layers.pieces.push(Piece { left, left_at, right: edge.to, right_at });
    }
    layers.waypoints.push(passed);
}

/// Orders every column for few crossings: repeated sorting by the mean position of the neighbours, the best round kept.
fn order(layers: &mut Layers) {
    let mut best = layers.order.clone();
    let mut best_crossings = n_crossings(layers);
    for sweep in 0..N_SWEEPS {
        let rightwards = sweep % 2 == 0;
        let n_columns = layers.order.len();
        for step in 1..n_columns {
            let column = if rightwards { step } else { n_columns - 1 - step };
            sort_column(layers, column, rightwards);
        }
        let crossings = n_crossings(layers);
        if crossings < best_crossings {
            best_crossings = crossings;
            best.clone_from(&layers.order);
        }
    }
    layers.order = best;
}

fn sort_column(layers: &mut Layers, column: usize, by_left_neighbours: bool) {
    let position = positions(layers);
    let mean = |item: usize| {
        let mut sum = 0.0;
        let mut count = 0_usize;
        for piece in &layers.pieces {
            let (own, other, other_at) = match by_left_neighbours {
                true => (piece.right, piece.left, piece.left_at),
                false => (piece.left, piece.right, piece.right_at),
            };
            if own == item {
                sum += position[other] as f64 + other_at;
                count += 1;
            }
        }
        if count == 0 { position[item] as f64 + 0.5 } else { sum / count as f64 }
    };
    let mut keyed: Vec<(f64, usize)> = layers.order[column].iter().map(|&item| (mean(item), item)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    layers.order[column] = keyed.into_iter().map(|(_, item)| item).collect();
}

/// Place of each item in its column, from the top.
fn positions(layers: &Layers) -> Vec<usize> {
    let mut position = vec![0; layers.items.len()];
    for column in &layers.order {
        for (at, &item) in column.iter().enumerate() {
            position[item] = at;
        }
    }
    position
}

fn n_crossings(layers: &Layers) -> usize {
    let position = positions(layers);
    let end = |item: usize, at: f64| position[item] as f64 + at;
    let mut by_column = vec![Vec::new(); layers.order.len()];
    for piece in &layers.pieces {
        let ends = (end(piece.left, piece.left_at), end(piece.right, piece.right_at));
        by_column[layers.column[piece.left]].push(ends);
    }
    let crosses = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0) * (a.1 - b.1) < 0.0;
    let in_column = |ends: &Vec<(f64, f64)>| -> usize {
        ends.iter().enumerate().map(|(at, a)| ends[at + 1..].iter().filter(|b| crosses(a, b)).count()).sum()
    };
    by_column.iter().map(in_column).sum()
}
