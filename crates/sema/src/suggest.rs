//! "Did you mean": the nearest of some known names.

/// The candidate that a reader would take `word` for, if one is near: equal but for case, or at most a third of its letters
/// (and at least one) inserted, removed, replaced or swapped with their neighbour. The first of equally near ones wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let lower = word.to_lowercase();
    let near = candidates.into_iter().filter(|candidate| *candidate != word);
    let measured = near.map(|candidate| (edit_distance(&lower, &candidate.to_lowercase()), candidate));
    measured
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// What to write instead of a function of C's libraries or of sockets.
pub fn instead_of_c_function(name: &str) -> Option<&'static str> {
    Some(match name {
        "printf" | "fprintf" | "puts" => "write `trace(\"value {}\", x)`, or count in `.state` and read it by a signal",
        "memset" | "bzero" => "assign `{}` to zero a variable or an array, or use a `for` loop",
        "memcpy" | "memmove" | "strcpy" | "strncpy" => "assign the struct or array as a whole, or use a `for` loop",
        "memcmp" | "strcmp" | "strncmp" => "compare the elements in a `for` loop",
        "ntohs" | "htons" | "ntohl" | "htonl" => {
            "remove it: `pkt.be16(o)`, `pkt.be32(o)` and header fields are numbers already"
        }
        "exit" | "abort" => "write `assert(condition)` to stop the run, or `drop(\"reason\")`",
        "send" => "write `emit(port)`",
        _ => return None,
    })
}

/// The language's spelling of a type that other languages spell so.
pub fn type_spelling(name: &str) -> Option<String> {
    let known = match name {
        "boolean" | "_Bool" | "Bool" => Some("bool"),
        "byte" | "BYTE" | "uint8" => Some("uint8_t"),
        _ => None,
    };
    if let Some(known) = known {
        return Some(known.to_string());
    }
    let digits_at = name.find(|c: char| c.is_ascii_digit())?;
    let (stem, width) = name.split_at(digits_at);
    let bits: u32 = width.strip_suffix("_t").unwrap_or(width).parse().ok().filter(|bits| (1..=8192).contains(bits))?;
    let signed = match stem {
        "u" | "uint" | "u_int" | "__u" | "bit" | "bits" => false,
        "i" | "s" | "int" | "__s" => true,
        _ => return None,
    };
    let stem = if signed { "int" } else { "uint" };
    Some(if [8, 16, 32, 64].contains(&bits) { format!("{stem}{bits}_t") } else { format!("{stem}<{bits}>") })
}

/// Optimal string alignment distance: Levenshtein's, with the swap of two neighbours as one step.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let shortest = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            rows[i][j] = if is_swap { shortest.min(rows[i - 2][j - 2] + 1) } else { shortest };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest, type_spelling};

    #[test]
    fn distances() {
        let pairs = [("", "abc", 3), ("kitten", "sitting", 3), ("form", "from", 1), ("pass", "pass", 0)];
        assert_eq!(pairs.map(|(a, b, _)| edit_distance(a, b)), pairs.map(|(_, _, distance)| distance));
    }

    #[test]
    fn spellings_of_types() {
        let written = ["u32", "uint24_t", "int64", "s8", "__u16", "boolean", "u0", "u9999", "map", "x86"];
        let meant = ["uint32_t", "uint<24>", "int64_t", "int8_t", "uint16_t", "bool", "", "", "", ""];
        assert_eq!(written.map(|name| type_spelling(name).unwrap_or_default()), meant);
    }

    #[test]
    fn nearest_name() {
        let names = ["Pass", "PassThrough", "Counter"];
        assert_eq!(nearest("Coutner", names), Some("Counter"));
        assert_eq!(nearest("pass", names), Some("Pass"));
        assert_eq!(nearest("Firewall", names), None);
    }
}
