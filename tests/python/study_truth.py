"""What every reader of a drawn study has to be told: its figures over launches, found without the
functions under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from study_made import Study as Drawn
from study_made import drawn_study

from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.records.data import Run
from netsonde.report.lookup import Study

MAIN = {
    "latency": "round_trip_median_ns",
    "pingpong": "throughput_bit_per_s",
    "stream": "throughput_bit_per_s",
    "duplex": "throughput_sum_bit_per_s",
}
LEAST_SIZES = 6
Ends = tuple[float, float | None, float | None]
Said = dict[tuple[tuple[str, ...], str], Ends]
"""By the ids of points, or the names of a sweep in its launches, and a figure's name."""


@dataclass
class Truth:
    """A study, its figures, and what every condition of it has to be said as."""

    run: Run
    drawn: Drawn
    figures: list[Figure]

    @cached_property
    def study(self) -> Study:
        return Study(self.run, self.figures)

    @cached_property
    def everything(self) -> Said:
        return self.by_points | self.by_sweeps

    @cached_property
    def launches(self) -> dict[tuple[str, ...], int]:
        """How many launches stand behind the points of a condition, or behind a sweep."""
        of_points = {
            tuple(name for _, names in sorted(launches.items()) for name in names): len(launches)
            for launches in self.drawn.conditions.values()
        }
        return of_points | {names: len(names) for names, _ in self.by_sweeps}

    @cached_property
    def by_points(self) -> Said:
        found = {}
        for (_, test, _), launches in self.drawn.conditions.items():
            each = [names for _, names in sorted(launches.items())]
            ids = tuple(name for names in each for name in names)
            for name in {MAIN[test], "round_trip_p99_ns", "lost_ratio"}:
                if (ids[0], name) in self.own:
                    told = [[self.own[i, name] for i in names] for names in each]
                    found[ids, name] = expected(told)
        return found

    @cached_property
    def by_sweeps(self) -> Said:
        """Those of sweeps; which name is of which launch of which condition is told by the half of
        the round trip of the smallest size, which is drawn and no other's."""
        of_no_point = [f for f in self.figures if f.point not in {p.id for p in self.run.points}]
        halves = [f for f in of_no_point if f.name == "half_round_trip_ns"]
        by_half = {(f.transport, f.message_bytes, f.value, f.low): f.point for f in halves}
        assert len(by_half) == len(halves)
        own: dict[str, dict[str, Figure]] = {}
        for figure in of_no_point:
            own.setdefault(figure.point, {})[figure.name] = figure
        found: Said = {}
        for launches in self.drawn.sweeps.values():
            swept: list[dict[str, Figure]] = []
            for _, ids in sorted(launches.items()):
                if len(ids) >= LEAST_SIZES:
                    medians = {size: self.own[i, MAIN["latency"]] for size, i in ids.items()}
                    smallest = medians[min(medians)]
                    assert smallest.low is not None
                    drawn = (min(medians), smallest.value / 2, smallest.low / 2)
                    swept.append(own[by_half[smallest.transport, *drawn]])
                    self.check(swept[-1], medians)
            for name in {name for figures in swept for name in figures}:
                told = [figures[name] for figures in swept if name in figures]
                found[tuple(f.point for f in told), name] = expected([[f] for f in told])
        return found

    def check(self, figures: dict[str, Figure], medians: dict[int, Figure]) -> None:
        """A sweep is of these sizes and of no others."""
        smallest = medians[min(medians)]
        half, peak = figures["half_round_trip_ns"], figures["peak_bit_per_s"]
        assert smallest.low is not None
        assert smallest.high is not None
        assert (half.low, half.high) == (smallest.low / 2, smallest.high / 2)
        assert figures["peak_size_bytes"].value in medians
        assert peak.low is not None
        assert peak.high is not None
        assert peak.low <= peak.value <= peak.high
        if not self.drawn.has_sizes_beside:
            assert peak.value == max(16e9 * size / f.value for size, f in medians.items())

    @cached_property
    def own(self) -> dict[tuple[str, str], Figure]:
        return {(f.point, f.name): f for f in self.figures}


def expected(launches: Sequence[Sequence[Figure]]) -> Ends:
    """The median of launches; its interval from six on, beneath the span of all that is known, and
    never one without a width. What has none in any launch because it needs none is its own ends."""
    if len(launches) == 1 and len(launches[0]) > 1:  # passes of one launch
        return expected([[figure] for figure in launches[0]])
    members = [found[0] for found in launches]
    assert all(len(found) == 1 for found in launches)
    values = sorted(figure.value for figure in members)
    middle = float(median(values))
    if len(values) == 1:
        return middle, members[0].low, members[0].high
    if 6 <= len(values) <= 8 and values[0] < values[-1]:  # order statistics leave out none
        return middle, values[0], values[-1]
    ends = [end for f in members for end in _ends(f)]
    if None in ends or min(ends) == max(ends):  # type: ignore[type-var]
        return middle, None, None
    return middle, min(ends), max(ends)  # type: ignore[type-var]


def _ends(figure: Figure) -> tuple[float | None, float | None]:
    if figure.low is None and figure.effective_samples is None:
        return figure.value, figure.value
    return figure.low, figure.high


def truths_of(count: int) -> Iterator[Truth]:
    """Drawn studies in which something was measured."""
    for seed in range(count):
        run, drawn = drawn_study(seed)
        if any(point.measured for point in run.points):
            yield Truth(run, drawn, figures_of(run))
