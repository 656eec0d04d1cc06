//! Every pure op against vectors that Python computed (`tests/oracle/ir_eval.py` at the root of the repository).

use std::collections::BTreeSet;

use ir::{Attr, Opcode, Value, Width, eval};

const VECTORS: &str = include_str!("data/eval.txt");

#[test]
fn pure_ops_agree_with_python() {
    let mut ops = BTreeSet::new();
    let mut wrong = Vec::new();
    for line in VECTORS.lines() {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let op = Opcode::from_name(words.next().expect("an op")).expect("a known op");
        let attr = words.next().expect("an attribute");
        let attr = match op {
            Opcode::Const => Attr::Const(number(attr)),
            Opcode::Extract => Attr::Bit(attr.parse().expect("a bit")),
            _ => Attr::None,
        };
        let (expected, width) = operand(words.next().expect("a result"));
        let operands: Vec<(Value, Width)> = words.map(operand).collect();
        let borrowed: Vec<(&Value, Width)> = operands.iter().map(|(value, width)| (value, *width)).collect();
        let found = eval::pure(op, &attr, &borrowed, width);
        if found != expected {
            wrong.push(format!("{line}\n  found {found:x}"));
        }
        ops.insert(op);
    }
    assert_eq!(wrong, Vec::<String>::new());
    let pure: BTreeSet<Opcode> = Opcode::ALL.iter().copied().filter(|op| op.is_pure()).collect();
    assert_eq!(ops, pure, "the vectors cover every pure op");
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
