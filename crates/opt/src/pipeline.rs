//! The order of passes.
//!
//! `fold` makes conditions known, `reads` and `cse` make values equal, which gives `fold` more to do; `dce` clears away. The
//! rounds end when a round changes nothing, at most [`ROUNDS_MAX`]. Debug builds verify the design after every pass.
//! Expects: a verified design. Ensures: a verified design that does the same, element by element.

use ir::{Body, Chain, Design, Element, Opcode, verify, verify_chain};

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
    let mut unfinished: Vec<Vec<bool>> =
        design.elements.iter().map(|element| vec![true; element.bodies().len()]).collect();
    for _ in 0..ROUNDS_MAX {
        round(&mut design, &mut unfinished);
        if !unfinished.iter().flatten().any(|&body| body) {
            break;
        }
    }
    design
}

/// Simplifies a chain of a design, as [`run`] does a design's bodies. Members stay in it, even those that no packet reaches.
pub fn run_chain(design: &Design, chain: Chain) -> Chain {
    let mut chain = chain;
    check_chain(design, &chain, "fuse");
    for _ in 0..ROUNDS_MAX {
        let before = chain.body.clone();
        for (name, pass) in PASSES {
            let loads = loads_of(&[&chain.body]);
            chain.body = pass(&chain.body, loads);
            check_chain(design, &chain, name);
        }
        if chain.body == before {
            break;
        }
    }
    chain
}

/// All passes over the unfinished bodies, by element; one that the round left as it was is finished.
fn round(design: &mut Design, unfinished: &mut [Vec<bool>]) {
    let mut before: Vec<Vec<Option<Body>>> = unfinished.iter().map(|bodies| vec![None; bodies.len()]).collect();
    for (name, pass) in PASSES {
        for ((element, before), unfinished) in design.elements.iter_mut().zip(&mut before).zip(&*unfinished) {
            let loads = loads(element);
            let bodies = element.bodies_mut().into_iter().zip(before).zip(unfinished);
            for ((body, before), _) in bodies.filter(|(_, unfinished)| **unfinished) {
                let passed = pass(body, loads);
                let replaced = std::mem::replace(body, passed);
                before.get_or_insert(replaced);
            }
        }
        check(design, name);
    }
    for ((element, before), unfinished) in design.elements.iter().zip(&before).zip(unfinished) {
        for (((_, body), before), unfinished) in element.bodies().into_iter().zip(before).zip(unfinished) {
            *unfinished = before.as_ref().is_some_and(|before| before != body);
        }
    }
}

/// Whether an element asks `pkt.short` anywhere.
pub fn loads(element: &Element) -> Loads {
    let bodies: Vec<&Body> = element.bodies().into_iter().map(|(_, body)| body).collect();
    loads_of(&bodies)
}

fn loads_of(bodies: &[&Body]) -> Loads {
    let asks = |body: &&Body| body.ops.iter().any(|op| op.code == Opcode::PktShort);
    if bodies.iter().any(asks) { Loads::Observed } else { Loads::Unobserved }
}

fn check_chain(design: &Design, chain: &Chain, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify_chain(design, chain)
    {
        panic!("after {pass}: {}", errors[0]);
    }
}

fn check(design: &Design, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify(design)
    {
        panic!("after {pass}: {}", errors[0]);
    }
}
