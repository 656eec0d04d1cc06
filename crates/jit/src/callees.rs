//! What code calls: packets that grow or shrink, reads near a packet's end, traces, and long arithmetic.
//!
//! Every function here is in [`callees`], is called by code only, and takes numbers and pointers of 64 bits.
#![allow(unsafe_code)]

use ir::Opcode;
use ir::chain::{CAUSE_APPEND, CAUSE_NO_ROOM, CAUSE_POP_OUTSIDE, CAUSE_PUSH_OUTSIDE};
use ir::engine::Packet;

use crate::context::{Context, Outside};
use crate::limbs;

/// A function that code calls: arguments of 64 bits, perhaps a result of 64 bits.
pub(crate) struct Callee {
    pub(crate) name: &'static str,
    pub(crate) address: *const u8,
    pub(crate) n_params: usize,
    pub(crate) has_result: bool,
}

/// Names of callees, by position in [`callees`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalleeId {
    PacketLoad,
    PacketStore,
    PacketPush,
    PacketPop,
    PacketTruncate,
    PacketAppend,
    WakeAt,
    Trace,
    Zero,
    Copy,
    Binary,
    Shift,
    Compare,
    Extract,
    SignExtend,
    Concat,
    ByteSwap,
}

impl CalleeId {
    /// All of them.
    pub(crate) const ALL: [CalleeId; 17] = [
        CalleeId::PacketLoad,
        CalleeId::PacketStore,
        CalleeId::PacketPush,
        CalleeId::PacketPop,
        CalleeId::PacketTruncate,
        CalleeId::PacketAppend,
        CalleeId::WakeAt,
        CalleeId::Trace,
        CalleeId::Zero,
        CalleeId::Copy,
        CalleeId::Binary,
        CalleeId::Shift,
        CalleeId::Compare,
        CalleeId::Extract,
        CalleeId::SignExtend,
        CalleeId::Concat,
        CalleeId::ByteSwap,
    ];
}

/// All callees, in the order of [`CalleeId`].
pub(crate) fn callees() -> Vec<Callee> {
    let callee =
        |name, address: *const (), n_params, has_result| Callee { name, address: address.cast(), n_params, has_result };
    vec![
        callee("packet_load", packet_load as *const (), 4, false),
        callee("packet_store", packet_store as *const (), 4, false),
        callee("packet_push", packet_push as *const (), 3, false),
        callee("packet_pop", packet_pop as *const (), 3, false),
        callee("packet_truncate", packet_truncate as *const (), 2, false),
        callee("packet_append", packet_append as *const (), 2, false),
        callee("wake_at", wake_at as *const (), 2, false),
        callee("trace", trace as *const (), 4, false),
        callee("zero", zero as *const (), 2, false),
        callee("copy", copy as *const (), 3, false),
        callee("binary", binary as *const (), 5, false),
        callee("shift", shift as *const (), 5, false),
        callee("compare", compare as *const (), 4, true),
        callee("extract", extract as *const (), 5, false),
        callee("sign_extend", sign_extend as *const (), 4, false),
        callee("concat", concat as *const (), 5, false),
        callee("byte_swap", byte_swap as *const (), 3, false),
    ]
}

/// The op that code passes as its position in the table.
fn opcode(position: u64) -> Opcode {
    Opcode::ALL[position as usize]
}

/// # Safety
/// `limbs` points at `width` bits in limbs that nothing else uses during `'a`.
unsafe fn read<'a>(limbs: *const u64, width: u64) -> &'a [u64] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(limbs, width.div_ceil(64) as usize) }
}

/// # Safety
/// As [`read`], and nothing reads the limbs during `'a`.
unsafe fn write<'a>(limbs: *mut u64, width: u64) -> &'a mut [u64] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts_mut(limbs, width.div_ceil(64) as usize) }
}

/// # Safety
/// The context of the running firing, whose packet is set: the body has packet ops, which packet handlers alone have.
unsafe fn with_packet<'a>(context: *mut Context) -> (&'a mut Context, &'a mut Packet) {
    // SAFETY: `Machine::fire_packet` holds both for the whole firing and does not touch them while code runs. They do not overlap.
    unsafe {
        let context = &mut *context;
        let packet = &mut *context.packet;
        (context, packet)
    }
}

/// Big-endian number of `n_bytes` bytes at an offset of the window; bytes past the valid ones are 0 and set `short`.
///
/// # Safety
/// Called by code: the context of this firing, and a place of `8 * n_bytes` bits.
unsafe extern "C" fn packet_load(context: *mut Context, offset: u64, n_bytes: u64, to: *mut u64) {
    // SAFETY: as the caller promises.
    let ((context, packet), to) = unsafe { (with_packet(context), write(to, 8 * n_bytes)) };
    let valid = packet.bytes()[..context.avail as usize].get(offset as usize..).unwrap_or_default();
    context.short |= u64::from((valid.len() as u64) < n_bytes);
    to.fill(0);
    for i in 0..n_bytes as usize {
        let byte = valid.get(n_bytes as usize - 1 - i).copied().unwrap_or(0);
        to[i / 8] |= u64::from(byte) << (i % 8 * 8);
    }
}

/// Writes `n_bytes` big-endian bytes at an offset of the window; bytes past the valid ones are ignored and set `short`.
///
/// # Safety
/// Called by code: the context of this firing, and a number of `8 * n_bytes` bits.
unsafe extern "C" fn packet_store(context: *mut Context, offset: u64, n_bytes: u64, from: *const u64) {
    // SAFETY: as the caller promises.
    let ((context, packet), from) = unsafe { (with_packet(context), read(from, 8 * n_bytes)) };
    let valid = packet.bytes_mut()[..context.avail as usize].get_mut(offset as usize..).unwrap_or_default();
    context.short |= u64::from((valid.len() as u64) < n_bytes);
    for (i, byte) in valid.iter_mut().take(n_bytes as usize).enumerate() {
        let from_end = n_bytes as usize - 1 - i;
        *byte = (from[from_end / 8] >> (from_end % 8 * 8)) as u8;
    }
}

/// Adds zero bytes in the window.
///
/// # Safety
/// Called by code: the context of this firing.
unsafe extern "C" fn packet_push(context: *mut Context, offset: u64, n_bytes: u64) {
    // SAFETY: as the caller promises.
    let (context, packet) = unsafe { with_packet(context) };
    if offset > context.avail {
        return context.drop_for(CAUSE_PUSH_OUTSIDE);
    }
    if n_bytes > context.grow_left {
        return context.drop_for(CAUSE_NO_ROOM);
    }
    packet.insert(offset as usize, n_bytes as usize);
    context.grow_left -= n_bytes;
    context.avail += n_bytes;
    context.see_packet(packet);
}

/// Removes bytes of the window.
///
/// # Safety
/// Called by code: the context of this firing.
unsafe extern "C" fn packet_pop(context: *mut Context, offset: u64, n_bytes: u64) {
    // SAFETY: as the caller promises.
    let (context, packet) = unsafe { with_packet(context) };
    // Both are below 2^32.
    if offset + n_bytes > context.avail {
        return context.drop_for(CAUSE_POP_OUTSIDE);
    }
    packet.remove(offset as usize, n_bytes as usize);
    context.avail -= n_bytes;
    context.see_packet(packet);
}

/// Cuts the packet, on the wire as in the capture.
///
/// # Safety
/// Called by code: the context of this firing.
unsafe extern "C" fn packet_truncate(context: *mut Context, n_bytes: u64) {
    // SAFETY: as the caller promises.
    let (context, packet) = unsafe { with_packet(context) };
    if n_bytes > context.len {
        let missing = u32::try_from(n_bytes - context.len).unwrap_or(u32::MAX);
        packet.missing = packet.missing.min(missing);
        return;
    }
    packet.truncate(n_bytes as usize);
    (packet.missing, packet.excess) = (0, 0);
    context.avail = context.avail.min(n_bytes);
    context.see_packet(packet);
}

/// Adds zero bytes at the end; of a packet that the capture cut, they are past the cut.
///
/// # Safety
/// Called by code: the context of this firing.
unsafe extern "C" fn packet_append(context: *mut Context, n_bytes: u64) {
    // SAFETY: as the caller promises.
    let (context, packet) = unsafe { with_packet(context) };
    if context.len.saturating_add(n_bytes) > context.store {
        return context.drop_for(CAUSE_APPEND);
    }
    if packet.missing > 0 {
        packet.missing = packet.missing.saturating_add(n_bytes as u32);
        return;
    }
    packet.append(n_bytes as usize);
    context.see_packet(packet);
}

/// # Safety
/// Called by code: the context of this firing, whose `outside` is the machine's own.
unsafe fn outside<'a>(context: *mut Context) -> &'a mut Outside {
    // SAFETY: the machine holds it apart from everything that it touches while code runs.
    unsafe { &mut *(*context).outside }
}

/// # Safety
/// Called by code: the context of this firing.
unsafe extern "C" fn wake_at(context: *mut Context, time_ns: u64) {
    // SAFETY: as the caller promises.
    unsafe { outside(context) }.wakes.push(time_ns);
}

/// Reports a text with operands that stand one after the other.
///
/// # Safety
/// Called by code: the context of this firing, the number of a trace, and `n_words` limbs.
unsafe extern "C" fn trace(context: *mut Context, text: u64, words: *const u64, n_words: u64) {
    // SAFETY: as the caller promises.
    let (outside, words) = unsafe { (outside(context), read(words, 64 * n_words)) };
    if let Some(lines) = &mut outside.traces {
        lines.push(outside.trace_texts[text as usize].line(words));
    }
}

/// # Safety
/// Called by code: `n_bytes` bytes of its frame.
unsafe extern "C" fn zero(to: *mut u8, n_bytes: u64) {
    // SAFETY: as the caller promises.
    unsafe { std::ptr::write_bytes(to, 0, n_bytes as usize) }
}

/// # Safety
/// Called by code: two places of `n_limbs` limbs, which are the same or do not overlap.
unsafe extern "C" fn copy(to: *mut u64, from: *const u64, n_limbs: u64) {
    // SAFETY: as the caller promises; `copy` allows for equal places.
    unsafe { std::ptr::copy(from, to, n_limbs as usize) }
}

/// # Safety
/// Called by code: `d`, `a` and `b` are places of `width` bits; `d` overlaps none of the others.
unsafe extern "C" fn binary(code: u64, d: *mut u64, a: *const u64, b: *const u64, width: u64) {
    // SAFETY: as the caller promises.
    let (d, a, b) = unsafe { (write(d, width), read(a, width), read(b, width)) };
    limbs::binary(opcode(code), d, a, b, width as u32);
}

/// # Safety
/// As [`binary`], of `d` and `a`.
unsafe extern "C" fn shift(code: u64, d: *mut u64, a: *const u64, amount: u64, width: u64) {
    // SAFETY: as the caller promises.
    let (d, a) = unsafe { (write(d, width), read(a, width)) };
    limbs::shift(opcode(code), d, a, amount, width as u32);
}

/// # Safety
/// Called by code: places of `width` bits.
unsafe extern "C" fn compare(code: u64, a: *const u64, b: *const u64, width: u64) -> u64 {
    // SAFETY: as the caller promises.
    let (a, b) = unsafe { (read(a, width), read(b, width)) };
    u64::from(limbs::compare(opcode(code), a, b, width as u32))
}

/// # Safety
/// Called by code: `d` has `width` bits and `a` has `a_width`; they do not overlap.
unsafe extern "C" fn extract(d: *mut u64, a: *const u64, lo: u64, width: u64, a_width: u64) {
    // SAFETY: as the caller promises.
    let (d, a) = unsafe { (write(d, width), read(a, a_width)) };
    limbs::extract(d, a, lo as u32, width as u32);
}

/// # Safety
/// Called by code: `d` has `to` bits and `a` has `from`; they do not overlap.
unsafe extern "C" fn sign_extend(d: *mut u64, a: *const u64, from: u64, to: u64) {
    // SAFETY: as the caller promises.
    let (d, a) = unsafe { (write(d, to), read(a, from)) };
    limbs::sign_extend(d, a, from as u32, to as u32);
}

/// # Safety
/// Called by code: `d` has the bits of both others and overlaps neither.
unsafe extern "C" fn concat(d: *mut u64, hi: *const u64, hi_width: u64, lo: *const u64, lo_width: u64) {
    // SAFETY: as the caller promises.
    let (d, hi, lo) = unsafe { (write(d, hi_width + lo_width), read(hi, hi_width), read(lo, lo_width)) };
    limbs::concat(d, hi, lo, lo_width as u32);
}

/// # Safety
/// Called by code: places of `width` bits that do not overlap.
unsafe extern "C" fn byte_swap(d: *mut u64, a: *const u64, width: u64) {
    // SAFETY: as the caller promises.
    let (d, a) = unsafe { (write(d, width), read(a, width)) };
    limbs::byte_swap(d, a, width as u32);
}
