"""What libfabric's provider tcp adds to TCP with the same waiting, and how much of it is system
calls: netsonde over either, in turn, beside a plain socket that makes the provider's calls."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.commands import compiled
from bench.comparisons import LAB, SMALL_BYTES
from bench.ours import answered, open_session
from bench.peers import Route, Tool, free_port, run_tool
from bench.routes import open_route
from bench.settings import BUFFERS
from bench.turns import Beside, beside, in_turn, line
from netsonde.errors import HostError
from netsonde.launch.session import Session
from netsonde.records.decode import decode_batch

NAME = "fabric-wait"
GOAL = 1.10
COUNT = 500
TIMEOUT_S = 60
SOURCE = Path(__file__).with_name("fabric_control.c")
TCP, READY, MSG, RDM = "tcp", "ready", "msg", "rdm"


@dataclass(frozen=True)
class Asked:
    """How the ends wait, whether they each need a CPU, and what is beside what (first, second)."""

    title: str
    wait: str
    ways: Sequence[str]
    pairs: Sequence[tuple[str, str]]


ASLEEP = Asked("sleep", "block", (TCP, READY, MSG, RDM), ((MSG, READY), (MSG, TCP), (RDM, TCP)))
SPINNING = Asked("spin", "spin", (TCP, MSG, RDM), ((MSG, TCP), (RDM, TCP)))


def fabric_wait(route: Route, seconds: float, draw: random.Random) -> list[Beside]:
    """Over ``route`` asleep and spinning, and over a lab's link asleep, where two ends that spin
    would take the switch's CPU. Raises HostError."""
    found = []
    with control() as program:
        for asked in (ASLEEP, SPINNING):
            found += measured(route, "lo", asked, seconds / 4, draw)
        found += controlled(route, "lo", program)
        with open_route(LAB) as (lab, _):
            found += measured(lab, "lab", ASLEEP, seconds / 2, draw)
            found += controlled(lab, "lab", program)[:1]
    return found


def lines(found: Sequence[Beside]) -> list[str]:
    """For the terminal: each way beside the other, in turn."""
    said = ["round trips over provider tcp (msg, rdm) and over TCP (ready: by poll())"]
    said += [line(one, one.lies(0.0, GOAL)) for one in found]
    said.append("calls: a plain socket with the provider's system calls, beside one without")
    said.append(f"Goal: below {GOAL:.2f}; what misses it is explained in methods/fabric.md.")
    return said


def measured(
    route: Route, where: str, asked: Asked, seconds: float, draw: random.Random
) -> list[Beside]:
    """Batches of each way in turn, over connections that are open all the time; what was asked for
    beside each other. Raises HostError."""
    with contextlib.ExitStack() as stack:
        ways = {
            way: partial(_median_ns, stack.enter_context(_opened(route, way, asked.wait)))
            for way in asked.ways
        }
        rounds = in_turn(ways, seconds, draw)
    return [
        beside(
            f"{where} {first}/{second}, {asked.title}",
            "ns",
            [one[first] for one in rounds],
            [one[second] for one in rounds],
        )
        for first, second in asked.pairs
    ]


def _opened(route: Route, way: str, wait: str) -> Session:
    if way in (MSG, RDM):
        return open_session(route, "fabric", {"provider": "tcp", "endpoint": way, "wait": wait})
    waits = "ready" if way == READY else wait
    return open_session(route, "tcp", {**BUFFERS, "no_delay": True, "wait": waits})


def _median_ns(session: Session) -> float:
    fields = {"test": "latency", "message_bytes": SMALL_BYTES, "count": COUNT}
    return float(np.median(answered(decode_batch(0, session.run(fields, TIMEOUT_S)))))


@contextlib.contextmanager
def control() -> Iterator[Path]:
    """The compiled control, as long as the block runs. Raises HostError."""
    with tempfile.TemporaryDirectory() as folder:
        yield compiled(SOURCE, Path(folder))


def controlled(route: Route, where: str, program: Path, rounds: int = 9) -> list[Beside]:
    """The provider's calls beside none of them: asleep, spinning."""
    port = free_port(datagrams=False)
    extent = [str(port), str(rounds), str(COUNT)]
    tool = Tool(
        server=[str(program), "target", *extent],
        client=[str(program), "origin", route.target.address("ipv4"), *extent],
        port=port,
    )
    return control_in(run_tool(route, tool, TIMEOUT_S).output, where)


def control_in(text: str, where: str) -> list[Beside]:
    """What the control wrote. Raises HostError."""
    medians: Mapping[int, list[float]] = {way: [] for way in range(4)}
    for row in text.splitlines():
        words = row.split()
        if len(words) != len(medians) or not all(word.isdigit() for word in words):
            raise HostError(f"the control wrote no line of four medians: {row[:80]!r}")
        for way, word in enumerate(words):
            medians[way].append(float(word))
    if not medians[0]:
        raise HostError("the control wrote nothing")
    return [
        beside(f"{where} calls, sleep", "ns", medians[1], medians[0]),
        beside(f"{where} calls, spin", "ns", medians[3], medians[2]),
    ]
