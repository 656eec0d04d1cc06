//! The order of passes.
//!
//! `fold` makes conditions known, `registers` and `cse` make values equal, which gives `fold` more to do; `dce` clears away. The
//! rounds end when a round changes nothing, at most [`ROUNDS_MAX`]. Debug builds verify the design after every pass.
//! Expects: a verified design. Ensures: a verified design that does the same, element by element.

use ir::{Body, Design, Element, Opcode, verify};

use crate::dce::Loads;
use crate::{cse, dce, fold, registers};

/// A third round finds next to nothing in lowered code; a fourth is there for what inlined loops uncover.
pub const ROUNDS_MAX: usize = 4;

type Pass = (&'static str, fn(&Body, Loads) -> Body);

const PASSES: [Pass; 4] = [
    ("fold", |body, _| fold::run(body)),
    ("registers", |body, _| registers::run(body)),
    ("cse", |body, _| cse::run(body)),
    ("dce", dce::run),
];

/// Simplifies every body of a design.
pub fn run(design: Design) -> Design {
    let mut design = design;
    check(&design, "lowering");
    for i in 0..design.elements.len() {
        for _ in 0..ROUNDS_MAX {
            let before: Vec<Body> = bodies(&design.elements[i]);
            for (name, pass) in PASSES {
                let loads = loads(&design.elements[i]);
                for body in design.elements[i].bodies_mut() {
                    *body = pass(body, loads);
                }
                check(&design, name);
            }
            if bodies(&design.elements[i]) == before {
                break;
            }
        }
    }
    design
}

/// Whether an element asks `pkt.short` anywhere.
pub fn loads(element: &Element) -> Loads {
    let asks = |body: &Body| body.ops.iter().any(|op| op.code == Opcode::PktShort);
    if element.bodies().iter().any(|(_, body)| asks(body)) { Loads::Observed } else { Loads::Unobserved }
}

fn bodies(element: &Element) -> Vec<Body> {
    element.bodies().into_iter().map(|(_, body)| body.clone()).collect()
}

fn check(design: &Design, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify(design)
    {
        panic!("after {pass}: {}", errors[0]);
    }
}
