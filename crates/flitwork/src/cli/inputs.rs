//! Opens what `--in` names: captures, interfaces, generators.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use packet::capture::Format;
use runtime::PacketSource;

use super::args::PortFile;
use super::exit::{Exit, Failure};
use super::live::Live;
use crate::live::endpoint::Endpoint;
use crate::live::generator::Generator;
use crate::live::interfaces::Interfaces;
use crate::live::replay::{Looped, Until};
use crate::run::input::{CaptureInput, OpenError};

/// Sources by port.
type Sources = Vec<(String, Box<dyn PacketSource>)>;

/// Opens all inputs; gives also the format that holds what all the captures among them hold.
pub fn open(
    inputs: &[PortFile],
    interfaces: &mut Interfaces,
    live: &Live,
    stop: &Arc<AtomicBool>,
) -> Result<(Sources, Option<Format>), Failure> {
    let mut sources: Sources = Vec::new();
    let mut format: Option<Format> = None;
    let mut join = |other: Format| format = Some(format.map_or(other, |format| format.join(other)));
    for PortFile { port, endpoint, .. } in inputs {
        let fail = |error: crate::live::error::InterfaceError| Failure::file(error.to_string());
        let source: Box<dyn PacketSource> = match endpoint {
            Endpoint::Interface(name) => interfaces.packet_source(name, port).map_err(fail)?,
            Endpoint::Tap(name) => interfaces.tap_source(name, port).map_err(fail)?,
            Endpoint::File(file) => {
                let input = capture(file, stop)?;
                join(input.format());
                live.paced(interfaces, Box::new(input))
            }
            Endpoint::Looped { file, n_rounds } => {
                join(capture(file, stop)?.format());
                let (file, stop) = (file.clone(), Arc::clone(stop));
                let open = move || match CaptureInput::open(&file, Arc::clone(&stop)) {
                    Ok(input) => Ok(Box::new(input) as Box<dyn PacketSource>),
                    Err(OpenError::File(error)) => Err(error.into()),
                    Err(OpenError::Capture(error)) => Err(error.into()),
                };
                live.paced(interfaces, limited(Looped::new(Box::new(open), *n_rounds), live))
            }
            Endpoint::Generator(traffic) => live.paced(interfaces, limited(Generator::new(traffic.clone(), 0), live)),
            Endpoint::Null => continue,
        };
        sources.push((port.clone(), source));
    }
    Ok((sources, format))
}

/// In a replay, traffic without an end of its own ends with `--duration`; a live run ends as a whole.
fn limited(source: impl PacketSource + 'static, live: &Live) -> Box<dyn PacketSource> {
    match live.duration_ns {
        Some(duration_ns) if !live.is_live => Box::new(Until::new(source, duration_ns)),
        Some(_) | None => Box::new(source),
    }
}

fn capture(file: &Path, stop: &Arc<AtomicBool>) -> Result<CaptureInput, Failure> {
    match CaptureInput::open(file, Arc::clone(stop)) {
        Ok(input) => Ok(input),
        // A pipe that never came to its header looks like an empty file.
        Err(_) if stop.load(Ordering::Relaxed) => {
            Err(Failure { message: "interrupted before anything ran".to_string(), exit: Exit::Interrupted })
        }
        Err(OpenError::File(error)) => Err(error.into()),
        Err(OpenError::Capture(error)) => Err(Failure::file(error.to_string())),
    }
}
