"""Over the lab's switch: round trips and one-way delays as they were set, by the kernel's stamps.

A process that waits for an answer adds its own waking; the kernel's stamp of the arrival does not.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from lab_truth import PING, ROOT, in_host, scenario_lab

from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

TOLERANCE_NS = {"busy": 25_000, "sleep": 40_000}
"""Of four links in a row. On a quiet machine it is 15 and 27 us at most; beside others, who take a
CPU for less than the control notices, 18 and more were seen."""
SIBLINGS = [
    ("sleep", 50),
    ("busy", 500),
    *((m, d) for d in (2500, 12500) for m in ("busy", "sleep")),
]
FRAME_NS = 976  # of an echo, 98 bytes, on a line of 1 Gbit/s
ONE_WAY_TO = """
import json, socket, statistics, struct
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 35, 1)
sock.bind(("0.0.0.0", 7003))
sock.settimeout(5)
print("ready", flush=True)
found = []
for _ in range(100):
    data, extra, _, _ = sock.recvmsg(200, 200)
    seconds, rest = struct.unpack("qq", extra[0][2])
    found.append(seconds * 10**9 + rest - struct.unpack("!q", data[:8])[0])
print(json.dumps(statistics.median(found)), flush=True)
"""
ONE_WAY_FROM = """
import socket, struct, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.connect((sys.argv[1], 7003))
for _ in range(100):
    time.sleep(0.002)
    sock.send(struct.pack("!q", time.time_ns()) + bytes(48))
"""


@pytest.mark.timeout(120)
@pytest.mark.skipif(not ROOT, reason="keeping CPUs awake needs root")
@pytest.mark.parametrize(
    ("mode", "delay_us"),
    [
        *[("busy", 50), ("sleep", 500)],
        *(pytest.param(*each, marks=pytest.mark.soak) for each in SIBLINGS),
    ],
)
def test_round_trips(mode, delay_us, attempts):
    """0.2 to 50 ms, four times the delay of a link's direction."""
    for attempt in attempts(2, of=3):  # each with a lab, and so a calibration, of its own
        with scenario_lab(
            hosts=2,
            link={"rate": "1G", "delay": f"{delay_us}us"},
            pace={"mode": mode, "awake": True},
        ) as lab:
            count = 100 if delay_us < 5000 else 30
            address = lab.hosts[1].address("ipv4")
            found_ns = in_host(lab.hosts[0], PING, address, str(count))
        off_ns = found_ns - 4 * (1000 * delay_us + FRAME_NS)
        attempt.found(off_ns=off_ns)
        with attempt:
            assert abs(off_ns) <= TOLERANCE_NS[mode]


@pytest.mark.timeout(60)
@pytest.mark.skipif(not ROOT, reason="keeping CPUs awake needs root")
def test_directions_of_their_own(attempts):
    """5 ms one way, 1 ms the other."""
    link = {"rate": "1G", "up": {"delay": "4ms"}, "down": {"delay": "500us"}}
    wanted_ns = {0: 500_000 + 500_000, 1: 4_000_000 + 500_000}
    for attempt in attempts(2, of=3):
        with scenario_lab(
            hosts=2,
            link={"rate": "1G", "delay": "500us"},
            host=[{"name": "h2", "link": link}],
            pace={"mode": "busy", "awake": True},
        ) as lab:
            found = [one_way(lab.hosts[i], lab.hosts[1 - i]) for i in (0, 1)]
        off_ns = [found[i] - wanted_ns[i] for i in (0, 1)]
        attempt.found(off_ns=off_ns)
        with attempt:
            assert max(map(abs, off_ns)) <= TOLERANCE_NS["busy"]


def one_way(origin, target):
    """Median from the send call to the kernel's stamp; both hosts have this machine's clock."""
    with subprocess.Popen(
        target.command([sys.executable, "-c", ONE_WAY_TO]), stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        subprocess.run(
            origin.command([sys.executable, "-c", ONE_WAY_FROM, target.address("ipv4")]),
            timeout=30,
            check=True,
        )
        return json.loads(receiver.stdout.readline())
