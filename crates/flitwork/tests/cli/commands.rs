//! Every command but `run`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Folder;

const PASS: &str = "import \"core/Pass.clnp\";\n\nPass :: pass\n\nnic_in -> pass -> nic_out\n";

#[test]
fn unknown_command_is_a_usage_error() {
    let ended = Folder::new("unknown_command").flitwork(&["frobnicate"]).with_code(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.starts_with("error: unrecognized subcommand 'frobnicate'"), "{}", ended.stderr);
}

#[test]
fn help_lists_the_exit_codes() {
    let ended = Folder::new("help").flitwork(&["--help"]).with_code(0);
    assert_eq!(ended.stderr, "");
    for line in ["  0    done", "  3    a file is missing, damaged or cannot be written", "  130  interrupted"] {
        assert!(ended.stdout.contains(line), "{line} is not in\n{}", ended.stdout);
    }
}

#[test]
fn port_without_a_file_is_a_usage_error() {
    let folder = Folder::new("port_without_file");
    folder.write("app.clnp", PASS);
    let ended = folder.flitwork(&["run", "app.clnp", "--in", "nic_in"]).with_code(2);
    assert!(ended.stderr.contains("write it as PORT=FILE, for example nic_in=traffic.pcap"), "{}", ended.stderr);
}

#[test]
fn explain_prints_the_page_of_a_code() {
    let folder = Folder::new("explain");
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../diag/explain/E0201.md")).unwrap();
    assert_eq!(folder.flitwork(&["explain", "E0201"]).with_code(0).stdout, page);
    assert_eq!(folder.flitwork(&["explain", "e0201"]).with_code(0).stdout, page);
}

#[test]
fn explain_refuses_an_unknown_code() {
    let ended = Folder::new("explain_unknown").flitwork(&["explain", "E9999"]).with_code(2);
    assert_eq!(ended.stderr, "error: there is no code `E9999`; `flitwork explain` lists all of them\n");
}

#[test]
fn a_misspelt_element_is_recognised() {
    let folder = Folder::new("a_misspelt_element");
    let ended = folder.flitwork(&["elements", "Cuonter"]).with_code(2);
    assert_eq!(
        ended.stderr,
        "error: the library has no element `Cuonter`; did you mean Counter? `flitwork elements` lists all\n"
    );
}

#[test]
fn check_accepts_a_sound_application() {
    let folder = Folder::new("check_sound");
    folder.write("app.clnp", PASS);
    let ended = folder.flitwork(&["check", "app.clnp"]).with_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", "1 file: no errors\n"));
}

#[test]
fn check_reports_place_and_remedy() {
    let folder = Folder::new("check_faulty");
    folder.write("app.clnp", "import \"core/Pass.clnp\";\n\nnic_in -> Psas(1, 1) -> nic_out\n");
    let ended = folder.flitwork(&["check", "--json", "app.clnp"]).with_code(1);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["files"], &report["errors"]), (&1.into(), &1.into()), "{report:#}");
    let entry = &report["diagnostics"][0];
    assert_eq!(entry["file"], "app.clnp");
    assert_eq!((&entry["line"], &entry["column"]), (&3.into(), &11.into()), "{report:#}");
    assert!(entry["help"].as_str().unwrap().contains("Pass"), "{report:#}");
}

#[test]
fn reports_have_no_colours_in_a_pipe() {
    let folder = Folder::new("no_colours");
    folder.write("app.clnp", "nic_in -> Nothing -> nic_out\n");
    let ended = folder.flitwork(&["check", "app.clnp"]).with_code(1);
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}

#[test]
fn missing_file_is_named_with_what_to_do() {
    let ended = Folder::new("check_missing").flitwork(&["check", "nowhere.clnp"]).with_code(3);
    let expected = "error: cannot read nowhere.clnp: no such file or directory; \
                    check the path; it is relative to the current folder\n";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn folder_without_sources_is_refused() {
    let folder = Folder::new("check_empty");
    folder.write("docs/readme.txt", "nothing");
    let ended = folder.flitwork(&["check", "docs"]).with_code(3);
    assert_eq!(ended.stderr, "error: no .clnp file is in docs; name the folder that holds the sources\n");
}

#[test]
fn imports_are_found_in_library_folders() {
    let folder = Folder::new("library");
    folder.write("lib/elements/mine/Own.clnp", ".element Own <1, 1> {\n    .packet {\n        emit(1);\n    }\n}\n");
    folder.write("app.clnp", "import \"mine/Own.clnp\";\n\nnic_in -> Own(1, 1) -> nic_out\n");
    folder.flitwork(&["check", "app.clnp"]).with_code(1);
    folder.flitwork(&["check", "app.clnp", "--library", "lib"]).with_code(0);
    folder.flitwork(&["check", "app.clnp", "--library", "lib/elements"]).with_code(0);
}

#[test]
fn fmt_check_changes_nothing_and_fmt_is_idempotent() {
    let folder = Folder::new("fmt");
    let untidy = "import   \"core/Pass.clnp\";\nPass::pass\nnic_in->pass->nic_out";
    folder.write("app.clnp", untidy);
    let ended = folder.flitwork(&["fmt", "--check", "app.clnp"]).with_code(1);
    assert_eq!(ended.stdout, "app.clnp\n");
    assert_eq!(folder.read("app.clnp"), untidy.as_bytes());
    folder.flitwork(&["fmt", "app.clnp"]).with_code(0);
    let tidy = folder.read("app.clnp");
    assert_ne!(tidy, untidy.as_bytes());
    assert_eq!(folder.flitwork(&["fmt", "--check", "app.clnp"]).with_code(0).stdout, "");
    folder.flitwork(&["fmt", "app.clnp"]).with_code(0);
    assert_eq!(folder.read("app.clnp"), tidy);
    assert_eq!(folder.names(), ["app.clnp"]);
}

#[test]
fn fmt_formats_standard_input() {
    let folder = Folder::new("fmt_stdin");
    folder.write("app.clnp", "nic_in->Pass->nic_out");
    let mut command = folder.command(&["fmt", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"nic_in->Pass->nic_out").unwrap();
    let ended = child.wait_with_output().unwrap();
    folder.flitwork(&["fmt", "app.clnp"]).with_code(0);
    assert_eq!(ended.stdout, folder.read("app.clnp"));
}

#[test]
fn fmt_leaves_a_file_with_syntax_errors_alone() {
    let folder = Folder::new("fmt_errors");
    folder.write("app.clnp", "nic_in -> -> nic_out");
    let ended = folder.flitwork(&["fmt", "app.clnp"]).with_code(1);
    assert!(ended.stderr.contains("app.clnp:1:11"), "{}", ended.stderr);
    assert_eq!(folder.read("app.clnp"), b"nic_in -> -> nic_out");
}

#[test]
fn new_makes_a_project_that_checks() {
    let folder = Folder::new("new");
    folder.flitwork(&["new", "hello"]).with_code(0);
    folder.flitwork(&["check", "hello"]).with_code(0);
    folder.flitwork(&["fmt", "--check", "hello"]).with_code(0);
    let readme = String::from_utf8(folder.read("hello/README.md")).unwrap();
    assert!(readme.starts_with("# hello\n"), "{readme}");
    let ended = folder.flitwork(&["new", "hello"]).with_code(3);
    assert_eq!(ended.stderr, "error: hello exists already; choose another name\n");
}

#[test]
fn new_copies_an_example_that_runs() {
    let folder = Folder::new("new_from");
    folder.flitwork(&["new", "mine", "--from", "Firewall"]).with_code(0);
    let ended = folder.flitwork(&["run", "mine"]).with_code(0);
    assert!(ended.stdout.contains("\nTotals\n  in "), "{}", ended.stdout);
    let ended = folder.flitwork(&["new", "other", "--from", "Nothing"]).with_code(2);
    assert!(ended.stderr.starts_with("error: there is no example `Nothing`; there are "), "{}", ended.stderr);
}

#[test]
fn elements_describes_aliases_and_lists_all_as_json() {
    let folder = Folder::new("elements");
    let ended = folder.flitwork(&["elements", "--json"]).with_code(0);
    let listing: Value = serde_json::from_str(&ended.stdout).unwrap();
    let entries = listing["elements"].as_array().unwrap();
    let counter = entries.iter().find(|entry| entry["name"] == "Counter").expect("it is in the library");
    assert_eq!(counter["category"], "core");
    assert_eq!(counter["import"], "core/Counter.clnp");
    assert_eq!(counter["inputs"], serde_json::json!([{ "count": "1", "message": "packet" }]));
    assert!(counter["signals"].as_array().unwrap().iter().any(|signal| signal["name"] == "stats"), "{counter:#}");
    let ended = folder.flitwork(&["elements", "counter"]).with_code(2);
    assert!(ended.stderr.contains("did you mean Counter"), "{}", ended.stderr);
}

#[test]
fn graph_is_drawn_with_every_box() {
    let folder = Folder::new("graph");
    folder.write("app.clnp", PASS);
    let dot = folder.flitwork(&["graph", "app.clnp"]).with_code(0).stdout;
    let expected = "digraph \"app\" {\n  rankdir=LR;\n  node [fontname=\"monospace\"];\n  \
                    n0 [label=\"nic_in\", shape=box, style=rounded];\n  \
                    n1 [label=\"nic_out\", shape=box, style=rounded];\n  \
                    n2 [label=\"pass\\nPass\", shape=box];\n  n0 -> n2;\n  n2 -> n1;\n}\n";
    assert_eq!(dot, expected);
    folder.flitwork(&["graph", "app.clnp", "--svg", "app.svg"]).with_code(0);
    let svg = String::from_utf8(folder.read("app.svg")).unwrap();
    for name in [">nic_in</text>", ">pass</text>", ">Pass</text>", ">nic_out</text>"] {
        assert!(svg.contains(name), "{name} is not in\n{svg}");
    }
}

#[test]
fn dump_shows_the_graph_stage() {
    let folder = Folder::new("dump");
    folder.write("app.clnp", PASS);
    let ended = folder.flitwork(&["dump", "--stage", "graph", "app.clnp"]).with_code(0);
    let expected = "graph app\nboundary in nic_in\nboundary out nic_out\ninstance Pass :: pass () in: packet; out: packet\n\
                    channel nic_in -> [1]pass: packet, depth 64\nchannel pass[1] -> nic_out: packet, depth 64\n";
    assert_eq!(ended.stdout, expected);
    folder.flitwork(&["dump", "--stage", "graph", "--optimised", "app.clnp"]).with_code(2);
}

#[test]
fn manual_pages_and_completions_name_every_command() {
    let folder = Folder::new("man");
    folder.flitwork(&["man", "pages"]).with_code(0);
    let page = String::from_utf8(folder.read("pages/flitwork-run.1")).unwrap();
    assert!(page.contains("flitwork\\-run") || page.contains("flitwork-run"), "{page}");
    let script = folder.flitwork(&["completions", "bash"]).with_code(0).stdout;
    for command in ["check", "dump", "elements", "explain", "fmt", "graph", "new", "run"] {
        assert!(folder.path(&format!("pages/flitwork-{command}.1")).is_file(), "{command}");
        assert!(script.contains(&format!("flitwork__{command}")) || script.contains(command), "{command}");
    }
}
