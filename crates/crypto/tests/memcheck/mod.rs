//! Valgrind's memcheck as a judge: which memory is secret, and whether a test passes.
//!
//! Memcheck reports every branch and every address that depends on memory marked undefined (Langley's "ctgrind").
//! Outside Valgrind the requests do nothing.
#![allow(unsafe_code)]

use std::process::Command;

/// `VG_USERREQ__MAKE_MEM_UNDEFINED` of `valgrind/memcheck.h`.
const MAKE_MEM_UNDEFINED: u64 = ((b'M' as u64) << 24 | (b'C' as u64) << 16) + 1;

/// Makes memcheck report what depends on `secret`.
pub fn mark_secret<T>(secret: &[T]) {
    let request = [MAKE_MEM_UNDEFINED, secret.as_ptr() as u64, size_of_val(secret) as u64, 0, 0, 0];
    let mut result = 0u64;
    // SAFETY: the preamble of `valgrind.h` for amd64: rotations of rdi by 128 bits in all, and an exchange of rbx
    // with itself, leave the machine as it was; Valgrind alone reads `request`, and changes no program memory.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") request.as_ptr(), inout("rdx") result, options(nostack),
        );
    }
    std::hint::black_box(result);
}

/// Whether memcheck passes a test of this program, which marks secrets; `None` if there is no `valgrind` program. Run without it, it is a
/// test like any.
pub fn memcheck_passes(probe: &str) -> Option<bool> {
    let program = std::env::current_exe().expect("this test");
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=99"]).arg(program);
    command.args(["--exact", probe, "--test-threads=1"]);
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(true),
        Some(99) => {
            assert!(text.contains("uninitialised"), "{text}");
            Some(false)
        }
        code => panic!("{probe}: {code:?}\n{text}{}", String::from_utf8_lossy(&output.stdout)),
    }
}
