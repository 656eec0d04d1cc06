"""PacketCapture: filters as Python predicates over the bytes, the ring as a bounded list, exports in the middle and at the end."""

import ipaddress

from control import Timeline
from frames import Record
from traffic import ARP, START_NS, Dot1Q, Ether, IP, IPv6, TCP, UDP, Raw, at_times, ether, full, odd_frames, raw, tcp4, tcp6, text, udp4, udp6

NAME = "PacketCapture"
ORACLE = "tests/oracle/examples/packet_capture.py: own header walk and filters in Python, the ring as a bounded list; frames made by scapy"

PACKETS, FLITS, HEAD = 8, 128, 128
SECOND = 10**9
TAGS = (0x8100, 0x88A8, 0x9100)
PORTS = (6, 17, 33, 132, 136)
EXTENSIONS = {0, 43, 44, 51, 60, 135, 139, 140}


def inputs():
    odd = odd_frames("198.51.100.1", "192.0.2.1", "2001:db8:5::1", "2001:db8:1::1", 1234, 80)
    dns = full([udp4("10.0.0.1", "192.0.2.53", 5000 + i, 53, text(30 + i)) for i in range(4)])
    dns += full([udp6("2001:db8::1", "2001:db8:1::53", 5000, 53, text(33)), udp4("192.0.2.53", "10.0.0.1", 53, 5000, text(50)), tcp4("10.0.0.1", "192.0.2.53", 5000, 53, text(9))])
    # UDP port 53 behind options, tags and extension headers, and bytes that only look like it.
    dns += full([
        ether() / Dot1Q(vlan=7) / IP(src="10.0.0.1", dst="192.0.2.53", options=b"\x07\x07\x04\0\0\0\0\0") / UDP(sport=5001, dport=53) / Raw(text(3)),
        ether() / IP(src="10.0.0.1", dst="192.0.2.53", proto=47) / Raw(b"\x13\x88\0\x35" + text(20)),
    ])
    arp = full([Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff") / ARP(psrc="10.0.0.1", pdst="198.51.100.9"), Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / Dot1Q(vlan=100) / ARP(op=2, psrc="10.0.0.2", pdst="10.0.0.1")])
    web = full([tcp4("10.0.0.1", "192.0.2.1", 40000 + i, 80, text(i * 37 % 300)) for i in range(6)] + [tcp6("2001:db8::1", "2001:db8:1::1", 40000, 80, text(7))])
    mix = odd[:24] + dns + arp + web + odd[24:]
    records = []
    for second in range(6):
        records += at_times(mix, start_ns=START_NS + second * SECOND, step_ns=10_000_000)
    # Packets of many flits push the others out, and one is longer than the ring.
    long = full([tcp4("10.0.0.2", "192.0.2.1", 2000 + i, 80, text(600 + 100 * i)) for i in range(6)] + [tcp4("10.0.0.3", "192.0.2.1", 3000, 80, text(32 * FLITS))])
    records += at_times(long + web[:4], start_ns=START_NS + 6 * SECOND)
    back = full([tcp4("192.0.2.1", "10.0.0.1", 80, 40000 + i, text(200)) for i in range(3)]) + odd
    back += full([udp6("2001:db8:5:ffff::1", "2001:db8::1", 53, 5000, text(10)), udp6("2001:db8:6::1", "2001:db8::1", 53, 5000, text(10))])
    return {"in.pcap": records, "in.tor_in.pcap": at_times(back, start_ns=START_NS + 500_000, step_ns=20_000_000)}


def number(data, at, n_bytes):
    """Bytes as a number; None if they are not all there."""
    return int.from_bytes(data[at : at + n_bytes], "big") if at + n_bytes <= len(data) else None


def headers(data):
    """EtherType, VLAN, addresses, protocol and ports in the first bytes of a frame; what is not there is None."""
    head, found = data[:HEAD], {"ethertype": 0, "vlan": None, "version": None, "addresses": (), "protocol": None, "ports": ()}
    kind, at = number(head, 12, 2), 14
    for _ in range(4):
        if kind not in TAGS or number(head, at, 4) is None:
            break
        if found["vlan"] is None:
            found["vlan"] = number(head, at, 2) & 0xFFF
        kind, at = number(head, at + 2, 2), at + 4
    found["ethertype"] = kind or 0
    if kind == 0x0806 and len(head) >= at + 28 and number(head, at + 2, 2) == 0x0800:
        found.update(version=4, addresses=(number(head, at + 14, 4), number(head, at + 24, 4)))
    if kind == 0x0800 and len(head) >= at + 20 and head[at] >> 4 == 4 and head[at] & 15 >= 5:
        found.update(version=4, addresses=(number(head, at + 12, 4), number(head, at + 16, 4)), protocol=head[at + 9])
        behind = None if number(head, at + 6, 2) & 0x1FFF else at + (head[at] & 15) * 4
    elif kind == 0x86DD and len(head) >= at + 40 and head[at] >> 4 == 6:
        found.update(version=6, addresses=(number(head, at + 8, 16), number(head, at + 24, 16)))
        following, behind = head[at + 6], at + 40
        for _ in range(8):
            if behind is None or following not in EXTENSIONS:
                break
            if number(head, behind, 8) is None:
                return found
            size = 8 if following == 44 else (head[behind + 1] + 2) * 4 if following == 51 else (head[behind + 1] + 1) * 8
            later = following == 44 and number(head, behind + 2, 2) >> 3 != 0
            following, behind = head[behind], None if later else behind + size
        found["protocol"] = following
    else:
        return found
    if found["protocol"] in PORTS and behind is not None and number(head, behind, 4) is not None:
        found["ports"] = (number(head, behind, 2), number(head, behind + 2, 2))
    return found


class Ring:
    def __init__(self, n_packets, n_flits):
        self.n_packets, self.n_flits, self.snap = n_packets, n_flits, n_flits * 32
        self.kept, self.terms, self.exported = [], {}, []
        self.counts = {"n_kept": 0, "n_filtered": 0, "n_evicted": 0, "n_missed": 0, "n_exported": 0}
        self.now = 0

    def call(self, call):
        a = call.args
        if call.signal == "filter_bytes":
            of_this_kind = [name for name in self.terms if name.startswith("filter_bytes")]
            self.terms[f"filter_bytes {len(of_this_kind)}"] = a
            return [{"ok": True}]
        if call.signal.startswith("filter_"):
            self.terms[call.signal] = a
            return []
        if call.signal == "clear_filter":
            self.terms = {}
            return []
        if call.signal == "snap":
            self.snap = a["n_bytes"]
            return []
        if call.signal == "export":
            self.exported += [Record(self.now, data, record.orig_len) for record, data in self.kept]
            self.counts["n_exported"] += len(self.kept)
            n_packets, self.kept = len(self.kept), []
            return [{"ok": True, "n_packets": n_packets}]
        first = self.counts["n_kept"] - len(self.kept)
        if call.signal == "list":
            return [{"valid": True, "packet_number": first + i, "time_ns": record.time_ns, "n_bytes": len(data), "wire_bytes": record.orig_len} for i, (record, data) in enumerate(self.kept)]
        if call.signal == "read":
            i, n = a["packet_number"] - first, a["n"]
            ok = 0 <= i < len(self.kept) and n < flits(self.kept[i][1])
            return [{"ok": ok, "data": int.from_bytes(self.kept[i][1][32 * n : 32 * n + 32], "little") if ok else 0}]
        if call.signal == "clear":
            self.kept = []
            return []
        return [dict(self.counts)]

    def see(self, record):
        self.now = record.time_ns
        if not all(self.holds(name, term, record.data) for name, term in self.terms.items()):
            self.counts["n_filtered"] += 1
            return
        data = record.data[: self.snap]
        while self.kept and sum(flits(kept) for _, kept in self.kept) + flits(data) > self.n_flits:
            self.evict()
        if len(self.kept) == self.n_packets:
            self.evict()
        self.kept.append((record, data))
        self.counts["n_kept"] += 1

    def evict(self):
        del self.kept[0]
        self.counts["n_evicted"] += 1

    @staticmethod
    def holds(name, term, data):
        found = headers(data)
        if name == "filter_ethertype":
            return found["ethertype"] == term["value"]
        if name == "filter_vlan":
            return found["vlan"] == term["vid"]
        if name == "filter_protocol":
            return found["protocol"] == term["value"]
        if name == "filter_port":
            return term["value"] in found["ports"]
        if name == "filter_address":
            kind = ipaddress.IPv4Address if term["version"] == 4 else ipaddress.IPv6Address
            network = ipaddress.ip_network((kind(term["address"]), term["prefix"]), strict=False)
            return found["version"] == term["version"] and any(kind(address) in network for address in found["addresses"])
        word = number(data[:HEAD], term["offset"], 4)
        return word is not None and word & term["mask"] == term["value"] & term["mask"]


def flits(data):
    return max(1, -(-len(data) // 32))


def expected(records, calls):
    rings = {"ring": Ring(PACKETS, FLITS), "down": Ring(16, 8192)}

    def apply(call):
        # Time moves on to a timed line even if no packet comes then.
        if 0 < call.time_ns < float("inf"):
            rings["ring"].now = max(rings["ring"].now, int(call.time_ns))
        return rings[call.instance].call(call)

    timeline = Timeline(calls, apply)
    arrivals = [(record, "ring") for record in records["in.pcap"]] + [(record, "down") for record in records["in.tor_in.pcap"]]
    for record, name in sorted(arrivals, key=lambda arrival: arrival[0].time_ns):
        timeline.until(record.time_ns)
        rings[name].see(record)
        rings["ring"].now = record.time_ns
    timeline.until(float("inf"))
    outputs = {"tor_out": records["in.pcap"], "nic_out": records["in.tor_in.pcap"], "host_out": rings["ring"].exported}
    return outputs, {"drops": {"ring": {}, "down": {}}, "signals": timeline.results}
