"""Round trips of several threads of two ranks at the same time.

Threads begin and end one after the other, so only what was measured while all were at it says how
they bear with each other. Definitions are in docs/methods/threads.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Threads
from netsonde.figures.alike import THREADS, condition
from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker
from netsonde.records.data import Batch, Point, Run, Series

MEDIAN = "round_trip_median_ns"
RATE = "message_rate_per_s"
WAYS = 2
"""Messages of a round trip."""


@dataclass(frozen=True)
class Joint:
    """The round trips of a batch that began and ended while every thread was at it, in the order in
    which they ended: ``times_ns`` and ``threads``, both of shape (n,). ``made`` is how many there
    were in all."""

    times_ns: Series
    threads: Series
    made: int

    def of_thread(self, thread: int) -> Series:
        own: Series = self.times_ns[self.threads == thread]
        return own


def joint_round_trips(batch: Batch) -> Joint:
    """The end of a round trip of a thread is the begin of its next one; where contents are checked
    in between, what that took is spread evenly over them."""
    series = batch.ends[0].series
    times, threads = series["round_trip_ns"], series["thread"]
    begins, ends = series["thread_begin_ns"], series["thread_end_ns"]
    first, last = int(begins.max()), int(ends.min())
    kept, finished = list[npt.NDArray[np.int64]](), list[npt.NDArray[np.float64]]()
    for thread, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        places = np.flatnonzero(threads == thread)
        own = times[places]
        stretch = max(1.0, (end - begin) / max(1, int(own.sum())))
        until = begin + stretch * np.cumsum(own)
        since = np.concatenate([[begin], until[:-1]])
        # A rounded sum may end some ns after the clock did.
        inside = (since >= first) & (until <= last + len(own))
        kept.append(places[inside])
        finished.append(until[inside])
    order = np.concatenate(kept)[np.argsort(np.concatenate(finished), kind="stable")]
    return Joint(times[order], threads[order], len(times))


def joint_times_ns(batch: Batch) -> Series:
    """Shape (n,), ns, of all threads."""
    return joint_round_trips(batch).times_ns


def thread_period_ns(batch: Batch) -> float:
    """What a round trip of each thread took of the batch, waiting for a CPU included."""
    end = batch.ends[0]
    span_ns = end.counters["end_ns"] - end.counters["start_ns"]
    return span_ns * len(end.series["thread_begin_ns"]) / max(1, len(end.series["round_trip_ns"]))


def thread_medians_ns(point: Point) -> list[float]:
    """Median of each thread's joint round trips, ns; empty where one has none."""
    joint = [joint_round_trips(batch) for batch in point.batches]
    number = point.spec.of(Threads).threads
    own = [np.concatenate([j.of_thread(t) for j in joint]) for t in range(number)]
    return [float(np.median(times)) for times in own] if all(len(t) for t in own) else []


@MAKERS.of("threads")
def thread_figures(maker: Maker) -> list[Figure]:
    """Of all threads together, of the quickest and the slowest, and their messages a second."""
    joint = [joint_round_trips(batch) for batch in maker.point.batches]
    kept, made = sum(len(j.times_ns) for j in joint), sum(j.made for j in joint)
    figures = [maker.ratio("joint_ratio", kept, made)]
    if not kept:
        return figures
    figures[:0] = maker.times("round_trip", np.concatenate([j.times_ns for j in joint]), "threads")
    number = maker.point.spec.of(Threads).threads
    rates = [rate for j in joint if (rate := _message_rate_per_s(j, number)) is not None]
    if rates:
        figures.append(maker.quantile(RATE, np.array(rates), 0.5, method="threads#message-rate"))
    if number > 1:
        figures += _extremes(maker, joint, number)
    return figures


def _extremes(maker: Maker, joint: Sequence[Joint], number: int) -> list[Figure]:
    own = [np.concatenate([j.of_thread(t) for j in joint]) for t in range(number)]
    if not all(len(times) for times in own):
        return []
    names = [f"{word}_thread_{MEDIAN}" for word in ("quickest", "slowest")]
    medians = [maker.quantile(names[0], times, 0.5) for times in own]
    ends = [choose(medians, key=lambda figure: figure.value) for choose in (min, max)]
    return [replace(end, name=name) for end, name in zip(ends, names, strict=True)]


def _message_rate_per_s(joint: Joint, number: int) -> float | None:
    """Each thread's messages over the time of its own joint round trips, added up; None where one
    has no round trip in the time of all."""
    means = [float(own.mean()) for t in range(number) if len(own := joint.of_thread(t))]
    return sum(WAYS * 1e9 / mean for mean in means) if len(means) == number else None


def level_of(point: Point) -> str:
    return str(point.spec.of(Threads).thread_level)


def thread_relations(run: Run, figures: Sequence[Figure]) -> list[Figure]:
    """``thread_contention_times``: so many threads against one where several may call MPI.
    ``thread_multiple_times``: that one against one where they may not. Of the same size, MPI and
    launch."""
    points = [p for p in run.points if p.kind.has_threads]
    medians = {f.point: f for f in figures if f.name == MEDIAN and f.kind.has_threads}
    made = list[Figure]()
    for point in points:
        number = point.spec.of(Threads).threads
        name = "thread_contention_times" if number > 1 else "thread_multiple_times"
        if level_of(point) != "multiple" or point.id not in medians:
            continue
        base = one_thread(points, point, "multiple" if number > 1 else "funneled")
        if base is not None and base.id in medians:
            over, under = medians[point.id], medians[base.id]
            made.append(Maker(point).quotient(name, over, under))
    return made


def one_thread(points: Sequence[Point], like: Point, level: str) -> Point | None:
    """The point of one thread at a level that differs from another in nothing else."""
    wanted = condition(like, THREADS)
    return next(
        (
            p
            for p in points
            if p.spec.of(Threads).threads == 1
            and level_of(p) == level
            and condition(p, THREADS) == wanted
        ),
        None,
    )
