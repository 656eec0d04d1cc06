"""Firewall: verdicts by exact flow, ordered rules, default, computed from in.pcap and the control file."""

from collections import Counter

from control import Timeline
from frames import decode
from murmur3 import Slots, flow_bytes, murmur3
from traffic import IP, TCP, UDP, ICMP, IPv6, ICMPv6EchoRequest, Raw, at_times, ether, full, odd_frames, tcp4, tcp6, text, udp4, udp6

NAME = "Firewall"
ORACLE = "tests/oracle/examples/firewall.py: own decoder and rule evaluation in Python over in.pcap, in.tor_in.pcap and control; frames made and checked by scapy"

WEB, DNS, MEDIA = "192.0.2.10", "192.0.2.53", "192.0.2.60"
WEB6 = "2001:db8:1::10"


def inputs():
    outside, bad, trusted = "203.0.113.9", "198.51.100.20", "198.51.100.7"
    packets = []
    for dport in (22, 80, 443, 8000, 8050, 8099, 8100):
        packets.append(tcp4(outside, WEB, 40000 + dport, dport, text(dport % 50), flags="S"))
    packets += [
        tcp4(bad, WEB, 1025, 443, text(4)),  # bad network
        tcp4(trusted, WEB, 1025, 443, text(4)),  # the one host of it that may
        tcp4(trusted, WEB, 1025, 80, text(4)),
        udp4(outside, DNS, 5353, 53, text(30)),
        udp4(outside, DNS, 5353, 54, text(30)),
        udp4(outside, WEB, 5353, 53, text(30)),
        udp4(outside, WEB, 5000, 5001, text(40)),  # exact flow, accepted
        udp4(outside, WEB, 5000, 5002, text(40)),
        udp4("203.0.113.10", WEB, 5000, 5001, text(40)),
        tcp4("203.0.113.66", WEB, 4444, 80, text(8)),  # exact flow, refused
        tcp4("203.0.113.66", WEB, 4445, 80, text(8)),
        ether() / IP(src=outside, dst=WEB) / ICMP(type=8, id=1) / Raw(text(16)),
        ether() / IP(src=outside, dst=WEB) / ICMP(type=5, code=1) / Raw(text(28)),
        ether() / IP(src=outside, dst=WEB) / ICMP(type=3, code=4) / IP(src=WEB, dst=outside) / UDP(sport=1, dport=2),
        ether() / IP(src=outside, dst="192.0.3.10") / TCP(dport=80),  # outside of the prefix
        tcp6("2001:db8:f::9", WEB6, 40000, 443, text(50)),
        tcp6("2001:db8:f::9", WEB6, 40000, 444, text(50)),
        tcp6("2001:db8:f::9", "2001:db8:2::10", 40000, 443, text(50)),
        udp6("2001:db8:f::9", WEB6, 33000, 33434, text(50)),
        udp6("2001:db8:f::9", WEB6, 6000, 6001, text(50)),  # exact flow
        ether() / IPv6(src="2001:db8:f::9", dst=WEB6) / ICMPv6EchoRequest(id=3) / Raw(text(9)),
    ]
    frames = full(packets)
    frames += odd_frames(outside, WEB, "2001:db8:f::9", WEB6, 40000, 443)
    frames += odd_frames(outside, MEDIA, "2001:db8:f::9", WEB6, 40000, 9999)
    # Behind the timed control lines.
    frames += full([tcp4(outside, WEB, 41000 + dport, dport, text(3)) for dport in (80, 8000, 8050)])
    frames += full([udp4(outside, WEB, 5000, 5001, text(40)), udp6("2001:db8:f::9", WEB6, 6000, 6001, text(50))])
    frames += odd_frames(outside, WEB, "2001:db8:f::9", WEB6, 40000, 80)[15:18]
    back = full([tcp4(WEB, outside, 80, 40080, text(n)) for n in (0, 700, 1400)])
    back += full([tcp4(WEB, outside, 50000, 25, text(10)), tcp6(WEB6, "2001:db8:f::9", 50000, 25, text(10)), udp6(WEB6, "2001:db8:f::9", 443, 40000, text(10))])
    back += odd_frames(WEB, outside, WEB6, "2001:db8:f::9", 443, 40000)
    return {"in.pcap": at_times(frames), "in.tor_in.pcap": at_times(back, step_ns=1_700_000)}


# What a rule that leaves an argument out matches.
ANY = {"version": 0, "protocol": 256, "src": 0, "src_len": 0, "dst": 0, "dst_len": 0, "sport_lo": 0, "sport_hi": 65535, "dport_lo": 0, "dport_hi": 65535}


class Firewall:
    def __init__(self, accept, accept_non_ip):
        self.rules, self.flows, self.counts, self.dropped = [], {}, Counter(), Counter()
        self.accept, self.accept_non_ip = accept, accept_non_ip
        self.slots = Slots(4096, 8, lambda flow: murmur3(flow_bytes(flow)))

    def call(self, call):
        a = call.args
        if call.signal == "insert":
            # Stable: rules of one priority stay in the order of insertion.
            self.rules.append({**ANY, **a, "packets": 0})
            self.rules.sort(key=lambda rule: rule["priority"])
            return [{"ok": True}]
        if call.signal == "delete":
            before = len(self.rules)
            self.rules = [rule for rule in self.rules if rule["priority"] != a["priority"]]
            return [{"removed": before - len(self.rules)}]
        key = tuple(a.get(name) for name in ("version", "protocol", "src", "dst", "sport", "dport"))
        if call.signal == "insert_flow":
            self.slots.insert(key)
            self.flows[key] = {"accept": a["accept"], "packets": self.flows.get(key, {"packets": 0})["packets"]}
            return [{"ok": True}]
        if call.signal == "delete_flow":
            self.slots.remove(key)
            return [{"ok": self.flows.pop(key, None) is not None}]
        if call.signal == "set_default":
            self.accept, self.accept_non_ip = a["accept"], a["accept_non_ip"]
            return [{}]
        if call.signal == "list":
            return [dict(rule, valid=True) for rule in self.rules]
        if call.signal == "list_flows":
            names = ("version", "protocol", "src", "dst", "sport", "dport")
            return [dict(zip(names, key), valid=True, **self.flows[key]) for key in self.slots.keys()]
        if call.signal == "stats":
            c = self.counts
            return [{"n_accepted": c["accepted"], "n_flow": c["flow rule"], "n_rule": c["rule"], "n_default": c["default policy"],
                     "n_not_ip": c["not IP"], "n_malformed": c["malformed packet"], "n_short": c["headers cut short"]}]
        raise ValueError(call.signal)

    def reason(self, data):
        """Why a frame is dropped; None if it passes."""
        frame = decode(data)
        if frame.status == "not_ip":
            return None if self.accept_non_ip else "not IP"
        status = frame.status if frame.status != "ok" else frame.l4_status
        if status != "ok":
            return {"malformed": "malformed packet", "short": "headers cut short"}[status]
        if frame.icmp_type is not None:
            ports = (frame.icmp_type, frame.icmp_code)
        elif frame.sport is not None:
            ports = (frame.sport, frame.dport)
        else:
            ports = None
        src, dst = int(frame.src), int(frame.dst)
        if not frame.later:
            entry = self.flows.get((frame.version, frame.protocol, src, dst, *(ports or (0, 0))))
            if entry:
                entry["packets"] += 1
                return None if entry["accept"] else "flow rule"
        for rule in self.rules:
            if self.matches(rule, frame, src, dst, ports):
                rule["packets"] += 1
                return None if rule["accept"] else "rule"
        return None if self.accept else "default policy"

    @staticmethod
    def matches(rule, frame, src, dst, ports):
        bits = 32 if frame.version == 4 else 128
        if rule["version"] not in (0, frame.version) or rule["protocol"] not in (256, frame.protocol):
            return False
        for address, name in ((src, "src"), (dst, "dst")):
            length = rule[name + "_len"]
            if length and address >> (bits - length) != rule[name] >> (bits - length):
                return False
        spans = ((rule["sport_lo"], rule["sport_hi"]), (rule["dport_lo"], rule["dport_hi"]))
        if ports is None:
            return spans == ((0, 65535), (0, 65535))
        return all(lo <= port <= hi for port, (lo, hi) in zip(ports, spans))

    def judge(self, record):
        reason = self.reason(record.data)
        if reason:
            self.dropped[reason] += 1
        self.counts[reason or "accepted"] += 1
        return reason is None


def expected(records, calls):
    firewalls = {"inbound": Firewall(False, True), "outbound": Firewall(True, True)}
    timeline = Timeline(calls, lambda call: firewalls[call.instance].call(call))
    outputs = {"tor_out": [], "nic_out": []}
    arrivals = [(r, "inbound", "tor_out") for r in records["in.pcap"]] + [(r, "outbound", "nic_out") for r in records["in.tor_in.pcap"]]
    for record, instance, out in sorted(arrivals, key=lambda arrival: arrival[0].time_ns):
        timeline.until(record.time_ns)
        if firewalls[instance].judge(record):
            outputs[out].append(record)
    timeline.until(float("inf"))
    drops = {name: dict(sorted(firewall.dropped.items())) for name, firewall in firewalls.items()}
    return outputs, {"drops": drops, "signals": timeline.results}
