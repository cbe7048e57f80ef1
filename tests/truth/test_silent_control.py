"""While a test runs the control connection says nothing: what a capture on the link shows."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest
from lab_truth import COUNTING, captured_frames, scenario_lab

from netsonde.lab import permission_problem
from netsonde.lab.observe import capturing
from netsonde.launch.pair import open_pair

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
]

TCP, UDP = 6, 17
BUFFER_BYTES = 32_768
MESSAGES = {"tcp": (10_000, 200), "udp": (1_000, 500)}


@dataclass(frozen=True)
class Seen:
    """A packet of IPv4: which protocol, between which ports, and its payload."""

    protocol: int
    ports: frozenset[int]
    payload_bytes: int


def seen_in(frame):
    """None for what is not TCP or UDP over IPv4."""
    if frame[12:14] != b"\x08\x00" or frame[23] not in (TCP, UDP):
        return None
    length = int.from_bytes(frame[16:18])
    ports = frozenset(struct.unpack_from("!HH", frame, 34))
    header = 8 if frame[23] == UDP else 4 * (frame[46] >> 4)
    return Seen(frame[23], ports, length - 20 - header)


def test_the_reader_of_packets():
    ip = bytes(12) + b"\x08\x00\x45\x00" + struct.pack("!H", 20 + 32 + 7) + bytes(5)
    tcp = struct.pack("!HH", 4000, 5000) + bytes(8) + b"\x80" + bytes(30)
    assert seen_in(ip + b"\x06" + bytes(10) + tcp) == Seen(TCP, frozenset({4000, 5000}), 7)
    assert seen_in(bytes(12) + b"\x08\x06" + bytes(40)) is None


def captured(transport, path):
    """What crossed h2's link during two streams, in order, and what the origin obtained."""
    size, count = MESSAGES[transport]
    fields = {"test": "stream", "message_bytes": size, "count": count, "timeout_ns": 10**10}
    if transport == "udp":
        fields["rate_bit_per_s"] = 20_000_000
    options = {"send_buffer_bytes": BUFFER_BYTES, "receive_buffer_bytes": 1 << 20}
    with (
        scenario_lab(hosts=2, pace=COUNTING, link={"rate": "100M", "delay": "50us"}) as lab,
        open_pair(lab.hosts[0], lab.hosts[1], transport, options=options) as session,
        capturing(lab, "h2", path, 32 << 20),
    ):
        opened = session.opened[0]
        for _ in range(2):
            session.run(fields, 15)
    return [
        found for frame in captured_frames(path.read_bytes()) if (found := seen_in(frame))
    ], opened


def of_the_test(packet, transport, opened):
    if transport == "udp":
        return packet.protocol == UDP
    ports = frozenset({int(opened["local_port"]), int(opened["peer_port"])})
    return packet.protocol == TCP and packet.ports == ports


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_nothing_is_said_while_the_test_runs(transport, tmp_path):
    size, count = MESSAGES[transport]
    packets, opened = captured(transport, tmp_path / "wire.pcapng")
    moved = sum(p.payload_bytes for p in packets if of_the_test(p, transport, opened))
    assert moved >= 2 * size * count
    loud = [not of_the_test(p, transport, opened) and p.payload_bytes > 0 for p in packets]
    data = [of_the_test(p, transport, opened) and p.payload_bytes > 0 for p in packets]
    assert sum(loud) > 10  # the synchronisation before each stream, and the end of each
    # What the kernel holds may still be on its way when the origin says how much that was.
    held = 0 if transport == "udp" else int(opened["send_buffer_bytes"])
    for batch in range(2):
        first = place_after(data, packets, batch * size * count)
        interruption = next(i for i in range(first, len(packets)) if loud[i])
        before = sum(
            p.payload_bytes for p, d in zip(packets[:interruption], data, strict=False) if d
        )
        assert before >= (batch + 1) * size * count - held, f"batch {batch}: {before} bytes before"


def place_after(data, packets, moved_bytes):
    """The first data packet behind so many bytes of data."""
    total = 0
    for place, packet in enumerate(packets):
        if data[place]:
            if total >= moved_bytes:
                return place
            total += packet.payload_bytes
    raise AssertionError(f"only {total} bytes of data, expected more than {moved_bytes}")
