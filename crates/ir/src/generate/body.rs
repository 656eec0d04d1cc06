//! Random bodies: pure ops, state, nested `if`s and loops that end, and the effects of single elements.

use super::single::span;
use super::{Hostility, Random, VERDICT};
use crate::{Attr, Body, BodyKind, Builder, Design, Opcode, Shape, ValueId, Var, VarId, Width};

/// Where a body stands.
pub(super) struct Place<'a> {
    pub design: &'a Design,
    pub vars: &'a [Var],
    pub store: bool,
    pub style: Style,
}

/// Which effects a body has.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// All that its kind allows, at random.
    Single,
    /// Those of an element through which packets get.
    Graph(Manners),
}

/// How a body of a graph behaves.
#[derive(Clone, Copy)]
pub(super) struct Manners {
    /// Packets leave through the outputs 1 to this one.
    pub n_packet_outputs: u32,
    /// The output for structs, from 1.
    pub struct_output: Option<u32>,
    /// Bytes of the window.
    pub window: u32,
    pub hostility: Hostility,
}

pub(super) struct Writer<'a> {
    pub place: &'a Place<'a>,
    pub kind: BodyKind,
    pub builder: Builder,
    /// Visible values, innermost last.
    pub visible: Vec<ValueId>,
    pub random: &'a mut Random,
}

pub(super) const NESTING: u32 = 4;

pub(super) fn body(
    kind: BodyKind,
    params: &[Width],
    results: &[Width],
    place: &Place<'_>,
    size: u32,
    random: &mut Random,
) -> Body {
    let mut writer = Writer::new(kind, params, place, random);
    writer.statements(size, NESTING);
    let yields = results.iter().map(|&width| writer.operand(width)).collect();
    writer.builder.finish(yields)
}

impl<'a> Writer<'a> {
    pub fn new(kind: BodyKind, params: &[Width], place: &'a Place<'a>, random: &'a mut Random) -> Writer<'a> {
        let mut builder = Builder::new(kind, params);
        builder.add_local("buffer", Width::of(8), 1 + random.below(20));
        builder.add_local("buffer", Width::of(65), 3);
        let visible = builder.params().to_vec();
        Writer { place, kind, builder, visible, random }
    }
}

impl Writer<'_> {
    pub fn statements(&mut self, n: u32, nesting: u32) {
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

    pub fn width(&mut self) -> Width {
        let bits = self.random.pick(&[1, 1, 7, 8, 16, 32, 32, 33, 64, 64, 65, 128, 256, 520]);
        Width::of(bits)
    }

    /// A visible value at that width, or a constant.
    pub fn operand(&mut self, width: Width) -> ValueId {
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
    pub fn index(&mut self, bits: u32) -> ValueId {
        let width = Width::of(bits);
        if let Style::Graph(Manners { hostility: Hostility::Hostile, .. }) = self.place.style
            && self.random.one_in(2)
        {
            return self.hostile_index(width);
        }
        let index = self.operand(width);
        let mask = self.builder.const_u64(7, width);
        if self.random.one_in(4) { index } else { self.builder.and(index, mask) }
    }

    fn effect(&mut self) {
        if let Style::Graph(manners) = self.place.style {
            return self.effect_in_graph(manners);
        }
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
            _ => self.port_question(),
        }
    }

    /// Asks what ports hold or how the last firing ended.
    pub(super) fn port_question(&mut self) {
        let value = match self.random.below(5) {
            0 => self.builder.in_mask(),
            1 => self.builder.out_failed(),
            2 => self.builder.out_written(),
            3 => self.builder.last_mask(),
            _ => self.builder.now(),
        };
        self.visible.push(value);
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
