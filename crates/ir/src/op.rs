//! The table of ops.
//!
//! One row an op: text name, operand and result shape, effect class, whether it has an attribute, and its meaning in words.
//! The text form, the verifier, the reference page and dispatch in engines come from this table.

use crate::{MessageTypeId, Value, VarId, Width};

/// The compile-time part of an op.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    /// Nothing.
    None,
    /// The constant of `const`.
    Const(Value),
    /// The lowest bit of `extract`.
    Bit(u32),
    /// A state variable.
    Var(VarId),
    /// A local array of the body, by position.
    Local(u32),
    /// The message type of a port op.
    Message(MessageTypeId),
    /// A metadata field of the design, by position.
    Meta(u32),
    /// Text: reason of `drop`, message of `assert`, format of `trace`.
    Text(String),
}

/// Which [`Attr`] an op has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// [`Attr::None`].
    None,
    /// [`Attr::Const`].
    Const,
    /// [`Attr::Bit`].
    Bit,
    /// [`Attr::Var`].
    Var,
    /// [`Attr::Local`].
    Local,
    /// [`Attr::Message`].
    Message,
    /// [`Attr::Meta`].
    Meta,
    /// [`Attr::Text`].
    Text,
}

impl Attr {
    /// Its kind.
    pub fn kind(&self) -> AttrKind {
        match self {
            Attr::None => AttrKind::None,
            Attr::Const(_) => AttrKind::Const,
            Attr::Bit(_) => AttrKind::Bit,
            Attr::Var(_) => AttrKind::Var,
            Attr::Local(_) => AttrKind::Local,
            Attr::Message(_) => AttrKind::Message,
            Attr::Meta(_) => AttrKind::Meta,
            Attr::Text(_) => AttrKind::Text,
        }
    }
}

/// What an op may touch; passes and schedulers go by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Result depends on operands only.
    Pure,
    /// Holds regions; effects are those inside.
    Region,
    /// Reads or writes state or local arrays.
    ReadState,
    /// Writes state or local arrays.
    WriteState,
    /// Reads ports without consuming.
    ReadPort,
    /// Consumes or writes at ports.
    WritePort,
    /// Reads the packet, its metadata or the time.
    ReadPacket,
    /// Changes the packet, its metadata or its fate.
    WritePacket,
    /// Seen from outside only: `assert`, `trace`, `wake_at`.
    Outside,
}

/// Operand and result shape, as the verifier checks it. `w` is any width, equal wherever it recurs in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `() -> w`
    Constant,
    /// `(w) -> w`
    Unary,
    /// `(w, w) -> w`
    Binary,
    /// `(w, any) -> w`
    Shift,
    /// `(w, w) -> 1`
    Compare,
    /// `(1, w, w) -> w`
    Select,
    /// `(a) -> b`, b > a
    Extend,
    /// `(a) -> b`, b < a
    Truncate,
    /// `(hi: a, lo: b) -> a + b`
    Concat,
    /// `(a) -> b`, bit + b <= a
    Extract,
    /// `(w) -> w`, w a multiple of 8
    ByteSwap,
    /// `(1) -> …`; two regions that yield the results
    If,
    /// `(carried…) -> carried…`; one region
    Loop,
    /// `() -> w` of the variable
    RegisterRead,
    /// `(w)` of the variable
    RegisterWrite,
    /// `(index: any) -> w` of the variable or local
    MemoryRead,
    /// `(index: any, w)` of the variable or local
    MemoryWrite,
    /// `()`
    Nothing,
    /// `() -> 32`
    Get32,
    /// `() -> 64`
    Get64,
    /// `() -> 1`
    Get1,
    /// `(32)`
    Take32,
    /// `(64)`
    Take64,
    /// `(32, 32)`
    Take32x2,
    /// `(32, 32, 32)`
    Take32x3,
    /// `(32) -> 1`
    MaskTest,
    /// `(32) -> fields of the message type`
    PortRead,
    /// `(32, fields of the message type…)`
    PortWrite,
    /// `(offset: 32) -> 8 * n`
    PacketLoad,
    /// `(offset: 32, 8 * n)`
    PacketStore,
    /// `() -> width of the metadata field`
    MetaRead,
    /// `(width of the metadata field)`
    MetaWrite,
    /// `(1)`
    Assert,
    /// `(any…)`
    Trace,
}

macro_rules! ops {
    ($($variant:ident $text:literal $shape:ident $effect:ident $doc:literal;)*) => {
        /// An operation. Each variant's documentation is its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Opcode { $(#[doc = $doc] $variant),* }

        impl Opcode {
            /// Every op, in table order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant),*];

            /// The name in the text form.
            pub fn name(self) -> &'static str {
                match self { $(Opcode::$variant => $text),* }
            }

            /// Operands and results.
            pub fn shape(self) -> Shape {
                match self { $(Opcode::$variant => Shape::$shape),* }
            }

            /// Effect class.
            pub fn effect(self) -> Effect {
                match self { $(Opcode::$variant => Effect::$effect),* }
            }

            /// Meaning in words.
            pub fn meaning(self) -> &'static str {
                match self { $(Opcode::$variant => $doc),* }
            }
        }
    };
}

ops! {
    Const "const" Constant Pure "The attribute's value.";
    Add "add" Binary Pure "Sum modulo 2^w.";
    Sub "sub" Binary Pure "Difference modulo 2^w.";
    Mul "mul" Binary Pure "Product modulo 2^w.";
    UDiv "udiv" Binary Pure "Unsigned quotient; all ones if the divisor is 0.";
    SDiv "sdiv" Binary Pure "Signed quotient towards 0; all ones if the divisor is 0; the most negative number over -1 is itself.";
    URem "urem" Binary Pure "Unsigned remainder; the dividend if the divisor is 0.";
    SRem "srem" Binary Pure "Signed remainder with the dividend's sign; the dividend if the divisor is 0; 0 for the most negative number over -1.";
    And "and" Binary Pure "Bitwise and.";
    Or "or" Binary Pure "Bitwise or.";
    Xor "xor" Binary Pure "Bitwise exclusive or.";
    Not "not" Unary Pure "Bitwise complement.";
    Neg "neg" Unary Pure "Two's complement negation.";
    Shl "shl" Shift Pure "Shift left by the unsigned second operand; 0 if it is at least w.";
    LShr "lshr" Shift Pure "Shift right, zeros in; 0 if the amount is at least w.";
    AShr "ashr" Shift Pure "Shift right, sign in; all sign bits if the amount is at least w.";
    Eq "eq" Compare Pure "Equal.";
    Ne "ne" Compare Pure "Not equal.";
    ULt "ult" Compare Pure "Unsigned less.";
    ULe "ule" Compare Pure "Unsigned less or equal.";
    SLt "slt" Compare Pure "Signed less.";
    SLe "sle" Compare Pure "Signed less or equal.";
    Select "select" Select Pure "Second operand if the first is 1, else the third.";
    ZExt "zext" Extend Pure "Zeros above.";
    SExt "sext" Extend Pure "Copies of the sign bit above.";
    Trunc "trunc" Truncate Pure "The low bits.";
    Concat "concat" Concat Pure "First operand above the second.";
    Extract "extract" Extract Pure "The result's width of bits from the attribute's bit on.";
    ByteSwap "bswap" ByteSwap Pure "Bytes in opposite order.";
    If "if" If Region "First region if the operand is 1, else the second; results are what it yields.";
    Loop "loop" Loop Region "Runs its region with the carried values as parameters; it yields whether to go on (i1) and the next carried values, which are the results once it stops.";
    RegRead "reg.read" RegisterRead ReadState "The register's value.";
    RegWrite "reg.write" RegisterWrite WriteState "Sets the register.";
    MemRead "mem.read" MemoryRead ReadState "The word at the index; 0 if the index is not below the depth.";
    MemWrite "mem.write" MemoryWrite WriteState "Sets the word at the index; nothing if the index is not below the depth.";
    LocalRead "local.read" MemoryRead ReadState "The word of a local array; 0 out of range.";
    LocalWrite "local.write" MemoryWrite WriteState "Sets a word of a local array; nothing out of range.";
    LocalClear "local.clear" Nothing WriteState "Zeroes a local array.";
    InReady "in.ready" MaskTest ReadPort "Whether an input in the mask (bit i is port i + 1, in all masks of ops) holds a message that this firing has not consumed.";
    InMask "in.mask" Get32 ReadPort "Mask of the inputs that hold a message that this firing has not consumed.";
    InRead "in.read" PortRead WritePort "Consumes and gives the message at the lowest ready input of the mask; zeros if none.";
    InPeek "in.peek" PortRead ReadPort "Gives the message at input number i (from 1) without consuming it; zeros if none.";
    InClear "in.clear" Take32 WritePort "Consumes the messages at the ready inputs of the mask.";
    OutWrite "out.write" PortWrite WritePort "Writes a message to output number i (from 1) at the end of the firing; replaces an earlier one; nothing if there is no such port.";
    OutClear "out.clear" Take32 WritePort "Takes back what this firing wrote to the outputs in the mask.";
    OutFailed "out.failed" Get32 ReadPort "Mask of the outputs whose write in the previous firing was refused by a full lossy channel.";
    OutWritten "out.written" Get32 ReadPort "Mask of the outputs whose write in the previous firing was accepted.";
    LastMask "last.mask" Get32 ReadPort "The mask that the previous firing returned; all ones before the first.";
    Now "now" Get64 ReadPacket "Current time in nanoseconds, constant within a firing.";
    WakeAt "wake.at" Take64 Outside "Asks to be fired at this time, input or not.";
    PktAvail "pkt.avail" Get32 ReadPacket "Valid bytes in the window.";
    PktLoad "pkt.load" PacketLoad ReadPacket "Big-endian number of n bytes at the offset; bytes past the valid ones are 0 and set `short`.";
    PktStore "pkt.store" PacketStore WritePacket "Writes n big-endian bytes at the offset; bytes past the valid ones are ignored and set `short`.";
    PktPush "pkt.push" Take32 WritePacket "Adds zero bytes in front; past the room for growth the packet is dropped with that reason.";
    PktPop "pkt.pop" Take32 WritePacket "Removes bytes in front; more than are valid drops the packet with that reason.";
    PktPushAt "pkt.push_at" Take32x2 WritePacket "Adds n zero bytes at offset o of the window.";
    PktPopAt "pkt.pop_at" Take32x2 WritePacket "Removes n bytes at offset o of the window.";
    PktShort "pkt.short" Get1 ReadPacket "Whether an access of this firing went past the valid bytes.";
    PktLen "pkt.len" Get32 ReadPacket "Bytes of the whole packet: with `store`, or in the end body.";
    PktMissing "pkt.missing" Get32 ReadPacket "Bytes that the capture cut off.";
    PktError "pkt.error" Get1 ReadPacket "Whether the packet is marked in error.";
    PktInPort "pkt.in_port" Get32 ReadPacket "Number of the input that it came through, from 1.";
    PktTime "pkt.time" Get64 ReadPacket "Nanoseconds at which it entered the graph.";
    PktTruncate "pkt.truncate" Take32 WritePacket "Cuts the packet to n bytes (with `store`).";
    PktAppend "pkt.append" Take32 WritePacket "Adds n zero bytes at the end (with `store`).";
    MetaRead "meta.read" MetaRead ReadPacket "A metadata field of the packet.";
    MetaWrite "meta.write" MetaWrite WritePacket "Sets a metadata field.";
    Emit "emit" Take32 WritePacket "Marks output number i (from 1): the packet as it is at the end goes there. No such port: the packet is dropped with that reason.";
    Drop "drop" Nothing WritePacket "Marks the packet as dropped, for the attribute's reason.";
    PktEnter "pkt.enter" Take32x3 WritePacket "In a chain: begins an element's view with its window, its room to grow and its `store` (0: none): valid bytes are the packet's first, at most the window; nothing is short, emitted or dropped, but a packet longer than `store` is dropped for that.";
    PktEmitted "pkt.emitted" Get32 ReadPacket "In a chain: mask of the outputs marked since `pkt.enter`.";
    PktDropped "pkt.dropped" Get32 ReadPacket "In a chain: number of the first cause to drop the packet since `pkt.enter`; 0 if there is none.";
    PktDropFor "pkt.drop_for" Take32 WritePacket "In a chain: marks the packet as dropped for the cause with this number.";
    Assert "assert" Assert Outside "Stops the run with the attribute's text if the operand is 0.";
    Trace "trace" Trace Outside "Reports the attribute's text with the operands filled in for `{}`.";
}

impl Opcode {
    /// Whether it has no effect and depends on its operands only.
    pub fn is_pure(self) -> bool {
        self.effect() == Effect::Pure
    }

    /// The op with this name in the text form.
    pub fn from_name(name: &str) -> Option<Opcode> {
        Opcode::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Which attribute it has.
    pub fn attr_kind(self) -> AttrKind {
        match (self, self.shape()) {
            (_, Shape::Constant) => AttrKind::Const,
            (_, Shape::Extract) => AttrKind::Bit,
            (Opcode::LocalRead | Opcode::LocalWrite | Opcode::LocalClear, _) => AttrKind::Local,
            (_, Shape::RegisterRead | Shape::RegisterWrite | Shape::MemoryRead | Shape::MemoryWrite) => AttrKind::Var,
            (_, Shape::PortRead | Shape::PortWrite) => AttrKind::Message,
            (_, Shape::MetaRead | Shape::MetaWrite) => AttrKind::Meta,
            (Opcode::Drop, _) | (_, Shape::Assert | Shape::Trace) => AttrKind::Text,
            _ => AttrKind::None,
        }
    }
}

/// A width of `n` bytes, for packet ops; panics above 1024 bytes.
pub fn bytes_width(n: u32) -> Width {
    Width::of(8 * n)
}
