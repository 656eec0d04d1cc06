//! What a `loop` without effects computes, as a key: two with equal keys give equal results.
//!
//! A key spells the op and those inside it: codes, attributes, widths, operands. Values from outside go by their number, those made
//! inside by the order in which they are made. Beside each read stands the version of the place that it reads.

use std::collections::BTreeMap;

use ir::{Attr, Body, Op, RegionId, ValueId};

use super::is_constant_in_firing;
use super::versions::Versions;
use crate::places::place_read;
use crate::quick::QuickMap;

/// Ops in a loop, above which spelling it out at every level of nesting would take too long.
const OPS_MAX: usize = 300;
/// Sets values made inside apart from those of outside.
const INSIDE: u64 = 1 << 40;

/// See above.
pub(super) type LoopKey = Vec<u64>;

/// Numbers of attributes, for keys.
#[derive(Default)]
pub(super) struct Attrs(QuickMap<Attr, u64>);

impl Attrs {
    fn number(&mut self, attr: &Attr) -> u64 {
        if *attr == Attr::None {
            return 0;
        }
        let next = self.0.len() as u64 + 1;
        *self.0.entry(attr.clone()).or_insert(next)
    }
}

/// The key of a loop; None if it has effects, asks what changes as it runs, or is too large. `numbers` are by value.
pub(super) fn key(body: &Body, op: &Op, numbers: &[u32], versions: &Versions, attrs: &mut Attrs) -> Option<LoopKey> {
    let inside = BTreeMap::new();
    let mut spelling = Spelling { body, numbers, versions, attrs, inside, key: Vec::new(), n_left: OPS_MAX };
    spelling.op(op)?;
    Some(spelling.key)
}

struct Spelling<'a> {
    body: &'a Body,
    numbers: &'a [u32],
    versions: &'a Versions,
    attrs: &'a mut Attrs,
    inside: BTreeMap<ValueId, u64>,
    key: LoopKey,
    n_left: usize,
}

impl Spelling<'_> {
    fn op(&mut self, op: &Op) -> Option<()> {
        self.n_left = self.n_left.checked_sub(1)?;
        let version = match place_read(op) {
            Some(place) => self.versions.of(place),
            None if op.code.is_pure() || !op.regions.is_empty() || is_constant_in_firing(op.code) => 0,
            None => return None,
        };
        let attr = self.attrs.number(&op.attr);
        self.key.extend([op.code as u64, op.operands.len() as u64, op.results.len() as u64, attr, version]);
        self.key.extend(op.results.iter().map(|&result| u64::from(self.body.width(result).bits())));
        self.values(&op.operands);
        for &region in &op.regions {
            self.region(region)?;
        }
        self.define(&op.results);
        Some(())
    }

    fn region(&mut self, region: RegionId) -> Option<()> {
        let body = self.body;
        let region = body.region(region);
        self.define(&region.params);
        self.key.push(region.ops.len() as u64);
        for &op in &region.ops {
            self.op(body.op(op))?;
        }
        self.values(&region.yields);
        Some(())
    }

    fn values(&mut self, values: &[ValueId]) {
        for value in values {
            let number = self.inside.get(value).map_or(u64::from(self.numbers[value.index()]), |idx| INSIDE | idx);
            self.key.push(number);
        }
    }

    fn define(&mut self, values: &[ValueId]) {
        for &value in values {
            let next = self.inside.len() as u64;
            self.inside.insert(value, next);
        }
    }
}
