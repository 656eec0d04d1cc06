"""A routing table as large as the Internet's, packets for it, and what must become of them.

`full_table.py DIR [N4 N6]` writes DIR/control, DIR/in.pcap and DIR/expected.tor_out.pcap for examples/IP_Forwarding: N4 (default 1,000,000) IPv4 and N6 (256,000)
IPv6 routes in random order, a tenth of them deleted again. `full_table.py DIR --compare` compares DIR/tor.pcap with the expectation.
"""

import struct
import sys
from pathlib import Path

import ip_forwarding
import routes
from frames import Record, internet_checksum, read_pcap, write_pcap

N_PACKETS = 20_000
N_HOPS = 250
START_NS = 1_700_000_000 * 10**9


def frame(version, address, number):
    """A UDP packet to an address, made by hand because there are many."""
    ethernet = bytes.fromhex("020000000002020000000001") + (b"\x08\x00" if version == 4 else b"\x86\xdd")
    udp = struct.pack(">HHHH", number & 0xFFFF, 9, 8, 0)
    if version == 4:
        header = struct.pack(">BBHHHBBHII", 0x45, 0, 28, number & 0xFFFF, 0, 64, 17, 0, 0x0A010001, address)
        header = header[:10] + internet_checksum(header).to_bytes(2, "big") + header[12:]
        return ethernet + header + udp
    return ethernet + struct.pack(">IHBB", 6 << 28, 8, 17, 64) + bytes.fromhex("20010db8000a00000000000000000001") + address.to_bytes(16, "big") + udp


def forwarded(data, version, hop):
    """What leaves for that next hop."""
    out = bytearray(data)
    out[:12] = bytes.fromhex(ip_forwarding.hop_mac(hop).replace(":", "")) + bytes.fromhex(ip_forwarding.port_mac(1).replace(":", ""))
    out[22 if version == 4 else 21] -= 1
    if version == 4:
        out[24:26] = b"\0\0"
        out[24:26] = internet_checksum(out[14:34]).to_bytes(2, "big")
    return bytes(out)


def write(folder, n4, n6):
    rng = routes.seeded(4 * n4 + n6)
    tables = {4: routes.Table(4), 6: routes.Table(6)}
    lines = [f"hops.insert index={hop} station={ip_forwarding.hop_mac(hop)} source={ip_forwarding.port_mac(1)} port=1" for hop in range(N_HOPS)]
    for version, n_routes in ((4, n4), (6, n6)):
        table = routes.random_table(version, n_routes, N_HOPS, rng)
        lines += routes.control_lines(version, table)
        gone = rng.sample(list(table), n_routes // 10)
        lines += [f"routes.delete version={version} prefix={routes.text(version, prefix)} length={length}" for prefix, length in gone]
        tables[version].routes = without(table, gone)
    lines.append("@end routes.stats")
    (folder / "control").write_text("\n".join(lines) + "\n")
    sent, expected = [], []
    known = {version: list(table.routes) for version, table in tables.items()}
    for i in range(N_PACKETS):
        version = 4 if i % 4 else 6
        address = routes.inside(version, *rng.choice(known[version]), rng)
        if version == 4 and not 1 <= address >> 24 < 224:
            continue
        data, time_ns = frame(version, address, i), START_NS + i * 1000
        sent.append(Record(time_ns, data, len(data)))
        hop = tables[version].lookup(address)
        if hop is not None:
            expected.append(Record(time_ns, forwarded(data, version, hop), len(data)))
    write_pcap(folder / "in.pcap", sent)
    write_pcap(folder / "expected.tor_out.pcap", expected)
    print(f"{sum(len(table.routes) for table in tables.values())} routes left, {len(sent)} packets, {len(expected)} expected at tor_out")


def without(table, gone):
    """The table without some of its routes."""
    gone = set(gone)
    return {key: hop for key, hop in table.items() if key not in gone}


def compare(folder):
    """Exits with 1 if a packet differs."""
    got, wanted = (read_pcap(folder / name) for name in ("tor.pcap", "expected.tor_out.pcap"))
    wrong = sum(a.key() != b.key() for a, b in zip(got, wanted)) + abs(len(got) - len(wanted))
    print(f"{len(got)} packets, {wrong} of them not as expected")
    sys.exit(wrong != 0)


def main():
    folder = Path(sys.argv[1])
    if sys.argv[2:] == ["--compare"]:
        compare(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n4, n6 = (int(word) for word in sys.argv[2:]) if len(sys.argv) > 2 else (1_000_000, 256_000)
    write(folder, n4, n6)


if __name__ == "__main__":
    main()
