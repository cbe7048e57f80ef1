"""What a message costs its hosts: series of sends with pauses, and messages whose sender watches
its own time.

Method: docs/methods/model-measure.md.
"""

from __future__ import annotations

import numpy as np

from netsonde.errors import HostError
from netsonde.figures.costs import left_ns
from netsonde.launch.session import Session
from netsonde.model.sends import is_level
from netsonde.ranks.repetitions import repetition_times_ns
from netsonde.study.plan import PlannedPoint
from netsonde.study.series import (
    MEASURERS,
    PATIENCE_NS,
    Ending,
    KeepBatch,
    Series,
    over_slowest_ns,
)

STEP = 8
"""Sends of the shortest series, and how many more each next one has while they are short."""
SHORT = 64
"""From this length on each series has twice as many sends as the one before."""
LONGEST = 1 << 15
REPEATS = 3
"""Series of each length, of which the median counts."""
BRIEF_NS = 20_000_000
"""A series that takes longer is made once: what delays it is little beside it."""
LASTING_NS = 500_000_000
"""So long lasts a series at least that tells the equilibrium: what delays one by a few milliseconds
is little beside it."""
PILOTS = 64
LEAST_EXCHANGES = 200
USUAL_EXCHANGES = 1000
ROUND_TRIPS = 2
"""After so many round trips the answer is there."""
LEAST_WAIT_NS = 50_000
MOST_WAIT_NS = 1_000_000_000


def lengths() -> list[int]:
    """Of the series: 8, 16, ... 64, then twice as many each time."""
    short = list(range(STEP, SHORT, STEP))
    return short + [SHORT << n for n in range((LONGEST // SHORT).bit_length())]


@MEASURERS.of("send-series")
def measure_sends(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Series of n sends for growing n, until a send costs what the way out takes. Between two all
    that was sent has left: the other end has said what came of it."""
    series = Series(session, point, keep)
    counts, totals = list[int](), list[int]()
    wanted = [point.spec.count] * REPEATS if point.spec.count is not None else lengths()
    for number, count in enumerate(wanted):
        for _ in range(REPEATS if point.spec.count is None else 1):
            settled = series.settled if not series.batches else {}
            batch = series.run(over_slowest_ns(count, point.spec), count=count, **settled)
            counts.append(count)
            totals.append(int(batch.ends[0].series["sent_ns"][-1]))
            if totals[-1] >= BRIEF_NS:
                break
        if totals[-1] >= LASTING_NS and is_level(counts, totals, left_ns(series.batches)):
            return Ending("interval", series.batches)
        if series.left_ns <= 0 and number >= STEP:
            return Ending("time", series.batches)
    return Ending("count", series.batches)


@MEASURERS.of("overheads")
def measure_overheads(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """A first batch finds the round trip, which says how long an answer is waited for."""
    series, asked = Series(session, point, keep), point.spec
    trips_ns = over_slowest_ns(PILOTS, asked)
    pilot = series.run(trips_ns, test="latency", count=PILOTS, **series.settled)
    times = repetition_times_ns(pilot)
    if not len(times):
        raise HostError(f"none of {PILOTS} messages was answered; is a firewall in between?")
    trip_ns = float(np.median(times))
    wait_ns = int(min(max(ROUND_TRIPS * trip_ns, LEAST_WAIT_NS), MOST_WAIT_NS))
    each_ns = wait_ns + trip_ns
    count = asked.count or int(min(max(asked.cap_ns / each_ns, LEAST_EXCHANGES), USUAL_EXCHANGES))
    patience_ns = PATIENCE_NS + count * each_ns
    series.run(count * each_ns, patience_ns=patience_ns, count=count, wait_ns=wait_ns)
    return Ending("count", series.batches)
