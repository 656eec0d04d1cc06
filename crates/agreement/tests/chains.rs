//! Random and kept cases as chains in native code, against the interpreter; and the tool that shrinks those that crash.

use agreement::{Case, both_ways};

#[test]
fn chains_agree_with_the_interpreter() {
    let n_seeds = std::env::var("CHAIN_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (mut n_chains, mut failed) = (0, Vec::new());
    let first = std::env::var("CHAIN_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + n_seeds {
        if std::env::var_os("CHAIN_SHOW").is_some() {
            eprintln!("seed {seed}");
        }
        let case = Case::random(seed);
        for design in [case.design.clone(), opt::pipeline::run(case.design.clone())] {
            let Some((expected, found)) = both_ways(&design, &case) else { continue };
            n_chains += 1;
            if expected != found {
                let differing = expected.lines().zip(found.lines()).find(|(old, new)| old != new);
                failed.push(format!("seed {seed}: {:.600?}", differing));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {n_chains}\n{}", failed.len(), failed[..failed.len().min(12)].join("\n"));
    assert!(n_chains > n_seeds / 2, "{n_chains} chains");
}

/// Every kept case, or the one in `CHAIN_CASE`.
#[test]
fn chains_agree_on_every_case_that_was_kept() {
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/crashers");
    let folders: Vec<std::path::PathBuf> = match std::env::var_os("CHAIN_CASE") {
        Some(folder) => vec![folder.into()],
        None => std::fs::read_dir(kept).expect("it is there").map(|entry| entry.expect("readable").path()).collect(),
    };
    for folder in folders.iter().filter(|path| path.is_dir()) {
        let case = Case::load(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        if let Some((expected, found)) = both_ways(&case.design, &case) {
            assert_eq!(found, expected, "{}", folder.display());
        }
    }
}

/// Shrinks the seed in `CHAIN_SEED`, if there is one, on which chains crash or differ, into `tests/crashers`.
#[test]
fn shrinks_a_seed() {
    let Ok(seed) = std::env::var("CHAIN_SEED") else { return };
    let seed: u64 = seed.parse().expect("CHAIN_SEED is a number");
    let trial = std::env::temp_dir().join(format!("flitwork-chain-{}", std::process::id()));
    let own = std::env::current_exe().expect("this test has a file");
    let mut differs = |case: &Case| {
        case.save(&trial).expect("the temporary folder takes files");
        let mut child = std::process::Command::new(&own);
        child.args(["--exact", "chains_agree_on_every_case_that_was_kept"]).env("CHAIN_CASE", &trial);
        !child.output().expect("it starts").status.success()
    };
    let mut case = Case::random(seed);
    if !differs(&case) {
        case.design = opt::pipeline::run(case.design);
        assert!(differs(&case), "seed {seed} agrees");
    }
    let small = agreement::shrink(&case, std::time::Duration::from_secs(60), &mut differs);
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/crashers/chain_{seed}"));
    small.save(&kept).expect("the repository takes files");
    let note = format!("Seed {seed}: the chain in native code crashed, or differed from the interpreter.\n");
    std::fs::write(kept.join("README.md"), note).expect("the repository takes files");
    std::fs::remove_dir_all(&trial).expect("it is ours");
}
