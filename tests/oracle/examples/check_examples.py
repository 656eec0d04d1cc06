"""Computes the expected output of every example again from its committed input and control file, and compares it with the committed one."""

import json
import sys

import frames
import make


def differences(module):
    """Sentences about what differs."""
    folder = make.EXAMPLES / module.NAME / "expected"
    outputs, facts = make.compute(module)
    committed = {path.stem: frames.read_pcap(path) for path in folder.glob("*.pcap")}
    if committed.keys() != outputs.keys():
        yield f"ports {sorted(committed)} instead of {sorted(outputs)}"
    for port in committed.keys() & outputs.keys():
        if [record.key() for record in committed[port]] != [record.key() for record in outputs[port]]:
            yield f"{port}.pcap holds other packets"
    report_path = folder / "report.json"
    if facts and json.loads(report_path.read_text()) != json.loads(make.report_text(facts)):
        yield "report.json says something else"
    for path in (make.EXAMPLES / module.NAME).glob("in*.pcap"):
        fresh = {name: [record.key() for record in records] for name, records in module.inputs().items()}
        if [record.key() for record in frames.read_pcap(path)] != fresh[path.name]:
            yield f"{path.name} is not what the script makes"


def main():
    failed = 0
    for name in make.MODULES:
        module = __import__(name)
        found = list(differences(module))
        for sentence in found:
            print(f"{module.NAME}: {sentence}")
        failed += bool(found)
        if not found:
            print(f"{module.NAME}: expected output confirmed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
