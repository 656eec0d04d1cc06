//! One example: runs as its README says, and must write what its `expected` folder holds.
//!
//! `expected/<port>.pcap` and `.pcapng` are compared packet by packet (time, link type, lengths, bytes), `expected/<port>.jsonl`
//! line by line as JSON values, and of `expected/report.json` every value that it holds with the run's report. Where the report has an
//! array of objects with names, the expected file may have an object by name: `"elements": {"fw": {"drops": {"rule": 3}}}`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use packet::capture::{CaptureReader, Record};
use serde_json::Value;

use crate::packets::hex;

/// The examples, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("readable").path());
    let apps = paths.filter(|path| path.join("app.clnp").is_file());
    let mut names: Vec<String> =
        apps.map(|path| path.file_name().expect("has one").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs an example; the error tells the first difference.
pub fn check(example: &Path, name: &str, engine: &str) -> Result<(), String> {
    let expected = files(&example.join("expected"));
    if expected.is_empty() {
        return Err("it has no expected output".to_string());
    }
    let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(engine).join(name);
    let _ = fs::remove_dir_all(&written);
    fs::create_dir_all(&written).expect("writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitwork"));
    command.arg("run").arg(example).args(["--json", "--engine", engine]);
    let ports: Vec<&PathBuf> = expected.iter().filter(|path| !path.ends_with("report.json")).collect();
    for path in &ports {
        let port = path.file_stem().expect("has one").to_string_lossy();
        let file = written.join(path.file_name().expect("has one"));
        command.arg("--out").arg(format!("{port}={}", file.display()));
    }
    let output = command.output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{}: {stderr}", output.status));
    }
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("report: {error}"))?;
    balance(&report["totals"])?;
    for path in expected {
        let file = path.file_name().expect("has one");
        let difference = match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => compare_lines(&path, &written.join(file)),
            Some("json") => compare_report(&read_json(&path), &report),
            Some(_) | None => compare_captures(&path, &written.join(file)),
        };
        difference.map_err(|difference| format!("{}: {difference}", file.display()))?;
    }
    Ok(())
}

/// in + created = out + dropped + ended + held.
fn balance(totals: &Value) -> Result<(), String> {
    let count = |name: &str| totals[name].as_u64().ok_or(format!("totals has no {name}: {totals}"));
    let came = count("in")? + count("created")?;
    let went = count("out")? + count("dropped")? + count("ended")? + count("held")?;
    if came == went { Ok(()) } else { Err(format!("packets unaccounted for: {totals}")) }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let wanted = ["pcap", "pcapng", "jsonl"];
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("readable").path());
    let is_wanted = |path: &PathBuf| {
        path.ends_with("report.json")
            || path.extension().is_some_and(|extension| wanted.iter().any(|known| extension == *known))
    };
    let mut files: Vec<PathBuf> = paths.filter(is_wanted).collect();
    files.sort();
    files
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("it is there");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn compare_report(expected: &Value, actual: &Value) -> Result<(), String> {
    let mut expected = expected.clone();
    let signals = expected.as_object_mut().and_then(|report| report.remove("signals"));
    let mut calls: Vec<&Value> = actual["signals"].as_array().into_iter().flatten().collect();
    for wanted in signals.as_ref().and_then(Value::as_array).into_iter().flatten() {
        if let Some(found) = calls.iter().position(|call| compare_json(wanted, call, "").is_ok()) {
            calls.remove(found);
        } else {
            let same_call = |call: &&Value| call["call"] == wanted["call"] && call["line"] == wanted["line"];
            let near = actual["signals"].as_array().and_then(|calls| calls.iter().find(same_call));
            return Err(format!(
                "no such signal call\n  expected {wanted}\n  actual   {}",
                near.unwrap_or(&Value::Null)
            ));
        }
    }
    compare_json(&expected, actual, "report")
}

/// Every value in `expected` must be in `actual`; objects may have more members.
fn compare_json(expected: &Value, actual: &Value, place: &str) -> Result<(), String> {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => expected.iter().try_for_each(|(name, value)| {
            compare_json(value, actual.get(name).unwrap_or(&Value::Null), &format!("{place}.{name}"))
        }),
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let mut pairs = expected.iter().zip(actual).enumerate();
            pairs.try_for_each(|(at, (expected, actual))| compare_json(expected, actual, &format!("{place}[{at}]")))
        }
        // Drops by reason must be all there are.
        (Value::Object(expected), Value::Array(actual)) if place.ends_with(".drops") => {
            let reasons =
                actual.iter().filter_map(|drop| Some((drop["reason"].as_str()?.to_string(), drop["packets"].clone())));
            let actual = reasons.collect::<serde_json::Map<String, Value>>();
            match *expected == actual {
                true => Ok(()),
                false => Err(format!("{place}\n  expected {expected:?}\n  actual   {actual:?}")),
            }
        }
        (Value::Object(expected), Value::Array(actual)) => expected.iter().try_for_each(|(name, value)| {
            let named = actual.iter().find(|entry| entry["name"] == name.as_str());
            compare_json(value, named.unwrap_or(&Value::Null), &format!("{place}.{name}"))
        }),
        (Value::Array(expected), Value::Array(actual)) => {
            Err(format!("{place}: {} entries expected, {} there", expected.len(), actual.len()))
        }
        (expected, actual) if expected == actual => Ok(()),
        (expected, actual) => Err(format!("{place}\n  expected {expected}\n  actual   {actual}")),
    }
}

fn compare_lines(expected: &Path, actual: &Path) -> Result<(), String> {
    let lines = |path: &Path| -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.lines().map(|line| serde_json::from_str(line).expect("one JSON value a line")).collect()
    };
    let (expected, actual) = (lines(expected), lines(actual));
    for (at, pair) in expected.iter().zip(&actual).enumerate() {
        compare_json(pair.0, pair.1, &format!("line {}", at + 1))?;
    }
    match expected.len() == actual.len() {
        true => Ok(()),
        false => Err(format!("{} lines expected, {} written", expected.len(), actual.len())),
    }
}

fn compare_captures(expected: &Path, actual: &Path) -> Result<(), String> {
    let open = |path: &Path| {
        let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        CaptureReader::new(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let (mut old, mut new) = (open(expected), open(actual));
    let (mut old_record, mut new_record) = (Record::default(), Record::default());
    for number in 1.. {
        let more = |reader: &mut CaptureReader<fs::File>, record: &mut Record| reader.next_into(record).expect("sound");
        match (more(&mut old, &mut old_record), more(&mut new, &mut new_record)) {
            (false, false) => break,
            (true, false) => return Err(format!("packet {number} is missing: {}", shown(&old_record))),
            (false, true) => return Err(format!("packet {number} is too many: {}", shown(&new_record))),
            (true, true) if old_record.frame() == new_record.frame() => {}
            (true, true) => {
                let (old, new) = (shown(&old_record), shown(&new_record));
                return Err(format!("packet {number}\n  expected {old}\n  actual   {new}"));
            }
        }
    }
    Ok(())
}

fn shown(record: &Record) -> String {
    format!("@{} link {} len={} {}", record.time_ns, record.link_type, record.orig_len, hex(&record.data))
}
