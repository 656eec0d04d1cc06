"""Cases of tests/run for AES_CTR: the published vectors, and packets that the `openssl` program encrypts. Compares the committed files, or writes them with `--write`.

Of the vectors (SP 800-38A appendix F.5, RFC 3686 §6) plain and cipher text stand here; the rest is `openssl enc` with the counter
blocks of SP 800-38A appendix B.2 and RFC 3686 §4.
"""

import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import check_element_cases  # noqa: E402
from check_element_cases import ODD, Case  # noqa: E402

PLAIN = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
SP_800_38A = {
    128: ("2b7e151628aed2a6abf7158809cf4f3c", "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"),
    192: ("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e941e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"),
    256: ("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c52b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"),
}
# Test vectors 1, 2, 4 and 9: key, nonce, initialisation vector, plain text, cipher text.
RFC_3686 = [
    ("ae6852f8121067cc4bf7a5765577f39e", "00000030", "0000000000000000", b"Single block msg", "e4095d4fb7a7b3792d6175a3261311b8"),
    ("7e24067817fae0d743d6ce1f32539163", "006cb6db", "c0543b59da48d90b", bytes(range(32)), "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28"),
    ("16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515", "00000048", "36733c147d6d93cb", b"Single block msg", "4b55384fe259c9c84e7935a003cbe928"),
    ("ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d", "001cc5b7", "51a51d70a1c11148", bytes(range(36)), "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8"),
]
PORTS = [("nic_in", "nic_out"), ("tor_in", "tor_out"), ("host_in", "host_out")]
LENGTHS = [0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 1458]


def encrypted(key, counter, data):
    """By the `openssl` program; key in hexadecimal, counter block as a number."""
    arguments = ["openssl", "enc", f"-aes-{4 * len(key)}-ctr", "-K", key, "-iv", f"{counter % 2**128:032x}"]
    return subprocess.run(arguments, input=data, capture_output=True, check=True).stdout


def graph(*elements):
    """One element between each pair of ports."""
    lines = ['import "crypto/AES_CTR.clnp"', ""]
    lines += [f"AES_CTR :: {name} @ (1, 1, {parameters})" for name, parameters in elements] + [""]
    return "\n".join(lines + [f"{way_in} -> {name} -> {way_out}" for (name, _), (way_in, way_out) in zip(elements, PORTS)])


def sp_800_38a():
    elements = [(f"aes{bits}", f"KEY_BITS = {bits}, OFFSET = 14") for bits in SP_800_38A]
    case = Case("AES_CTR_sp800_38a", "SP 800-38A F.5, its four blocks in packets of 16, 17 and 16 bytes behind an Ethernet header, the counter running on.", graph(*elements))
    ethernet = bytes.fromhex("020000000002020000000001" + "88b5")
    for (name, _), (key, cipher), (way_in, way_out) in zip(elements, SP_800_38A.values(), PORTS):
        case.call(f"{name}.set_key key=0x{key}")
        case.call(f"{name}.set_counter block=0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
        spans = [slice(0, 16), slice(16, 33), slice(48, 64)]
        stamped = case.send([(ethernet + PLAIN[span], None) for span in spans], way_in)
        for (time, data, _), span in zip(stamped, spans):
            case.out(way_out, time, ethernet + bytes.fromhex(cipher)[span])
        case.call(f"@end {name}.stats", encrypted=3, refused=0)
    return case


def rfc_3686():
    case = Case("AES_CTR_rfc3686", "RFC 3686 test vectors 1, 2, 4 and 9; the vector is in the packet.", graph(*[(f"aes{bits}", f"KEY_BITS = {bits}, OFFSET = 16, IV = AES_IV_READ") for bits in (128, 192, 256)]))
    for i, (key, nonce, vector, plain, cipher) in enumerate(RFC_3686):
        assert encrypted(key, int(nonce + vector + "00000001", 16), plain) == bytes.fromhex(cipher)
        port = len(key) // 16 - 2
        at = f"@0.{i}"
        case.call(f"{at} aes{4 * len(key)}.set_key key=0x{key}")
        case.call(f"{at} aes{4 * len(key)}.set_nonce value=0x{nonce}")
        head = bytes(8) + bytes.fromhex(vector)
        (stamped,) = case.send([(head + plain, None)], PORTS[port][0], start=100_000_000 * i)
        case.out(PORTS[port][1], stamped[0], head + bytes.fromhex(cipher))
    return case


class Running:
    def __init__(self, key, counter):
        self.key, self.counter = key, counter

    def packet(self, data, offset):
        payload = data[offset:]
        out = data[:offset] + encrypted(self.key, self.counter, payload)
        self.counter += -(-len(payload) // 16)
        return out


class PerPacket:
    def __init__(self, key, nonce, writes):
        self.key, self.nonce, self.writes, self.number = key, nonce, writes, 0

    def packet(self, data, offset):
        if len(data) < offset:
            return None
        vector = self.number.to_bytes(8, "big") if self.writes else data[offset - 8 : offset]
        self.number += 1
        counter = self.nonce << 96 | int.from_bytes(vector, "big") << 32 | 1
        return data[: offset - 8] + vector + encrypted(self.key, counter, data[offset:])


def packets():
    offsets = {"running": 42, "written": 50, "read": 22}
    elements = [("running", "KEY_BITS = 256"), ("written", "OFFSET = 50, IV = AES_IV_WRITE"), ("read", "KEY_BITS = 192, OFFSET = 22, IV = AES_IV_READ")]
    case = Case("AES_CTR_packets", "Packets of all lengths against the openssl program: a counter that wraps, vectors written and read, packets too short, keys changed under way.", graph(*elements))
    random.seed(3686)
    frames = [data for data, _ in ODD] + [random.randbytes(42 + n) for n in LENGTHS] + [random.randbytes(n) for n in (1, 7, 8, 21, 22, 23, 41, 42, 43, 49, 50, 51)]
    keys = {name: [random.randbytes(n_bytes).hex() for _ in range(2)] for name, n_bytes in (("running", 32), ("written", 16), ("read", 24))}
    wrap = 2**128 - 70
    for (name, _), (way_in, way_out) in zip(elements, PORTS):
        refused = passed = 0
        for part, key in enumerate(keys[name]):
            # The first packet of all comes before there is a key.
            second = 10 * part + 1
            case.call(f"@{second} {name}.set_key key=0x{key}")
            if name == "running" and part == 0:
                case.call(f"@{second} running.set_counter block={wrap:#x}")
                cipher = Running(key, wrap)
            elif name == "running":
                cipher.key = key
            else:
                if part == 0:
                    case.call(f"@{second} {name}.set_nonce value=0xdeadbeef")
                cipher = PerPacket(key, 0xDEADBEEF, name == "written")
            if part == 0:
                case.send([(frames[0], None)], way_in)
            for time, data, _ in case.send([(frame, None) for frame in frames], way_in, start=second * 10**9):
                out = cipher.packet(data, offsets[name])
                if out is None:
                    refused += 1
                else:
                    passed += 1
                    case.out(way_out, time, out)
        case.drop(name, "no initialisation vector", refused)
        case.drop(name, "no key", 1)
        case.call(f"@end {name}.stats", encrypted=passed, refused=refused + 1)
    return case


if __name__ == "__main__":
    check_element_cases.cases = lambda: [sp_800_38a(), rfc_3686(), packets()]
    check_element_cases.main()
