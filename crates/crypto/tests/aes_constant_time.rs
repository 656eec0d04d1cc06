//! Keys and data of AES show neither in branches nor in addresses: memcheck judges the kernels that it can run, and catches a table.
//!
//! It knows no AVX-512, so that the widest kernel is not judged; that has the same rounds as `aesni`, in wider registers.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod memcheck;

use std::hint::black_box;

use crypto::aes::aesni::AesNi;
use crypto::aes::portable::Portable;
use crypto::aes::{Kernel, Key, counter_mode};
use memcheck::{mark_secret, memcheck_passes};

#[test]
fn no_branch_and_no_address_depends_on_keys_and_data() {
    let Some(passes) = memcheck_passes("memcheck_probe_of_kernels") else {
        println!("no `valgrind` program on this machine: not judged");
        return;
    };
    assert!(passes, "memcheck finds a dependence on secrets");
    assert_eq!(memcheck_passes("memcheck_probe_of_a_table"), Some(false), "memcheck must find the leak");
}

#[test]
fn memcheck_probe_of_kernels() {
    let mut kernels: Vec<&dyn Kernel> = vec![&Portable];
    kernels.extend(AesNi::detect().map(|kernel| kernel as &dyn Kernel));
    for key_bytes in [16, 24, 32] {
        let (secret, mut data) = (vec![7u8; key_bytes], vec![9u8; 301]);
        mark_secret(&secret);
        mark_secret(&data);
        let key = Key::new(&secret).expect("a length of AES");
        for kernel in &kernels {
            black_box(counter_mode(*kernel, key.round_keys(), 1, &mut data));
            let (blocks, _) = data.as_chunks_mut();
            kernel.encrypt_blocks(key.round_keys(), blocks);
            black_box(&data);
        }
    }
}

#[test]
fn memcheck_probe_of_a_table() {
    let table: Vec<u8> = (0..=255).rev().collect();
    let secret = vec![7u8; 16];
    mark_secret(&secret);
    let looked_up: Vec<u8> = secret.iter().map(|&byte| table[usize::from(black_box(byte))]).collect();
    black_box(looked_up);
}
