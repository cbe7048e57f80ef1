"""Threads that were never at it at once: measured on, and said where that does not help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netsonde.catalogue.point import Threads
from netsonde.errors import HostError
from netsonde.records.data import Batch, EndData
from netsonde.study import repetitions
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.series import Ending
from netsonde.study.spec import StudySpec

TRIP_NS = 1000


def batch_of(count: int, second_begins_ns: int) -> Batch:
    """Two threads of so many round trips each, of which one begins later."""
    end = EndData(0, "h")
    begins = np.array([0, second_begins_ns], np.int64)
    end.series = {
        "round_trip_ns": np.full(2 * count, TRIP_NS, np.int64),
        "thread": np.repeat([0, 1], count),
        "thread_begin_ns": begins,
        "thread_end_ns": begins + count * TRIP_NS,
    }
    end.counters = {"start_ns": 0, "end_ns": int(end.series["thread_end_ns"].max())}
    return Batch(0, {0: end, 1: EndData(1, "h")})


class Fake:
    """A series in which the second thread begins late, and whose time is up."""

    late_ns = 0
    counts: list[int]
    left_ns = 0.0

    def __init__(self, *_: object) -> None:
        self.batches: list[Batch] = []
        Fake.counts = []

    def run(self, _expected_ns: float, *, count: int) -> Batch:
        Fake.counts.append(count)
        self.batches.append(batch_of(count, self.late_ns))
        self.left_ns -= self.batches[-1].ends[0].counters["end_ns"]
        return self.batches[-1]


@pytest.fixture
def point(monkeypatch: pytest.MonkeyPatch) -> PlannedPoint:
    monkeypatch.setattr(repetitions, "Series", Fake)
    block: dict[str, Any] = {"transports": "mpi", "test": "threads", "sizes": 8, "threads": [2]}
    study = StudySpec.model_validate({"seed": 1, "path": {"kind": "loopback"}, "measure": [block]})
    return next(p for p in plan_points(study) if p.spec.of(Threads).threads == 2)


def measured(point: PlannedPoint) -> Ending:
    session: Any = None
    return repetitions.measure_threads(session, point, lambda *_: None)


def test_batches_grow_until_threads_meet(
    point: PlannedPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "late_ns", 200 * TRIP_NS)
    assert measured(point).ended_by == "time"
    assert Fake.counts == [16, 64, 256]


@pytest.mark.parametrize("late_ns", [3 * 10**8, 10**12])
def test_threads_that_never_meet_are_one_sentence_soon(
    point: PlannedPoint, monkeypatch: pytest.MonkeyPatch, late_ns: int
) -> None:
    monkeypatch.setattr(Fake, "late_ns", late_ns)
    with pytest.raises(HostError, match="all 2 threads at it at once"):
        measured(point)
    assert (len(Fake.counts) - 1) * late_ns <= repetitions.TOGETHER_NS
