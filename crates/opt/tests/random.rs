//! Random designs through the pipeline, which verifies them after every pass (debug builds).

use ir::{generate, verify};

#[test]
fn random_designs_stay_verified() {
    for seed in 0..400 {
        let design = generate::design(seed, 80);
        let optimized = opt::pipeline::run(design);
        assert!(verify(&optimized).is_ok(), "seed {seed}");
        for element in &optimized.elements {
            for (_, body) in element.bodies() {
                assert_eq!(body.compacted(), *body, "seed {seed}");
            }
        }
    }
}
