#!/usr/bin/env python3
"""Vectors for the pure ops of the intermediate representation, computed with Python's integers.

Run: tests/oracle/ir_eval.py > crates/ir/tests/data/eval.txt

One vector a line: op name, attribute (or -), result as width:hex, operands as width:hex. In hex, `{c,n}` stands for n digits c.
The meaning of each op is written here from the words of the op table, not from its implementation.
"""

import random
import re

WIDTHS = [1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 256, 1000, 8192]
RANDOM = random.Random(20160822)


def signed(x, w):
    return x - (1 << w) if x >> (w - 1) else x


def trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def sdiv(a, b, w):
    return trunc_div(signed(a, w), signed(b, w)) if b else -1


def srem(a, b, w):
    a_signed, b_signed = signed(a, w), signed(b, w)
    return a_signed - b_signed * trunc_div(a_signed, b_signed) if b else a


BINARY = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul": lambda a, b, w: a * b,
    "udiv": lambda a, b, w: a // b if b else -1,
    "urem": lambda a, b, w: a % b if b else a,
    "sdiv": sdiv,
    "srem": srem,
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
}
COMPARE = {
    "eq": lambda a, b, w: a == b,
    "ne": lambda a, b, w: a != b,
    "ult": lambda a, b, w: a < b,
    "ule": lambda a, b, w: a <= b,
    "slt": lambda a, b, w: signed(a, w) < signed(b, w),
    "sle": lambda a, b, w: signed(a, w) <= signed(b, w),
}
SHIFT = {
    "shl": lambda a, n, w: 0 if n >= w else a << n,
    "lshr": lambda a, n, w: 0 if n >= w else a >> n,
    "ashr": lambda a, n, w: signed(a, w) >> min(n, w),
}
UNARY = {
    "not": lambda a, w: ~a,
    "neg": lambda a, w: -a,
}


def digits(x):
    return re.sub(r"(.)\1{7,}", lambda run: "{%s,%d}" % (run[1], len(run[0])), "%x" % x)


def line(op, attr, result_width, result, *operands):
    result &= (1 << result_width) - 1
    operands = " ".join("%d:%s" % (w, digits(x)) for x, w in operands)
    print(op, attr, "%d:%s" % (result_width, digits(result)), operands)


def edges(w):
    top = 1 << (w - 1)
    full = (1 << w) - 1
    return sorted({x & full for x in (0, 1, 2, 3, top - 1, top, top + 1, full - 1, full, full // 3, 1 << w // 2, (1 << w // 2) - 1)})


def rand(w):
    # A random length as well, so that quotients and limbs of all sizes occur.
    return RANDOM.getrandbits(w) >> RANDOM.choice([0, 0, RANDOM.randrange(w)])


def sampled(w):
    """Operands pairs: all pairs of edges up to 8 bits, a share of them above, and random ones."""
    pairs = [(a, b) for a in edges(w) for b in edges(w)]
    share = 24 if w <= 256 else 10
    pairs = pairs if w <= 8 else RANDOM.sample(pairs, share)
    n_random = 20 if w <= 256 else 6 if w <= 1000 else 2
    return pairs + [(rand(w), rand(w)) for _ in range(n_random)]


def amounts(w):
    return [(0, 1), (1, 1), (w - 1, 32), (w, 32), (w + 1, 64), (w // 2, 14), (RANDOM.randrange(w), 16), (1 << 64, 65), (255, 8), (1 << 31, 32)]


def main():
    for w in WIDTHS:
        for op, f in BINARY.items():
            for a, b in sampled(w):
                line(op, "-", w, f(a, b, w), (a, w), (b, w))
        # Divisors with top limbs that make the first guess of a quotient digit too high.
        if w in (128, 256, 1000, 8192):
            for a, b in hard_divisions(w):
                line("udiv", "-", w, a // b, (a, w), (b, w))
                line("urem", "-", w, a % b, (a, w), (b, w))
        for op, f in COMPARE.items():
            for a, b in sampled(w):
                line(op, "-", 1, int(f(a, b, w)), (a, w), (b, w))
            a = rand(w)
            line(op, "-", 1, int(f(a, a, w)), (a, w), (a, w))
        for op, f in SHIFT.items():
            for n, n_width in amounts(w):
                for a in RANDOM.sample(edges(w), 2) + [rand(w) | 1 << (w - 1)]:
                    line(op, "-", w, f(a, n, w), (a, w), (n, n_width))
        values = edges(w) + [rand(w) for _ in range(4 if w < 8192 else 1)]
        for op, f in UNARY.items():
            for a in values:
                line(op, "-", w, f(a, w), (a, w))
        for a in values:
            line("const", "%x" % a if w < 8192 else digits(a), w, a)
            if w % 8 == 0:
                line("bswap", "-", w, int.from_bytes(a.to_bytes(w // 8, "big"), "little"), (a, w))
            for wider in [x for x in WIDTHS if x > w]:
                line("zext", "-", wider, a, (a, w))
                line("sext", "-", wider, signed(a, w), (a, w))
            for narrower in [x for x in WIDTHS if x < w]:
                line("trunc", "-", narrower, a, (a, w))
        for a, b in sampled(w)[-6:]:
            for c in (0, 1):
                line("select", "-", w, a if c else b, (c, 1), (a, w), (b, w))
        for low in WIDTHS:
            if w + low <= 8192:
                for a, b in [(rand(w), rand(low)), ((1 << w) - 1, 0), (1, (1 << low) - 1)]:
                    line("concat", "-", w + low, a << low | b, (a, w), (b, low))
        for width in [x for x in WIDTHS if x <= w]:
            for bit in sorted({0, w - width, (w - width) // 2, RANDOM.randrange(w - width + 1)}):
                a = rand(w)
                line("extract", bit, width, a >> bit, (a, w))


def hard_divisions(w):
    half = w // 2 // 64 * 64
    b = (1 << (half - 1)) + 1
    yield (b << (w - half - 1)) - 1, b
    b = (1 << half) - 1
    yield b * b, b
    yield b * b - 1, b
    b = (1 << (half - 1)) | ((1 << (half - 64)) - 1)
    for _ in range(3):
        q = RANDOM.getrandbits(w - half)
        yield min(b * q + b - 1, (1 << w) - 1), b
    # Knuth's exercise: digits of all ones over 1000…0111…1, where adding back happens.
    b = (1 << 127) | ((1 << 64) - 1)
    yield (1 << w) - (1 << (w - 65)), b
    yield ((b << 64) - 1) & ((1 << w) - 1), b


main()
