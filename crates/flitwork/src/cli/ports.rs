//! Which file belongs to which boundary port.

use std::path::Path;

use ir::{Boundary, BoundaryDirection, Design, MessageKind};

use super::args::PortFile;
use super::exit::Failure;
use crate::app::App;
use crate::live::endpoint::Endpoint;

/// The input files: those that were asked for, or else those that the application's folder holds.
pub fn inputs(design: &Design, app: &App, asked: &[PortFile]) -> Result<Vec<PortFile>, Failure> {
    if asked.is_empty() {
        return defaults(design, app);
    }
    let mut files = Vec::new();
    for input in distinct("--in", asked)? {
        let boundary = boundary(design, &input.port, BoundaryDirection::In)?;
        let message = &design.message_types[boundary.message.index()];
        if message.kind == MessageKind::Struct {
            let name = &message.name;
            return Err(Failure::usage(format!("{} takes {name} messages, which no capture holds", input.port)));
        }
        files.push(input.clone());
    }
    Ok(files)
}

fn defaults(design: &Design, app: &App) -> Result<Vec<PortFile>, Failure> {
    let takes_packets = |boundary: &&Boundary| {
        let kind = design.message_types[boundary.message.index()].kind;
        boundary.direction == BoundaryDirection::In && kind != MessageKind::Struct
    };
    let ports: Vec<&str> =
        design.boundaries.iter().filter(takes_packets).map(|boundary| boundary.name.as_str()).collect();
    let first = ports.iter().find(|port| **port == "nic_in").or(ports.first());
    let file = |port: &str| app.input_of(port).or_else(|| app.input().filter(|_| first == Some(&port)));
    let files: Vec<PortFile> = ports.iter().filter_map(|port| Some(PortFile::new(port, file(port)?))).collect();
    match (first, files.is_empty()) {
        (Some(first), true) => {
            let place = match &app.folder {
                Some(folder) => format!("{} holds no in.pcap", folder.display()),
                None => "a single file brings no capture with it".to_string(),
            };
            Err(Failure::usage(format!("nothing to run on: {place}; add `--in {first}=FILE`")))
        }
        (Some(_) | None, _) => Ok(files),
    }
}

/// The boundary port of a name.
pub fn boundary<'d>(design: &'d Design, name: &str, direction: BoundaryDirection) -> Result<&'d Boundary, Failure> {
    let facing = || design.boundaries.iter().filter(|boundary| boundary.direction == direction);
    if let Some(boundary) = facing().find(|boundary| boundary.name == name) {
        return Ok(boundary);
    }
    let way = match direction {
        BoundaryDirection::In => "input",
        BoundaryDirection::Out => "output",
    };
    let known: Vec<&str> = facing().map(|boundary| boundary.name.as_str()).collect();
    let hint = match known.as_slice() {
        [] => format!("it has no {way}s at all"),
        known => format!("it has {}", known.join(", ")),
    };
    Err(Failure::usage(format!("the graph has no {way} port `{name}`; {hint}")))
}

/// The pairs, if no port comes twice and no stream is asked to serve two. A regular file can be read by several ports.
pub fn distinct<'p>(option: &str, pairs: &'p [PortFile]) -> Result<&'p [PortFile], Failure> {
    for (at, pair) in pairs.iter().enumerate() {
        let before = &pairs[..at];
        if before.iter().any(|earlier| earlier.port == pair.port) {
            return Err(Failure::usage(format!("{option} names port {} twice", pair.port)));
        }
        let is_shared = match &pair.endpoint {
            Endpoint::File(file) => option == "--out" || !file.is_file(),
            Endpoint::Interface(_) | Endpoint::Tap(_) => true,
            Endpoint::Looped { .. } | Endpoint::Generator(_) | Endpoint::Null => false,
        };
        let is_taken = pair.file != Path::new("/dev/null") && before.iter().any(|earlier| earlier.file == pair.file);
        if is_shared && is_taken {
            let kind = if pair.endpoint.file().is_some() { "file " } else { "" };
            return Err(Failure::usage(format!("{option} names {kind}{} twice", pair.file.display())));
        }
    }
    Ok(pairs)
}
