//! Random designs through each pass and through the pipeline: they stay verified and do the same.

mod support;

use ir::generate::Random;
use ir::{
    Attr, Body, BodyKind, Builder, Design, Element, Opcode, Spans, Value, ValueId, Width, generate, print, verify,
};
use opt::{cse, dce, fold, pipeline, reads};

fn check_pass(name: &str, pass: impl Fn(&Element, &Body) -> Body) {
    for seed in 0..120 {
        let design = generate::design(seed, 60);
        let mut changed = design.clone();
        for (element, before) in changed.elements.iter_mut().zip(&design.elements) {
            for body in element.bodies_mut() {
                *body = pass(before, body);
            }
        }
        compare(name, seed, &design, &changed);
    }
}

fn compare(name: &str, seed: u64, before: &Design, after: &Design) {
    if let Err(errors) = verify(after) {
        panic!("{name}, seed {seed}: {}\n{}", errors[0], print(after, Spans::Omit));
    }
    for (old, new) in before.elements.iter().zip(&after.elements) {
        for ((body_name, old_body), (_, new_body)) in old.bodies().into_iter().zip(new.bodies()) {
            assert_eq!(new_body.compacted(), *new_body, "{name}, seed {seed}: canonical order");
            for run in 0..4 {
                let expected = support::run(before, old, old_body, run);
                let found = support::run(after, new, new_body, run);
                assert_eq!(found, expected, "{name}, seed {seed}, {} {body_name}, run {run}", old.name);
            }
        }
    }
}

#[test]
fn fold_keeps_behaviour() {
    check_pass("fold", |_, body| fold::run(body));
}

#[test]
fn cse_keeps_behaviour() {
    check_pass("cse", |_, body| cse::run(body));
}

#[test]
fn reads_keeps_behaviour() {
    check_pass("reads", |_, body| reads::run(body));
}

#[test]
fn dce_keeps_behaviour() {
    check_pass("dce", |element, body| dce::run(body, pipeline::loads(element)));
}

#[test]
fn pipeline_keeps_behaviour() {
    for seed in 1000..1120 {
        let design = generate::design(seed, 100);
        let optimized = pipeline::run(design.clone());
        compare("pipeline", seed, &design, &optimized);
    }
}

/// As deep as the verifier allows, in a test's small stack.
#[test]
fn deepest_nesting_passes() {
    let mut builder = Builder::new(BodyKind::Signal, &[Width::BOOL, Width::of(8)]);
    let [condition, x] = builder.params() else { unreachable!("two parameters") };
    let (condition, mut x) = (*condition, *x);
    let mut opened = Vec::new();
    for i in 0..ir::MAX_NESTING {
        let one = builder.const_u64(1, Width::of(8));
        x = builder.add(x, one);
        let known = builder.const_u64(i as u64 % 256, Width::of(8));
        let bit = builder.ult(known, x);
        let bit = builder.xor(bit, condition);
        opened.push((bit, x, builder.open(&[])));
    }
    builder.trace("{}", vec![x]);
    let mut inner = x;
    for (bit, x, open) in opened.into_iter().rev() {
        let then_side = builder.close(open, vec![inner]);
        let open = builder.open(&[]);
        let else_side = builder.close(open, vec![x]);
        inner = builder.if_regions(bit, then_side, else_side)[0];
    }
    let body = builder.finish(vec![inner]);
    let mut design = generate::design(0, 0);
    let width = Width::of(8);
    let field = |name: &str, width| ir::Field { name: name.to_string(), width, signed: false };
    design.elements[0].signals = vec![ir::Signal {
        name: "deep".to_string(),
        params: vec![field("c", Width::BOOL), field("x", width)],
        defaults: vec![None, None],
        results: vec![field("y", width)],
        body,
        doc: String::new(),
    }];
    assert_eq!(ir::parse(&print(&design, Spans::Show)).as_ref(), Ok(&design));
    let optimized = pipeline::run(design.clone());
    compare("pipeline", 0, &design, &optimized);
}

/// Small expressions over few widths and telling constants, so that the patterns of rules come up often.
#[test]
fn fold_keeps_small_expressions() {
    // The evaluator wants an element around the body; its state plays no part.
    let surrounding = generate::design(0, 0);
    for seed in 0..10_000 {
        let mut random = Random(seed);
        let body = expression(&mut random);
        let folded = dce::run(&fold::run(&cse::run(&fold::run(&body))), dce::Loads::Unobserved);
        for run in 0..12 {
            let expected = support::run(&surrounding, &surrounding.elements[0], &body, run);
            let found = support::run(&surrounding, &surrounding.elements[0], &folded, run);
            assert_eq!(found, expected, "seed {seed}, run {run}\n{}\n{}", show(&body), show(&folded));
        }
    }
}

fn show(body: &Body) -> String {
    body.ops
        .iter()
        .map(|op| format!("{:?} = {} {:?} {:?}\n", op.results, op.code.name(), op.attr, op.operands))
        .collect()
}

fn expression(random: &mut Random) -> Body {
    const BITS: [u32; 7] = [1, 4, 8, 16, 32, 64, 72];
    let params: Vec<Width> = (0..3).map(|_| Width::of(random.pick(&BITS))).collect();
    let mut builder = Builder::new(BodyKind::Signal, &params);
    let mut values = builder.params().to_vec();
    let pure: Vec<Opcode> = Opcode::ALL.iter().copied().filter(|op| op.is_pure() && *op != Opcode::Const).collect();
    for _ in 0..6 {
        let a = values[values.len() - 1 - random.below(values.len().min(3) as u64) as usize];
        let code = random.pick(&pure);
        let value = random_op(&mut builder, code, a, &values, random);
        values.push(value);
    }
    let last = values.split_off(values.len() - 2);
    builder.finish(last)
}

fn random_op(builder: &mut Builder, code: Opcode, a: ValueId, values: &[ValueId], random: &mut Random) -> ValueId {
    use ir::Shape;
    let width = builder.width(a);
    let bits = width.bits();
    let mut attr = Attr::None;
    let (operands, result) = match code.shape() {
        Shape::Unary => (vec![a], width),
        Shape::ByteSwap if bits.is_multiple_of(8) => (vec![a], width),
        Shape::Extend => (vec![a], Width::of(bits + random.pick(&[1, 4, 8, 32]))),
        Shape::Truncate if bits > 1 => (vec![a], Width::of(1 + random.below(u64::from(bits - 1)) as u32)),
        Shape::Extract => {
            let part = 1 + random.below(u64::from(bits)) as u32;
            attr = Attr::Bit(random.below(u64::from(bits - part) + 1) as u32);
            (vec![a], Width::of(part))
        }
        Shape::Concat => {
            let b = random.pick(values);
            (vec![a, b], Width::of(bits + builder.width(b).bits()))
        }
        Shape::Shift => {
            let amount = random.pick(&[0, 1, 4, 8, u64::from(bits) - 1, u64::from(bits)]);
            let amount = if random.one_in(4) { random.pick(values) } else { builder.const_u64(amount, Width::of(32)) };
            (vec![a, amount], width)
        }
        Shape::Select => {
            let condition = of_width(builder, Width::BOOL, values, random);
            (vec![condition, of_width(builder, width, values, random), a], width)
        }
        Shape::Binary | Shape::Compare => {
            let b = of_width(builder, width, values, random);
            let result = if code.shape() == Shape::Compare { Width::BOOL } else { width };
            (if random.one_in(3) { vec![b, a] } else { vec![a, b] }, result)
        }
        _ => return a,
    };
    builder.pure_unfolded(code, attr, &operands, result)
}

/// A value of that width, if there is one, or a constant at which rules change their mind.
fn of_width(builder: &mut Builder, width: Width, values: &[ValueId], random: &mut Random) -> ValueId {
    let fitting: Vec<ValueId> = values.iter().copied().filter(|&value| builder.width(value) == width).collect();
    if !fitting.is_empty() && random.one_in(2) {
        return random.pick(&fitting);
    }
    let ones = Value::ones(width);
    let half = Value::ones(Width::of(width.bits().div_ceil(2)));
    let value = match random.below(8) {
        0 => Value::ZERO,
        1 => Value::from(1),
        2 => Value::from(2).wrapped(width),
        3 => ones,
        4 => half,
        5 => Value::from(0xff).wrapped(width),
        6 => Value::from_i64(-2, width),
        _ => random.value(width),
    };
    builder.const_(value, width)
}
