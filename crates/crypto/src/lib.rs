//! Constant-time big-number arithmetic, RSA and AES.
//!
//! `montgomery` raises numbers to secret powers, one at a time on any machine or eight at a time with
//! AVX-512 IFMA; `rsa` builds the private and public operation on it. `aes` is the block cipher
//! and its counter mode. Nothing here reads a clock, a file or the environment; random bytes come from the caller's
//! [`random::Random`].

pub mod aes;
pub mod limbs;
pub mod montgomery;
pub mod random;
pub mod rsa;
