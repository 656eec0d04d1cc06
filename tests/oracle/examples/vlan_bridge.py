"""VLAN_Bridge: a learning bridge over a dictionary of stations."""

from collections import Counter

from control import Timeline
from frames import Record
from murmur3 import murmur3, words
from traffic import ARP, IP, IPv6, TCP, UDP, Dot1AD, Dot1Q, Ether, Raw, raw, text, START_NS

NAME = "VLAN_Bridge"
ORACLE = "tests/oracle/examples/vlan_bridge.py: a bridge model over dictionaries, IEEE 802.1Q rules written out anew"

AGE_NS, SLOTS, PROBES = 300_000 * 10**6, 4096, 4
PORTS = {1: ("in.pcap", "nic_out"), 2: ("in.tor_in.pcap", "tor_out"), 3: ("in.host_in.pcap", "host_out")}
# A and D on the trunk (nic), B on the access port (tor), C on host; E is never heard, but set by a signal.
A, B, C, D, E = (f"02:00:00:00:00:0{c}" for c in "abcde")
ALL = "ff:ff:ff:ff:ff:ff"
MS = 1_000_000


def inputs():
    arp = lambda mac: ARP(hwsrc=mac, psrc="10.0.0.1", pdst="10.0.0.2")  # noqa: E731
    tcp = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2) / Raw(text(20))
    udp6 = IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2) / Raw(text(20))
    script = [
        (1, Ether(src=A, dst=ALL) / Dot1Q(vlan=10) / arp(A)),  # flooded in VLAN 10: untagged at tor, tagged at host
        (2, Ether(src=B, dst=A) / tcp),  # to A, tagged
        (1, Ether(src=A, dst=B) / Dot1Q(vlan=10, prio=5) / tcp),  # to B only, untagged
        (1, Ether(src=D, dst=A) / Dot1Q(vlan=10) / tcp),  # A is on the same port
        (3, Ether(src=C, dst=ALL) / arp(C)),  # host's own VLAN 20
        (1, Ether(src=A, dst=C) / Dot1Q(vlan=20) / tcp),
        (1, Ether(src=A, dst=C) / Dot1Q(vlan=10) / tcp),  # C is not known in VLAN 10: flooded
        (3, Ether(src=C, dst=B) / Dot1Q(vlan=10) / udp6),  # tagged at host: a hybrid port
        (2, Ether(src=B, dst=C) / udp6),
        (2, Ether(src=B, dst=C) / Dot1Q(vlan=20) / tcp),  # tagged at an access port
        (2, Ether(src=B, dst=C) / Dot1Q(vlan=10) / tcp),  # even in its own VLAN
        (2, Ether(src=B, dst=C) / Dot1Q(vlan=0, prio=6) / tcp),  # a priority tag
        (1, Ether(src=A, dst=B) / Dot1Q(vlan=10) / Dot1Q(vlan=99) / tcp),  # QinQ: the inner tag is opaque
        (1, Ether(src=A, dst=B) / Dot1Q(vlan=10) / Dot1AD(vlan=98) / tcp),
        (2, Ether(src=B, dst=A) / Dot1AD(vlan=97) / Dot1Q(vlan=20) / tcp),  # an S-tag is payload of an untagged frame
        (1, Ether(src=A, dst=B) / tcp),  # untagged on the trunk: VLAN 1 has no other member
        (1, Ether(src=A, dst=B) / Dot1Q(vlan=30) / tcp),  # a VLAN that nobody has
        (1, Ether(src=A, dst=B) / Dot1Q(vlan=4095) / tcp),
        (1, Ether(src=A, dst="01:00:5e:00:00:05") / Dot1Q(vlan=10) / tcp),  # multicast is flooded
        (1, Ether(src=A, dst="33:33:00:00:00:01") / Dot1Q(vlan=20) / udp6),
        (1, Ether(src=A, dst="01:80:c2:00:00:0e") / Dot1Q(vlan=10) / Raw(text(46))),
        (1, Ether(src=ALL, dst=B) / Dot1Q(vlan=10) / tcp),
        (3, Ether(src=A, dst=ALL) / Dot1Q(vlan=10) / arp(A)),  # A moves to host
        (2, Ether(src=B, dst=A) / tcp),
        (2, Ether(src=B, dst=E) / tcp),  # set behind host: not flooded
        (1, Ether(src=E, dst=B) / Dot1Q(vlan=10) / tcp),  # a frame of E's from elsewhere does not move it
        (2, Ether(src=B, dst=E) / tcp),
        (1, Ether(src=A, dst=E) / Dot1Q(vlan=20) / tcp),  # in VLAN 20 nothing is known of E
    ]
    arrivals = [(START_NS + i * MS, port, raw(frame), len(raw(frame))) for i, (port, frame) in enumerate(script)]
    now = START_NS + len(script) * MS
    whole = raw(Ether(src=A, dst=B) / Dot1Q(vlan=10) / IP() / TCP() / Raw(text(200)))
    for data, length in ((whole[:10], 10), (whole[:16], 16), (whole[:18], 18), (b"", len(whole)), (whole[:100], len(whole)), (raw(Ether(src=B, dst=A))[:14], 14)):
        arrivals.append((now, 1, data, length))
        now += MS
    # Host leaves VLAN 20 from 5 s to 6.5 s; A is forgotten after 300 s; the rest is done to the table by signals (control).
    later = [
        (6, 1, Ether(src=A, dst=C) / Dot1Q(vlan=20) / tcp),
        (6.2, 3, Ether(src=C, dst=A) / tcp),
        (7, 3, Ether(src=C, dst=A) / tcp),
        (299, 2, Ether(src=B, dst=A) / tcp),
        (307.5, 2, Ether(src=B, dst=A) / tcp),
        (308, 1, Ether(src=A, dst=B) / Dot1Q(vlan=10) / tcp),
        (309, 2, Ether(src=B, dst=A) / tcp),
        (321, 1, Ether(src=A, dst=B) / Dot1Q(vlan=10) / tcp),  # cleared: B is unknown, E is not
        (322, 1, Ether(src=A, dst=E) / Dot1Q(vlan=10) / tcp),
        (331, 1, Ether(src=A, dst=E) / Dot1Q(vlan=10) / tcp),  # removed
        (341, 1, Ether(src=D, dst=B) / tcp),  # the trunk takes no untagged frames from 340 s on
        (342, 1, Ether(src=D, dst=B) / Dot1Q(vlan=0, prio=7) / tcp),
        (343, 1, Ether(src=D, dst=B) / Dot1Q(vlan=10, prio=7) / tcp),
    ]
    for seconds, port, frame in later:
        arrivals.append((START_NS + int(seconds * 10**9), port, raw(frame), len(raw(frame))))
    return {file: [Record(time, data, length) for time, p, data, length in arrivals if p == port] for port, (file, _) in PORTS.items()}


class Bridge:
    """Stations stand in the slots of the library's table: in any of four from their hash on."""

    def __init__(self):
        self.own, self.accept = {1: 1, 2: 1, 3: 1}, {1: 0, 2: 0, 3: 0}
        self.vlans = {1: ({1, 2, 3}, {1, 2, 3})}
        self.set_vlans = {}
        self.slots, self.drops, self.counts = [None] * SLOTS, Counter(), Counter()

    def call(self, call):
        a = call.args
        if call.signal == "set_port":
            self.own[a["port"]], self.accept[a["port"]] = a["vid"], a["accept"]
            return [{"ok": True}]
        if call.signal == "set_vlan":
            self.vlans[a["vid"]] = tuple({port for port in PORTS if mask >> (port - 1) & 1} for mask in (a["members"], a["untagged"]))
            self.set_vlans[a["vid"]] = (a["members"], a["untagged"])
            return [{"ok": True}]
        if call.signal == "list_vlans":
            return [{"valid": True, "vid": vid, "members": m, "untagged": u} for vid, (m, u) in sorted(self.set_vlans.items()) if m]
        if call.signal == "insert":
            mac = a["mac"].to_bytes(6, "big")
            i = None if mac[0] & 1 else self.place(a["vid"], mac)
            if i is not None:
                self.slots[i] = {"vid": a["vid"], "mac": mac, "port": a["port"], "fixed": True, "heard_ns": 0}
            return [{"ok": i is not None}]
        if call.signal == "remove":
            i = self.find(a["vid"], a["mac"].to_bytes(6, "big"))
            if i is not None:
                self.slots[i] = None
            return [{"ok": i is not None}]
        if call.signal == "clear":
            self.slots = [station if station and station["fixed"] and not a["also_fixed"] else None for station in self.slots]
            return []
        if call.signal == "list":
            return [dict(station, valid=True, mac=int.from_bytes(station["mac"], "big")) for station in self.slots if station]
        return [{"n_" + name: self.counts[name] for name in ("forwarded", "flooded", "learnt", "moved", "unlearnt")}]

    def group(self, vid, mac):
        number = int.from_bytes(mac, "big")
        home = murmur3(words(number >> 16, number & 0xFFFF), seed=vid)
        return [(home + i) % len(self.slots) for i in range(PROBES)]

    def find(self, vid, mac):
        at = [i for i in self.group(vid, mac) if self.slots[i] and (self.slots[i]["vid"], self.slots[i]["mac"]) == (vid, mac)]
        return at[0] if at else None

    def place(self, vid, mac):
        """The station's slot, else a free one, else the one heard first of those that no signal set."""
        at = self.find(vid, mac)
        if at is not None:
            return at
        group = self.group(vid, mac)
        free = [i for i in group if self.slots[i] is None]
        learnt = [i for i in group if i not in free and not self.slots[i]["fixed"]]
        return free[0] if free else min(learnt, key=lambda i: self.slots[i]["heard_ns"], default=None)

    def fresh(self, i, now):
        return i is not None and (self.slots[i]["fixed"] or now - self.slots[i]["heard_ns"] < AGE_NS)

    def learn(self, vid, mac, port, now):
        at = self.find(vid, mac)
        current = self.fresh(at, now)
        if current and self.slots[at]["fixed"]:
            return
        if at is None:
            group = self.group(vid, mac)
            stale = [i for i in group if self.slots[i] is None or not self.fresh(i, now)]
            at = stale[0] if stale else self.place(vid, mac)
        if at is None:
            self.counts["unlearnt"] += 1
            return
        self.counts["learnt"] += not current
        self.counts["moved"] += bool(current and self.slots[at]["port"] != port)
        self.slots[at] = {"vid": vid, "mac": mac, "port": port, "fixed": False, "heard_ns": now}

    def bridge(self, port, record):
        """[(port, frame)]; drops are counted."""
        result = self.decide(port, record.data, record.time_ns)
        if isinstance(result, str):
            self.drops[result] += 1
            return []
        return result

    def decide(self, port, data, now):
        tagged = data[12:14] == b"\x81\x00"
        if len(data) < (18 if tagged else 14):
            return "runt frame"
        tci = int.from_bytes(data[14:16], "big") if tagged else 0
        inner = data[16:] if tagged else data[12:]
        to, source, vid = data[:6], data[6:12], tci & 0xFFF
        if source[0] & 1:
            return "bad source address"
        if to[:5] == b"\x01\x80\xc2\0\0" and to[5] < 16:
            return "reserved group address"
        if vid == 4095:
            return "reserved VLAN"
        if (self.accept[port] == 1 and vid == 0) or (self.accept[port] == 2 and vid != 0):
            return "frame kind not accepted"
        vid = vid or self.own[port]
        members, untagged = self.vlans.get(vid, (set(), set()))
        if port not in members:
            return "not a member of the VLAN"
        self.learn(vid, source, port, now)
        where = None if to[0] & 1 else self.heard(vid, to, now)
        if where == port:
            return "station is on this port"
        outputs = ({where} if where else members - {port}) & members
        if not outputs:
            return "no other member"
        self.counts["forwarded" if where else "flooded"] += 1
        tag = b"\x81\x00" + (tci & 0xF000 | vid).to_bytes(2, "big")
        return [(out, data[:12] + (b"" if out in untagged else tag) + inner) for out in sorted(outputs)]

    def heard(self, vid, mac, now):
        at = self.find(vid, mac)
        return self.slots[at]["port"] if self.fresh(at, now) else None


def expected(records, calls):
    bridge = Bridge()
    timeline = Timeline(calls, bridge.call)
    outputs = {out: [] for _, out in PORTS.values()}
    arrivals = [(record.time_ns, port, i, record) for port, (file, _) in PORTS.items() for i, record in enumerate(records[file])]
    for time_ns, port, _, record in sorted(arrivals, key=lambda arrival: arrival[:3]):
        timeline.until(time_ns)
        for out, data in bridge.bridge(port, record):
            outputs[PORTS[out][1]].append(Record(time_ns, data, len(data) + record.orig_len - len(record.data)))
    timeline.until(float("inf"))
    return outputs, {"drops": {"bridge": dict(sorted(bridge.drops.items()))}, "signals": timeline.results}
