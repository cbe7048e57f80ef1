"""Which of the settings that were swept in the simulator was fastest, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netsonde.catalogue.point import Scalar, Simulation
from netsonde.catalogue.swept import is_choice
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of
from netsonde.records.data import Point
from netsonde.units import format_count, format_time

ALIKE = 0.01
"""Times that differ by no more than this are no choice: jitter of a cluster is larger."""
TOLD = 6
"""Sizes that the evidence tells of one by one."""

Given = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class Setting:
    """A point by what could be chosen. ``low_ns`` to ``high_ns`` is the interval over seeds, or
    what its runs spread over where there are too few for one."""

    point: Point
    words: str
    time_ns: float
    low_ns: float
    high_ns: float

    def is_slower_than(self, other: Setting) -> bool:
        return self.time_ns > (1.0 + ALIKE) * other.time_ns and self.low_ns > other.high_ns


@dataclass(frozen=True)
class Place:
    """Settings that did the same work, the fastest first."""

    words: str
    settings: Sequence[Setting]

    @property
    def best(self) -> Setting:
        return self.settings[0]

    @property
    def rivals(self) -> list[Setting]:
        """The others of which none is known to be slower than the best."""
        return [s for s in self.settings[1:] if not s.is_slower_than(self.best)]

    @property
    def next_slower(self) -> Setting:
        return next(s for s in self.settings[1:] if s.is_slower_than(self.best))


def best_of_swept(seen: Seen) -> Iterator[Finding]:
    """Of each scenario, the fastest setting for each work that it was given."""
    found: dict[str, dict[Given, list[Point]]] = {}
    for point in seen.run.select():
        if point.kind.is_simulated:
            asked = point.spec.of(Simulation)
            given = tuple((k, v) for k, v in _swept(point).items() if not is_choice(k))
            found.setdefault(asked.scenario, {}).setdefault(given, []).append(point)
    for scenario, works in found.items():
        places = [_place(seen, given, points, works) for given, points in works.items()]
        compared = [place for place in places if len(place.settings) > 1]
        if compared:
            head = f"{scenario}: " if len(found) > 1 else ""
            yield _finding(head, compared, _without_time(seen, works))


def _place(
    seen: Seen, given: Given, points: Sequence[Point], works: Mapping[Given, object]
) -> Place:
    varied = _varied([dict(other) for other in works])
    words = _in_words({key: value for key, value in given if key in varied})
    told = _varied([_swept(point) for point in points])
    settings = [setting for point in points if (setting := _setting(seen, point, told)) is not None]
    return Place(words, sorted(settings, key=lambda setting: setting.time_ns))


def _setting(seen: Seen, point: Point, told: set[str]) -> Setting | None:
    """None where a host was never done: such a point took no time that could be compared."""
    figure = seen.figure("completion_median_ns", point.id)
    if figure is None:
        return None
    low, high = figure.low, figure.high
    if low is None or high is None:
        low = seen.value("completion_min_ns", point.id)
        high = seen.value("completion_max_ns", point.id)
    words = _in_words({key: value for key, value in _swept(point).items() if key in told})
    return Setting(point, words, figure.value, low, high) if words else None


def _finding(head: str, places: Sequence[Place], without: int) -> Finding:
    points = [setting.point for place in places for setting in place.settings]
    claim = _only(places[0]) if len(places) == 1 else _by_place(places)
    left = len(places) - TOLD
    evidence = [_told(place) for place in places[:TOLD]]
    evidence += [f"{left} more are in the table."] if left > 0 else []
    evidence += (
        [f"{format_count(without, 'point')} never ended and took no time that can be compared."]
        if without
        else []
    )
    return Finding(
        "note",
        f"{head}{claim}",
        " ".join(evidence),
        _advice(points),
        ids_of(points),
        sides=tuple((point.id,) for point in points),
        factor="setting",
    )


def _only(place: Place) -> str:
    best, count = place.best, format_count(len(place.settings), "setting")
    if place.rivals:
        return f"Of {count} swept there is no clear winner: {_tied(place)}."
    return (
        f"Of {count} swept, {best.words} is fastest: {format_time(best.time_ns)}; "
        f"{place.next_slower.words} is next and takes {_longer(place.next_slower, best)} longer."
    )


def _by_place(places: Sequence[Place]) -> str:
    """Each winner with where it wins, in the order in which the works were swept."""
    winners: dict[str, list[str]] = {}
    for place in places:
        winners.setdefault("" if place.rivals else place.best.words, []).append(place.words)
    open_at = winners.pop("", [])
    words = [f"{name} at {_few(at)}" for name, at in winners.items()]
    words += [f"no clear winner at {_few(open_at)}"] if open_at else []
    return f"Fastest of what was swept: {'; '.join(words)}."


def _told(place: Place) -> str:
    """The best, those that may be as good or else the next, and the slowest."""
    best, slowest = place.best, place.settings[-1]
    head = f"{place.words}: " if place.words else ""
    told = place.rivals[: TOLD - 1] or [place.next_slower]
    told += [] if slowest in told else [slowest]
    times = (f"{s.words} {format_time(s.time_ns)} (+{_longer(s, best)})" for s in told)
    return f"{head}{best.words} {format_time(best.time_ns)}, {', '.join(times)}."


def _tied(place: Place) -> str:
    tied = (place.best, *place.rivals)
    most = max(_share(setting, place.best) for setting in tied)
    return (
        f"{_few([setting.words for setting in tied])} are within {most:.1%} of "
        f"{format_time(place.best.time_ns)}"
    )


def _longer(setting: Setting, best: Setting) -> str:
    return f"{_share(setting, best):.1%}"


def _share(setting: Setting, best: Setting) -> float:
    return setting.time_ns / best.time_ns - 1.0


def _few(words: Sequence[str]) -> str:
    if len(words) <= TOLD:
        return ", ".join(words)
    return f"{', '.join(words[:TOLD])} and {len(words) - TOLD} more"


def _advice(points: Sequence[Point]) -> str:
    """One seed shows one course of chance only."""
    if min(point.spec.of(Simulation).runs for point in points) > 1:
        return ""
    return "Each was simulated with one seed; simulation.runs = 9 shows what chance does."


def _without_time(seen: Seen, works: Mapping[Given, Sequence[Point]]) -> int:
    return sum(
        seen.figure("completion_median_ns", point.id) is None
        for points in works.values()
        for point in points
    )


def _varied(tables: Sequence[Mapping[str, Scalar]]) -> set[str]:
    """Keys that have several values."""
    keys = {key for table in tables for key in table}
    return {key for key in keys if len({table.get(key) for table in tables}) > 1}


def _in_words(values: Mapping[str, Scalar]) -> str:
    return ", ".join(
        f"{key.split('.')[-1].replace('_', ' ')} {value}" for key, value in values.items()
    )


def _swept(point: Point) -> Mapping[str, Scalar]:
    return point.spec.of(Simulation).swept or {}
