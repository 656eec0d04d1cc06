//! Random designs that verify, for tests of passes and engines (feature `generate`).
//!
//! Same seed, same design. Bodies hold every op that their kind allows, nested `if`s, and loops that end; constants are not
//! folded, so that passes have work. Elements are wired to boundary ports one by one, what is left over to `Drop` and `Idle`.

mod body;
mod flit_body;
mod graph;
mod packet_body;
mod single;

use crate::{Design, Field, MessageKind, MessageType, MessageTypeId, MetaField, Value, Width};

pub use graph::{Hostility, graph};

/// A random design; `size` is about the number of ops of each body.
pub fn design(seed: u64, size: u32) -> Design {
    let mut random = Random(seed);
    let field = |name: &str, bits, signed| Field { name: name.to_string(), width: Width::of(bits), signed };
    let meta = vec![
        MetaField { name: "flow".to_string(), width: Width::of(32), signed: false },
        MetaField { name: "score[0]".to_string(), width: Width::of(9), signed: true },
    ];
    let mut design = Design { files: vec!["random.clnp".to_string()], ..Design::new("random", meta) };
    let fields = vec![field("key.src", 32, false), field("hit", 1, false), field("delta", 16, true)];
    design.message_types.push(MessageType { name: "Verdict".to_string(), kind: MessageKind::Struct, fields });
    for i in 0..1 + random.below(3) {
        single::add_element(&mut design, i as u32, size, &mut random);
    }
    design
}

/// The message type of structs in generated designs.
pub const VERDICT: MessageTypeId = MessageTypeId(2);

/// A small generator of numbers (SplitMix64, as in Java's `SplittableRandom`).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the items, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// A value of that width: small, all ones, or any.
    pub fn value(&mut self, width: Width) -> Value {
        match self.below(4) {
            0 => Value::from(self.below(4)).wrapped(width),
            1 => Value::ones(width),
            _ => {
                let limbs: Vec<u64> = (0..width.limbs()).map(|_| self.bits()).collect();
                Value::from_limbs(&limbs).wrapped(width)
            }
        }
    }
}
