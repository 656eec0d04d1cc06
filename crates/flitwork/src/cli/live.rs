//! What `flitwork run` does while a run goes on: waiting for interfaces, answering at sockets, showing rates, ending in time.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ir::{BoundaryDirection, Design, MessageKind};
use runtime::{Controls, PacketSink, PacketSource, Report};

use super::args::{PortFile, RunArgs};
use super::exit::Failure;
use super::ports;
use super::terminal::say_aside;
use super::top::Top;
use crate::live::control_socket::ControlSocket;
use crate::live::endpoint::Endpoint;
use crate::live::ffi::Waker;
use crate::live::interfaces::Interfaces;
use crate::live::prometheus;
use crate::live::requests::{Answerer, Desk, desk};
use crate::run::output::Lifetime;
use crate::run::{SignalCall, signal_call};

/// Whether a run is live, and for how long.
pub struct Live {
    /// Whether packets come or go in real time.
    pub is_live: bool,
    /// `--duration`.
    pub duration_ns: Option<u64>,
}

impl Live {
    /// A run is live if one of its ends is.
    pub fn of(args: &RunArgs, inputs: &[PortFile]) -> Live {
        let is_live = inputs.iter().chain(&args.outputs).any(|end| end.endpoint.is_live());
        Live { is_live, duration_ns: args.duration }
    }

    /// For how long files are written.
    pub fn lifetime(&self) -> Lifetime {
        if self.is_live { Lifetime::Live } else { Lifetime::Batch }
    }

    /// Tells where the packets of a port are until the run ends.
    pub fn announce(&self, port: &str, temporary: &Path) {
        if self.is_live {
            say_aside(&format!("{port} is written to {} until the run ends\n", temporary.display()));
        }
    }

    /// In a live run, recorded and made packets come at their own pace.
    pub fn paced(&self, interfaces: &mut Interfaces, source: Box<dyn PacketSource>) -> Box<dyn PacketSource> {
        if self.is_live { interfaces.paced(source) } else { source }
    }

    /// Opens the sockets that were asked for, and begins to watch.
    pub fn watch<'w>(
        &self,
        args: &RunArgs,
        design: &'w Design,
        interfaces: &'w Interfaces,
        stop: &'w AtomicBool,
    ) -> Result<Watch<'w>, Failure> {
        let waker = Arc::new(Waker::new().map_err(|error| Failure::file(format!("cannot make an event: {error}")))?);
        let (asker, desk) = desk(Arc::clone(&waker));
        let socket = match &args.control_socket {
            Some(path) => Some(ControlSocket::listen(path, design, asker.clone())?),
            None => None,
        };
        if let Some(address) = args.prometheus {
            let explain = |error| Failure::file(format!("cannot listen at {address}: {error}"));
            let address = prometheus::listen(address, asker.clone()).map_err(explain)?;
            say_aside(&format!("counters at http://{address}/metrics\n"));
        }
        let top = if args.top { Some(Top::start()?) } else { None };
        let duration = self.duration_ns.filter(|_| self.is_live).map(Duration::from_nanos);
        Ok(Watch {
            is_live: self.is_live,
            serves: socket.is_some() || args.prometheus.is_some(),
            design,
            interfaces,
            stop,
            waker,
            desk: RefCell::new(desk),
            top: RefCell::new(top),
            deadline: duration.and_then(|duration| Instant::now().checked_add(duration)),
            is_busy: Cell::new(false),
            was_asked_to_end: Cell::new(false),
            _socket: socket,
        })
    }
}

/// Sinks by port.
type Sinks = Vec<(String, Box<dyn PacketSink>)>;

/// Opens the interfaces of `--out`, after those of `--in`.
pub fn open_sinks(design: &Design, args: &RunArgs, interfaces: &mut Interfaces) -> Result<Sinks, Failure> {
    let mut sinks = Vec::new();
    for PortFile { port, endpoint, file } in ports::distinct("--out", &args.outputs)? {
        let sink = match endpoint {
            Endpoint::File(_) | Endpoint::Null => continue,
            Endpoint::Interface(name) => interfaces.packet_sink(name, port),
            Endpoint::Tap(name) => interfaces.tap_sink(name, port),
            Endpoint::Looped { .. } | Endpoint::Generator(_) => {
                return Err(Failure::usage(format!("{} is for --in; name a file for --out {port}", file.display())));
            }
        };
        let boundary = ports::boundary(design, port, BoundaryDirection::Out)?;
        if design.message_types[boundary.message.index()].kind == MessageKind::Struct {
            let shown = file.display();
            return Err(Failure::usage(format!(
                "{port} carries messages, not packets: write {port}.jsonl instead of {shown}"
            )));
        }
        sinks.push((port.clone(), sink.map_err(|error| Failure::file(error.to_string()))?));
    }
    Ok(sinks)
}

/// A run being watched.
pub struct Watch<'w> {
    is_live: bool,
    serves: bool,
    design: &'w Design,
    interfaces: &'w Interfaces,
    stop: &'w AtomicBool,
    waker: Arc<Waker>,
    desk: RefCell<Desk>,
    top: RefCell<Option<Top>>,
    deadline: Option<Instant>,
    /// Questions are left to answer.
    is_busy: Cell<bool>,
    was_asked_to_end: Cell<bool>,
    _socket: Option<ControlSocket>,
}

impl Watch<'_> {
    /// Whether there is anything to do between batches.
    pub fn is_needed(&self) -> bool {
        self.is_live || self.serves || self.top.borrow().is_some()
    }

    /// What is due between two batches of packets.
    pub fn between(&self, controls: &mut dyn Controls) {
        let mut run = Run { watch: self, controls };
        self.is_busy.set(self.serves && self.desk.borrow_mut().turn(&mut run));
        if let Some(top) = &mut *self.top.borrow_mut() {
            top.show(|| run.report());
        }
        let is_over = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_over || self.interfaces.has_failed() {
            self.was_asked_to_end.set(true);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for packets.
    pub fn wait(&self, until_ns: Option<u64>) {
        if !self.is_busy.get() && !self.stop.load(Ordering::Relaxed) {
            self.interfaces.wait(&self.waker, until_ns);
        }
    }

    /// Takes the rates away from the terminal.
    pub fn end(&self) {
        if let Some(top) = &mut *self.top.borrow_mut() {
            top.end();
        }
    }

    /// Whether the run ended in one of the ways that are planned, rather than before its end.
    pub fn ended_as_asked(&self) -> bool {
        self.is_live || self.was_asked_to_end.get()
    }
}

/// The run as those who ask see it.
struct Run<'r, 'w> {
    watch: &'r Watch<'w>,
    controls: &'r mut dyn Controls,
}

impl Answerer for Run<'_, '_> {
    fn call(&mut self, line: &str) -> Result<Vec<SignalCall>, String> {
        let calls = self.controls.call_line(line).map_err(|error| error.to_string())?;
        Ok(calls.iter().map(|call| signal_call(self.watch.design, call)).collect())
    }

    fn load(&mut self, text: String) -> Result<(), String> {
        let explain = |errors: Vec<runtime::ControlError>| {
            errors.iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
        };
        self.controls.load_control(text).map_err(explain)
    }

    fn report(&mut self) -> Report {
        let mut report = self.controls.report();
        self.watch.interfaces.add_losses(&mut report);
        report
    }

    fn stop(&mut self) {
        self.watch.was_asked_to_end.set(true);
        self.watch.stop.store(true, Ordering::Relaxed);
    }
}
