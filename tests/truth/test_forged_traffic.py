"""Somebody on the way who sends datagrams in the origin's name: what that does to the counts."""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Iterator

import pytest

from netsonde.lab import permission_problem
from netsonde.lab.cluster import Lab, lab_up
from netsonde.lab.spec import LabSpec
from netsonde.launch.pair import PairSession, open_pair
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

MESSAGES = 200
MESSAGE_BYTES = 100
RATE_BIT_PER_S = MESSAGES * MESSAGE_BYTES * 8  # all of them in a second
FALSE_LAST = MESSAGES // 2
BATCH = 1
FORGE = """
import socket, sys, time
packet = bytes.fromhex(sys.argv[1])
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
while True:
    raw.sendto(packet, (sys.argv[2], 0))
    print("sent", flush=True)
    time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_up(LabSpec(hosts=3, name="forged")) as made:
        yield made


def forged_packet(session: PairSession) -> bytes:
    """A datagram from the origin to the target that has a right number, and is not the origin's: it
    says that it is the last one."""
    origin, target = session.opened[0], session.opened[1]
    number = 1 << 63 | BATCH << 32 | FALSE_LAST
    message = struct.pack("<Q", number).ljust(MESSAGE_BYTES, b"\x5a")
    ports = (origin["local_port"], target["local_port"])
    udp = struct.pack(">HHHH", *ports, 8 + len(message), 0) + message  # 0: without a checksum
    sides = [bytes(map(int, end["local_address"].split("."))) for end in (origin, target)]
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + b"".join(sides) + udp


@contextlib.contextmanager
def forging(lab: Lab, session: PairSession) -> Iterator[None]:
    """A third host sends it again and again, every 10 ms."""
    words = (forged_packet(session).hex(), session.opened[1]["local_address"])
    process = lab.hosts[2].start([sys.executable, "-c", FORGE, *words])
    try:
        assert process.read()
        yield
    finally:
        process.stop(0.5)
        process.release()


@pytest.mark.tolerant
@pytest.mark.parametrize("authenticated", [False, True])
def test_forged_datagrams_alter_counts_unless_they_are_told_apart(
    lab: Lab, authenticated: bool
) -> None:
    options = {"authenticated": True} if authenticated else {}
    fields = {"message_bytes": MESSAGE_BYTES, "count": MESSAGES, "rate_bit_per_s": RATE_BIT_PER_S}
    with (
        open_pair(lab.hosts[0], lab.hosts[1], "udp", options=options) as session,
        forging(lab, session),
    ):
        batch = decode_batch(0, session.run({"test": "stream", **fields}, 10.0))
    assert batch.ends[0].counters["messages_sent"] == MESSAGES
    found = batch.ends[1].counters
    if authenticated:
        assert found["messages_received"] == MESSAGES
        assert found["lost"] == found["duplicates"] == 0
        assert found["unauthentic_messages"] > 0
    else:  # half of what was sent is lost, or one came twice, on a path that does neither
        assert found["lost"] or found["duplicates"]
        assert "unauthentic_messages" not in found
