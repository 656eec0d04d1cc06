"""MurmurHash3_x86_32 over bytes, after Austin Appleby's description, checked against his published values."""


def murmur3(data, seed=0):
    h = seed
    for i in range(0, len(data) // 4 * 4, 4):
        h = mix(h, int.from_bytes(data[i : i + 4], "little"))
        h = (h << 13 | h >> 19) & 0xFFFFFFFF
        h = (h * 5 + 0xE6546B64) & 0xFFFFFFFF
    if len(data) % 4:
        h = mix(h, int.from_bytes(data[len(data) // 4 * 4 :], "little"))
    h ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = ((h ^ h >> shift) * factor) & 0xFFFFFFFF
    return h


def mix(h, k):
    k = k * 0xCC9E2D51 & 0xFFFFFFFF
    k = (k << 15 | k >> 17) & 0xFFFFFFFF
    return h ^ k * 0x1B873593 & 0xFFFFFFFF


def words(*numbers):
    """Bytes of 32-bit words, little-endian each."""
    return b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)


def words128(number):
    """The four words of a 128-bit number, most significant first."""
    return words(number >> 96, number >> 64, number >> 32, number)


def flow_bytes(flow):
    """What the library hashes for a flow (version, protocol, src, dst, sport, dport): 40 bytes for IPv6, else 16."""
    version, protocol, src, dst, sport, dport = flow
    ends = words128(src) + words128(dst) if version == 6 else words(src, dst)
    return ends + words(sport << 16 | dport, version << 8 | protocol)


class Slots:
    """The order in which a hash table with linear probing lists its keys."""

    def __init__(self, n_slots, n_probes, home):
        self.n_slots, self.n_probes, self.home, self.slots = n_slots, n_probes, home, {}

    def insert(self, key):
        start = self.home(key)
        free = [slot for slot in ((start + i) % self.n_slots for i in range(self.n_probes)) if slot not in self.slots]
        if key not in self.slots.values():
            self.slots[free[0]] = key

    def remove(self, key):
        self.slots = {slot: known for slot, known in self.slots.items() if known != key}

    def keys(self):
        return [self.slots[slot] for slot in sorted(self.slots)]


assert murmur3(b"", 1) == 0x514E28B7
assert murmur3(b"test", 0x9747B28C) == 0x704B81DC
assert murmur3(b"Hello, world!", 0x9747B28C) == 0x24884CBA
assert murmur3(b"The quick brown fox jumps over the lazy dog", 0x9747B28C) == 0x2FA826CD
