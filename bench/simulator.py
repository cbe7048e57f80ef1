"""How fast the simulator is, and what memory a packet in a queue takes.

Counted are packet hops (packets put on a line) for each second of CPU time, of jobs that
differ in what they ask of it: queues at one output, many queues at once, head-of-line blocking,
windows with losses, and collectives on large trees.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.peers import Route
from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.launch.host import printable

NAME = "simulator"
PROGRAM = "sonde-sim"
MOST_CPU_S = 300
GOAL_HOPS_PER_S = 5e6
GOAL_PACKET_BYTES = 200
EXCHANGE = "1,024 hosts exchange 16 packets"
BROADCAST = "65,536 hosts broadcast"
GOALS_S: Mapping[str, float] = {EXCHANGE: 30.0, BROADCAST: 10.0}
"""Jobs with a goal of their own, in s of CPU time."""
SHORT_SECONDS = 10.0
"""With less time than this the jobs with such a goal are left out."""
QUEUED = (200_000, 400_000)
"""Packets a sender, of the two jobs whose memory is compared."""
PAYLOAD_BYTES = 1492
GO_BACK_N = {
    "kind": "go_back_n",
    "window_packets": 24,
    "timeout_ns": 49_216_000,
    "control_bytes": 46,
}


def one_switch(
    hosts: int,
    switch: Mapping[str, Any],
    workload: Mapping[str, Any],
    transport: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """So many hosts at 100 Mbit/s on one switch."""
    return {
        "simulation": 1,
        "host_kinds": {"pc": {}},
        "link_kinds": {"fast": {"rate_bit_per_s": 100_000_000}},
        "switch_kinds": {"s": dict(switch)},
        "switches": [{"name": "s0", "kind": "s"}],
        "hosts": [{"switch": "s0", "count": hosts, "kind": "pc", "link": "fast"}],
        "transport": dict(transport or {"kind": "datagram"}),
        "workload": {**workload, "payload_bytes": PAYLOAD_BYTES},
        "record": {"ranks": False},
    }


def tree(leaves: int, hosts: int, workload: Mapping[str, Any]) -> dict[str, Any]:
    """So many leaf switches of so many hosts below one root."""
    scenario = one_switch(2, {"architecture": "output", "cut_through": True}, workload)
    scenario["link_kinds"]["up"] = {"rate_bit_per_s": 10_000_000_000}
    names = [f"leaf{i}" for i in range(leaves)]
    scenario["switches"] += [
        {"name": name, "kind": "s", "parent": "s0", "link": "up"} for name in names
    ]
    scenario["hosts"] = [
        {"switch": name, "count": hosts, "kind": "pc", "link": "fast"} for name in names
    ]
    return scenario


def jobs() -> dict[str, dict[str, Any]]:
    """What is measured, by name."""
    output = {"architecture": "output", "buffer_packets": 95}
    gather = {"kind": "many_to_one", "target": 0}
    uniform = {"kind": "uniform"}
    exchange = {"kind": "schedule", "algorithm": "alltoall/synchronous-shuffle"}
    broadcast = {"kind": "schedule", "algorithm": "broadcast/binomial"}
    return {
        "15 to one, datagrams": one_switch(
            16, {"architecture": "output"}, {**gather, "packets": 200_000}
        ),
        "15 to one, Go-Back-N with losses": one_switch(
            16, output, {**gather, "packets": 100_000}, GO_BACK_N
        ),
        "16 uniform, output": one_switch(16, output, {**uniform, "packets": 300_000}),
        "16 uniform, input": one_switch(
            16, {"architecture": "input", "buffer_packets": 43}, {**uniform, "packets": 300_000}
        ),
        "256 uniform, output": one_switch(256, output, {**uniform, "packets": 20_000}),
        EXCHANGE: tree(16, 64, {**exchange, "block_packets": 16}),
        BROADCAST: tree(1024, 64, {**broadcast, "block_bytes": PAYLOAD_BYTES}),
    }


@dataclass(frozen=True)
class Spent:
    """What a program wrote, its CPU time (user and system), and its most resident memory."""

    output: str
    cpu_s: float
    resident_bytes: int


@dataclass(frozen=True)
class Played:
    """A job as the simulator played it."""

    job: str
    hops: int
    events: int
    cpu_s: float

    @property
    def hops_per_s(self) -> float:
        return self.hops / self.cpu_s


@dataclass(frozen=True)
class QueuedBytes:
    """Resident memory for each packet more that waits in a queue."""

    packets: int
    bytes_per_packet: float


# A process begins with the most memory that the one it was forked from ever had, and this one has
# much: a small one starts the program, and writes its CPU time and memory to a file.
_STARTER = """
import os, resource, sys
file, most, *command = sys.argv[1:]
pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most)))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(error.strerror, file=sys.stderr, flush=True)
        os._exit(127)
_, status, usage = os.wait4(pid, 0)
with open(file, "w") as report:
    report.write(f"{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}")
sys.exit(status and (os.waitstatus_to_exitcode(status) % 256 or 1))
"""


def spend(command: Sequence[str], text: str = "") -> Spent:
    """Runs a program with ``text`` as its input. Raises HostError where it fails, or takes more
    than MOST_CPU_S."""
    with tempfile.NamedTemporaryFile() as usage:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _STARTER, usage.name, str(MOST_CPU_S), *command],
            input=text.encode(),
            capture_output=True,
            check=False,
            cwd="/",
        )
        words = usage.read().split()
    if done.returncode != 0 or len(words) != 2:
        said = done.stderr.decode(errors="replace").strip()
        raise HostError(f"{command[0]} failed: {printable(said[-200:])}")
    output = done.stdout.decode(errors="replace")
    return Spent(output, max(float(words[0]), 1e-3), 1024 * int(words[1]))


def play(program: str, scenario: Mapping[str, Any]) -> tuple[dict[str, Any], Spent]:
    """The values of the last record, and what it took. Raises HostError."""
    spent = spend([program, "run"], json.dumps(scenario))
    try:
        values: dict[str, Any] = json.loads(spent.output.splitlines()[-1])["values"]
    except (IndexError, KeyError, ValueError) as error:
        raise HostError(f"{PROGRAM} did not say how the simulation ended") from error
    return values, spent


def simulator(route: Route, seconds: float, draw: random.Random) -> list[Played | QueuedBytes]:
    """Each job once, and the memory. The route is not used. Raises HostError."""
    del route, draw
    program = str(find_worker(PROGRAM))
    found: list[Played | QueuedBytes] = []
    for name, scenario in jobs().items():
        if name in GOALS_S and seconds < SHORT_SECONDS:
            continue
        values, spent = play(program, scenario)
        found.append(Played(name, values["packet_hops"], values["events"], spent.cpu_s))
    return [*found, queued_bytes(program)]


def queued_bytes(program: str) -> QueuedBytes:
    """The memory of two jobs that differ in how many packets wait at one output at a time, per
    packet: of packets, their events, and whatever else grows with them."""
    waiting, resident = [], []
    for packets in QUEUED:
        job = {"kind": "many_to_one", "target": 0, "packets": packets}
        values, spent = play(program, one_switch(16, {"architecture": "output"}, job))
        waiting.append(values["switch.s0.most_packets"])
        resident.append(spent.resident_bytes)
    more = waiting[1] - waiting[0]
    return QueuedBytes(waiting[1], (resident[1] - resident[0]) / more)


def lines(found: Sequence[Played | QueuedBytes]) -> list[str]:
    """For the terminal: a line for each job, and what the goals are."""
    said = [f"{'simulated':<34}{'packet hops':>12}{'processor s':>12}{'hops/s':>10}"]
    for one in found:
        if isinstance(one, QueuedBytes):
            word = _word(one.bytes_per_packet < GOAL_PACKET_BYTES)
            said.append(
                f"{one.bytes_per_packet:.0f} bytes of memory for each of {one.packets:,} packets "
                f"in a queue: {word}"
            )
            continue
        goal_s = GOALS_S.get(one.job)
        met = one.hops_per_s >= GOAL_HOPS_PER_S if goal_s is None else one.cpu_s < goal_s
        said.append(
            f"{one.job:<34}{one.hops:>12,}{one.cpu_s:>12.2f}{one.hops_per_s / 1e6:>8.2f} M"
            f"  {_word(met)}"
        )
    said += [
        f"Goals: {GOAL_HOPS_PER_S / 1e6:.0f} M packet hops for each second of CPU time; the "
        f"exchange below {GOALS_S[EXCHANGE]:.0f} s",
        f"and the broadcast below {GOALS_S[BROADCAST]:.0f} s; less than {GOAL_PACKET_BYTES} bytes "
        "for each packet in a queue.",
    ]
    return said


def _word(met: bool) -> str:
    return "met" if met else "missed"
