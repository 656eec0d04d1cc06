//! `flitwork signal`: talks to a run that goes on.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::args::SignalArgs;
use super::exit::{Exit, Failure};
use super::terminal::{say, say_json};
use crate::FileError;
use crate::live::client::Client;

/// Asks one thing and prints the answer.
pub fn run(args: &SignalArgs) -> Result<Exit, Failure> {
    let request = request(args)?;
    let explain = |error: io::Error| Failure::file(unreachable_run(&args.path, &error));
    let mut client = Client::connect(&args.path).map_err(explain)?;
    let answer = client.ask(&request).map_err(explain)?;
    if args.json {
        say_json(&answer)?;
    }
    if answer["ok"] != Value::Bool(true) {
        let message = answer["error"].as_str().unwrap_or("the run gave no reason").to_string();
        return Err(Failure { message, exit: Exit::Source });
    }
    if !args.json {
        say(&text(&answer))?;
    }
    Ok(Exit::Success)
}

fn request(args: &SignalArgs) -> Result<Value, Failure> {
    if let Some(file) = &args.load {
        // The run may have another current folder.
        let path = std::fs::canonicalize(file).map_err(|source| FileError::reading(file, source))?;
        let path =
            path.to_str().ok_or_else(|| Failure::file(format!("{}: its name is not UTF-8 text", file.display())))?;
        return Ok(json!({"load": path}));
    }
    Ok(match args {
        SignalArgs { signals: true, .. } => json!({"signals": true}),
        SignalArgs { counters: true, .. } => json!({"counters": true}),
        SignalArgs { stop: true, .. } => json!({"stop": true}),
        SignalArgs { call, .. } => json!({"call": call.join(" ")}),
    })
}

fn unreachable_run(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("no run listens at {path}; start one with `--control-socket {path}`"),
        io::ErrorKind::ConnectionRefused => format!("the run that listened at {path} has ended"),
        io::ErrorKind::PermissionDenied => format!("the run at {path} belongs to another user"),
        _ => format!("{path}: {error}"),
    }
}

/// An answer for people: results as `name=value`, one call a line; counters and signals as indented JSON or one call a line.
fn text(answer: &Value) -> String {
    if let Some(entries) = answer["entries"].as_array() {
        return entries.iter().map(|entry| line(entry) + "\n").collect();
    }
    if let Some(signals) = answer["signals"].as_array() {
        let words = |signal: &Value, key: &str| -> String {
            let fields = signal[key].as_array().into_iter().flatten();
            fields.map(|field| format!(" {}:{}", field["name"].as_str().unwrap_or_default(), field["bits"])).collect()
        };
        let line = |signal: &Value| {
            let call = signal["call"].as_str().unwrap_or_default();
            format!("{call}{} ->{}\n", words(signal, "arguments"), words(signal, "results"))
        };
        return signals.iter().map(line).collect();
    }
    if !answer["counters"].is_null() {
        return serde_json::to_string_pretty(&answer["counters"]).expect("reports have text keys only") + "\n";
    }
    match answer["results"].as_object() {
        Some(results) if !results.is_empty() => line(&answer["results"]) + "\n",
        Some(_) | None => String::new(),
    }
}

fn line(results: &Value) -> String {
    let fields = results.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    fields.collect::<Vec<_>>().join(" ")
}
