//! Reading `tests/data/vectors/`.

use serde_json::Value;

/// Cases of one kind from `modexp_edge_cases.json`.
pub fn cases(kind: &str) -> Vec<Value> {
    let file = read("modexp_edge_cases.json");
    let all = file["cases"].as_array().expect("cases").iter();
    let found: Vec<Value> = all.filter(|case| case["kind"] == kind).cloned().collect();
    assert!(!found.is_empty(), "no case of kind {kind}");
    found
}

/// A file of `tests/data/vectors/`.
pub fn read(name: &str) -> Value {
    let path = format!("{}/../../tests/data/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("JSON")
}

/// A hexadecimal field as limbs without leading zeros; zero is one limb.
pub fn case_number(case: &Value, field: &str) -> Vec<u64> {
    let hex = case[field].as_str().unwrap_or_else(|| panic!("{}: no field {field}", case["id"]));
    number(hex)
}

/// A hexadecimal number as limbs without leading zeros; zero is one limb.
pub fn number(hex: &str) -> Vec<u64> {
    let digits = hex.as_bytes().rchunks(16);
    let limbs = digits.map(|chunk| u64::from_str_radix(std::str::from_utf8(chunk).expect("text"), 16).expect("hex"));
    let mut limbs: Vec<u64> = limbs.collect();
    while limbs.len() > 1 && limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}
