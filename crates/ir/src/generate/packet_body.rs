//! Bodies of packet elements in graphs: they parse, rewrite, count and decide, so that most packets get through.

use super::VERDICT;
use super::body::{Manners, NESTING, Place, Writer};
use super::{Hostility, Random};
use crate::{Body, BodyKind, Opcode, ValueId, VarId, Width};

const W32: Width = Width::of(32);

/// Where header fields lie; elements that follow each other read the same ones.
const FIELD_OFFSETS: [u64; 12] = [0, 6, 12, 14, 16, 22, 23, 24, 26, 30, 34, 36];

/// A `packet` or `end` body: some statements, then a decision.
pub(super) fn packet_body(kind: BodyKind, place: &Place<'_>, manners: Manners, size: u32, random: &mut Random) -> Body {
    let mut writer = Writer::new(kind, &[], place, random);
    writer.statements(size, NESTING);
    writer.decision(manners);
    writer.builder.finish(vec![])
}

impl Writer<'_> {
    /// An effect of a body of a graph.
    pub fn effect_in_graph(&mut self, manners: Manners) {
        match self.kind {
            BodyKind::Init => {}
            BodyKind::Flit => self.port_question(),
            BodyKind::Packet | BodyKind::End => self.packet_effect_in_graph(manners),
            BodyKind::Tail => {
                let value = match self.random.below(4) {
                    0 => self.builder.pkt_time(),
                    1 => self.builder.pkt_missing(),
                    2 => self.builder.now(),
                    _ => self.meta_read(),
                };
                self.visible.push(value);
            }
            BodyKind::Signal | BodyKind::Chain => {
                let value = self.builder.now();
                self.visible.push(value);
            }
        }
        if self.random.one_in(40) {
            let condition = self.operand(Width::BOOL);
            let usual = self.builder.const_bool(true);
            let holds = if self.random.one_in(6) {
                condition
            } else {
                self.unfolded(Opcode::Or, condition, usual, Width::BOOL)
            };
            self.builder.assert_(holds, "random");
        }
    }

    fn packet_effect_in_graph(&mut self, manners: Manners) {
        let may_change = self.kind == BodyKind::Packet || self.place.store;
        match self.random.below(24) {
            0..=6 => {
                let offset = self.offset(manners);
                let n_bytes = match self.random.below(12) {
                    0 => 1 + self.random.below(40) as u32,
                    1 => 1 + self.random.below(9) as u32,
                    _ => self.random.pick(&[1, 1, 2, 2, 4, 4, 6, 8, 16]),
                };
                let value = self.builder.pkt_load(offset, n_bytes);
                self.visible.push(value);
            }
            7 | 8 if may_change => {
                let offset = self.offset(manners);
                let n_bytes = if self.random.one_in(4) {
                    1 + self.random.below(20) as u32
                } else {
                    self.random.pick(&[1, 2, 4, 6])
                };
                let value = self.operand(Width::of(8 * n_bytes));
                self.builder.pkt_store(offset, value);
            }
            9 if may_change && self.random.one_in(2) => self.push_or_pop(manners),
            10 => self.length_check(manners),
            11 | 12 => self.count(),
            13 => {
                let field = self.random.below(self.place.design.meta.len() as u64) as u32;
                let value = self.operand(self.place.design.meta[field as usize].width);
                self.builder.meta_write(field, value);
            }
            14 => {
                let value = self.meta_read();
                self.visible.push(value);
            }
            15 if self.random.one_in(3) => self.decision_inside(manners),
            16 => self.struct_write(manners),
            17 if self.place.store && self.random.one_in(2) => {
                let n = self.amount(manners);
                if self.random.one_in(2) { self.builder.pkt_truncate(n) } else { self.builder.pkt_append(n) }
            }
            18 if self.random.one_in(12) => {
                let now = self.builder.now();
                let pause = self.builder.const_u64(1_000, Width::of(64));
                let time = self.builder.add(now, pause);
                self.builder.wake_at(time);
            }
            _ => self.packet_question(),
        }
    }

    fn packet_question(&mut self) {
        let knows_length = self.place.store || self.kind == BodyKind::End;
        let value = match self.random.below(9) {
            0 | 1 => self.builder.pkt_avail(),
            2 => self.builder.pkt_short(),
            3 => self.builder.pkt_error(),
            4 => self.builder.pkt_in_port(),
            5 => self.builder.pkt_time(),
            6 => self.builder.pkt_missing(),
            7 if knows_length => self.builder.pkt_len(),
            _ => self.builder.now(),
        };
        self.visible.push(value);
    }

    fn meta_read(&mut self) -> ValueId {
        let field = self.random.below(self.place.design.meta.len() as u64) as u32;
        self.builder.meta_read(field, self.place.design.meta[field as usize].width)
    }

    /// `if (pkt.avail < n) drop`, as parsers begin.
    fn length_check(&mut self, manners: Manners) {
        let avail = self.builder.pkt_avail();
        let least = self.random.below(u64::from(manners.window).min(50) + 1);
        let least = self.builder.const_u64(least, W32);
        let is_short = self.builder.ult(avail, least);
        let reason = self.reason();
        self.builder.if_(
            is_short,
            |builder| {
                builder.drop_packet(&reason);
                vec![]
            },
            |_| vec![],
        );
        self.visible.push(is_short);
    }

    fn reason(&mut self) -> String {
        format!("reason {}", self.random.below(3))
    }

    /// Adds 1 to a register, or to a word of a memory at an index that comes from the packet.
    fn count(&mut self) {
        let var_idx = self.random.below(self.place.vars.len() as u64) as usize;
        let (var, width) = (VarId(var_idx as u32), self.place.vars[var_idx].width);
        let one = self.builder.const_u64(1, width);
        let old = match self.place.vars[var_idx].depth {
            None => {
                let old = self.builder.reg_read(var, width);
                let new = self.builder.add(old, one);
                self.builder.reg_write(var, new);
                old
            }
            Some(_) => {
                let index = self.index(32);
                let old = self.builder.mem_read(var, index, width);
                let new = self.builder.add(old, one);
                self.builder.mem_write(var, index, new);
                old
            }
        };
        self.visible.push(old);
    }

    fn struct_write(&mut self, manners: Manners) {
        let Some(port) = manners.struct_output else { return };
        let port = self.builder.const_u64(u64::from(port), W32);
        let widths: Vec<Width> =
            self.place.design.message_types[VERDICT.index()].fields.iter().map(|field| field.width).collect();
        let fields: Vec<ValueId> = widths.into_iter().map(|width| self.operand(width)).collect();
        self.builder.out_write(VERDICT, port, &fields);
    }

    fn push_or_pop(&mut self, manners: Manners) {
        let n = self.amount(manners);
        match self.random.below(4) {
            0 => self.builder.pkt_push(n),
            1 => self.builder.pkt_pop(n),
            2 => {
                let offset = self.offset(manners);
                self.builder.pkt_push_at(offset, n);
            }
            _ => {
                let offset = self.offset(manners);
                self.builder.pkt_pop_at(offset, n);
            }
        }
    }

    /// A number of bytes to add or remove.
    fn amount(&mut self, manners: Manners) -> ValueId {
        match (manners.hostility, self.random.below(8)) {
            (Hostility::Hostile, 0..=2) => self.hostile_offset(manners),
            (_, 0) => {
                let any = self.operand(W32);
                let mask = self.builder.const_u64(15, W32);
                self.unfolded(Opcode::And, any, mask, W32)
            }
            (_, 1) if self.place.store => {
                let n = self.random.pick(&[0, 40, 64, 100, 1000]);
                self.builder.const_u64(n, W32)
            }
            _ => {
                let n = self.random.pick(&[0, 1, 2, 4, 4, 8, 14]);
                self.builder.const_u64(n, W32)
            }
        }
    }

    fn offset(&mut self, manners: Manners) -> ValueId {
        let window = u64::from(manners.window);
        match (manners.hostility, self.random.below(12)) {
            (Hostility::Hostile, 0..=5) => self.hostile_offset(manners),
            (_, 6) => {
                let offset = self.random.below(window + 4);
                self.builder.const_u64(offset, W32)
            }
            (_, 7) => {
                let any = self.operand(W32);
                let mask = self.random.pick(&[7, 31, 63]);
                let mask = self.builder.const_u64(mask, W32);
                let low = self.unfolded(Opcode::And, any, mask, W32);
                let base = self.random.pick(&FIELD_OFFSETS);
                let base = self.builder.const_u64(base, W32);
                self.builder.add(low, base)
            }
            (_, 8) if self.random.one_in(3) => self.operand(W32),
            _ => {
                let offset = self.random.pick(&FIELD_OFFSETS);
                self.builder.const_u64(offset, W32)
            }
        }
    }

    /// An offset near a border: of the packet, of the window, of 31 and of 32 bits; sometimes known to the compiler.
    fn hostile_offset(&mut self, manners: Manners) -> ValueId {
        let window = u64::from(manners.window);
        let border = self.random.pick(&[0, 32, 64, window, window, 1 << 16, 1 << 31, 1 << 32]);
        let near = border.wrapping_add(self.random.below(21)).wrapping_sub(10) & 0xffff_ffff;
        let near = self.builder.const_u64(near, W32);
        match self.random.below(3) {
            0 => near,
            1 => {
                let any = self.operand(W32);
                let mask = self.random.pick(&[3, 15, 63]);
                let mask = self.builder.const_u64(mask, W32);
                let low = self.unfolded(Opcode::And, any, mask, W32);
                self.unfolded(Opcode::Add, near, low, W32)
            }
            _ => self.hidden(near, W32),
        }
    }

    /// An index near a border: of memories, of words, of the index itself; sometimes known to the compiler.
    pub fn hostile_index(&mut self, width: Width) -> ValueId {
        let var = self.random.below(self.place.vars.len() as u64) as usize;
        let depth = self.place.vars[var].depth.unwrap_or(3);
        let border = self.random.pick(&[0, depth, depth, 20, 1 << 16, 1 << 31, 1 << 32, 1 << 61, 1 << 63]);
        let near = border.wrapping_add(self.random.below(5)).wrapping_sub(2);
        let near = crate::Value::from(near).wrapped(width);
        let near = self.builder.const_(near, width);
        if self.random.one_in(2) { near } else { self.hidden(near, width) }
    }

    /// The same value, which no pass can know: state that is 0 or not is added twice, once negated.
    fn hidden(&mut self, value: ValueId, width: Width) -> ValueId {
        let any = self.operand(width);
        let there = self.unfolded(Opcode::Add, value, any, width);
        let back = self.operand(width);
        let same = self.unfolded(Opcode::Sub, there, any, width);
        let zero = self.builder.zero(width);
        let none = self.unfolded(Opcode::And, back, zero, width);
        self.unfolded(Opcode::Or, same, none, width)
    }

    fn unfolded(&mut self, code: Opcode, a: ValueId, b: ValueId, width: Width) -> ValueId {
        self.builder.pure_unfolded(code, crate::Attr::None, &[a, b], width)
    }

    /// An early decision in the middle of the code.
    fn decision_inside(&mut self, manners: Manners) {
        if self.random.one_in(2) {
            self.emit_somewhere(manners);
        } else {
            let reason = self.reason();
            self.builder.drop_packet(&reason);
        }
    }

    fn emit_somewhere(&mut self, manners: Manners) {
        let port = match self.random.below(16) {
            0 => self.operand(W32),
            1 | 2 if manners.n_packet_outputs >= 2 => {
                let any = self.operand(W32);
                let one = self.builder.const_u64(1, W32);
                let low = self.unfolded(Opcode::And, any, one, W32);
                self.builder.add(low, one)
            }
            3 if self.random.one_in(4) => self.builder.const_u64(u64::from(manners.n_packet_outputs) + 1, W32),
            _ => {
                let port = 1 + self.random.below(u64::from(manners.n_packet_outputs.max(1)));
                self.builder.const_u64(port, W32)
            }
        };
        self.builder.emit(port);
    }

    /// Where the packet goes.
    fn decision(&mut self, manners: Manners) {
        match self.random.below(16) {
            0 => {
                let reason = self.reason();
                self.builder.drop_packet(&reason);
                self.emit_somewhere(manners);
            }
            1 if self.random.one_in(3) => {}
            2..=4 => (0..manners.n_packet_outputs.min(3)).for_each(|_| self.emit_somewhere(manners)),
            5..=8 => {
                let condition = self.operand(Width::BOOL);
                let opened = self.builder.open(&[]);
                if self.random.one_in(2) {
                    let reason = self.reason();
                    self.builder.drop_packet(&reason);
                } else {
                    self.emit_somewhere(manners);
                }
                let then_region = self.builder.close(opened, vec![]);
                let opened = self.builder.open(&[]);
                self.emit_somewhere(manners);
                let else_region = self.builder.close(opened, vec![]);
                self.builder.if_regions(condition, then_region, else_region);
            }
            _ => self.emit_somewhere(manners),
        }
    }
}
