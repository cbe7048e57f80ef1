"""Pairs across a bisection, more and more of them; and bursts that grow until somebody has no room.

Method: docs/methods/model-measure.md.
"""

from __future__ import annotations

from netsonde.launch.session import Session
from netsonde.patterns import burst_shapes
from netsonde.records.data import Batch
from netsonde.study.plan import BATCH_NS, PlannedPoint
from netsonde.study.series import (
    MEASURERS,
    PATIENCE_NS,
    Ending,
    KeepBatch,
    Series,
    over_slowest_ns,
)

FIRST_TRIPS = 16
LEAST_TRIPS = 200
MOST_TRIPS = 5000
PILOT_MESSAGES = 400
"""Of one source: what a message takes when the way out is full."""
FIRST_BURST = 32
"""Messages of the smallest burst, of each source."""
SATURATED = (1.5, 2.0, 3.0, 4.0)
"""Bursts so many times as large as the smallest one that lost messages tell how much had room."""
MOST_OF_A_SOURCE = 6000
"""The queue of a lab's device holds ten thousand frames; a larger burst would be lost before the
switch."""
HELD_TIMES = 1.3
HELD_LEAST_NS = 60_000_000
"""A closed gate opens so much later than the slowest source needs to hand its burst over."""


@MEASURERS.of("bisection")
def measure_bisection(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Round trips of 1, 2, 4 ... pairs at once, and of all; of each number one batch."""
    series, asked = Series(session, point, keep), point.spec
    numbers = doubled(session.ranks // 2)
    share_ns = max(asked.cap_ns / len(numbers), BATCH_NS)
    first = _trips(series, point, FIRST_TRIPS, 1)
    for pairs in numbers:
        trip_ns = max(1.0, _span_ns(first) / FIRST_TRIPS)
        count = asked.count or int(min(max(share_ns / trip_ns, LEAST_TRIPS), MOST_TRIPS))
        _trips(series, point, count, pairs)
    return Ending("count", series.batches)


def doubled(most: int) -> list[int]:
    """1, 2, 4 ... and the last."""
    return sorted({*(1 << n for n in range(most.bit_length()) if 1 << n <= most), most})


def _trips(series: Series, point: PlannedPoint, count: int, pairs: int) -> Batch:
    slowest_ns = min(over_slowest_ns(count, point.spec), 20 * BATCH_NS * pairs)
    return series.run(
        slowest_ns,
        patience_ns=PATIENCE_NS + 0.2e9 * FIRST_TRIPS,
        count=count,
        flows=list(range(pairs)),
        **series.settled,
    )


def _span_ns(batch: Batch) -> float:
    counters = batch.ends[0].counters
    return float(counters["end_ns"] - counters["start_ns"])


@MEASURERS.of("bursts")
def measure_bursts(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Bursts of growing size for each shape, and some of several times the size at which messages
    are lost first. A count that is asked for is each source's, of one burst of each shape."""
    series, asked = Series(session, point, keep), point.spec
    pilot = series.run(
        over_slowest_ns(PILOT_MESSAGES, asked), count=PILOT_MESSAGES, flows=[0], **series.settled
    )
    each_ns = float(pilot.ends[0].series["sent_ns"][-1]) / PILOT_MESSAGES

    def burst(flows: tuple[int, ...], count: int) -> bool:
        held_ns = int(HELD_TIMES * count * each_ns) + HELD_LEAST_NS
        expected_ns = held_ns + 2 * len(flows) * count * each_ns
        batch = series.run(expected_ns, count=count, flows=list(flows), held_ns=held_ns)
        return any(end.counters.get("lost", 0) for end in batch.ends.values())

    for _, _, flows in burst_shapes(len(_hosts(pilot, session))):
        if asked.count is not None:
            burst(flows, asked.count)
            continue
        count = FIRST_BURST
        while not burst(flows, count) and 2 * count <= MOST_OF_A_SOURCE:
            count *= 2
        sizes = {min(MOST_OF_A_SOURCE, round(times * count)) for times in SATURATED}
        for size in sorted(sizes - {count}):
            burst(flows, size)
    return Ending("count", series.batches)


def _hosts(pilot: Batch, session: Session) -> list[str]:
    """Those of the session, of which facts are told."""
    return sorted(session.hosts) or sorted({end.host for end in pilot.ends.values()})
