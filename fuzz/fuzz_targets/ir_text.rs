//! Any text read as a design: an error or a design, which prints, parses back to itself, and can be verified.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(design) = ir::parse(text) {
        let _ = ir::verify(&design);
        assert_eq!(ir::parse(&ir::print(&design, ir::Spans::Show)), Ok(design));
    }
});
