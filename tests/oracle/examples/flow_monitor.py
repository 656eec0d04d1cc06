"""FlowMonitor: conversations as tshark sees them.

tshark dissects every packet of in.pcap (without reassembly: each packet counts by itself); its fields give the exact records, which are then held
against its own conversation tables (`-z conv,…`), which round bytes from 10 kB on.
"""

import ipaddress
import re
import subprocess
from collections import Counter

from control import Timeline
from frames import decode
from murmur3 import Slots, flow_bytes, murmur3
from traffic import IP, SCTP, TCP, UDP, ICMP, IPv6, ICMPv6EchoRequest, Raw, SCTPChunkInit, START_NS, Dot1Q, at_times, ether, full, odd_frames, raw, tcp4, tcp6, text, udp4, udp6

NAME = "FlowMonitor"
ORACLE = "tshark: its dissection of every packet, and its conversation tables (-z conv,ip conv,ipv6 conv,tcp conv,udp conv,sctp)"

PREFERENCES = ["-n", "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"]
TUPLE_PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}


def conversation(make, client, server, sport, dport, sizes):
    """A handshake, data in turns, a close."""
    packets = [make(client, server, sport, dport, flags="S"), make(server, client, dport, sport, flags="SA"), make(client, server, sport, dport, flags="A")]
    for i, size in enumerate(sizes):
        ends = (client, server, sport, dport) if i % 2 == 0 else (server, client, dport, sport)
        packets.append(make(*ends, text(size), flags="PA"))
    return packets + [make(client, server, sport, dport, flags="FA"), make(server, client, dport, sport, flags="FA"), make(client, server, sport, dport, flags="A")]


def inputs():
    lanes = [conversation(tcp4, f"10.0.0.{i + 1}", "192.0.2.80", 20000 + i, 80, [100 + i, 1460, 1460, 10 * i]) for i in range(6)]
    lanes += [conversation(tcp6, f"2001:db8::{i + 1:x}", "2001:db8:80::1", 20000 + i, 443, [517, 1400, 300 + i]) for i in range(4)]
    lanes += [[udp4("10.0.0.1", "192.0.2.53", 30000 + i, 53, text(30 + i)), udp4("192.0.2.53", "10.0.0.1", 53, 30000 + i, text(200 + i))] for i in range(5)]
    lanes += [[udp6("2001:db8::1", "2001:db8:53::1", 30000, 53, text(40)), udp6("2001:db8:53::1", "2001:db8::1", 53, 30000, text(90))]]
    lanes += [[ether() / IP(src="10.0.0.9", dst="192.0.2.9") / SCTP(sport=5, dport=6, tag=1) / SCTPChunkInit(init_tag=2)]]
    lanes += [[ether() / IP(src="10.0.0.1", dst="192.0.2.7") / ICMP(id=4) / Raw(text(48)), ether() / IP(src="192.0.2.7", dst="10.0.0.1") / ICMP(type=0, id=4) / Raw(text(48))]]
    lanes += [[ether() / IPv6(src="2001:db8::1", dst="2001:db8:7::1") / ICMPv6EchoRequest(id=4, data=text(48))]]
    lanes += [[ether() / Dot1Q(vlan=7) / p.payload for p in conversation(tcp4, "10.0.0.8", "192.0.2.80", 20000, 80, [9])]]
    # The same ports between other addresses, and both ways of one pair of ports: records of their own and one record.
    lanes += [[udp4("10.0.0.11", "10.0.0.12", 7, 7, text(5)), udp4("10.0.0.12", "10.0.0.11", 7, 7, text(6)), udp4("10.0.0.11", "10.0.0.13", 7, 7, text(5))]]
    packets = []
    while any(lanes):
        packets += [lane.pop(0) for lane in lanes if lane]
    odd = odd_frames("10.0.0.20", "192.0.2.20", "2001:db8::20", "2001:db8:20::1", 1234, 80)
    frames = full(packets) + [(data, length) for data, length in odd if not left_out(decode(data))]
    return {"in.pcap": at_times(frames, step_ns=7_300_000)}


def left_out(frame):
    """tshark's IPv6 table leaves out later fragments and packets with too long a chain of extension headers, which do travel between the two."""
    return frame.version == 6 and (frame.later or frame.l4_status == "malformed")


def tshark(*arguments):
    run = subprocess.run(["tshark", *PREFERENCES, *arguments], capture_output=True, text=True, check=True)
    return run.stdout


def dissected(path):
    """(time, bytes on the wire, addresses, ports, protocol) of every packet, from tshark's first IP and transport header."""
    fields = ["frame.time_epoch", "frame.len", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst"] + [f"{p}.{end}port" for p in TUPLE_PROTOCOLS for end in ("src", "dst")]
    fields += ["icmp.type", "icmpv6.type"]
    text_out = tshark("-r", path, "-T", "fields", "-E", "occurrence=f", *[word for name in fields for word in ("-e", name)])
    for line in text_out.splitlines():
        row = dict(zip(fields, line.split("\t")))
        seconds, fraction = row["frame.time_epoch"].split(".")
        time_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
        version = 4 if row["ip.dst"] else 6 if row["ipv6.dst"] else 0
        if not version:
            continue
        name = "ip" if version == 4 else "ipv6"
        ends = [int(ipaddress.ip_address(row[f"{name}.{end}"])) for end in ("src", "dst")]
        ports = None
        # The transport header of an ICMP error's quotation is not the packet's own.
        if not row["icmp.type"] and not row["icmpv6.type"]:
            for protocol, number in TUPLE_PROTOCOLS.items():
                if row[f"{protocol}.srcport"]:
                    ports = (number, int(row[f"{protocol}.srcport"]), int(row[f"{protocol}.dstport"]))
        yield time_ns, int(row["frame.len"]), version, ends, ports


def records_of(path, kind):
    """Conversation records in the order of FlowCounter's table."""
    records = {}
    for time_ns, length, version, (src, dst), ports in dissected(path):
        if kind == "pairs":
            protocol, sport, dport = 0, 0, 0
        elif ports is None:
            continue
        else:
            protocol, sport, dport = ports
        forth, back = (version, protocol, src, dst, sport, dport), (version, protocol, dst, src, dport, sport)
        key, way = (back, "back") if back in records and back != forth else (forth, "forth")
        record = records.setdefault(key, {"packets_forth": 0, "bytes_forth": 0, "packets_back": 0, "bytes_back": 0, "first_ns": time_ns, "last_ns": time_ns})
        record["packets_" + way] += 1
        record["bytes_" + way] += length
        record["last_ns"] = max(record["last_ns"], time_ns)
    slots = Slots(16384, 64, both_ways)
    for key in records:
        slots.insert(key)
    names = ("version", "protocol", "src", "dst", "sport", "dport")
    return [dict(zip(names, key), valid=True, **records[key]) for key in slots.keys()]


def both_ways(flow):
    """The hash that a flow and its answers share."""
    version, protocol, src, dst, sport, dport = flow
    return murmur3(flow_bytes(flow)) + murmur3(flow_bytes((version, protocol, dst, src, dport, sport)))


def table_rows(path, tables):
    """tshark's conversation tables: (address and port, address and port) to frames, bytes as shown, start and duration."""
    text_out = tshark("-r", path, "-q", *[word for table in tables for word in ("-z", f"conv,{table}")])
    row = re.compile(r"^(\S+)\s+<->\s+(\S+)\s+(\d+) (\d+ \w+)\s+(\d+) (\d+ \w+)\s+(\d+) (\d+ \w+)\s+([\d.]+)\s+([\d.]+)$", re.M)
    return [found.groups() for found in row.finditer(text_out)]


def shown(n):
    """Bytes as tshark shows them."""
    return f"{n} bytes" if n < 10_000 else f"{n // 1000} kB"


def hold_against_tables(path, kind, records):
    """Every record is a row of tshark's tables and every row a record."""
    tables = ["ip", "ipv6"] if kind == "pairs" else ["tcp", "udp", "sctp"]
    start_ns = min(time_ns for time_ns, *_ in every_time(path))
    rows = Counter()
    for a, b, frames_back, bytes_back, frames_forth, bytes_forth, _, _, start, duration in table_rows(path, tables):
        rows[normal((a, b, frames_forth, bytes_forth, frames_back, bytes_back)) + (start, duration)] += 1
    ours = Counter()
    for r in records:
        address = ipaddress.IPv4Address if r["version"] == 4 else ipaddress.IPv6Address
        a, b = (str(address(r[end])) + ("" if kind == "pairs" else f":{r[port]}") for end, port in (("src", "sport"), ("dst", "dport")))
        row = normal((a, b, str(r["packets_forth"]), shown(r["bytes_forth"]), str(r["packets_back"]), shown(r["bytes_back"])))
        ours[row + (f"{(r['first_ns'] - start_ns) / 1e9:.9f}", f"{(r['last_ns'] - r['first_ns']) / 1e9:.4f}")] += 1
    assert rows == ours, (sorted((rows - ours).elements()), sorted((ours - rows).elements()))


def normal(row):
    """The ends in one order, so that it does not matter which of them is left."""
    a, b, *forth_back = row
    return (a, b, *forth_back) if a <= b else (b, a, *forth_back[2:], *forth_back[:2])


def every_time(path):
    for line in tshark("-r", path, "-T", "fields", "-e", "frame.time_epoch").split():
        seconds, fraction = line.split(".")
        yield (int(seconds) * 10**9 + int(fraction.ljust(9, "0")),)


def expected(records, calls):
    from make import EXAMPLES

    path = str(EXAMPLES / NAME / "in.pcap")
    lists = {kind: records_of(path, kind) for kind in ("pairs", "flows")}
    for kind, rows in lists.items():
        hold_against_tables(path, kind, rows)
    frames = [decode(record.data) for record in records["in.pcap"]]
    not_ip = sum(frame.status == "not_ip" for frame in frames)
    unsound = sum(frame.status in ("malformed", "short") for frame in frames)
    unsound_l4 = sum(frame.status == "ok" and frame.l4_status != "ok" for frame in frames)
    portless = sum(frame.sound and frame.sport is None for frame in frames)
    stats = {
        "pairs": {"n_flows": len(lists["pairs"]), "n_lost": 0, "n_without_ports": 0, "n_not_ip": not_ip, "n_unsound": unsound},
        "flows": {"n_flows": len(lists["flows"]), "n_lost": 0, "n_without_ports": portless, "n_not_ip": not_ip, "n_unsound": unsound + unsound_l4},
    }
    timeline = Timeline(calls, lambda call: lists[call.instance] if call.signal == "list" else [stats[call.instance]])
    timeline.until(float("inf"))
    return {"tor_out": records["in.pcap"]}, {"drops": {}, "signals": timeline.results}
