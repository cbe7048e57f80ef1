"""Streams: batches of a length, until the rates of enough of them agree, or the time is up."""

from __future__ import annotations

import numpy as np

from netsonde.catalogue.point import Generated, PointSpec, Streams
from netsonde.catalogue.test import names_of
from netsonde.figures.throughput import duplex_rates_bit_per_s, stream_rates_bit_per_s
from netsonde.launch.session import Session
from netsonde.patterns import STREAM_PATTERNS
from netsonde.stats.stopping import needs_more
from netsonde.study.plan import STREAM_BATCH_LEAST_NS, STREAM_BATCHES, PlannedPoint
from netsonde.study.repetitions import one_loop
from netsonde.study.series import (
    MEASURERS,
    RECORDED_MOST,
    STREAM_BATCH_MOST_NS,
    STREAM_BATCHES_LEAST,
    Ending,
    KeepBatch,
    Series,
    over_slowest_ns,
)

FASTEST_BIT_PER_S = 10**11
"""What a stream without a rate is expected to reach at most: whether its messages can be kept."""

GATHERS_MOST = 30
"""As often as the source of the method repeats one (Tam 2001, section 4.3.2.1)."""


@MEASURERS.of(*names_of("is_stream"), *STREAM_PATTERNS)
def measure_stream(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    asked, series = point.spec, Series(session, point, keep)
    if asked.warm_up is not None:
        return one_loop(series, point)
    if point.kind.is_one_way_stream and asked.like is not None and not point.carrier.has_ranks:
        return _whole_stream(series, asked.of(Streams))
    if asked.count is not None:
        expected_ns = asked.cap_ns + over_slowest_ns(asked.count, asked)
        series.run(expected_ns, count=asked.count)
        return Ending("count", series.batches)
    share_ns = max(asked.cap_ns / STREAM_BATCHES, STREAM_BATCH_LEAST_NS)
    duration_ns = int(min(share_ns, STREAM_BATCH_MOST_NS))
    rates: list[float] = []
    while True:
        batch = series.run(duration_ns, duration_ns=duration_ns, **series.settled)
        both_ways = point.kind.both_ways
        rates.append(
            duplex_rates_bit_per_s(batch)[0] if both_ways else stream_rates_bit_per_s(batch)[1]
        )
        if len(rates) >= STREAM_BATCHES_LEAST:
            if needs_more(np.array(rates), asked.interval).enough:
                return Ending("interval", series.batches)
            if series.left_ns < duration_ns:
                return Ending("time", series.batches)


@MEASURERS.of(*names_of("is_whole"))
def measure_gather(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """So many messages of each origin, all of which come; again while there is time for it."""
    asked, series = point.spec, Series(session, point, keep)
    count = asked.count or point.kind.usual_count
    expected_ns = asked.cap_ns + over_slowest_ns(count * session.ranks // 2, asked)
    while True:
        before_ns = series.left_ns
        series.run(expected_ns, count=count)
        lasted_ns = before_ns - series.left_ns
        if series.left_ns < lasted_ns or len(series.batches) == GATHERS_MOST:
            return Ending("time", series.batches)


def _whole_stream(series: Series, asked: Streams) -> Ending:
    """One batch of the whole length, as other tools measure a stream."""
    omit_ns = asked.omit_ns or 0
    duration_ns = asked.cap_ns + omit_ns
    rate = asked.rate_bit_per_s or FASTEST_BIT_PER_S
    kept = _can_be_kept(asked, rate, duration_ns) or omit_ns > 0
    fields = {} if kept else {"record_messages": False}
    series.run(duration_ns, duration_ns=duration_ns, **fields)
    return Ending("duration", series.batches)


@MEASURERS.of(*names_of("is_unanswered"))
def measure_generated(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """One batch of the whole length: traffic that is to be there, not figures to be narrowed."""
    asked, series = point.spec.of(Generated), Series(session, point, keep)
    if asked.count is not None:
        series.run(asked.cap_ns, count=asked.count)
        return Ending("count", series.batches)
    kept = _can_be_kept(asked, asked.rate_bit_per_s or FASTEST_BIT_PER_S, asked.cap_ns)
    fields = {} if kept else {"record_messages": False}
    series.run(asked.cap_ns, duration_ns=asked.cap_ns, **fields)
    return Ending("time", series.batches)


def _can_be_kept(asked: PointSpec, rate_bit_per_s: float, duration_ns: int) -> bool:
    """Whether a worker keeps the times of so many messages."""
    return rate_bit_per_s * duration_ns / 1e9 / (8 * asked.message_bytes) <= RECORDED_MOST
