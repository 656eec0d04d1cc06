//! A chain: several packet elements as one body, made for software engines.
//!
//! The event loop lets a packet run through the graph before the next one enters, so packet elements that follow each other
//! are, for one packet, one straight function. The body of a chain is that function: each member's bodies in topological
//! order, guarded by whether the packet gets there.
//!
//! It yields `(exit: i32, ports: i32, stop: i1)`. `exit` 0: the packet is over, and counted. Otherwise it leaves element
//! `exit - 1` through the outputs in `ports` (bit `i` for port `i + 1`). Without `stop` that is one output whose channel leads to a
//! boundary port that is always free, and the channel is counted. With `stop` the engine finishes this packet as if the
//! element had fired alone, before the next one; those channels are not counted. With `stop` and no ports the element emitted it to a
//! port that does not exist, whose number the engine keeps; that drop is not counted.
//!
//! `pkt.in_port` is the number of the entry, from 1.

use crate::{Body, ChannelId, Design, Element, ElementId, Handler, VarId, Width};

/// Several packet elements as one body.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Channels, from boundary inputs, whose packets it takes.
    pub entries: Vec<ChannelId>,
    /// The elements in it, at least one, in the order of their code.
    pub members: Vec<ElementId>,
    /// What the variables of the body are, by [`VarId`].
    pub vars: Vec<ChainVar>,
    /// Own reasons of `drop`; the cause number of the first is [`FIRST_OWN_CAUSE`].
    pub reasons: Vec<String>,
    /// The code; kind [`crate::BodyKind::Chain`].
    pub body: Body,
}

/// A variable of a chain's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainVar {
    /// That of a member.
    Member(ElementId, VarId),
    /// A register of 64 bits, at first 0.
    Counter(Counter),
}

/// What a chain counts, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Written to a channel.
    Channel(ChannelId),
    /// Written to an output, from 0, that has no channel.
    Unconnected(ElementId, u32),
    /// Dropped by an element for the cause with this number.
    Dropped(ElementId, u32),
    /// No count but the input, from 1, that the last packet came through, 0 before the first. Elements with several inputs have it,
    /// so that the event loop, where inputs take turns, goes on with the one behind it.
    LastInput(ElementId),
}

/// `emit` to a port that does not exist.
pub const CAUSE_NO_PORT: u32 = 1;
/// A push past the room to grow.
pub const CAUSE_NO_ROOM: u32 = 2;
/// A push past the valid bytes.
pub const CAUSE_PUSH_OUTSIDE: u32 = 3;
/// A pop past the valid bytes.
pub const CAUSE_POP_OUTSIDE: u32 = 4;
/// An append past `store`.
pub const CAUSE_APPEND: u32 = 5;
/// Longer than `store`.
pub const CAUSE_LONG: u32 = 6;
/// Neither emitted nor dropped. `pkt.dropped` never gives it; the chain counts it.
pub const CAUSE_UNDECIDED: u32 = 7;
/// The first own reason.
pub const FIRST_OWN_CAUSE: u32 = 8;

const COUNTER_WIDTH: Width = Width::of(64);

impl Chain {
    /// The chain as an element without ports, so that it can be verified and shown.
    pub fn element(&self, design: &Design) -> Element {
        let vars = self.vars.iter().enumerate().map(|(idx, &var)| match var {
            ChainVar::Member(element, id) => {
                let member = &design.elements[element.index()];
                let var = &member.vars[id.index()];
                crate::Var { name: format!("{}.{}", member.name, var.name), ..var.clone() }
            }
            ChainVar::Counter(_) => crate::Var {
                name: format!("counter.{idx}"),
                width: COUNTER_WIDTH,
                signed: false,
                depth: None,
                reset: vec![],
            },
        });
        Element {
            name: "chain".to_string(),
            kind: "chain".to_string(),
            host_control: false,
            autorun: false,
            on_host: false,
            params: vec![],
            inputs: vec![],
            outputs: vec![],
            vars: vars.collect(),
            init: None,
            handler: Handler::Packet {
                window: 0,
                grow: 0,
                store: None,
                head: Box::new(self.body.clone()),
                tail: None,
                end: None,
            },
            signals: vec![],
            timing: crate::Timing::default(),
            hls_pragmas: vec![],
            native: None,
            span: design.elements[self.members[0].index()].span,
        }
    }
}
