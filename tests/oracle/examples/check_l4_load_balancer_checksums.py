"""tshark's verdict on every checksum of L4LoadBalancer: what leaves is bad only where what came was."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "examples/L4LoadBalancer"
PROTOCOLS = ("ip", "tcp", "udp", "icmp", "icmpv6", "sctp")
CHECKS = [word for option in ("ip.check_checksum", "tcp.check_checksum", "udp.check_checksum", "ip.defragment", "ipv6.defragment") for word in ("-o", f"{option}:{'FALSE' if 'defragment' in option else 'TRUE'}")]


def verdicts(path):
    """How many frames have each combination of checksum verdicts and malformed parts; by status as tshark numbers it (0 bad, 1 good, …)."""
    fields = [word for protocol in PROTOCOLS for word in ("-e", f"{protocol}.checksum.status")] + ["-e", "_ws.malformed"]
    output = subprocess.run(["tshark", "-r", path, *CHECKS, "-T", "fields", *fields], capture_output=True, text=True, check=True).stdout
    return Counter(output.splitlines())


def bad(counts):
    """Frames with some bad checksum, or malformed."""
    return sum(n for verdict, n in counts.items() if "0" in ",".join(verdict.split("\t")[:-1]).split(",") or verdict.split("\t")[-1])


def main():
    failed = False
    for came, left in (("in.pcap", "expected/tor_out.pcap"), ("in.tor_in.pcap", "expected/nic_out.pcap")):
        before, after = verdicts(FOLDER / came), verdicts(FOLDER / left)
        new_kinds = {verdict for verdict in after if bad({verdict: 1}) and after[verdict] > before[verdict]}
        print(f"{left}: {sum(after.values())} frames, {bad(after)} bad; {came}: {sum(before.values())} frames, {bad(before)} bad")
        failed |= bool(new_kinds)
        for verdict in new_kinds:
            print(f"  more frames than came with verdicts {dict(zip(PROTOCOLS, verdict.split(chr(9))))}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
