//! Names inside of a chain: its variables and reasons by number.

use std::collections::BTreeMap;

use ir::chain::FIRST_OWN_CAUSE;
use ir::{ChainVar, VarId};

#[derive(Default)]
pub(super) struct Names {
    pub(super) vars: Vec<ChainVar>,
    pub(super) reasons: Vec<String>,
    numbers: BTreeMap<ChainVar, VarId>,
}

impl Names {
    /// The variable of the chain's body that stands for this.
    pub(super) fn var(&mut self, var: ChainVar) -> VarId {
        let next = VarId(self.vars.len() as u32);
        let id = *self.numbers.entry(var).or_insert(next);
        if id == next {
            self.vars.push(var);
        }
        id
    }

    /// Position of an own reason; its cause has the number [`FIRST_OWN_CAUSE`] plus this.
    pub(super) fn reason(&mut self, reason: &str) -> u32 {
        let known = self.reasons.iter().position(|known| known == reason);
        let position = known.unwrap_or_else(|| {
            self.reasons.push(reason.to_string());
            self.reasons.len() - 1
        });
        debug_assert!(u32::try_from(position).is_ok_and(|position| position < u32::MAX - FIRST_OWN_CAUSE));
        position as u32
    }
}
