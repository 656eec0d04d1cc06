//! The order of passes.
//!
//! `fold` makes conditions known, `reads` and `cse` make values equal, which gives `fold` more to do; `dce` clears away. The
//! rounds end when a round changes nothing, at most [`ROUNDS_MAX`]. Debug builds verify the design after every pass.
//! Expects: a verified design. Ensures: a verified design that does the same, element by element.

use ir::{Body, Design, Element, Opcode, verify};

use crate::dce::Loads;
use crate::{cse, dce, fold, reads};

/// A third round finds next to nothing in lowered code; a fourth is there for what inlined loops uncover.
pub const ROUNDS_MAX: usize = 4;

type Pass = (&'static str, fn(&Body, Loads) -> Body);

const PASSES: [Pass; 4] = [
    ("fold", |body, _| fold::run(body)),
    ("reads", |body, _| reads::run(body)),
    ("cse", |body, _| cse::run(body)),
    ("dce", dce::run),
];

/// Simplifies every body of a design.
pub fn run(design: Design) -> Design {
    let mut design = design;
    check(&design, "lowering");
    for i in 0..design.elements.len() {
        simplify(&mut design, i);
    }
    design
}

/// Rounds over one element; a body that a round left as it was is done.
fn simplify(design: &mut Design, element_idx: usize) {
    let mut unfinished = vec![true; design.elements[element_idx].bodies().len()];
    for _ in 0..ROUNDS_MAX {
        let mut before: Vec<Option<Body>> = vec![None; unfinished.len()];
        for (name, pass) in PASSES {
            let loads = loads(&design.elements[element_idx]);
            let bodies = design.elements[element_idx].bodies_mut();
            for (body, before) in bodies
                .into_iter()
                .zip(&mut before)
                .zip(&unfinished)
                .filter(|(_, unfinished)| **unfinished)
                .map(|(pair, _)| pair)
            {
                let passed = pass(body, loads);
                let replaced = std::mem::replace(body, passed);
                before.get_or_insert(replaced);
            }
            check(design, name);
        }
        let bodies = design.elements[element_idx].bodies();
        for ((unfinished, before), (_, body)) in unfinished.iter_mut().zip(&before).zip(bodies) {
            *unfinished = before.as_ref().is_some_and(|before| before != body);
        }
        if !unfinished.contains(&true) {
            return;
        }
    }
}

/// Whether an element asks `pkt.short` anywhere.
pub fn loads(element: &Element) -> Loads {
    let asks = |body: &Body| body.ops.iter().any(|op| op.code == Opcode::PktShort);
    if element.bodies().iter().any(|(_, body)| asks(body)) { Loads::Observed } else { Loads::Unobserved }
}

fn check(design: &Design, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify(design)
    {
        panic!("after {pass}: {}", errors[0]);
    }
}
