"""IP_Forwarding: checks of RFC 1812, longest prefix, TTL, next hop, ICMP errors built by scapy."""

from collections import Counter

import routes
from control import Timeline
from frames import Record, decode, internet_checksum
from traffic import (
    IP, TCP, UDP, ICMP, IPv6, Ether, ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6TimeExceeded, Raw, at_times, built, ether, fragments4, fragments6,
    full, odd_frames, raw, tcp4, tcp6, text, udp4, udp6,
)

NAME = "IP_Forwarding"
ORACLE = "tests/oracle/examples/ip_forwarding.py: a dictionary of prefixes asked for every length, header checksums computed anew, ICMP errors built by scapy"

ROUTER4, ROUTER6 = "198.18.0.1", "2001:db8:ffff::1"
N_HOPS = 8
SEED = 20160822


def hop_mac(hop):
    return f"02:00:5e:00:01:{hop:02x}"


def port_mac(port):
    return f"02:00:5e:00:00:{port:02x}"


def tables():
    rng = routes.seeded(SEED)
    return routes.random_table(4, 1600, N_HOPS, rng), routes.random_table(6, 400, N_HOPS, rng)


def removed():
    """Routes that are deleted while it runs: the default and every fifth."""
    table4, table6 = tables()
    return [(0, 0), *list(table4)[::5]], [(0, 0), *list(table6)[::5]]


def control_text():
    table4, table6 = tables()
    lines = ["# Made by tests/oracle/examples/ip_forwarding.py: next hops, 1,600 IPv4 and 400 IPv6 routes."]
    lines.append(f"icmp.set_address ipv4={ROUTER4} ipv6={ROUTER6}")
    for hop in range(N_HOPS - 1):  # the last one is missing, so that routes to it show a drop reason
        port = 1 + hop % 2
        lines.append(f"hops.insert index={hop} station={hop_mac(hop)} source={port_mac(port)} port={port}")
    lines += routes.control_lines(4, {(0, 0): 0}) + routes.control_lines(6, {(0, 0): 1})
    lines += routes.control_lines(4, table4) + routes.control_lines(6, table6)
    lines.append("# While it runs: the default and every fifth route go, and what they covered falls to shorter ones or to none.")
    gone4, gone6 = removed()
    lines += [f"@1700000001 routes.delete version=4 prefix={routes.text(4, prefix)} length={length}" for prefix, length in gone4]
    lines += [f"@1700000001 routes.delete version=6 prefix={routes.text(6, prefix)} length={length}" for prefix, length in gone6]
    lines += ["@end routes.stats", "@end hops.list cursor=all", "@end hops.stats", "@end icmp.stats"]
    return "\n".join(lines) + "\n"


def inputs():
    rng = routes.seeded(SEED + 1)
    table4, table6 = tables()
    known4, known6 = list(table4), list(table6)

    def to4():
        return routes.text(4, routes.inside(4, *rng.choice(known4), rng))

    def to6():
        return routes.text(6, routes.inside(6, *rng.choice(known6), rng))

    def spread(n):
        packets = []
        for i in range(n):
            packets.append(udp4("10.1.0.1", to4(), 1000 + i, 53, text(i % 40)))
            if i % 3 == 0:
                packets.append(udp6("2001:db8:a::1", to6(), 1000 + i, 53, text(i % 40)))
        return packets

    some4, some6 = to4(), to6()
    special = [
        tcp4("10.1.0.1", some4, 1, 2, text(9), ttl=0),
        tcp4("10.1.0.1", some4, 1, 2, text(9), ttl=1),
        tcp4("10.1.0.1", some4, 1, 2, text(9), ttl=2),
        tcp4("10.1.0.1", some4, 1, 2, text(9), ttl=255),
        udp4("10.1.0.1", some4, 1, 2, text(1300), ttl=1),  # more than an error quotes
        udp4("10.1.0.1", some4, 1, 2, text(151), ttl=1),  # an odd number of bytes
        tcp6("2001:db8:a::1", some6, 1, 2, text(9), hlim=1),
        tcp6("2001:db8:a::1", some6, 1, 2, text(9), hlim=2),
        udp6("2001:db8:a::1", some6, 1, 2, text(1400), hlim=0),
        udp6("2001:db8:a::1", some6, 1, 2, text(333), hlim=1),
        ether() / IP(src="10.1.0.1", dst=some4, ttl=1) / ICMP(type=8, id=1) / Raw(text(20)),
        ether() / IP(src="10.1.0.1", dst=some4, ttl=1) / ICMP(type=3, code=1) / IP(src=some4, dst="10.1.0.1") / UDP(),
        ether() / IPv6(src="2001:db8:a::1", dst=some6, hlim=1) / ICMPv6EchoRequest(id=1, data=text(20)),
        ether() / IPv6(src="2001:db8:a::1", dst=some6, hlim=1) / ICMPv6TimeExceeded() / IPv6(src=some6, dst="2001:db8:a::1"),
        udp4("10.1.0.1", "10.9.9.9", 1, 2, text(9)),  # no route
        udp6("2001:db8:a::1", "3fff::1", 1, 2, text(9)),
        udp4("10.1.0.1", "224.0.0.5", 1, 2, text(9)),
        udp4("10.1.0.1", "255.255.255.255", 1, 2, text(9)),
        udp6("2001:db8:a::1", "ff02::1", 1, 2, text(9)),
        udp4("127.0.0.1", some4, 1, 2, text(9)),
        udp4("224.0.0.1", some4, 1, 2, text(9)),
        udp4("0.0.0.0", some4, 1, 2, text(9)),
        udp6("::1", some6, 1, 2, text(9)),
        udp4("10.1.0.1", "127.1.2.3", 1, 2, text(9)),
        udp4("10.1.0.1", "0.1.2.3", 1, 2, text(9)),
        udp4("169.254.3.4", some4, 1, 2, text(9)),
        udp6("fe80::1", some6, 1, 2, text(9)),
        udp6("2001:db8:a::1", "fe80::2", 1, 2, text(9)),
        Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff") / IP(src="10.1.0.1", dst="10.9.9.9") / UDP(sport=1, dport=2) / Raw(text(9)),
    ]
    frames = full(spread(90)) + full(special)
    for whole in (fragments4(built(udp4("10.1.0.1", some4, 1, 2, text(500), ttl=1)), 256, 99), fragments6(built(udp6("2001:db8:a::1", some6, 1, 2, text(500), hlim=1)), 256, 98)):
        frames += [(frame, len(frame)) for frame in whole]
    broken = bytearray(raw(udp4("10.1.0.1", some4, 1, 2, text(9))))
    broken[24] ^= 0x40  # the header checksum
    padded = raw(udp4("10.1.0.1", some4, 1, 2, b"x", ttl=1)) + b"\0" * 17  # an error quotes no padding
    cut = raw(udp4("10.1.0.1", some4, 1, 2, text(700), ttl=1))
    frames += [(bytes(broken), len(broken)), (padded, len(padded)), (cut[:300], len(cut))]
    frames += odd_frames("10.1.0.1", some4, "2001:db8:a::1", some6, 1, 2)
    # Whole carries of the checksum update: every TTL, so that each high byte of the word comes by.
    frames += full([ether() / IP(src="10.1.0.1", dst=some4, ttl=ttl, id=ttl * 251) / TCP(sport=ttl) for ttl in range(2, 256, 11)])
    records = at_times(frames, step_ns=2_000_000)
    unreachable = [p for p in special if p.haslayer(IP) and p[IP].dst == "10.9.9.9" or p.haslayer(IPv6) and p[IPv6].dst == "3fff::1"]
    unreachable += [udp4("10.1.0.1", "10.9.9.9", 1, 2, text(1300)), udp6("2001:db8:a::1", "3fff::1", 1, 2, text(1300))]
    unreachable += [ether() / IP(src="10.1.0.1", dst="10.9.9.9") / ICMP(type=3, code=1) / IP(src="10.9.9.9", dst="10.1.0.1") / UDP()]
    after = at_times(full(spread(90) + unreachable), start_ns=1_700_000_001 * 10**9, step_ns=1_000_000)
    assert records[-1].time_ns < 1_700_000_001 * 10**9
    back = at_times(full([udp4(to4(), to4(), 7, 7, text(i)) for i in range(30)]) + odd_frames(to4(), to4(), to6(), to6(), 5, 6), step_ns=3_100_000)
    return {"in.pcap": records + after, "in.tor_in.pcap": back}


def judge_packet(frame, data):
    """(`forward`, None), (`local`, None) or (`drop`, reason), as RFC 1812 §5.2.2 and 5.3 have it."""
    if frame.status == "malformed":
        return "drop", "malformed header"
    if frame.status == "short":
        return "drop", "header cut short"
    if frame.status == "not_ip":
        return "local", None
    if frame.version == 4:
        if internet_checksum(data[frame.l3 : frame.l3 + frame.header_bytes]) != 0:
            return "drop", "header checksum"
        zero = {"src": int(frame.src) >> 24 == 0, "dst": int(frame.dst) >> 24 == 0}
        if frame.dst.is_multicast or int(frame.dst) == 0xFFFFFFFF:
            return "local", None
        if frame.src.is_multicast or frame.src.is_loopback or zero["src"] or int(frame.src) == 0xFFFFFFFF:
            return "drop", "martian source"
        if frame.dst.is_loopback or zero["dst"]:
            return "drop", "martian destination"
    else:
        if frame.dst.is_multicast:
            return "local", None
        if frame.src.is_multicast or frame.src.is_loopback or frame.src.is_unspecified:
            return "drop", "martian source"
        if frame.dst.is_loopback or frame.dst.is_unspecified:
            return "drop", "martian destination"
    if frame.src.is_link_local or frame.dst.is_link_local:
        return "drop", "link-local"
    return "forward", None


def icmp_error(data, frame, unreachable, ident):
    """The frame of an ICMP error, or None where none may be sent."""
    v4 = frame.version == 4
    if frame.icmp_type is not None:
        about_error = frame.icmp_type in (3, 4, 5, 11, 12) if v4 else frame.icmp_type < 128 or frame.icmp_type == 137
    else:
        about_error = False
    if frame.l4_status == "malformed" or frame.later or data[0] & 1 or about_error:
        return None
    packet = data[frame.l3 :]
    packet = packet[: int(min(frame.ip_bytes, len(packet), 576 - 28 if v4 else 1280 - 48))]
    if v4:
        answer = IP(src=ROUTER4, dst=str(frame.src), tos=0xC0, id=ident & 0xFFFF, ttl=64) / ICMP(type=3 if unreachable else 11, code=0)
    else:
        answer = IPv6(src=ROUTER6, dst=str(frame.src), hlim=64) / (ICMPv6DestUnreach(code=0) if unreachable else ICMPv6TimeExceeded(code=0))
    return data[6:12] + data[:6] + data[12 : frame.l3] + raw(answer / Raw(packet))


class Router:
    def __init__(self):
        self.tables = {4: routes.Table(4), 6: routes.Table(6)}
        self.hops, self.ident = {}, 0
        self.drops = {name: Counter() for name in ("check", "hops", "icmp")}
        self.counts = Counter()

    def call(self, call):
        a = call.args
        if call.signal == "insert" and call.instance == "routes":
            self.tables[a["version"]].routes[(a["prefix"], a["length"])] = a["next_hop"]
        elif call.signal == "delete":
            self.tables[a["version"]].routes.pop((a["prefix"], a["length"]))
        elif call.instance == "hops" and call.signal == "insert":
            self.hops[a["index"]] = dict(a, packets=0)
        elif call.instance == "hops" and call.signal == "list":
            return [dict(hop, valid=True) for hop in self.hops.values()]
        elif call.instance == "hops" and call.signal == "stats":
            return [{"n_forwarded": self.counts["forwarded"], "n_expired": self.counts["expired"]}]
        elif call.instance == "icmp" and call.signal == "stats":
            return [{"n_answered": self.counts["answered"], "n_silent": self.counts["silent"]}]
        elif call.instance == "routes" and call.signal == "stats":
            inner = {prefix >> 16 for prefix, length in self.tables[4].routes if length > 16}
            innermost = {prefix >> 8 for prefix, length in self.tables[4].routes if length > 24}
            return [{"ipv4_routes": len(self.tables[4].routes), "ipv6_routes": len(self.tables[6].routes), "groups2": len(inner),
                     "groups3": len(innermost), "n_hits": self.counts["hits"], "n_misses": self.counts["misses"]}]
        return None

    def route(self, data):
        """(output port, frame) or None."""
        frame = decode(data)
        verdict, reason = judge_packet(frame, data)
        if verdict == "drop":
            self.drops["check"][reason] += 1
            return None
        if verdict == "local":
            return "Drop", data
        hop = self.tables[frame.version].lookup(int(frame.dst))
        self.counts["misses" if hop is None else "hits"] += 1
        if hop is None:
            return self.error(data, frame, True)
        if hop not in self.hops:
            self.drops["hops"]["unknown next hop"] += 1
            return None
        if frame.ttl <= 1:
            self.counts["expired"] += 1
            return self.error(data, frame, False)
        out, entry = bytearray(data), self.hops[hop]
        out[:12] = entry["station"].to_bytes(6, "big") + entry["source"].to_bytes(6, "big")
        out[frame.l3 + (8 if frame.version == 4 else 7)] -= 1
        if frame.version == 4:
            out[frame.l3 + 10 : frame.l3 + 12] = b"\0\0"
            out[frame.l3 + 10 : frame.l3 + 12] = internet_checksum(out[frame.l3 : frame.l3 + frame.header_bytes]).to_bytes(2, "big")
        entry["packets"] += 1
        self.counts["forwarded"] += 1
        return ("tor_out", "nic_out")[entry["port"] - 1], bytes(out)

    def error(self, data, frame, unreachable):
        answer = icmp_error(data, frame, unreachable, self.ident)
        if answer is None:
            self.counts["silent"] += 1
            self.drops["icmp"]["no ICMP error is due"] += 1
            return None
        self.counts["answered"] += 1
        if frame.version == 4:
            self.ident += 1
        return "host_out", answer


def expected(records, calls):
    router = Router()
    timeline = Timeline(calls, router.call)
    outputs = {"tor_out": [], "nic_out": [], "host_out": [], "Drop": []}
    arrivals = [(record, 0) for record in records["in.pcap"]] + [(record, 1) for record in records["in.tor_in.pcap"]]
    for record, _ in sorted(arrivals, key=lambda arrival: (arrival[0].time_ns, arrival[1])):
        timeline.until(record.time_ns)
        routed = router.route(record.data)
        if routed:
            port, data = routed
            missing = 0 if port == "host_out" else record.orig_len - len(record.data)
            outputs[port].append(Record(record.time_ns, data, len(data) + missing))
    timeline.until(float("inf"))
    dropped = {name: dict(sorted(reasons.items())) for name, reasons in router.drops.items()}
    outputs.pop("Drop")
    return outputs, {"drops": dropped, "signals": timeline.results}
