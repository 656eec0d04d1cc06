//! Handlers of flit elements in graphs: they forward whole packets, copy, count, cipher, drop and merge them.

use super::body::{NESTING, Place, Writer};
use super::{Random, VERDICT};
use crate::{Body, BodyKind, Design, MessageTypeId, Opcode, ValueId, Var, VarId, Width};

const W32: Width = Width::of(32);

/// Positions in a flit's fields.
const DATA: usize = 0;
const SOP: usize = 1;
const EOP: usize = 2;

/// State of every flit element; see [`vars`].
const DROPPING: VarId = VarId(0);
const LOCK: VarId = VarId(1);
const COUNT: VarId = VarId(2);

/// Ports by what they carry, numbered from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct FlitPorts {
    pub flit_inputs: Vec<u32>,
    pub struct_inputs: Vec<u32>,
    pub flit_outputs: Vec<u32>,
    pub struct_outputs: Vec<u32>,
}

/// What a handler does with the flits of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// Nothing.
    Forward,
    /// Counts flits or packets.
    Count,
    /// Looks at the first flit and drops the packet, or not.
    Filter,
    /// Changes the first flit only.
    ChangeFirst,
    /// Reads and changes every flit.
    ChangeAll,
    /// Random statements at every flit.
    Compute,
}

const TREATMENTS: [Treatment; 6] = [
    Treatment::Forward,
    Treatment::Count,
    Treatment::Filter,
    Treatment::ChangeFirst,
    Treatment::ChangeAll,
    Treatment::Compute,
];

/// The state that these handlers use, before any other.
pub(super) fn vars() -> Vec<Var> {
    let register = |name: &str, bits| Var {
        name: name.to_string(),
        width: Width::of(bits),
        signed: false,
        depth: None,
        reset: vec![],
    };
    vec![register("dropping", 1), register("lock", 32), register("count", 64)]
}

/// A handler that keeps packets whole.
pub(super) fn flit_body(ports: &FlitPorts, place: &Place<'_>, size: u32, random: &mut Random) -> Body {
    let mut writer = Writer::new(BodyKind::Flit, &[], place, random);
    writer.take_structs(ports, size);
    let all = mask_of(&ports.flit_inputs);
    let any_mask = writer.builder.const_u64(u64::from(all | mask_of(&ports.struct_inputs)), W32);
    if ports.flit_inputs.is_empty() {
        return writer.builder.finish(vec![any_mask]);
    }
    let lock = writer.builder.reg_read(LOCK, W32);
    let chosen = writer.chosen_input(&ports.flit_inputs, lock);
    let ready = writer.builder.in_ready(chosen);
    let opened = writer.builder.open(&[]);
    let n_visible = writer.visible.len();
    writer.treat(ports, chosen, size);
    writer.visible.truncate(n_visible);
    let then_region = writer.builder.close(opened, vec![]);
    let opened = writer.builder.open(&[]);
    let else_region = writer.builder.close(opened, vec![]);
    writer.builder.if_regions(ready, then_region, else_region);
    writer.builder.finish(vec![any_mask])
}

/// A handler without inputs: a packet of one or two flits now and then, and an end.
pub(super) fn source_body(ports: &FlitPorts, place: &Place<'_>, random: &mut Random) -> Body {
    let mut writer = Writer::new(BodyKind::Flit, &[], place, random);
    let w64 = Width::of(64);
    let count = writer.builder.reg_read(COUNT, w64);
    let limit = 2 * writer.random.below(12);
    let limit = writer.builder.const_u64(limit, w64);
    let goes_on = writer.builder.ult(count, limit);
    let opened = writer.builder.open(&[]);
    let one = writer.builder.const_u64(1, w64);
    let next = writer.builder.add(count, one);
    writer.builder.reg_write(COUNT, next);
    let second = writer.builder.extract(count, 0, Width::BOOL);
    let first = writer.builder.not(second);
    let fields: Vec<ValueId> =
        writer.widths(Design::FLIT).into_iter().map(|width| writer.builder.zero(width)).collect();
    let data = writer.builder.resize_unsigned(count, Width::of(256));
    let fields = [&[data, first, second], &fields[EOP + 1..]].concat();
    writer.write(Design::FLIT, &ports.flit_outputs, &fields);
    let now = writer.builder.now();
    let pause = writer.random.pick(&[1, 100, 5_000]);
    let pause = writer.builder.const_u64(pause, w64);
    let time = writer.builder.add(now, pause);
    writer.builder.wake_at(time);
    let then_region = writer.builder.close(opened, vec![]);
    let opened = writer.builder.open(&[]);
    let else_region = writer.builder.close(opened, vec![]);
    writer.builder.if_regions(goes_on, then_region, else_region);
    let mask = writer.builder.const_u64(1, W32);
    writer.builder.finish(vec![mask])
}

fn mask_of(ports: &[u32]) -> u32 {
    ports.iter().map(|port| 1 << (port - 1)).sum()
}

impl Writer<'_> {
    fn widths(&self, message: MessageTypeId) -> Vec<Width> {
        self.place.design.message_types[message.index()].fields.iter().map(|field| field.width).collect()
    }

    /// Consumes what waits at the struct inputs, and computes with it.
    fn take_structs(&mut self, ports: &FlitPorts, size: u32) {
        for port in &ports.struct_inputs {
            let mask = self.builder.const_u64(1 << (port - 1), W32);
            let ready = self.builder.in_ready(mask);
            let opened = self.builder.open(&[]);
            let n_visible = self.visible.len();
            let widths = self.widths(VERDICT);
            let fields = self.builder.in_read(VERDICT, mask, &widths);
            self.visible.extend(&fields);
            self.statements(size / 2, NESTING - 2);
            if ports.flit_inputs.is_empty() {
                self.write(VERDICT, &ports.struct_outputs, &fields);
            }
            self.visible.truncate(n_visible);
            let then_region = self.builder.close(opened, vec![]);
            let opened = self.builder.open(&[]);
            let else_region = self.builder.close(opened, vec![]);
            self.builder.if_regions(ready, then_region, else_region);
        }
    }

    /// The mask of the one input to read: the locked one inside a packet, else the first that is ready.
    fn chosen_input(&mut self, inputs: &[u32], lock: ValueId) -> ValueId {
        let mask = |port: &u32| 1_u64 << (port - 1);
        let mut chosen = self.builder.const_u64(mask(&inputs[0]), W32);
        if inputs.len() == 1 {
            return chosen;
        }
        for port in inputs {
            let candidate = self.builder.const_u64(mask(port), W32);
            let ready = self.builder.in_ready(candidate);
            chosen = self.builder.select(ready, candidate, chosen);
        }
        let zero = self.builder.zero(W32);
        let free = self.builder.eq(lock, zero);
        self.builder.select(free, chosen, lock)
    }

    /// Reads a flit, does something with it, and forwards it or not.
    fn treat(&mut self, ports: &FlitPorts, chosen: ValueId, size: u32) {
        let treatment = self.random.pick(&TREATMENTS);
        let widths = self.widths(Design::FLIT);
        let mut fields = self.builder.in_read(Design::FLIT, chosen, &widths);
        let (sop, eop) = (fields[SOP], fields[EOP]);
        if ports.flit_inputs.len() > 1 {
            let zero = self.builder.zero(W32);
            let lock = self.builder.select(eop, zero, chosen);
            self.builder.reg_write(LOCK, lock);
        }
        self.visible.extend(&fields);
        let mut forwards = None;
        match treatment {
            Treatment::Forward => {}
            Treatment::Count => self.count_if(if size.is_multiple_of(2) { sop } else { eop }),
            Treatment::Filter => forwards = Some(self.filter(fields[DATA], sop)),
            Treatment::ChangeFirst => {
                let changed = self.changed(fields[DATA]);
                fields[DATA] = self.builder.select(sop, changed, fields[DATA]);
            }
            Treatment::ChangeAll => fields[DATA] = self.changed(fields[DATA]),
            Treatment::Compute => {
                self.statements(size, NESTING - 1);
                if self.random.one_in(2) {
                    fields[DATA] = self.operand(Width::of(256));
                }
            }
        }
        match forwards {
            None => self.write(Design::FLIT, &ports.flit_outputs, &fields),
            Some(condition) => {
                let opened = self.builder.open(&[]);
                self.write(Design::FLIT, &ports.flit_outputs, &fields);
                let then_region = self.builder.close(opened, vec![]);
                let opened = self.builder.open(&[]);
                let else_region = self.builder.close(opened, vec![]);
                self.builder.if_regions(condition, then_region, else_region);
            }
        }
        if self.random.one_in(2) {
            let widths = self.widths(VERDICT);
            let verdict: Vec<ValueId> = widths.into_iter().map(|width| self.operand(width)).collect();
            self.write(VERDICT, &ports.struct_outputs, &verdict);
        }
    }

    fn write(&mut self, message: MessageTypeId, ports: &[u32], fields: &[ValueId]) {
        for &port in ports {
            let port = self.builder.const_u64(u64::from(port), W32);
            self.builder.out_write(message, port, fields);
        }
    }

    fn count_if(&mut self, condition: ValueId) {
        let w64 = Width::of(64);
        let old = self.builder.reg_read(COUNT, w64);
        let step = self.builder.resize_unsigned(condition, w64);
        let new = self.builder.add(old, step);
        self.builder.reg_write(COUNT, new);
    }

    /// Whether to forward, decided at the first flit and kept for the others.
    fn filter(&mut self, data: ValueId, sop: ValueId) -> ValueId {
        let bit = self.random.below(256) as u32;
        let here = self.builder.extract(data, bit, Width::BOOL);
        let before = self.builder.reg_read(DROPPING, Width::BOOL);
        let dropping = self.builder.select(sop, here, before);
        self.builder.reg_write(DROPPING, dropping);
        self.builder.not(dropping)
    }

    fn changed(&mut self, data: ValueId) -> ValueId {
        let w64 = Width::of(64);
        let count = self.builder.reg_read(COUNT, w64);
        let key = self.builder.resize_unsigned(count, Width::of(256));
        let factor = self.random.value(Width::of(256));
        let factor = self.builder.const_(factor, Width::of(256));
        let key = self.builder.mul(key, factor);
        let low = self.builder.extract(data, 0, w64);
        let sum = self.builder.add(count, low);
        self.builder.reg_write(COUNT, sum);
        self.builder.pure_unfolded(Opcode::Xor, crate::Attr::None, &[data, key], Width::of(256))
    }
}
