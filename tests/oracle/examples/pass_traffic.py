"""PassTraffic: what goes in comes out, byte for byte, whatever it is."""

from traffic import at_times, full, odd_frames, tcp4, tcp6, text, udp4, udp6

NAME = "PassTraffic"
ORACLE = "the inputs themselves: the expected captures are the records of in.pcap and in.tor_in.pcap"


def inputs():
    up = full([tcp4("10.0.0.1", "192.0.2.1", 40000, 80, text(n)) for n in (0, 1, 10, 500, 1460)])
    up += odd_frames("10.0.0.1", "192.0.2.1", "2001:db8::1", "2001:db8:1::1", 40001, 443)
    up += full([udp4("10.0.0.1", "192.0.2.1", 40002, 53, text(n)) for n in range(17, 25)])
    up += [(bytes(range(256)) * 35, 8960)]  # a jumbo frame
    down = full([tcp6("2001:db8:1::1", "2001:db8::1", 443, 40001, text(n)) for n in (0, 3, 900)])
    down += full([udp6("2001:db8:1::1", "2001:db8::1", 53, 40002, text(n)) for n in (12, 300)])
    down += odd_frames("192.0.2.1", "10.0.0.1", "2001:db8:1::1", "2001:db8::1", 443, 40001)[::-1]
    return {"in.pcap": at_times(up), "in.tor_in.pcap": at_times(down, step_ns=1_300_000)}


def expected(records, _control):
    return {"tor_out": records["in.pcap"], "nic_out": records["in.tor_in.pcap"]}, {}
