"""Outliers of an operation over several launches: which come again, and which are accidents.

A repetition is an outlier of its launch where it lies beyond Tukey's outer fence, three times the
middle half's width above its upper end, and a tenth above the median. It may come again in three
ways: at the same place of the sequence of repetitions, because of the same rank, or with about the
same value. Each way has a number of launches and the number that chance would make of it
(:mod:`netsonde.stats.recurrence`, docs/methods/recurrence.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Collective
from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.figures.side_by_side import launches_of
from netsonde.figures.stragglers import lateness_of
from netsonde.ranks.repetitions import has_summary
from netsonde.ranks.times import rank_times
from netsonde.records.data import Point, Run
from netsonde.stats.recurrence import expected_by_chance, hits_of

OUTER_FENCE = 3.0
"""J. W. Tukey, Exploratory Data Analysis, 1977, section 2D: values beyond are far out."""
LEAST_BEYOND = 0.1
"""And such a share above the median: of a very narrow distribution, less is of no use."""
LEAST_REPETITIONS = 20
"""Of a launch, so that it has a middle half."""
SHARE_OF_LAUNCHES = 0.5
"""What comes again does in this share of the launches, at least."""
BY_CHANCE = 0.05
"""And fewer than so many such things are to be expected by chance."""
VALUE_WIDTH = math.log(1.25)
"""Values within a quarter count as the same."""
ONE_RANK = 2.0
"""One rank alone is behind an outlier where its stay grew so many times as much as any other's."""

Way = Literal["place", "rank", "value"]


@dataclass(frozen=True)
class Outlier:
    """``place`` numbers the repetitions of a launch from 0; ``rank`` is behind it, where one is."""

    launch: int
    place: int
    value_ns: float
    rank: int | None


@dataclass(frozen=True)
class Again:
    """Something that was seen in ``hits`` of the launches. ``what`` is the place, the rank, or the
    middle of the values, ns; ``expected`` is how many of its kind chance makes so frequent."""

    way: Way
    what: float
    hits: int
    expected: float
    launches: int

    @property
    def is_real(self) -> bool:
        often = self.hits >= max(2, math.ceil(SHARE_OF_LAUNCHES * self.launches))
        return often and self.expected < BY_CHANCE


@dataclass(frozen=True)
class Launch:
    """Of one launch: the point, how many repetitions it had, its median and its outliers."""

    number: int
    point: Point
    repetitions: int
    median_ns: float
    fence_ns: float
    outliers: tuple[Outlier, ...]


@dataclass(frozen=True)
class Recurrence:
    """One test over its launches. ``again`` is everything that two launches or more have in
    common, the most frequent first; those of which is_real holds come again."""

    launches: tuple[Launch, ...]
    again: tuple[Again, ...]

    @property
    def example(self) -> Point:
        return self.launches[0].point

    @property
    def outliers(self) -> list[Outlier]:
        return [outlier for launch in self.launches for outlier in launch.outliers]

    def ways(self, outlier: Outlier) -> list[Again]:
        """By what an outlier comes again; empty where it is an accident."""
        return [again for again in self.again if again.is_real and _has(again, outlier)]


def recurrences(run: Run) -> list[Recurrence]:
    """Every test of a run that was measured in several launches, in the order of the study."""
    found = []
    for points in launches_of(run):
        launches = [launch for point in points if (launch := _launch(point)) is not None]
        if len(launches) > 1:
            found.append(Recurrence(tuple(launches), tuple(_again(launches))))
    return found


def recurrence_figures(run: Run) -> list[Figure]:
    """Of each launch, the share of its repetitions that are outliers, and of these the share that
    comes again."""
    figures = []
    for found in recurrences(run):
        for launch in found.launches:
            maker, count = Maker(launch.point), len(launch.outliers)
            figures.append(maker.ratio("outlier_ratio", count, launch.repetitions))
            if count:
                again = sum(bool(found.ways(outlier)) for outlier in launch.outliers)
                figures.append(maker.ratio("outliers_again_ratio", again, count))
    return figures


def _launch(point: Point) -> Launch | None:
    """None where single repetitions are not known, or are too few."""
    if not point.batches or any(has_summary(batch) for batch in point.batches):
        return None
    if point.kind.is_operation:
        try:
            found = rank_times(point)
        except ValueError:
            return None
        places, times = found.repetition, found.slowest_ns
    else:
        times = point.series("round_trip_ns").astype(np.float64)
        places = np.arange(len(times))
    if len(times) < LEAST_REPETITIONS:
        return None
    low, median, high = (float(q) for q in np.quantile(times, (0.25, 0.5, 0.75)))
    fence = max(high + OUTER_FENCE * (high - low), (1 + LEAST_BEYOND) * median)
    beyond = np.flatnonzero(times > fence)
    blamed = _blamed(point, places[beyond])
    number = point.spec.launch or 1
    outliers = tuple(
        Outlier(number, int(places[i]), float(times[i]), rank)
        for i, rank in zip(beyond.tolist(), blamed, strict=True)
    )
    return Launch(number, point, int(places[-1]) + 1, median, fence, outliers)


def _blamed(point: Point, places: npt.NDArray[np.int64]) -> list[int | None]:
    """Of each of these repetitions, the rank that came late, by as much as others had to wait; else
    the one whose own stay grew far more than any other's; None where it is neither."""
    nobody: list[int | None] = [None] * len(places)
    if not point.kind.is_operation or not len(places) or len(point.batches[0].ends) < 2:
        return nobody
    ranks = sorted(point.batches[0].ends)
    stays = np.stack([point.series("duration_ns", rank) for rank in ranks]).astype(np.float64)
    grown = (stays - np.median(stays, axis=1, keepdims=True))[:, places]
    begins_alike = point.spec.of(Collective).start != "none"
    late = lateness_of(point.batches) if begins_alike else None
    beyond = np.full_like(grown, -np.inf)
    if late is not None:
        beyond = (late.entered - np.median(late.entered, axis=1, keepdims=True))[:, places]
    found = list[int | None]()
    for place in range(len(places)):
        latest, most = int(beyond[:, place].argmax()), int(grown[:, place].argmax())
        second = float(np.sort(grown[:, place])[-2])
        if beyond[latest, place] >= 0.5 * grown[most, place]:
            found.append(ranks[latest])
        elif grown[most, place] >= ONE_RANK * max(second, 0.0):
            found.append(ranks[most])
        else:
            found.append(None)
    return found


def _again(launches: Sequence[Launch]) -> list[Again]:
    found = [*_places(launches), *_ranks(launches), *_values(launches)]
    return sorted(found, key=lambda again: (-again.is_real, -again.hits, again.expected))


def _places(launches: Sequence[Launch]) -> Iterator[Again]:
    """Only places that every launch has: another number of repetitions is no absence."""
    common = min(launch.repetitions for launch in launches)
    trials = [{o.place for o in launch.outliers if o.place < common} for launch in launches]
    chances = [len(places) / common for places in trials]
    for place, hits in hits_of(trials).items():
        if hits > 1:
            expected = expected_by_chance(common, chances, hits)
            yield Again("place", place, hits, expected, len(launches))


def _ranks(launches: Sequence[Launch]) -> Iterator[Again]:
    """In how many launches a rank was behind more outliers than any other one."""
    ranks = len(launches[0].point.batches[0].ends)
    if not launches[0].point.kind.is_operation or ranks < 2:
        return
    trials = [_most_blamed(launch) for launch in launches]
    chances = [1.0 / ranks if trial else 0.0 for trial in trials]
    for rank, hits in hits_of(trials).items():
        if hits > 1:
            yield Again("rank", rank, hits, expected_by_chance(ranks, chances, hits), len(launches))


def _most_blamed(launch: Launch) -> list[int]:
    counts = Counter(o.rank for o in launch.outliers if o.rank is not None).most_common(2)
    is_one = len(counts) == 1 or (len(counts) > 1 and counts[0][1] > counts[1][1])
    return [counts[0][0]] if is_one else []


def _values(launches: Sequence[Launch]) -> Iterator[Again]:
    """Values by the logarithm, in groups a quarter wide. By chance an outlier lies anywhere between
    the fence and the largest of all. Groups are put where outliers are, so what is expected is how
    many outliers have near ones in so many of the other launches."""
    logs = sorted(math.log(o.value_ns) for launch in launches for o in launch.outliers)
    if not logs:
        return
    low = min(math.log(launch.fence_ns) for launch in launches)
    one = min(1.0, VALUE_WIDTH / max(logs[-1] - low, VALUE_WIDTH))
    counts = [len(launch.outliers) for launch in launches]
    chances = [1.0 - (1.0 - one) ** count for count in counts]
    for middle in _middles(logs):
        hits = sum(any(_is_near(o.value_ns, middle) for o in la.outliers) for la in launches)
        if hits > 1:
            expected = sum(
                expected_by_chance(count, [*chances[:i], *chances[i + 1 :]], hits - 1)
                for i, count in enumerate(counts)
            )
            yield Again("value", middle, hits, expected, len(launches))


def _middles(logs: Sequence[float]) -> Iterator[float]:
    begin = -math.inf
    for log in logs:
        if log > begin + VALUE_WIDTH:
            begin = log
            members = [other for other in logs if begin <= other <= begin + VALUE_WIDTH]
            yield math.exp(float(np.median(members)))


def _is_near(value_ns: float, middle_ns: float) -> bool:
    return abs(math.log(value_ns / middle_ns)) <= VALUE_WIDTH / 2


def _has(again: Again, outlier: Outlier) -> bool:
    match again.way:
        case "place":
            return outlier.place == again.what
        case "rank":
            return outlier.rank == again.what
        case "value":
            return _is_near(outlier.value_ns, again.what)


def in_runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Places that follow each other, as first and last."""
    keyed = enumerate(sorted(places))
    runs = [
        [p for _, p in group] for _, group in groupby(keyed, key=lambda pair: pair[1] - pair[0])
    ]
    return [(run[0], run[-1]) for run in runs]
