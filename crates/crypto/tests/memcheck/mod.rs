//! Valgrind's client requests: telling memcheck which memory is secret.
//!
//! Memcheck reports every branch and every address that depends on memory marked undefined (Langley's "ctgrind").
//! Outside Valgrind the requests do nothing.
#![allow(unsafe_code)]

/// `VG_USERREQ__MAKE_MEM_UNDEFINED` of `valgrind/memcheck.h`.
const MAKE_MEM_UNDEFINED: u64 = ((b'M' as u64) << 24 | (b'C' as u64) << 16) + 1;

/// Makes memcheck report what depends on `secret`.
pub fn mark_secret(secret: &[u64]) {
    let request = [MAKE_MEM_UNDEFINED, secret.as_ptr() as u64, 8 * secret.len() as u64, 0, 0, 0];
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
