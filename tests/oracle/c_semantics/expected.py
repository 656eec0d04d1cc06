#!/usr/bin/env python3
"""What C says of the bodies in tests/run/c_*.clnp.

Run: tests/oracle/c_semantics/expected.py        writes tests/run/c_NAME.in.txt and .expected

Each such file holds functions that are C++ as well as Flitwork, between the lines `// C++ from here` and `// C++ to here`; one is
`uint64_t compute(uint32_t a, int32_t b, uint64_t c)`. They are compiled with `g++ -O0 -fwrapv` and called with the arguments
below. The element reads the arguments from the first 16 bytes of its packet and writes the result to the next 8.
"""

import pathlib
import re
import subprocess
import tempfile

ARGUMENTS = [
    (0, 0, 0),
    (1, -1, 2),
    (0x80000000, 0x7FFFFFFF, 0xFFFFFFFFFFFFFFFF),
    (0xFFFFFFFF, -0x80000000, 0x8000000000000000),
    (200, 100, 70000),
    (7, -7, 0x0123456789ABCDEF),
    (0xDEADBEEF, 12345678, 0xCAFEBABE12345678),
    (3, 5, 9),
]
RUN = pathlib.Path(__file__).parents[2] / "run"
RUN_BYTES_MIN = 12


def cplusplus(source):
    return re.search(r"// C\+\+ from here\n(.*)// C\+\+ to here\n", source, re.DOTALL)[1]


def results(functions):
    calls = "".join(
        f'    printf("%016llx\\n", (unsigned long long)compute({a}u, (int32_t){b & 0xFFFFFFFF}u, {c}ull));\n' for a, b, c in ARGUMENTS
    )
    program = "#include <cstdint>\n#include <cstdio>\ntypedef unsigned int uint;\n" + functions + "int main() {\n" + calls + "}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "main.cpp").write_text(program)
        subprocess.run(["g++", "-O0", "-fwrapv", "-w", "-o", path / "main", path / "main.cpp"], check=True)
        return subprocess.run([path / "main"], check=True, capture_output=True, text=True).stdout.split()


def shown(data):
    """Hex; long runs of equal bytes as `HH*N`, as the test prints packets."""
    parts = []
    at = 0
    plain = ""
    while at < len(data):
        end = at
        while end < len(data) and data[end] == data[at]:
            end += 1
        if end - at >= RUN_BYTES_MIN:
            parts += [plain] if plain else []
            plain = ""
            parts.append(f"{data[at]:02x}*{end - at}")
        else:
            plain += data[at:end].hex()
        at = end
    return " ".join(parts + ([plain] if plain else []))


def main():
    for path in sorted(RUN.glob("c_*.clnp")):
        source = path.read_text()
        if "// C++ from here" not in source:
            continue
        packets, lines = [], []
        for number, ((a, b, c), result) in enumerate(zip(ARGUMENTS, results(cplusplus(source))), 1):
            head = f"{a:08x}{b & 0xFFFFFFFF:08x}{c:016x}"
            packets.append(f"@{number} {head} 00*48\n")
            data = bytes.fromhex(head + result) + bytes(40)
            lines.append(f"nic_out @{number} {shown(data)}\n")
        n = len(ARGUMENTS)
        lines.append(f"totals in={n} created=0 out={n} dropped=0 ended=0 held=0\n")
        path.with_suffix(".in.txt").write_text("".join(packets))
        path.with_suffix(".expected").write_text("".join(lines))


main()
