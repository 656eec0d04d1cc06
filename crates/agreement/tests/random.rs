//! Some random cases on every engine; `cargo xtask fuzz engines` runs many. And what the search itself promises.

use std::time::Duration;

use agreement::{Case, difference, outcome, shrink};

const N_SEEDS: u64 = 120;

#[test]
fn engines_agree_on_random_designs() {
    let mut n_with_output = 0;
    for seed in 0..N_SEEDS {
        let case = Case::random(seed);
        assert_eq!(difference(&case), None, "seed {seed}");
        n_with_output += u64::from(outcome(&case).contains("_out @"));
    }
    assert!(n_with_output > N_SEEDS / 3, "only {n_with_output} designs let a packet through");
}

#[test]
fn cases_survive_their_files() {
    for seed in 0..20 {
        let case = Case::random(seed);
        let folder = std::env::temp_dir().join(format!("flitwork-agreement-{}-{seed}", std::process::id()));
        case.save(&folder).expect("the temporary folder takes files");
        let loaded = Case::load(&folder).expect("what was saved");
        std::fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(outcome(&loaded), outcome(&case), "seed {seed}");
        assert_eq!((loaded.arrivals, loaded.control, loaded.settings), (case.arrivals, case.control, case.settings));
    }
}

/// A fault stands in for one of an engine: an element that drops a packet for a certain reason.
#[test]
fn a_case_shrinks_to_what_matters() {
    let has_fault = |case: &Case| outcome(case).contains("\"reason\": \"reason 1\"");
    let seed = (0..).find(|&seed| {
        let case = Case::random(seed);
        case.design.elements.len() > 3 && case.arrivals.len() > 10 && has_fault(&case)
    });
    let case = Case::random(seed.expect("some seed has it"));
    let small = shrink(&case, Duration::from_secs(20), &mut |candidate| has_fault(candidate));
    assert!(has_fault(&small));
    let n_ops: usize =
        small.design.elements.iter().flat_map(|element| element.bodies()).map(|(_, body)| body.ops.len()).sum();
    let sizes = (small.design.elements.len(), small.arrivals.len(), small.control.len());
    assert_eq!(sizes, (1, 1, 0), "{}", ir::print(&small.design, ir::Spans::Omit));
    assert!(n_ops <= 4, "{}", ir::print(&small.design, ir::Spans::Omit));
}
