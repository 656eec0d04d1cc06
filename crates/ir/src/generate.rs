//! Random designs that verify, for tests of passes and engines (feature `generate`).
//!
//! Same seed, same design. Bodies hold every op that their kind allows, nested `if`s, and loops that end; constants are not
//! folded, so that passes have work. Elements are wired to boundary ports one by one, what is left over to `Drop` and `Idle`.

use diag::{FileId, Span};

use crate::{
    Attr, Body, BodyKind, Boundary, BoundaryDirection, BoundaryId, Builder, Channel, ChannelEnd, ChannelId, Design,
    Element, ElementId, Field, Handler, MessageKind, MessageType, MessageTypeId, MetaField, Opcode, Param, Port, Shape,
    Signal, Timing, Value, ValueId, Var, VarId, Width,
};

/// A random design; `size` is about the number of ops of each body.
pub fn design(seed: u64, size: u32) -> Design {
    let mut random = Random(seed);
    let field = |name: &str, bits, signed| Field { name: name.to_string(), width: Width::of(bits), signed };
    let meta = vec![
        MetaField { name: "flow".to_string(), width: Width::of(32), signed: false },
        MetaField { name: "score[0]".to_string(), width: Width::of(9), signed: true },
    ];
    let mut design = Design { files: vec!["random.clnp".to_string()], ..Design::new("random", meta) };
    let fields = vec![field("key.src", 32, false), field("hit", 1, false), field("delta", 16, true)];
    design.message_types.push(MessageType { name: "Verdict".to_string(), kind: MessageKind::Struct, fields });
    for i in 0..1 + random.below(3) {
        add_element(&mut design, i as u32, size, &mut random);
    }
    design
}

/// The message type of structs in generated designs.
pub const VERDICT: MessageTypeId = MessageTypeId(2);

/// A small generator of numbers (SplitMix64, as in Java's `SplittableRandom`).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the items, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// A value of that width: small, all ones, or any.
    pub fn value(&mut self, width: Width) -> Value {
        match self.below(4) {
            0 => Value::from(self.below(4)).wrapped(width),
            1 => Value::ones(width),
            _ => {
                let limbs: Vec<u64> = (0..width.limbs()).map(|_| self.bits()).collect();
                Value::from_limbs(&limbs).wrapped(width)
            }
        }
    }
}

fn add_element(design: &mut Design, id: u32, size: u32, random: &mut Random) {
    let is_packet = random.one_in(2);
    let main = if is_packet { Design::PACKET } else { Design::FLIT };
    let mut inputs = vec![main];
    if !is_packet && random.one_in(2) {
        inputs.push(VERDICT);
    }
    let outputs = [main, VERDICT];
    let element = ElementId(id);
    let ends = |port| ChannelEnd::Element { element, port };
    let mut wire = |design: &mut Design, message, port: u32, direction| {
        let channel = ChannelId(design.channels.len() as u32);
        let boundary = BoundaryId(design.boundaries.len() as u32);
        let outside = if message == VERDICT { ChannelEnd::Null } else { ChannelEnd::Boundary(boundary) };
        let (name, from, to) = match direction {
            BoundaryDirection::In => ("nic_in", outside, ends(port)),
            BoundaryDirection::Out => ("nic_out", ends(port), outside),
        };
        if message != VERDICT {
            let name = format!("{name}{id}");
            design.boundaries.push(Boundary { name, direction, rate_bps: None, message, span: span(random) });
        }
        let lossy = direction == BoundaryDirection::Out && random.one_in(4);
        let depth = 1 + random.below(64) as u32;
        design.channels.push(Channel {
            from,
            to,
            from_type: message,
            to_type: message,
            depth,
            lossy,
            span: span(random),
        });
        Port { message, channel: Some(channel) }
    };
    let inputs: Vec<Port> =
        (0..).zip(&inputs).map(|(port, &message)| wire(design, message, port, BoundaryDirection::In)).collect();
    let outputs: Vec<Port> =
        (0..).zip(&outputs).map(|(port, &message)| wire(design, message, port, BoundaryDirection::Out)).collect();
    let vars = vars(random);
    let store = random.one_in(2).then_some(2048);
    let mut body = |kind, params: &[Width], results: &[Width]| {
        body(kind, params, results, &Place { design, vars: &vars, store: store.is_some() }, size, random)
    };
    let (w32, w256) = (Width::of(32), Width::of(256));
    let handler = if is_packet {
        Handler::Packet {
            window: 64,
            grow: 16,
            store,
            head: Box::new(body(BodyKind::Packet, &[], &[])),
            tail: Some(Box::new(body(BodyKind::Tail, &[w256, w32, w32], &[w256]))),
            end: Some(Box::new(body(BodyKind::End, &[], &[]))),
        }
    } else {
        Handler::Flit(body(BodyKind::Flit, &[], &[w32]))
    };
    let signal = Signal {
        name: "poke".to_string(),
        params: vec![Field { name: "p.x".to_string(), width: w32, signed: false }],
        defaults: vec![Some(Value::Small(7))],
        results: vec![Field { name: "ok".to_string(), width: Width::BOOL, signed: false }],
        body: body(BodyKind::Signal, &[w32], &[Width::BOOL]),
        doc: "Pokes.\n\t\"Twice\".".to_string(),
    };
    let init = Some(body(BodyKind::Init, &[], &[]));
    design.elements.push(Element {
        name: format!("group/e#{id}"),
        kind: "Random".to_string(),
        host_control: random.one_in(2),
        autorun: random.one_in(2),
        on_host: random.one_in(2),
        params: vec![Param { name: "DEPTH".to_string(), value: "16".to_string() }],
        inputs,
        outputs,
        vars,
        init,
        handler,
        signals: vec![signal],
        timing: Timing { ii: random.one_in(2).then_some(1), always: random.one_in(2) },
        hls_pragmas: vec!["HLS pipeline".to_string()],
        span: span(random),
    });
}

fn span(random: &mut Random) -> Span {
    let start = random.below(1000) as u32;
    Span { file: FileId(0), start, end: start + random.below(30) as u32 }
}

fn vars(random: &mut Random) -> Vec<Var> {
    let mut vars = Vec::new();
    for (i, bits) in [32, 1, 200, 8, 64, 520].into_iter().enumerate() {
        let width = Width::of(bits);
        let depth = (i >= 2).then(|| 1 + random.below(40));
        let n_reset = random.below(depth.unwrap_or(1) + 1);
        let reset = (0..n_reset).map(|_| random.value(width)).collect();
        vars.push(Var { name: format!("v{i}.x"), width, signed: random.one_in(2), depth, reset });
    }
    vars
}

struct Place<'a> {
    design: &'a Design,
    vars: &'a [Var],
    store: bool,
}

struct Writer<'a> {
    place: &'a Place<'a>,
    kind: BodyKind,
    builder: Builder,
    /// Visible values, innermost last.
    visible: Vec<ValueId>,
    random: &'a mut Random,
}

const NESTING: u32 = 4;

fn body(
    kind: BodyKind,
    params: &[Width],
    results: &[Width],
    place: &Place<'_>,
    size: u32,
    random: &mut Random,
) -> Body {
    let mut builder = Builder::new(kind, params);
    builder.add_local("buffer", Width::of(8), 1 + random.below(20));
    builder.add_local("buffer", Width::of(65), 3);
    let visible = builder.params().to_vec();
    let mut writer = Writer { place, kind, builder, visible, random };
    writer.statements(size, NESTING);
    let yields = results.iter().map(|&width| writer.operand(width)).collect();
    writer.builder.finish(yields)
}

impl Writer<'_> {
    fn statements(&mut self, n: u32, nesting: u32) {
        let mut left = n;
        while left > 0 {
            self.builder.set_span(None);
            if self.random.one_in(3) {
                let span = span(self.random);
                self.builder.set_span(Some(span));
            }
            let inner = (self.random.below(u64::from(left)) as u32).min(left / 2);
            match self.random.below(12) {
                0 if nesting > 0 => {
                    self.if_statement(inner, nesting - 1);
                    left -= inner;
                }
                1 if nesting > 0 => {
                    self.loop_statement(inner.min(12), nesting - 1);
                    left -= inner.min(12);
                }
                2 | 3 => self.state(),
                4 | 5 => self.effect(),
                _ => {
                    let value = self.pure();
                    self.visible.push(value);
                }
            }
            left -= 1;
        }
    }

    fn if_statement(&mut self, n: u32, nesting: u32) {
        let condition = self.operand(Width::BOOL);
        let results: Vec<Width> = (0..self.random.below(3)).map(|_| self.width()).collect();
        let then_region = self.region(&[], n / 2, nesting, &results);
        let else_region = self.region(&[], n / 2, nesting, &results);
        let results = self.builder.if_regions(condition, then_region, else_region);
        self.visible.extend(results);
    }

    fn region(&mut self, params: &[Width], n: u32, nesting: u32, yields: &[Width]) -> crate::RegionId {
        let n_visible = self.visible.len();
        let opened = self.builder.open(params);
        self.visible.extend_from_slice(self.builder.opened_params(&opened));
        self.statements(n, nesting);
        let yields = yields.iter().map(|&width| self.operand(width)).collect();
        self.visible.truncate(n_visible);
        self.builder.close(opened, yields)
    }

    /// A loop of at most 4 rounds: the first carried value counts.
    fn loop_statement(&mut self, n: u32, nesting: u32) {
        let width = self.width();
        let counter = Width::of(8);
        let initial = vec![self.builder.zero(counter), self.operand(width)];
        let rounds = 1 + self.random.below(4);
        let n_visible = self.visible.len();
        let opened = self.builder.open(&[counter, width]);
        self.visible.extend_from_slice(self.builder.opened_params(&opened));
        let count = self.builder.opened_params(&opened)[0];
        self.statements(n, nesting);
        let one = self.builder.const_u64(1, counter);
        let next = self.builder.add(count, one);
        let limit = self.builder.const_u64(rounds, counter);
        let mut go_on = self.builder.ult(next, limit);
        if self.random.one_in(2) {
            let further = self.operand(Width::BOOL);
            go_on = self.builder.and(go_on, further);
        }
        let carried = self.operand(width);
        self.visible.truncate(n_visible);
        let region = self.builder.close(opened, vec![go_on, next, carried]);
        let results = self.builder.loop_region(initial, region);
        self.visible.extend(results);
    }

    fn width(&mut self) -> Width {
        let bits = self.random.pick(&[1, 1, 7, 8, 16, 32, 32, 33, 64, 64, 65, 128, 256, 520]);
        Width::of(bits)
    }

    /// A visible value at that width, or a constant.
    fn operand(&mut self, width: Width) -> ValueId {
        if self.visible.is_empty() || self.random.one_in(6) {
            let value = self.random.value(width);
            return self.builder.const_(value, width);
        }
        // Recent values are likelier, so that chains of ops arise.
        let reach = if self.random.one_in(2) { self.visible.len().min(4) } else { self.visible.len() };
        let value = self.visible[self.visible.len() - 1 - self.random.below(reach as u64) as usize];
        let from = self.builder.width(value);
        let extend = self.random.pick(&[Opcode::ZExt, Opcode::SExt]);
        match width.cmp(&from) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => self.builder.pure_unfolded(Opcode::Trunc, Attr::None, &[value], width),
            std::cmp::Ordering::Greater => self.builder.pure_unfolded(extend, Attr::None, &[value], width),
        }
    }

    fn pure(&mut self) -> ValueId {
        let pure: Vec<Opcode> = Opcode::ALL.iter().copied().filter(|op| op.is_pure()).collect();
        let code = self.random.pick(&pure);
        let width = self.width();
        let mut attr = Attr::None;
        let (operands, result) = match code.shape() {
            Shape::Unary => (vec![self.operand(width)], width),
            Shape::Binary => (vec![self.operand(width), self.operand(width)], width),
            Shape::Shift => {
                let amount = self.width();
                (vec![self.operand(width), self.operand(amount)], width)
            }
            Shape::Compare => (vec![self.operand(width), self.operand(width)], Width::BOOL),
            Shape::Select => (vec![self.operand(Width::BOOL), self.operand(width), self.operand(width)], width),
            Shape::Extend => (vec![self.operand(width)], Width::of(width.bits() + 1 + self.random.below(70) as u32)),
            Shape::Truncate => {
                let to = Width::of(width.bits() + 1 + self.random.below(70) as u32);
                (vec![self.operand(to)], width)
            }
            Shape::Concat => {
                let low = self.width();
                (vec![self.operand(width), self.operand(low)], Width::of(width.bits() + low.bits()))
            }
            Shape::Extract => {
                let part = 1 + self.random.below(u64::from(width.bits())) as u32;
                attr = Attr::Bit(self.random.below(u64::from(width.bits() - part) + 1) as u32);
                (vec![self.operand(width)], Width::of(part))
            }
            Shape::ByteSwap => {
                let width = Width::of(8 * (1 + self.random.below(12) as u32));
                (vec![self.operand(width)], width)
            }
            _ => {
                attr = Attr::Const(self.random.value(width));
                (vec![], width)
            }
        };
        self.builder.pure_unfolded(code, attr, &operands, result)
    }

    /// An access to state or to a local array.
    fn state(&mut self) {
        let index_width = self.random.pick(&[8, 32, 64, 70]);
        let var_idx = self.random.below(self.place.vars.len() as u64) as usize;
        let (var, width) = (VarId(var_idx as u32), self.place.vars[var_idx].width);
        let local = self.random.below(2) as u32;
        let local_width = self.builder.body().locals[local as usize].width;
        let is_memory = self.place.vars[var_idx].depth.is_some();
        match (self.random.below(5), is_memory) {
            (0 | 1, false) => {
                let value = self.builder.reg_read(var, width);
                self.visible.push(value);
            }
            (0 | 1, true) => {
                let index = self.index(index_width);
                let value = self.builder.mem_read(var, index, width);
                self.visible.push(value);
            }
            (2, false) => {
                let value = self.operand(width);
                self.builder.reg_write(var, value);
            }
            (2, true) => {
                let index = self.index(index_width);
                let value = self.operand(width);
                self.builder.mem_write(var, index, value);
            }
            (3, _) => {
                let index = self.index(index_width);
                let value = self.builder.local_read(local, index);
                self.visible.push(value);
            }
            _ if self.random.one_in(6) => self.builder.local_clear(local),
            _ => {
                let index = self.index(index_width);
                let value = self.operand(local_width);
                self.builder.local_write(local, index, value);
            }
        }
    }

    /// Mostly in range.
    fn index(&mut self, bits: u32) -> ValueId {
        let width = Width::of(bits);
        let index = self.operand(width);
        let mask = self.builder.const_u64(7, width);
        if self.random.one_in(4) { index } else { self.builder.and(index, mask) }
    }

    fn effect(&mut self) {
        match self.kind {
            BodyKind::Init => {}
            BodyKind::Flit => self.port_effect(),
            BodyKind::Packet => self.packet_effect(),
            BodyKind::End if self.place.store => self.packet_effect(),
            BodyKind::Tail | BodyKind::End => {
                let value = match self.random.below(3) {
                    0 => self.builder.pkt_time(),
                    1 => self.builder.meta_read(0, Width::of(32)),
                    _ => self.builder.pkt_missing(),
                };
                self.visible.push(value);
            }
            BodyKind::Signal | BodyKind::Chain => {
                let value = self.builder.now();
                self.visible.push(value);
            }
        }
        if self.random.one_in(4) {
            let values = vec![self.operand(Width::of(32)), self.operand(Width::of(65))];
            self.builder.trace("x = {}, \"y\" = {}", values);
        }
    }

    fn port_effect(&mut self) {
        let w32 = Width::of(32);
        let message = self.random.pick(&[Design::FLIT, VERDICT]);
        let fields: Vec<Width> =
            self.place.design.message_types[message.index()].fields.iter().map(|f| f.width).collect();
        // Port 1 is the flit port, port 2 the struct port, on both sides.
        let port = if message == Design::FLIT { 1 } else { 2 };
        match self.random.below(10) {
            0 | 1 => {
                let mask = self.builder.const_u64(port, w32);
                let values = self.builder.in_read(message, mask, &fields);
                self.visible.extend(values);
            }
            2 => {
                let port = self.builder.const_u64(port, w32);
                let values = self.builder.in_peek(message, port, &fields);
                self.visible.extend(values);
            }
            3 | 4 => {
                let values: Vec<ValueId> = fields.iter().map(|&width| self.operand(width)).collect();
                let port = self.builder.const_u64(port, w32);
                self.builder.out_write(message, port, &values);
            }
            5 => {
                let mask = self.operand(w32);
                if self.random.one_in(2) { self.builder.in_clear(mask) } else { self.builder.out_clear(mask) }
            }
            6 => {
                let mask = self.operand(w32);
                let value = self.builder.in_ready(mask);
                self.visible.push(value);
            }
            7 => {
                let time = self.operand(Width::of(64));
                self.builder.wake_at(time);
            }
            _ => {
                let value = match self.random.below(5) {
                    0 => self.builder.in_mask(),
                    1 => self.builder.out_failed(),
                    2 => self.builder.out_written(),
                    3 => self.builder.last_mask(),
                    _ => self.builder.now(),
                };
                self.visible.push(value);
            }
        }
    }

    fn packet_effect(&mut self) {
        let w32 = Width::of(32);
        let offset = {
            let offset = self.random.below(70);
            self.builder.const_u64(offset, w32)
        };
        match self.random.below(14) {
            0..=2 => {
                let n_bytes = 1 + self.random.below(9) as u32;
                let value = self.builder.pkt_load(offset, n_bytes);
                self.visible.push(value);
            }
            3 | 4 => {
                let value = self.operand(Width::of(16));
                self.builder.pkt_store(offset, value);
            }
            5 => {
                let n = self.builder.const_u64(2, w32);
                if self.random.one_in(2) { self.builder.pkt_push(n) } else { self.builder.pkt_pop(n) }
            }
            6 => {
                let n = self.builder.const_u64(3, w32);
                if self.random.one_in(2) {
                    self.builder.pkt_push_at(offset, n)
                } else {
                    self.builder.pkt_pop_at(offset, n)
                }
            }
            7 => {
                let value = self.operand(Width::of(9));
                self.builder.meta_write(1, value);
            }
            8 => {
                let port = self.builder.const_u64(1, w32);
                self.builder.emit(port);
            }
            9 if self.random.one_in(3) => self.builder.drop_packet("random"),
            10 => {
                let port = self.builder.const_u64(2, w32);
                let fields = [self.operand(w32), self.operand(Width::BOOL), self.operand(Width::of(16))];
                self.builder.out_write(VERDICT, port, &fields);
            }
            _ => {
                let value = match self.random.below(7) {
                    0 => self.builder.pkt_avail(),
                    1 => self.builder.pkt_short(),
                    2 => self.builder.pkt_error(),
                    3 => self.builder.pkt_in_port(),
                    4 => self.builder.pkt_time(),
                    5 => self.builder.meta_read(1, Width::of(9)),
                    _ => self.builder.now(),
                };
                self.visible.push(value);
            }
        }
    }
}
