"""Figures of MPI that compare points: pairs at once against one alone, both ways against one.

And the naive mean of an operation, over all ranks, beside the right one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.figures.alike import AT_ONCE, OPERATION, alike
from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.ranks.repetitions import has_summary
from netsonde.records.data import Point, Run

MEDIAN = "completion_median_ns"
ROUND_TRIP = "round_trip_median_ns"


def naive_mean(point: Point) -> list[Figure]:
    """The mean over all ranks and repetitions, as tools give it that do not ask who was slowest."""
    if not point.kind.is_operation or not point.batches:
        return []
    if any(has_summary(batch) for batch in point.batches):
        return []  # not every rank's samples were kept
    stays = [point.series("duration_ns", rank) for rank in sorted(point.batches[0].ends)]
    if len(stays) < 2 or not len(stays[0]) or len({len(own) for own in stays}) > 1:
        return []
    # Ranks of one repetition are late together: a repetition is a sample, a rank is none.
    return [Maker(point).mean("naive_mean_ns", np.mean(stays, axis=0))]


def relation_figures(run: Run, figures: Sequence[Figure]) -> list[Figure]:
    """``contention_times`` of ``send`` against ``latency`` of the same size, where there are more
    pairs than one; ``duplex_times`` of ``sendrecv`` against ``send``."""
    times = {f.point: f for f in figures if f.name == MEDIAN and f.operation}
    trips = {f.point: f for f in figures if f.name == ROUND_TRIP and f.kind.asks_round_trip}
    points = [p for p in run.points if p.carrier.has_ranks and p.id in times.keys() | trips.keys()]
    made = list[Figure]()
    for same in alike(points, AT_ONCE):
        alone = next((trips[p.id] for p in same if p.id in trips), None)
        for point in same:
            pairs = (point.spec.ranks or 2) // 2
            if alone is not None and point.operation == "send" and pairs > 1:
                made.append(Maker(point).quotient("contention_times", times[point.id], alone))
    for same in alike([p for p in points if p.id in times], OPERATION):
        send = next((times[p.id] for p in same if p.operation == "send"), None)
        for point in same:
            if send is not None and point.operation == "sendrecv":
                made.append(Maker(point).quotient("duplex_times", times[point.id], send, 2.0))
    return made
