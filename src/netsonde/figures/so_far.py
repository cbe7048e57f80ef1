"""What is known of a point while it is measured: its main figure until now, what was sent and lost.

A line on the terminal says it, never a result: the warm-up counts here, and the figures of the run
are made of its journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.test import TESTS, names_of
from netsonde.figures.data import Figure
from netsonde.figures.flow_figures import retransmitted
from netsonde.figures.maker import Maker
from netsonde.figures.threads import joint_times_ns
from netsonde.figures.throughput import duplex_rates_bit_per_s, stream_rates_bit_per_s
from netsonde.patterns import STREAM_PATTERNS
from netsonde.ranks.repetitions import repetition_times_ns
from netsonde.records.data import Batch, Point
from netsonde.records.decode import decode_batch
from netsonde.stats.quantiles import quantile

Values = npt.NDArray[np.generic]

VALUES: Behind[Callable[[Batch], Values]] = Behind(TESTS)
"""By test, what a batch says of the test's main figure, shape (n,), ns or bit/s; of a test that is
not here, batches are counted."""

VALUES.of(*names_of("is_round_trip"), *names_of("is_operation"))(repetition_times_ns)
VALUES.of(*names_of("has_threads"))(joint_times_ns)


@VALUES.of(*names_of("is_one_way_stream"), *STREAM_PATTERNS)
def _received(batch: Batch) -> Values:
    return np.array([stream_rates_bit_per_s(batch)[1]])


@VALUES.of(*names_of("both_ways"))
def _both_ways(batch: Batch) -> Values:
    return np.array([sum(duplex_rates_bit_per_s(batch))])


@dataclass(frozen=True)
class Known:
    """``middle`` and ``p99`` are of times or rates, None before there are any. ``lasted_ns`` is
    what was measured, pauses between batches left out. ``again`` are retransmitted segments and
    ``lost`` messages without an answer or an arrival, None where nobody counts them."""

    samples: int
    middle: Figure | None
    p99: float | None
    lasted_ns: float
    sent_bytes: int
    sent: int
    again: int | None
    lost: int | None


class SoFar:
    """Takes in a point's batches one after the other."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._values_of = VALUES.get(point.test)
        self._values: list[Values] = []
        kind = point.kind
        self._are_times = not (kind.is_stream or kind.is_pattern)
        times = (name for name, _ in kind.tells if name.endswith("_median_ns"))
        self._name = next(times, kind.main) if self._are_times else kind.main
        self._batches = self._lasted_ns = self._bytes = self._sent = self._lost = 0
        self._again: int | None = None

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """The records of one batch, of all ranks. Of streams only counters are looked at: a
        datagram's times may be millions, and whoever waits here keeps the next batch waiting."""
        kind = self._point.kind
        wanted = [r for r in records if r["record"] != "series" or self._are_times]
        batch = decode_batch(self._batches, wanted)
        self._batches += 1
        origins = [end for end in batch.ends.values() if end.rank % 2 == 0]
        if self._values_of is not None and batch.ends:
            self._values.append(self._values_of(batch))
        spans = [
            end.counters["end_ns"] - end.counters["start_ns"]
            for end in batch.ends.values()
            if "end_ns" in end.counters
        ]
        self._lasted_ns += max(spans, default=0)
        for end in batch.ends.values() if kind.both_ways else origins:
            self._bytes += end.counters.get("bytes_sent", 0)
            self._sent += end.counters.get("messages_sent", 0)
        for end in batch.ends.values():
            self._lost += end.counters.get("lost", 0) + end.counters.get("unanswered", 0)
        if self._point.carrier.has_connection and (again := retransmitted([batch])) is not None:
            self._again = (self._again or 0) + again

    def known(self) -> Known:
        """Takes a tenth of a second for a million samples."""
        values = np.concatenate(self._values) if self._values else np.empty(0, np.int64)
        self._values = [values]
        middle, p99 = None, None
        if len(values):
            middle = Maker(self._point).quantile(self._name, values, 0.5, method="statistics")
            p99 = quantile(values, 0.99) if self._are_times else None
        return Known(
            len(values) or self._batches,
            middle,
            p99,
            float(self._lasted_ns),
            self._bytes,
            self._sent,
            self._again,
            self._lost if self._point.has_datagrams else None,
        )
