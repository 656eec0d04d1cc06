//! One element at work: its state and its compiled bodies.
#![allow(unsafe_code)]

use std::rc::Rc;

use ir::engine::{
    Bounds, DropCause, Fate, Firing, Inputs, Options, PIECE_BYTES, Packet, PacketFiring, Trap, data_of, message_words,
    put_data,
};
use ir::{Design, Element, ElementId, MessageKind, MessageTypeId, Value, Verified, Width};

use crate::Error;
use crate::code::{Assembly, CodeMemory, EntryPoint};
use crate::context::{Context, Outside, PORTS_MAX};
use crate::layout::Layout;
use crate::lower::{Compiled, ElementInput, Tables, TrapSite, Vars, compile};
use crate::memory::State;
use crate::twins::NativeTwin;

/// One element at work. What it does is what `interp::Machine` does.
#[derive(Debug)]
pub struct Machine {
    core: Core,
    init: Option<Body>,
    handler: Handler,
    signals: Vec<Body>,
    /// Widths of each signal's arguments and results.
    signatures: Vec<Signature>,
    asks_outcome: bool,
    /// Words of the messages at each input.
    input_words: Vec<usize>,
    output_words: Vec<usize>,
    last_mask: u32,
}

#[derive(Debug)]
struct Signature {
    params: Vec<Width>,
    results: Vec<Width>,
}

#[derive(Debug)]
enum Handler {
    Flit(Body),
    Packet(Box<PacketBodies>),
}

#[derive(Debug)]
struct PacketBodies {
    window: usize,
    grow: usize,
    store: Option<u32>,
    /// Words of metadata that the design's packets have.
    meta_words: usize,
    head: Body,
    tail: Option<Tail>,
    end: Option<Body>,
}

/// What is done behind the window.
#[derive(Debug)]
enum Tail {
    /// `.body` on each piece.
    Pieces(Body),
    /// Its twin on all bytes at once.
    Twin(NativeTwin),
}

/// A callable body and its frame.
#[derive(Debug)]
struct Body {
    entry: EntryPoint,
    frame: Vec<u64>,
    yields_param: bool,
}

/// What all bodies of the element share.
#[derive(Debug)]
struct Core {
    state: Rc<State>,
    context: Context,
    outside: Outside,
    io: Vec<u64>,
    /// One message an output, `output_stride` words apart.
    outputs: Vec<u64>,
    output_stride: usize,
    zeros: Vec<u64>,
    traps: Vec<TrapSite>,
    /// Owns the code that entry points lead to.
    _memory: CodeMemory,
}

impl Core {
    /// Runs a body on the context as it is; a packet must have been shown to it if the body is of a packet handler.
    #[inline]
    fn run(&mut self, body: &mut Body) -> Result<(), Trap> {
        let context = &mut self.context;
        context.io = self.io.as_mut_ptr();
        context.frame = body.frame.as_mut_ptr();
        context.outputs = self.outputs.as_mut_ptr();
        context.outside = &mut self.outside;
        context.fronts[PORTS_MAX] = self.zeros.as_ptr();
        // SAFETY: `_memory` owns the code, which was compiled for this state's layout. `Machine::new` made `io`, `frame`,
        // `outputs` and `zeros` as large as the largest use in any body. Messages are checked in `fire`; packet ops stand in
        // packet handlers alone, as the verifier checks, and `fire_packet` shows the packet first.
        let status = unsafe { body.entry.call(context, &self.state) };
        match status {
            0 => Ok(()),
            site => Err(self.trap(site)),
        }
    }

    #[cold]
    fn trap(&self, site: u64) -> Trap {
        self.traps[site as usize - 1].trap(&self.context)
    }
}

impl Machine {
    /// Compiles an element; its state is at reset, and `.init` has not run. Panics if it has more than 32 ports on a side.
    pub fn new(design: Verified<'_>, element: ElementId, options: Options) -> Result<Machine, Error> {
        let design = design.design();
        let element = &design.elements[element.index()];
        let n_ports = element.inputs.len().max(element.outputs.len());
        assert!(n_ports <= PORTS_MAX, "masks have a bit for each port");
        let words = |ports: &[ir::Port]| ports.iter().map(|port| message_words(design, port.message)).collect();
        let (input_words, output_words): (Vec<usize>, Vec<usize>) = (words(&element.inputs), words(&element.outputs));
        let output_stride = output_words.iter().copied().max().unwrap_or(0);
        let layout = Layout::new(&element.vars);
        let input = ElementInput {
            design,
            element,
            vars: Vars::Own(&layout),
            options,
            output_words: output_stride,
            packet_outputs: packet_outputs(design, element),
        };
        let mut tables = Tables::default();
        let mut assembly = Assembly::new()?;
        let compiled = compile_bodies(&mut assembly, input, &mut tables)?;
        let memory = assembly.finish()?;
        let io_words = compiled.iter().map(|body| body.io_words).max().unwrap_or(0);
        let asks_outcome = compiled.iter().any(|body| body.asks_outcome);
        let mut bodies = compiled.into_iter().map(|compiled: Compiled| Body {
            entry: memory.entry(compiled.defined),
            frame: vec![0; compiled.frame_limbs],
            yields_param: compiled.yields_param,
        });
        // In the order of `Element::bodies`.
        let mut next = || bodies.next().expect("each body was compiled");
        let init = element.init.as_ref().map(|_| next());
        let twin = NativeTwin::of(element).filter(|_| options.twins && options.bounds == Bounds::Lenient);
        let handler = handler(design, element, twin, &mut next);
        let signals = element.signals.iter().map(|_| next()).collect();
        let core = Core {
            state: Rc::new(State::new(&element.vars, layout)),
            context: Context::new(options.loop_rounds_max),
            outside: Outside { trace_texts: tables.traces, reasons: tables.reasons, ..Outside::default() },
            io: vec![0; io_words.max(1)],
            outputs: vec![0; output_stride * output_words.len()],
            output_stride,
            zeros: vec![0; message_words_max(design)],
            traps: tables.traps,
            _memory: memory,
        };
        let signatures = element.signals.iter().map(|signal| Signature {
            params: signal.params.iter().map(|field| field.width).collect(),
            results: signal.results.iter().map(|field| field.width).collect(),
        });
        Ok(Machine {
            core,
            init,
            handler,
            signals,
            signatures: signatures.collect(),
            asks_outcome,
            input_words,
            output_words,
            last_mask: u32::MAX,
        })
    }

    /// Runs `.init`, if there is one.
    pub fn init(&mut self) -> Result<(), Trap> {
        let Some(init) = &mut self.init else { return Ok(()) };
        self.core.context.now_ns = 0;
        self.core.run(init)
    }

    /// Fires a flit handler. `ready` says which inputs hold a message. Panics if it is a packet element, and if a message is
    /// shorter than its type.
    #[inline]
    pub fn fire(&mut self, now_ns: u64, ready: u32, inputs: &dyn Inputs) -> Result<Firing, Trap> {
        let Handler::Flit(body) = &mut self.handler else { panic!("a packet element fires on packets") };
        let context = &mut self.core.context;
        for (port, &n_words) in self.input_words.iter().enumerate() {
            if ready >> port & 1 == 1 {
                let front = inputs.front(port);
                assert!(front.len() >= n_words, "a message has the words of its type");
                context.fronts[port] = front.as_ptr();
            }
        }
        (context.now_ns, context.ready, context.written, context.changed) = (now_ns, u64::from(ready), 0, 0);
        self.core.run(body)?;
        let context = &mut self.core.context;
        let mask = self.core.io[0] as u32;
        let saw_outcome = self.asks_outcome && context.last_failed | context.last_written != 0;
        let firing = Firing {
            consumed: ready & !(context.ready as u32),
            written: context.written as u32,
            mask,
            changed: context.changed != 0 || mask != self.last_mask || saw_outcome,
        };
        self.last_mask = mask;
        (context.last_mask, context.last_failed, context.last_written) = (u64::from(mask), 0, 0);
        Ok(firing)
    }

    /// Says what became of the writes of the firing just done, for the next one to ask. Masks as in [`Firing::written`].
    pub fn set_outcome(&mut self, accepted: u32, refused: u32) {
        let context = &mut self.core.context;
        (context.last_written, context.last_failed) = (u64::from(accepted), u64::from(refused));
    }

    /// Message that the last firing wrote to an output (from 0), in the form of [`Inputs::front`].
    #[inline]
    pub fn output(&self, port: usize) -> &[u64] {
        &self.core.outputs[port * self.core.output_stride..][..self.output_words[port]]
    }

    /// Fires a packet handler on a packet, changing it in place. `in_port` is the element's input, from 1; 0 if it fires
    /// without a packet, which must then be empty. Panics if it is a flit element.
    #[inline]
    pub fn fire_packet(&mut self, now_ns: u64, in_port: u32, packet: &mut Packet) -> Result<PacketFiring, Trap> {
        let Handler::Packet(bodies) = &mut self.handler else { panic!("a flit element fires on messages") };
        let core = &mut self.core;
        if let Some(store) = bodies.store
            && packet.len() > store as usize
        {
            let fate = Fate::Dropped(DropCause::LongerThanStore(store));
            return Ok(PacketFiring { fate, written: 0, changed: false });
        }
        let avail = packet.len().min(bodies.window);
        let behind = packet.len() - avail;
        if packet.meta.len() < bodies.meta_words {
            packet.meta.resize(bodies.meta_words, 0);
        }
        let context = &mut core.context;
        context.begin_packet(packet, avail, in_port);
        context.now_ns = now_ns;
        context.grow_left = bodies.grow as u64;
        context.store = bodies.store.map_or(0, u64::from);
        core.run(&mut bodies.head)?;
        if let Some(tail) = &mut bodies.tail
            && core.context.dropped == 0
        {
            // A head that cut the packet leaves fewer bytes behind the window, and one that appended adds none of the original's.
            let behind = behind.min((core.context.len - core.context.avail) as usize);
            match tail {
                Tail::Pieces(body) => run_tail(core, body, packet, bodies.window, behind)?,
                Tail::Twin(twin) => {
                    let start = core.context.avail as usize;
                    let changed = twin.run(&core.state, &mut packet.bytes_mut()[start..start + behind]);
                    core.context.changed |= u64::from(changed);
                }
            }
        }
        if let Some(end) = &mut bodies.end
            && core.context.dropped == 0
        {
            core.context.see_packet(packet);
            core.run(end)?;
        }
        let context = &mut core.context;
        let fate = fate(context, &core.outside, packet);
        (context.last_failed, context.last_written) = (0, 0);
        Ok(PacketFiring { fate, written: context.written as u32, changed: context.changed != 0 })
    }

    /// Calls a signal, by position. Arguments are flattened, each below 2^width; gives the flattened results.
    pub fn call_signal(&mut self, signal: usize, now_ns: u64, arguments: &[Value]) -> Result<Vec<Value>, Trap> {
        let Signature { params, results } = &self.signatures[signal];
        assert_eq!(arguments.len(), params.len(), "callers check the number of arguments");
        assert!(
            arguments.iter().zip(params).all(|(value, width)| value.fits(*width)),
            "callers check the arguments' widths"
        );
        let mut at = 0;
        for (argument, width) in arguments.iter().zip(params) {
            let place = &mut self.core.io[at..at + width.limbs()];
            let limbs = argument.limbs();
            place[..limbs.len()].copy_from_slice(limbs);
            place[limbs.len()..].fill(0);
            at += width.limbs();
        }
        self.core.context.now_ns = now_ns;
        self.core.run(&mut self.signals[signal])?;
        let mut rest = &self.core.io[..];
        let mut next = |width: &Width| {
            let (limbs, behind) = rest.split_at(width.limbs());
            rest = behind;
            Value::from_limbs(limbs)
        };
        Ok(results.iter().map(&mut next).collect())
    }

    /// Whether there is something for [`Machine::take_wakes`] or [`Machine::take_traces`] to give.
    #[inline]
    pub fn has_news(&self) -> bool {
        let Outside { wakes, traces, .. } = &self.core.outside;
        !wakes.is_empty() || traces.as_ref().is_some_and(|lines| !lines.is_empty())
    }

    /// Times at which it asked to be fired since the last call.
    pub fn take_wakes(&mut self) -> std::vec::Drain<'_, u64> {
        self.core.outside.wakes.drain(..)
    }

    /// Keeps what it traces from here on, for [`Machine::take_traces`]. Otherwise lines are not even made.
    pub fn listen(&mut self) {
        self.core.outside.traces.get_or_insert_default();
    }

    /// Lines that it traced since the last call.
    pub fn take_traces(&mut self) -> impl Iterator<Item = String> {
        self.core.outside.traces.iter_mut().flat_map(|lines| lines.drain(..))
    }

    /// The state, to be shared with a chain.
    pub(crate) fn shared_state(&self) -> &Rc<State> {
        &self.core.state
    }

    /// The state: each variable with its words (one for a register), in order.
    pub fn state(&self) -> impl Iterator<Item = (&str, Vec<Value>)> {
        self.core.state.values()
    }
}

/// Compiles all bodies, in the order of [`Element::bodies`].
fn compile_bodies(
    assembly: &mut Assembly,
    input: ElementInput<'_>,
    tables: &mut Tables,
) -> Result<Vec<Compiled>, Error> {
    let mut compiled = Vec::new();
    for (name, body) in input.element.bodies() {
        let outcome = compile(assembly, input, body, tables);
        let in_body = |message| Error::Body { element: input.element.name.clone(), body: name, message };
        compiled.push(outcome.map_err(in_body)?);
    }
    Ok(compiled)
}

/// The handler, whose bodies are the next ones.
fn handler(design: &Design, element: &Element, twin: Option<NativeTwin>, next: &mut dyn FnMut() -> Body) -> Handler {
    match &element.handler {
        ir::Handler::Flit(_) => Handler::Flit(next()),
        ir::Handler::Packet { window, grow, store, tail, end, .. } => Handler::Packet(Box::new(PacketBodies {
            window: *window as usize,
            grow: *grow as usize,
            store: *store,
            meta_words: meta_words(design),
            head: next(),
            tail: tail.as_ref().map(|_| {
                let body = next();
                twin.map_or(Tail::Pieces(body), Tail::Twin)
            }),
            end: end.as_ref().map(|_| next()),
        })),
    }
}

/// Words of metadata that the design's packets have.
pub(crate) fn meta_words(design: &Design) -> usize {
    (ir::side::side_width(design).bits() - ir::side::META_LO).div_ceil(64) as usize
}

/// Words of the design's longest message.
fn message_words_max(design: &Design) -> usize {
    let types = (0..design.message_types.len() as u32).map(MessageTypeId);
    types.map(|message| message_words(design, message)).max().unwrap_or(0)
}

fn packet_outputs(design: &Design, element: &Element) -> u64 {
    let carries = |port: &ir::Port| design.message_types[port.message.index()].kind == MessageKind::Packet;
    element.outputs.iter().enumerate().filter(|(_, port)| carries(port)).fold(0, |mask, (idx, _)| mask | 1 << idx)
}

/// Runs `.body` on the original's last `behind` bytes, piece by piece. Offsets count from the original's first byte.
fn run_tail(core: &mut Core, tail: &mut Body, packet: &mut Packet, window: usize, behind: usize) -> Result<(), Trap> {
    let start = core.context.avail as usize;
    for done in (0..behind).step_by(PIECE_BYTES) {
        let n_bytes = (behind - done).min(PIECE_BYTES);
        let place = start + done..start + done + n_bytes;
        core.io[..4].copy_from_slice(&data_of(&packet.bytes()[place.clone()]));
        core.io[4] = n_bytes as u64;
        core.io[5] = (window + done) as u64;
        core.context.see_packet(packet);
        core.run(tail)?;
        if core.context.dropped != 0 {
            return Ok(());
        }
        if !tail.yields_param {
            put_data(&core.io[..4], &mut packet.bytes_mut()[place]);
        }
    }
    Ok(())
}

fn fate(context: &Context, outside: &Outside, packet: &Packet) -> Fate {
    let made_nothing = context.in_port == 0 && packet.is_empty();
    match context.cause(outside) {
        Some(DropCause::Element(_)) if made_nothing => Fate::Nothing,
        Some(cause) => Fate::Dropped(cause),
        None if context.emitted != 0 => Fate::Emitted(context.emitted as u32),
        None if context.in_port == 0 => Fate::Nothing,
        None => Fate::Dropped(DropCause::Undecided),
    }
}
