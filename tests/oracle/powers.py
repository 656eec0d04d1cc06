"""Powers modulo odd numbers by Python's `pow`, for the kernels of `crates/crypto`.

Run: python3 tests/oracle/powers.py > tests/data/vectors/powers.json
Sizes stand on both sides of limb and block borders of either radix; a third of the numbers are sparse or
full of ones, so that carries run far.
"""

import json
import random

MODULUS_BITS = [
    2, 3, 52, 53, 63, 64, 65, 127, 128, 129, 256, 511, 512, 513, 518, 519, 520, 521, 576, 640, 768,
    1023, 1024, 1025, 1038, 1039, 1040, 1041, 1088, 1536, 1558, 1559, 1560, 2047, 2048, 2049, 2078, 2079, 2080,
    3072, 3118, 3119, 4095, 4096, 4097, 6144, 8191, 8192,
]  # fmt: skip


def number(rng: random.Random, bits: int) -> int:
    """A number of exactly `bits` bits."""
    kind = rng.randrange(6)
    top = 1 << (bits - 1)
    if kind == 0:
        return top | (1 << rng.randrange(bits))
    if kind == 1:
        return ((1 << bits) - 1) ^ ((1 << rng.randrange(bits)) >> 1)
    return top | rng.getrandbits(bits)


def case(rng: random.Random, bits: int) -> dict[str, str]:
    n = number(rng, bits) | 1
    m = number(rng, max(1, bits - rng.randrange(3))) % n
    e = number(rng, rng.choice([1, 17, 64, min(bits, 1024)]))
    return {"m": f"{m:x}", "e": f"{e:x}", "n": f"{n:x}", "result": f"{pow(m, e, n):x}"}


def main() -> None:
    rng = random.Random(6)
    cases = [case(rng, bits) for bits in MODULUS_BITS for _ in range(3)]
    print(json.dumps({"source": "tests/oracle/powers.py", "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
