//! Kernels in Rust that run instead of an element's `.body`: the code behind the names of `ir::TWINS`.
//!
//! The verifier has checked that the element has the variables that its twin names, so that a twin finds them by position.

use crypto::aes::{self, RoundKeys};
use ir::{Element, TWINS, Twin, VarId};

use crate::memory::State;

/// Runs on the bytes behind the window in place; `vars` are the variables that the [`Twin`] names, in its order.
type Kernel = fn(state: &State, vars: &[VarId], bytes: &mut [u8]);

/// The twin of one element.
#[derive(Debug)]
pub(crate) struct NativeTwin {
    kernel: Kernel,
    vars: Vec<VarId>,
}

impl NativeTwin {
    /// The twin of an element of a verified design, if it names one.
    pub(crate) fn of(element: &Element) -> Option<NativeTwin> {
        let twin = Twin::named(element.native.as_ref()?).expect("the verifier checked the name");
        let position = |name| element.vars.iter().position(|var| var.name == name);
        let var = |name| VarId(position(name).expect("the verifier checked the state") as u32);
        Some(NativeTwin { kernel: kernel(twin), vars: twin.state.iter().map(|wanted| var(wanted.name)).collect() })
    }

    /// Does what `.body` does to the bytes behind the window and to the state. Gives whether it may have changed the state.
    pub(crate) fn run(&self, state: &State, bytes: &mut [u8]) -> bool {
        if bytes.is_empty() {
            return false;
        }
        (self.kernel)(state, &self.vars, bytes);
        true
    }
}

fn kernel(twin: &'static Twin) -> Kernel {
    let (_, kernel) =
        KERNELS.iter().find(|(name, _)| *name == twin.name).expect("a test compares the table with `ir::TWINS`");
    *kernel
}

/// As many as there are in [`TWINS`].
const KERNELS: [(&str, Kernel); TWINS.len()] = [("crypto::aes_ctr", aes_ctr)];

/// AES in counter mode; `vars` are the round keys and the counter.
fn aes_ctr(state: &State, vars: &[VarId], bytes: &mut [u8]) {
    let [round_keys, counter] = *vars else { unreachable!("`ir::TWINS` names two variables") };
    let (round_keys, _) = state.memory_bytes(round_keys).as_chunks::<{ aes::BLOCK_BYTES }>();
    let keys = RoundKeys::new(round_keys).expect("`ir::TWINS` names the numbers of words");
    let [low, high] = [0, 1].map(|limb| u128::from(state.register_limb(counter, limb)));
    let next = aes::counter_mode(aes::fastest_kernel(), keys, low | high << 64, bytes);
    state.set_register(counter, &[next as u64, (next >> 64) as u64]);
}

#[cfg(test)]
mod tests {
    use ir::TWINS;

    use super::KERNELS;

    #[test]
    fn every_twin_has_a_kernel() {
        assert_eq!(KERNELS.map(|(name, _)| name).as_slice(), TWINS.iter().map(|twin| twin.name).collect::<Vec<_>>());
    }
}
