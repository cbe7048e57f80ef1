"""A figure of one condition over all its launches: what is shown, exported, compared and judged.

Whatever says a figure of a run says this one: its value is the median over launches, its interval
that of the launches. Only points that differ in nothing but their launch are put together, so that
sizes, options, MPIs and pairs never mix. Definitions are in docs/methods/launches.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, Literal

from netsonde.catalogue.point import AllPairs
from netsonde.catalogue.test import Test
from netsonde.figures.data import Figure
from netsonde.figures.keys import FigureKey, key_of, labels_of
from netsonde.records.data import Point
from netsonde.stats.quantiles import quantile_interval
from netsonde.units import format_count

Basis = Literal["launches", "span", "within", "runs", "none"]
CONFIDENCE = 0.95
HEADLINE_COLUMNS = (
    *("label", "transport", "test", "operation", "message_bytes", "figure", "unit"),
    *("value", "low", "high", "confidence", "basis", "launches", "points", "method"),
)
THROUGHPUT = "throughput_bit_per_s"


@dataclass(frozen=True)
class LaunchValue:
    """A figure of one launch, in its own unit, with the interval within the launch.

    ``points`` are the ids of those that it was measured at; of several it is the median.
    ``is_exact``: it is of a kind that has no interval, as a count.
    """

    number: int
    value: float
    low: float | None
    high: float | None
    points: tuple[str, ...] = ()
    is_exact: bool = False


@dataclass(frozen=True)
class OverLaunches:
    """The median of launches, and an interval at ``confidence``; all three None where none is.

    ``basis``, what the interval is of: ``launches``, their median, from six on; ``span``, of fewer:
    nothing of any launch lies beyond it; ``within`` the only launch; ``none``.
    """

    value: float
    low: float | None
    high: float | None
    confidence: float | None
    basis: Basis
    launches: int


def over_launches(launches: Sequence[LaunchValue]) -> OverLaunches:
    """The figure of all launches; at least one is given.

    The least and the largest of n values enclose the median with 1 - 2 ** (1 - n), and a span holds
    both, so that is the confidence of a span at least. Where the launches' values are alike, their
    own intervals say how exactly they are known; where nothing does, there is no interval.
    """
    value = float(median(launch.value for launch in launches))
    count = len(launches)
    if count == 1:
        low, high = launches[0].low, launches[0].high
        if low is None or high is None:
            return OverLaunches(value, None, None, None, "none", 1)
        return OverLaunches(value, low, high, CONFIDENCE, "within", 1)
    found = quantile_interval([launch.value for launch in launches], 0.5, CONFIDENCE)
    if found is not None and found.low < found.high:
        return OverLaunches(value, found.low, found.high, CONFIDENCE, "launches", count)
    lows = [launch.value if launch.is_exact else launch.low for launch in launches]
    highs = [launch.value if launch.is_exact else launch.high for launch in launches]
    known = [end for end in (*lows, *highs) if end is not None]
    if len(known) < 2 * count or min(known) == max(known):
        return OverLaunches(value, None, None, None, "none", count)
    return OverLaunches(value, min(known), max(known), 1.0 - 2.0 ** (1 - count), "span", count)


@dataclass(frozen=True)
class Headline:
    """A figure of one condition over its launches. ``label`` is the condition in a few words;
    ``figures`` are those of its points, in the order of the launches."""

    key: FigureKey
    label: str
    over: OverLaunches
    launches: tuple[LaunchValue, ...]
    figures: tuple[Figure, ...]
    is_of_points: bool = True

    @property
    def value(self) -> float:
        return self.over.value

    @property
    def basis(self) -> Basis:
        """What the interval is of; ``runs`` where every sample is a run of its own."""
        own = self.over.basis == "within" and self.key.kind.one_run != ""
        return "runs" if own else self.over.basis

    @property
    def is_beside(self) -> bool:
        """Whether it is of a few bytes beside a size that was asked for."""
        return self.key.asked("perturbed_bytes") is not None

    @property
    def points(self) -> tuple[str, ...]:
        return tuple(figure.point for figure in self.figures)

    @property
    def condition(self) -> str:
        """What tells it from others of its test and size, in words; empty where nothing has to."""
        return self.label.partition(", ")[2]

    @property
    def middle(self) -> str:
        """The point whose figure is nearest to the median: where one launch stands for all."""
        return min(self.figures, key=lambda f: abs(f.value - self.value)).point

    @property
    def name(self) -> str:
        """What stands for the point: its id, of several the condition and how many there are."""
        if len(self.figures) == 1:
            return self.figures[0].point
        if self.over.launches == 1:
            return f"{self.label}, {len(self.figures)} passes"
        return f"{self.label}, {self._counted}"

    @cached_property
    def figure(self) -> Figure:
        """The same as a figure: that of the only point itself, else one of all launches."""
        if len(self.figures) == 1:
            return self.figures[0]
        effective = [f.effective_samples for f in self.figures if f.effective_samples is not None]
        return replace(
            self.figures[0],
            point=self.name,
            value=self.value,
            low=self.over.low,
            high=self.over.high,
            confidence=self.over.confidence or CONFIDENCE,
            samples=sum(f.samples for f in self.figures),
            effective_samples=sum(effective) if len(effective) == len(self.figures) else None,
        )

    @property
    def _start(self) -> str:
        """What one value is of."""
        return "round" if self.key.kind.is_round else "launch"

    @property
    def _counted(self) -> str:
        plural = "s" if self._start == "round" else "es"
        return f"{self.over.launches} {self._start}{plural}"

    def as_json(self) -> dict[str, Any]:
        """What tables and documents have of it, by ``HEADLINE_COLUMNS``."""
        key = self.key
        made = (
            *(self.label, key.transport, key.test, key.operation, key.message_bytes),
            *(key.figure, key.unit, self.value, self.over.low, self.over.high),
            *(self.over.confidence, self.basis, self.over.launches),
            *(list(self.points), self.figure.method),
        )
        return dict(zip(HEADLINE_COLUMNS, made, strict=True))

    def basis_in_words(self) -> str:
        """``within one launch``, ``median of 8 launches``, ``span of 5 launches``."""
        several = self.over.launches > 1
        samples = self.figures[0].samples
        words: dict[Basis, str] = {
            "launches": f"median of {self._counted}",
            "span": f"span of {self._counted}",
            "within": f"within one {self._start}",
            "runs": f"over {format_count(samples, self.key.kind.one_run or 'run')}",
            "none": f"median of {self._counted}" if several else f"one {self._start}",
        }
        return words[self.basis]


class Headlines:
    """The headlines of a run's figures, in the order of the figures."""

    def __init__(self, points: Sequence[Point], figures: Sequence[Figure]) -> None:
        self.all = _headlines(points, figures)

    @cached_property
    def _by_figure(self) -> Mapping[tuple[str, str], Headline]:
        return {(f.point, f.name): headline for headline in self.all for f in headline.figures}

    @cached_property
    def by_key(self) -> Mapping[FigureKey, Headline]:
        return {headline.key: headline for headline in self.all}

    def of(self, point: str, name: str) -> Headline | None:
        """That of a figure of a point, which may be one of several launches."""
        return self._by_figure.get((point, name))

    def beside(self, headline: Headline, name: str) -> Headline | None:
        """Another figure of the same condition."""
        return self.by_key.get(headline.key.of(name))

    @cached_property
    def several(self) -> Sequence[Headline]:
        """Those of more than one point."""
        return [headline for headline in self.all if len(headline.figures) > 1]


def fastest_of(
    headlines: Iterable[Headline],
    transport: str,
    is_wanted: Callable[[Test], bool],
    name: str = THROUGHPUT,
) -> Headline | None:
    """The condition with the highest throughput in such tests, that of a size beside another one
    left out."""
    rated = [
        headline
        for headline in headlines
        if (headline.key.transport, headline.key.figure) == (transport, name)
        and is_wanted(headline.key.kind)
        and not headline.is_beside
    ]
    return max(rated, key=lambda headline: headline.value, default=None)


Measured = Mapping[int, Sequence[tuple[Figure, Point]]]
"""By launch, the figures of one condition and their points."""


def by_launch(
    points: Iterable[Point], figures_of: Callable[[Point], Iterable[Figure]]
) -> dict[FigureKey, Measured]:
    """The figures of measured points by condition and launch."""
    # Keys are long and slow to compare: those of points get a number, made into keys at the end.
    numbers: dict[FigureKey, int] = {}
    found: dict[tuple[int, str], dict[int, list[tuple[Figure, Point]]]] = {}
    for point in filter(is_of_result, points):
        number = numbers.setdefault(key_of(point, ""), len(numbers))
        launch = launch_of(point)
        for figure in figures_of(point):
            of_launches = found.setdefault((number, figure.name), {})
            of_launches.setdefault(launch, []).append((figure, point))
    bases = list(numbers)
    return {bases[number].of(name): launches for (number, name), launches in found.items()}


def is_of_result(point: Point) -> bool:
    """Whether a point was measured, and neither only to find another one nor to look again at pairs
    of hosts that were suspected."""
    spec = point.spec
    is_again = isinstance(spec, AllPairs) and spec.pairs is not None
    return point.measured and not is_again and spec.scout is None


def launch_of(point: Point) -> int:
    """Which launch a point is of: the first one where there are no others. Each round of all pairs
    is a start of its own."""
    spec = point.spec
    return spec.number if isinstance(spec, AllPairs) else spec.launch or 1


def launch_values(measured: Measured) -> tuple[LaunchValue, ...]:
    """One value for each launch, in their order: the median where it measured a thing several
    times."""
    made = []
    for number, found in sorted(measured.items()):
        if len(found) == 1:
            made.append(value_of(found[0][0], number))
            continue
        own = over_launches([value_of(figure, number) for figure, _ in found])
        exact = all(is_exact(figure) for figure, _ in found)
        ids = tuple(point.id for _, point in found)
        made.append(LaunchValue(number, own.value, own.low, own.high, ids, exact))
    return tuple(made)


def value_of(figure: Figure, number: int) -> LaunchValue:
    """A figure of one point as the value of a launch."""
    return LaunchValue(
        number, figure.value, figure.low, figure.high, (figure.point,), is_exact(figure)
    )


def is_exact(figure: Figure) -> bool:
    """Whether a figure has no interval because it needs none: a count, an extreme."""
    return figure.low is None and figure.effective_samples is None


def _headlines(points: Sequence[Point], figures: Sequence[Figure]) -> list[Headline]:
    own: dict[str, list[Figure]] = {}
    for figure in figures:
        own.setdefault(figure.point, []).append(figure)
    groups = by_launch(points, lambda point: own.get(point.id, ()))
    bases = {key: key.of("") for key in groups}
    labels = labels_of(dict.fromkeys(bases.values()))
    found = [_headline(key, labels[bases[key]], measured) for key, measured in groups.items()]
    of_several = of_no_point(figures, {point.id for point in points})
    return found + [
        replace(_headline(key, key.name or "", measured), is_of_points=False)
        for key, measured in of_several.items()
    ]


def _headline(key: FigureKey, label: str, measured: Measured) -> Headline:
    launches = launch_values(measured)
    figures = tuple(figure for _, found in sorted(measured.items()) for figure, _ in found)
    return Headline(key, label, over_launches(launches), launches, figures)


def of_no_point(figures: Iterable[Figure], known: Set[str]) -> dict[FigureKey, Measured]:
    """Figures of a sweep or of several points together have a name in place of a point."""
    found: dict[FigureKey, dict[int, list[tuple[Figure, Point]]]] = {}
    for figure in figures:
        if figure.point in known:
            continue
        from netsonde.figures.sweeps import of_all_launches  # late: few runs have sweeps

        name, launch = of_all_launches(figure.point)
        own = (("label", json.dumps(name)),)
        key = FigureKey(figure.transport, figure.test, figure.operation, 0, own, figure.name)
        stands_for = Point(figure.point, figure.transport, figure.test, {"message_bytes": 0})
        found.setdefault(key, {}).setdefault(launch, []).append((figure, stands_for))
    return dict(found)
