"""Makes `in*.pcap` and `expected/` of the examples: `python make.py [NAME…]`.

Each example has a module here with `inputs()`, and `expected(records, calls)` that computes what must come out. `check_examples.py` does
the second part again and compares.
"""

import json
import sys
from pathlib import Path

import control
import frames

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
# The modules that describe an example; the others are what they share.
MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\nNAME = " in path.read_text())


def calls_of(folder):
    path = folder / "control"
    return control.read_control(path) if path.exists() else []


def compute(module):
    """Outputs by port and the other facts, from the committed inputs."""
    folder = EXAMPLES / module.NAME
    records = {path.name: frames.read_pcap(path) for path in sorted(folder.glob("in*.pcap"))}
    return module.expected(records, calls_of(folder))


def report_text(facts):
    """`drops` (reason and packets by instance) and `signals` as the report of a run shows them; other facts as they are."""
    report = {name: value for name, value in facts.items() if name != "drops"}
    if "drops" in facts:
        report["elements"] = {instance: {"drops": drops} for instance, drops in facts["drops"].items()}
    return json.dumps(report, indent=1) + "\n"


def main():
    for name in MODULES:
        module = __import__(name)
        if len(sys.argv) > 1 and module.NAME not in sys.argv[1:]:
            continue
        folder = EXAMPLES / module.NAME
        for file, records in module.inputs().items():
            frames.write_pcap(folder / file, records)
        if hasattr(module, "control_text"):
            (folder / "control").write_text(module.control_text())
        outputs, facts = compute(module)
        (folder / "expected").mkdir(exist_ok=True)
        for port, records in outputs.items():
            frames.write_pcap(folder / "expected" / f"{port}.pcap", records)
        if facts:
            (folder / "expected" / "report.json").write_text(report_text(facts))
        (folder / "oracle").write_text(module.ORACLE + "\n")
        counts = ", ".join(f"{port} {len(records)}" for port, records in outputs.items())
        print(f"{module.NAME}: {counts}")


if __name__ == "__main__":
    main()
