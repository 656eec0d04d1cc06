//! The drawing as SVG.
//!
//! Plain SVG 1.1 with a style sheet, so that browsers, Markdown viewers and `rsvg-convert` agree. Fixed-width type: box sizes are
//! computed without knowing the viewer's fonts.

use std::fmt::Write as _;

use super::layers::{Layers, layers, port_at};
use super::place::{CHAR_WIDTH, Placement, Rect, place};
use super::{Edge, Node, Picture, Shape};

const STYLE: &str = "
  text { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 12px; fill: #1d2733; }
  .name { font-weight: bold; text-anchor: middle; }
  .detail { fill: #5b6b7c; font-size: 11px; text-anchor: middle; }
  .port { fill: #5b6b7c; font-size: 9px; }
  .label { fill: #7a4b00; font-size: 10px; text-anchor: middle; }
  .element { fill: #eef4fb; stroke: #3f6ea5; }
  .host { fill: #f5f0fa; stroke: #7b5aa6; stroke-dasharray: 5 3; }
  .boundary { fill: #e8f5ec; stroke: #3b8a57; }
  .null { fill: #f3f3f3; stroke: #9aa3ad; }
  .edge { fill: none; stroke: #44525f; stroke-width: 1.4; }
  .lossy { stroke-dasharray: 6 4; }
";

/// The picture as an SVG document.
pub fn svg(picture: &Picture) -> String {
    let layers = layers(picture);
    let placement = place(picture, &layers);
    let paths: Vec<Path> = (0..picture.edges.len()).map(|edge| path(picture, &layers, &placement, edge)).collect();
    let (width, height) = extent(&placement, &paths);
    let mut out = String::new();
    let title = escape(&picture.title);
    // Writing to a string cannot fail; the results are dropped on purpose.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>"
    );
    out.push_str(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0,0.6 L8,4 L0,7.4 z\" fill=\"#44525f\"/></marker></defs>\n",
    );
    let _ = writeln!(out, "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>");
    for (edge, path) in picture.edges.iter().zip(&paths) {
        draw_edge(&mut out, edge, path);
    }
    for (node, rect) in picture.nodes.iter().zip(&placement.rects) {
        draw_node(&mut out, node, *rect);
    }
    for (edge, path) in picture.edges.iter().zip(&paths) {
        draw_label(&mut out, edge, path);
    }
    out.push_str("</svg>\n");
    out
}

/// The line of an edge, and where its label stands.
struct Path {
    data: String,
    label: (f64, f64),
    y_max: f64,
    x_max: f64,
}

/// The line from the sending port through the waypoints to the receiving port.
///
/// It is straight inside columns and curved between them only, so that it never runs behind a box of its own column.
fn path(picture: &Picture, layers: &Layers, placement: &Placement, edge_idx: usize) -> Path {
    let edge = &picture.edges[edge_idx];
    let (from, to) = (placement.rects[edge.from], placement.rects[edge.to]);
    let start_y = from.y + from.height * port_at(edge.from_port, picture.nodes[edge.from].n_outputs);
    let end_y = to.y + to.height * port_at(edge.to_port, picture.nodes[edge.to].n_inputs);
    let (from_column, to_column) = (layers.column[edge.from], layers.column[edge.to]);
    let mut line = Line::at(from.right(), start_y);
    line.straight(placement.columns[from_column].1);
    let waypoints: Vec<Rect> = layers.waypoints[edge_idx].iter().map(|&item| placement.rects[item]).collect();
    if layers.backward[edge_idx] {
        let (first, last) = (waypoints[0], waypoints[waypoints.len() - 1]);
        line.turn(first.right(), first.y, 1.0);
        line.straight(first.x);
        for rect in &waypoints[1..] {
            line.curve(rect.right(), rect.y);
            line.straight(rect.x);
        }
        line.turn(last.x, end_y, -1.0);
        line.straight(to.x);
        line.label = ((first.x + last.right()) / 2.0, (first.y + last.y) / 2.0 - 4.0);
    } else {
        for rect in &waypoints {
            line.curve(rect.x, rect.y);
            line.straight(rect.right());
        }
        line.curve(placement.columns[to_column].0, end_y);
        line.straight(to.x);
    }
    Path { data: line.data, label: line.label, y_max: line.y_max, x_max: line.x_max }
}

/// A path being drawn.
struct Line {
    data: String,
    x: f64,
    y: f64,
    /// Middle of the first curve.
    label: (f64, f64),
    n_curves: usize,
    y_max: f64,
    x_max: f64,
}

impl Line {
    fn at(x: f64, y: f64) -> Line {
        Line { data: format!("M{x:.1},{y:.1}"), x, y, label: (x, y), n_curves: 0, y_max: y, x_max: x }
    }

    fn straight(&mut self, x: f64) {
        if (x - self.x).abs() > 0.05 {
            let _ = write!(self.data, " H{x:.1}");
            self.move_to(x, self.y);
        }
    }

    /// A curve that starts and ends level.
    fn curve(&mut self, x: f64, y: f64) {
        let middle = (self.x + x) / 2.0;
        if self.n_curves == 0 {
            self.label = (middle, (self.y + y) / 2.0 - 4.0);
        }
        self.n_curves += 1;
        if (y - self.y).abs() < 0.3 {
            self.straight(x);
        } else {
            let _ = write!(self.data, " C{middle:.1},{:.1} {middle:.1},{y:.1} {x:.1},{y:.1}", self.y);
            self.move_to(x, y);
        }
    }

    /// A half turn that bulges to the right (`side` 1) or left (-1).
    fn turn(&mut self, x: f64, y: f64, side: f64) {
        let outermost = if side > 0.0 { self.x.max(x) } else { self.x.min(x) };
        let bulge = outermost + side * (18.0 + (y - self.y).abs() * 0.12).min(44.0);
        let _ = write!(self.data, " C{bulge:.1},{:.1} {bulge:.1},{y:.1} {x:.1},{y:.1}", self.y);
        self.x_max = self.x_max.max(bulge);
        self.move_to(x, y);
    }

    fn move_to(&mut self, x: f64, y: f64) {
        (self.x, self.y) = (x, y);
        self.x_max = self.x_max.max(x);
        self.y_max = self.y_max.max(y);
    }
}

fn extent(placement: &Placement, paths: &[Path]) -> (f64, f64) {
    let margin = 24.0;
    let x_max = paths.iter().map(|path| path.x_max + margin).fold(placement.width, f64::max);
    let y_max = paths.iter().map(|path| path.y_max + margin).fold(placement.height, f64::max);
    (x_max.ceil(), y_max.ceil())
}

fn draw_edge(out: &mut String, edge: &Edge, path: &Path) {
    let class = if edge.lossy { "edge lossy" } else { "edge" };
    let tooltip = escape(&edge.tooltip);
    let data = &path.data;
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"{data}\" marker-end=\"url(#arrow)\"><title>{tooltip}</title></path>"
    );
}

fn draw_label(out: &mut String, edge: &Edge, path: &Path) {
    if edge.label.is_empty() {
        return;
    }
    let (x, y) = path.label;
    let width = edge.label.chars().count() as f64 * CHAR_WIDTH * 10.0 / 12.0 + 6.0;
    let left = x - width / 2.0;
    let _ = writeln!(
        out,
        "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"12\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>\
         <text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        y - 9.5,
        escape(&edge.label)
    );
}

fn draw_node(out: &mut String, node: &Node, rect: Rect) {
    let (class, radius) = match node.shape {
        Shape::Element => ("element", 4.0),
        Shape::HostElement => ("host", 4.0),
        Shape::Boundary => ("boundary", rect.height / 2.0),
        Shape::Null => ("null", 11.0),
    };
    let Rect { x, y, width, height } = rect;
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{:.1}\"/>",
        radius.min(22.0)
    );
    let (middle_x, middle_y) = (x + width / 2.0, y + height / 2.0);
    let name_y = if node.detail.is_empty() { middle_y + 4.0 } else { middle_y - 3.0 };
    let _ = writeln!(out, "<text class=\"name\" x=\"{middle_x:.1}\" y=\"{name_y:.1}\">{}</text>", escape(&node.name));
    if !node.detail.is_empty() {
        let detail_y = middle_y + 13.0;
        let detail = escape(&node.detail);
        let _ = writeln!(out, "<text class=\"detail\" x=\"{middle_x:.1}\" y=\"{detail_y:.1}\">{detail}</text>");
    }
    let mut ports = |n_ports: usize, x: f64, anchor: &str| {
        // A lone port needs no number.
        for port in (0..n_ports).filter(|_| n_ports > 1) {
            let y = y + height * port_at(port, n_ports) + 3.0;
            let number = port + 1;
            let _ = writeln!(
                out,
                "<text class=\"port\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{number}</text>"
            );
        }
    };
    ports(node.n_inputs, x + 4.0, "start");
    ports(node.n_outputs, x + width - 4.0, "end");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
