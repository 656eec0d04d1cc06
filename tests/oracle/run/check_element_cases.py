"""Cases of tests/run for library elements, each computed by a model in Python: compares the committed files, or writes them with `--write`.

A case is a graph, packets, a control file, and what must come out. Frames come from scapy, decoding and hashing from tests/oracle/examples.
"""

import ipaddress
import json
import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/oracle/examples"))

import routes  # noqa: E402
from control import Call, wide  # noqa: E402
from firewall import Firewall  # noqa: E402
from frames import decode, internet_checksum  # noqa: E402
from murmur3 import Slots, flow_bytes, murmur3  # noqa: E402
from traffic import IP, TCP, UDP, ICMP, IPv6, Dot1AD, Dot1Q, Raw, ether, full, odd_frames, raw, tcp4, tcp6, text, udp4, udp6  # noqa: E402

ODD = odd_frames("10.0.0.1", "192.0.2.1", "2001:db8::1", "2001:db8:1::1", 1234, 80)


class Case:
    def __init__(self, name, comment, graph):
        self.name, self.comment, self.graph = name, comment, graph
        self.sent, self.control, self.signals, self.drops = [], [], [], []
        self.outputs, self.created, self.ended = {}, 0, 0

    def send(self, frames, port="nic_in", start=0, step=10):
        """Packets at equal distances; gives their times with them."""
        stamped = [(start + i * step, data, length) for i, (data, length) in enumerate(frames)]
        self.sent += [(time, port, data, length) for time, data, length in stamped]
        return stamped

    def out(self, port, time, data, length=None):
        self.outputs.setdefault(port, []).append(f"{port} @{time} {packet_text(data, length)}")

    def message(self, port, time, **fields):
        self.outputs.setdefault(port, []).append(f"{port} @{time} {results_text(fields)}")

    def call(self, line, **results):
        """A control line, and what it gives; without results, or with `ok` alone and true, nothing is told."""
        self.control.append(line)
        if results and results != {"ok": True}:
            self.told(len(self.control), line, results)

    def told(self, number, line, results):
        words = [word for word in line.split() if not word.startswith("@")]
        self.signals.append((line.startswith("@"), f"signal {number} {words[0]} {results_text(results)}"))

    def drop(self, place, reason, packets):
        if packets:
            self.drops.append((f'drop {place} "{reason}" {packets}', packets))

    def files(self):
        """Name and text of each file of the case."""
        n_out = sum(len(lines) for port, lines in self.outputs.items() if port != "host_out" or "=" not in lines[0].split()[2])
        dropped = sum(count for _, count in self.drops)
        totals = f"totals in={len(self.sent)} created={self.created} out={n_out} dropped={dropped} ended={self.ended} held=0"
        lines = [line for port in sorted(self.outputs, key=self.graph.index) for line in self.outputs.get(port, [])]
        # Lines without a time run first, those with one in their order here.
        lines += [line for timed in (False, True) for is_timed, line in self.signals if is_timed == timed]
        lines += [line for line, _ in self.drops] + [totals]
        sent = [f"{port} @{time} {packet_text(data, length)}".rstrip() for time, port, data, length in self.sent]
        found = {"clnp": f"// {self.comment}\n\n{self.graph.strip()}\n", "in.txt": "\n".join(sent) + "\n", "expected": "\n".join(lines) + "\n"}
        if self.control:
            found["control"] = "\n".join(self.control) + "\n"
        return {f"{self.name}.{suffix}": content for suffix, content in found.items()}


def packet_text(data, length):
    cut = f"len={length} " if length is not None and length != len(data) else ""
    return cut + hex_text(data)


def hex_text(data):
    """Bytes in hexadecimal, runs of twelve and more of one byte as `aa*60`."""
    words, at = "", 0
    while at < len(data):
        run = 1
        while at + run < len(data) and data[at + run] == data[at]:
            run += 1
        if run >= 12:
            words += ("" if not words or words.endswith(" ") else " ") + f"{data[at]:02x}*{run} "
            at += run
        else:
            words += f"{data[at]:02x}"
            at += 1
    return words.rstrip()


def results_text(results):
    return " ".join(f"{name}={json.dumps(wide(name, value))}" for name, value in results.items())


def flits(data):
    return -(-len(data) // 32)


def counter():
    case = Case("Counter_counts", "Packets, bytes and flits; bytes that the capture cut off apart.",
                'import "core/Counter.clnp"\n\nCounter :: count @\n\nnic_in -> count -> nic_out')
    frames = [frame for frame in ODD if frame[0]]
    for time, data, length in case.send(frames):
        case.out("nic_out", time, data, length)
    case.call("@end count.stats", n_packets=len(frames), n_bytes=sum(len(d) for d, _ in frames), n_flits=sum(flits(d) for d, _ in frames),
              n_missing=sum(n - len(d) for d, n in frames))
    return case


def drop_elem():
    case = Case("DropElem_ends_path", "Packets end there, and are counted; Receiver is the same element.",
                'import "core/DropElem.clnp"\n\nReceiver :: end_here @\n\nnic_in -> end_here')
    frames = full([udp4("10.0.0.1", "192.0.2.1", 1, 2, text(n)) for n in (0, 22, 54, 500)])
    case.send(frames)
    case.ended = len(frames)
    case.call("@end end_here.stats", n_packets=len(frames), n_bytes=sum(len(d) for d, _ in frames), n_flits=sum(flits(d) for d, _ in frames))
    return case


def tee():
    case = Case("Tee_copies", "Every output gets every packet.",
                'import "core/Tee.clnp"\n\nFork :: t (1, 3)\n\nnic_in -> t[1] -> nic_out\nt[2] -> tor_out\nt[3] -> host_out')
    for time, data, length in case.send(ODD):
        for port in ("nic_out", "tor_out", "host_out"):
            case.out(port, time, data, length)
        case.created += 2
    return case


def merge(element):
    case = Case(f"{element}_keeps_packets_whole", "Two copies of each packet merge, flit streams all the way, and stay whole.",
                f'import "core/Tee.clnp"\nimport "core/PassThrough.clnp"\nimport "core/{element}.clnp"\n\nTee :: t (1, 2)\nPassThrough :: a, b, behind\n{element} :: merge (2, 1)\n\n'
                "nic_in -> t[1] -> a -> [1]merge\nt[2] -> b -> [2]merge\nmerge -> behind -> nic_out")
    for time, data, length in case.send(ODD):
        for _ in range(2):
            case.out("nic_out", time, data, length)
        case.created += 1
    return case


def demux():
    case = Case("Demux_round_robin", "Packets leave by turns.",
                'import "core/Demux.clnp"\n\nDemux :: d (1, 3)\n\nnic_in -> d[1] -> nic_out\nd[2] -> tor_out\nd[3] -> host_out')
    for i, (time, data, length) in enumerate(case.send(ODD)):
        case.out(("nic_out", "tor_out", "host_out")[i % 3], time, data, length)
    return case


def lanes():
    case = Case("s2p_and_back", "Three lanes of flits, put together again.",
                'import "core/s2p.clnp"\nimport "core/p2s.clnp"\n\ns2p :: deal (1, 3)\np2s :: join (3, 1)\n\nnic_in -> deal\n.repeat(i, 1, 4) {\n    deal[$i] -> [$i]join\n}\njoin -> nic_out')
    for time, data, length in case.send(ODD):
        case.out("nic_out", time, data, length)
    return case


def flit_demux():
    case = Case("FlitDemux_by_field", "Bits 44 to 47 of the packet, modulo 3; what a short packet lacks is 0.",
                'import "core/FlitDemux.clnp"\n\nFlitDemux :: d (1, 3, OFFSET = 44, WIDTH = 4)\n\nnic_in -> d[1] -> nic_out\nd[2] -> tor_out\nd[3] -> host_out')
    frames = [(bytes([2, 0, 0, 0, 0, n]) + text(n * 9), 6 + n * 9) for n in range(16)] + [(b"\xff" * 5, 5), (b"\xff" * 6, 6)]
    for time, data, length in case.send(frames):
        field = data[5] & 15 if len(data) > 5 else 0
        case.out(("nic_out", "tor_out", "host_out")[field % 3], time, data, length)
    return case


def rand():
    case = Case("Rand_sequence", "The first numbers of xorshift32 (13, 17, 5) from 2463534242, as Marsaglia's paper has its seed.",
                'import "core/Rand.clnp"\n\nRand :: r @\n\nnic_in -> r -> nic_out')
    for i, (time, data, length) in enumerate(case.send(ODD[:3])):
        case.out("nic_out", time, data, length)
        case.call(f"@0.{time + 5:09} r.last", random=(723471715, 2497366906, 2064144800)[i])
    case.call("@end r.seed start=0", ok=False)
    return case


def hash_demux(symmetric):
    case = Case("HashDemux_both_ways" if symmetric else "HashDemux_keeps_flows", "The output is the flow's MurmurHash3 modulo 3; fragments go by their addresses and protocol.",
                f'import "lookups/HashDemux.clnp"\n\nHashDemux :: d (1, 3, SYMMETRIC = {str(symmetric).lower()}, SEED = 7)\n\nnic_in -> d[1] -> nic_out\nd[2] -> tor_out\nd[3] -> host_out')
    flows = full([tcp4("10.0.0.1", "192.0.2.1", 1000 + i, 80) for i in range(8)] + [tcp4("192.0.2.1", "10.0.0.1", 80, 1000 + i) for i in range(8)])
    for time, data, length in case.send(ODD + flows + flows[3:5]):
        frame, port = decode(data), 0
        if frame.sound:
            flow = frame.flow[:4] + (0, 0) if frame.fragment else frame.flow
            value = murmur3(flow_bytes(flow), 7)
            if symmetric:
                version, protocol, src, dst, sport, dport = flow
                value += murmur3(flow_bytes((version, protocol, dst, src, dport, sport)), 7)
            port = (value & 0xFFFFFFFF) % 3
        case.out(("nic_out", "tor_out", "host_out")[port], time, data, length)
    return case


def rev_parser():
    case = Case("RevParser_turns_round", "MACs, addresses and ports change places behind tags, options and extension headers.",
                'import "parsers/RevParser.clnp"\n\nRevParser :: turn\n\nnic_in -> turn -> nic_out')
    for time, data, length in case.send(ODD):
        frame, out = decode(data), bytearray(data)
        if len(data) >= 14:
            out[:12] = data[6:12] + data[:6]
        if frame.status == "ok":
            size, at = (4, frame.l3 + 12) if frame.version == 4 else (16, frame.l3 + 8)
            out[at : at + 2 * size] = data[at + size : at + 2 * size] + data[at : at + size]
            if frame.sound and frame.sport is not None and frame.protocol != 132:
                out[frame.l4 : frame.l4 + 4] = data[frame.l4 + 2 : frame.l4 + 4] + data[frame.l4 : frame.l4 + 2]
        case.out("nic_out", time, bytes(out), length)
    return case


def vlan_parser():
    case = Case("VLAN_Parser_counts_tags", "No tag, one, two, and frames that end inside their tags.",
                'import "parsers/VLAN_Parser.clnp"\n\nVLAN_Parser :: v @\n\nnic_in -> v -> nic_out')
    counts = Counter()
    for time, data, length in case.send(ODD):
        frame = decode(data, 64)
        inside = frame.status == "short" and (len(data) < 14 or len(data) < 18 and data[12:14] == b"\x81\x00")
        counts["cut" if inside else min(2, len(frame.tags))] += 1
        case.out("nic_out", time, data, length)
    case.call("@end v.stats", n_untagged=counts[0], n_tagged=counts[1], n_doubly_tagged=counts[2], n_cut_short=counts["cut"])
    return case


def priority_parser():
    case = Case("PriorityParser_classes", "DSCP of IPv4 and IPv6, else PCP, by tables that signals change.",
                'import "parsers/PriorityParser.clnp"\n\nPriorityParser :: p @\n\nnic_in -> p -> nic_out')
    packets = [ether() / IP(tos=dscp << 2 | 3, src="10.0.0.1", dst="10.0.0.2") / UDP() for dscp in (0, 10, 46, 48, 63)]
    packets += [ether() / IPv6(tc=dscp << 2 | 1, src="::2", dst="::3") / UDP() for dscp in (8, 46, 34)]
    packets += [ether() / Dot1Q(prio=5, vlan=2) / IP(tos=46 << 2, src="10.0.0.1", dst="10.0.0.2") / UDP(), ether() / Dot1Q(prio=5, vlan=2, type=0x9999) / Raw(text(46))]
    packets += [ether() / Dot1AD(prio=6, vlan=2, type=0x8100) / Dot1Q(prio=1, vlan=3, type=0x9999) / Raw(text(46)), ether() / Raw(text(46))]
    for time, data, length in case.send(full(packets)):
        case.out("nic_out", time, data, length)
    case.call("p.set_dscp dscp=46 traffic_class=15", ok=True)
    case.call("p.set_pcp pcp=5 traffic_class=9", ok=True)
    case.call("p.set_pcp pcp=8 traffic_class=1", ok=False)
    classes = Counter([0, 1, 15, 6, 7] + [1, 15, 4] + [15, 9] + [6, 0])
    case.control.append("@end p.list cursor=all")
    for traffic_class in range(16):
        case.told(4, "@end p.list", {"next": (traffic_class + 1) % 16, "valid": True, "traffic_class": traffic_class, "n_packets": classes[traffic_class]})
    return case


def ip_checksum(write):
    case = Case("IPChecksum_writes" if write else "IPChecksum_checks", "IPv4 headers with and without options and tags, right and wrong; sums computed from scratch.",
                f'import "actions/IPChecksum.clnp"\n\nIPChecksum :: c @ (1, 1, WRITE = {str(write).lower()})\n\nnic_in -> c -> nic_out')
    frames = list(ODD)
    for data, length in ODD[:3]:
        at = decode(data).l3
        frames += [(data[: at + i] + bytes([data[at + i] ^ 0x81]) + data[at + i + 1 :], length) for i in (1, 10, 11, 19)]
    counts = Counter()
    for time, data, length in case.send(frames):
        frame, out = decode(data, 96), bytearray(data)
        head = slice(frame.l3, frame.l3 + frame.header_bytes)
        if frame.status != "ok" or frame.version != 4:
            counts["other"] += 1
        elif internet_checksum(data[head]) == 0:
            counts["right"] += 1
        else:
            counts["wrong"] += 1
            if not write:
                continue
            out[frame.l3 + 10 : frame.l3 + 12] = b"\0\0"
            out[frame.l3 + 10 : frame.l3 + 12] = internet_checksum(out[head]).to_bytes(2, "big")
        case.out("nic_out", time, bytes(out), length)
    if not write:
        case.drop("c", "IPv4 header checksum", counts["wrong"])
    case.call("@end c.stats", n_right=counts["right"], n_wrong=counts["wrong"], n_other=counts["other"])
    return case


def transport_sum(data, frame):
    """(place, right value, what stands there) of the TCP or UDP checksum of a whole packet; None if it cannot be judged."""
    if not frame.sound or frame.fragment or frame.protocol not in (6, 17):
        return None
    present = len(data) - frame.l4
    covered = present if frame.ip_bytes == float("inf") else frame.ip_bytes - (frame.l4 - frame.l3)
    if frame.protocol == 17 and (n := int.from_bytes(data[frame.l4 + 4 : frame.l4 + 6], "big")):
        if n > covered:
            return None
        covered = n
    if covered > present or covered < (8 if frame.protocol == 17 else 20):
        return None
    place = frame.l4 + (6 if frame.protocol == 17 else 16)
    had = int.from_bytes(data[place : place + 2], "big")
    if frame.protocol == 17 and frame.version == 4 and had == 0:
        return None
    at, size = (frame.l3 + 12, 8) if frame.version == 4 else (frame.l3 + 8, 32)
    segment = data[frame.l4 : place] + b"\0\0" + data[place + 2 : frame.l4 + covered]
    made = internet_checksum(data[at : at + size] + covered.to_bytes(4, "big") + frame.protocol.to_bytes(4, "big") + segment)
    return place, 0xFFFF if made == 0 and frame.protocol == 17 else made, had


def tcp_checksum(write):
    case = Case("TCPChecksum_writes" if write else "TCPChecksum_checks", "TCP and UDP over IPv4 and IPv6, right and wrong, odd lengths, padding; sums computed from scratch.",
                f'import "actions/TCPChecksum.clnp"\n\nTCPChecksum :: c @ (1, 1, WRITE = {str(write).lower()})\n\nnic_in -> c -> nic_out')
    frames = list(ODD)
    makes = (tcp4, "10.0.0.1", "192.0.2.1"), (udp4, "10.0.0.1", "192.0.2.1"), (tcp6, "2001:db8::1", "2001:db8::2"), (udp6, "2001:db8::1", "2001:db8::2")
    for make, src, dst in makes:
        for size in (0, 1, 2, 60, 61, 75, 76, 77, 300, 1333):
            data = raw(make(src, dst, 7, 8, text(size)))
            at = decode(data).l4
            wrong = [data[:i] + bytes([data[i] ^ 0x10]) + data[i + 1 :] for i in {at + 1, at + 7, len(data) - 1}]
            frames += [(d + padding, len(d + padding)) for d in (data, *wrong) for padding in (b"", b"\xee" * 5)][:5]
        none = bytearray(raw(make(src, dst, 7, 8, text(9))))
        none[decode(bytes(none)).l4 + 6 : decode(bytes(none)).l4 + 8] = b"\0\0"
        frames.append((bytes(none), len(none)))
    counts = Counter()
    for time, data, length in case.send(frames):
        judged = transport_sum(data, decode(data))
        if judged is None:
            counts["other"] += 1
        else:
            place, made, had = judged
            # The sums of 0 and 0xffff are the same, but a UDP checksum of 0 means none.
            is_right = made == had or {made, had} == {0, 0xFFFF} and decode(data).protocol == 6
            counts["right" if is_right else "wrong"] += 1
            if not is_right:
                if not write:
                    continue
                data = data[:place] + made.to_bytes(2, "big") + data[place + 2 :]
        case.out("nic_out", time, data, length)
    if not write:
        case.drop("c", "transport checksum", counts["wrong"])
    case.call("@end c.stats", n_right=counts["right"], n_wrong=counts["wrong"], n_other=counts["other"])
    return case


def flit_count():
    case = Case("FlitCount_summaries", "A summary every fifth flit.",
                'import "core/FlitCount.clnp"\n\nMetaGen :: m (EVERY = 5)\n\nnic_in -> m[1] -> nic_out\nm[2] -> host_out')
    n_flits = n_packets = n_bytes = 0
    for time, data, length in case.send([frame for frame in ODD if frame[0]]):
        case.out("nic_out", time, data, length)
        for at in range(0, len(data), 32):
            n_flits, n_bytes = n_flits + 1, n_bytes + len(data[at : at + 32])
            n_packets += at + 32 >= len(data)
            if n_flits % 5 == 0:
                case.message("host_out", time, flits=n_flits, packets=n_packets, bytes=n_bytes, time_ns=time)
    return case


def flow_tuple_parser():
    case = Case("FlowTupleParser_keys", "One key a packet: every kind of frame.",
                'import "parsers/FlowTupleParser.clnp"\n\nFlowTupleParser :: p @\n\nnic_in -> p[1] -> nic_out\np[2] -> host_out')
    counts = Counter()
    names = ("version", "protocol", "src", "dst", "sport", "dport")
    for time, data, length in case.send(ODD):
        frame = decode(data)
        status = frame.status if frame.status != "ok" else frame.l4_status
        counts[status] += 1
        key = dict(zip(names, frame.flow)) if frame.status == "ok" else dict.fromkeys(names, 0)
        case.out("nic_out", time, data, length)
        case.message("host_out", time, **{name: key[name] for name in ("src", "dst", "sport", "dport", "protocol", "version")})
    case.call("@end p.stats", n_keyed=counts["ok"], n_not_ip=counts["not_ip"], n_malformed=counts["malformed"], n_cut_short=counts["short"])
    return case


SHOW = """
.element Show <1, 1 + 1: {struct}> {{
    .meta {{
        {struct} {meta};
    }}
    .packet (32) {{
        set_output_port(2, pkt.meta.{meta});
        emit(1);
    }}
}}
"""


def parser_case(element, struct, meta, comment):
    """A parser whose metadata an element of the case turns into messages."""
    graph = f'import "parsers/{element}.clnp"\n{SHOW.format(struct=struct, meta=meta)}\n{element} :: p @\nShow :: show\n\nnic_in -> p -> show[1] -> nic_out\nshow[2] -> host_out'
    return Case(f"{element}_fields", comment, graph)


def ip_parser():
    case = parser_case("IP_Parser", "IpFields", "ip", "The IP header of every kind of frame.")
    counts = Counter()
    packets = [ether() / IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB9, ttl=3) / UDP(), ether() / IPv6(src="::7", dst="::8", tc=0xB9, hlim=4) / UDP()]
    for time, data, length in case.send(full(packets) + ODD):
        frame = decode(data)
        # Extension headers belong to the IPv6 header, the transport header does not.
        broken = frame.version == 6 and frame.status == "ok" and frame.l4 == 0
        status = frame.l4_status if broken else frame.status
        counts[frame.version if status == "ok" else status] += 1
        fields = dict.fromkeys(("version", "tos", "header_bytes", "ip_bytes", "ttl", "protocol"), 0) | {"fragment": False, "later_fragment": False, "src": 0, "dst": 0}
        if status == "ok":
            word = int.from_bytes(data[frame.l3 : frame.l3 + 2], "big")
            fields = dict(version=frame.version, tos=word & 255 if frame.version == 4 else word >> 4 & 255, header_bytes=frame.l4 - frame.l3,
                          ip_bytes=0xFFFFFFFF if frame.ip_bytes == float("inf") else frame.ip_bytes, ttl=frame.ttl, protocol=frame.protocol,
                          fragment=frame.fragment, later_fragment=frame.later, src=int(frame.src), dst=int(frame.dst))
        case.message("host_out", time, **fields)
        case.out("nic_out", time, data, length)
    case.call("@end p.stats", n_ipv4=counts[4], n_ipv6=counts[6], n_not_ip=counts["not_ip"], n_malformed=counts["malformed"], n_cut_short=counts["short"])
    return case


def tcp_parser():
    case = parser_case("TCP_Parser", "TcpFields", "tcp", "TCP headers with options and flags, cut ones, and other protocols.")
    segments = [ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2, flags=flags, seq=0xFFFFFFFE, ack=5, window=77, options=options) / Raw(text(9))
                for flags, options in (("S", [("MSS", 1460), ("WScale", 7)]), ("FA", []), ("R", []), ("PAUEC", [("NOP", None)] * 4))]
    segments.append(ether() / IPv6(src="::1:1", dst="::2") / TCP(sport=3, dport=4, flags="SA"))
    segments += [ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(dataofs=n) for n in (4, 6)]
    counts = Counter()
    for time, data, length in case.send(full(segments) + ODD):
        frame, fields = decode(data), None
        at = frame.l4
        if frame.sound and frame.protocol == 6 and frame.sport is not None and len(data[:128]) >= at + 20:
            room, size = frame.ip_bytes - (at - frame.l3), (data[at + 12] >> 4) * 4
            if 20 <= size <= room:
                number = lambda a, b: int.from_bytes(data[at + a : at + b], "big")  # noqa: E731
                fields = dict(valid=True, sport=frame.sport, dport=frame.dport, sequence=number(4, 8), acknowledgement=number(8, 12), header_bytes=size, flags=data[at + 13],
                              window=number(14, 16), payload_bytes=0 if room == float("inf") else room - size)
        counts["segments" if fields else "other"] += 1
        for bit, name in enumerate(("fin", "syn", "rst")):
            counts[name] += fields is not None and fields["flags"] >> bit & 1
        case.message("host_out", time, **(fields or {"valid": False} | dict.fromkeys(("sport", "dport", "sequence", "acknowledgement", "header_bytes", "flags", "window", "payload_bytes"), 0)))
        case.out("nic_out", time, data, length)
    case.call("@end p.stats", **{f"n_{name}": counts[name] for name in ("segments", "other", "syn", "fin", "rst")})
    return case


def udp_parser():
    case = parser_case("UDP_Parser", "UdpFields", "udp", "UDP headers, cut ones, and other protocols.")
    datagrams = [udp4("10.0.0.1", "10.0.0.2", 1, 2, text(5)), udp6("::1:1", "::2", 3, 4, text(6)), ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(len=7), ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(chksum=0)]
    counts = Counter()
    for time, data, length in case.send(full(datagrams) + ODD):
        frame, fields = decode(data), None
        if frame.sound and frame.protocol == 17 and frame.sport is not None and len(data[:128]) >= frame.l4 + 8:
            size, checksum = (int.from_bytes(data[frame.l4 + a : frame.l4 + a + 2], "big") for a in (4, 6))
            if size >= 8 or frame.ip_bytes == float("inf"):
                fields = dict(valid=True, sport=frame.sport, dport=frame.dport, length=size, checksum=checksum)
        counts["datagrams" if fields else "other"] += 1
        case.message("host_out", time, **(fields or {"valid": False} | dict.fromkeys(("sport", "dport", "length", "checksum"), 0)))
        case.out("nic_out", time, data, length)
    case.call("@end p.stats", n_datagrams=counts["datagrams"], n_other=counts["other"])
    return case


def forwarder():
    case = Case("Forwarder_both_ways", "What comes in on one side leaves on the other.",
                'import "networking/Forwarder.clnp"\n\nForwarder :: f @\n\nnic_in -> [1]f[2] -> tor_out\ntor_in -> [2]f[1] -> nic_out')
    for time, data, length in case.send(ODD[:9]):
        case.out("tor_out", time, data, length)
    for time, data, length in case.send(ODD[9:], "tor_in", start=3):
        case.out("nic_out", time, data, length)
    case.call("@end f.stats", from_1=9, from_2=len(ODD) - 9)
    return case


class SmallTree:
    """What LPM_Tree can hold with few groups, beside the reference table."""

    def __init__(self, version, n_slots, groups2, groups3):
        self.table, self.version, self.n_slots, self.groups2, self.groups3 = routes.Table(version), version, n_slots, groups2, groups3

    def insert(self, prefix, length, hop):
        key, have = (prefix, length), self.table.routes
        if key not in have:
            inner = {p >> 16 for p, n in [*have, key] if n > 16}
            innermost = {p >> 8 for p, n in [*have, key] if n > 24}
            too_many = self.version == 4 and (len(inner) > self.groups2 or len(innermost) > self.groups3)
            if too_many or len(have) >= self.n_slots - self.n_slots // 8:
                return False
        have[key] = hop
        return True

    def delete(self, prefix, length):
        return self.table.routes.pop((prefix, length), None) is not None


def lpm(version):
    n_slots, groups2, groups3 = 32, 3, 2
    case = Case(f"LPM_Tree_small_ipv{version}", "A small table under random insertions, deletions and lookups; full tables refuse.",
                f'import "lookups/LPM_Tree.clnp"\nimport "networking/NextHopTable.clnp"\n\nLPM_Tree :: routes @ (1, 2, ROUTES4 = {n_slots}, ROUTES6 = {n_slots}, GROUPS2 = {groups2}, GROUPS3 = {groups3})\n'
                "NextHopTable :: hops @ (1, 3, NEXT_HOPS = 64)\n\nnic_in -> routes[1] -> hops[1] -> nic_out\nhops[2] -> Drop\nhops[3] -> Drop\nroutes[2] -> host_out")
    rng, bits = random.Random(version), 32 if version == 4 else 128
    lengths = (0, 3, 8, 15, 16, 17, 20, 24, 25, 30, 32) if version == 4 else (0, 1, 16, 32, 48, 63, 64, 65, 127, 128)
    base = 0x0A000000 if version == 4 else 0x20010DB8 << 96

    def address():
        # Few values for each group of bits, so that prefixes lie inside each other.
        return base | sum(rng.choice((0, 1, 2, 255)) << shift for shift in ((0, 8, 16) if version == 4 else (0, 56, 64, 80)))

    for hop in range(64):
        case.call(f"hops.insert index={hop} station={hop + 1} source=0 port=1", ok=True)
    tree, hits, misses = SmallTree(version, n_slots, groups2, groups3), 0, 0
    for step in range(260):
        time = 1000 * step
        length = rng.choice(lengths)
        prefix = address() >> (bits - length) << (bits - length)
        known = list(tree.table.routes)
        if known and rng.random() < 0.5 - 0.2 * (step < 80):
            prefix, length = rng.choice(known) if rng.random() < 0.9 else (prefix, length)
            case.call(f"@0.{time:09} routes.delete version={version} prefix={routes.text(version, prefix)} length={length}", ok=tree.delete(prefix, length))
        else:
            hop = rng.randrange(64)
            case.call(f"@0.{time:09} routes.insert version={version} prefix={routes.text(version, prefix)} length={length} next_hop={hop}", ok=tree.insert(prefix, length, hop))
        to = address()
        make = udp4 if version == 4 else udp6
        frame = raw(make("10.0.0.9" if version == 4 else "::9", routes.text(version, to), 1, 2))
        case.send([(frame, len(frame))], start=time + 1)
        hop = tree.table.lookup(to)
        if hop is None:
            misses += 1
            case.out("host_out", time + 1, frame)
            continue
        hits += 1
        out = bytearray(frame)
        out[:12] = (hop + 1).to_bytes(6, "big") + bytes(6)
        out[22 if version == 4 else 21] -= 1
        if version == 4:
            out[24:26] = b"\0\0"
            out[24:26] = internet_checksum(out[14:34]).to_bytes(2, "big")
        case.out("nic_out", time + 1, bytes(out))
    left = list(tree.table.routes)
    case.call("@end routes.stats", ipv4_routes=len(left) if version == 4 else 0, ipv6_routes=0 if version == 4 else len(left),
              groups2=len({p >> 16 for p, n in left if n > 16}) if version == 4 else 0, groups3=len({p >> 8 for p, n in left if n > 24}) if version == 4 else 0,
              n_hits=hits, n_misses=misses)
    case.call("@end routes.clear")
    case.call("@end routes.stats", ipv4_routes=0, ipv6_routes=0, groups2=0, groups3=0, n_hits=hits, n_misses=misses)
    return case


def firewall_full():
    case = Case("Firewall_5tuple_full_tables", "Three rules and eight flows fit; more are refused, and so are rules that make no sense.",
                'import "networking/Firewall_5tuple.clnp"\n\nFirewall_5tuple :: fw @ (1, 1, FLOWS = 8, RULES = 3)\n\nnic_in -> fw -> nic_out')

    def rule(priority, dport, accept, ok, **changes):
        fields = dict(priority=priority, version=4, protocol=17, src="0.0.0.0", src_len=0, dst="10.0.0.0", dst_len=8, sport_lo=0, sport_hi=65535, dport_lo=dport, dport_hi=dport, accept=str(accept).lower())
        fields |= changes
        case.call("fw.insert " + " ".join(f"{name}={value}" for name, value in fields.items()), ok=ok)

    rule(20, 1, True, True)
    rule(10, 1, False, True)  # comes first
    rule(10, 1, True, True)  # same priority: behind the one before
    rule(5, 2, True, False)  # no room
    case.call("fw.delete priority=20", removed=1)
    rule(30, 2, True, False, src_len=33)
    rule(30, 2, True, False, dport_hi=1)
    rule(30, 2, True, False, version=0)
    rule(30, 2, True, True)
    for i in range(9):
        case.call(f"fw.insert_flow version=4 protocol=17 src=10.0.0.1 dst=10.0.0.2 sport={i} dport=9 accept=true", ok=i < 8)
    case.call("fw.insert_flow version=4 protocol=17 src=10.0.0.1 dst=10.0.0.2 sport=0 dport=9 accept=false", ok=True)  # replaces
    case.call("fw.delete_flow version=4 protocol=17 src=10.0.0.1 dst=10.0.0.2 sport=8 dport=9", ok=False)
    sent = [udp4("10.0.0.1", "10.0.0.2", sport, dport) for sport, dport in ((1, 1), (1, 2), (0, 9), (1, 9), (8, 9))]
    for number, (time, data, length) in enumerate(case.send(full(sent))):
        if number in (1, 3):
            case.out("nic_out", time, data, length)
    case.drop("fw", "default policy", 1)
    case.drop("fw", "flow rule", 1)
    case.drop("fw", "rule", 1)
    case.call("@end fw.stats", n_accepted=2, n_flow=1, n_rule=1, n_default=1, n_not_ip=0, n_malformed=0, n_short=0)
    return case


def firewall_many(name, n_rules):
    """Rules with all kinds of prefixes and ranges come and go, many of them overlapping, between packets, some of which come again."""
    any_random = random.Random(n_rules)
    pick = any_random.choice
    case = Case(name, f"Rules with prefixes and ranges of all lengths come and go between packets; more than {n_rules} are refused.",
                f'import "networking/Firewall_5tuple.clnp"\n\nFirewall_5tuple :: fw @ (1, 1, RULES = {n_rules})\n\nnic_in -> fw -> nic_out')
    model = Firewall(False, True)
    # Most of them bound few rules, so that classes of ports come and go.
    ports = [0, 1, 8, 80, 1023, 1024, 65534, 65535] + [any_random.randrange(65536) for _ in range(n_rules // 3)]
    protocols = (1, 6, 17, 47, 58, 132)

    def address(version):
        if version == 4:
            return str(ipaddress.IPv4Address(bytes(pick((10, 10, 10, 11, 138)) if i == 0 else pick((0, 1, 128, 255)) for i in range(4))))
        return str(ipaddress.IPv6Address(bytes.fromhex("20010db8") + bytes(pick((0, 0, 0, 1, 128, 255)) for _ in range(12))))

    def insert(when, priority):
        version = pick((4, 4, 4, 6, 6, 0))
        longest = {4: 32, 6: 128, 0: 0}[version]
        args = {"priority": priority, "version": version, "protocol": pick((256, *protocols)), "accept": any_random.random() < 0.6}
        for name in ("src", "dst"):
            length = pick((0, 1, 4, 7, 8, 9, 12, 15, 16, 17, 20, 24, 25, 31, 32, 33, 40, 41, 48, 55, 64, 100, 128))
            if length <= longest:
                base = ipaddress.ip_network(f"{address(version)}/{length}", strict=False).network_address
                args |= {name: str(base), f"{name}_len": length}
        for name in ("sport", "dport"):
            if version == 0 or pick((True, False)):
                lo, hi = sorted(pick(ports) for _ in range(2)) if version or name == "sport" else [pick(ports)] * 2
                args |= {f"{name}_lo": lo, f"{name}_hi": hi}
        ok = len(model.rules) < n_rules
        if ok:
            numbers = {name: int(ipaddress.ip_address(value)) if isinstance(value, str) else value for name, value in args.items()}
            model.call(Call(0, 0, "fw", "insert", numbers))
        case.call(f"{when}fw.insert " + " ".join(f"{name}={str(value).lower()}" for name, value in args.items()), ok=ok)

    def delete(when, priority):
        case.call(f"{when}fw.delete priority={priority}", **model.call(Call(0, 0, "fw", "delete", {"priority": priority}))[0])

    def list_rules(when):
        case.control.append(f"{when}fw.list cursor=all")
        for i, rule in enumerate(model.rules):
            names = ("priority", "version", "protocol", "src", "src_len", "dst", "dst_len", "sport_lo", "sport_hi", "dport_lo", "dport_hi", "accept", "packets")
            following = i + 1 if i + 1 < len(model.rules) else 0
            case.told(len(case.control), f"{when}fw.list", {"next": following, "valid": True, **{name: rule[name] for name in names}})

    def frame():
        version = pick((4, 4, 6))
        sport, dport, src, dst = pick(ports), pick(ports), address(version), address(version)
        ip = IP(src=src, dst=dst) if version == 4 else IPv6(src=src, dst=dst)
        kind = any_random.randrange(10)
        if kind < 6:
            return ether() / ip / pick((TCP, UDP))(sport=sport, dport=dport)
        if kind == 6 and version == 4:
            return ether() / ip / ICMP(type=pick((8, 0, 3)), code=pick((0, 1, 80)))
        if kind == 7 and version == 4:
            return ether() / IP(src=src, dst=dst, frag=pick((0, 40)), flags="MF", proto=17) / UDP(sport=sport, dport=dport) / text(24)
        ip.setfieldval("proto" if version == 4 else "nh", pick((47, 132, 17)))
        return ether() / ip / Raw(sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes(8))

    known = full([frame() for _ in range(30)])
    for phase in range(8):
        when = f"@{phase} " if phase else ""
        if phase == 3:
            list_rules(when)
        deleted = [pick(model.rules)["priority"] for _ in range(5)] if phase else []
        if phase == 6:
            case.call(f"{when}fw.clear")
            model.rules = []
        else:
            for priority in deleted:
                delete(when, priority)
        # At first most of them in order.
        priorities = [any_random.randrange(60) * 10 for _ in range(25 if phase else n_rules + 10)]
        for priority in priorities if phase else sorted(priorities[:-30]) + priorities[-30:]:
            insert(when, priority)
        for time, data, length in case.send(known + full([frame() for _ in range(30)]) + known, start=phase * 10**9):
            reason = model.reason(data)
            if reason is None:
                case.out("nic_out", time, data, length)
            model.counts[reason or "accepted"] += 1
    for reason in sorted(set(model.counts) - {"accepted"}):
        case.drop("fw", reason, model.counts[reason])
    case.call("@end fw.stats", **model.call(Call(0, 0, "fw", "stats", {}))[0])
    list_rules("@end ")
    return case


def flow_counter_full():
    case = Case("FlowCounter_full_table", "64 records fit; packets of further conversations pass and are counted as lost.",
                'import "lookups/FlowCounter.clnp"\n\nFlowCounter :: f @ (1, 1, FLOWS = 64)\n\nnic_in -> f -> nic_out')
    frames = full([udp4("10.0.0.1", "10.0.0.2", 1000 + i, 7) for i in range(70)] + [udp4("10.0.0.2", "10.0.0.1", 7, 1000 + i, b"x") for i in range(70)])
    for time, data, length in case.send(frames):
        case.out("nic_out", time, data, length)
    case.call("@end f.stats", n_flows=64, n_lost=12, n_without_ports=0, n_not_ip=0, n_unsound=0)

    def both(flow):
        version, protocol, src, dst, sport, dport = flow
        return murmur3(flow_bytes(flow)) + murmur3(flow_bytes((version, protocol, dst, src, dport, sport)))

    slots = Slots(64, 64, both)
    flows = [decode(data).flow for data, _ in frames[:64]]
    for flow in flows:
        slots.insert(flow)
    case.control.append("@end f.list cursor=all")
    order = sorted(slots.slots)
    for i, slot in enumerate(order):
        version, protocol, src, dst, sport, dport = slots.slots[slot]
        n = sport - 1000
        case.told(2, "@end f.list", {"next": order[i + 1] if i + 1 < len(order) else 0, "valid": True, "version": version, "protocol": protocol, "src": src, "dst": dst,
                  "sport": sport, "dport": dport, "packets_forth": 1, "bytes_forth": 42, "packets_back": 1, "bytes_back": 43, "first_ns": n * 10, "last_ns": (n + 70) * 10})
    return case


def router_mac():
    case = Case("IP_Check_router_mac", "With an address of its own the router ignores frames for other stations, but for groups.",
                'import "networking/IP_Check.clnp"\n\nIP_Check :: c @ (2, 2, ROUTER_MAC = 0x020000000002)\n\nnic_in -> [1]c\ntor_in -> [2]c\nc[1] -> nic_out\nc[2] -> host_out')
    ours, other, group, arp = tcp4("10.0.0.1", "10.0.0.2", 1, 2), tcp4("10.0.0.1", "10.0.0.2", 1, 2), udp4("10.0.0.1", "224.0.0.5", 1, 2), ODD[15][0]
    other.dst, group.dst = "02:00:00:00:00:03", "01:00:5e:00:00:05"
    stamped = case.send(full([ours, other, group]) + [(arp, len(arp))])
    case.out("nic_out", *stamped[0])
    case.out("host_out", *stamped[2])
    case.out("host_out", *stamped[3])
    case.drop("c", "frame for another station", 1)
    case.call("@end c.stats", n_forwarded=1, n_local=2, n_dropped=1)
    return case


def cases():
    yield from (counter(), drop_elem(), tee(), merge("Mux"), merge("FlitMux"), demux(), lanes(), flit_demux(), rand(), hash_demux(False), hash_demux(True))
    yield from (rev_parser(), vlan_parser(), priority_parser(), ip_checksum(False), ip_checksum(True), tcp_checksum(False), tcp_checksum(True), flit_count(), flow_tuple_parser(), ip_parser(), tcp_parser(), udp_parser(), forwarder())
    yield from (lpm(4), lpm(6), firewall_full(), firewall_many("Firewall_5tuple_many_rules", 150), firewall_many("Firewall_5tuple_most_rules", 270), flow_counter_full(), router_mac())


def main():
    wrong = 0
    for case in cases():
        for name, content in case.files().items():
            path = ROOT / "tests/run" / name
            if "--write" in sys.argv:
                path.write_text(content)
            elif not path.exists() or path.read_text() != content:
                print(f"tests/run/{name} is not what the model gives")
                wrong += 1
    print(f"{wrong} files of element cases differ from the model")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
