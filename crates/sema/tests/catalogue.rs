//! What the catalogue says of declared elements and groups, and what instances of one element have in common.

use ir::{Attr, Handler, Opcode};
use sema::catalogue::{ElementInfo, ElementKind, ParamInfo, PortInfo, SignalInfo};
use sema::loader::MapLoader;

const QUEUE: &str = "
.alias Fifo = Queue;
struct Key { uint32_t a; };

/// Keeps packets.
/// Signals: fill.
.element Queue <N, 1: packet + 2: Key> (uint N = 1 in 1..8, bool STRICT) {
    .packet (16) { emit(1); }
    /// How full it is.
    .signal fill(uint8_t which) -> (uint32_t n, bool full) { n = which; full = STRICT; }
}

.element_group Pair <1, 1> { begin -> Queue(1, 3, STRICT = true) -> end }
.alias Buffer = Fifo;
";

fn port(count: &str, message: &str) -> PortInfo {
    PortInfo { count: count.to_string(), message: message.to_string() }
}

fn pair(ty: &str, name: &str) -> (String, String) {
    (ty.to_string(), name.to_string())
}

#[test]
fn entries_repeat_the_source() {
    let analysis =
        sema::analyze("elements/queues/Queue.clnp", &MapLoader::new([("elements/queues/Queue.clnp", QUEUE)]));
    let [queue, group] = analysis.library.as_slice() else { panic!("{:?}", analysis.library) };
    let range = Some(("1".to_string(), "8".to_string()));
    let expected = ElementInfo {
        name: "Queue".to_string(),
        aliases: vec!["Buffer".to_string(), "Fifo".to_string()],
        kind: ElementKind::Packet,
        category: "queues".to_string(),
        file: "elements/queues/Queue.clnp".to_string(),
        doc: "Keeps packets.\nSignals: fill.".to_string(),
        inputs: vec![port("N", "packet")],
        outputs: vec![port("1", "packet"), port("2", "Key")],
        params: vec![
            ParamInfo { name: "N".to_string(), ty: "uint".to_string(), default: Some("1".to_string()), range },
            ParamInfo { name: "STRICT".to_string(), ty: "bool".to_string(), default: None, range: None },
        ],
        signals: vec![SignalInfo {
            name: "fill".to_string(),
            doc: "How full it is.".to_string(),
            params: vec![pair("uint8_t", "which")],
            results: vec![pair("uint32_t", "n"), pair("bool", "full")],
        }],
        span: queue.span,
    };
    assert_eq!(*queue, expected);
    assert_eq!((group.name.as_str(), group.kind, &group.inputs), ("Pair", ElementKind::Group, &vec![port("1", "any")]));
    assert_eq!(analysis.diagnostics, []);
    assert!(analysis.graph.is_none() && analysis.design.is_none());
}

#[test]
fn default_drop_reason_names_the_instance() {
    let app = ".element Refuse <1, 0> { .packet (16) { drop(); } }
               Refuse :: first, second
               nic_in -> first
               tor_in -> second";
    let design =
        sema::analyze("app.clnp", &MapLoader::new([("app.clnp", app)])).design.expect("the application is sound");
    let reasons: Vec<Attr> = design
        .elements
        .iter()
        .flat_map(|element| match &element.handler {
            Handler::Packet { head, .. } => head.ops.clone(),
            Handler::Flit(flit) => flit.ops.clone(),
        })
        .filter(|op| op.code == Opcode::Drop)
        .map(|op| op.attr)
        .collect();
    let expected = ["dropped by first", "dropped by second"].map(|text| Attr::Text(text.to_string()));
    assert_eq!(reasons, expected);
}
