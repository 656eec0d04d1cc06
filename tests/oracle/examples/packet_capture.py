"""PacketCapture: the last packets that pass the filter, exported in the middle and at the end."""

from control import Timeline
from frames import Record
from traffic import START_NS, at_times, full, odd_frames, tcp4, tcp6, text, udp4

NAME = "PacketCapture"
ORACLE = "tests/oracle/examples/packet_capture.py: the filter as a slice of bytes, the ring as a bounded list"

PACKETS, FLITS = 8, 128


def inputs():
    packets = [tcp4("10.0.0.1", "192.0.2.1", 1000 + i, 80, text(i * 37 % 300)) for i in range(25)]
    packets[3:3] = [udp4("10.0.0.1", "192.0.2.1", 1000 + i, 53, text(40)) for i in range(5)]
    frames = full(packets) + odd_frames("10.0.0.1", "192.0.2.1", "2001:db8::1", "2001:db8:1::1", 1234, 80)
    # The ring's flits run out before its packets do, then a packet is longer than the ring.
    frames += full([tcp4("10.0.0.2", "192.0.2.1", 2000 + i, 80, text(1000)) for i in range(5)])
    frames += full([tcp4("10.0.0.3", "192.0.2.1", 3000, 80, text(32 * FLITS))])
    frames += full([tcp4("10.0.0.4", "192.0.2.1", 4000 + i, 80, text(3 + i)) for i in range(3)] + [tcp6("2001:db8::1", "2001:db8:1::1", 1, 2, text(7))])
    return {"in.pcap": at_times(frames, step_ns=10_000_000)}


class Ring:
    def __init__(self):
        self.kept, self.terms, self.exported = [], [], []
        self.counts = {"n_kept": 0, "n_filtered": 0, "n_too_long": 0, "n_evicted": 0}
        self.now = 0

    def call(self, call):
        if call.signal == "filter":
            self.terms.append(call.args)
            return [{"ok": True}]
        if call.signal == "export":
            at = self.now if call.time_ns == float("inf") else int(call.time_ns)
            self.exported += [Record(at, record.data, record.orig_len) for record in self.kept]
            n_packets, self.kept = len(self.kept), []
            return [{"ok": True, "n_packets": n_packets}]
        if call.signal == "list":
            first = self.counts["n_kept"] - len(self.kept)
            return [{"valid": True, "packet_number": first + i, "n_bytes": len(record.data)} for i, record in enumerate(self.kept)]
        return [dict(self.counts)]

    def see(self, record):
        self.now = record.time_ns
        n_flits = max(1, -(-len(record.data) // 32))
        if n_flits > FLITS:
            # It pushed everything else out before it proved too long.
            self.evict(len(self.kept))
            self.counts["n_too_long"] += 1
            return
        # The oldest packets go while the new one comes in, before the filter has spoken.
        while self.kept and sum(flits(r) for r in self.kept) + n_flits > FLITS:
            self.evict(1)
        if not all(self.holds(term, record.data) for term in self.terms):
            self.counts["n_filtered"] += 1
            return
        if len(self.kept) == PACKETS:
            self.evict(1)
        self.kept.append(record)
        self.counts["n_kept"] += 1

    def evict(self, n):
        del self.kept[:n]
        self.counts["n_evicted"] += n

    @staticmethod
    def holds(term, data):
        word = data[term["offset"] : term["offset"] + 4]
        return len(word) == 4 and int.from_bytes(word, "big") & term["mask"] == term["value"] & term["mask"]


def flits(record):
    return max(1, -(-len(record.data) // 32))


def expected(records, calls):
    ring = Ring()
    timeline = Timeline(calls, ring.call)
    for record in records["in.pcap"]:
        timeline.until(record.time_ns)
        ring.see(record)
    timeline.until(float("inf"))
    assert START_NS < ring.now
    return {"tor_out": records["in.pcap"], "host_out": ring.exported}, {"drops": {}, "signals": timeline.results}
