//! Every pure op in a running body, against vectors that Python computed (`tests/oracle/ir_eval.py` at the repository's root).

use interp::{Machine, Options};
use ir::{Attr, Body, BodyKind, Design, ElementId, Op, Opcode, Value, Width};

const VECTORS: &str = include_str!("../../ir/tests/data/eval.txt");
const ELEMENT: &str = "design \"vector\"\nfile \"vector.clnp\"\nelement e: E control @0:0..0 {\n    handler {\n        \
                       %0: i32 = const 0\n        yield %0\n    }\n    signal f() -> () {\n    }\n}\n";

#[test]
fn pure_ops_agree_with_python() {
    let mut design = ir::parse(ELEMENT).expect("the text is a design");
    let mut wrong = Vec::new();
    for line in VECTORS.lines() {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let code = Opcode::from_name(words.next().expect("an op")).expect("a known op");
        let attr = words.next().expect("an attribute");
        let attr = match code {
            Opcode::Const => Attr::Const(number(attr)),
            Opcode::Extract => Attr::Bit(attr.parse().expect("a bit")),
            _ => Attr::None,
        };
        let (expected, width) = operand(words.next().expect("a result"));
        let operands: Vec<(Value, Width)> = words.map(operand).collect();
        let found = run(&mut design, code, attr, &operands, width);
        if found != expected {
            wrong.push(format!("{line}\n  found {found:x}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn run(design: &mut Design, code: Opcode, attr: Attr, operands: &[(Value, Width)], width: Width) -> Value {
    let widths: Vec<Width> = operands.iter().map(|operand| operand.1).collect();
    let mut body = Body::new(BodyKind::Signal, &widths);
    let params = body.region(body.root).params.clone();
    let op = Op { code, attr, operands: params, results: vec![], regions: vec![], span: None };
    let root = body.root;
    let id = body.push(root, op, &[width]);
    let result = body.op(id).results[0];
    body.regions[root.index()].yields = vec![result];
    design.elements[0].signals[0].body = body;
    let mut machine = Machine::new(design, ElementId(0), Options::default());
    let arguments: Vec<Value> = operands.iter().map(|operand| operand.0.clone()).collect();
    machine.call_signal(0, 0, &arguments).expect("pure ops do not trap").remove(0)
}

fn operand(text: &str) -> (Value, Width) {
    let (width, digits) = text.split_once(':').expect("width and digits");
    (number(digits), Width::of(width.parse().expect("a width")))
}

/// Hex digits in which `{c,n}` stands for `n` digits `c`.
fn number(text: &str) -> Value {
    let mut digits = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (run, after) = after.split_once('}').expect("a closed run");
        let (digit, count) = run.split_once(',').expect("digit and count");
        digits += before;
        digits += &digit.repeat(count.parse().expect("a count"));
        rest = after;
    }
    digits += rest;
    Value::from_digits(&digits, 16).expect("hex digits")
}
