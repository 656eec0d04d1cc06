//! "Did you mean": the nearest of some known names.

/// The candidate that a reader would take `word` for, if one is near: equal but for case, or at most a third of its letters
/// (and at least one) inserted, removed, replaced or swapped with their neighbour. The first of equally near ones wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let lower = word.to_lowercase();
    let near = candidates.into_iter().filter(|candidate| *candidate != word);
    let measured = near.map(|candidate| (edit_distance(&lower, &candidate.to_lowercase()), candidate));
    measured.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
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
    use super::{edit_distance, nearest};

    #[test]
    fn distances() {
        let pairs = [("", "abc", 3), ("kitten", "sitting", 3), ("form", "from", 1), ("pass", "pass", 0)];
        assert_eq!(pairs.map(|(a, b, _)| edit_distance(a, b)), pairs.map(|(_, _, distance)| distance));
    }

    #[test]
    fn nearest_name() {
        let names = ["Pass", "PassThrough", "Counter"];
        assert_eq!(nearest("Coutner", names), Some("Counter"));
        assert_eq!(nearest("pass", names), Some("Pass"));
        assert_eq!(nearest("Firewall", names), None);
    }
}
