"""10,000 flows of each IP version: recomputes what each server got in tests/run/L4LoadBalancer_even, and its share within 5 %.

The frames are made here anew, and given to the model of tests/oracle/examples/l4_load_balancer.py.
"""

import json
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/oracle/examples"))

from control import Timeline, read_control  # noqa: E402
from frames import Record, decode  # noqa: E402
from l4_load_balancer import Balancer, transport_checksum  # noqa: E402

CASE = ROOT / "tests/run/L4LoadBalancer_even"
N_FLOWS = 10_000


def frame(flow, version):
    """A SYN of a flow with a right TCP checksum, which the model insists on."""
    tcp = struct.pack(">HHIIHHHH", 1024 + flow, 80, 0, 0, 0x5002, 0, 0, 0)
    if version == 4:
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40, 0, 0, 64, 6, 0, 0x0A000000 + flow * 7919, 0xC0000264)
        return summed(bytes(12) + b"\x08\x00" + ip + tcp)
    ip = struct.pack(">IHBBQQQQ", 6 << 28, 20, 6, 64, 0x20010DB8000C0000, flow * 7919, 0x20010DB801000000, 1)
    return summed(bytes(12) + b"\x86\xdd" + ip + tcp)


def summed(data):
    headers = decode(data)
    at = headers.l4 + 16
    return data[:at] + transport_checksum(data, headers).to_bytes(2, "big") + data[at + 2 :]


def committed():
    """(line, call, results) of each signal in the expected file."""
    for line in CASE.with_suffix(".expected").read_text().splitlines():
        word, *rest = line.split(" ")
        if word == "signal":
            yield int(rest[0]), rest[1], {name: json.loads(value) for name, value in (part.split("=", 1) for part in rest[2:])}


def main():
    balancer = Balancer()
    timeline = Timeline(read_control(CASE.with_suffix(".control")), balancer.call)
    timeline.until(0)
    for flow in range(N_FLOWS):
        for version in (4, 6):
            data = frame(flow, version)
            balancer.forth(Record(0, data, len(data)))
    timeline.until(float("inf"))
    found = list(committed())
    wrong = len(found) != len(timeline.results)
    for (line, call, results), want in zip(found, timeline.results):
        same = (line, call) == (want["line"], want["call"]) and all(results.get(name) == value for name, value in want["results"].items())
        if not same:
            print(f"line {line} {call}\n  expected {want['results']}\n  committed {results}")
            wrong = True
    servers = [server for server in balancer.servers if server]
    for server in servers:
        weights = sum(other["weight"] for other in servers if other["version"] == server["version"])
        share = server["n_flows"] / (N_FLOWS * server["weight"] / weights)
        print(f"server {server['address']:x}: {server['n_flows']} flows, {share:.3f} of its share")
        wrong |= not 0.95 <= share <= 1.05
    sys.exit(wrong)


if __name__ == "__main__":
    main()
