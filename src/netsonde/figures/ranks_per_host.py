"""Several ranks on a host against fewer: the same test with as many ranks, on fewer hosts.

Ranks of one host share its card and CPUs, and may pass memory to each other instead of
messages; which of the two counts for more is what the ratio says. Definitions are in
docs/methods/launches.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from netsonde.figures.alike import RANKS_PER_HOST, alike
from netsonde.figures.data import Figure
from netsonde.figures.headlines import Headline, Headlines
from netsonde.figures.maker import Maker
from netsonde.records.data import Point, Run

RATIO = "ranks_per_host_times"
ALIKE = 0.05
"""A few percent: a ratio that lies within this of 1, interval and all, is no difference."""
Verdict = Literal["slower", "faster", "alike", "undecided"]


@dataclass(frozen=True)
class Packed:
    """One test with ``several`` ranks on each host against ``fewest``, over all launches.

    ``ratio`` says how many times as long it took, above 1 is slower, whatever the figure.
    ``before`` and ``after`` are the figure itself with the fewest and with several.
    """

    example: Point
    fewest: int
    several: int
    ratio: Headline
    before: Headline
    after: Headline

    @property
    def verdict(self) -> Verdict:
        """By the whole interval; undecided where there is none."""
        low, high = self.ratio.over.low, self.ratio.over.high
        if low is None or high is None:
            return "undecided"
        if low >= 1 - ALIKE and high <= 1 + ALIKE:
            return "alike"
        if low > 1:
            return "slower"
        return "faster" if high < 1 else "undecided"


def ranks_per_host_figures(run: Run, figures: Sequence[Figure]) -> list[Figure]:
    """``ranks_per_host_times`` of each point with more ranks on a host than the fewest that the
    same test was measured with, in the same launch."""
    values = {(f.point, f.name): f for f in figures}
    made = []
    for same in _groups(run.points):
        base, *others = same
        under = values.get((base.id, base.kind.main))
        for point in others:
            over = values.get((point.id, point.kind.main))
            if over is not None and under is not None and over.value and under.value:
                made.append(_times(point, over, under))
    return made


def packed(points: Sequence[Point], headlines: Headlines) -> list[Packed]:
    """Every test that was measured with several numbers of ranks on a host, in the study's
    order."""
    found: dict[tuple[str, ...], Packed] = {}
    for same in _groups(points):
        base, *others = same
        before = headlines.of(base.id, base.kind.main)
        for point in others:
            ratio = headlines.of(point.id, RATIO)
            after = headlines.of(point.id, point.kind.main)
            if ratio is not None and before is not None and after is not None:
                one = Packed(point, ppn_of(base), ppn_of(point), ratio, before, after)
                found.setdefault(ratio.points, one)
    return list(found.values())


def ppn_of(point: Point) -> int:
    """1 where nobody said."""
    return point.spec.ppn or 1


def _groups(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each test that differ in nothing but the ranks on a host, the fewest first."""
    own = [p for p in points if p.carrier.has_ranks and p.kind.main and p.spec.ppn]
    several = (same for same in alike(own, RANKS_PER_HOST) if len(same) > 1)
    return [sorted(same, key=ppn_of) for same in several]


def _times(point: Point, over: Figure, under: Figure) -> Figure:
    """A quotient of medians, of rates turned round."""
    if not over.name.endswith("_ns"):
        over, under = under, over
    made = Maker(point).quotient(RATIO, over, under)
    effective = (over.effective_samples, under.effective_samples)
    worth = min(made.samples if own is None else own for own in effective)
    return replace(made, effective_samples=worth)


def verdicts_in_words(found: Sequence[Packed]) -> Mapping[Verdict, int]:
    """How many have each verdict."""
    words: tuple[Verdict, ...] = ("slower", "faster", "alike", "undecided")
    return {word: sum(one.verdict == word for one in found) for word in words}
