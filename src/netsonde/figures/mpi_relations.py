"""Figures of MPI that compare points: pairs at once against one alone, both ways against one.

And the naive mean of an operation, over all ranks, beside the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.figures.repetitions import has_summary
from netsonde.records.data import Point, Run

MEDIAN = "completion_median_ns"
ROUND_TRIP = "round_trip_median_ns"
Key = tuple[str, int]


def naive_mean(point: Point) -> list[Figure]:
    """The mean over all ranks and repetitions, as tools give it that do not ask who was slowest."""
    if (point.transport, point.test) != ("mpi", "collective") or not point.batches:
        return []
    if any(has_summary(batch) for batch in point.batches):
        return []  # not every rank's samples were kept
    stays = [point.series("duration_ns", rank) for rank in sorted(point.batches[0].ends)]
    every = np.concatenate(stays)
    if not len(every) or len(stays) < 2:
        return []
    maker = Maker(point)
    return [
        maker.figure("naive_mean_ns", float(every.mean()), len(every), "mpi-analysis#naive-mean")
    ]


def relation_figures(run: Run, figures: Sequence[Figure]) -> list[Figure]:
    """``contention_times`` of ``send`` against ``latency`` of the same size, where there are more
    pairs than one; ``duplex_times`` of ``sendrecv`` against ``send``."""
    points = {point.id: point for point in run.points if point.transport == "mpi"}
    own = [f for f in figures if f.point in points]
    alone = {f.message_bytes: f for f in own if f.name == ROUND_TRIP and f.test == "latency"}
    by_shape: dict[tuple[object, ...], dict[Key, Figure]] = {}
    for figure in own:
        if figure.name == MEDIAN and figure.operation:
            shape = _shape(points[figure.point])
            found = by_shape.setdefault(shape, {})
            found.setdefault((figure.operation, figure.message_bytes), figure)
    made = list[Figure]()
    for found in by_shape.values():
        for (operation, size), figure in sorted(found.items()):
            point = points[figure.point]
            pairs = int(point.parameters.get("ranks", 2)) // 2
            if operation == "send" and pairs > 1 and size in alone:
                method = "mpi-analysis#contention"
                made.append(_times(point, "contention_times", method, figure, alone[size], 1.0))
            if operation == "sendrecv" and ("send", size) in found:
                method = "mpi-analysis#duplex"
                send = found["send", size]
                made.append(_times(point, "duplex_times", method, figure, send, 2.0))
    return made


def _shape(point: Point) -> tuple[object, ...]:
    given: Mapping[str, object] = point.parameters
    return tuple(given.get(name) for name in ("ranks", "pattern", "distance", "start"))


def _times(
    point: Point, name: str, method: str, over: Figure, under: Figure, factor: float
) -> Figure:
    """A quotient of medians; its interval is that of the intervals' outer ends, so wider than
    95 %."""
    low = high = None
    if None not in (over.low, over.high, under.low, under.high):
        low = factor * (over.low or 0.0) / (under.high or 1.0)
        high = factor * (over.high or 0.0) / (under.low or 1.0)
    value = factor * over.value / under.value
    samples = min(over.samples, under.samples)
    return Maker(point).figure(name, value, samples, method, low, high)
