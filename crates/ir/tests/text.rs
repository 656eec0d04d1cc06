//! The text form: golden files, exact round trips of random designs, and text that is broken in every way.

use ir::{Spans, generate, parse, print, verify};
use proptest::prelude::{any, prop_assert_eq, proptest};
use proptest::sample::Index;

const GOLDEN: &str = include_str!("text/all_parts.ir");

#[test]
fn golden_text_parses_verifies_and_prints_back() {
    let design = parse(GOLDEN).expect("golden text");
    assert_eq!(verify(&design).map(|_| ()), Ok(()));
    assert_eq!(print(&design, Spans::Show), GOLDEN);
}

#[test]
fn every_op_stands_in_the_golden_text() {
    let design = parse(GOLDEN).expect("golden text");
    let bodies: Vec<_> = design.elements.iter().flat_map(|element| element.bodies()).collect();
    let used = |op: ir::Opcode| bodies.iter().any(|(_, body)| body.ops.iter().any(|other| other.code == op));
    let missing: Vec<&str> = ir::Opcode::ALL.iter().filter(|op| !used(**op)).map(|op| op.name()).collect();
    // A design has no chains.
    assert_eq!(missing, ["pkt.enter", "pkt.emitted", "pkt.dropped", "pkt.drop_for"]);
}

#[test]
fn random_designs_verify_and_round_trip() {
    for seed in 0..300 {
        let design = generate::design(seed, 40);
        let verified = verify(&design).map(|_| ()).map_err(|errors| errors[0].to_string());
        assert_eq!(verified, Ok(()), "seed {seed}");
        let text = print(&design, Spans::Show);
        assert_eq!(parse(&text).as_ref(), Ok(&design), "seed {seed}");
        let without_spans = parse(&print(&design, Spans::Omit)).expect("text without spans");
        assert_eq!(print(&without_spans, Spans::Omit), print(&design, Spans::Omit), "seed {seed}");
    }
}

#[test]
fn generated_bodies_are_compact() {
    for seed in 0..50 {
        for element in generate::design(seed, 60).elements {
            for (_, body) in element.bodies() {
                assert_eq!(body.compacted(), *body, "seed {seed}");
            }
        }
    }
}

#[test]
fn errors_name_line_and_column() {
    let element = |body: &str| format!("design d\nelement e: E {{\n  handler {{\n{body}\n  }}\n}}\n");
    let cases = [
        ("design".to_string(), "1:7: expected a name"),
        (
            "design d\nfrobnicate".to_string(),
            "2:1: expected another part of the design, in the order file meta type boundary element channel",
        ),
        ("design \"a".to_string(), "1:10: the string is not closed"),
        ("design d ?".to_string(), "1:10: no '?' here"),
        ("design d\nmeta x: u0".to_string(), "2:9: a width is 1 to 8192 bits"),
        (element("yield %0"), "4:7: %0 is not defined above"),
        (element("%0: i8 = const 1\n%0: i8 = const 2"), "5:1: %0 is defined twice"),
        (element("%0: i8 = const 1\n%1: i8 = add %0"), "5:14: add has another number of operands"),
        (element("frob"), "4:1: no op has the name frob"),
        (element("local.clear x"), "4:13: no local array has the name \"x\""),
    ];
    for (text, expected) in cases {
        let error = parse(&text).expect_err("broken text");
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let text = format!("design d\nelement e: E {{ handler {{ %0: i1 = const 1 {}", "if %0 { ".repeat(100_000));
    assert_eq!(parse(&text).expect_err("too deep").message, "regions nest deeper than 1000");
}

proptest! {
    /// Cut, doubled, swapped or replaced pieces: the parser gives a design or an error, and what it gives prints and parses
    /// to itself and can be verified without a panic.
    #[test]
    fn broken_text_never_panics(at: Index, length in 0_usize..40, to: Index, kind in 0..4, replacement in any::<char>()) {
        let chars: Vec<char> = GOLDEN.chars().collect();
        let start = at.index(chars.len());
        let end = (start + length).min(chars.len());
        let mut broken = chars.clone();
        let piece: Vec<char> = chars[start..end].to_vec();
        match kind {
            0 => drop(broken.drain(start..end)),
            1 => drop(broken.splice(start..end, [replacement])),
            _ => {
                let to = to.index(chars.len());
                if kind == 3 { broken.drain(start..end); }
                let to = to.min(broken.len());
                broken.splice(to..to, piece);
            }
        }
        let text: String = broken.into_iter().collect();
        if let Ok(design) = parse(&text) {
            let _ = verify(&design);
            prop_assert_eq!(parse(&print(&design, Spans::Show)), Ok(design));
        }
    }
}
