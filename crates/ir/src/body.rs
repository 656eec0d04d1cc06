//! A body: a tree of regions of ops in SSA form.
//!
//! Values are visible in their own region after their definition and in the regions inside it. Each region ends with what it
//! yields. `if` has two regions without parameters; `loop` has one, whose parameters are the carried values and which yields
//! "go on?" (i1) and the next carried values. There are no gotos, no pointers and no calls.

use diag::Span;

use crate::ids::ids;
use crate::{Attr, Opcode, Width};

ids! {
    /// An SSA value of a [`Body`].
    ValueId;
    /// An op of a [`Body`].
    OpId;
    /// A region of a [`Body`].
    RegionId;
}

/// What a body is for; decides its parameters, results and which effects it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// `() -> ()`; state only.
    Init,
    /// `() -> (mask: i32)`: the inputs to wait for, bit `i` for port `i + 1`; ports, state, time.
    Flit,
    /// `() -> ()`; packet, metadata, state, time, struct outputs.
    Packet,
    /// `(data: i256, n_bytes: i32, offset: i32) -> (data: i256)`; state, metadata (read), time.
    Tail,
    /// `() -> ()`; like `Packet`, and the length; the window may change only with `store`.
    End,
    /// Flattened arguments to flattened results; state, time.
    Signal,
    /// `() -> (exit: i32, ports: i32, stop: i1)`: several packet elements, one after the other; see [`crate::Chain`].
    Chain,
}

/// A body-local array of scalars. Zero when the body starts; `local_clear` zeroes it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The variable's name in the source.
    pub name: String,
    /// Width of one word.
    pub width: Width,
    /// Words.
    pub depth: u64,
}

/// Code of one section of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What it is for.
    pub kind: BodyKind,
    /// Width of each value, by [`ValueId`].
    pub values: Vec<Width>,
    /// Ops, by [`OpId`]; their order in the arena means nothing.
    pub ops: Vec<Op>,
    /// Regions, by [`RegionId`].
    pub regions: Vec<Region>,
    /// Local arrays; `local_*` ops name them by position.
    pub locals: Vec<Local>,
    /// The outermost region; its parameters are the body's.
    pub root: RegionId,
}

/// A sequence of ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Values defined on entry.
    pub params: Vec<ValueId>,
    /// In order of execution.
    pub ops: Vec<OpId>,
    /// What the region gives to its owner.
    pub yields: Vec<ValueId>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub code: Opcode,
    /// The part that is fixed at compile time.
    pub attr: Attr,
    /// Operands.
    pub operands: Vec<ValueId>,
    /// Results.
    pub results: Vec<ValueId>,
    /// Regions of `if` (then, else) and `loop` (body).
    pub regions: Vec<RegionId>,
    /// The source that it came from.
    pub span: Option<Span>,
}

impl Body {
    /// An empty body whose root region has the given parameters and yields nothing.
    pub fn new(kind: BodyKind, params: &[Width]) -> Body {
        let values = params.to_vec();
        let ids = (0..params.len() as u32).map(ValueId).collect();
        let root = Region { params: ids, ..Region::default() };
        Body { kind, values, ops: Vec::new(), regions: vec![root], locals: Vec::new(), root: RegionId(0) }
    }

    /// Width of a value.
    pub fn width(&self, value: ValueId) -> Width {
        self.values[value.index()]
    }

    /// A fresh value.
    pub fn add_value(&mut self, width: Width) -> ValueId {
        self.values.push(width);
        ValueId(self.values.len() as u32 - 1)
    }

    /// A fresh, empty region.
    pub fn add_region(&mut self, params: &[Width]) -> RegionId {
        let params = params.iter().map(|&width| self.add_value(width)).collect();
        self.regions.push(Region { params, ..Region::default() });
        RegionId(self.regions.len() as u32 - 1)
    }

    /// A region of this body.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.index()]
    }

    /// An op of this body.
    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }

    /// Appends an op at the end of a region, with fresh results of the given widths; gives the op.
    pub fn push(&mut self, region: RegionId, op: Op, result_widths: &[Width]) -> OpId {
        assert!(op.results.is_empty(), "results are made here");
        let results = result_widths.iter().map(|&width| self.add_value(width)).collect();
        self.ops.push(Op { results, ..op });
        let id = OpId(self.ops.len() as u32 - 1);
        self.regions[region.index()].ops.push(id);
        id
    }

    /// The same code with dense arenas in canonical order, without ops, regions and values that no region of the tree holds.
    ///
    /// In canonical order, as [`crate::Builder`] and [`crate::parse`] make it, a region comes when it opens, with its
    /// parameters; an op and its results come after the regions inside it. Values must be visible where they are used.
    /// Locals stay.
    pub fn compacted(&self) -> Body {
        let mut copy = Body { regions: vec![], locals: self.locals.clone(), ..Body::new(self.kind, &[]) };
        let mut renamed = vec![None; self.values.len()];
        copy.root = self.copy_region(self.root, &mut copy, &mut renamed);
        copy
    }

    fn copy_region(&self, id: RegionId, copy: &mut Body, renamed: &mut [Option<ValueId>]) -> RegionId {
        let region = self.region(id);
        let widths: Vec<Width> = region.params.iter().map(|&param| self.width(param)).collect();
        let to = copy.add_region(&widths);
        rename(&region.params, &copy.region(to).params, renamed);
        for &id in &region.ops {
            let op = self.op(id);
            let regions = op.regions.iter().map(|&inner| self.copy_region(inner, copy, renamed)).collect();
            let operands = lookup(&op.operands, renamed);
            let widths: Vec<Width> = op.results.iter().map(|&result| self.width(result)).collect();
            let moved = Op { code: op.code, attr: op.attr.clone(), operands, results: vec![], regions, span: op.span };
            let moved = copy.push(to, moved, &widths);
            rename(&op.results, &copy.op(moved).results, renamed);
        }
        copy.regions[to.index()].yields = lookup(&region.yields, renamed);
        to
    }
}

fn rename(from: &[ValueId], to: &[ValueId], renamed: &mut [Option<ValueId>]) {
    for (from, to) in from.iter().zip(to) {
        renamed[from.index()] = Some(*to);
    }
}

fn lookup(values: &[ValueId], renamed: &[Option<ValueId>]) -> Vec<ValueId> {
    values.iter().map(|value| renamed[value.index()].expect("values are visible where they are used")).collect()
}
