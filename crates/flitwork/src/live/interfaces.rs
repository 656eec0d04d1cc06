//! The live interfaces of a run: each is opened once, however many ports use it.

use std::cell::Cell;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

use runtime::report::Direction;
use runtime::{Filled, IoError, Packet, PacketSink, PacketSource, Report};

use super::clock::now_ns;
use super::error::InterfaceError;
use super::ffi::{self, Readiness, Waker};
use super::packet_socket::{PacketInput, PacketOutput, PacketSocket};
use super::replay::{Due, Paced};
use super::tap::{Tap, TapInput, TapOutput};

/// The longest wait, after which the run looks whether it should end.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Open interfaces, and what it takes to wait for them.
#[derive(Default)]
pub struct Interfaces {
    open: Vec<Open>,
    dues: Vec<Due>,
    has_failed: Rc<Cell<bool>>,
}

struct Open {
    name: String,
    device: Device,
    input: Option<String>,
    output: Option<String>,
}

#[derive(Clone)]
enum Device {
    Socket(Rc<PacketSocket>),
    Tap(Rc<Tap>),
}

impl Interfaces {
    /// Packets that arrive at a Linux interface, for an input port. Inputs are opened before outputs.
    pub fn packet_source(&mut self, name: &str, port: &str) -> Result<Box<dyn PacketSource>, InterfaceError> {
        let socket = Rc::new(PacketSocket::open(name, ffi::Direction::Receive)?);
        let source = PacketInput::new(Rc::clone(&socket));
        self.add(name, Device::Socket(socket)).input = Some(port.to_string());
        Ok(self.watched(source))
    }

    /// Packets that leave through a Linux interface, from an output port.
    pub fn packet_sink(&mut self, name: &str, port: &str) -> Result<Box<dyn PacketSink>, InterfaceError> {
        let found = self.open.iter_mut().find_map(|open| match &open.device {
            Device::Socket(socket) if open.name == name => Some((Rc::clone(socket), &mut open.output)),
            Device::Socket(_) | Device::Tap(_) => None,
        });
        let socket = match found {
            Some((socket, output)) => {
                *output = Some(port.to_string());
                socket
            }
            None => {
                let socket = Rc::new(PacketSocket::open(name, ffi::Direction::Send)?);
                self.add(name, Device::Socket(Rc::clone(&socket))).output = Some(port.to_string());
                socket
            }
        };
        Ok(Box::new(PacketOutput::new(socket)))
    }

    /// Packets that the host sends through a TAP device, for an input port.
    pub fn tap_source(&mut self, name: &str, port: &str) -> Result<Box<dyn PacketSource>, InterfaceError> {
        let tap = Rc::new(Tap::open(name)?);
        let source = TapInput::new(Rc::clone(&tap));
        self.add(name, Device::Tap(tap)).input = Some(port.to_string());
        Ok(self.watched(source))
    }

    /// Packets that the host gets from a TAP device, from an output port.
    pub fn tap_sink(&mut self, name: &str, port: &str) -> Result<Box<dyn PacketSink>, InterfaceError> {
        let found = self.open.iter_mut().find_map(|open| match &open.device {
            Device::Tap(tap) if open.name == name => Some((Rc::clone(tap), &mut open.output)),
            Device::Tap(_) | Device::Socket(_) => None,
        });
        let tap = match found {
            Some((tap, output)) => {
                *output = Some(port.to_string());
                tap
            }
            None => {
                let tap = Rc::new(Tap::open(name)?);
                self.add(name, Device::Tap(Rc::clone(&tap))).output = Some(port.to_string());
                tap
            }
        };
        Ok(Box::new(TapOutput::new(tap)))
    }

    /// A capture or a generator in real time, see [`Paced`].
    pub fn paced(&mut self, source: Box<dyn PacketSource>) -> Box<dyn PacketSource> {
        let source = Paced::new(source);
        self.dues.push(source.due());
        self.watched(source)
    }

    fn add(&mut self, name: &str, device: Device) -> &mut Open {
        self.open.push(Open { name: name.to_string(), device, input: None, output: None });
        self.open.last_mut().expect("just pushed")
    }

    fn watched(&self, source: impl PacketSource + 'static) -> Box<dyn PacketSource> {
        Box::new(Watched { source, has_failed: Rc::clone(&self.has_failed) })
    }

    /// Whether a source has failed: the run should end.
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Waits until a packet arrives, `waker` is woken, a paced packet is due, or the given time; not longer than a moment.
    pub fn wait(&self, waker: &Waker, until_ns: Option<u64>) {
        let inputs = self.open.iter().filter(|open| open.input.is_some());
        let inputs = inputs.map(|open| match &open.device {
            Device::Socket(socket) => socket.as_fd(),
            Device::Tap(tap) => tap.as_fd(),
        });
        let fds: Vec<BorrowedFd<'_>> = std::iter::once(waker.as_fd()).chain(inputs).collect();
        let due = self.dues.iter().filter_map(|due| due.get()).chain(until_ns).min();
        let timeout = due.map_or(WAIT_MAX, |due| Duration::from_nanos(due.saturating_sub(now_ns())).min(WAIT_MAX));
        if ffi::wait(&fds, Readiness::Readable, timeout).is_err() {
            // There is always a next try; it must not come at once.
            std::thread::sleep(Duration::from_millis(1));
        }
        waker.reset();
    }

    /// Adds what was lost at the interfaces to a report.
    pub fn add_losses(&self, report: &mut Report) {
        for open in &self.open {
            let (received, sent) = match &open.device {
                Device::Socket(socket) => {
                    socket.count_drops();
                    (&socket.received, &socket.sent)
                }
                Device::Tap(tap) => {
                    tap.count_drops();
                    (&tap.received, &tap.sent)
                }
            };
            if let Some(port) = &open.input {
                received.add_to(report, port, Direction::In);
            }
            if let Some(port) = &open.output {
                sent.add_to(report, port, Direction::Out);
            }
        }
    }
}

/// Tells when a source fails.
struct Watched<S> {
    source: S,
    has_failed: Rc<Cell<bool>>,
}

impl<S: PacketSource> PacketSource for Watched<S> {
    fn fill(&mut self, packets: &mut [Packet]) -> Result<Filled, IoError> {
        let outcome = self.source.fill(packets);
        if outcome.is_err() {
            self.has_failed.set(true);
        }
        outcome
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}
