//! The internal form of a body: instructions over a frame of 64-bit slots.
//!
//! A value of width `w` lies in `ceil(w / 64)` slots, least significant first, its unused top bits 0. Values of up to 64 bits
//! have instructions of their own; constants are in the frame from the start and cost nothing.

use ir::Span;

/// Position of a value's first limb in the frame.
pub(crate) type Slot = u32;

/// One instruction: `d` is where the result goes, `a` and `b` are operands, `w` is a width in bits, `n` counts limbs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inst {
    Move {
        d: Slot,
        a: Slot,
    },
    MoveWide {
        d: Slot,
        a: Slot,
        n: u16,
    },

    Add {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Sub {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Mul {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    UDiv {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    SDiv {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    URem {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    SRem {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    And {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Or {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Xor {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Not {
        d: Slot,
        a: Slot,
        w: u8,
    },
    Neg {
        d: Slot,
        a: Slot,
        w: u8,
    },
    Shl {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    LShr {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    AShr {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Eq {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Ne {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    ULt {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    ULe {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    SLt {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    SLe {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Select {
        d: Slot,
        c: Slot,
        a: Slot,
        b: Slot,
    },
    SExt {
        d: Slot,
        a: Slot,
        from: u8,
        w: u8,
    },
    Mask {
        d: Slot,
        a: Slot,
        w: u8,
    },
    Extract {
        d: Slot,
        a: Slot,
        lo: u8,
        w: u8,
    },
    Concat {
        d: Slot,
        hi: Slot,
        lo: Slot,
        lo_w: u8,
    },
    ByteSwap {
        d: Slot,
        a: Slot,
        w: u8,
    },

    Wide {
        op: WideOp,
        d: Slot,
        a: Slot,
        b: Slot,
        w: u16,
    },
    WideCompare {
        op: CompareOp,
        d: Slot,
        a: Slot,
        b: Slot,
        w: u16,
    },
    WideSelect {
        d: Slot,
        c: Slot,
        a: Slot,
        b: Slot,
        n: u16,
    },
    WideZExt {
        d: Slot,
        a: Slot,
        from_n: u16,
        n: u16,
    },
    WideSExt {
        d: Slot,
        a: Slot,
        from: u16,
        w: u16,
    },
    WideExtract {
        d: Slot,
        a: Slot,
        lo: u16,
        w: u16,
        a_n: u16,
    },
    WideConcat {
        d: Slot,
        hi: Slot,
        lo: Slot,
        hi_w: u16,
        lo_w: u16,
    },
    WideByteSwap {
        d: Slot,
        a: Slot,
        w: u16,
    },
    /// The number, or all ones if it does not fit a limb: shift amounts and indices.
    Clamp {
        d: Slot,
        a: Slot,
        n: u16,
    },

    Jump {
        to: u32,
    },
    JumpIfZero {
        a: Slot,
        to: u32,
    },
    /// Back to the start of a loop; counted against the step limit.
    JumpBack {
        a: Slot,
        to: u32,
    },

    RegRead {
        d: Slot,
        at: u32,
    },
    RegReadWide {
        d: Slot,
        at: u32,
        n: u16,
    },
    RegWrite {
        at: u32,
        a: Slot,
    },
    RegWriteWide {
        at: u32,
        a: Slot,
        n: u16,
    },
    MemRead {
        d: Slot,
        index: Slot,
        memory: u32,
    },
    MemReadWide {
        d: Slot,
        index: Slot,
        memory: u32,
        n: u16,
    },
    MemWrite {
        memory: u32,
        index: Slot,
        a: Slot,
    },
    MemWriteWide {
        memory: u32,
        index: Slot,
        a: Slot,
        n: u16,
    },
    LocalRead {
        d: Slot,
        index: Slot,
        local: u32,
    },
    LocalReadWide {
        d: Slot,
        index: Slot,
        local: u32,
        n: u16,
    },
    LocalWrite {
        local: u32,
        index: Slot,
        a: Slot,
    },
    LocalWriteWide {
        local: u32,
        index: Slot,
        a: Slot,
        n: u16,
    },
    LocalClear {
        local: u32,
    },

    InReady {
        d: Slot,
        mask: Slot,
    },
    InMask {
        d: Slot,
    },
    /// `ports`: inputs that have the message type.
    InRead {
        d: Slot,
        mask: Slot,
        ports: u32,
        n: u32,
    },
    InPeek {
        d: Slot,
        port: Slot,
        ports: u32,
        n: u32,
    },
    InClear {
        mask: Slot,
    },
    /// `write`: position in [`Code::writes`].
    OutWrite {
        port: Slot,
        write: u32,
    },
    OutClear {
        mask: Slot,
    },
    OutFailed {
        d: Slot,
    },
    OutWritten {
        d: Slot,
    },
    LastMask {
        d: Slot,
    },
    Now {
        d: Slot,
    },
    WakeAt {
        a: Slot,
    },

    PktAvail {
        d: Slot,
    },
    PktLoad {
        d: Slot,
        offset: Slot,
        n_bytes: u16,
    },
    PktStore {
        offset: Slot,
        a: Slot,
        n_bytes: u16,
    },
    PktPush {
        a: Slot,
    },
    PktPop {
        a: Slot,
    },
    PktPushAt {
        offset: Slot,
        a: Slot,
    },
    PktPopAt {
        offset: Slot,
        a: Slot,
    },
    PktShort {
        d: Slot,
    },
    PktLen {
        d: Slot,
    },
    PktMissing {
        d: Slot,
    },
    PktError {
        d: Slot,
    },
    PktInPort {
        d: Slot,
    },
    PktTime {
        d: Slot,
    },
    PktTruncate {
        a: Slot,
    },
    PktAppend {
        a: Slot,
    },
    MetaRead {
        d: Slot,
        lo: u16,
        w: u16,
    },
    MetaWrite {
        a: Slot,
        lo: u16,
        w: u16,
    },
    Emit {
        port: Slot,
    },
    /// `reason`: position in [`Code::texts`].
    Drop {
        reason: u32,
    },
    Assert {
        a: Slot,
        text: u32,
    },
    /// `trace`: position in [`Code::traces`].
    Trace {
        trace: u32,
    },
    Return,
}

/// Ops on wide values; `b` of a shift is one limb.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WideOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    Not,
    Neg,
    Shl,
    LShr,
    AShr,
}

/// Comparisons of wide values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CompareOp {
    Eq,
    Ne,
    ULt,
    ULe,
    SLt,
    SLe,
}

/// A value's place and width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) slot: Slot,
    pub(crate) width: u32,
}

impl Operand {
    pub(crate) fn n_limbs(self) -> usize {
        self.width.div_ceil(64) as usize
    }
}

/// The message of an `out.write`.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Its words, as runs of slots.
    pub(crate) runs: Vec<std::ops::Range<usize>>,
    /// Outputs that have the message type.
    pub(crate) ports: u32,
}

/// Text and operands of a `trace`.
#[derive(Clone, Debug)]
pub(crate) struct TraceText {
    pub(crate) text: String,
    pub(crate) operands: Vec<Operand>,
}

/// A compiled body.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) insts: Vec<Inst>,
    /// By instruction.
    pub(crate) spans: Vec<Option<Span>>,
    /// The frame to begin with: constants in their slots.
    pub(crate) frame: Vec<u64>,
    pub(crate) params: Vec<Operand>,
    pub(crate) yields: Vec<Operand>,
    pub(crate) locals: Vec<ir::Local>,
    /// Names of memories, for messages.
    pub(crate) memory_names: Vec<String>,
    pub(crate) writes: Vec<Write>,
    pub(crate) texts: Vec<String>,
    pub(crate) traces: Vec<TraceText>,
    /// Whether it asks for the outcome of the previous firing's writes.
    pub(crate) asks_outcome: bool,
}

impl Code {
    /// Code that does nothing, to stand in for a body that is out on a run.
    pub(crate) fn empty() -> Code {
        Code {
            insts: vec![Inst::Return],
            spans: vec![None],
            frame: Vec::new(),
            params: Vec::new(),
            yields: Vec::new(),
            locals: Vec::new(),
            memory_names: Vec::new(),
            writes: Vec::new(),
            texts: Vec::new(),
            traces: Vec::new(),
            asks_outcome: false,
        }
    }

    /// Whether the first result is the parameter itself, unchanged.
    pub(crate) fn yields_param(&self, param_idx: usize) -> bool {
        self.yields[0].slot == self.params[param_idx].slot
    }
}
