"""RateLimiter: token buckets in exact fractions, over the times and wire lengths of in.pcap and in.tor_in.pcap."""

from collections import Counter
from fractions import Fraction

from control import Timeline
from frames import Record, decode
from murmur3 import flow_bytes, murmur3
from traffic import ARP, START_NS, IP, ICMP, Ether, Raw, at_times, ether, odd_frames, raw, tcp4, text, udp4, udp6

NAME = "RateLimiter"
ORACLE = "tests/oracle/examples/rate_limiter.py: buckets as exact fractions of bytes; the steady flows leave at the set rates within 2 %"

RATE, BURST, SLOTS, PROBES, IDLE_NS = 1_000_000, 15_000, 64, 8, 1_000_000_000  # as in app.clnp
TOTAL_RATE, TOTAL_BURST = 2_000_000, 20_000
SNAP = 60  # the capture keeps the headers only; the limiter counts what was on the wire
MS = 1_000_000


def snapped(packet, time_ns):
    data = raw(packet)
    return Record(time_ns, data[:SNAP], len(data))


def inputs():
    records = []
    # 1000 bytes every 2 ms are 4 Mbit/s: a quarter passes, half after the rate is doubled.
    records += [snapped(tcp4("10.0.0.1", "192.0.2.1", 1000, 80, text(946)), START_NS + i * 2 * MS) for i in range(500)]
    # 500 bytes every 10 ms are 0.4 Mbit/s: all pass.
    records += [snapped(udp4("10.0.0.2", "192.0.2.1", 1000, 53, text(458)), START_NS + 300_000 + i * 10 * MS) for i in range(100)]
    # 40 packets at once: the burst passes, and again a second later.
    for second in (0, 1):
        records += [snapped(udp6("2001:db8::3", "2001:db8:1::1", 1000, 53, text(938)), START_NS + second * 1000 * MS + 700_000) for _ in range(40)]
    # The other direction of the first flow has a bucket of its own.
    records += [snapped(tcp4("192.0.2.1", "10.0.0.1", 80, 1000, text(400)), START_NS + 900_000 + i * 40 * MS) for i in range(20)]
    # A packet longer than the burst never passes; one as long as the bucket is full just does.
    records.append(Record(START_NS + 1_100_000, raw(udp4("10.0.0.4", "192.0.2.1", 1, 1, b""))[:SNAP], BURST + 1))
    records.append(Record(START_NS + 1_200_000, raw(udp4("10.0.0.4", "192.0.2.1", 1, 1, b""))[:SNAP], BURST))
    records += [snapped(ether() / IP(src="10.0.0.5", dst="192.0.2.1") / ICMP(id=5, seq=i) / Raw(text(900)), START_NS + 1_300_000 + i) for i in range(0, 20_000, 1000)]
    records += [Record(START_NS + 1_500_000 + i * 5 * MS, raw(Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff") / ARP()), 42) for i in range(10)]
    odd = odd_frames("10.0.0.6", "192.0.2.1", "2001:db8::6", "2001:db8:1::1", 1234, 80)
    records += at_times(odd, start_ns=START_NS + 1_600_000, step_ns=9 * MS)
    # A hundred flows within a millisecond are more than the table holds; 3 s later the old ones make room.
    records += [snapped(udp4("10.0.0.7", "192.0.2.1", 2000 + i, 7, text(10)), START_NS + 1_300 * MS + i * 10_000) for i in range(100)]
    records += [snapped(udp4("10.0.0.8", "192.0.2.1", 3000 + i, 7, text(10)), START_NS + 4_300 * MS + i * 10_000) for i in range(40)]
    # `remove` at 4.5 s gives the last of them a full bucket, `clear` at 4.7 s all.
    records += [Record(START_NS + time * MS, raw(udp4("10.0.0.8", "192.0.2.1", 3039, 7, b""))[:SNAP], 9000) for time in (4_400, 4_410, 4_510, 4_520, 4_710, 4_720)]
    down = [snapped(tcp4("192.0.2.1", f"10.0.0.{flow}", 80, 1000, text(900 + flow)), START_NS + flow * 333_000 + i * 6 * MS) for i in range(60) for flow in (1, 2, 3)]
    return {"in.pcap": sorted(records, key=lambda record: record.time_ns), "in.tor_in.pcap": sorted(down, key=lambda record: record.time_ns)}


NAMES = ("version", "protocol", "src", "dst", "sport", "dport")


class Policer:
    """Buckets in the slots of the library's table: a flow may stand in any of eight from its hash on."""

    def __init__(self, rate, burst, slots, idle_ns, per_flow=True):
        self.rate, self.burst, self.idle_ns, self.per_flow = rate, burst, idle_ns, per_flow
        self.slots, self.counts = [None] * slots, Counter()

    def call(self, call):
        a = call.args
        if call.signal == "set":
            self.rate, self.burst = a["rate_bps"], a["burst_bytes"]
            return [{"ok": True}]
        if call.signal == "stats":
            return [{"n_" + name: self.counts[reason] for name, reason in (("passed", None), ("exceeded", "rate exceeded"), ("refused", "flow table full"), ("evicted", "evicted"))}]
        if call.signal == "remove":
            key = tuple(a[name] for name in NAMES)
            at = [i for i, bucket in enumerate(self.slots) if bucket and bucket["key"] == key]
            for i in at:
                self.slots[i] = None
            return [{"ok": bool(at)}]
        if call.signal == "clear":
            self.slots = [None] * len(self.slots)
            return []
        rows = [bucket for bucket in self.slots if bucket]
        return [dict(zip(NAMES, b["key"]), valid=True, n_passed=b["passed"], n_dropped=b["dropped"], last_ns=b["seen"]) for b in rows]

    def bucket(self, key, now):
        """The flow's bucket; None if it finds no place."""
        home = murmur3(flow_bytes(key)) % len(self.slots)
        group = [(home + i) % len(self.slots) for i in range(PROBES)]
        for i in group:
            if self.slots[i] and self.slots[i]["key"] == key:
                return self.slots[i]
        free = [i for i in group if self.slots[i] is None]
        if not free:
            oldest = min(group, key=lambda i: self.slots[i]["seen"])
            if now - self.slots[oldest]["seen"] < self.idle_ns:
                return None
            self.counts["evicted"] += 1
            free = [oldest]
        self.slots[free[0]] = {"key": key, "level": Fraction(self.burst), "seen": now, "passed": 0, "dropped": 0}
        return self.slots[free[0]]

    def reason(self, record):
        """Why a packet is dropped; None if it passes."""
        frame = decode(record.data)
        bucket = self.bucket(frame.flow if self.per_flow and frame.sound else (0, 0, 0, 0, 0, 0), record.time_ns)
        if bucket is None:
            return "flow table full"
        elapsed = Fraction(max(0, record.time_ns - bucket["seen"]), 10**9)
        bucket["level"] = min(Fraction(self.burst), bucket["level"] + elapsed * self.rate / 8)
        bucket["seen"] = max(bucket["seen"], record.time_ns)
        fits = record.orig_len <= bucket["level"]
        if fits:
            bucket["level"] -= record.orig_len
        bucket["passed" if fits else "dropped"] += 1
        return None if fits else "rate exceeded"

    def passes(self, record):
        reason = self.reason(record)
        self.counts[reason] += 1
        return reason is None

    def drops(self):
        return {reason: self.counts[reason] for reason in ("rate exceeded", "flow table full") if self.counts[reason]}


def expected(records, calls):
    policers = {"limiter": Policer(RATE, BURST, SLOTS, IDLE_NS), "total": Policer(TOTAL_RATE, TOTAL_BURST, 4096, 10_000_000_000, per_flow=False)}
    timeline = Timeline(calls, lambda call: policers[call.instance].call(call))
    outputs = {"tor_out": [], "nic_out": []}
    arrivals = [(record, "limiter", "tor_out") for record in records["in.pcap"]] + [(record, "total", "nic_out") for record in records["in.tor_in.pcap"]]
    for record, instance, out in sorted(arrivals, key=lambda arrival: arrival[0].time_ns):
        timeline.until(record.time_ns)
        if policers[instance].passes(record):
            outputs[out].append(record)
    timeline.until(float("inf"))
    steady = [record for record in outputs["tor_out"] if (frame := decode(record.data)).sound and frame.flow[4:] == (1000, 80)]
    check_rate(steady, ((100, 600, RATE), (620, 1000, 2 * RATE)))
    check_rate(outputs["nic_out"], ((160, 360, TOTAL_RATE),))
    return outputs, {"drops": {name: policer.drops() for name, policer in policers.items()}, "signals": timeline.results}


def check_rate(out, spans):
    """What left between the end of the burst and the change of rate, against the rate set."""
    for start_ms, end_ms, rate in spans:
        inside = [record for record in out if START_NS + start_ms * MS <= record.time_ns < START_NS + end_ms * MS]
        seconds = Fraction(inside[-1].time_ns - inside[0].time_ns, 10**9)
        measured = sum(record.orig_len for record in inside[1:]) * 8 / seconds
        assert abs(measured / rate - 1) < Fraction(2, 100), (start_ms, float(measured), rate)
