"""Random routing tables and their reference lookup."""

import ipaddress
import random

# How often each prefix length stands in a table, roughly as in the public BGP table; the lengths past 24 and 64 are internal routes.
LENGTHS4 = {8: 1, 10: 1, 12: 2, 14: 3, 15: 3, 16: 14, 17: 8, 18: 14, 19: 25, 20: 45, 21: 50, 22: 110, 23: 100, 24: 600, 25: 5, 26: 5, 28: 5, 30: 5, 32: 20}
LENGTHS6 = {20: 2, 28: 5, 29: 40, 32: 220, 36: 40, 40: 60, 44: 80, 46: 30, 48: 450, 56: 20, 64: 30, 126: 5, 128: 10}


def random_table(version, n_routes, n_hops, rng):
    """{(prefix, length): next hop} with many prefixes inside of others."""
    lengths = LENGTHS4 if version == 4 else LENGTHS6
    bits = 32 if version == 4 else 128
    table, parents = {}, []
    while len(table) < n_routes:
        length = rng.choices(list(lengths), list(lengths.values()))[0]
        if parents and rng.random() < 0.4:
            address, parent_length = rng.choice(parents)
            address |= rng.getrandbits(bits - parent_length) if parent_length < bits else 0
        elif version == 4:
            address = rng.randrange(1 << 24, 224 << 24)
            if address >> 24 in (10, 127) or address >> 16 == 0xA9FE:
                continue
        else:
            address = (0x2 << 124) | rng.getrandbits(120)
        address = address >> (bits - length) << (bits - length)
        table[(address, length)] = rng.randrange(n_hops)
        parents.append((address, length))
        if len(parents) > 5000:
            parents = parents[2500:]
    return table


class Table:
    """Longest match by asking every length for the prefix."""

    def __init__(self, version):
        self.bits, self.routes = 32 if version == 4 else 128, {}

    def lookup(self, address):
        for length in range(self.bits, -1, -1):
            prefix = address >> (self.bits - length) << (self.bits - length)
            if (prefix, length) in self.routes:
                return self.routes[(prefix, length)]
        return None


def text(version, address):
    return str(ipaddress.IPv4Address(address) if version == 4 else ipaddress.IPv6Address(address))


def control_lines(version, table):
    return [f"routes.insert version={version} prefix={text(version, prefix)} length={length} next_hop={hop}" for (prefix, length), hop in table.items()]


def inside(version, prefix, length, rng):
    """A random address of a prefix."""
    bits = 32 if version == 4 else 128
    return prefix | (rng.getrandbits(bits - length) if length < bits else 0)


def seeded(seed):
    return random.Random(seed)
