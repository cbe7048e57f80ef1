"""Messages at fixed times, and rounds: what is paced by the plan instead of by the answers."""

from __future__ import annotations

import numpy as np

from netsonde.catalogue.point import OpenLoop
from netsonde.catalogue.test import names_of
from netsonde.errors import HostError
from netsonde.figures.load import PILOTS, answered_per_s, capacity_per_s
from netsonde.figures.patterns import round_lead_needed_ns, round_times_ns, rounds_span_ns
from netsonde.launch.session import Session
from netsonde.study.enough import further_needed, least_ns
from netsonde.study.plan import BATCH_NS, STREAM_BATCHES, PlannedPoint
from netsonde.study.series import (
    LEAST_PACED,
    MEASURERS,
    RECORDED_MOST,
    STREAM_BATCH_MOST_NS,
    STREAM_BATCHES_LEAST,
    Ending,
    KeepBatch,
    Series,
    over_slowest_ns,
)

FIRST_PILOT_COUNT = 1000
PILOT_COUNT = 20_000
"""Messages that are sent as fast as they go, to find what the path answers at most."""
PILOT_NS = 1_000_000_000
"""Pilots after the first one take no longer than that, about, nor have more messages."""
SATURATING_BIT_PER_S = 10**12
LEAST_LOAD = 0.01
"""What stands for no load: at most one message in a hundred finds another before it."""
ROUNDS_LEAST = 100
ROUNDS_MOST = 1000
FIRST_ROUNDS_NS = 100_000_000
"""Length of the first batch of rounds, which finds how long before its start one must be said."""
ROUNDS_NS = 1_000_000_000
"""Length of the others: long against the clocks' readings and the snapshots around each."""
ROUNDS_LEAST_NS = 1_000_000
FIRST_ROUND_LEAD_NS = 5_000_000
ROUND_LEAD_LEAST_NS = 500_000
ROUND_LEAD_MOST_NS = 200_000_000
VICTIM_PER_S = 1000
"""Messages of the victim: far below what a path answers, so that it does not disturb itself."""
VICTIM_BATCH_NS = 500_000_000
VICTIM_LEAST_BYTES = 8
VICTIM_MARGIN_NS = 50_000_000
"""For so long the others go on after the victim's last message was due."""
VICTIM_BATCHES = 12
"""Alone and beside the others in turn: six of each have an interval of their median."""


@MEASURERS.of(*names_of("is_open_loop"))
def measure_open_loop(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """The first batches find what the path answers at most; the others offer a share of it."""
    asked, series = point.spec.of(OpenLoop), Series(session, point, keep)
    count = FIRST_PILOT_COUNT
    for _ in range(PILOTS):
        slowest_ns = over_slowest_ns(count, asked)
        pilot = series.run(slowest_ns, count=count, rate_bit_per_s=SATURATING_BIT_PER_S)
        fits = round(answered_per_s(pilot) * PILOT_NS / 1e9)
        count = min(max(fits, FIRST_PILOT_COUNT), PILOT_COUNT)
    capacity = capacity_per_s(series.batches)
    if not capacity:
        raise HostError(f"none of {count} messages was answered; is a firewall in between?")
    load = max(asked.load_ratio, LEAST_LOAD)
    rate_per_s = load * capacity
    rate = max(1000, round(rate_per_s * 8 * asked.message_bytes))
    batch_ns = min(max(asked.cap_ns / STREAM_BATCHES, BATCH_NS), STREAM_BATCH_MOST_NS)
    count = min(max(round(rate_per_s * batch_ns / 1e9), LEAST_PACED), RECORDED_MOST)
    while True:
        series.run(4 * batch_ns, count=count, rate_bit_per_s=rate)
        batches = series.batches[PILOTS:]
        samples = np.concatenate([b.ends[0].series["response_ns"] for b in batches])
        if len(batches) >= STREAM_BATCHES_LEAST:
            if further_needed(samples, asked).enough:
                return Ending("interval", series.batches)
            if series.left_ns < batch_ns:
                return Ending("time", series.batches)


@MEASURERS.of(*names_of("has_rounds"))
def measure_rounds(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Rounds of incast until their median is known, and for as long as slow ones may be seen."""
    asked, series = point.spec, Series(session, point, keep)
    count = asked.count or point.carrier.round_count
    times = np.empty(0)
    lead_ns = FIRST_ROUND_LEAD_NS
    wanted_ns = FIRST_ROUNDS_NS
    around_ns = lasted_ns = 0.0  # what a batch takes beside its rounds, and all rounds together
    while True:
        left_ns = series.left_ns
        batch = series.run(
            ROUNDS_NS + PILOT_NS,
            count=count,
            rounds=ROUNDS_MOST - len(times),
            rounds_ns=max(int(min(wanted_ns, left_ns - around_ns)), ROUNDS_LEAST_NS),
            round_lead_ns=lead_ns,
        )
        lasted_ns += rounds_span_ns(batch)
        around_ns = left_ns - series.left_ns - rounds_span_ns(batch)
        times = np.concatenate([times, round_times_ns([batch])])
        known = len(times) >= ROUNDS_LEAST and further_needed(times, asked).enough
        if known and lasted_ns >= least_ns(asked):
            return Ending("interval", series.batches)
        over = series.left_ns - around_ns <= float(np.median(times))
        if (over and len(times) >= STREAM_BATCHES_LEAST) or len(times) >= ROUNDS_MOST:
            return Ending("time", series.batches)
        needed_ns = round_lead_needed_ns(batch, lead_ns)
        lead_ns = int(min(max(1.5 * needed_ns, ROUND_LEAD_LEAST_NS), ROUND_LEAD_MOST_NS))
        wanted_ns = ROUNDS_NS


@MEASURERS.of(*names_of("has_victim"))
def measure_victim(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """The victim's messages at fixed times, in turn alone and beside the streams of the others."""
    asked, series = point.spec, Series(session, point, keep)
    size = max(asked.message_bytes, VICTIM_LEAST_BYTES)
    batch_ns = min(max(asked.cap_ns // VICTIM_BATCHES, BATCH_NS), VICTIM_BATCH_NS)
    alone = {
        "message_bytes": size,
        "count": max(LEAST_PACED, VICTIM_PER_S * batch_ns // 10**9),
        "rate_bit_per_s": VICTIM_PER_S * 8 * size,
    }
    streams: dict[str, object] = {
        "test": "stream",
        "message_bytes": point.carrier.aggressor_bytes,
        "duration_ns": batch_ns + VICTIM_MARGIN_NS,
    }
    if asked.rate_bit_per_s is not None:
        streams["rate_bit_per_s"] = asked.rate_bit_per_s
    for number in range(VICTIM_BATCHES):
        series.run(2 * batch_ns, **alone, background=streams if number % 2 else None)
    return Ending("time", series.batches)
