//! Dead code elimination.
//!
//! Removes ops whose values nobody uses and that have no effect: pure ops, reads, results of `if` and carried values of `loop`,
//! `if`s and `loop`s with nothing left in them, writes to local arrays that nobody reads, and those arrays.
//! Expects: a verified body. Ensures: every remaining value is used, or its op has an effect, or it counts the rounds of a
//! loop. A loop without effects and used results counts as ending.
//! Linear in ops. Test: `tests/opt/dce/`.

use ir::{Attr, Body, Effect, Local, Op, OpId, Opcode, RegionId, ValueId, Width};

use crate::rebuild::Rebuild;

/// Whether some body of the element asks `pkt.short`, which makes every `pkt.load` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// A load with an unused value can go.
    Unobserved,
    /// Loads stay, because going past the valid bytes is seen.
    Observed,
}

/// Removes the dead code of a body.
pub fn run(body: &Body, loads: Loads) -> Body {
    let live = Liveness::find(body, loads);
    let mut pass = Pass { rebuild: Rebuild::new(body), live };
    pass.keep_read_locals();
    let root = pass.rebuild.to.root;
    pass.region(body.root, root);
    let yields = pass.rebuild.renamed_all(&body.region(body.root).yields);
    pass.rebuild.set_yields(root, yields);
    pass.rebuild.to
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Source {
    BodyParam,
    Result { op: OpId, position: usize },
    LoopParam { op: OpId, position: usize },
}

struct Liveness<'a> {
    body: &'a Body,
    sources: Vec<Source>,
    parents: Vec<Option<OpId>>,
    values: Vec<bool>,
    ops: Vec<bool>,
    /// Values that are live but whose sources are not yet marked.
    pending: Vec<ValueId>,
}

impl<'a> Liveness<'a> {
    fn find(body: &'a Body, loads: Loads) -> Liveness<'a> {
        let mut live = Liveness {
            body,
            sources: vec![Source::BodyParam; body.values.len()],
            parents: vec![None; body.ops.len()],
            values: vec![false; body.values.len()],
            ops: vec![false; body.ops.len()],
            pending: Vec::new(),
        };
        let mut read_locals = vec![false; body.locals.len()];
        live.find_sources(body.root, None, &mut read_locals);
        for (i, op) in body.ops.iter().enumerate() {
            if has_effect(op, loads, &read_locals) {
                live.mark_op(OpId(i as u32));
            }
        }
        live.mark_values(&body.region(body.root).yields);
        while let Some(value) = live.pending.pop() {
            live.mark_source(value);
        }
        live
    }

    fn find_sources(&mut self, region: RegionId, parent: Option<OpId>, read_locals: &mut [bool]) {
        let body = self.body;
        for &id in &body.region(region).ops {
            let op = body.op(id);
            self.parents[id.index()] = parent;
            for (position, result) in op.results.iter().enumerate() {
                self.sources[result.index()] = Source::Result { op: id, position };
            }
            if let (Opcode::LocalRead, &Attr::Local(local)) = (op.code, &op.attr) {
                read_locals[local as usize] = true;
            }
            for &inner in &op.regions {
                for (position, param) in body.region(inner).params.iter().enumerate() {
                    self.sources[param.index()] = Source::LoopParam { op: id, position };
                }
                self.find_sources(inner, Some(id), read_locals);
            }
        }
    }

    /// Marks an op that runs: what it needs whatever is used of it, and what it stands in.
    fn mark_op(&mut self, id: OpId) {
        let mut next = Some(id);
        while let Some(id) = next {
            if std::mem::replace(&mut self.ops[id.index()], true) {
                return;
            }
            let op = self.body.op(id);
            match op.code {
                Opcode::Loop => {
                    let go_on = self.body.region(op.regions[0]).yields[0];
                    self.mark_values(&[go_on]);
                }
                _ => self.mark_values(&op.operands),
            }
            next = self.parents[id.index()];
        }
    }

    fn mark_values(&mut self, values: &[ValueId]) {
        for &value in values {
            if !std::mem::replace(&mut self.values[value.index()], true) {
                self.pending.push(value);
            }
        }
    }

    fn mark_source(&mut self, value: ValueId) {
        match self.sources[value.index()] {
            Source::BodyParam => {}
            Source::Result { op, position } => {
                self.mark_op(op);
                let op = self.body.op(op);
                match op.code {
                    Opcode::If => {
                        for region in &op.regions {
                            self.mark_values(&[self.body.region(*region).yields[position]]);
                        }
                    }
                    Opcode::Loop => self.mark_carried(op, position),
                    _ => {}
                }
            }
            Source::LoopParam { op, position } => {
                self.mark_op(op);
                self.mark_carried(self.body.op(op), position);
            }
        }
    }

    fn mark_carried(&mut self, op: &Op, position: usize) {
        let region = self.body.region(op.regions[0]);
        self.mark_values(&[op.operands[position], region.yields[position + 1], region.params[position]]);
    }
}

/// Whether it must run although nobody uses its results. Local arrays that nobody reads are written in vain.
fn has_effect(op: &Op, loads: Loads, read_locals: &[bool]) -> bool {
    match (op.code, op.code.effect(), &op.attr) {
        (Opcode::LocalWrite | Opcode::LocalClear, _, &Attr::Local(local)) => read_locals[local as usize],
        (Opcode::PktLoad, _, _) => loads == Loads::Observed,
        (_, Effect::Pure | Effect::Region | Effect::ReadState | Effect::ReadPort | Effect::ReadPacket, _) => false,
        (_, Effect::WriteState | Effect::WritePort | Effect::WritePacket | Effect::Outside, _) => true,
    }
}

struct Pass<'a> {
    rebuild: Rebuild<'a>,
    live: Liveness<'a>,
}

impl Pass<'_> {
    /// Writes the ops of a region that are live; what it yields is left to its owner.
    fn region(&mut self, from: RegionId, to: RegionId) {
        let body = self.rebuild.from;
        for &id in &body.region(from).ops {
            if !self.live.ops[id.index()] {
                continue;
            }
            let op = body.op(id);
            match op.code {
                Opcode::If => self.copy_if(op, to),
                Opcode::Loop => self.copy_loop(op, to),
                _ => self.rebuild.copy(to, op),
            }
        }
    }

    fn copy_if(&mut self, op: &Op, to: RegionId) {
        let kept: Vec<bool> = op.results.iter().map(|result| self.live.values[result.index()]).collect();
        let operands = self.rebuild.renamed_all(&op.operands);
        let mut regions = Vec::new();
        for &from in &op.regions {
            let inner = self.rebuild.add_region(&[]);
            self.region(from, inner);
            let yields = pick(&self.rebuild.from.region(from).yields, &kept);
            let yields = self.rebuild.renamed_all(&yields);
            self.rebuild.set_yields(inner, yields);
            regions.push(inner);
        }
        self.push(op, operands, regions, &kept, to);
    }

    fn copy_loop(&mut self, op: &Op, to: RegionId) {
        let from = op.regions[0];
        let region = self.rebuild.from.region(from);
        let kept: Vec<bool> = region.params.iter().map(|param| self.live.values[param.index()]).collect();
        let operands = self.rebuild.renamed_all(&pick(&op.operands, &kept));
        let params = pick(&region.params, &kept);
        let widths: Vec<Width> = params.iter().map(|&param| self.rebuild.from.width(param)).collect();
        let inner = self.rebuild.add_region(&widths);
        let inner_params = self.rebuild.to.region(inner).params.clone();
        self.rebuild.bind(&params, &inner_params);
        self.region(from, inner);
        let yields = [&region.yields[..1], &pick(&region.yields[1..], &kept)].concat();
        let yields = self.rebuild.renamed_all(&yields);
        self.rebuild.set_yields(inner, yields);
        self.push(op, operands, vec![inner], &kept, to);
    }

    fn push(&mut self, op: &Op, operands: Vec<ValueId>, regions: Vec<RegionId>, kept: &[bool], to: RegionId) {
        let results = pick(&op.results, kept);
        let widths: Vec<Width> = results.iter().map(|&result| self.rebuild.from.width(result)).collect();
        let copied = Op { code: op.code, attr: Attr::None, operands, results: vec![], regions, span: op.span };
        let new = self.rebuild.push(to, copied, &widths);
        self.rebuild.bind(&results, &new);
    }

    /// Locals that a live op reads; the others go, and the ops name the rest by their new positions.
    fn keep_read_locals(&mut self) {
        let body = self.rebuild.from;
        let mut read = vec![false; body.locals.len()];
        for (op, _) in body.ops.iter().zip(&self.live.ops).filter(|&(_, &live)| live) {
            if let Attr::Local(local) = op.attr {
                read[local as usize] = true;
            }
        }
        let mut positions = Vec::new();
        let mut kept: Vec<Local> = Vec::new();
        for (local, read) in body.locals.iter().zip(&read) {
            positions.push(kept.len() as u32);
            if *read {
                kept.push(local.clone());
            }
        }
        self.rebuild.rename_locals(kept, positions);
    }
}

fn pick(values: &[ValueId], kept: &[bool]) -> Vec<ValueId> {
    values.iter().zip(kept).filter(|&(_, &kept)| kept).map(|(&value, _)| value).collect()
}
