"""What a history says of a figure over many runs. Definitions are in docs/methods/history.md."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from netsonde.compare.data import Better, Circumstance
from netsonde.figures.keys import FigureKey


@dataclass(frozen=True)
class HistoryRun:
    """A run in a history. ``id`` is made of what it measured, so that no run is in it twice."""

    id: str
    name: str
    directory: str
    started_utc: str
    origin: str
    netsonde: str
    launches: int
    figures: int


@dataclass(frozen=True)
class TrendPoint:
    """A figure in one run: the median of its launches and their interval (None below 6)."""

    run: str
    run_name: str
    started_utc: str
    launches: tuple[float, ...]
    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ChangePoint:
    """Where a figure's level changed: ``index`` is the first point after it.

    ``first`` and ``last`` bound that index at 95 %. ``before`` and ``after`` are medians of the two
    levels in the figure's unit, ``ratio`` the second over the first. ``p`` is that of no change,
    adjusted for all figures that were looked at. ``verdict`` is better or worse. ``changed`` are
    the circumstances that changed between the runs around it, from ``first`` - 1 to ``last``.
    """

    index: int
    first: int
    last: int
    run: str
    started_utc: str
    before: float
    after: float
    ratio: float
    p: float
    verdict: str
    changed: tuple[Circumstance, ...]


@dataclass(frozen=True)
class Trend:
    """One figure over the runs that have it, the oldest first."""

    key: FigureKey
    label: str
    better: Better
    points: tuple[TrendPoint, ...]
    changes: tuple[ChangePoint, ...]

    @property
    def levels(self) -> list[tuple[int, int, float]]:
        """(first, last, median) of each stretch between two changes, to be drawn as steps."""
        edges = [0, *(change.index for change in self.changes), len(self.points)]
        return [(a, b - 1, median(p.median for p in self.points[a:b])) for a, b in pairwise(edges)]


@dataclass(frozen=True)
class History:
    """All of a file, or what was asked of it. ``notes`` are sentences on the whole of it."""

    file: str
    runs: tuple[HistoryRun, ...]
    trends: tuple[Trend, ...]
    notes: tuple[str, ...] = ()
