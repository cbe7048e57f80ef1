"""Measures what limits a transport that is told of memory."""

from __future__ import annotations

import numpy as np

from netsonde.catalogue.test import names_of
from netsonde.launch.session import Session
from netsonde.study.plan import BATCH_NS, PlannedPoint
from netsonde.study.repetitions import FIRST_COUNT
from netsonde.study.series import MEASURERS, Ending, KeepBatch, Series

BATCHES = 6
"""The fewest with an interval of the median; memory is the host's, and hardly varies."""
MOST = 20_000
ATTEMPT_NS = 2_000_000_000
"""How long the worker waits for what becomes of an attempt."""


@MEASURERS.of(*names_of("is_bounds"))
def measure_bounds(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """An attempt at memory is made once, for it may end the connection; registrations are repeated
    until the time is up."""
    asked, series = point.spec, Series(session, point, keep)
    if point.kind.tries_memory:
        series.run(ATTEMPT_NS, count=1)
        return Ending("count", series.batches)
    if asked.count is not None:
        series.run(asked.cap_ns, count=asked.count)
        return Ending("count", series.batches)
    count, period_ns = FIRST_COUNT, 0.0
    while series.left_ns > 0 and len(series.batches) <= BATCHES:
        batch = series.run(count * period_ns, count=count)
        each = batch.ends[0].series
        period_ns = float(np.mean(each["register_ns"]) + np.mean(each["release_ns"]))
        count = max(FIRST_COUNT, min(MOST, int(BATCH_NS / BATCHES / max(1.0, period_ns))))
    return Ending("count" if len(series.batches) > BATCHES else "time", series.batches)
