//! The signal calls of a control file and their results, as text.
//!
//! Calls with the same answer are one line, however many there are; calls that list a table become a table.

use serde_json::Value;

use super::table::{Align, Table};
use crate::run::SignalCall;

/// Rows of one listing that are shown.
const LISTING_ROWS_MAX: usize = 40;

/// All calls in order.
pub fn text(calls: &[SignalCall]) -> String {
    let mut text = String::new();
    let mut single =
        Table::new(&[("line", Align::Right), ("call", Align::Left), ("times", Align::Right), ("result", Align::Left)]);
    let flush = |single: &mut Table, text: &mut String| {
        if !single.is_empty() {
            text.push_str(&single.text());
            single.clear();
        }
    };
    for run in runs(calls) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let lines =
            if first.line == last.line { first.line.to_string() } else { format!("{}-{}", first.line, last.line) };
        if run.iter().all(|call| call.results == first.results) {
            let results: Vec<String> =
                first.results.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
            single.row(vec![lines, first.call.clone(), run.len().to_string(), results.join(" ")]);
        } else {
            flush(&mut single, &mut text);
            text.push_str(&format!("  line {lines}: {}\n{}", first.call, listing(run)));
        }
    }
    flush(&mut single, &mut text);
    text
}

/// Calls of one signal that follow each other.
fn runs(calls: &[SignalCall]) -> impl Iterator<Item = &[SignalCall]> {
    let names = |call: &SignalCall| call.results.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    calls.chunk_by(move |a, b| a.call == b.call && names(a) == names(b))
}

fn listing(run: &[SignalCall]) -> String {
    let columns: Vec<(&str, Align)> = run[0].results.iter().map(|(name, _)| (name.as_str(), Align::Right)).collect();
    let mut table = Table::new(&columns);
    for call in run.iter().take(LISTING_ROWS_MAX) {
        table.row(call.results.iter().map(|(_, value)| shown(value)).collect());
    }
    let n_more = run.len().saturating_sub(LISTING_ROWS_MAX);
    let more = if n_more > 0 { format!("  … and {n_more} more; --json shows all\n") } else { String::new() };
    table.text() + &more
}

/// A value without quotes; long numbers without leading zeros.
fn shown(value: &Value) -> String {
    let Value::String(text) = value else {
        return value.to_string();
    };
    match text.strip_prefix("0x").map(|digits| digits.trim_start_matches('0')) {
        Some("") => "0".to_string(),
        Some(digits) => format!("0x{digits}"),
        None => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::run::SignalCall;
    use serde_json::{Value, json};

    fn call(line: u32, call: &str, results: &[(&str, Value)]) -> SignalCall {
        let results = results.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        SignalCall { line, time_ns: 0, call: call.to_string(), results }
    }

    #[test]
    fn equal_answers_are_one_line_and_listings_are_tables() {
        let calls = [
            call(3, "fw.add", &[("ok", json!(true))]),
            call(4, "fw.add", &[("ok", json!(true))]),
            call(6, "fw.list", &[("src", json!("0x00c0000201")), ("n", json!(7))]),
            call(6, "fw.list", &[("src", json!("0x00")), ("n", json!(12))]),
            call(7, "fw.stats", &[("n", json!(19))]),
        ];
        let expected = "  line  call    times  result\n   3-4  fw.add      2  ok=true\n  line 6: fw.list\n         src   n\n  \
                        0xc0000201   7\n           0  12\n  line  call      times  result\n     7  fw.stats      1  n=19\n";
        assert_eq!(text(&calls), expected);
    }
}
