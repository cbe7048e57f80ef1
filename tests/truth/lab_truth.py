"""The harness of truth tests: a cluster that is known, and what moved in it.

::

    with scenario_lab(hosts=2, link={"rate": "100M", "delay": "1ms"}) as lab:
        ...measure...
        stats = switch_stats(lab)

Figures that need the machine's attention are judged by the fixture ``attempts``: so many of so many
within the tolerance (see tests/attempts.py). Whole runs over such a cluster are lab_runs.py's; this
part stays light enough for a small memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from netsonde.lab import Lab, lab_up
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of

ROOT = os.geteuid() == 0
SETTLE_TIMEOUT_S = 60
PACKET_BLOCK = 6
COUNTING = {"calibrate": False}
"""The pace of a cluster whose delays are not judged: a second of calibration is spared."""
# Echoes by a program of our own, to their arrival by the kernel's stamp: the median, in ns. It does
# not sleep between them: what a CPU needs to come back is no part of the path.
PING = """
import json, socket, statistics, struct, sys, time
to, count = sys.argv[1], int(sys.argv[2])
sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
sock.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
sock.settimeout(2)
sock.connect((to, 0))
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
found = []
for number in range(count):
    body = struct.pack("!HH", 77, number) + bytes(56)
    echo = struct.pack("!BBH", 8, 0, checksum(struct.pack("!BBH", 8, 0, 0) + body)) + body
    until_ns = time.perf_counter_ns() + 300_000
    while time.perf_counter_ns() < until_ns:
        pass
    sent_ns = time.time_ns()
    sock.send(echo)
    while True:
        answer, extra, _, _ = sock.recvmsg(200, 200)
        if answer[20] == 0 and struct.unpack("!H", answer[26:28])[0] == number:
            break
    seconds, rest = struct.unpack("qq", extra[0][2])
    found.append(seconds * 10**9 + rest - sent_ns)
print(json.dumps(statistics.median(found)))
"""


@contextlib.contextmanager
def scenario_lab(**tables: Any) -> Iterator[Lab]:
    """A lab with a switch, from the tables of a scenario file."""
    with lab_up(lab_spec(scenario_of({"links": "switch", **tables}))) as lab:
        yield lab


def settle(lab: Lab, is_settled: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The switch's stats as soon as they are as wanted."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        stats = switch_stats(lab)
        if is_settled(stats):
            return stats
        assert time.monotonic() < deadline, "the switch did not settle"
        time.sleep(0.05)


def links_of(stats: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in stats["links"]}


def in_host(host: Any, program: str, *arguments: str) -> Any:
    """What a Python program that ran in a host of the lab printed, as JSON."""
    done = subprocess.run(
        host.command([sys.executable, "-c", program, *arguments]),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def captured_frames(content: bytes) -> Iterator[bytes]:
    """The packets of a pcapng file."""
    place = 0
    while place < len(content):
        kind, length = struct.unpack_from("<II", content, place)
        if kind == PACKET_BLOCK:
            captured = struct.unpack_from("<I", content, place + 20)[0]
            yield content[place + 28 : place + 28 + captured]
        place += length
