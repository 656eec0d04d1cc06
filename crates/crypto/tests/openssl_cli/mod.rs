//! Runs the `openssl` program.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `openssl`, `None` if there is no such program.
pub fn openssl(arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    child.stdin.take().expect("piped").write_all(input).expect("openssl reads its input");
    let output = child.wait_with_output().expect("openssl ends");
    assert!(output.status.success(), "openssl {arguments:?}");
    Some(output.stdout)
}
