"""Captures and frames for the example oracles: plain `struct` code that shares nothing with Flitwork.

`Record` is a packet of a capture; `decode` finds the IP and transport headers of a frame the way the library's documentation says,
within a window of the packet's first bytes.
"""

import ipaddress
import struct
from dataclasses import dataclass, field

VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
PORT_PROTOCOLS = (6, 17, 132, 136, 33)
EXTENSIONS = (0, 43, 44, 51, 60, 135, 139, 140)


@dataclass
class Record:
    time_ns: int
    data: bytes
    orig_len: int

    def key(self):
        return (self.time_ns, self.orig_len, self.data)


def read_pcap(path):
    """All records of a classic capture file."""
    raw = open(path, "rb").read()
    magic = struct.unpack("<I", raw[:4])[0]
    order, scale = {0xA1B2C3D4: ("<", 1000), 0xA1B23C4D: ("<", 1), 0xD4C3B2A1: (">", 1000), 0x4D3CB2A1: (">", 1)}[magic]
    records, at = [], 24
    while at < len(raw):
        seconds, fraction, kept, length = struct.unpack(order + "IIII", raw[at : at + 16])
        records.append(Record(seconds * 10**9 + fraction * scale, raw[at + 16 : at + 16 + kept], length))
        at += 16 + kept
    return records


def write_pcap(path, records):
    """A little-endian microsecond capture of Ethernet frames."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for record in records:
            assert record.time_ns % 1000 == 0
            seconds, rest = divmod(record.time_ns, 10**9)
            out.write(struct.pack("<IIII", seconds, rest // 1000, len(record.data), record.orig_len) + record.data)


@dataclass
class Frame:
    """What a frame holds. `status` is `ok`, `not_ip`, `malformed` or `short`; addresses are `ipaddress` objects."""

    status: str = "not_ip"
    version: int = 0
    l3: int = 0
    header_bytes: int = 0
    ip_bytes: float = 0
    ttl: int = 0
    src: object = None
    dst: object = None
    protocol: int = 0
    first_protocol: int = 0
    l4: int = 0
    l4_status: str = ""
    fragment: bool = False
    later: bool = False
    fragment_id: int = 0
    sport: int | None = None
    dport: int | None = None
    icmp_type: int | None = None
    icmp_code: int | None = None
    icmp_id: int = 0
    tags: list = field(default_factory=list)

    @property
    def sound(self):
        """Addresses and ports, where it has them, can be relied on."""
        return self.status == "ok" and self.l4_status == "ok"

    @property
    def flow(self):
        """(version, protocol, src, dst, sport, dport) with ICMP identifiers in the ports."""
        if self.sport is not None:
            ports = (self.sport, self.dport)
        else:
            ports = (self.icmp_id, self.icmp_id)
        return (self.version, self.protocol, int(self.src), int(self.dst), *ports)


def decode(data, window=128):
    """Finds the headers in the first `window` bytes."""
    view = data[:window]
    frame = Frame()
    if len(view) < 14:
        frame.status = "short"
        return frame
    ethertype, at = int.from_bytes(view[12:14], "big"), 14
    while ethertype in VLAN_TYPES and len(frame.tags) < 4:
        if len(view) < at + 4:
            frame.status = "short"
            return frame
        frame.tags.append((ethertype, int.from_bytes(view[at : at + 2], "big")))
        ethertype, at = int.from_bytes(view[at + 2 : at + 4], "big"), at + 4
    frame.l3 = at
    if ethertype == 0x0800:
        decode_ipv4(view, frame)
    elif ethertype == 0x86DD:
        decode_ipv6(view, frame)
    return frame


def decode_ipv4(view, frame):
    at = frame.l3
    frame.version = 4
    if len(view) < at + 20:
        frame.status = "short"
        return
    first, _, total, ident, flags, ttl, protocol, _ = struct.unpack(">BBHHHBBH", view[at : at + 12])
    frame.header_bytes, frame.ttl = (first & 15) * 4, ttl
    frame.protocol = frame.first_protocol = protocol
    frame.ip_bytes = total if total else float("inf")
    frame.src, frame.dst = ipaddress.IPv4Address(view[at + 12 : at + 16]), ipaddress.IPv4Address(view[at + 16 : at + 20])
    if first >> 4 != 4 or frame.header_bytes < 20 or frame.ip_bytes < frame.header_bytes:
        frame.status = "malformed"
        return
    if len(view) < at + frame.header_bytes:
        frame.status = "short"
        return
    frame.status, frame.l4_status = "ok", "ok"
    frame.l4 = at + frame.header_bytes
    frame.fragment, frame.later, frame.fragment_id = flags & 0x3FFF != 0, flags & 0x1FFF != 0, ident
    decode_l4(view, frame)


def decode_ipv6(view, frame):
    at = frame.l3
    frame.version = 6
    if len(view) < at + 40:
        frame.status = "short"
        return
    payload, following, hops = struct.unpack(">HBB", view[at + 4 : at + 8])
    frame.header_bytes, frame.ttl = 40, hops
    frame.protocol = frame.first_protocol = following
    frame.ip_bytes = payload + 40 if payload else float("inf")
    frame.src, frame.dst = ipaddress.IPv6Address(view[at + 8 : at + 24]), ipaddress.IPv6Address(view[at + 24 : at + 40])
    if view[at] >> 4 != 6:
        frame.status = "malformed"
        return
    frame.status, frame.l4_status = "ok", "ok"
    walked, position = 0, at + 40
    while following in EXTENSIONS:
        if walked == 8:
            frame.l4_status = "malformed"
            return
        if len(view) < position + 8:
            frame.l4_status = "short"
            return
        nxt, length = view[position], view[position + 1]
        if following == 44:
            offset_more = int.from_bytes(view[position + 2 : position + 4], "big")
            size = 8
            if offset_more & 0xFFF9:
                frame.fragment, frame.later = True, offset_more >> 3 != 0
                frame.fragment_id = int.from_bytes(view[position + 4 : position + 8], "big")
        else:
            size = (length + 2) * 4 if following == 51 else (length + 1) * 8
        position, following, walked = position + size, nxt, walked + 1
        frame.protocol = following
        if position - at > frame.ip_bytes:
            frame.l4_status = "malformed"
            return
        if frame.later:
            break
    frame.l4 = position
    decode_l4(view, frame)


def decode_l4(view, frame):
    if frame.later:
        return
    icmp = frame.protocol == (1 if frame.version == 4 else 58)
    if not icmp and frame.protocol not in PORT_PROTOCOLS:
        return
    at = frame.l4
    if len(view) < at + 4:
        frame.l4_status = "short"
    elif at + 4 - frame.l3 > frame.ip_bytes:
        frame.l4_status = "malformed"
    elif icmp:
        frame.icmp_type, frame.icmp_code = view[at], view[at + 1]
        with_id = (0, 8, 13, 14) if frame.version == 4 else (128, 129)
        if frame.icmp_type in with_id and len(view) >= at + 6 and at + 6 - frame.l3 <= frame.ip_bytes:
            frame.icmp_id = int.from_bytes(view[at + 4 : at + 6], "big")
    else:
        frame.sport, frame.dport = struct.unpack(">HH", view[at : at + 4])


def internet_checksum(data):
    """RFC 1071 over whole data, from scratch."""
    data = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
