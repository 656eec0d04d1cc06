//! The reference page of ops, written from the table.

use crate::{AttrKind, Effect, Opcode, Shape};

/// Markdown: one row an op, grouped by effect. `cargo xtask codegen` writes it to `docs/reference/ops.md`.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Ops of the intermediate representation\n\n\
         Written from the table in `crates/ir/src/op.rs`; do not edit. Values are integers of an exact width `w` in bits. \
         Ops with an effect run in the order in which they stand in their region.\n",
    );
    let mut effects: Vec<Effect> = Vec::new();
    for op in Opcode::ALL {
        if !effects.contains(&op.effect()) {
            effects.push(op.effect());
        }
    }
    for effect in effects {
        page += &format!("\n## {}\n\n", title(effect));
        page += "| op | attribute | operands and results | meaning |\n|---|---|---|---|\n";
        for op in Opcode::ALL.iter().filter(|op| op.effect() == effect) {
            let (name, attr) = (op.name(), attribute(op.attr_kind()));
            page += &format!("| `{name}` | {attr} | {} | {} |\n", shape(op.shape()), op.meaning());
        }
    }
    page
}

fn title(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "Pure: the result depends on the operands only",
        Effect::Region => "With regions",
        Effect::ReadState => "Reading state and local arrays",
        Effect::WriteState => "Writing state and local arrays",
        Effect::ReadPort => "Reading ports without consuming",
        Effect::WritePort => "Consuming and writing at ports",
        Effect::ReadPacket => "Reading the packet, its metadata or the time",
        Effect::WritePacket => "Changing the packet, its metadata or its fate",
        Effect::Outside => "Seen from outside only",
    }
}

fn attribute(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::None => "",
        AttrKind::Const => "value",
        AttrKind::Bit => "lowest bit",
        AttrKind::Var => "state variable",
        AttrKind::Local => "local array",
        AttrKind::Message => "message type",
        AttrKind::Meta => "metadata field",
        AttrKind::Text => "text",
    }
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Constant => "`() -> w`",
        Shape::Unary => "`(w) -> w`",
        Shape::Binary => "`(w, w) -> w`",
        Shape::Shift => "`(w, any) -> w`",
        Shape::Compare => "`(w, w) -> 1`",
        Shape::Select => "`(1, w, w) -> w`",
        Shape::Extend => "`(a) -> b`, b > a",
        Shape::Truncate => "`(a) -> b`, b < a",
        Shape::Concat => "`(a, b) -> a + b`",
        Shape::Extract => "`(a) -> b`, bit + b ≤ a",
        Shape::ByteSwap => "`(w) -> w`, whole bytes",
        Shape::If => "`(1) -> …`, two regions",
        Shape::Loop => "`(carried…) -> carried…`, one region",
        Shape::RegisterRead => "`() -> w` of the register",
        Shape::RegisterWrite => "`(w) -> ()` of the register",
        Shape::MemoryRead => "`(index: any) -> w` of the words",
        Shape::MemoryWrite => "`(index: any, w) -> ()` of the words",
        Shape::Nothing => "`() -> ()`",
        Shape::Get32 => "`() -> 32`",
        Shape::Get64 => "`() -> 64`",
        Shape::Get1 => "`() -> 1`",
        Shape::Take32 => "`(32) -> ()`",
        Shape::Take64 => "`(64) -> ()`",
        Shape::Take32x3 => "`(a: 32, b: 32, c: 32) -> ()`",
        Shape::Take32x2 => "`(o: 32, n: 32) -> ()`",
        Shape::MaskTest => "`(mask: 32) -> 1`",
        Shape::PortRead => "`(32) -> fields…`",
        Shape::PortWrite => "`(i: 32, fields…) -> ()`",
        Shape::PacketLoad => "`(offset: 32) -> 8 * n`",
        Shape::PacketStore => "`(offset: 32, 8 * n) -> ()`",
        Shape::MetaRead => "`() -> w` of the field",
        Shape::MetaWrite => "`(w) -> ()` of the field",
        Shape::Assert => "`(1) -> ()`",
        Shape::Trace => "`(any…) -> ()`",
    }
}
