fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        match syntax::format(&text) {
            Ok(t) => print!("{t}"),
            Err(e) => eprintln!("{path} {e:?}"),
        }
    }
}
