//! Chains of the examples: they verify, before and after the passes, and the passes make them smaller.
//!
//! That chains do what the event loop does is for the crate that runs both.

use std::fs;
use std::path::Path;
use std::time::Instant;

use ir::{Body, Design, RegionId, Spans, print, verify_chain};
use opt::{fuse, pipeline, runs};
use sema::loader::MapLoader;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn design(example: &str) -> Design {
    let mut files: Vec<(String, String)> = Vec::new();
    for folder in fs::read_dir(root().join("elements")).expect("the library") {
        let folder = folder.expect("an entry").path();
        for file in fs::read_dir(&folder).into_iter().flatten() {
            let file = file.expect("an entry").path();
            let name = file.strip_prefix(root().join("elements")).expect("below it").to_string_lossy().into_owned();
            files.extend(fs::read_to_string(&file).map(|text| (name, text)));
        }
    }
    let app = fs::read_to_string(root().join("examples").join(example).join("app.clnp")).expect("an example");
    files.push(("app.clnp".to_string(), app));
    let loader = MapLoader::new(files.iter().map(|(name, text)| (&name[..], &text[..])));
    let analysis = sema::analyze("app.clnp", &loader);
    runs::run(&pipeline::run(analysis.design.expect("the example compiles")))
}

fn n_ops(body: &Body, region: RegionId) -> usize {
    let ops = &body.region(region).ops;
    ops.len() + ops.iter().flat_map(|&op| &body.op(op).regions).map(|&inner| n_ops(body, inner)).sum::<usize>()
}

#[test]
fn chains_of_the_examples_verify() {
    for example in fs::read_dir(root().join("examples")).expect("the examples") {
        let name = example.expect("an entry").file_name().to_string_lossy().into_owned();
        let design = design(&name);
        let start = Instant::now();
        let Some(fused) = fuse::run(&design) else {
            println!("{name}: no chain");
            continue;
        };
        let fused_ms = start.elapsed().as_secs_f64() * 1e3;
        if let Err(errors) = verify_chain(&design, &fused) {
            panic!("{name}: {}", errors[0]);
        }
        let before = n_ops(&fused.body, fused.body.root);
        let members = fused.members.clone();
        let start = Instant::now();
        let chain = pipeline::run_chain(&design, fused);
        let passes_ms = start.elapsed().as_secs_f64() * 1e3;
        if let Err(errors) = verify_chain(&design, &chain) {
            panic!("{name}: {}", errors[0]);
        }
        assert_eq!(chain.members, members, "{name}");
        let enters = chain.body.ops.iter().filter(|op| op.code == ir::Opcode::PktEnter).count();
        assert_eq!(enters, chain.members.len(), "{name}");
        let after = n_ops(&chain.body, chain.body.root);
        assert!(after <= before, "{name}");
        if let Ok(folder) = std::env::var("CHAINS_TO") {
            let shown = Design { elements: vec![chain.element(&design)], channels: vec![], ..design.clone() };
            fs::write(Path::new(&folder).join(format!("{name}.ir")), print(&shown, Spans::Omit)).expect("a folder");
        }
        let names: Vec<&str> = members.iter().map(|id| &design.elements[id.index()].name[..]).collect();
        println!(
            "{name}: {names:?} of {}, {before} ops fused in {fused_ms:.2} ms, {after} after passes in {passes_ms:.2} ms",
            design.elements.len()
        );
    }
}
