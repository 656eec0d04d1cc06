//! Elaboration: graphs in source form against their elaborated text, written by hand from the language's rules.

use diag::RenderStyle;
use sema::loader::{LoadError, Loaded, Loader, MapLoader};

/// A few elements that every case may use.
const ELEMENTS: &str = "
struct Key { uint32_t src, dst; };
.element Pass <1, 1> (uint DEPTH = 16 in 1..4096, bool STRICT = false) {
    .handler { if (test_input_port(PORT_1)) set_output_port(1, read_input_port(PORT_1)); return PORT_1; }
}
.alias Relay = Pass;
.element Tee <1, N> (uint N = 2) {
    .handler {
        if (test_input_port(PORT_1)) {
            flit_t f = read_input_port(PORT_1);
            for (uint i = 1; i <= NUM_OUTPORT; i++) set_output_port(i, f);
        }
        return PORT_1;
    }
}
.element Mux <2, 1> {
    .handler {
        if (test_input_port(PORT_ALL)) set_output_port(1, read_input_port(PORT_ALL));
        return PORT_ALL;
    }
}
.element Parse <1, 1: packet + 1: Key> {
    .packet (64) { Key key = {pkt.be32(26), pkt.be32(30)}; set_output_port(2, key); emit(1); }
}
.element Count <1: Key, 0> {
    .state { uint n; }
    .handler { if (test_input_port(PORT_1)) { read_input_port(PORT_1); n++; } return PORT_1; }
}
";

/// The elaborated graph of an application over [`ELEMENTS`]; reports instead if there are any.
fn graph_text(app: &str) -> String {
    let source = format!("import \"elements.clnp\"\n{app}");
    let loader = MapLoader::new([("elements.clnp", ELEMENTS), ("Case/app.clnp", &source)]);
    let analysis = sema::analyze("Case/app.clnp", &loader);
    let render = |diagnostic| diag::render(diagnostic, &analysis.sources, RenderStyle::Plain);
    let reports: String = analysis.diagnostics.iter().map(render).collect();
    match (&analysis.graph, &analysis.design) {
        (Some(graph), Some(_)) if reports.is_empty() => sema::graph::to_text(graph),
        _ => reports,
    }
}

fn check(app: &str, expected: &str) {
    let expected: String = expected.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    assert_eq!(graph_text(app), expected);
}

#[test]
fn chain_with_flags_parameters_and_depths() {
    check(
        "host Relay :: a @ & (1, 1*128, 32, STRICT = true)
         Pass :: b
         nic_in -> a => [1]b[1*8]
         b[1] -> nic_out[1*4]",
        "graph Case
         boundary in nic_in
         boundary out nic_out
         instance host Pass :: a @ & (DEPTH = 32, STRICT = true) in: flit_t; out: flit_t
         instance Pass :: b (DEPTH = 16, STRICT = false) in: flit_t; out: flit_t
         channel nic_in -> [1]a: packet as flit_t, depth 64
         channel a[1] => [1]b: flit_t, depth 8
         channel b[1] -> nic_out: flit_t as packet, depth 4",
    );
}

#[test]
fn depth_of_the_first_node_is_that_of_its_outgoing_channel() {
    check(
        "Pass :: a (1, 1*32)
         nic_in -> a
         a[1*2] -> nic_out",
        "graph Case
         boundary in nic_in
         boundary out nic_out
         instance Pass :: a (DEPTH = 16, STRICT = false) in: flit_t; out: flit_t
         channel nic_in -> [1]a: packet as flit_t, depth 64
         channel a[1] -> nic_out: flit_t as packet, depth 2",
    );
}

#[test]
fn repeat_break_and_if_make_names() {
    check(
        "constexpr uint LAST = 2;
         .repeat(i, 0, 100) {
             if ($i == LAST) BREAK
             Pass :: stage$i (1, 1, $i + 1)
             if ($i == 0) { nic_in -> stage$i } else { stage0 -> stage$i -> nic_out }
         }",
        "graph Case
         boundary in nic_in
         boundary out nic_out
         instance Pass :: stage0 (DEPTH = 1, STRICT = false) in: flit_t; out: flit_t
         instance Pass :: stage1 (DEPTH = 2, STRICT = false) in: flit_t; out: flit_t
         channel nic_in -> [1]stage0: packet as flit_t, depth 64
         channel stage0[1] -> [1]stage1: flit_t, depth 64
         channel stage1[1] -> nic_out: flit_t as packet, depth 64",
    );
}

#[test]
fn anonymous_instances_count_by_element_and_ports_by_parameter() {
    check(
        "Tee :: t (N = 1)
         nic_in -> Tee(1, 1) -> t -> Tee(1, 1) -> Pass(1, 1) -> nic_out
         Idle -> Mux(1, 1) => Drop",
        "graph Case
         boundary in nic_in
         boundary out nic_out
         instance Tee :: t (N = 1) in: flit_t; out: flit_t
         instance Tee :: Tee#1 (N = 2) in: flit_t; out: flit_t
         instance Tee :: Tee#2 (N = 2) in: flit_t; out: flit_t
         instance Pass :: Pass#1 (DEPTH = 16, STRICT = false) in: flit_t; out: flit_t
         instance Mux :: Mux#1 () in: flit_t; out: flit_t
         channel nic_in -> [1]Tee#1: packet as flit_t, depth 64
         channel Tee#1[1] -> [1]t: flit_t, depth 64
         channel t[1] -> [1]Tee#2: flit_t, depth 64
         channel Tee#2[1] -> [1]Pass#1: flit_t, depth 64
         channel Pass#1[1] -> nic_out: flit_t as packet, depth 64
         channel Idle -> [1]Mux#1: flit_t, depth 64
         channel Mux#1[1] => Drop: flit_t, depth 64",
    );
}

#[test]
fn groups_are_inlined_with_their_parameters() {
    check(
        ".element_group Inner <1, 1> (uint D = 4) {
             begin -> Pass(1, 1, $D) -> Pass(1, 1, D + 1) => end
         }
         .element_group Outer <2, 2> (uint SIZE = 8) {
             Inner :: first (1, 1, SIZE)
             begin[1] -> first -> [2]end
             begin[2] -> [1]end
         }
         Outer :: o @ (SIZE = 2)
         nic_in -> [1]o[1] -> nic_out
         tor_in -> [2]o[2*16] -> tor_out",
        "graph Case
         boundary in nic_in
         boundary out nic_out
         boundary in tor_in
         boundary out tor_out
         instance Pass :: o/first/Pass#1 @ (DEPTH = 2, STRICT = false) in: flit_t; out: flit_t
         instance Pass :: o/first/Pass#2 @ (DEPTH = 3, STRICT = false) in: flit_t; out: flit_t
         channel o/first/Pass#1[1] -> [1]o/first/Pass#2: flit_t, depth 64
         channel o/first/Pass#2[1] => tor_out: flit_t as packet, depth 64
         channel nic_in -> [1]o/first/Pass#1: packet as flit_t, depth 64
         channel tor_in -> nic_out: packet, depth 16",
    );
}

#[test]
fn group_without_port_list_has_the_ports_that_it_uses() {
    check(
        ".element_group Both { begin[1] -> Pass(1, 1) -> [1]end; begin[2] -> Pass(1, 1) -> [2]end }
         Both :: b
         nic_in -> b -> nic_out
         tor_in -> [2]b[2] -> tor_out",
        "graph Case
         boundary in nic_in
         boundary out nic_out
         boundary in tor_in
         boundary out tor_out
         instance Pass :: b/Pass#1 (DEPTH = 16, STRICT = false) in: flit_t; out: flit_t
         instance Pass :: b/Pass#2 (DEPTH = 16, STRICT = false) in: flit_t; out: flit_t
         channel b/Pass#1[1] -> nic_out: flit_t as packet, depth 64
         channel b/Pass#2[1] -> tor_out: flit_t as packet, depth 64
         channel nic_in -> [1]b/Pass#1: packet as flit_t, depth 64
         channel tor_in -> [1]b/Pass#2: packet as flit_t, depth 64",
    );
}

#[test]
fn struct_messages_and_boundary_rates() {
    check(
        "nic_out (rate = 1'000'000'000)
         Parse :: parse
         nic_in -> parse[1] -> nic_out
         parse[2] -> Count(1, 0)",
        "graph Case
         boundary out nic_out (rate = 1000000000)
         boundary in nic_in
         instance Parse :: parse () in: packet; out: packet, Key
         instance Count :: Count#1 () in: Key; out: none
         channel nic_in -> [1]parse: packet, depth 64
         channel parse[1] -> nic_out: packet, depth 64
         channel parse[2] -> [1]Count#1: Key, depth 64",
    );
}

#[test]
fn cycle_with_a_depth_or_a_lossy_arrow_is_accepted() {
    let text = |back: &str| {
        format!(
            "Mux :: m
             Tee :: t
             nic_in -> m -> t -> nic_out
             t[2] {back}"
        )
    };
    let expected = |back: &str| {
        format!(
            "graph Case
             boundary in nic_in
             boundary out nic_out
             instance Mux :: m () in: flit_t, flit_t; out: flit_t
             instance Tee :: t (N = 2) in: flit_t; out: flit_t, flit_t
             channel nic_in -> [1]m: packet as flit_t, depth 64
             channel m[1] -> [1]t: flit_t, depth 64
             channel t[1] -> nic_out: flit_t as packet, depth 64
             channel t[2] {back}"
        )
    };
    check(&text("-> [2]m[1*512]"), &expected("-> [2]m: flit_t, depth 512"));
    check(&text("=> [2]m"), &expected("=> [2]m: flit_t, depth 64"));
}

#[test]
fn files_may_import_each_other() {
    let a = "import \"b.clnp\"\nimport \"./b.clnp\"\nnic_in -> B(1, 1) -> nic_out";
    let b = "import \"a.clnp\"\n.element B <1, 1> { .packet (16) { emit(1); } }";
    let analysis = sema::analyze("x/a.clnp", &MapLoader::new([("x/a.clnp", a), ("x/b.clnp", b)]));
    let names: Vec<&str> = analysis.sources.files().map(|(_, file)| file.name.as_str()).collect();
    assert_eq!(names, ["x/a.clnp", "x/b.clnp"]);
    assert_eq!(analysis.diagnostics, []);
    assert_eq!(analysis.design.map(|design| design.name), Some("a".to_string()));
}

/// Its one import is there and cannot be read.
struct Unreadable;

impl Loader for Unreadable {
    fn load(&self, importer: Option<&str>, path: &str) -> Result<Loaded, LoadError> {
        match importer {
            None => Ok(Loaded { name: path.to_string(), text: "import \"secret.clnp\"\n".to_string() }),
            Some(_) => Err(LoadError::Unreadable { name: path.to_string(), reason: "permission denied".to_string() }),
        }
    }
}

#[test]
fn unreadable_import_is_reported_with_the_reason() {
    let analysis = sema::analyze("app.clnp", &Unreadable);
    let [report] = analysis.diagnostics.as_slice() else { panic!("{:?}", analysis.diagnostics) };
    assert_eq!(report.code.name(), "E0002");
    assert_eq!(analysis.sources.place(report.primary.span), "app.clnp:1:8");
    assert_eq!(report.message, "cannot read `secret.clnp`: permission denied");
}

#[test]
fn absent_root_is_an_import_not_found() {
    let analysis = sema::analyze("app.clnp", &MapLoader::default());
    let codes: Vec<&str> = analysis.diagnostics.iter().map(|report| report.code.name()).collect();
    assert_eq!((codes, analysis.files.len()), (vec!["E0001"], 0));
}

#[test]
fn exploding_groups_are_stopped() {
    let mut app = ".element_group G0 <1, 1> { begin -> Pass(1, 1) -> end }\n".to_string();
    for level in 1..40 {
        let below = level - 1;
        app.push_str(&format!(
            ".element_group G{level} <1, 1> {{ begin -> G{below}(1, 1) -> G{below}(1, 1) -> end }}\n"
        ));
    }
    app.push_str("nic_in -> G39(1, 1) -> nic_out\n");
    assert!(graph_text(&app).starts_with("error[E0220]"), "{}", graph_text(&app));
}
