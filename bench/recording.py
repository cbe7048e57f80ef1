"""What it costs netsonde to keep a time for every message: the same streams with and without."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.comparisons import DATAGRAMS_PER_CALL, SMALL_BYTES
from bench.ours import open_session
from bench.peers import Route
from bench.settings import BUFFERS
from bench.turns import in_turn
from netsonde.launch.session import Session
from netsonde.records.data import EndData
from netsonde.records.decode import decode_batch
from netsonde.stats.quantiles import quantile_interval

NAME = "recording"
GOAL_NS = 30
COUNT = 20_000
BATCH_TIMEOUT_S = 30
STREAMS: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("TCP 64 B", "tcp", {"no_delay": True}),
    (
        "UDP 64 B by the dozen",
        "udp",
        {"datagrams_per_call": DATAGRAMS_PER_CALL, "segment_offload": True},
    ),
)
ENDS = ((0, "sender"), (1, "receiver"))


@dataclass(frozen=True)
class Recorded:
    """CPU time of one end for each message, ns: ``without`` recording, and what it adds.

    ``low`` and ``high`` bound the median of what is added at 95 %; None of too few pairs.
    """

    stream: str
    end: str
    pairs: int
    without_ns: float
    added_ns: float
    low_ns: float | None
    high_ns: float | None

    @property
    def met(self) -> bool | None:
        """Whether less than the goal is added; None where the interval holds the goal."""
        if self.low_ns is None or self.high_ns is None or self.low_ns < GOAL_NS <= self.high_ns:
            return None
        return self.high_ns < GOAL_NS


def recording(route: Route, seconds: float, draw: random.Random) -> list[Recorded]:
    """Batches with and without in turn, the order drawn for each pair. Raises HostError."""
    found = []
    for name, transport, own in STREAMS:
        with open_session(route, transport, {**BUFFERS, **own}) as session:
            ways = {recorded: partial(_batch, session, recorded) for recorded in (True, False)}
            pairs = in_turn(ways, seconds / len(STREAMS), draw)
        for rank, end in ENDS:
            with_ns, without_ns = ([pair[kept][rank] for pair in pairs] for kept in (True, False))
            found.append(summarised(name, end, with_ns, without_ns))
    return found


def summarised(
    stream: str, end: str, with_ns: Sequence[float], without_ns: Sequence[float]
) -> Recorded:
    """The median of the pairs' differences, with the interval of order statistics."""
    added = np.asarray(with_ns, np.float64) - np.asarray(without_ns, np.float64)
    interval = quantile_interval(added, 0.5)
    return Recorded(
        stream,
        end,
        len(added),
        float(np.median(without_ns)),
        float(np.median(added)),
        interval.low if interval else None,
        interval.high if interval else None,
    )


def lines(found: Sequence[Recorded]) -> list[str]:
    """For the terminal: a line for each stream and end, and what the goal is."""
    said = ["recording every message: CPU time of each, ns, and what recording adds"]
    for f in found:
        interval = "-" if f.low_ns is None else f"{f.low_ns:.1f} to {f.high_ns:.1f}"
        word = {None: "not decided", True: "met", False: "missed"}[f.met]
        line = f"{f.stream:<21} {f.end:<8}{f.without_ns:6.0f}{f.added_ns:+7.1f} ({interval})"
        said.append(f"{line:<68}{word}")
    pairs = min((f.pairs for f in found), default=0)
    said.append(f"Goal: less than {GOAL_NS} ns, by {pairs} or more pairs of batches.")
    return said


def _batch(session: Session, recorded: bool) -> dict[int, float]:
    fields = {
        "test": "stream",
        "message_bytes": SMALL_BYTES,
        "call_bytes": SMALL_BYTES,
        "count": COUNT,
        "record_messages": recorded,
    }
    batch = decode_batch(0, session.run(fields, BATCH_TIMEOUT_S))
    return {
        rank: _processor_ns(batch.ends[rank]) / batch.ends[rank].counters[f"messages_{what}"]
        for (rank, _), what in zip(ENDS, ("sent", "received"), strict=True)
    }


def _processor_ns(end: EndData) -> float:
    return sum(float(end.difference(f"process.{kind}_ns") or 0) for kind in ("user", "system"))
