"""Whether a run's figures are what they have to be: met, missed, or not decided.

A figure is judged by its whole interval, so that neither verdict rests on chance alone. Definitions
are in docs/methods/requirements.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from netsonde.catalogue.point import AllPairs
from netsonde.figures.all_pairs import (
    MEASURE_NAMES,
    host_names_of,
    pair_values,
    pairs_of_round,
)
from netsonde.figures.data import Figure
from netsonde.figures.headlines import (
    LaunchValue,
    Measured,
    by_launch,
    launch_values,
    of_no_point,
    over_launches,
)
from netsonde.figures.keys import FigureKey, key_of, labels_of
from netsonde.figures.requirements import DECISIONS, Decision, Requirement
from netsonde.records.data import Point, Run
from netsonde.units import value_in_words

NO_INTERVAL = "no interval: too few samples"
WORDS: dict[Decision, str] = {
    "missed": "missed",
    "unmeasured": "without result",
    "undecided": "undecided",
    "met": "met",
}


@dataclass(frozen=True)
class Judgement:
    """What became of a requirement at one point, over all its launches.

    ``value`` is the launches' median; ``low`` and ``high`` are what it was judged by, as
    :mod:`netsonde.figures.headlines` has them. They are None where the figure never has an
    interval, and the value decided, and where it has too few samples for one, and nothing did. All
    are None, and ``points`` may be empty, where there is nothing to judge.
    """

    requirement: Requirement
    label: str
    verdict: Decision
    value: float | None = None
    low: float | None = None
    high: float | None = None
    launches: int = 0
    points: tuple[str, ...] = ()

    @property
    def reserve_ratio(self) -> float:
        return 0.0 if self.value is None else self.requirement.reserve_ratio(self.value)

    def value_in_words(self) -> str:
        """``941.2 Mbit/s (940.8 Mbit/s to 941.6 Mbit/s)``; ``not measured``."""
        if self.value is None:
            return "not measured"
        unit = self.requirement.unit
        words = value_in_words(self.value, unit)
        if self.low is None or self.high is None:
            return f"{words} ({NO_INTERVAL})" if self.verdict == "undecided" else words
        return f"{words} ({value_in_words(self.low, unit)} to {value_in_words(self.high, unit)})"


def judge(
    run: Run, figures: Sequence[Figure], requirements: Iterable[Requirement]
) -> list[Judgement]:
    """A judgement for each requirement at each point that it is of, the worst first of each.

    Launches of a point are judged together. A requirement that nothing was measured for has one
    judgement, which says so; so has each of its points that was not measured.
    """
    by_point: dict[str, list[Figure]] = {}
    for figure in figures:
        by_point.setdefault(figure.point, []).append(figure)
    found = []
    for requirement in requirements:
        own = [
            *_of_points(run, by_point, requirement),
            *_of_sweeps(run, figures, requirement),
            *_of_pairs(run, requirement),
        ]
        nothing = [Judgement(requirement, "no point has this figure", "unmeasured")]
        found += sorted(own, key=lambda j: (DECISIONS.index(j.verdict), j.reserve_ratio)) or nothing
    return found


def _of_points(
    run: Run, by_point: Mapping[str, Sequence[Figure]], requirement: Requirement
) -> list[Judgement]:
    def required(point: Point) -> list[Figure]:
        return [f for f in by_point.get(point.id, ()) if f.name == requirement.figure]

    concerned = [point for point in run.points if requirement.concerns(point)]
    values: dict[FigureKey, Measured] = by_launch(concerned, required)
    has_it = {(key.transport, key.test) for key in values}
    missing: dict[FigureKey, list[Point]] = {}
    for point in concerned:
        if not point.measured and not point.kind.is_round:
            missing.setdefault(key_of(point, requirement.figure), []).append(point)
    # A point that was not measured would have had the figure if others of its test have it; where
    # none has, nobody knows.
    lost = {
        key: points
        for key, points in missing.items()
        if key not in values and (not has_it or (key.transport, key.test) in has_it)
    }
    labels = labels_of([*values, *lost])
    judged = [_judged(requirement, labels[key], launch_values(own)) for key, own in values.items()]
    return judged + [
        Judgement(requirement, labels[key], "unmeasured", points=tuple(p.id for p in points))
        for key, points in lost.items()
    ]


def _of_sweeps(run: Run, figures: Sequence[Figure], requirement: Requirement) -> list[Judgement]:
    """Figures of a sweep or of several points together have a name in place of a point."""
    own = [figure for figure in figures if figure.name == requirement.figure]
    return [
        replace(_judged(requirement, key.name or "", launch_values(measured)), points=())
        for key, measured in of_no_point(own, {point.id for point in run.points}).items()
        if requirement.transport in (None, key.transport)
        and requirement.test in (None, key.test)
        and requirement.operation in (None, key.operation)
        and requirement.label in (None, key.name)
        and not requirement.sizes
    ]


def _of_pairs(run: Run, requirement: Requirement) -> list[Judgement]:
    """Those of each pair of hosts and direction of a run of all pairs; a pair that was to be
    measured and was not, such as of a host that died, is without result."""
    rounds = [point for point in run.points if point.kind.is_round]
    if requirement.figure not in MEASURE_NAMES or not any(map(requirement.concerns, rounds)):
        return []
    measured = pair_values(run).get(requirement.figure)
    if measured is None:
        return []
    hosts = host_names_of(run)
    values: dict[tuple[int, int], list[LaunchValue]] = {}
    for origin, target, value, off in zip(
        measured.origin, measured.target, measured.value, measured.uncertainty, strict=True
    ):
        visits = values.setdefault((int(origin), int(target)), [])
        ends = float(value - off), float(value + off)
        visits.append(LaunchValue(len(visits) + 1, float(value), *ends))
    planned: dict[frozenset[int], list[str]] = {}
    for point in rounds:
        for pair in pairs_of_round(point.spec.of(AllPairs)):
            planned.setdefault(frozenset(pair), []).append(point.id)
    met = {frozenset(pair) for pair in values}
    judged = [
        _judged(requirement, f"{hosts[origin]} to {hosts[target]}", own)
        for (origin, target), own in values.items()
    ]
    return judged + [
        Judgement(
            requirement,
            " and ".join(hosts[host] for host in sorted(pair)),
            "unmeasured",
            points=tuple(ids),
        )
        for pair, ids in planned.items()
        if pair not in met
    ]


def _judged(requirement: Requirement, label: str, launches: Sequence[LaunchValue]) -> Judgement:
    """By the interval of the launches' median where there are enough of them; else every launch's
    interval has to be on the same side. What has too few samples for one may be anything."""
    found = over_launches(launches)
    low, high = found.low, found.high
    if low is None or high is None:
        is_exact = all(launch.is_exact for launch in launches)
        off = 0.0 if is_exact else inf
        low, high = found.value - off, found.value + off
    return Judgement(
        requirement,
        label,
        requirement.decide(low, high),
        found.value,
        found.low,
        found.high,
        len(launches),
        tuple(point for launch in launches for point in launch.points),
    )


def counts_in_words(judgements: Iterable[Judgement]) -> str:
    """How many have each verdict, the worst first: ``1 missed, 11 met``."""
    counts = counts_of(judgements)
    return ", ".join(f"{count} {WORDS[decision]}" for decision, count in counts.items() if count)


def counts_of(judgements: Iterable[Judgement]) -> Mapping[Decision, int]:
    """How many have each verdict, the worst first."""
    verdicts = [judgement.verdict for judgement in judgements]
    return {decision: verdicts.count(decision) for decision in DECISIONS}
