//! Random graphs keep the verifier's rules, survive their text form, and are the same for the same seed.

use ir::generate::{Hostility, graph};
use ir::{ChannelEnd, Handler, Spans};

#[test]
fn random_graphs_verify_and_survive_their_text() {
    let (mut n_chained, mut n_flit) = (0, 0);
    for seed in 0..400 {
        let hostility = if seed % 3 == 0 { Hostility::Hostile } else { Hostility::Friendly };
        let design = graph(seed, 30, hostility);
        ir::verify(&design).unwrap_or_else(|errors| panic!("seed {seed}: {}", errors[0]));
        assert_eq!(ir::parse(&ir::print(&design, Spans::Show)).as_ref(), Ok(&design), "seed {seed}");
        assert_eq!(graph(seed, 30, hostility), design, "seed {seed}");
        let is_inner = |channel: &&ir::Channel| {
            matches!((channel.from, channel.to), (ChannelEnd::Element { .. }, ChannelEnd::Element { .. }))
        };
        n_chained += design.channels.iter().filter(is_inner).count();
        n_flit += design.elements.iter().filter(|element| matches!(element.handler, Handler::Flit(_))).count();
    }
    assert!(n_chained > 800 && n_flit > 200, "{n_chained} channels between elements, {n_flit} flit elements");
}
