//! Random text: no panic, no overflow, bounded diagnostics; and what parses is formatted without change of meaning.
//!
//! A failing case prints its input; keep it as a file in `tests/errors` or `tests/data`.

use diag::{FileId, RenderStyle, SourceMap};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::{Index, select};

/// Cases of each property; raised for long runs.
const CASES: u32 = 400;

const EVERYTHING: &str = include_str!("data/everything.clnp");
const MESSY: &str = include_str!("data/messy.clnp");

const WORDS: &[&str] = &[
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "return",
    "struct",
    "enum",
    "const",
    "constexpr",
    "static",
    "uint",
    "uint<8>",
    "uint32_t",
    "unsigned",
    "long",
    "int",
    "flit_t",
    "auto",
    "void",
    "x",
    "y",
    "Name",
    "host",
    "import",
    "sizeof",
    "static_cast<",
    ".element",
    ".element_group",
    ".state",
    ".handler",
    ".packet",
    ".signal",
    ".repeat",
    ".unroll",
    ".header",
    ".hls_pragma",
    ".native",
    ".timing",
    "BREAK",
    "true",
    "typedef",
    "class",
    "float",
    "goto",
    "try",
    "new",
    "template",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ">>",
    ">=",
    ">>=",
    "<<",
    "<<=",
    "=",
    "==",
    "!",
    "~",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "&&",
    "|",
    "||",
    "^",
    "?",
    ":",
    "::",
    ";",
    ",",
    ".",
    "..",
    "->",
    "=>",
    "++",
    "--",
    "+=",
    "@",
    "$i",
    "${i}",
    "$",
    "1",
    "0x1F",
    "08",
    "1.5",
    "1e9",
    "1'000",
    "'a'",
    "'\\''",
    "'",
    "\"s\"",
    "\"",
    "// c\n",
    "/* c */",
    "/*",
    "#pragma x\n",
    "#define X 5\n",
    "\n",
    "\n\n",
    " ",
    "\t",
    "\u{feff}",
    "“",
    "é",
    "\r\n",
    "\\",
];

fn parse_and_render(text: &str) {
    let mut sources = SourceMap::default();
    let file = sources.add("soup.clnp".to_owned(), text.to_owned());
    let parsed = syntax::parse(file, text);
    assert!(parsed.diagnostics.len() <= text.len() + 1);
    for diagnostic in parsed.diagnostics.iter().take(20) {
        assert!(diagnostic.primary.span.end as usize <= text.len());
        diag::render(diagnostic, &sources, RenderStyle::Plain);
    }
    syntax::dump(&parsed.file);
}

/// If the text is formatted at all: with the same tree, and for good.
fn check_format(text: &str) {
    let Ok(formatted) = syntax::format(text) else { return };
    let tree = |text: &str| syntax::dump(&syntax::parse(FileId(0), text).file);
    let again = syntax::format(&formatted).unwrap_or_else(|faults| panic!("{faults:?}\n{formatted}"));
    assert_same_lines(&tree(&formatted), &tree(text), "tree", text);
    assert_same_lines(&again, &formatted, "layout", text);
}

/// Equality that reports the first line that differs with its surroundings.
fn assert_same_lines(actual: &str, expected: &str, what: &str, text: &str) {
    let differs = actual.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let Some(at) = differs else {
        assert_eq!(actual, expected, "{what} of\n{text}");
        return;
    };
    let around = |text: &str| text.lines().skip(at.saturating_sub(4)).take(8).collect::<Vec<_>>().join("\n");
    panic!("{what} differs:\n{}\n===== expected\n{}\n===== of\n{text}", around(actual), around(expected));
}

fn words() -> impl Strategy<Value = String> {
    let spaced = (select(WORDS), prop_oneof![Just(""), Just(" "), Just("\n")])
        .prop_map(|(word, space)| format!("{word}{space}"));
    proptest::collection::vec(spaced, 0..80).prop_map(|words| words.concat())
}

/// A valid file with some pieces of white space, or some characters, changed.
fn mutate(text: &str, changes: &[(Index, usize)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (place, word) in changes {
        let at = place.index(chars.len());
        let replacement = WORDS[word % WORDS.len()];
        if word % 3 == 0 {
            chars.remove(at);
        } else {
            chars.splice(at..at, replacement.chars());
        }
    }
    chars.into_iter().collect()
}

/// The same tokens with other white space: each gap that holds a blank may become a break or more blanks, outside of comments.
fn respace(text: &str, choices: &[u8]) -> String {
    let mut out = String::new();
    let mut next = choices.iter().cycle();
    for line in text.lines() {
        let graph_line = line.contains("->")
            || line.contains("=>")
            || line.contains("::")
            || line.contains("//")
            || line.contains('#');
        for c in line.chars() {
            match (c, next.next().copied().unwrap_or(0)) {
                (' ', 0..40) if !graph_line => out.push('\n'),
                (' ', 40..80) => out.push_str("  "),
                _ => out.push(c),
            }
        }
        out.push('\n');
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_text_parses(text in any::<String>()) {
        parse_and_render(&text);
        check_format(&text);
    }

    #[test]
    fn any_words_parse(text in words()) {
        parse_and_render(&text);
        check_format(&text);
    }

    #[test]
    fn words_in_a_handler(text in words()) {
        let text = format!(".element E <1, 1> {{ .state {{ int x; }} .handler {{ {text} }} }}\na -> b\n");
        parse_and_render(&text);
        check_format(&text);
    }

    #[test]
    fn changed_files(changes in proptest::collection::vec((any::<Index>(), any::<usize>()), 1..4), which in any::<bool>()) {
        let text = mutate(if which { EVERYTHING } else { MESSY }, &changes);
        parse_and_render(&text);
        check_format(&text);
    }

    #[test]
    fn other_white_space(choices in proptest::collection::vec(any::<u8>(), 50..400), which in any::<bool>()) {
        let text = if which { EVERYTHING } else { MESSY };
        check_format(&respace(text, &choices));
    }

    #[test]
    fn cut_files(at in any::<Index>()) {
        let mut end = at.index(EVERYTHING.len());
        while !EVERYTHING.is_char_boundary(end) {
            end -= 1;
        }
        let text = &EVERYTHING[..end];
        let n_braces = syntax::parse(FileId(0), text).diagnostics.iter().filter(|d| d.code == diag::Code::E0103).count();
        parse_and_render(text);
        prop_assert_eq!(n_braces.min(2), n_braces, "a cut gives at most one missing brace and one consequence");
    }
}

/// Long valid files on one line and on many.
#[test]
fn long_files_are_formatted_in_time() {
    let n = 5_000;
    let statements = [
        "x = 1; ",
        "{ x; } ",
        "/* c */ ",
        "if (x) { y(); } ",
        "x = 1; // c\n",
        "switch (x) { case 1: y(); } ",
        "uint8_t z[2] = {1, 2}; ",
    ];
    for statement in statements {
        let text = format!(".element E <1, 1> {{ .handler {{ {} }} }}", statement.repeat(n));
        let started = std::time::Instant::now();
        check_format(&text);
        let taken = started.elapsed();
        assert!(taken.as_secs() < 8, "{statement:?} took {taken:?}");
    }
    check_format(&format!("constexpr uint32_t T[] = {{{}}};", "1, ".repeat(n)));
    check_format(&format!("{}a -> b", "/* c */ a -> b; ".repeat(n)));
}

/// Texts that nest or repeat without end, on the small stack of a test thread.
#[test]
fn deep_and_long() {
    let n = 100_000;
    for piece in [
        "(",
        "[",
        "{",
        "-",
        "!",
        "~",
        "a[",
        "f(",
        "a?",
        "a?b:",
        "a=",
        "a+",
        "if(x)",
        "if(x){",
        "else ",
        "for(;;)",
        "do ",
        "while(x)",
        "switch(x){case 1:",
        "uint<",
        "(int)",
        "static_cast<uint<",
        "a.b<c>(",
        "{{",
        ".repeat(i,0,1){",
        "struct A{",
        "&",
        "a,",
        "a::",
        "*",
        "x[1:",
        "int(",
        "E{",
        "case 1:",
        "$i",
        "\"s\"",
        "if(x);else ",
        ".unroll ",
        "++",
        "a.",
        "a()",
        "a[0]",
        "a++ ",
        "1 +",
        "'",
        "/*",
        "#define A\n",
        "/* c */",
        "// c\n",
        "\n",
    ] {
        let many = piece.repeat(n);
        for text in [
            many.clone(),
            format!(".element E <1, 1> {{ .handler {{ {many}"),
            format!(".element E <1, 1> {{ .handler {{ x = {many} a; }} }}"),
            format!(".element E <{many}1, 1> {{ }}"),
            format!(".element E <1, 1> {{ .state {{ {many}"),
            format!("constexpr int x = {many};"),
            format!("a -> [{many}"),
            format!(".repeat(i, 0, 2) {{ {many}"),
        ] {
            let started = std::time::Instant::now();
            let parsed = syntax::parse(FileId(0), &text);
            syntax::dump(&parsed.file);
            let taken = started.elapsed();
            assert!(taken.as_millis() < 2000, "{piece:?} in {:.40}… took {taken:?}", text);
        }
    }
}
