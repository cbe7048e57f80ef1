"""What it costs a test that the system's counters are read around it: with and without, in turn."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.comparisons import SMALL_BYTES, STREAM_BYTES
from bench.ours import answered, open_session
from bench.peers import Route
from bench.settings import BUFFERS
from bench.turns import Beside, beside, in_turn, line
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.launch.session import Session
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.study.plan import SETTLE_NS

NAME = "tracing"
GOAL = 0.01
BATCH_TIMEOUT_S = 30


@dataclass(frozen=True)
class Traced:
    """What is run, over which transport, and how the ends wait; the figure is the rate of a stream,
    else the median round trip."""

    title: str
    transport: str
    fields: Mapping[str, object]
    wait: str = "block"

    @property
    def streams(self) -> bool:
        return self.fields["test"] == "stream"


STREAM = {"test": "stream", "message_bytes": STREAM_BYTES, "settle_ns": SETTLE_NS}
ROUND_TRIPS = {
    "test": "latency",
    "message_bytes": SMALL_BYTES,
    "count": 2000,
    "settle_ns": SETTLE_NS,
}
# Batches as they are by default, and short ones of a stream, so that whatever the reading leaves
# behind (caches, clocks) weighs much.
TESTS = (
    Traced(
        "TCP stream 64k",
        "tcp",
        {**STREAM, "duration_ns": 250_000_000},
    ),
    Traced(
        "TCP stream 64k, 0.1 s",
        "tcp",
        {**STREAM, "duration_ns": 100_000_000},
    ),
    Traced("TCP 64 B median", "tcp", ROUND_TRIPS),
    Traced("UDP 64 B median", "udp", ROUND_TRIPS),
    # What it is where no CPU sleeps.
    Traced("TCP 64 B, spinning", "tcp", ROUND_TRIPS, wait="spin"),
    Traced("UDP 64 B, spinning", "udp", ROUND_TRIPS, wait="spin"),
)


def tracing(route: Route, seconds: float, draw: random.Random) -> list[Beside]:
    """Batches with the system's counters read around them and without, in turn.

    Raises HostError.
    """
    found = []
    for test in TESTS:
        options = {**BUFFERS, "no_delay": True} if test.transport == "tcp" else BUFFERS
        options = {**options, "wait": test.wait}
        with open_session(route, test.transport, options) as session:
            ways = {read: partial(_batch, session, test, read) for read in (True, False)}
            rounds = in_turn(ways, seconds / len(TESTS), draw)
        found.append(
            beside(
                test.title,
                "bit_per_s" if test.streams else "ns",
                [_figure(test, one[True]) for one in rounds],
                [_figure(test, one[False]) for one in rounds],
                float(np.median([_reading_ns(one[True]) for one in rounds])),
            )
        )
    return found


def lines(found: Sequence[Beside]) -> list[str]:
    """For the terminal: a line for each test, what reading took, and what the goal is."""
    said = ["reading the system's counters around a test: with, without, and their ratio"]
    said += [line(one, one.lies(1 - GOAL, 1 + GOAL)) for one in found]
    reading_ms = max((one.reading_ns or 0.0 for one in found), default=0.0) / 1e6
    pairs = min((one.ratio.n for one in found), default=0)
    said.append(
        f"Goal: a difference below {100 * GOAL:.0f} %, by {pairs} or more pairs of batches. Reading"
    )
    said.append(f"took an end {reading_ms:.1f} ms for each batch, outside its timed part.")
    return said


def _batch(session: Session, test: Traced, read: bool) -> Batch:
    fields = {**test.fields, "system_counters": read}
    return decode_batch(0, session.run(fields, BATCH_TIMEOUT_S))


def _figure(test: Traced, batch: Batch) -> float:
    if test.streams:
        return stream_rates_bit_per_s(batch)[1]
    return float(np.median(answered(batch)))


def _reading_ns(batch: Batch) -> float:
    """Both snapshots of the end that took longer."""
    return max(
        float(sum(one.cost_ns for one in (end.before, end.after) if one is not None))
        for end in batch.ends.values()
    )
