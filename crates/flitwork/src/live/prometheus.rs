//! `run --prometheus ADDRESS`: counters as Prometheus text (exposition format 0.0.4) over HTTP, on this machine only.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use runtime::Report;
use runtime::report::{Direction, DropCount};

use super::requests::{Answer, Asker, Question};

/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
const REQUEST_BYTES_MAX: usize = 8 * 1024;

/// Answers at `address` in a thread of its own, until the program ends. Gives the address, with the port that was chosen for port 0.
///
/// Counters tell what a network carries, so that addresses which others can reach are refused.
pub fn listen(address: SocketAddr, asker: Asker) -> io::Result<SocketAddr> {
    if !address.ip().is_loopback() {
        let message = "others could read it there; write for example 127.0.0.1:9100 or [::1]:9100";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            // A client that fails or dawdles gets no answer; the next one does.
            let _ = serve(stream, &asker);
        }
    });
    Ok(address)
}

fn serve(mut stream: TcpStream, asker: &Asker) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            n_bytes => request.extend_from_slice(&piece[..n_bytes]),
        }
    }
    let first_line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let (status, body) = match first_line {
        b"GET /metrics HTTP/1.1" | b"GET /metrics HTTP/1.0" => match asker.ask(vec![Question::Report]).as_deref() {
            Some([Answer::Report(report)]) => ("200 OK", text(report)),
            Some(_) | None => ("503 Service Unavailable", "the run is over\n".to_string()),
        },
        line if line.starts_with(b"GET ") => ("404 Not Found", "counters are at /metrics\n".to_string()),
        _ => ("405 Method Not Allowed", "only GET\n".to_string()),
    };
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n");
    stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
}

/// A metric: its name, what it means, and each of its label sets with the value.
type Metric<'r> = (&'static str, &'static str, Vec<(String, u64)>);

/// Every counter of a run.
pub fn text(report: &Report) -> String {
    let totals = &report.totals;
    let outcomes = [
        ("in", totals.entered),
        ("created", totals.created),
        ("out", totals.out),
        ("dropped", totals.dropped),
        ("ended", totals.ended),
    ];
    let ports = |value: fn(&runtime::report::BoundaryReport) -> u64| {
        let way = |direction| if direction == Direction::In { "in" } else { "out" };
        let row = |port: &runtime::report::BoundaryReport| {
            (labels(&[("port", &port.name), ("direction", way(port.direction))]), value(port))
        };
        report.boundaries.iter().map(row).collect()
    };
    let elements = |value: fn(&runtime::report::ElementReport) -> u64| {
        let elements = report.elements.iter();
        elements
            .map(|element| (labels(&[("element", &element.name), ("type", &element.kind)]), value(element)))
            .collect()
    };
    let metrics: [Metric<'_>; 8] = [
        ("packets", "Packets of the whole run, by what became of them.", {
            outcomes.iter().map(|(name, value)| (labels(&[("outcome", name)]), *value)).collect()
        }),
        ("port_packets", "Packets that passed a boundary port.", ports(|port| port.packets)),
        ("port_bytes", "Bytes on the wire that passed a boundary port.", ports(|port| port.wire_bytes)),
        ("element_firings", "How often an element fired.", elements(|element| element.firings)),
        ("element_packets_in", "Packets that an element took.", elements(|element| element.packets_in)),
        ("element_packets_out", "Packets that an element gave.", elements(|element| element.packets_out)),
        ("channel_packets", "Packets written to a channel.", {
            let channels = report.channels.iter();
            channels.map(|channel| (labels(&[("from", &channel.from), ("to", &channel.to)]), channel.packets)).collect()
        }),
        ("dropped_packets", "Packets dropped, by place and reason.", drops(report)),
    ];
    let mut text = String::new();
    for (name, help, rows) in metrics.iter().filter(|(_, _, rows)| !rows.is_empty()) {
        let name = format!("flitwork_{name}_total");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for (labels, value) in rows {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
    let held = totals.held;
    text + &format!(
        "# HELP flitwork_held_packets Packets in channels.\n# TYPE flitwork_held_packets gauge\nflitwork_held_packets {held}\n"
    )
}

fn drops(report: &Report) -> Vec<(String, u64)> {
    let ports = report.boundaries.iter().map(|port| (port.name.clone(), &port.drops));
    let elements = report.elements.iter().map(|element| (element.name.clone(), &element.drops));
    let channels =
        report.channels.iter().map(|channel| (format!("{} to {}", channel.from, channel.to), &channel.drops));
    let row = |place: &str, drop: &DropCount| (labels(&[("place", place), ("reason", &drop.reason)]), drop.packets);
    let places = ports.chain(elements).chain(channels);
    places.flat_map(|(place, drops)| drops.iter().map(|drop| row(&place, drop)).collect::<Vec<_>>()).collect()
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| {
        format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join(",")
}
