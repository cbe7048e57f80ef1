"""Points of MPI operations made by hand: when each rank entered and how long it stayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netsonde.records.data import Batch, EndData, Point

US = 1_000


def rank_batch(
    begin_us: Sequence[Sequence[float]],
    duration_us: Sequence[Sequence[float]],
    late_us: Sequence[Sequence[float]] | None = None,
    index: int = 0,
) -> Batch:
    """One row for each rank, one column for each repetition; all ranks read one clock."""
    ends = {}
    for rank, (begin, duration) in enumerate(zip(begin_us, duration_us, strict=True)):
        series = {"begin_ns": _ns(begin), "duration_ns": _ns(duration)}
        if late_us is not None:
            series["late_ns"] = _ns(late_us[rank])
        counters = {"start_ns": 0, "end_ns": 10**10, "clock_group": 0, "clock_name": 1}
        ends[rank] = EndData(rank, f"h{rank}", series, counters)
    return Batch(index, ends)


def _ns(values_us: Sequence[float]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([round(value * US) for value in values_us], np.int64)


def rank_point(operation: str, *batches: Batch, size: int = 64, **more: Any) -> Point:
    parameters = {"message_bytes": size, "operation": operation, "cap_ns": 10**9, **more}
    return Point("p001", "mpi", "collective", parameters, "finished", batches=list(batches))
