//! Places: what reads look at and writes change.

use std::collections::BTreeSet;

use ir::{Attr, Body, Op, Opcode, RegionId};

/// See above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A register or memory.
    Var(u32),
    /// A local array.
    Local(u32),
    /// A metadata field.
    Meta(u32),
    /// The messages that wait at the inputs.
    Inputs,
    /// The packet's bytes and length.
    Window,
    /// How many of the packet's bytes the capture cut off.
    Missing,
    /// Which of the packet's bytes an element of a chain sees. No op reads it alone.
    View,
}

/// The place that an op reads, if reading twice gives the same. Not `pkt.short`, which each load may change.
pub fn place_read(op: &Op) -> Option<Place> {
    match op.code {
        Opcode::RegRead | Opcode::MemRead | Opcode::LocalRead | Opcode::MetaRead => named(&op.attr),
        Opcode::InReady | Opcode::InMask | Opcode::InPeek => Some(Place::Inputs),
        Opcode::PktAvail | Opcode::PktLoad | Opcode::PktLen => Some(Place::Window),
        Opcode::PktMissing => Some(Place::Missing),
        _ => None,
    }
}

/// The places that an op writes, not those in its regions.
pub fn places_written(op: &Op) -> impl Iterator<Item = Place> {
    let places = match op.code {
        Opcode::RegWrite | Opcode::MemWrite | Opcode::LocalWrite | Opcode::LocalClear | Opcode::MetaWrite => {
            [named(&op.attr), None, None]
        }
        Opcode::InRead | Opcode::InClear => [Some(Place::Inputs), None, None],
        Opcode::PktStore => [Some(Place::Window), None, None],
        Opcode::PktPush | Opcode::PktPop | Opcode::PktPushAt | Opcode::PktPopAt | Opcode::PktEnter => {
            [Some(Place::Window), Some(Place::View), None]
        }
        Opcode::PktTruncate | Opcode::PktAppend => [Some(Place::Window), Some(Place::View), Some(Place::Missing)],
        _ => [None; 3],
    };
    places.into_iter().flatten()
}

/// The place that an attribute names.
pub fn named(attr: &Attr) -> Option<Place> {
    match attr {
        Attr::Var(var) => Some(Place::Var(var.0)),
        Attr::Local(local) => Some(Place::Local(*local)),
        Attr::Meta(field) => Some(Place::Meta(*field)),
        Attr::None | Attr::Const(_) | Attr::Bit(_) | Attr::Message(_) | Attr::Text(_) => None,
    }
}

/// By region: the places that it writes, inner regions included.
pub fn written(body: &Body) -> Vec<BTreeSet<Place>> {
    let mut written = vec![BTreeSet::new(); body.regions.len()];
    collect(body, body.root, &mut written);
    written
}

fn collect(body: &Body, region: RegionId, written: &mut Vec<BTreeSet<Place>>) {
    let mut own = BTreeSet::new();
    for &op in &body.region(region).ops {
        let op = body.op(op);
        own.extend(places_written(op));
        for &inner in &op.regions {
            collect(body, inner, written);
            own.extend(&written[inner.index()]);
        }
    }
    written[region.index()] = own;
}

/// Whether a body asks `pkt.short`, which every load may set.
pub fn asks_short(body: &Body) -> bool {
    body.ops.iter().any(|op| op.code == Opcode::PktShort)
}
