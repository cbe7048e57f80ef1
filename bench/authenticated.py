"""What it costs to authenticate datagrams: UDP with tags and without, in turn."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from bench.comparisons import SMALL_BYTES
from bench.ours import answered, open_session
from bench.peers import Route
from bench.settings import BUFFERS
from bench.turns import Beside, beside, in_turn, line
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.launch.session import Session
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch

NAME = "authenticated"
TRIPS = 2000
DATAGRAMS = 20_000
FULL_BYTES = 1472
BATCH_TIMEOUT_S = 30


def _median_ns(batch: Batch) -> float:
    return float(np.median(answered(batch)))


def _received_bit_per_s(batch: Batch) -> float:
    return stream_rates_bit_per_s(batch)[1]


@dataclass(frozen=True)
class Measured:
    """What is asked of both ways, what is taken of it, and between what the ratio of authenticated
    over plain is to be."""

    title: str
    unit: str
    run: Mapping[str, object]
    value: Callable[[Batch], float]
    low: float | None  # None: without a goal
    high: float
    options: Mapping[str, object] = field(default_factory=dict)


def _stream(message_bytes: int) -> dict[str, object]:
    return {"test": "stream", "message_bytes": message_bytes, "count": DATAGRAMS}


MEASURED = (
    Measured(
        "UDP 64 B median",
        "ns",
        {"test": "latency", "message_bytes": SMALL_BYTES, "count": TRIPS},
        _median_ns,
        0.0,
        1.1,
    ),
    Measured("UDP 64 B", "bit_per_s", _stream(SMALL_BYTES), _received_bit_per_s, 0.8, 9.0),
    Measured("UDP 1472 B", "bit_per_s", _stream(FULL_BYTES), _received_bit_per_s, 0.8, 9.0),
    Measured(
        "UDP 64 B x 32",
        "bit_per_s",
        _stream(SMALL_BYTES),
        _received_bit_per_s,
        None,
        9.0,
        {"datagrams_per_call": 32, "segment_offload": True},
    ),
)


def authenticated(route: Route, seconds: float, draw: random.Random) -> list[Beside]:
    """Batches with and without in turn, over connections that are open all the time.

    Raises HostError.
    """
    return [_one(route, asked, seconds / len(MEASURED), draw) for asked in MEASURED]


def _one(route: Route, asked: Measured, seconds: float, draw: random.Random) -> Beside:
    with contextlib.ExitStack() as stack:
        ways = {}
        for tagged in (True, False):
            options = {**BUFFERS, **asked.options, **({"authenticated": True} if tagged else {})}
            session = stack.enter_context(open_session(route, "udp", options))
            ways[tagged] = partial(_value, session, asked)
        rounds = in_turn(ways, seconds, draw)
    with_tags, without = ([one[tagged] for one in rounds] for tagged in (True, False))
    return beside(asked.title, asked.unit, with_tags, without)


def _value(session: Session, asked: Measured) -> float:
    return asked.value(decode_batch(0, session.run(asked.run, BATCH_TIMEOUT_S)))


def lines(found: Sequence[Beside]) -> list[str]:
    """For the terminal: both ways, and their ratio beside its goal."""
    said = ["UDP authenticated, plain, and their ratio"]
    for one, asked in zip(found, MEASURED, strict=True):
        met = None if asked.low is None else one.lies(asked.low, asked.high)
        text = line(one, met)
        said.append(text.removesuffix("not decided") if asked.low is None else text)
    pairs = min((one.ratio.n for one in found), default=0)
    said.append(
        f"Goals: round trips below 1.1, rates above 0.8, by {pairs} or more pairs of batches"
    )
    said.append("of 2000 round trips or 20000 datagrams; none of 32 datagrams in a call.")
    return said
