"""Pairs of ranks beside each other, one measured after the other: who is the slowest partner.

Pairs are alone on the network while they are measured, in random order, so that neither other pairs
nor drift of the machine make one slow. Definitions are in docs/methods/partners.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.figures.alike import PAIR, alike
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run

MEDIAN, P99 = "round_trip_median_ns", "round_trip_p99_ns"


@dataclass(frozen=True)
class Pair:
    """Two ranks, their hosts, and how long a round trip between them takes."""

    ranks: tuple[int, int]
    hosts: tuple[str, str]
    point: Point
    median: Figure
    p99: Figure | None

    @property
    def low(self) -> float:
        return self.median.value if self.median.low is None else self.median.low

    @property
    def high(self) -> float:
        return self.median.value if self.median.high is None else self.median.high


@dataclass(frozen=True)
class Pairs:
    """Pairs that differ in nothing but their ranks, the slowest first."""

    pairs: tuple[Pair, ...]

    @property
    def example(self) -> Point:
        return self.pairs[0].point

    @property
    def slowest(self) -> Pair:
        return self.pairs[0]

    @property
    def is_decided(self) -> bool:
        """Whether the slowest one's interval lies above that of every other pair."""
        known = all(p.median.low is not None and p.median.high is not None for p in self.pairs)
        return known and all(self.slowest.low > other.high for other in self.pairs[1:])

    @property
    def as_slow(self) -> tuple[Pair, ...]:
        """The pairs, but for the slowest, whose interval meets that of the slowest."""
        return tuple(p for p in self.pairs[1:] if p.high >= self.slowest.low)

    @property
    def times(self) -> float:
        """How many times as long the slowest takes as the middle one of the others."""
        others = sorted(p.median.value for p in self.pairs[1:])
        return self.slowest.median.value / others[len(others) // 2]

    @property
    def common_rank(self) -> int | None:
        """The rank that all of the slow pairs share, where there are several of them and it is no
        other pair's: then the rank is slow, whoever its partner is."""
        slow = self._slow_ones()
        if len(slow) < 2 or len(slow) == len(self.pairs):
            return None
        shared = set(slow[0].ranks).intersection(*(p.ranks for p in slow[1:]))
        fast = {rank for p in self.pairs if p not in slow for rank in p.ranks}
        found = shared - fast
        return found.pop() if len(found) == 1 else None

    def _slow_ones(self) -> list[Pair]:
        """Those above the widest gap between neighbours by ratio."""
        gaps = [
            self.pairs[i].low / max(self.pairs[i + 1].high, 1.0) for i in range(len(self.pairs) - 1)
        ]
        widest = max(gaps, default=0.0)
        return list(self.pairs[: gaps.index(widest) + 1]) if widest > 1.0 else []


def pairs_of_run(run: Run, figures: Sequence[Figure]) -> list[Pairs]:
    """Every test of round trips that was made between several pairs, in the order of the study."""
    points = [p for p in run.points if p.carrier.has_ranks and p.kind.is_round_trip]
    paired = [p for p in points if p.spec.pair is not None]
    found = (_pairs(same, figures) for same in alike(paired, PAIR))
    return [pairs for pairs in found if pairs is not None]


def slowest_of(points: Sequence[Point], figures: Sequence[Figure]) -> Pair | None:
    """The pair with the longest median round trip; None where none was measured."""
    found = _measured(points, figures)
    return max(found, key=lambda pair: pair.median.value, default=None)


def _pairs(points: Sequence[Point], figures: Sequence[Figure]) -> Pairs | None:
    found = sorted(_measured(points, figures), key=lambda pair: -pair.median.value)
    return Pairs(tuple(found)) if len({pair.ranks for pair in found}) > 1 else None


def _measured(points: Sequence[Point], figures: Sequence[Figure]) -> list[Pair]:
    ids = {point.id for point in points}
    known = {(f.point, f.name): f for f in figures if f.point in ids and f.name in (MEDIAN, P99)}
    return [
        Pair(
            point.spec.pair,
            (_host(point, 0), _host(point, 1)),
            point,
            known[point.id, MEDIAN],
            known.get((point.id, P99)),
        )
        for point in points
        if point.spec.pair is not None and (point.id, MEDIAN) in known
    ]


def _host(point: Point, end: int) -> str:
    return next((batch.ends[end].host for batch in point.batches if end in batch.ends), "")
