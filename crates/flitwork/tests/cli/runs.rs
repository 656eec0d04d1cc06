//! `flitwork run`: reports, exit codes, control files.

use serde_json::{Value, json};

use crate::program::{Folder, capture};

const PASS: &str = "import \"core/Pass.clnp\";\n\nPass :: pass\n\nnic_in -> pass -> nic_out\n";
const COUNT: &str = "import \"core/Counter.clnp\";\n\nCounter :: count @ (1, 1)\n\nnic_in -> count -> nic_out\n";

/// 40 packets, all of them Ethernet; see `tests/data/pcaps/INDEX.md`.
fn tcp() -> String {
    format!("nic_in={}", capture("tcp-ethernet.pcap").display())
}

#[test]
fn table_shows_every_count() {
    let folder = Folder::new("table");
    folder.write("app/app.clnp", PASS);
    folder.write("app/in.pcap", std::fs::read(capture("tcp-ethernet.pcap")).unwrap());
    let ended = folder.flitwork(&["run", "app", "--out", "nic_out=out.pcap"]).with_code(0);
    assert_eq!(ended.stderr, "");
    let (table, throughput) = ended.stdout.trim_end().rsplit_once('\n').unwrap();
    // Packets and bytes as `capinfos` counts them: 40 packets, 2633 bytes of data.
    let expected = "\
Boundary ports
  port     way  packets  bytes  messages  file
  nic_in   in        40  2,633         0  app/in.pcap
  nic_out  out       40  2,633         0  out.pcap

Elements
  element  type  firings  packets in  out  dropped  created  ended  messages in  out
  pass     Pass       40          40   40        0        0      0            0    0

Channels
  channel             carries  messages  packets  fullest  held  dropped
  nic_in -> [1]pass   packet         40       40  1 of 64     0        0
  pass[1] -> nic_out  packet         40       40  1 of 64     0        0

Totals
  in 40 + created 0 = out 40 + dropped 0 + ended 0 + held 0";
    assert_eq!(table, expected);
    assert!(throughput.starts_with("  40 packets in 0.0") && throughput.ends_with(" Mbit/s"), "{throughput}");
}

#[test]
fn json_is_one_object_with_totals_and_rows() {
    let folder = Folder::new("json");
    folder.write("app.clnp", PASS);
    let ended = folder.flitwork(&["run", "app.clnp", "--in", &tcp(), "--json"]).with_code(0);
    assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let totals = json!({ "in": 40, "created": 0, "out": 40, "dropped": 0, "ended": 0, "held": 0 });
    assert_eq!(report["totals"], totals);
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "application",
        "boundaries",
        "channels",
        "elements",
        "engine",
        "errors",
        "interrupted",
        "now_ns",
        "signals",
        "start_ns",
        "throughput",
        "totals",
    ];
    assert_eq!(keys, expected);
    assert_eq!(
        (&report["engine"], &report["interrupted"], &report["errors"]),
        (&json!("jit"), &json!(false), &json!([]))
    );
    assert!(report["throughput"]["packets_per_second"].as_f64().unwrap() > 0.0);
}

#[test]
fn control_file_calls_signals_and_shows_results() {
    let folder = Folder::new("control");
    folder.write("app.clnp", COUNT);
    folder.write("rules", "# before the first packet\ncount.reset\ncount.stats\n");
    let args = ["run", "app.clnp", "--in", &tcp(), "--control", "rules", "--json"];
    let report: Value = serde_json::from_str(&folder.flitwork(&args).with_code(0).stdout).unwrap();
    let calls: Vec<(&Value, &Value, &Value)> = report["signals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (&call["line"], &call["call"], &call["results"]))
        .collect();
    let zeros = json!({ "n_packets": 0, "n_bytes": 0, "n_flits": 0, "n_missing": 0 });
    // `count.reset` gives nothing.
    assert_eq!(calls, [(&json!(3), &json!("count.stats"), &zeros)]);
}

#[test]
fn bad_control_line_is_named_and_nothing_is_applied() {
    let folder = Folder::new("control_bad");
    folder.write("app.clnp", COUNT);
    folder.write("rules", "count.reset\ncount.rset\n");
    let args = ["run", "app.clnp", "--in", &tcp(), "--control", "rules", "--out", "nic_out=out.pcap"];
    let ended = folder.flitwork(&args).with_code(1);
    assert!(ended.stderr.starts_with("error: rules:2:"), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("nothing of rules was applied, and nothing has run\n"), "{}", ended.stderr);
    assert_eq!((ended.stdout.as_str(), folder.names()), ("", vec!["app.clnp".to_string(), "rules".to_string()]));
}

#[test]
fn errors_in_the_source_end_with_1() {
    let folder = Folder::new("run_faulty");
    folder.write("app.clnp", "nic_in -> Nothing(1, 1) -> nic_out\n");
    let ended = folder.flitwork(&["run", "app.clnp", "--in", &tcp()]).with_code(1);
    assert!(ended.stderr.contains("error[E0201]"), "{}", ended.stderr);
}

#[test]
fn unknown_ports_are_usage_errors_that_name_the_known_ones() {
    let folder = Folder::new("ports");
    folder.write("app.clnp", PASS);
    let cases = [
        (vec!["--in", "tor_in=x.pcap"], "error: the graph has no input port `tor_in`; it has nic_in\n"),
        (vec!["--in", "nic_in=a.pcap", "--in", "nic_in=b.pcap"], "error: --in names port nic_in twice\n"),
        (vec![], "error: nothing to run on: a single file brings no capture with it; add `--in nic_in=FILE`\n"),
    ];
    for (args, expected) in cases {
        let ended = folder.flitwork(&[vec!["run", "app.clnp"], args].concat()).with_code(2);
        assert_eq!(ended.stderr, expected);
    }
    let args = ["run", "app.clnp", "--in", &tcp(), "--out", "nic_out=out.jsonl"];
    let expected = "error: nic_out carries packets: write out.pcap instead of out.jsonl\n";
    assert_eq!(folder.flitwork(&args).with_code(2).stderr, expected);
}

#[test]
fn failed_assert_stops_the_run_with_its_place() {
    let folder = Folder::new("assert");
    let source = ".element Wary <1, 1> {\n    .state {\n        uint n;\n    }\n    .packet {\n        n++;\n        \
                  assert(n < 3);\n        emit(1);\n    }\n}\n\nnic_in -> Wary(1, 1) -> nic_out\n";
    folder.write("app.clnp", source);
    let ended = folder.flitwork(&["run", "app.clnp", "--in", &tcp(), "--out", "nic_out=out.pcap"]).with_code(4);
    assert!(ended.stderr.starts_with("error: app.clnp:7:"), "{}", ended.stderr);
    // Two packets had left, and their file is whole: 24 bytes of header, 16 and 54 bytes each.
    assert_eq!(folder.read("out.pcap").len(), 24 + 2 * (16 + 54));
}

#[test]
fn strict_stops_at_an_access_out_of_range() {
    let folder = Folder::new("strict");
    let source = ".element Far <1, 1> {\n    .state {\n        uint table[4];\n    }\n    .packet {\n        \
                  table[pkt.avail()] = 1;\n        emit(1);\n    }\n}\n\nnic_in -> Far(1, 1) -> nic_out\n";
    folder.write("app.clnp", source);
    folder.flitwork(&["run", "app.clnp", "--in", &tcp()]).with_code(0);
    let ended = folder.flitwork(&["run", "app.clnp", "--in", &tcp(), "--strict"]).with_code(4);
    assert!(ended.stderr.contains("app.clnp:6:"), "{}", ended.stderr);
}
