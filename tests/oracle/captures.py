#!/usr/bin/env python3
"""Lists the packets of capture files, to judge Flitwork's reader and writer.

Written from the format specifications alone (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng):
it holds the file in memory and slices it, and shares no code or structure with Flitwork.

    captures.py list FILE          print one line per packet, then how the file ends
    captures.py expected FOLDER    write FOLDER/expected/NAME.txt for each capture in FOLDER
    captures.py tshark FILE...     compare the listing with what tshark (4.0 or later) reads

A packet's line: number, nanoseconds since 1970, captured length, original length, link type,
interface (over all sections), SHA-256 of the bytes. The last line: `end`, or `truncated OFFSET`
(of the record that is cut) or `damaged OFFSET` (of the record at fault).
"""

import hashlib
import json
import os
import struct
import subprocess
import sys
from fractions import Fraction

LIMIT = 262144  # Wireshark: "bigger than maximum of 262144".


class Bad(Exception):
    """The file is `kind` (truncated or damaged) in the record at `offset`."""

    def __init__(self, kind, offset):
        super().__init__(f"{kind} {offset}")


def pcap_packets(data):
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    nanoseconds = b"\x3c\x4d" in (data[2:4], data[1::-1])
    link_type = struct.unpack_from(order + "I", data, 20)[0] & 0x3FFFFFF
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            raise Bad("truncated", at)
        seconds, fraction, captured, original = struct.unpack_from(order + "4I", data, at)
        if captured > LIMIT:
            raise Bad("damaged", at)
        if at + 16 + captured > len(data):
            raise Bad("truncated", at)
        time = seconds * 10**9 + fraction * (1 if nanoseconds else 1000)
        yield time, original, link_type, 0, data[at + 16 : at + 16 + captured]
        at += 16 + captured


def pcapng_options(order, body):
    while len(body) >= 4:
        code, length = struct.unpack_from(order + "2H", body)
        if code == 0:
            return
        yield code, body[4 : 4 + length]
        body = body[4 + (length + 3) // 4 * 4 :]


def pcapng_packets(data):
    at, order, interfaces, first_interface = 0, "<", [], 0
    while at < len(data):
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            first_interface += len(interfaces)
            interfaces = []
        if at + 12 > len(data):
            raise Bad("truncated", at)
        kind, length = struct.unpack_from(order + "2I", data, at)
        if length < 12 or length % 4:
            raise Bad("damaged", at)
        if at + length > len(data):
            raise Bad("truncated", at)
        body = data[at + 8 : at + length - 4]
        if struct.unpack_from(order + "I", data, at + length - 4)[0] != length:
            raise Bad("damaged", at)
        if kind == 1:
            link_type, _, snap = struct.unpack_from(order + "2HI", body)
            unit, offset = Fraction(1, 10**6), 0
            for code, value in pcapng_options(order, body[8:]):
                if code == 9:
                    unit = Fraction(1, 2 ** (value[0] & 127) if value[0] & 128 else 10 ** value[0])
                elif code == 14:
                    offset = struct.unpack(order + "q", value)[0]
            interfaces.append((link_type, snap, unit, offset))
        elif kind in (2, 6):
            number, high, low, captured, original = struct.unpack_from(order + "5I", body)
            if kind == 2:
                number = struct.unpack_from(order + "H", body)[0]
            link_type, _, unit, offset = interfaces[number]
            time = int(((high << 32 | low) * unit + offset) * 10**9)
            yield time, original, link_type, first_interface + number, body[20 : 20 + captured]
        elif kind == 3:
            original = struct.unpack_from(order + "I", body)[0]
            link_type, snap = interfaces[0][:2]
            captured = min(original, snap or original)
            yield 0, original, link_type, first_interface, body[4 : 4 + captured]
        at += length


def listing(path):
    with open(path, "rb") as file:
        data = file.read()
    packets = pcapng_packets if data[:4] == b"\x0a\x0d\x0d\x0a" else pcap_packets
    lines = []
    try:
        for number, (time, original, link_type, interface, content) in enumerate(packets(data), 1):
            digest = hashlib.sha256(content).hexdigest()
            lines.append(f"{number} {time} {len(content)} {original} {link_type} {interface} {digest}")
        lines.append("end")
    except Bad as bad:
        lines.append(str(bad))
    return lines


def tshark_packets(path):
    """Time, original length and bytes of each packet, as tshark sees them."""
    command = ["tshark", "-n", "-r", path, "--no-duplicate-keys", "-T", "json", "-x", "-j", "frame"]
    # tshark's exit status is 2 for a damaged file, of which it still prints the good packets.
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    for packet in json.loads(output or b"[]"):
        layers = packet["_source"]["layers"]
        frame = layers["frame"]
        if frame.get("frame.encap_type") in (None, "-1", "-2"):
            continue  # A block that is no packet: system events, decryption secrets.
        seconds, _, fraction = frame.get("frame.time_epoch", "0").partition(".")
        time = int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])
        content = bytes.fromhex(layers["frame_raw"][0]) if "frame_raw" in layers else b""
        yield time, int(frame["frame.len"]), content


def compare_with_tshark(path):
    ours = []
    for line in listing(path)[:-1]:
        _, time, captured, original, _, _, digest = line.split()
        ours.append((int(time), int(captured), int(original), digest))
    theirs = [
        (time, len(content), original, hashlib.sha256(content).hexdigest())
        for time, original, content in tshark_packets(path)
    ]
    for number, (mine, other) in enumerate(zip(ours, theirs), 1):
        if mine != other:
            print(f"{path}: packet {number}: here {mine}, tshark {other}")
    if len(ours) != len(theirs):
        print(f"{path}: {len(ours)} packets here, {len(theirs)} in tshark")
    return ours == theirs


def main(arguments):
    match arguments:
        case ["list", path]:
            print("\n".join(listing(path)))
        case ["expected", folder]:
            os.makedirs(os.path.join(folder, "expected"), exist_ok=True)
            for name in sorted(os.listdir(folder)):
                if name.endswith((".pcap", ".pcapng")):
                    with open(os.path.join(folder, "expected", name + ".txt"), "w") as file:
                        file.write("\n".join(listing(os.path.join(folder, name))) + "\n")
        case ["tshark", *paths] if paths:
            same = [compare_with_tshark(path) for path in paths]
            print(f"{sum(same)} of {len(same)} captures read as tshark reads them")
            return 0 if all(same) else 1
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
