//! The names that a graph knows without declaring them.

use ir::BoundaryDirection;

/// A name that stands for a way in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `nic_in` and its like: packets enter or leave the application.
    Boundary(&'static str, BoundaryDirection),
    /// `Drop`: takes everything, counts and discards it.
    Drop,
    /// `Idle`: never sends.
    Idle,
    /// `begin`: the inputs of a group, seen from inside.
    Begin,
    /// `end`: the outputs of a group, seen from inside.
    End,
}

/// Every built-in graph name.
pub const NAMES: [&str; 10] =
    ["nic_in", "nic_out", "tor_in", "tor_out", "host_in", "host_out", "Drop", "Idle", "begin", "end"];

/// What a built-in graph name means.
pub fn by_name(name: &str) -> Option<Builtin> {
    let name = *NAMES.iter().find(|known| **known == name)?;
    Some(match name {
        "nic_in" | "tor_in" | "host_in" => Builtin::Boundary(name, BoundaryDirection::In),
        "nic_out" | "tor_out" | "host_out" => Builtin::Boundary(name, BoundaryDirection::Out),
        "Drop" => Builtin::Drop,
        "Idle" => Builtin::Idle,
        "begin" => Builtin::Begin,
        "end" => Builtin::End,
        _ => return None,
    })
}

/// The boundary port that another naming means: `from_nic` is `nic_in`, `to_nic` is `nic_out`.
pub fn named_by_direction(name: &str) -> Option<String> {
    let (side, end) = match name.strip_prefix("from_") {
        Some(side) => (side, "in"),
        None => (name.strip_prefix("to_")?, "out"),
    };
    let meant = format!("{side}_{end}");
    NAMES.contains(&meant.as_str()).then_some(meant)
}
