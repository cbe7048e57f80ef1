"""What quality of service is asked for stands in the IP header of every packet, both ways."""

from __future__ import annotations

import struct
from collections import defaultdict

import pytest
from lab_truth import COUNTING, captured_frames, scenario_lab

from netsonde.lab import permission_problem
from netsonde.lab.observe import capturing
from netsonde.launch.pair import open_pair
from netsonde.study.quality import parse_traffic_class

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
]

CLASSES = ("1", "2", "3", "4", "5", "6", "ef")
LEAST_PACKETS = 40  # 20 messages there and back
# Of a message that nothing else on the link is as long as, one more for each class.
FIRST_BYTES = 801
PROTOCOLS = {"tcp": 6, "udp": 17}
HEADER_BYTES = {"tcp": 32, "udp": 8}  # TCP's with the time stamps option


def header(frame):
    """(protocol, traffic class, bytes behind the IP header) of a packet; None of another kind."""
    kind = frame[12:14]
    if kind == b"\x08\x00":
        return frame[23], frame[15], int.from_bytes(frame[16:18]) - 20
    if kind == b"\x86\xdd":
        first = int.from_bytes(frame[14:18])
        return frame[20], first >> 20 & 0xFF, int.from_bytes(frame[18:20])
    return None


def test_the_reader_of_packets():
    four = (
        bytes(12) + b"\x08\x00" + bytes([0x45, 0x28]) + struct.pack(">H", 128) + bytes(5) + b"\x11"
    )
    assert header(four + bytes(20)) == (17, 0x28, 108)
    six = bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28 | 0xB8 << 20 | 5, 90, 6, 64)
    assert header(six + bytes(40)) == (6, 0xB8, 90)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("transport", "family"),
    [
        ("tcp", "ipv6"),
        ("udp", "ipv4"),
        pytest.param("tcp", "ipv4", marks=pytest.mark.soak),
        pytest.param("udp", "ipv6", marks=pytest.mark.soak),
    ],
)
def test_every_class(transport, family, tmp_path):
    seen = classes_seen(transport, family, tmp_path / "wire.pcapng")
    for number, name in enumerate(CLASSES):
        assert len(seen[number]) >= LEAST_PACKETS, f"class {name}: {len(seen[number])} packets"
        assert set(seen[number]) == {parse_traffic_class(name)}, name


def classes_seen(transport, family, path):
    """The traffic classes of the packets of each session, by the number of its class."""
    with (
        scenario_lab(hosts=2, pace=COUNTING, link={"rate": "1G", "delay": "10us"}) as lab,
        capturing(lab, "h2", path, 16 << 20),
    ):
        for number, name in enumerate(CLASSES):
            options = {"traffic_class": parse_traffic_class(name)}
            with open_pair(
                lab.hosts[0], lab.hosts[1], transport, family=family, options=options
            ) as session:
                message_bytes = FIRST_BYTES + number
                session.run({"test": "latency", "message_bytes": message_bytes, "count": 20}, 10)
    seen = defaultdict(list)
    for frame in captured_frames(path.read_bytes()):
        found = header(frame)
        if found and found[0] == PROTOCOLS[transport]:
            number = found[2] - HEADER_BYTES[transport] - FIRST_BYTES
            if 0 <= number < len(CLASSES):
                seen[number].append(found[1])
    return seen
