//! Every pure op in running code, against vectors that Python computed (`tests/oracle/ir_eval.py` at the repository's root).
//!
//! Each vector runs twice: with its operands as arguments, and as constants, which the code generator folds.

use ir::engine::Options;
use ir::{Attr, Body, BodyKind, Design, Element, ElementId, Op, Opcode, Signal, Value, ValueId, Width};
use jit::Machine;

const VECTORS: &str = include_str!("../../ir/tests/data/eval.txt");
const ELEMENT: &str = "design \"vector\"\nfile \"vector.clnp\"\nelement e: E control @0:0..0 {\n    handler {\n        \
                       %0: i32 = const 0\n        yield %0\n    }\n    signal f() -> () {\n    }\n}\n";
/// Signals of one element.
const CHUNK: usize = 400;

struct Vector<'a> {
    line: &'a str,
    code: Opcode,
    attr: Attr,
    operands: Vec<(Value, Width)>,
    expected: (Value, Width),
}

#[test]
fn pure_ops_agree_with_python() {
    let vectors: Vec<Vector<'_>> = VECTORS.lines().map(vector).collect();
    let mut wrong = Vec::new();
    for chunk in vectors.chunks(CHUNK) {
        let design = design(chunk);
        let verified = ir::verify(&design).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let mut machine = Machine::new(verified, ElementId(0), Options::default()).expect("code can be made here");
        for (idx, vector) in chunk.iter().enumerate() {
            let arguments: Vec<Value> = vector.operands.iter().map(|operand| operand.0.clone()).collect();
            for (kind, signal, arguments) in [("arguments", 2 * idx, &arguments[..]), ("constants", 2 * idx + 1, &[])] {
                let found = machine.call_signal(signal, 0, arguments).expect("pure ops do not trap").remove(0);
                if found != vector.expected.0 {
                    wrong.push(format!("{} as {kind}\n  found {found:x}", vector.line));
                }
            }
        }
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn design(vectors: &[Vector<'_>]) -> Design {
    let mut design = ir::parse(ELEMENT).expect("the text is a design");
    let element: &mut Element = &mut design.elements[0];
    let template = element.signals.remove(0);
    for (idx, vector) in vectors.iter().enumerate() {
        let widths: Vec<Width> = vector.operands.iter().map(|operand| operand.1).collect();
        let mut body = Body::new(BodyKind::Signal, &widths);
        let params = body.region(body.root).params.clone();
        finish(&mut body, vector, params);
        element.signals.push(signal(&template, format!("v{idx}"), body));
        let mut body = Body::new(BodyKind::Signal, &[]);
        let root = body.root;
        let constant = |(value, width): &(Value, Width)| {
            let id = body.push(root, op(Opcode::Const, Attr::Const(value.clone()), vec![]), &[*width]);
            body.op(id).results[0]
        };
        let constants = vector.operands.iter().map(constant).collect();
        finish(&mut body, vector, constants);
        element.signals.push(signal(&template, format!("c{idx}"), body));
    }
    design
}

fn finish(body: &mut Body, vector: &Vector<'_>, operands: Vec<ValueId>) {
    let root = body.root;
    let id = body.push(root, op(vector.code, vector.attr.clone(), operands), &[vector.expected.1]);
    let result = body.op(id).results[0];
    body.regions[root.index()].yields = vec![result];
}

fn signal(template: &Signal, name: String, body: Body) -> Signal {
    let field = |(idx, &value): (usize, &ValueId)| ir::Field {
        name: format!("x{idx}"),
        width: body.width(value),
        signed: false,
    };
    let root = body.region(body.root);
    let (params, results) =
        (root.params.iter().enumerate().map(field).collect(), root.yields.iter().enumerate().map(field).collect());
    let defaults = vec![None; root.params.len()];
    Signal { name, params, defaults, results, body, ..template.clone() }
}

fn op(code: Opcode, attr: Attr, operands: Vec<ValueId>) -> Op {
    Op { code, attr, operands, results: vec![], regions: vec![], span: None }
}

fn vector(line: &str) -> Vector<'_> {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let code = Opcode::from_name(words.next().expect("an op")).expect("a known op");
    let attr = words.next().expect("an attribute");
    let attr = match code {
        Opcode::Const => Attr::Const(number(attr)),
        Opcode::Extract => Attr::Bit(attr.parse().expect("a bit")),
        _ => Attr::None,
    };
    let expected = operand(words.next().expect("a result"));
    Vector { line, code, attr, operands: words.map(operand).collect(), expected }
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
