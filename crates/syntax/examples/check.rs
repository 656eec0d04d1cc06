fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut map = diag::SourceMap::default();
        let id = map.add(path.clone(), text.clone());
        let t = std::time::Instant::now();
        let parsed = syntax::parse(id, &text);
        eprintln!("{path}: {} items, {:?}", parsed.file.items.len(), t.elapsed());
        for d in &parsed.diagnostics {
            println!("{}", diag::render(d, &map, diag::RenderStyle::Plain));
        }
        if std::env::var("DEBUG").is_ok() {
            println!("{}", syntax::dump(&parsed.file));
        }
    }
}
