//! One element at work: its state and its compiled bodies.

use ir::engine::{Bounds, Fate, Firing, Inputs, Options, PIECE_BYTES, PacketFiring, data_of, put_data};
use ir::{Design, Element, ElementId, Handler, MessageKind, Value, VarId};

use crate::code::Operand;
use crate::compile::compile;
use crate::exec::{Env, Limits, Runnable};
use crate::memory::State;
use crate::packet_env::PacketEnv;
use crate::{DropCause, Packet, Trap};

/// No inputs.
struct NoInputs;

impl Inputs for NoInputs {
    fn front(&self, _port: usize) -> &[u64] {
        unreachable!("nothing is ready")
    }
}

/// One element at work.
#[derive(Clone, Debug)]
pub struct Machine {
    vars: Vec<ir::Var>,
    state: State,
    limits: Limits,
    init: Option<Runnable>,
    handler: Compiled,
    signals: Vec<Runnable>,
    /// Message written in this firing, by output.
    outputs: Vec<Vec<u64>>,
    last_mask: u32,
    last_failed: u32,
    last_written: u32,
    wakes: Vec<u64>,
    /// Absent if nobody listens.
    traces: Option<Vec<String>>,
    /// Stands for the packet in bodies that have none.
    no_packet: Packet,
}

#[derive(Clone, Debug)]
enum Compiled {
    Flit(Box<Runnable>),
    Packet {
        window: usize,
        grow: usize,
        store: Option<u32>,
        packet_outputs: u32,
        head: Box<Runnable>,
        tail: Option<Box<Runnable>>,
        end: Option<Box<Runnable>>,
    },
}

impl Machine {
    /// Compiles an element of a verified design; its state is at reset, and `.init` has not run.
    pub fn new(design: &Design, element: ElementId, options: Options) -> Machine {
        let element = &design.elements[element.index()];
        let state = State::new(&element.vars);
        let runnable = |body: &ir::Body| Runnable::new(compile(design, element, &state, body));
        let boxed = |body: &ir::Body| Box::new(runnable(body));
        let handler = match &element.handler {
            Handler::Flit(body) => Compiled::Flit(boxed(body)),
            Handler::Packet { window, grow, store, head, tail, end } => Compiled::Packet {
                window: *window as usize,
                grow: *grow as usize,
                store: *store,
                packet_outputs: packet_outputs(design, element),
                head: boxed(head),
                tail: tail.as_deref().map(boxed),
                end: end.as_deref().map(boxed),
            },
        };
        Machine {
            vars: element.vars.clone(),
            limits: Limits { strict: options.bounds == Bounds::Strict, loop_rounds_max: options.loop_rounds_max },
            init: element.init.as_ref().map(runnable),
            handler,
            signals: element.signals.iter().map(|signal| runnable(&signal.body)).collect(),
            outputs: vec![Vec::new(); element.outputs.len()],
            state,
            last_mask: u32::MAX,
            last_failed: 0,
            last_written: 0,
            wakes: Vec::new(),
            traces: None,
            no_packet: Packet::default(),
        }
    }

    /// Runs `.init`, if there is one.
    pub fn init(&mut self) -> Result<(), Trap> {
        let Some(mut init) = self.init.take() else { return Ok(()) };
        let outcome = self.run_without_ports(&mut init, 0);
        self.init = Some(init);
        outcome
    }

    /// Fires a flit handler. `ready` says which inputs hold a message. Panics if it is a packet element.
    pub fn fire(&mut self, now_ns: u64, ready: u32, inputs: &dyn Inputs) -> Result<Firing, Trap> {
        let Compiled::Flit(handler) = &mut self.handler else { panic!("a packet element fires on packets") };
        let mut env = Env {
            now_ns,
            limits: self.limits,
            inputs,
            ready,
            consumed: 0,
            outputs: &mut self.outputs,
            written: 0,
            last_mask: self.last_mask,
            last_failed: self.last_failed,
            last_written: self.last_written,
            packet: PacketEnv::none(&mut self.no_packet),
            wakes: &mut self.wakes,
            traces: self.traces.as_mut(),
            changed: false,
        };
        handler.run(&mut self.state, &mut env)?;
        let mask = handler.result(0)[0] as u32;
        let saw_outcome = handler.code.asks_outcome && self.last_failed | self.last_written != 0;
        let changed = env.changed || mask != self.last_mask || saw_outcome;
        let firing = Firing { consumed: env.consumed, written: env.written, mask, changed };
        self.last_mask = mask;
        (self.last_failed, self.last_written) = (0, 0);
        Ok(firing)
    }

    /// Says what became of the writes of the firing just done, for the next one to ask. Masks as in [`Firing::written`].
    pub fn set_outcome(&mut self, accepted: u32, refused: u32) {
        (self.last_written, self.last_failed) = (accepted, refused);
    }

    /// Message that the last firing wrote to an output (from 0), in the form of [`Inputs::front`].
    pub fn output(&self, port: usize) -> &[u64] {
        &self.outputs[port]
    }

    /// Fires a packet handler on a packet, changing it in place. `in_port` is the element's input, from 1; 0 if it fires
    /// without a packet, which must then be empty. Panics if it is a flit element.
    pub fn fire_packet(&mut self, now_ns: u64, in_port: u32, packet: &mut Packet) -> Result<PacketFiring, Trap> {
        let Compiled::Packet { window, grow, store, packet_outputs, head, tail, end } = &mut self.handler else {
            panic!("a flit element fires on messages")
        };
        if let Some(store) = *store
            && packet.len() > store as usize
        {
            let fate = Fate::Dropped(DropCause::LongerThanStore(store));
            return Ok(PacketFiring { fate, written: 0, changed: false });
        }
        let avail = packet.len().min(*window);
        let mut behind = packet.len() - avail;
        let mut env = Env {
            now_ns,
            limits: self.limits,
            inputs: &NoInputs,
            ready: 0,
            consumed: 0,
            outputs: &mut self.outputs,
            written: 0,
            last_mask: u32::MAX,
            last_failed: self.last_failed,
            last_written: self.last_written,
            packet: PacketEnv {
                packet,
                avail,
                grow_left: *grow,
                store: *store,
                short: false,
                in_port,
                packet_outputs: *packet_outputs,
                emitted: 0,
                dropped: None,
            },
            wakes: &mut self.wakes,
            traces: self.traces.as_mut(),
            changed: false,
        };
        head.run(&mut self.state, &mut env)?;
        // A head that cut the packet leaves fewer bytes behind the window, and one that appended adds none of the original's.
        behind = behind.min(env.packet.packet.len() - env.packet.avail);
        if let Some(tail) = tail
            && env.packet.dropped.is_none()
        {
            run_tail(tail, &mut self.state, &mut env, *window, behind)?;
        }
        if let Some(end) = end
            && env.packet.dropped.is_none()
        {
            end.run(&mut self.state, &mut env)?;
        }
        let fate = fate(&mut env.packet);
        let (written, changed) = (env.written, env.changed);
        (self.last_failed, self.last_written) = (0, 0);
        Ok(PacketFiring { fate, written, changed })
    }

    /// Calls a signal, by position. Arguments are flattened, each below 2^width; gives the flattened results.
    pub fn call_signal(&mut self, signal: usize, now_ns: u64, arguments: &[Value]) -> Result<Vec<Value>, Trap> {
        let params = &self.signals[signal].code.params;
        assert_eq!(arguments.len(), params.len(), "callers check the number of arguments");
        let fits = |(value, param): (&Value, &Operand)| value.limbs().len() <= param.n_limbs();
        assert!(arguments.iter().zip(params).all(fits), "callers check the arguments' widths");
        let mut body = std::mem::replace(&mut self.signals[signal], Runnable::new(crate::code::Code::empty()));
        for (param_idx, argument) in arguments.iter().enumerate() {
            body.set_param(param_idx, argument.limbs());
        }
        let outcome = self.run_without_ports(&mut body, now_ns);
        let results = body.results();
        self.signals[signal] = body;
        outcome.map(|()| results)
    }

    fn run_without_ports(&mut self, body: &mut Runnable, now_ns: u64) -> Result<(), Trap> {
        let mut env = Env {
            now_ns,
            limits: self.limits,
            inputs: &NoInputs,
            ready: 0,
            consumed: 0,
            outputs: &mut self.outputs,
            written: 0,
            last_mask: self.last_mask,
            last_failed: self.last_failed,
            last_written: self.last_written,
            packet: PacketEnv::none(&mut self.no_packet),
            wakes: &mut self.wakes,
            traces: self.traces.as_mut(),
            changed: false,
        };
        body.run(&mut self.state, &mut env)
    }

    /// Whether there is something for [`Machine::take_wakes`] or [`Machine::take_traces`] to give.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.wakes.is_empty() || self.traces.as_ref().is_some_and(|lines| !lines.is_empty())
    }

    /// Times at which it asked to be fired since the last call.
    pub fn take_wakes(&mut self) -> std::vec::Drain<'_, u64> {
        self.wakes.drain(..)
    }

    /// Keeps what it traces from here on, for [`Machine::take_traces`]. Otherwise lines are not even made.
    pub fn listen(&mut self) {
        self.traces.get_or_insert_default();
    }

    /// Lines that it traced since the last call.
    pub fn take_traces(&mut self) -> impl Iterator<Item = String> {
        self.traces.iter_mut().flat_map(|lines| lines.drain(..))
    }

    /// The state: each variable with its words (one for a register), in order.
    pub fn state(&self) -> impl Iterator<Item = (&str, Vec<Value>)> {
        self.vars.iter().enumerate().map(|(idx, var)| (var.name.as_str(), self.state.values(VarId(idx as u32))))
    }
}

fn packet_outputs(design: &Design, element: &Element) -> u32 {
    let carries = |port: &ir::Port| design.message_types[port.message.index()].kind == MessageKind::Packet;
    element.outputs.iter().enumerate().filter(|(_, port)| carries(port)).fold(0, |mask, (idx, _)| mask | 1 << idx)
}

/// Runs `.body` on the original's last `behind` bytes, piece by piece. Offsets count from the original's first byte.
fn run_tail(
    tail: &mut Runnable,
    state: &mut State,
    env: &mut Env<'_>,
    window: usize,
    behind: usize,
) -> Result<(), Trap> {
    let start = env.packet.avail;
    let writes_back = !tail.code.yields_param(0);
    for done in (0..behind).step_by(PIECE_BYTES) {
        let n_bytes = (behind - done).min(PIECE_BYTES);
        let place = start + done..start + done + n_bytes;
        let data = data_of(&env.packet.packet.bytes()[place.clone()]);
        tail.set_param(0, &data);
        tail.set_param(1, &[n_bytes as u64]);
        tail.set_param(2, &[(window + done) as u64]);
        tail.run(state, env)?;
        if env.packet.dropped.is_some() {
            return Ok(());
        }
        if writes_back {
            put_data(tail.result(0), &mut env.packet.packet.bytes_mut()[place]);
        }
    }
    Ok(())
}

fn fate(packet: &mut PacketEnv<'_>) -> Fate {
    let made_nothing = packet.in_port == 0 && packet.packet.is_empty();
    match packet.dropped.take() {
        Some(DropCause::Element(_)) if made_nothing => Fate::Nothing,
        Some(cause) => Fate::Dropped(cause),
        None if packet.emitted != 0 => Fate::Emitted(packet.emitted),
        None if packet.in_port == 0 => Fate::Nothing,
        None => Fate::Dropped(DropCause::Undecided),
    }
}
