"""Control files, read independently of Flitwork."""

import ipaddress
import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass
class Call:
    line: int
    time_ns: float  # -inf: before the run, inf: at its end
    instance: str
    signal: str
    args: dict


def value(text):
    """A number, an address as a number, a truth value, or `all`."""
    if text in ("true", "false"):
        return text == "true"
    if text == "all":
        return text
    if text.count(":") == 5 and all(len(part) == 2 for part in text.split(":")):
        return int(text.replace(":", ""), 16)
    if ":" in text or text.count(".") == 3:
        return int(ipaddress.ip_address(text))
    return int(text, 0)


def read_control(path):
    """The calls of a control file in the order in which they take effect."""
    calls = []
    for number, line in enumerate(open(path), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        time_ns = -math.inf
        if words[0].startswith("@"):
            at = words.pop(0)[1:]
            time_ns = math.inf if at == "end" else int(Fraction(at) * 10**9)
        instance, signal = words.pop(0).split(".")
        calls.append(Call(number, time_ns, instance, signal, {name: value(text) for name, text in (word.split("=") for word in words)}))
    return sorted(calls, key=lambda call: call.time_ns)


# Results of more than 64 bits, which reports show as hexadecimal text.
WIDE_BITS = {"src": 128, "dst": 128, "address": 128, "server_address": 128, "prefix": 128, "data": 256}


def wide(name, value):
    return f"0x{value:0{WIDE_BITS[name] // 4}x}" if name in WIDE_BITS else value


class Timeline:
    """Applies calls to a model as time goes on: those at or before a packet's time run before the packet."""

    def __init__(self, calls, apply):
        self.calls, self.apply, self.results = list(calls), apply, []

    def until(self, time_ns):
        while self.calls and self.calls[0].time_ns <= time_ns:
            call = self.calls.pop(0)
            for row in self.apply(call) or []:
                # A run reports what was asked for and what was refused, not that a line did as it was told.
                if row in ({}, {"ok": True}):
                    continue
                results = {name: wide(name, value) for name, value in row.items()}
                self.results.append({"line": call.line, "call": f"{call.instance}.{call.signal}", "results": results})


def rows_at_cursor(rows):
    """Rows as a listing signal with `cursor=all` gives them, without the cursor itself."""
    return [dict(row, valid=True) for row in rows]
