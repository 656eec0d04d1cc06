"""Frames of every kind that an application must get right, made with scapy.

`odd_frames` gives the kinds that are easily forgotten: tags, options, extension headers, fragments, other protocols, broken and short frames.
"""

import logging

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.all import (  # noqa: E402, F401
    ARP, ICMP, IP, LLC, SCTP, SNAP, TCP, UDP, Dot1AD, Dot1Q, Dot3, Ether, ICMPv6DestUnreach, ICMPv6EchoReply,
    ICMPv6EchoRequest, ICMPv6TimeExceeded, IPOption_RR,
    IPOption_Timestamp, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN, Raw, SCTPChunkInit, raw,
)

from frames import Record  # noqa: E402

CLIENT_MAC, SERVER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
START_NS = 1_700_000_000 * 10**9


def ether(src=CLIENT_MAC, dst=SERVER_MAC):
    return Ether(src=src, dst=dst)


def tcp4(src, dst, sport, dport, payload=b"", flags="PA", **ip):
    return ether() / IP(src=src, dst=dst, **ip) / TCP(sport=sport, dport=dport, flags=flags, seq=1000, ack=2000) / Raw(payload)


def udp4(src, dst, sport, dport, payload=b"", **ip):
    return ether() / IP(src=src, dst=dst, **ip) / UDP(sport=sport, dport=dport) / Raw(payload)


def tcp6(src, dst, sport, dport, payload=b"", flags="PA", **ip):
    return ether() / IPv6(src=src, dst=dst, **ip) / TCP(sport=sport, dport=dport, flags=flags, seq=1000, ack=2000) / Raw(payload)


def udp6(src, dst, sport, dport, payload=b"", **ip):
    return ether() / IPv6(src=src, dst=dst, **ip) / UDP(sport=sport, dport=dport) / Raw(payload)


def text(n):
    return (b"The quick brown fox jumps over the lazy dog. " * (n // 45 + 1))[:n]


def fragments4(packet, size, ident):
    """An IPv4 packet in fragments of `size` payload bytes (a multiple of 8), cut here so that every engine agrees on them."""
    whole = raw(packet[IP].payload)
    frames = []
    for at in range(0, len(whole), size):
        more = at + size < len(whole)
        head = IP(src=packet[IP].src, dst=packet[IP].dst, ttl=packet[IP].ttl, proto=packet[IP].proto, id=ident, flags="MF" if more else 0, frag=at // 8)
        frames.append(raw(ether(packet.src, packet.dst) / head / Raw(whole[at : at + size])))
    return frames


def fragments6(packet, size, ident):
    """An IPv6 packet in fragments of `size` payload bytes."""
    whole, next_header = raw(packet[IPv6].payload), packet[IPv6].nh
    if next_header == 59:
        next_header = 17
    frames = []
    for at in range(0, len(whole), size):
        more = at + size < len(whole)
        head = IPv6(src=packet[IPv6].src, dst=packet[IPv6].dst, hlim=packet[IPv6].hlim) / IPv6ExtHdrFragment(nh=next_header, offset=at // 8, m=int(more), id=ident)
        frames.append(raw(ether(packet.src, packet.dst) / head / Raw(whole[at : at + size])))
    return frames


def built(packet):
    """A packet with its lengths and checksums filled in."""
    return Ether(raw(packet))


def odd_frames(src4, dst4, src6, dst6, sport, dport):
    """Frames of one client and server in every dress, as (bytes, bytes on the wire)."""
    tcp = TCP(sport=sport, dport=dport, flags="PA", seq=1, ack=1)
    udp = UDP(sport=sport, dport=dport)
    ip4, ip6 = IP(src=src4, dst=dst4), IPv6(src=src6, dst=dst6)
    eth = ether()
    frames = [
        eth / IP(src=src4, dst=dst4, options=[IPOption_RR(routers=["0.0.0.0"] * 3)]) / tcp / Raw(text(33)),
        eth / IP(src=src4, dst=dst4, options=[IPOption_Timestamp(timestamp=7)]) / udp / Raw(text(5)),
        eth / Dot1Q(vlan=100, prio=3) / ip4 / tcp / Raw(text(20)),
        eth / Dot1AD(vlan=200) / Dot1Q(vlan=100) / ip4 / udp / Raw(text(21)),
        eth / Dot1Q(vlan=300) / Dot1Q(vlan=301) / ip6 / tcp / Raw(text(22)),
        eth / ip6 / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 12)]) / tcp / Raw(text(23)),
        eth / ip6 / IPv6ExtHdrRouting(addresses=[], segleft=0) / udp / Raw(text(24)),
        eth / ip6 / IPv6ExtHdrFragment(nh=6, offset=0, m=0, id=9) / tcp / Raw(text(25)),
        eth / ip4 / SCTP(sport=sport, dport=dport, tag=1) / SCTPChunkInit(init_tag=2),
        eth / ip4 / ICMP(type=8, id=77, seq=1) / Raw(text(32)),
        ether(SERVER_MAC, CLIENT_MAC) / IP(src=dst4, dst=src4) / ICMP(type=0, id=77, seq=1) / Raw(text(32)),
        eth / ip6 / ICMPv6EchoRequest(id=78, seq=1, data=text(32)),
        ether(SERVER_MAC, CLIENT_MAC) / IPv6(src=dst6, dst=src6) / ICMPv6EchoReply(id=78, seq=1, data=text(32)),
        eth / IP(src=src4, dst=dst4, proto=47) / Raw(bytes.fromhex("00000800") + text(40)),
        eth / IP(src=src4, dst=dst4, proto=50) / Raw(text(60)),
        Ether(src=CLIENT_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=CLIENT_MAC, psrc=src4, pdst=dst4),
        Dot3(src=CLIENT_MAC, dst="01:80:c2:00:00:00") / LLC(dsap=0x42, ssap=0x42, ctrl=3) / Raw(b"\0" * 35),
        Ether(src=CLIENT_MAC, dst="01:00:0c:cc:cc:cc", type=0x9000) / Raw(b"\0" * 46),
    ]
    plain = [(raw(frame), len(raw(frame))) for frame in frames]
    plain += [(frame, len(frame)) for frame in fragments4(built(eth / ip4 / udp / Raw(text(700))), 256, 4711)]
    plain += [(frame, len(frame)) for frame in fragments6(built(eth / ip6 / udp / Raw(text(600))), 256, 4712)]
    whole = raw(eth / ip4 / tcp / Raw(text(900)))
    tagged = raw(eth / Dot1Q(vlan=100) / ip4 / tcp)
    six = raw(eth / ip6 / udp / Raw(text(100)))
    bad_ihl, bad_total, bad_version = bytearray(whole[:80]), bytearray(whole[:80]), bytearray(six)
    bad_ihl[14], bad_total[16:18], bad_version[14] = 0x43, (12).to_bytes(2, "big"), 0x50
    offload = bytearray(whole)
    offload[16:18] = b"\0\0"
    offload[24:26] = b"\0\0"
    tiny = bytearray(raw(eth / IP(src=src4, dst=dst4, len=22, proto=6) / Raw(b"\0\1")))
    long_chain = raw(eth / ip6) [:20] + bytes([60]) + raw(eth / ip6)[21:] + (bytes([60, 0]) + bytes([1, 4, 0, 0, 0, 0])) * 9 + raw(tcp)
    long_chain = long_chain[:18] + (len(long_chain) - 54).to_bytes(2, "big") + long_chain[20:]
    plain += [
        (whole[:96], len(whole)),  # cut by the capture behind the headers
        (whole[:36], len(whole)),  # cut inside the TCP ports
        (whole[:30], len(whole)),  # cut inside the IPv4 header
        (tagged[:17], 17),  # ends inside a tag
        (whole[:9], 9),  # a runt without an EtherType
        (b"", len(whole)),  # nothing kept
        (six[:50], len(six)),  # cut inside the IPv6 header
        (bytes(bad_ihl), 80),
        (bytes(bad_total), 80),
        (bytes(bad_version), len(bad_version)),
        (bytes(offload), len(offload)),  # total length 0, as segmentation offload leaves it
        (bytes(tiny) + b"\0" * 24, len(tiny) + 24),  # no room for ports before the padding
        (long_chain, len(long_chain)),
    ]
    return plain


def at_times(frames, start_ns=START_NS, step_ns=1_000_000):
    """Records of (bytes, bytes on the wire) at equal distances."""
    return [Record(start_ns + i * step_ns, bytes(data), length) for i, (data, length) in enumerate(frames)]


def full(packets):
    """(bytes, bytes on the wire) of scapy packets that the capture kept whole."""
    return [(raw(packet), len(raw(packet))) for packet in packets]
