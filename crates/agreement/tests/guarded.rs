//! Hostile designs with a forbidden page behind every buffer that native code touches.
//!
//! Packets, state blocks and memories come from an allocator that ends each at a page which may not be touched, and starts it
//! behind one. Bytes before it on its own page hold a pattern. An access outside of a buffer ends the process, or is found when
//! the buffer is freed; the seed is the last one printed.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use agreement::{Case, difference};

const PAGE: usize = 4096;
/// Address space that guarded buffers take turns in.
const ARENA_BYTES: usize = 1 << 36;
const PATTERN: u8 = 0xa5;
const N_SEEDS: u64 = 40;

struct Guarded;

#[global_allocator]
static ALLOCATOR: Guarded = Guarded;
static ARENA: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

/// Whether a buffer may be one that native code touches: aligned blocks of state, bytes of packets, words of messages.
fn is_of_interest(layout: Layout) -> bool {
    match layout.align() {
        1 => layout.size() >= 128,
        8 => layout.size() >= 64,
        align => align >= 64,
    }
}

/// Where a guarded buffer's own pages lie.
fn pages(address: usize, layout: Layout) -> (usize, usize) {
    let first = address / PAGE * PAGE;
    (first, (address + layout.size()).next_multiple_of(PAGE) - first)
}

// SAFETY: guarded buffers lie in pages of their own, which are mapped until they are freed and never handed out twice; all others
// are the system allocator's.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = ARENA.load(Ordering::Relaxed);
        if start == 0 || !IS_ON.get() || !is_of_interest(layout) || layout.align() > PAGE {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        let n_bytes = layout.size().next_multiple_of(PAGE);
        let at = NEXT.fetch_add(n_bytes + PAGE, Ordering::Relaxed);
        if at + n_bytes + PAGE > ARENA_BYTES {
            return null_mut();
        }
        let first = start + PAGE + at;
        // SAFETY: these pages belong to the arena and to nobody else.
        let outcome = unsafe { libc::mprotect(first as *mut _, n_bytes, libc::PROT_READ | libc::PROT_WRITE) };
        if outcome != 0 {
            return null_mut();
        }
        let address = (first + n_bytes - layout.size()) / layout.align() * layout.align();
        // SAFETY: the pages were just made writable; the pattern fills what lies before the buffer and behind it.
        unsafe {
            (first as *mut u8).write_bytes(PATTERN, address - first);
            let end = address + layout.size();
            (end as *mut u8).write_bytes(PATTERN, first + n_bytes - end);
        }
        address as *mut u8
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let (start, address) = (ARENA.load(Ordering::Relaxed), pointer as usize);
        if start == 0 || !(start..start + ARENA_BYTES).contains(&address) {
            // SAFETY: the caller's promise; it is not one of ours.
            return unsafe { System.dealloc(pointer, layout) };
        }
        let (first, n_bytes) = pages(address, layout);
        let is_untouched = |from: usize, to: usize| {
            // SAFETY: the bytes are on the buffer's own pages, written when it was made.
            (from..to).all(|byte| unsafe { *(byte as *const u8) } == PATTERN)
        };
        if !is_untouched(first, address) || !is_untouched(address + layout.size(), first + n_bytes) {
            let _ = std::io::stderr().write_all(b"a buffer's surroundings were written to\n");
            std::process::abort();
        }
        // SAFETY: the pages are the buffer's, which nobody uses any more; they are forbidden from here on.
        unsafe {
            libc::madvise(first as *mut _, n_bytes, libc::MADV_DONTNEED);
            libc::mprotect(first as *mut _, n_bytes, libc::PROT_NONE);
        }
    }
}

fn reserve() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping at no particular place.
    let arena = unsafe { libc::mmap(null_mut(), ARENA_BYTES, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(arena, libc::MAP_FAILED, "address space for the guarded buffers");
    ARENA.store(arena as usize, Ordering::Relaxed);
}

#[test]
fn native_code_keeps_to_its_buffers() {
    reserve();
    let n_seeds = std::env::var("GUARDED_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(N_SEEDS);
    for seed in 1_000_000..1_000_000 + n_seeds {
        eprintln!("seed {seed}");
        let case = Case::random(seed);
        IS_ON.set(true);
        let found = difference(&case);
        IS_ON.set(false);
        assert_eq!(found, None, "seed {seed}");
    }
    assert!(NEXT.load(Ordering::Relaxed) > 0, "buffers were guarded");
}

/// The guard itself: a byte written behind a buffer ends the process that does it.
#[test]
fn a_byte_behind_a_buffer_is_noticed() {
    const CHILD: &str = "FLITWORK_GUARD_CHILD";
    if std::env::var_os(CHILD).is_some() {
        reserve();
        IS_ON.set(true);
        let mut bytes = vec![1_u8; 200];
        // SAFETY: none; the access is the fault that the guard must notice, and it never reaches memory of anybody.
        unsafe { bytes.as_mut_ptr().add(200).write_volatile(1) };
        return;
    }
    let own = std::env::current_exe().expect("this test has a file");
    let mut child = std::process::Command::new(own);
    child.args(["--exact", "a_byte_behind_a_buffer_is_noticed"]).env(CHILD, "1");
    let status = child.output().expect("it starts").status;
    assert!(std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGSEGV), "{status}");
}
