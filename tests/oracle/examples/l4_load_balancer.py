"""L4LoadBalancer: Maglev tables after the paper, flows kept in a dictionary, checksums computed anew over whole packets."""

import ipaddress
from collections import Counter
from dataclasses import dataclass

from control import Timeline
from frames import Record, decode, internet_checksum
from murmur3 import flow_bytes, murmur3, words, words128
from traffic import IP, SCTP, TCP, UDP, ICMP, IPv6, ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6TimeExceeded, Raw, START_NS, SCTPChunkInit, at_times, built, ether, fragments4, fragments6, full, odd_frames, raw, tcp4, tcp6, text, udp4, udp6

NAME = "L4LoadBalancer"
ORACLE = "tests/oracle/examples/l4_load_balancer.py: Maglev (NSDI 2016) and the flow table in Python, every checksum computed anew where the packet is whole"

VIP4, VIP6 = "192.0.2.100", "2001:db8:100::1"
TABLE, SLOTS, PROBES = 4093, 16384, 8
IDLE_NS, FRAGMENT_NS = 60_000 * 10**6, 30_000 * 10**6
CHECKSUM_AT = {6: 16, 17: 6, 136: 6, 33: 6}
SERVERS4 = [("10.0.0.11", 8080), ("10.0.0.12", 8080), ("10.0.0.13", 80)]


def client4(i):
    return f"203.0.113.{i + 1}"


def zero_sum_payloads():
    """UDP packets of one flow whose checksum behind the balancer computes to 0, for each server that it may go to."""
    packets = []
    for server, port in SERVERS4:
        base = built(udp4(client4(200), VIP4, 7777, 80, b"\0\0"))
        moved = bytearray(raw(base))
        moved[30:34], moved[36:38] = ipaddress.ip_address(server).packed, port.to_bytes(2, "big")
        moved[40:42] = b"\0\0"
        needed = transport_checksum(bytes(moved), decode(bytes(moved)))
        packets.append(udp4(client4(200), VIP4, 7777, 80, needed.to_bytes(2, "big")))
    return packets


def errors_from_outside():
    """ICMP errors about packets that the service sent: routers quote the IP header and 8 bytes or more."""
    answer4 = [raw(tcp4(VIP4, client4(i), 80, 30000 + i, text(9)))[14:] for i in range(6)]
    answer6 = raw(tcp6(VIP6, "2001:db8:c::1", 443, 30000, text(9)))[14:]
    udp = raw(udp4(VIP4, client4(0), 80, 6000, text(11)))[14:]
    other = raw(tcp4(VIP4, client4(0), 8081, 30000, text(9)))[14:]
    later = bytearray(answer4[0])
    later[6:8] = b"\0\x10"
    router, router6 = ether() / IP(src="203.0.113.254", dst=VIP4), ether() / IPv6(src="2001:db8:f::1", dst=VIP6)
    return full([router / ICMP(type=3, code=4, nexthopmtu=1400) / Raw(answer[: 28 + 4 * i]) for i, answer in enumerate(answer4)] + [
        router / ICMP(type=3, code=3) / Raw(udp),
        router / ICMP(type=11, code=0) / Raw(other[:28]),  # the service never sent that: goes by its addresses
        router / ICMP(type=3, code=1) / Raw(bytes(later[:28])),
        router / ICMP(type=3, code=1) / Raw(answer4[0][:22]),
        router6 / ICMPv6DestUnreach(code=3) / Raw(answer6),
        router6 / ICMPv6TimeExceeded() / Raw(answer6[:48]),
    ])


def inputs():
    def round_of(flags, size):
        packets = [tcp4(client4(i), VIP4, 30000 + i, 80, text(size + i), flags=flags) for i in range(40)]
        packets += [tcp6(f"2001:db8:c::{i + 1:x}", VIP6, 30000 + i, 443, text(size + i), flags=flags) for i in range(20)]
        return full(packets)

    no_checksum = udp4(client4(1), VIP4, 6000, 80, text(5))
    no_checksum[UDP].chksum = 0
    special = full([
        udp4(client4(0), VIP4, 6000, 80, text(11)),
        udp6("2001:db8:c::1", VIP6, 6000, 9999, text(12)),
        no_checksum,
        *zero_sum_payloads(),
        ether() / IP(src=client4(2), dst=VIP4) / ICMP(type=8, id=9) / Raw(text(13)),
        ether() / IPv6(src="2001:db8:c::2", dst=VIP6) / ICMPv6EchoRequest(id=9, data=text(13)),
        ether() / IP(src=client4(3), dst=VIP4) / SCTP(sport=9, dport=80, tag=1) / SCTPChunkInit(init_tag=2),
        ether() / IP(src=client4(3), dst=VIP4, proto=47) / Raw(text(40)),
        tcp4(client4(4), VIP4, 5, 81, text(3)),  # no such service
        tcp4(client4(4), "192.0.2.101", 5, 80, text(3)),  # not for the service
        tcp6("2001:db8:c::4", "2001:db8:100::2", 5, 80, text(3)),
    ])
    pieces4 = fragments4(built(udp4(client4(5), VIP4, 6001, 80, text(1000))), 400, 1)
    pieces6 = fragments6(built(udp6("2001:db8:c::5", VIP6, 6001, 80, text(1000))), 400, 1)
    lost4 = fragments4(built(udp4(client4(6), VIP4, 6001, 80, text(1000))), 400, 2)[1:]
    fragments = [(frame, len(frame)) for frame in pieces4 + pieces6 + lost4 + pieces4[:1] + pieces4[:0:-1]]
    odd = odd_frames(client4(7), VIP4, "2001:db8:c::7", VIP6, 1234, 80)
    frames = round_of("S", 0) + special + fragments + odd + errors_from_outside()
    records = at_times(frames, step_ns=1_000_000)
    # A server goes down at 1 s and comes back at 2 s; a new one comes at 3 s; one is removed at 4 s; after 70 s all flows are new.
    for second, flags in ((1.1, "PA"), (2.1, "PA"), (3.1, "A"), (4.1, "PA"), (74.2, "PA")):
        records += at_times(round_of(flags, 3), start_ns=START_NS + round(second * 10**9))
    # At 5 s every IPv4 server is down.
    records += at_times(full([tcp4(client4(i), VIP4, 31000 + i, 80, text(3)) for i in range(3)]), start_ns=START_NS + 5_100_000_000)
    records.sort(key=lambda record: record.time_ns)
    back = full([tcp4(server, client4(i), port, 30000 + i, text(i), flags="SA") for i, (server, port) in enumerate(SERVERS4)])
    back += full([
        tcp4("10.0.0.11", client4(0), 22, 30000, text(5)),  # not from the service's port
        tcp4("10.0.0.99", client4(0), 8080, 30000, text(5)),  # no server
        udp4("10.0.0.12", client4(1), 8080, 6000, text(5)),
        tcp6("fd00::11", "2001:db8:c::1", 443, 30000, text(5)),
        ether() / IP(src="10.0.0.13", dst=client4(2)) / ICMP(type=0, id=9) / Raw(text(13)),
    ])
    question = raw(udp4(client4(1), "10.0.0.12", 6000, 8080, text(11)))[14:]
    back += full([
        ether() / IP(src="10.0.0.12", dst=client4(1)) / ICMP(type=3, code=3) / Raw(question[:28]),
        ether() / IP(src="10.0.0.12", dst=client4(1)) / ICMP(type=3, code=3) / Raw(raw(udp4(client4(1), "10.0.0.12", 6000, 22, text(11)))[14:]),  # not about the service
        ether() / IPv6(src="fd00::11", dst="2001:db8:c::1") / ICMPv6DestUnreach(code=4) / Raw(raw(udp6("2001:db8:c::1", "fd00::11", 6000, 9999, text(12)))[14:]),
    ])
    back += odd_frames("10.0.0.12", client4(7), "fd00::12", "2001:db8:c::7", 8080, 1234)
    back += [(frame, len(frame)) for frame in fragments4(built(udp4("10.0.0.12", client4(1), 8080, 6000, text(700))), 400, 5)]
    return {"in.pcap": records, "in.tor_in.pcap": at_times(back, start_ns=START_NS + 500_000, step_ns=2_000_000)}


def transport_checksum(data, frame):
    """The transport checksum of a whole packet, from scratch; `None` if this protocol's does not cover addresses."""
    at = CHECKSUM_AT.get(frame.protocol, 2 if (frame.version, frame.protocol) == (6, 58) else None)
    if at is None:
        return None
    end = frame.l3 + int(min(frame.ip_bytes, len(data) - frame.l3))
    segment = bytearray(data[frame.l4 : end])
    segment[at : at + 2] = b"\0\0"
    src, dst = (data[frame.l3 + 12 : frame.l3 + 16], data[frame.l3 + 16 : frame.l3 + 20]) if frame.version == 4 else (data[frame.l3 + 8 : frame.l3 + 24], data[frame.l3 + 24 : frame.l3 + 40])
    return internet_checksum(src + dst + len(segment).to_bytes(4, "big") + frame.protocol.to_bytes(4, "big") + bytes(segment))


def difference(checksum, before, after):
    """RFC 1624 over byte strings, for packets whose other bytes are not at hand."""
    total = ~checksum & 0xFFFF
    for old, new in zip(before, after):
        for i in range(0, len(old), 2):
            total += (~int.from_bytes(old[i : i + 2], "big") & 0xFFFF) + int.from_bytes(new[i : i + 2], "big")
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def rewrite(record, frame, destination, address, port):
    """The packet with its destination or source replaced, checksums right."""
    data, out = record.data, bytearray(record.data)
    size = 4 if frame.version == 4 else 16
    at = frame.l3 + (12 if frame.version == 4 else 8) + (size if destination else 0)
    out[at : at + size] = address.to_bytes(size, "big")
    changed = [(data[at : at + size], bytes(out[at : at + size]))]
    if frame.version == 4:
        before, after = changed[0]
        out[frame.l3 + 10 : frame.l3 + 12] = difference(int.from_bytes(data[frame.l3 + 10 : frame.l3 + 12], "big"), [before], [after]).to_bytes(2, "big")
    if port and frame.sport is not None and frame.protocol != 132:
        port_at = frame.l4 + (2 if destination else 0)
        out[port_at : port_at + 2] = port.to_bytes(2, "big")
        changed.append((data[port_at : port_at + 2], bytes(out[port_at : port_at + 2])))
    where = None if frame.later else checksum_place(frame)
    if where is not None:
        old = int.from_bytes(data[where : where + 2], "big")
        if not (frame.protocol == 17 and old == 0):
            new = difference(old, *zip(*changed))
            if frame.protocol == 17 and new == 0:
                new = 0xFFFF
            out[where : where + 2] = new.to_bytes(2, "big")
            whole = not frame.fragment and len(data) == record.orig_len and frame.ip_bytes != float("inf")
            if whole:
                anew = transport_checksum(bytes(out), frame)
                assert new == (anew or (0xFFFF if frame.protocol == 17 else 0)), "the difference and the sum from scratch agree"
    return bytes(out)


@dataclass
class Quote:
    """The packet in an ICMP error: where it stands, and what it is."""

    at: int
    ports_at: int
    protocol: int
    src: object
    dst: object
    sport: int
    dport: int


def quoted(frame, data):
    """The quoted packet with its ports, or None."""
    errors = (3, 4, 5, 11, 12) if frame.version == 4 else range(128)
    if not frame.sound or frame.fragment or frame.icmp_type is None or frame.icmp_type not in errors:
        return None
    at, end = frame.l4 + 8, int(min(len(data), 128, frame.l3 + frame.ip_bytes))
    inner = data[at:end]
    if len(data[at:128]) < 20 or data[at] >> 4 != frame.version:
        return None
    if frame.version == 4:
        size, protocol, kind, places = (data[at] & 15) * 4, data[at + 9], ipaddress.IPv4Address, (12, 16, 20)
        if size < 20 or int.from_bytes(data[at + 6 : at + 8], "big") & 0x1FFF:
            return None
    else:
        size, protocol, kind, places = 40, data[at + 6], ipaddress.IPv6Address, (8, 24, 40)
    if len(inner) < size + 4 or protocol not in (6, 17, 33, 132, 136):
        return None
    src, dst = kind(inner[places[0] : places[1]]), kind(inner[places[1] : places[2]])
    return Quote(at, at + size, protocol, src, dst, int.from_bytes(inner[size : size + 2], "big"), int.from_bytes(inner[size + 2 : size + 4], "big"))


def requote(data, record, frame, quote, destination, address, port):
    """The packet with the quoted one rewritten, its checksums as far as they are quoted, and the ICMP checksum."""
    out = bytearray(data)
    size = 4 if frame.version == 4 else 16
    at = quote.at + (12 if frame.version == 4 else 8) + (size if destination else 0)
    out[at : at + size] = address.to_bytes(size, "big")
    if frame.version == 4:
        old = int.from_bytes(data[quote.at + 10 : quote.at + 12], "big")
        out[quote.at + 10 : quote.at + 12] = difference(old, [data[at : at + size]], [bytes(out[at : at + size])]).to_bytes(2, "big")
    if port and quote.protocol != 132:
        port_at = quote.ports_at + (2 if destination else 0)
        out[port_at : port_at + 2] = port.to_bytes(2, "big")
    place = quote.ports_at + CHECKSUM_AT[quote.protocol] if quote.protocol in CHECKSUM_AT else None
    end = quote.ports_at + 4
    if place and place + 2 <= min(len(data), 128, frame.l3 + frame.ip_bytes):
        fields = [(at, at + size), (quote.ports_at, quote.ports_at + 4)]
        old = int.from_bytes(data[place : place + 2], "big")
        if old or quote.protocol != 17:
            new = difference(old, [data[a:b] for a, b in fields], [bytes(out[a:b]) for a, b in fields])
            out[place : place + 2] = (0xFFFF if quote.protocol == 17 and new == 0 else new).to_bytes(2, "big")
        end = place + 2
    where = frame.l4 + 2
    old = int.from_bytes(data[where : where + 2], "big")
    new = difference(old, [data[quote.at : end]], [bytes(out[quote.at : end])])
    out[where : where + 2] = new.to_bytes(2, "big")
    if len(data) == record.orig_len and frame.ip_bytes != float("inf"):
        segment = bytearray(out[frame.l4 : frame.l3 + int(frame.ip_bytes)])
        segment[2:4] = b"\0\0"
        anew = internet_checksum(bytes(segment)) if frame.version == 4 else transport_checksum(bytes(out), frame)
        assert new == anew, "the difference and the sum from scratch agree"
    return bytes(out)


def checksum_place(frame):
    at = CHECKSUM_AT.get(frame.protocol, 2 if (frame.version, frame.protocol) == (6, 58) else None)
    return None if at is None else frame.l4 + at


def maglev(servers):
    """`entry[i]` of the paper's Pseudocode 1, each server taking `weight` turns a round."""
    active = [server for server in servers if server["up"] and server["weight"]]
    table = [None] * TABLE
    if not active:
        return table
    names = [words128(server["address"]) + words(server["port"]) for server in active]
    position = [murmur3(name, 0) % TABLE for name in names]
    skip = [murmur3(name, 1) % (TABLE - 1) + 1 for name in names]
    filled = 0
    while True:
        for i, server in enumerate(active):
            for _ in range(server["weight"]):
                while table[position[i]] is not None:
                    position[i] = (position[i] + skip[i]) % TABLE
                table[position[i]] = server
                filled += 1
                if filled == TABLE:
                    return table


class Balancer:
    def __init__(self):
        self.servers = [None] * 16
        self.service, self.tables = {}, {}
        self.slots, self.fragments = [None] * SLOTS, {}  # a flow stands in any of eight slots from its hash on
        self.counts, self.drops = Counter(), Counter()

    def call(self, call):
        a = call.args
        if call.signal == "set_service":
            self.service[a["version"]] = (a["address"], a["port"])
            return [{"ok": True}]
        if call.signal == "stats":
            return [{"n_" + name: self.counts[name] for name in ("balanced", "returned", "passed", "moved", "unpinned")}]
        if call.signal == "list":
            return [{"valid": True, **{k: v for k, v in server.items() if k != "place"}} for server in self.servers if server]
        if call.signal == "list_flows":
            names = ("version", "protocol", "src", "dst", "sport", "dport")
            return [dict(zip(names, flow), valid=True, server_address=server["address"], server_port=server["port"], last_ns=seen) for flow, server, seen in filter(None, self.slots) if any(server is s for s in self.servers)]
        if call.signal == "clear_flows":
            self.slots, self.fragments = [None] * SLOTS, {}
            return []
        self.tables = {}
        same = [i for i, s in enumerate(self.servers) if s and all(s[k] == a[k] for k in ("version", "address", "port"))]
        if call.signal == "add" and same:
            self.servers[same[0]].update(station=a["station"], weight=a["weight"])
        elif call.signal == "add":
            place = self.servers.index(None)
            self.servers[place] = dict(a, up=True, n_packets=0, n_flows=0, place=place)
        elif call.signal == "remove" and same:
            self.servers[same[0]] = None
        elif call.signal == "health" and same:
            self.servers[same[0]]["up"] = a["up"]
        return [{"ok": bool(same) or call.signal == "add"}]

    def table(self, version):
        if version not in self.tables:
            self.tables[version] = maglev([server for server in self.servers if server and server["version"] == version])
        return self.tables[version]

    def forth(self, record):
        """The frame for the servers, or None; drops are counted."""
        frame = decode(record.data)
        service = self.service.get(frame.version) if frame.status == "ok" else None
        if not service or int(frame.dst) != service[0]:
            self.counts["passed"] += 1
            return record.data
        if frame.l4_status != "ok" or cut(frame, record.data):
            return self.drop("headers cut short")
        if service[1] and frame.dport is not None and frame.dport != service[1]:
            return self.drop("no such service")
        piece = (frame.version, int(frame.src), int(frame.dst), frame.fragment_id, frame.protocol if frame.version == 4 else 0)
        if frame.later:
            server, seen = self.fragments.get(piece, (None, 0))
            if server is None or server not in self.servers or record.time_ns - seen >= FRAGMENT_NS:
                return self.drop("fragment without its first")
        else:
            quote = quoted(frame, record.data)
            about = quote and quote.src == frame.dst and service[1] in (0, quote.sport)
            flow = (frame.version, quote.protocol, int(quote.dst), int(quote.src), quote.dport, quote.sport) if about else frame.flow
            place, server = self.flow(flow, record.time_ns)
            if server is not None and not (any(server is s for s in self.servers) and server["up"]):
                self.counts["moved"] += not about
                server = None
            if server is None:
                server = self.table(frame.version)[murmur3(flow_bytes(flow), 1) % TABLE]
                if server is None:
                    return self.drop("no server is up")
                server["n_flows"] += not about
            if about:
                pass
            elif place is None:
                self.counts["unpinned"] += 1
            else:
                self.slots[place] = (frame.flow, server, record.time_ns)
            if frame.fragment:
                self.fragments[piece] = (server, record.time_ns)
        self.counts["balanced"] += 1
        server["n_packets"] += 1
        port = server["port"] if service[1] else 0
        out = rewrite(record, frame, True, server["address"], port)
        if not frame.later and about:
            out = requote(out, record, frame, quote, False, server["address"], port)
        return server["station"].to_bytes(6, "big") + out[6:] if server["station"] else out

    def flow(self, flow, now):
        """The slot for a flow, if there is one, and the server that it was given to, if that still holds."""
        home = murmur3(flow_bytes(flow))
        group = [(home + i) % SLOTS for i in range(PROBES)]
        is_fresh = lambda i: self.slots[i] is not None and now - self.slots[i][2] < IDLE_NS  # noqa: E731
        own = [i for i in group if self.slots[i] and self.slots[i][0] == flow]
        if own:
            return own[0], self.slots[own[0]][1] if is_fresh(own[0]) else None
        return next((i for i in group if not is_fresh(i)), None), None

    def back(self, record):
        frame = decode(record.data)
        service = self.service.get(frame.version) if frame.status == "ok" else None
        port, found = 0, False
        quote = quoted(frame, record.data)
        own, protocol = (quote.dport, quote.protocol) if quote else (frame.sport, frame.protocol)
        for server in self.servers if service else []:
            if not server or (server["version"], server["address"]) != (frame.version, int(frame.src)):
                continue
            bound = server["port"] and service[1] and own is not None and protocol != 132
            if not bound or own == server["port"]:
                found = True
                port = service[1] if server["port"] else port
        if not found or frame.l4_status != "ok":
            self.counts["passed"] += 1
            return record.data
        if cut(frame, record.data):
            return self.drop("headers cut short")
        self.counts["returned"] += 1
        out = rewrite(record, frame, False, service[0], port)
        return requote(out, record, frame, quote, True, service[0], port) if quote and quote.dst == frame.src else out

    def drop(self, reason):
        self.drops[reason] += 1


def cut(frame, data):
    """The checksum that must change is not among the bytes looked at."""
    place = checksum_place(frame)
    return not frame.later and place is not None and min(len(data), 128) < place + 2


def expected(records, calls):
    balancer = Balancer()
    timeline = Timeline(calls, balancer.call)
    outputs = {"tor_out": [], "nic_out": []}
    arrivals = [(record, 0) for record in records["in.pcap"]] + [(record, 1) for record in records["in.tor_in.pcap"]]
    for record, side in sorted(arrivals, key=lambda arrival: (arrival[0].time_ns, arrival[1])):
        timeline.until(record.time_ns)
        data = balancer.back(record) if side else balancer.forth(record)
        if data is not None:
            outputs["nic_out" if side else "tor_out"].append(Record(record.time_ns, data, record.orig_len))
    timeline.until(float("inf"))
    check_even()
    check_affinity(outputs["tor_out"])
    return outputs, {"drops": {"balancer": dict(sorted(balancer.drops.items()))}, "signals": timeline.results}


def check_even():
    """10,000 flows over servers of weights 1, 1 and 2 are within 5 % of their shares."""
    servers = [dict(address=int(ipaddress.ip_address(a)), port=p, weight=w, up=True) for (a, p), w in zip(SERVERS4, (1, 1, 2))]
    table, counts = maglev(servers), Counter()
    for i in range(10_000):
        flow = (4, 6, int(ipaddress.ip_address("10.0.0.0")) + i * 7919, int(ipaddress.ip_address(VIP4)), 1024 + i, 80)
        counts[table[murmur3(flow_bytes(flow), 1) % TABLE]["address"]] += 1
    for server in servers:
        assert abs(counts[server["address"]] / (10_000 * server["weight"] / 4) - 1) < 0.05, counts


def check_affinity(out):
    """From second to second only the flows of the server that went change their server, and all of those do."""
    went = {1: {"10.0.0.12", "fd00::11"}, 2: set(), 3: set(), 4: {"10.0.0.11"}}
    rounds = []
    for second in range(5):
        of_round = [decode(r.data) for r in out if second * 10**9 <= r.time_ns - START_NS < (second + 1) * 10**9]
        rounds.append({(f.version, f.sport): str(f.dst) for f in of_round if f.protocol == 6 and f.sport and 30000 <= f.sport < 30040})
        assert len(rounds[-1]) == 60, "40 flows over IPv4, 20 over IPv6"
    for second in range(1, 5):
        for flow, server in rounds[second - 1].items():
            assert (server in went[second]) == (rounds[second][flow] != server), (second, flow, server)
