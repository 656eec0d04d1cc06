//! What code sees of one firing: a block of fixed layout that it takes by pointer.
//!
//! All fields are 8 bytes wide, so that code reads and writes them as limbs.

use ir::chain::{CAUSE_APPEND, CAUSE_NO_PORT, CAUSE_NO_ROOM, CAUSE_POP_OUTSIDE, CAUSE_PUSH_OUTSIDE, FIRST_OWN_CAUSE};
use ir::engine::{DropCause, Packet};
use ir::{Value, Width};

/// Inputs that an element can have.
pub(crate) const PORTS_MAX: usize = 32;

/// One firing. Code finds fields by `offset_of!`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Context {
    /// The packet's bytes, of which the first `avail` may be read and written.
    pub(crate) bytes: *mut u8,
    /// The packet itself.
    pub(crate) packet: *mut Packet,
    /// The packet's metadata: as many words as the design's fields need.
    pub(crate) meta: *mut u64,
    /// Parameters of the body on entry, its results on return, each in limbs.
    pub(crate) io: *mut u64,
    /// Local arrays, and values too wide for registers.
    pub(crate) frame: *mut u64,
    /// Messages written, one every `Machine::output_words` words.
    pub(crate) outputs: *mut u64,
    /// What callees collect.
    pub(crate) outside: *mut Outside,
    /// The oldest message of each input; valid where `ready` has the bit. The last one is zeros.
    pub(crate) fronts: [*const u64; PORTS_MAX + 1],
    pub(crate) now_ns: u64,
    pub(crate) rounds_max: u64,
    /// Index that was out of range, when code returns with that trap.
    pub(crate) trap_index: u64,
    /// Port of [`CAUSE_NO_PORT`].
    pub(crate) no_port: u64,
    pub(crate) avail: u64,
    /// Bytes of the whole packet.
    pub(crate) len: u64,
    pub(crate) grow_left: u64,
    /// Limit of the whole packet; 0 without `store`.
    pub(crate) store: u64,
    pub(crate) short: u64,
    /// Not 0 if a write changed the state.
    pub(crate) changed: u64,
    pub(crate) ready: u64,
    pub(crate) consumed: u64,
    pub(crate) written: u64,
    pub(crate) last_mask: u64,
    pub(crate) last_failed: u64,
    pub(crate) last_written: u64,
    pub(crate) in_port: u64,
    pub(crate) emitted: u64,
    /// Number of the first cause to drop the packet, as in `ir::chain`, own ones by position in [`Outside::reasons`]; 0: none.
    pub(crate) dropped: u64,
}

/// What callees collect, and the texts that code names by number.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    pub(crate) wakes: Vec<u64>,
    /// Absent if nobody listens.
    pub(crate) traces: Option<Vec<String>>,
    pub(crate) trace_texts: Vec<TraceText>,
    /// The element's own reasons to drop.
    pub(crate) reasons: Vec<String>,
}

/// Text and operands' widths of a `trace`.
#[derive(Clone, Debug)]
pub(crate) struct TraceText {
    pub(crate) text: String,
    pub(crate) widths: Vec<Width>,
}

impl Context {
    /// A context without packet, whose pointers are set when a body is called.
    pub(crate) fn new(rounds_max: u64) -> Context {
        Context {
            bytes: std::ptr::null_mut(),
            packet: std::ptr::null_mut(),
            meta: std::ptr::null_mut(),
            io: std::ptr::null_mut(),
            frame: std::ptr::null_mut(),
            outputs: std::ptr::null_mut(),
            outside: std::ptr::null_mut(),
            fronts: [std::ptr::null(); PORTS_MAX + 1],
            now_ns: 0,
            rounds_max,
            trap_index: 0,
            no_port: 0,
            avail: 0,
            len: 0,
            grow_left: 0,
            store: 0,
            short: 0,
            changed: 0,
            ready: 0,
            consumed: 0,
            written: 0,
            last_mask: u64::from(u32::MAX),
            last_failed: 0,
            last_written: 0,
            in_port: 0,
            emitted: 0,
            dropped: 0,
        }
    }

    /// Points at a packet, whose bytes may have moved.
    pub(crate) fn see_packet(&mut self, packet: &mut Packet) {
        self.len = packet.len() as u64;
        self.bytes = packet.bytes_mut().as_mut_ptr();
        self.packet = packet;
    }

    /// Shows a packet to a firing that begins.
    pub(crate) fn begin_packet(&mut self, packet: &mut Packet, avail: usize, in_port: u32) {
        self.see_packet(packet);
        self.meta = packet.meta.as_mut_ptr();
        (self.avail, self.in_port) = (avail as u64, u64::from(in_port));
        (self.short, self.changed, self.written, self.emitted, self.dropped) = (0, 0, 0, 0, 0);
    }

    pub(crate) fn drop_for(&mut self, cause: u32) {
        if self.dropped == 0 {
            self.dropped = u64::from(cause);
        }
    }

    /// Why the packet was dropped, if it was.
    pub(crate) fn cause(&self, outside: &Outside) -> Option<DropCause> {
        Some(match self.dropped as u32 {
            0 => return None,
            CAUSE_NO_PORT => DropCause::NoSuchPort(self.no_port),
            CAUSE_NO_ROOM => DropCause::NoRoomToGrow,
            CAUSE_PUSH_OUTSIDE => DropCause::PushOutside,
            CAUSE_POP_OUTSIDE => DropCause::PopOutside,
            CAUSE_APPEND => DropCause::AppendPastStore,
            own => DropCause::Element(outside.reasons[(own - FIRST_OWN_CAUSE) as usize].clone()),
        })
    }
}

impl TraceText {
    /// The line, with the operands' limbs one after the other.
    pub(crate) fn line(&self, words: &[u64]) -> String {
        let mut words = words;
        let mut values = self.widths.iter().map(|width| {
            let (limbs, rest) = words.split_at(width.limbs());
            words = rest;
            Value::from_limbs(limbs)
        });
        let mut line = String::with_capacity(self.text.len() + 16);
        let mut rest = self.text.as_str();
        while let Some(open) = rest.find('{') {
            line.push_str(&rest[..open]);
            rest = &rest[open..];
            let hole = ["{}", "{:x}"].into_iter().find(|hole| rest.starts_with(hole));
            match hole.and_then(|hole| values.next().map(|value| (hole, value))) {
                Some(("{}", value)) => line.push_str(&value.to_string()),
                Some((_, value)) => line.push_str(&hexadecimal(&value)),
                None => line.push('{'),
            }
            rest = &rest[hole.map_or(1, str::len)..];
        }
        line.push_str(rest);
        line
    }
}

fn hexadecimal(value: &Value) -> String {
    let (top, lower) = value.limbs().split_last().expect("a value has a limb");
    let lower: String = lower.iter().rev().map(|limb| format!("{limb:016x}")).collect();
    format!("{top:x}{lower}")
}
