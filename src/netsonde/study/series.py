"""One point being measured: its batches, how it ended, and what measures each test."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.point import PointSpec
from netsonde.catalogue.test import TESTS, names_of
from netsonde.launch.session import Session
from netsonde.limits import limit_s
from netsonde.patterns import STREAM_PATTERNS
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.study.plan import SETTLE_NS, PlannedPoint

SLOWEST_BIT_PER_S = 10**6
"""What is slower counts as hung, where nothing is known of the path yet."""
SLOWEST_MOST_NS = 3_600_000_000_000
"""However much is sent: a worker takes no limit of more than a day."""
PATIENCE_NS = int(limit_s("run") * 1e9)
"""How much longer than expected a batch may last before it counts as hung."""
STREAM_BATCHES_LEAST = 6
STREAM_BATCH_MOST_NS = 5_000_000_000
RECORDED_MOST = 4_000_000
"""Datagrams of a batch whose times a worker keeps; a longer one is sent without."""
LEAST_PACED = 16

EndedBy = Literal["interval", "time", "count", "duration"]
KeepBatch = Callable[[int, list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Ending:
    """Why a point ended, and after how many batches. ``duration``: it lasts as long as it was asked
    to, as the clocks' comparison does, and the tool that it is measured like."""

    ended_by: EndedBy
    batches: list[Batch]


MEASURERS: Behind[Callable[[Any, PlannedPoint, KeepBatch], Ending]] = Behind(
    TESTS,
    {
        "netsonde.study.all_pairs_measure": names_of("is_round"),
        "netsonde.study.among_many": names_of("grows", "overflows"),
        "netsonde.study.bounds": names_of("is_bounds"),
        "netsonde.study.costs": names_of("is_of_costs"),
        "netsonde.study.every_pair": names_of("is_all_pairs"),
        "netsonde.study.paced": names_of("is_open_loop", "has_rounds", "has_victim"),
        "netsonde.study.program": names_of("is_program"),
        "netsonde.study.repetitions": names_of(
            "is_round_trip", "is_operation", "has_threads", "compares_clocks"
        ),
        "netsonde.study.streams": (
            *STREAM_PATTERNS,
            *names_of("is_stream", "is_whole", "is_unanswered"),
        ),
    },
)
"""By test, what measures a point over an open session that fits it; every batch's records are given
to the last argument first. They raise HostError where an end fails; what was kept stays kept."""


class Series:
    """Runs batches, keeps their records, and knows how long it has been at it."""

    def __init__(self, session: Session, point: PlannedPoint, keep: KeepBatch) -> None:
        self._session = session
        self._keep = keep
        self._end = time.monotonic() + point.spec.cap_ns / 1e9
        self._fields = {
            "test": point.kind.engine_of(point.carrier),
            "message_bytes": point.spec.message_bytes,
            **point.spec.asked_of_worker(),
            **({"timer_cost": True} if point.spec.timer_overhead is not None else {}),
        }
        self.settled = {"settle_ns": SETTLE_NS} if point.carrier.is_pair else {}
        self.batches: list[Batch] = []

    def run(self, expected_ns: float, *, patience_ns: float = PATIENCE_NS, **fields: Any) -> Batch:
        records = self._asked(expected_ns, patience_ns, fields)
        self._keep(len(self.batches), records)
        batch = decode_batch(len(self.batches), records)
        self.batches.append(batch)
        return batch

    def warm_up(
        self, expected_ns: float, *, patience_ns: float = PATIENCE_NS, **fields: Any
    ) -> None:
        """A batch that nobody keeps: it makes connections, and fills caches."""
        self._asked(expected_ns, patience_ns, fields)

    def _asked(
        self, expected_ns: float, patience_ns: float, fields: dict[str, Any]
    ) -> list[dict[str, Any]]:
        timeout_ns = int(expected_ns * 4 + patience_ns)
        request = {
            **self._fields,
            **fields,
            "seed": len(self.batches) + 1,
            "timeout_ns": timeout_ns,
        }
        return self._session.run(request, timeout_ns / 1e9 + 5)

    @property
    def left_ns(self) -> float:
        return (self._end - time.monotonic()) * 1e9


def over_slowest_ns(count: int, asked: PointSpec) -> float:
    """How long so many messages may take to the other end and back."""
    bits = 16 * count * asked.message_bytes
    return min(1e9 * bits / SLOWEST_BIT_PER_S, SLOWEST_MOST_NS)
