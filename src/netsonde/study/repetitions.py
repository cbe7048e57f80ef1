"""Repetitions: batches until the interval of the median is narrow enough, or the time is up.

The stopping rule follows Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems
(SC15), rule 5: repeat until the interval of the reported statistic is within the asked share of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from netsonde.catalogue.point import Collective, Threads
from netsonde.catalogue.test import names_of
from netsonde.errors import HostError
from netsonde.figures.threads import joint_times_ns, thread_period_ns
from netsonde.launch.session import Session
from netsonde.limits import limit_s
from netsonde.ranks.repetitions import has_windows, lateness_ns, repetition_times_ns
from netsonde.records.data import Batch
from netsonde.stats.warmup import find_steady_part
from netsonde.study.enough import further_needed, least_ns
from netsonde.study.plan import BATCH_NS, PlannedPoint
from netsonde.study.series import (
    MEASURERS,
    PATIENCE_NS,
    Ending,
    KeepBatch,
    Series,
    over_slowest_ns,
)
from netsonde.units import format_time

FIRST_COUNT = 16
"""Messages of the first batch, from which the length of the next is estimated."""
FIRST_BYTES = 1 << 20
"""Fewer of them where they are large: over a slow path so many would outlast the point."""
BATCH_COUNT_LIMIT = 200_000
LOOP_PATIENCE_NS = int(limit_s("run-of-others-length") * 1e9)
"""How long a loop of another tool's length is expected to last at most."""
UDP_PATIENCE_NS = 200_000_000
"""How long the worker waits for the answer to a datagram or an echo."""
UDP_PATIENCE_MOST_NS = int(limit_s("run-of-datagrams") * 1e9)
"""What unanswered datagrams may add to a batch before it counts as hung."""
TOGETHER_NS = 1_000_000_000
"""Threads that were never at it at once are given so much longer than was asked for, in batches of
so long at most."""
CLOCK_COMPARISONS = 21
CLOCK_LEAST_NS = 1_000_000


@MEASURERS.of(*names_of("is_round_trip"), *names_of("is_operation"))
def measure_repetitions(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Round trips, or an operation of MPI, one after the other."""
    asked, series = point.spec, Series(session, point, keep)
    if asked.warm_up is not None:
        return one_loop(series, point)
    wanted = asked.count
    may_be_late = isinstance(asked, Collective) and asked.start is not None
    first = max(1, min(FIRST_COUNT, FIRST_BYTES // max(1, asked.message_bytes)))
    count = min(first, wanted or first)
    times: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    messages = 0
    period_ns = lasted_ns = 0.0
    while True:
        expected_ns, patience_ns = count * period_ns, float(PATIENCE_NS)
        if point.has_datagrams:
            patience_ns += min(count * UDP_PATIENCE_NS, UDP_PATIENCE_MOST_NS)
        # The first batch only says how long a message takes.
        if not series.batches:
            expected_ns += over_slowest_ns(count, asked)
        settled = series.settled if series.batches else {}
        batch = series.run(expected_ns, patience_ns=patience_ns, count=count, **settled)
        times.append(repetition_times_ns(batch))
        messages += count
        period_ns = _period_ns(batch, times[-1])
        lasted_ns += count * period_ns
        samples = np.concatenate(times)
        time_left_ns = series.left_ns  # once: whoever ends below has passed this
        is_last = messages == wanted or time_left_ns <= 0
        if not len(samples) and (not may_be_late or is_last):
            raise HostError(_nothing_in_words(messages, point, series.batches))
        if messages == wanted:
            return Ending("count", series.batches)
        if asked.like is not None:
            if time_left_ns <= 0:
                return Ending("duration", series.batches)
            count = max(1, int(time_left_ns / max(1.0, period_ns)))
            count = min(count, BATCH_COUNT_LIMIT)
            continue
        if wanted is not None:
            further, left_ns = wanted - messages, float(BATCH_NS)
        else:
            steady = samples[find_steady_part(samples).begin :] if len(samples) else samples
            need = further_needed(steady, asked)
            missing_ns = least_ns(asked) - lasted_ns
            enough = need.enough and missing_ns <= 0
            further, left_ns = need.suggested_further_samples, time_left_ns
            if enough or left_ns <= 0:
                return Ending("interval" if enough else "time", series.batches)
            further = max(further, FIRST_COUNT, math.ceil(missing_ns / max(1.0, period_ns)))
        by_time = max(1, int(min(BATCH_NS, left_ns) / max(1.0, period_ns)))
        count = min(further, by_time, BATCH_COUNT_LIMIT)


@MEASURERS.of(*names_of("has_threads"))
def measure_threads(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """As repetitions, by the round trips that were made while all threads were at it. ``count`` is
    each thread's."""
    asked, series = point.spec.of(Threads), Series(session, point, keep)
    if asked.warm_up is not None:
        return one_loop(series, point)
    wanted = asked.count
    most = BATCH_COUNT_LIMIT // asked.threads
    count = min(FIRST_COUNT, wanted or FIRST_COUNT)
    times: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    made, period_ns, lasted_ns = 0, over_slowest_ns(1, asked), 0.0
    while True:
        batch = series.run(count * period_ns, count=count)
        times.append(joint_times_ns(batch))
        made += count
        period_ns = thread_period_ns(batch)
        lasted_ns += count * period_ns
        if made == wanted:
            return Ending("count", series.batches)
        samples, left_ns = np.concatenate(times), float(BATCH_NS)
        if wanted is None:
            if not len(samples):
                if made >= most or series.left_ns < -TOGETHER_NS:
                    raise HostError(_never_together(made, asked.threads))
                count = max(1, min(4 * count, most, int(TOGETHER_NS / max(1.0, period_ns))))
                continue
            if len(samples) >= FIRST_COUNT:
                steady = samples[find_steady_part(samples).begin :]
                known = further_needed(steady, asked).enough
                if known and lasted_ns >= least_ns(asked):
                    return Ending("interval", series.batches)
            if series.left_ns <= 0:
                return Ending("time", series.batches)
            left_ns = min(left_ns, series.left_ns)
        by_time = max(1, int(left_ns / max(1.0, period_ns)))
        count = min(by_time, most, wanted - made if wanted is not None else most)


def one_loop(series: Series, point: PlannedPoint) -> Ending:
    """All repetitions in one batch, those of the warm-up among them, as tools of MPI make them."""
    count = point.spec.count or 1
    batch = series.run(LOOP_PATIENCE_NS + over_slowest_ns(count, point.spec), count=count)
    if has_windows(batch) and not len(repetition_times_ns(batch)):
        raise HostError(_nothing_in_words(count, point, series.batches))
    return Ending("count", series.batches)


@MEASURERS.of(*names_of("compares_clocks"))
def measure_clocks(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """One batch: comparisons at equal distances, as long as was asked for; a tenth of that is for
    the comparisons themselves."""
    series = Series(session, point, keep)
    count = point.spec.count or CLOCK_COMPARISONS
    interval_ns = max(CLOCK_LEAST_NS, point.spec.cap_ns * 9 // 10 // (count - 1))
    series.run(count * interval_ns, count=count, interval_ns=interval_ns)
    return Ending("duration", series.batches)


def _period_ns(batch: Batch, times: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """How long a repetition takes, about: in windows, at least as long as they are; and with what
    is done between an operation's repetitions, such as making caches cold."""
    typical = float(np.median(times)) if len(times) else 0.0
    counters = batch.ends[0].counters
    repetitions = len(batch.ends[0].series.get("duration_ns", ()))
    span_ns = counters.get("end_ns", 0) - counters.get("start_ns", 0) if repetitions else 0
    return max(typical, float(counters.get("window_ns", 0)), span_ns / max(1, repetitions))


def _never_together(made: int, threads: int) -> str:
    return (
        f"in none of {made} round trips of each were all {threads} threads at it at once: they "
        "came and went one after the other; give each a CPU of its own"
    )


def _nothing_in_words(messages: int, point: PlannedPoint, batches: Sequence[Batch]) -> str:
    if point.carrier.has_ranks:
        late = np.concatenate([lateness_ns(batch) for batch in batches if has_windows(batch)])
        return (
            f"in none of {messages} repetitions all ranks were in time for their window: the last "
            f"came {format_time(float(np.median(late)))} late, by the median; give each rank a "
            "CPU of its own, set wider bounds (--start window:late=...,growth=...), or "
            "measure with --start barrier"
        )
    return f"none of {messages} messages was answered; is a firewall in between?"
