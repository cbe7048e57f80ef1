"""What a reading of the timer takes, and times without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from netsonde.records.data import Batch, EndData, Point, Series

READINGS = "timer_readings_ns"
"""A series of times, each of so many readings in a row:"""
READINGS_OF_PART = 100
TIMED = ("duration_ns", "round_trip_ns", "compute_ns", "together_ns")
"""Series whose values lie between two readings of the timer, and so hold one."""
TAKEN_OFF = "off"


def costs_ns(ends: Iterable[EndData]) -> npt.NDArray[np.float64]:
    """Of a reading, by part, of all ends together; empty where nobody measured it."""
    parts = [end.series[READINGS] for end in ends if READINGS in end.series]
    return np.concatenate(parts) / READINGS_OF_PART if parts else np.empty(0)


def without_overhead(batch: Batch) -> Batch:
    """Each end's times less the median of what a reading took there; none below 0. A batch whose
    ends did not measure that stays as it is."""
    return replace(batch, ends={rank: _without(end) for rank, end in batch.ends.items()})


def _without(end: EndData) -> EndData:
    costs = costs_ns([end])
    if not len(costs):
        return end
    cost = float(np.median(costs))
    taken = {name: _less(end.series[name], cost) for name in TIMED if name in end.series}
    return replace(end, series=end.series | taken)


def _less(times: Series, cost_ns: float) -> Series:
    return np.asarray(np.maximum(0, np.rint(times - cost_ns)), np.int64)


def is_taken_off(point: Point) -> bool:
    """Whether a point's times are without what a reading of the timer takes."""
    return point.spec.timer_overhead == TAKEN_OFF
