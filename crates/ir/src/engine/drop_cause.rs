//! Why a packet element dropped a packet.

use std::fmt;

/// The reason, as the element gave it or as its limits did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// `drop("…")`.
    Element(String),
    /// A push past `grow`.
    NoRoomToGrow,
    /// A push at an offset past the valid bytes.
    PushOutside,
    /// A pop of more bytes than are valid.
    PopOutside,
    /// `emit` to a port, from 1, that does not exist or carries no packets.
    NoSuchPort(u64),
    /// Longer than `store` bytes.
    LongerThanStore(u32),
    /// An append past `store` bytes.
    AppendPastStore,
    /// Neither emitted nor dropped.
    Undecided,
}

impl fmt::Display for DropCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropCause::Element(reason) => f.write_str(reason),
            DropCause::NoRoomToGrow => f.write_str("no room to grow"),
            DropCause::PushOutside => f.write_str("push past the window"),
            DropCause::PopOutside => f.write_str("pop past the window"),
            DropCause::NoSuchPort(port) => write!(f, "emitted to port {port}, which does not exist"),
            DropCause::LongerThanStore(bytes) => write!(f, "longer than the {bytes} bytes stored"),
            DropCause::AppendPastStore => f.write_str("append past the bytes stored"),
            DropCause::Undecided => f.write_str("neither emitted nor dropped"),
        }
    }
}
