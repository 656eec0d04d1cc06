//! The words of the language: keywords, built-in types, directives, and words of C++ that are refused.

use diag::Code;

/// Sections of an element, without the dot.
pub(super) const SECTIONS: &[&str] =
    &["state", "meta", "init", "handler", "packet", "body", "end", "signal", "timing", "hls_pragma", "native"];

/// Directives of a file or graph, without the dot.
pub(super) const TOP_DIRECTIVES: &[&str] =
    &["element", "element_group", "alias", "header", "import", "include", "struct"];

/// Directives of a body, without the dot.
pub(super) const BODY_DIRECTIVES: &[&str] = &["repeat", "unroll"];

const STATEMENT_WORDS: &[&str] =
    &["if", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "BREAK"];

/// Whether a statement that begins with this word is no expression and no declaration.
pub(super) fn begins_statement(word: &str) -> bool {
    STATEMENT_WORDS.contains(&word)
}

/// Whether a namespace before this name is dropped: built-in types, functions and constants.
pub(super) fn is_builtin(word: &str) -> bool {
    const NAMES: &[&str] = &[
        "input_ready",
        "test_input_port",
        "read_input_port",
        "peek_input_port",
        "get_input_port",
        "get_input_data",
        "clear_input_ready",
        "set_output_port",
        "set_port_output",
        "set_output_ready",
        "clear_output_ready",
        "last_output_failed",
        "last_output_success",
        "last_rport",
        "_input_port",
        "_input_data",
        "_output_port",
        "PORT_BIT",
        "PORT_ALL",
        "PORT_NULL",
        "NUM_INPORT",
        "NUM_OUTPORT",
        "now_ns",
        "wake_at",
        "assert",
        "trace",
        "emit",
        "drop",
        "concat",
    ];
    let is_port = || word.strip_prefix("PORT_").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    is_builtin_type(word) || NAMES.contains(&word) || is_port()
}

/// Whether the word alone, or with further C integer words after it, is a built-in type.
pub(super) fn is_builtin_type(word: &str) -> bool {
    match word {
        "bool" | "size_t" | "flit_t" | "packet" | "void" | "auto" | "port_mask_t" => true,
        "uchar" | "ushort" | "ulong" => true,
        _ => is_c_integer_word(word) || is_sized_integer(word),
    }
}

/// A word of which C integer types are made.
pub(super) fn is_c_integer_word(word: &str) -> bool {
    matches!(word, "char" | "int" | "uint" | "short" | "long" | "unsigned" | "signed")
}

/// `uint8_t` … `int64_t`.
fn is_sized_integer(word: &str) -> bool {
    matches!(word, "uint8_t" | "uint16_t" | "uint32_t" | "uint64_t" | "int8_t" | "int16_t" | "int32_t" | "int64_t")
}

/// Whether `T{e}` with this type is a cast.
pub(super) fn is_scalar_type(word: &str) -> bool {
    is_builtin_type(word) && !matches!(word, "flit_t" | "packet" | "void" | "auto")
}

/// Whether the word cannot be a name.
pub(super) fn is_reserved(word: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "if",
        "else",
        "for",
        "while",
        "do",
        "switch",
        "case",
        "default",
        "break",
        "continue",
        "return",
        "struct",
        "enum",
        "const",
        "constexpr",
        "static",
        "inline",
        "true",
        "false",
        "sizeof",
        "static_cast",
        "BREAK",
        "volatile",
    ];
    let type_word = is_builtin_type(word) && !matches!(word, "packet" | "port_mask_t");
    KEYWORDS.contains(&word) || type_word || refused(word).is_some()
}

/// Specifiers before a declaration that may be left out.
pub(super) fn is_specifier(word: &str) -> bool {
    matches!(word, "const" | "constexpr" | "static" | "inline" | "volatile" | "register" | "mutable")
}

/// A construct of C++ that the language leaves out.
pub(super) struct Refused {
    pub code: Code,
    pub message: &'static str,
    pub help: &'static str,
}

/// Why a word of C++ is refused, and what to write instead.
pub(super) fn refused(word: &str) -> Option<Refused> {
    let (code, message, help) = match word {
        "nullptr" | "NULL" | "reinterpret_cast" | "const_cast" | "dynamic_cast" => (
            Code::E0115,
            "pointers are not part of the language",
            "use an array and an index; a flag or an index out of range can stand for \"none\"",
        ),
        "float" | "double" | "half" => (
            Code::E0116,
            "floating point is not part of the language",
            "use fixed point: an `int<N>` or `uint<N>` that counts fractions, such as 1/65536",
        ),
        "goto" => (
            Code::E0117,
            "`goto` is not part of the language",
            "use `if`, `break`, `continue` or `return`; for states, a variable in `.state` and a `switch`",
        ),
        "try" | "catch" | "throw" | "noexcept" => (
            Code::E0118,
            "exceptions are not part of the language",
            "return a flag, count the fault in `.state`, or `drop(\"reason\")` the packet",
        ),
        "new" | "delete" => (
            Code::E0119,
            "there is no heap",
            "declare an array of the largest size in `.state` and keep a count of the used entries",
        ),
        "template" | "typename" | "concept" | "requires" => (
            Code::E0122,
            "templates are not part of the language",
            "give the element parameters, `.element E <1, 1> (uint DEPTH = 16)`, or write the function for each type",
        ),
        "class" => {
            (Code::E0123, "classes are not part of the language", "use a `struct` of fields and functions that take it")
        }
        "union" => {
            (Code::E0123, "unions are not part of the language", "use one `uint<N>` and select its bits: `x[hi:lo]`")
        }
        "using" => (Code::E0123, "`using` is not part of the language", "remove it, and write types by their names"),
        "namespace" => (
            Code::E0123,
            "namespaces are not part of the language",
            "declare at file level; a prefix before built-in names may stay",
        ),
        "this" => (Code::E0123, "there is no `this`", "write the state variable's name, or `_state.name`"),
        "operator" | "virtual" | "friend" | "private" | "protected" | "public" | "explicit" | "asm" | "co_await" => {
            (Code::E0123, "this word of C++ is not part of the language", "use a plain `struct` and functions")
        }
        _ => return None,
    };
    Some(Refused { code, message, help })
}

/// The candidate that `word` is most likely a misspelling of, if one is near.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const WORD_LENGTH_MAX: usize = 40; // Longer ones are no misspelt keywords, and the comparison is quadratic.
    if word.len() > WORD_LENGTH_MAX {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let distances = candidates.into_iter().map(|candidate| (edit_distance(&lower, candidate), candidate));
    distances.filter(|&(distance, candidate)| distance <= 1 + candidate.len() / 4).min().map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::{SECTIONS, nearest};

    #[test]
    fn misspellings() {
        assert_eq!(nearest("hander", SECTIONS.iter().copied()), Some("handler"));
        assert_eq!(nearest("stae", SECTIONS.iter().copied()), Some("state"));
        assert_eq!(nearest("Signal", SECTIONS.iter().copied()), Some("signal"));
        assert_eq!(nearest("frobnicate", SECTIONS.iter().copied()), None);
    }
}
