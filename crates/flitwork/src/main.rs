//! The `flitwork` command.
fn main() {}
