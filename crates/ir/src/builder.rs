//! Builds a body op by op.
//!
//! A [`Builder`] stands at the end of one region. Its methods add an op there, check the shape, work out the result's width and
//! give the result. Pure ops of constants are computed at once, so lowering can ask [`Builder::constant`]. Methods assert
//! shapes: a wrong one is a mistake of the caller, never of the user.
//!
//! Regions are opened and closed in the order of the source, which suits a lowering that keeps an environment of names:
//!
//! ```
//! use ir::{BodyKind, Builder, Width};
//!
//! let i8 = Width::of(8);
//! let mut builder = Builder::new(BodyKind::Signal, &[i8]);
//! let x = builder.params()[0];
//! // if (x == 0) { y = 7 } else { y = x }
//! let zero = builder.zero(i8);
//! let condition = builder.eq(x, zero);
//! let then_side = builder.open(&[]);
//! let seven = builder.const_u64(7, i8);
//! let then_side = builder.close(then_side, vec![seven]);
//! let else_side = builder.open(&[]);
//! let else_side = builder.close(else_side, vec![x]);
//! let y = builder.if_regions(condition, then_side, else_side)[0];
//! let body = builder.finish(vec![y]);
//! assert_eq!(body.region(body.root).ops.len(), 3);
//! ```

use diag::Span;

use crate::{
    Attr, Body, BodyKind, Local, MessageTypeId, Op, OpId, Opcode, RegionId, Value, ValueId, VarId, Width, bytes_width,
    eval, verify::check_pure,
};

/// Adds ops at the end of its current region.
pub struct Builder {
    body: Body,
    current: RegionId,
    span: Option<Span>,
    /// By value: what is known of it at compile time.
    constants: Vec<Option<Value>>,
}

/// A region that was opened and must be closed; made by [`Builder::open`].
#[must_use = "an opened region must be closed"]
pub struct Opened {
    region: RegionId,
    outer: RegionId,
}

macro_rules! binary {
    ($($name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name(&mut self, a: ValueId, b: ValueId) -> ValueId {
            self.pure(Opcode::$op, Attr::None, &[a, b], self.width(a))
        }
    )*};
}

macro_rules! compare {
    ($($name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name(&mut self, a: ValueId, b: ValueId) -> ValueId {
            self.pure(Opcode::$op, Attr::None, &[a, b], Width::BOOL)
        }
    )*};
}

macro_rules! take {
    ($($name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name(&mut self, operand: ValueId) {
            self.push(Opcode::$op, Attr::None, vec![operand], &[]);
        }
    )*};
}

macro_rules! ask {
    ($($name:ident $op:ident $bits:literal $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name(&mut self) -> ValueId {
            self.effect(Opcode::$op, Attr::None, vec![], Width::of($bits))
        }
    )*};
}

impl Builder {
    /// Starts a body; its root region has the given parameters.
    pub fn new(kind: BodyKind, params: &[Width]) -> Builder {
        let body = Body::new(kind, params);
        Builder { current: body.root, body, span: None, constants: Vec::new() }
    }

    /// Ends the body with what its root region yields. Panics if a region is still open.
    pub fn finish(mut self, yields: Vec<ValueId>) -> Body {
        assert_eq!(self.current, self.body.root, "every opened region is closed");
        self.body.regions[self.current.index()].yields = yields;
        self.body
    }

    /// What is built up to here.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The body's parameters.
    pub fn params(&self) -> &[ValueId] {
        &self.body.region(self.body.root).params
    }

    /// The span of the ops that follow; gives the one before, to be put back.
    pub fn set_span(&mut self, span: Option<Span>) -> Option<Span> {
        std::mem::replace(&mut self.span, span)
    }

    /// Width of a value.
    pub fn width(&self, value: ValueId) -> Width {
        self.body.width(value)
    }

    /// The value, if it is known at compile time.
    pub fn constant(&self, value: ValueId) -> Option<&Value> {
        self.constants.get(value.index()).and_then(Option::as_ref)
    }

    /// Declares a local array; its position is what `local_*` take.
    pub fn add_local(&mut self, name: &str, width: Width, depth: u64) -> u32 {
        self.body.locals.push(Local { name: name.to_string(), width, depth });
        self.body.locals.len() as u32 - 1
    }

    // ---- regions

    /// Opens a region with parameters of these widths and goes to its end (which is its start). For `if` no parameters; for
    /// `loop` one for each carried value.
    pub fn open(&mut self, params: &[Width]) -> Opened {
        let region = self.body.add_region(params);
        Opened { region, outer: std::mem::replace(&mut self.current, region) }
    }

    /// Parameters of an opened region.
    pub fn opened_params(&self, opened: &Opened) -> &[ValueId] {
        &self.body.region(opened.region).params
    }

    /// Ends the region that was opened last and goes back to the one around it.
    pub fn close(&mut self, opened: Opened, yields: Vec<ValueId>) -> RegionId {
        assert_eq!(self.current, opened.region, "regions are closed in opposite order");
        self.body.regions[opened.region.index()].yields = yields;
        self.current = opened.outer;
        opened.region
    }

    /// `if` over two closed regions, which yield the same widths; gives its results.
    pub fn if_regions(&mut self, condition: ValueId, then_region: RegionId, else_region: RegionId) -> Vec<ValueId> {
        assert_eq!(self.width(condition), Width::BOOL, "condition of an if");
        let widths = self.yield_widths(then_region);
        assert_eq!(widths, self.yield_widths(else_region), "both sides of an if yield the same");
        let op = self.op(Opcode::If, Attr::None, vec![condition]);
        self.push_op(Op { regions: vec![then_region, else_region], ..op }, &widths)
    }

    /// `loop` over a closed region that yields whether to go on and the next carried values; gives the values at the end.
    pub fn loop_region(&mut self, initial: Vec<ValueId>, region: RegionId) -> Vec<ValueId> {
        let widths: Vec<Width> = initial.iter().map(|&value| self.width(value)).collect();
        let params: Vec<Width> = self.body.region(region).params.iter().map(|&value| self.width(value)).collect();
        assert_eq!(params, widths, "parameters of a loop are its carried values");
        let yields = self.yield_widths(region);
        assert_eq!(
            yields.split_first(),
            Some((&Width::BOOL, &widths[..])),
            "a loop yields go-on and the carried values"
        );
        let op = self.op(Opcode::Loop, Attr::None, initial);
        self.push_op(Op { regions: vec![region], ..op }, &widths)
    }

    /// `if` with closures that fill the two sides and give what they yield.
    pub fn if_(
        &mut self,
        condition: ValueId,
        then_side: impl FnOnce(&mut Builder) -> Vec<ValueId>,
        else_side: impl FnOnce(&mut Builder) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let opened = self.open(&[]);
        let yields = then_side(self);
        let then_region = self.close(opened, yields);
        let opened = self.open(&[]);
        let yields = else_side(self);
        let else_region = self.close(opened, yields);
        self.if_regions(condition, then_region, else_region)
    }

    /// `loop` with a closure that gets the carried values and gives "go on?" and the next ones.
    pub fn loop_(
        &mut self,
        initial: Vec<ValueId>,
        step: impl FnOnce(&mut Builder, &[ValueId]) -> (ValueId, Vec<ValueId>),
    ) -> Vec<ValueId> {
        let widths: Vec<Width> = initial.iter().map(|&value| self.width(value)).collect();
        let opened = self.open(&widths);
        let params = self.opened_params(&opened).to_vec();
        let (go_on, next) = step(self, &params);
        let region = self.close(opened, [vec![go_on], next].concat());
        self.loop_region(initial, region)
    }

    // ---- constants

    /// A constant; must be below `2^w`.
    pub fn const_(&mut self, value: Value, width: Width) -> ValueId {
        assert!(value.fits(width), "constant {value} in {} bits", width.bits());
        let result = self.effect(Opcode::Const, Attr::Const(value.clone()), vec![], width);
        self.constants.resize(result.index() + 1, None);
        self.constants[result.index()] = Some(value);
        result
    }

    /// A constant; must be below `2^w`.
    pub fn const_u64(&mut self, value: u64, width: Width) -> ValueId {
        self.const_(Value::Small(value), width)
    }

    /// A constant of one bit.
    pub fn const_bool(&mut self, value: bool) -> ValueId {
        self.const_(value.into(), Width::BOOL)
    }

    /// 0 at a width.
    pub fn zero(&mut self, width: Width) -> ValueId {
        self.const_(Value::ZERO, width)
    }

    // ---- pure ops

    binary! {
        add Add "Sum.";
        sub Sub "Difference.";
        mul Mul "Product.";
        udiv UDiv "Unsigned quotient.";
        sdiv SDiv "Signed quotient.";
        urem URem "Unsigned remainder.";
        srem SRem "Signed remainder.";
        and And "Bitwise and.";
        or Or "Bitwise or.";
        xor Xor "Bitwise exclusive or.";
        shl Shl "Shift left; the amount may have any width.";
        lshr LShr "Shift right, zeros in; the amount may have any width.";
        ashr AShr "Shift right, sign in; the amount may have any width.";
    }

    compare! {
        eq Eq "`a == b`.";
        ne Ne "`a != b`.";
        ult ULt "`a < b`, unsigned.";
        ule ULe "`a <= b`, unsigned.";
        slt SLt "`a < b`, signed.";
        sle SLe "`a <= b`, signed.";
    }

    /// Bitwise complement.
    pub fn not(&mut self, a: ValueId) -> ValueId {
        self.pure(Opcode::Not, Attr::None, &[a], self.width(a))
    }

    /// Two's complement negation.
    pub fn neg(&mut self, a: ValueId) -> ValueId {
        self.pure(Opcode::Neg, Attr::None, &[a], self.width(a))
    }

    /// `yes` if the condition is 1, else `no`.
    pub fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.pure(Opcode::Select, Attr::None, &[condition, yes, no], self.width(yes))
    }

    /// `hi` above `lo`.
    pub fn concat(&mut self, hi: ValueId, lo: ValueId) -> ValueId {
        let width = Width::of(self.width(hi).bits() + self.width(lo).bits());
        self.pure(Opcode::Concat, Attr::None, &[hi, lo], width)
    }

    /// The bits from `bit` on; the value itself if that is all of it.
    pub fn extract(&mut self, a: ValueId, bit: u32, width: Width) -> ValueId {
        if bit == 0 {
            assert!(width <= self.width(a), "bits of an extract lie inside");
            return self.resize_unsigned(a, width);
        }
        self.pure(Opcode::Extract, Attr::Bit(bit), &[a], width)
    }

    /// Bytes in opposite order.
    pub fn byte_swap(&mut self, a: ValueId) -> ValueId {
        self.pure(Opcode::ByteSwap, Attr::None, &[a], self.width(a))
    }

    /// The value at another width: zeros above, the low bits, or itself.
    pub fn resize_unsigned(&mut self, a: ValueId, width: Width) -> ValueId {
        self.resize(Opcode::ZExt, a, width)
    }

    /// The value at another width: copies of the sign above, the low bits, or itself.
    pub fn resize_signed(&mut self, a: ValueId, width: Width) -> ValueId {
        self.resize(Opcode::SExt, a, width)
    }

    /// Whether the value is not 0: the value itself if it has one bit.
    pub fn is_true(&mut self, a: ValueId) -> ValueId {
        if self.width(a) == Width::BOOL {
            return a;
        }
        let zero = self.zero(self.width(a));
        self.ne(a, zero)
    }

    // ---- state

    /// Value of a register of that width.
    pub fn reg_read(&mut self, var: VarId, width: Width) -> ValueId {
        self.effect(Opcode::RegRead, Attr::Var(var), vec![], width)
    }

    /// Sets a register.
    pub fn reg_write(&mut self, var: VarId, value: ValueId) {
        self.push(Opcode::RegWrite, Attr::Var(var), vec![value], &[]);
    }

    /// Word of a memory with words of that width.
    pub fn mem_read(&mut self, var: VarId, index: ValueId, width: Width) -> ValueId {
        self.effect(Opcode::MemRead, Attr::Var(var), vec![index], width)
    }

    /// Sets a word of a memory.
    pub fn mem_write(&mut self, var: VarId, index: ValueId, value: ValueId) {
        self.push(Opcode::MemWrite, Attr::Var(var), vec![index, value], &[]);
    }

    /// Word of a local array.
    pub fn local_read(&mut self, local: u32, index: ValueId) -> ValueId {
        let width = self.body.locals[local as usize].width;
        self.effect(Opcode::LocalRead, Attr::Local(local), vec![index], width)
    }

    /// Sets a word of a local array.
    pub fn local_write(&mut self, local: u32, index: ValueId, value: ValueId) {
        self.push(Opcode::LocalWrite, Attr::Local(local), vec![index, value], &[]);
    }

    /// Zeroes a local array.
    pub fn local_clear(&mut self, local: u32) {
        self.push(Opcode::LocalClear, Attr::Local(local), vec![], &[]);
    }

    // ---- ports; masks and port numbers are i32, ports count from 1

    /// Whether an input in the mask holds a message.
    pub fn in_ready(&mut self, mask: ValueId) -> ValueId {
        self.effect(Opcode::InReady, Attr::None, vec![mask], Width::BOOL)
    }

    /// Consumes the message at the lowest ready input of the mask; gives its fields, whose widths the caller passes.
    pub fn in_read(&mut self, message: MessageTypeId, mask: ValueId, fields: &[Width]) -> Vec<ValueId> {
        self.push(Opcode::InRead, Attr::Message(message), vec![mask], fields)
    }

    /// The message at an input without consuming it; gives its fields, whose widths the caller passes.
    pub fn in_peek(&mut self, message: MessageTypeId, port: ValueId, fields: &[Width]) -> Vec<ValueId> {
        self.push(Opcode::InPeek, Attr::Message(message), vec![port], fields)
    }

    /// Writes a message to an output.
    pub fn out_write(&mut self, message: MessageTypeId, port: ValueId, fields: &[ValueId]) {
        self.push(Opcode::OutWrite, Attr::Message(message), [&[port], fields].concat(), &[]);
    }

    // ---- packet

    /// Big-endian number of `n_bytes` bytes at an offset.
    pub fn pkt_load(&mut self, offset: ValueId, n_bytes: u32) -> ValueId {
        self.effect(Opcode::PktLoad, Attr::None, vec![offset], bytes_width(n_bytes))
    }

    /// Writes a value of whole bytes at an offset, big-endian.
    pub fn pkt_store(&mut self, offset: ValueId, value: ValueId) {
        self.push(Opcode::PktStore, Attr::None, vec![offset, value], &[]);
    }

    /// Adds `n` zero bytes at an offset of the window.
    pub fn pkt_push_at(&mut self, offset: ValueId, n: ValueId) {
        self.push(Opcode::PktPushAt, Attr::None, vec![offset, n], &[]);
    }

    /// Removes `n` bytes at an offset of the window.
    pub fn pkt_pop_at(&mut self, offset: ValueId, n: ValueId) {
        self.push(Opcode::PktPopAt, Attr::None, vec![offset, n], &[]);
    }

    /// A metadata field, by its position in the design, which has that width.
    pub fn meta_read(&mut self, field: u32, width: Width) -> ValueId {
        self.effect(Opcode::MetaRead, Attr::Meta(field), vec![], width)
    }

    /// Sets a metadata field.
    pub fn meta_write(&mut self, field: u32, value: ValueId) {
        self.push(Opcode::MetaWrite, Attr::Meta(field), vec![value], &[]);
    }

    /// Marks the packet as dropped.
    pub fn drop_packet(&mut self, reason: &str) {
        self.push(Opcode::Drop, Attr::Text(reason.to_string()), vec![], &[]);
    }

    /// Stops the run with this text if the condition is 0.
    pub fn assert_(&mut self, condition: ValueId, text: &str) {
        self.push(Opcode::Assert, Attr::Text(text.to_string()), vec![condition], &[]);
    }

    /// Reports the text with the values for its `{}`.
    pub fn trace(&mut self, format: &str, values: Vec<ValueId>) {
        self.push(Opcode::Trace, Attr::Text(format.to_string()), values, &[]);
    }

    ask! {
        in_mask InMask 32 "Mask of the ready inputs.";
        out_failed OutFailed 32 "Mask of the outputs that refused in the previous firing.";
        out_written OutWritten 32 "Mask of the outputs that accepted in the previous firing.";
        last_mask LastMask 32 "The mask that the previous firing returned.";
        now Now 64 "Nanoseconds.";
        pkt_avail PktAvail 32 "Valid bytes in the window.";
        pkt_short PktShort 1 "Whether an access went past the valid bytes.";
        pkt_len PktLen 32 "Bytes of the whole packet.";
        pkt_missing PktMissing 32 "Bytes that the capture cut off.";
        pkt_error PktError 1 "Whether the packet is marked in error.";
        pkt_in_port PktInPort 32 "Number of its input, from 1.";
        pkt_time PktTime 64 "Nanoseconds at which it entered.";
    }

    take! {
        in_clear InClear "Consumes the messages at the inputs of a mask.";
        out_clear OutClear "Takes back what this firing wrote to the outputs of a mask.";
        wake_at WakeAt "Asks to be fired at a time.";
        pkt_push PktPush "Adds zero bytes in front.";
        pkt_pop PktPop "Removes bytes in front.";
        pkt_truncate PktTruncate "Cuts the packet to n bytes.";
        pkt_append PktAppend "Adds n zero bytes at the end.";
        emit Emit "Marks an output, from 1.";
    }

    // ---- any op

    /// Adds a pure op without folding it.
    pub fn pure_unfolded(&mut self, code: Opcode, attr: Attr, operands: &[ValueId], width: Width) -> ValueId {
        self.check_pure(code, &attr, operands, width);
        self.effect(code, attr, operands.to_vec(), width)
    }

    fn pure(&mut self, code: Opcode, attr: Attr, operands: &[ValueId], width: Width) -> ValueId {
        self.check_pure(code, &attr, operands, width);
        let known: Option<Vec<(&Value, Width)>> =
            operands.iter().map(|&value| self.constant(value).map(|known| (known, self.width(value)))).collect();
        match known.map(|known| eval::pure(code, &attr, &known, width)) {
            Some(result) => self.const_(result, width),
            None => self.effect(code, attr, operands.to_vec(), width),
        }
    }

    fn check_pure(&self, code: Opcode, attr: &Attr, operands: &[ValueId], width: Width) {
        assert!(code.is_pure(), "{} is not pure", code.name());
        let widths: Vec<Width> = operands.iter().map(|&value| self.width(value)).collect();
        if let Err(problem) = check_pure(code, attr, &widths, width) {
            panic!("{}: {problem}", code.name());
        }
    }

    fn resize(&mut self, extend: Opcode, a: ValueId, width: Width) -> ValueId {
        match width.cmp(&self.width(a)) {
            std::cmp::Ordering::Equal => a,
            std::cmp::Ordering::Less => self.pure(Opcode::Trunc, Attr::None, &[a], width),
            std::cmp::Ordering::Greater => self.pure(extend, Attr::None, &[a], width),
        }
    }

    fn effect(&mut self, code: Opcode, attr: Attr, operands: Vec<ValueId>, width: Width) -> ValueId {
        self.push(code, attr, operands, &[width])[0]
    }

    fn push(&mut self, code: Opcode, attr: Attr, operands: Vec<ValueId>, results: &[Width]) -> Vec<ValueId> {
        let op = self.op(code, attr, operands);
        self.push_op(op, results)
    }

    fn op(&self, code: Opcode, attr: Attr, operands: Vec<ValueId>) -> Op {
        Op { code, attr, operands, results: vec![], regions: vec![], span: self.span }
    }

    fn push_op(&mut self, op: Op, results: &[Width]) -> Vec<ValueId> {
        let id: OpId = self.body.push(self.current, op, results);
        self.body.op(id).results.clone()
    }

    fn yield_widths(&self, region: RegionId) -> Vec<Width> {
        self.body.region(region).yields.iter().map(|&value| self.width(value)).collect()
    }
}
