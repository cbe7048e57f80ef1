"""Several MPIs side by side: the same test under each, over repeated launches.

A launch is one start of an MPI program. What a program gets at its start (connections, memory,
CPUs) lasts as long as it does, so messages of one launch share it, and only launches say how
far another one would differ. So each launch gives one value, its own median, and intervals are over
launches. Definitions are in docs/methods/launches.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsonde.catalogue.known_figures import figure_kind, unit_of
from netsonde.figures.alike import LAUNCH, MPI, alike
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run
from netsonde.stats.quantiles import quantile_interval
from netsonde.stats.resolution import with_width


@dataclass(frozen=True)
class Spread:
    """Of values of ``n`` launches: the median, and its 95 % interval; None below 6 launches."""

    median: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Comparison:
    """One test under every MPI of a run.

    ``example`` is one of its points. ``values`` are those of each MPI by launch; an MPI without the
    operation is in ``lacking`` instead. ``ratios`` say how many times as good each MPI is as the
    first one of the run: above 1 is faster, whatever the figure.
    """

    example: Point
    figure: str
    values: Mapping[str, Mapping[int, float]]
    lacking: tuple[str, ...]

    @property
    def less_is_better(self) -> bool:
        return figure_kind(self.figure).better == "less"

    @property
    def unit(self) -> str:
        return unit_of(self.figure)

    def spread(self, mpi: str) -> Spread | None:
        """Over the launches of one MPI; None where nothing was measured."""
        values = self.values.get(mpi)
        return spread(list(values.values())) if values else None

    def advantage(self, mpi: str, over: str) -> Spread | None:
        """How many times as good one MPI is as another, by launches that were made one right after
        the other; None where there are none of both."""
        ours, theirs = self.values.get(mpi, {}), self.values.get(over, {})
        ratios = [ours[i] / theirs[i] for i in sorted(ours.keys() & theirs.keys())]
        if not ratios:
            return None
        return spread([1 / r for r in ratios] if self.less_is_better else ratios)

    @property
    def ranking(self) -> list[str]:
        """The MPIs by their medians, the best first."""
        found = {mpi: s.median for mpi in self.values if (s := self.spread(mpi))}
        return sorted(found, key=lambda mpi: found[mpi], reverse=not self.less_is_better)

    @property
    def winner(self) -> str | None:
        """The MPI that is better than every other one by an interval that does not hold 1."""
        if len(self.ranking) < 2:
            return None
        best, *others = self.ranking
        found = [self.advantage(best, other) for other in others]
        decided = all(a is not None and a.low is not None and a.low > 1 for a in found)
        return best if decided else None


def spread(values: Sequence[float]) -> Spread:
    """Median and interval of launches, by order statistics: nothing is assumed of how they are
    distributed, but that they are drawn alike and apart from each other. Launches that are all
    alike to the last digit say nothing of how exactly they are known."""
    array = np.asarray(values, dtype=float)
    interval = with_width(quantile_interval(array, 0.5), array)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Spread(float(np.median(array)), low, high, len(array))


def _is_of_a_launch(point: Point) -> bool:
    """Launches of an MPI; those of sockets are not put side by side."""
    return point.spec.launch is not None and point.carrier.has_ranks


def mpis_of(run: Run) -> list[str]:
    """The MPIs of a run with several, or with several launches, in its order; else none."""
    found: dict[str, None] = {}
    for point in run.points:
        if _is_of_a_launch(point):
            found.setdefault(point.spec.mpi or "", None)
    return list(found)


def launches_of(run: Run) -> list[list[Point]]:
    """The points of each test and MPI that were measured in several launches, by launch."""
    points = [p for p in run.points if _is_of_a_launch(p) and p.kind.main]
    several = (same for same in alike(points, LAUNCH) if len(same) > 1)
    return [sorted(same, key=lambda p: p.spec.launch or 1) for same in several]


def comparisons(run: Run, figures: Sequence[Figure]) -> list[Comparison]:
    """Every test of a run that was made in several launches, in the order of the study; not those
    of which nothing is known yet."""
    by_point = {(f.point, f.name): f.value for f in figures}
    launched = [p for p in run.points if _is_of_a_launch(p) and p.kind.main]
    found = []
    for points in alike(launched, MPI, LAUNCH):
        name = points[0].kind.main
        values: dict[str, dict[int, float]] = {}
        for point in points:
            value = by_point.get((point.id, name))
            if value:
                mpi, launch = point.spec.mpi or "", point.spec.launch or 1
                values.setdefault(mpi, {})[launch] = value
        lacking = {p.spec.mpi or "" for p in points if p.status == "failed" and not p.batches}
        if values or lacking:
            without = tuple(sorted(lacking - values.keys()))
            found.append(Comparison(points[0], name, values, without))
    return found
