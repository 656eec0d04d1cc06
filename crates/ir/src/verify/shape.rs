//! Operand and result widths of ops, as the table's [`Shape`] says.

use crate::{Attr, Design, Element, MessageKind, Opcode, Shape, Width};

const W1: Width = Width::BOOL;
const W32: Width = Width::of(32);
const W64: Width = Width::of(64);

/// Checks a pure op; attribute included.
pub(crate) fn check_pure(code: Opcode, attr: &Attr, operands: &[Width], result: Width) -> Result<(), String> {
    if attr.kind() != code.attr_kind() {
        return Err(format!("its attribute is a {:?}", code.attr_kind()));
    }
    let bits: Vec<u32> = operands.iter().map(|width| width.bits()).collect();
    let (holds, wanted) = match (code.shape(), &bits[..]) {
        (Shape::Constant, []) => {
            (matches!(attr, Attr::Const(value) if value.fits(result)), "a value that fits the result")
        }
        (Shape::Unary, &[a]) => (a == result.bits(), "operand and result of one width"),
        (Shape::Binary, &[a, b]) => (a == b && a == result.bits(), "operands and result of one width"),
        (Shape::Shift, &[a, _]) => (a == result.bits(), "first operand and result of one width"),
        (Shape::Compare, &[a, b]) => (a == b && result == W1, "operands of one width and an i1"),
        (Shape::Select, &[c, a, b]) => {
            (c == 1 && a == b && a == result.bits(), "an i1, operands and result of one width")
        }
        (Shape::Extend, &[a]) => (a < result.bits(), "a result wider than the operand"),
        (Shape::Truncate, &[a]) => (a > result.bits(), "a result narrower than the operand"),
        (Shape::Concat, &[a, b]) => (a + b == result.bits(), "a result as wide as both operands together"),
        (Shape::Extract, &[a]) => {
            let inside = |bit: u32| u64::from(bit) + u64::from(result.bits()) <= u64::from(a);
            (matches!(attr, Attr::Bit(bit) if inside(*bit)), "bits that lie inside the operand")
        }
        (Shape::ByteSwap, &[a]) => (a % 8 == 0 && a == result.bits(), "operand and result of the same whole bytes"),
        _ => (false, "the number of operands that its shape has"),
    };
    if holds { Ok(()) } else { Err(format!("wants {wanted}, has {}", show(operands, &[result]))) }
}

/// Checks an op that is neither pure nor holds regions; its attribute is of the right kind.
pub(super) fn check_effect(
    design: &Design,
    element: &Element,
    locals: &[crate::Local],
    code: Opcode,
    attr: &Attr,
    operands: &[Width],
    results: &[Width],
) -> Result<(), String> {
    let word = word_width(design, element, locals, code, attr)?;
    let fields = message_widths(design, attr)?;
    let whole_bytes = |width: Width| width.bits().is_multiple_of(8);
    let holds = match (code.shape(), operands, results) {
        (Shape::Nothing, [], []) | (Shape::Trace, _, []) => true,
        (Shape::Get32, [], &[r]) => r == W32,
        (Shape::Get64, [], &[r]) => r == W64,
        (Shape::Get1, [], &[r]) => r == W1,
        (Shape::Take32, &[a], []) => a == W32,
        (Shape::Take64, &[a], []) => a == W64,
        (Shape::Take32x2, &[a, b], []) => a == W32 && b == W32,
        (Shape::Take32x3, operands, []) => operands == [W32; 3],
        (Shape::MaskTest, &[a], &[r]) => a == W32 && r == W1,
        (Shape::Assert, &[a], []) => a == W1,
        (Shape::RegisterRead | Shape::MetaRead, [], &[r]) => Some(r) == word,
        (Shape::RegisterWrite | Shape::MetaWrite, &[a], []) => Some(a) == word,
        (Shape::MemoryRead, [_], &[r]) => Some(r) == word,
        (Shape::MemoryWrite, &[_, a], []) => Some(a) == word,
        (Shape::PortRead, &[a], results) => a == W32 && results == fields,
        (Shape::PortWrite, [a, operands @ ..], []) => *a == W32 && operands == fields,
        (Shape::PacketLoad, &[a], &[r]) => a == W32 && whole_bytes(r),
        (Shape::PacketStore, &[a, b], []) => a == W32 && whole_bytes(b),
        _ => false,
    };
    if holds { Ok(()) } else { Err(format!("wrong shape, has {}", show(operands, results))) }
}

/// Width of the variable, local or metadata field that the attribute names, which must be there and of the op's kind.
fn word_width(
    design: &Design,
    element: &Element,
    locals: &[crate::Local],
    code: Opcode,
    attr: &Attr,
) -> Result<Option<Width>, String> {
    match attr {
        Attr::Var(var) => {
            let found =
                element.vars.get(var.index()).ok_or_else(|| format!("state variable {} is not there", var.0))?;
            let wants_memory = matches!(code.shape(), Shape::MemoryRead | Shape::MemoryWrite);
            if found.depth.is_some() != wants_memory {
                let kind = if wants_memory { "a register" } else { "a memory" };
                return Err(format!("{} is {kind}", found.name));
            }
            Ok(Some(found.width))
        }
        Attr::Local(local) => {
            let found = locals.get(*local as usize).ok_or_else(|| format!("local {local} is not there"))?;
            Ok(Some(found.width))
        }
        Attr::Meta(field) => {
            let found =
                design.meta.get(*field as usize).ok_or_else(|| format!("metadata field {field} is not there"))?;
            Ok(Some(found.width))
        }
        Attr::None | Attr::Const(_) | Attr::Bit(_) | Attr::Message(_) | Attr::Text(_) => Ok(None),
    }
}

fn message_widths(design: &Design, attr: &Attr) -> Result<Vec<Width>, String> {
    let Attr::Message(id) = attr else { return Ok(Vec::new()) };
    let message = design.message_types.get(id.index()).ok_or_else(|| format!("message type {} is not there", id.0))?;
    if message.kind == MessageKind::Packet {
        return Err("whole packets are not read or written field by field".to_string());
    }
    Ok(message.fields.iter().map(|field| field.width).collect())
}

fn show(operands: &[Width], results: &[Width]) -> String {
    let list =
        |widths: &[Width]| widths.iter().map(|width| format!("i{}", width.bits())).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(operands), list(results))
}
