//! Any text: parse, print the tree, render the reports; what parses is formatted for good and keeps its tree.

#![no_main]

use diag::{FileId, RenderStyle, SourceMap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.clnp".to_owned(), text.to_owned());
    let parsed = syntax::parse(file, text);
    for diagnostic in parsed.diagnostics.iter().take(8) {
        diag::render(diagnostic, &sources, RenderStyle::Plain);
    }
    let Ok(formatted) = syntax::format(text) else { return };
    let tree = |text: &str| syntax::dump(&syntax::parse(FileId(0), text).file);
    assert_eq!(tree(&formatted), tree(text));
    assert_eq!(syntax::format(&formatted).as_ref(), Ok(&formatted));
});
