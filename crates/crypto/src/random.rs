//! Where random bytes come from: a trait, so that tests can replay them, and the operating system.

/// No random bytes could be had; the operation that needed them was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomError;

/// A source of bytes that an attacker can neither know nor choose.
pub trait Random {
    /// Fills all of `bytes`.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), RandomError>;
}

/// The operating system's generator (`getrandom(2)` and its kin).
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), RandomError> {
        getrandom::fill(bytes).map_err(|_| RandomError)
    }
}

impl<F: FnMut(&mut [u8]) -> Result<(), RandomError>> Random for F {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self(bytes)
    }
}
