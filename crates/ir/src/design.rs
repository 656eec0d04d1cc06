//! A whole application: elements, channels, boundary ports and message types.

use diag::Span;

use crate::ids::ids;
use crate::{Body, Value, Width};

ids! {
    /// An element instance of a [`Design`].
    ElementId;
    /// A channel of a [`Design`].
    ChannelId;
    /// A boundary port of a [`Design`].
    BoundaryId;
    /// A message type of a [`Design`].
    MessageTypeId;
    /// A state variable of an [`Element`].
    VarId;
}

/// A named scalar of a message, a signal or the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Dotted path from the flattened struct, such as `key.src` or `lanes[2]`.
    pub name: String,
    /// Its width.
    pub width: Width,
    /// Shown as two's complement.
    pub signed: bool,
}

/// How messages of a type travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// 32 payload bytes and flags; fields are [`crate::side::FLIT_FIELDS`] and the sideband.
    Flit,
    /// A whole packet; no fields.
    Packet,
    /// A declared struct.
    Struct,
}

/// What one channel carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageType {
    /// `flit_t`, `packet` or the struct's name.
    pub name: String,
    /// How it travels.
    pub kind: MessageKind,
    /// Scalars in order.
    pub fields: Vec<Field>,
}

/// A metadata field that travels with each packet, graph-wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaField {
    /// Dotted path of the scalar.
    pub name: String,
    /// Its width.
    pub width: Width,
    /// Shown as two's complement.
    pub signed: bool,
}

/// A compiled application. Ids index the arenas; all of them are dense.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Design {
    /// The application's name (file stem).
    pub name: String,
    /// Source file names, so that spans (`file` is an index here) can be shown without the sources.
    pub files: Vec<String>,
    /// Metadata fields in layout order; their widths sum to at most 1024 bits.
    pub meta: Vec<MetaField>,
    /// Message types; index 0 is `flit_t`, 1 is `packet`.
    pub message_types: Vec<MessageType>,
    /// Element instances in source order.
    pub elements: Vec<Element>,
    /// Channels in source order.
    pub channels: Vec<Channel>,
    /// Boundary ports in order of first use.
    pub boundaries: Vec<Boundary>,
}

impl Design {
    /// A design without elements that has these metadata fields, and the two message types that every design has.
    pub fn new(name: &str, meta: Vec<MetaField>) -> Design {
        let mut design = Design { name: name.to_string(), meta, ..Design::default() };
        let flit = MessageType {
            name: "flit_t".to_string(),
            kind: MessageKind::Flit,
            fields: crate::side::flit_fields(&design),
        };
        let packet = MessageType { name: "packet".to_string(), kind: MessageKind::Packet, fields: vec![] };
        design.message_types = vec![flit, packet];
        design
    }

    /// `flit_t`.
    pub const FLIT: MessageTypeId = MessageTypeId(0);
    /// `packet`.
    pub const PACKET: MessageTypeId = MessageTypeId(1);
}

/// A boundary port, where packets enter or leave the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// `nic_in`, `tor_out`, `host_out`, ….
    pub name: String,
    /// Which way.
    pub direction: BoundaryDirection,
    /// Bits per second; absent: as fast as it goes.
    pub rate_bps: Option<u64>,
    /// What passes.
    pub message: MessageTypeId,
    /// Declaring or first place of use.
    pub span: Span,
}

/// Which way messages cross a boundary port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundaryDirection {
    /// Into the graph.
    In,
    /// Out of the graph.
    Out,
}

/// One end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelEnd {
    /// A port of an element; `port` counts from 0.
    Element {
        /// The element.
        element: ElementId,
        /// Its port, from 0.
        port: u32,
    },
    /// A boundary port.
    Boundary(BoundaryId),
    /// `Drop` as the receiver: counts and discards. `Idle` as the sender: never sends.
    Null,
}

/// A bounded first-in first-out queue of messages between two ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Writer.
    pub from: ChannelEnd,
    /// Reader.
    pub to: ChannelEnd,
    /// What the writer writes. Kinds may differ only as flit against packet: the engine converts.
    pub from_type: MessageTypeId,
    /// What the reader reads.
    pub to_type: MessageTypeId,
    /// Capacity in messages of the reader's type.
    pub depth: u32,
    /// Drops whole packets when full instead of stopping its writer.
    pub lossy: bool,
    /// The arrow.
    pub span: Span,
}

/// A port of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// What passes.
    pub message: MessageTypeId,
    /// The channel at it; absent only where the graph may leave a port open (lossy output, `Idle` input).
    pub channel: Option<ChannelId>,
}

/// A compile-time parameter and the value that this instance has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its value, as in the source (`16`, `true`).
    pub value: String,
}

/// One element instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Instance name, groups as path: `encap/push`; anonymous ones `Tee#1`.
    pub name: String,
    /// Element type.
    pub kind: String,
    /// `@`.
    pub host_control: bool,
    /// `&`.
    pub autorun: bool,
    /// `host`.
    pub on_host: bool,
    /// Parameter values.
    pub params: Vec<Param>,
    /// Inputs; `PORT_1` is index 0.
    pub inputs: Vec<Port>,
    /// Outputs.
    pub outputs: Vec<Port>,
    /// Registers and memories.
    pub vars: Vec<Var>,
    /// Runs once, before the first message; kind [`crate::BodyKind::Init`].
    pub init: Option<Body>,
    /// What fires.
    pub handler: Handler,
    /// Signals in source order.
    pub signals: Vec<Signal>,
    /// Promises.
    pub timing: Timing,
    /// `.hls_pragma` text.
    pub hls_pragmas: Vec<String>,
    /// `.native`: the name of a [`crate::Twin`].
    pub native: Option<String>,
    /// The instance declaration.
    pub span: Span,
}

/// What an element does when it fires.
#[derive(Clone, Debug, PartialEq)]
pub enum Handler {
    /// `.handler`.
    Flit(Body),
    /// `.packet` with its options and further sections.
    Packet {
        /// Window in bytes.
        window: u32,
        /// Bytes that pushes may add in all.
        grow: u32,
        /// Store-and-forward up to this many bytes.
        store: Option<u32>,
        /// Runs on the window.
        head: Box<Body>,
        /// `.body`: runs on each 32-byte piece behind the window.
        tail: Option<Box<Body>>,
        /// `.end`: runs after the last piece.
        end: Option<Box<Body>>,
    },
}

/// A register (no depth) or a memory (a depth) of an element's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Dotted path of the scalar: `count`, `table.key` for the field of a struct array.
    pub name: String,
    /// Width of the register or of one memory word.
    pub width: Width,
    /// Shown as two's complement.
    pub signed: bool,
    /// Words of a memory.
    pub depth: Option<u64>,
    /// Reset values from word 0; missing ones are 0.
    pub reset: Vec<Value>,
}

/// A signal that the host can call.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Its name; `signal` for ClickNP's raw form.
    pub name: String,
    /// Arguments, flattened.
    pub params: Vec<Field>,
    /// What each argument is if the caller leaves it out, by position in `params`; absent: it must be given.
    pub defaults: Vec<Option<Value>>,
    /// Results, flattened.
    pub results: Vec<Field>,
    /// The code; kind [`crate::BodyKind::Signal`].
    pub body: Body,
    /// The comment above it.
    pub doc: String,
}

/// What an element promises of its timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Initiation interval in cycles.
    pub ii: Option<u32>,
    /// May fire every cycle.
    pub always: bool,
}

impl Element {
    /// Its bodies, each with a name for reports: `init`, `handler`, `packet`, `body`, `end`, `signal insert`.
    pub fn bodies(&self) -> Vec<(String, &Body)> {
        let mut bodies: Vec<(String, &Body)> = self.init.iter().map(|body| ("init".to_string(), body)).collect();
        match &self.handler {
            Handler::Flit(body) => bodies.push(("handler".to_string(), body)),
            Handler::Packet { head, tail, end, .. } => {
                bodies.push(("packet".to_string(), head));
                bodies.extend(tail.iter().map(|body| ("body".to_string(), &**body)));
                bodies.extend(end.iter().map(|body| ("end".to_string(), &**body)));
            }
        }
        bodies.extend(self.signals.iter().map(|signal| (format!("signal {}", signal.name), &signal.body)));
        bodies
    }

    /// Its bodies, in the order of [`Element::bodies`], to be changed.
    pub fn bodies_mut(&mut self) -> Vec<&mut Body> {
        let mut bodies: Vec<&mut Body> = self.init.iter_mut().collect();
        match &mut self.handler {
            Handler::Flit(body) => bodies.push(body),
            Handler::Packet { head, tail, end, .. } => {
                bodies.push(head);
                bodies.extend(tail.as_deref_mut());
                bodies.extend(end.as_deref_mut());
            }
        }
        bodies.extend(self.signals.iter_mut().map(|signal| &mut signal.body));
        bodies
    }
}
