//! What the machine can do and stable Rust cannot say safely: ask for a cache line before it is needed, compare many words at once, and
//! hold a large table in large pages.
//!
//! The one place of this program with unsafe code.
#![allow(unsafe_code)]

/// Begins to load the cache lines that hold `table[index]`; does nothing past the end.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for line in 0..size_of::<T>().div_ceil(LINE_BYTES) {
            let address = std::ptr::from_ref(entry).cast::<i8>().wrapping_add(line * LINE_BYTES);
            // SAFETY: a prefetch has no effect on memory and never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// A table of zeros in large pages, if the system gives them: random reads of many megabytes wait for addresses to be translated, otherwise.
pub fn large_table(n_entries: usize) -> Vec<u16> {
    let table = vec![0; n_entries];
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const PAGE_BYTES: usize = 4096;
        let start = table.as_ptr().cast_mut().cast::<u8>();
        let skipped = start.align_offset(PAGE_BYTES).min(n_entries * 2);
        let n_bytes = (n_entries * 2 - skipped) / PAGE_BYTES * PAGE_BYTES;
        // SAFETY: the range lies in the table that is alive here, and this advice changes no contents. That it may be refused does no harm.
        let _ = unsafe { madvise(start.wrapping_add(skipped).cast(), n_bytes, Advice::LinuxHugepage) };
    }
    table
}

/// One bit for each of the first 32 words, set if the word is not 0.
#[inline(always)]
pub fn nonzero_words<const WORDS: usize>(words: &[u64; WORDS]) -> u32 {
    let mut set = 0;
    let (eights, rest) = words.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate().take(4) {
        set |= u32::from(nonzero_of_eight(eight)) << (8 * at);
    }
    for (at, &word) in rest.iter().enumerate() {
        set |= u32::from(word != 0).unbounded_shl((8 * eights.len() + at) as u32);
    }
    set
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
#[inline(always)]
fn nonzero_of_eight(words: &[u64; 8]) -> u8 {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_test_epi64_mask};
    // SAFETY: this is compiled only for processors with AVX-512F; the load may be unaligned and reads the 64 bytes of the array.
    unsafe {
        let words = _mm512_loadu_si512(words.as_ptr().cast());
        _mm512_test_epi64_mask(words, words)
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512f")))]
#[inline(always)]
fn nonzero_of_eight(words: &[u64; 8]) -> u8 {
    portable(words)
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "avx512f"))))]
fn portable(words: &[u64; 8]) -> u8 {
    words.iter().enumerate().map(|(at, &word)| u8::from(word != 0) << at).sum()
}

#[cfg(test)]
mod tests {
    use super::{nonzero_of_eight, nonzero_words, portable};

    #[test]
    fn every_pattern_of_eight_words_is_seen() {
        for pattern in 0..=u8::MAX {
            let words: [u64; 8] = std::array::from_fn(|at| u64::from(pattern >> at & 1) << (at * 9 % 64));
            assert_eq!((nonzero_of_eight(&words), portable(&words)), (pattern, pattern));
        }
    }

    #[test]
    fn words_past_the_last_eight_count() {
        assert_eq!(nonzero_words(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 1 << 63]), 1 << 1 | 1 << 9);
        assert_eq!(nonzero_words(&[0]), 0);
    }
}
