"""The search: what is measured next, within a budget of time. Knows no clock and no MPI: what
measures is given to it, and a test gives it known times."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from netsonde.operations import operations
from netsonde.schedules.algorithms import NATIVE
from netsonde.stats.pairs import fewest_pairs
from netsonde.tuning.mpi.candidates import Cell, Link, Pruned, prune
from netsonde.tuning.mpi.choose import (
    CONFIDENCE,
    Crossover,
    Times,
    Verdict,
    crossovers,
    judge,
    leaders,
    median_ns,
    sizes_between,
)
from netsonde.units import format_count, format_duration

SURVEY_LAUNCHES = 3
SURVEY_SHARE = 0.45
"""Of the budget, for the first look at all cells."""
REFINE_SHARE = 0.15
REFINE_ROUNDS = 3
REFINE_FACTOR = 2.0
"""Neighbouring sizes are not brought closer."""
FEWEST_PAIRS = fewest_pairs(1.0 - CONFIDENCE)
USUAL_PAIRS = 10
MOST_PAIRS = 20
LEAST_CAP_NS = 5_000_000
MOST_CAP_NS = 200_000_000
POINT_COST_NS = 100_000_000
"""What a point takes beside its repetitions, until it was seen."""
LAUNCH_COST_NS = 1_000_000_000
Ways = Mapping[Cell, Sequence[str]]


@dataclass(frozen=True)
class Measured:
    """``failures`` are sentences: why a way was not measured in a cell."""

    times: Times
    failures: Mapping[tuple[Cell, str], str] = field(default_factory=dict)


class Bench(Protocol):
    """What measures. ``cap_ns`` is for each way of each cell in each launch; after ``time_ns`` what
    is left of them is not measured."""

    def measure(
        self, ways: Ways, launches: int, cap_ns: int, name: str, time_ns: int
    ) -> Measured: ...
    def spent_ns(self) -> int: ...


@dataclass(frozen=True)
class Wanted:
    """``ways`` are those of each operation, native first. ``least_gain`` as a share of the time.
    ``costs``: what cells cost a program, by which those come first that cost most."""

    cells: tuple[Cell, ...]
    ways: Mapping[str, Sequence[str]]
    budget_ns: int
    least_gain: float
    seed: int
    link: Link
    costs: Mapping[Cell, float] | None = None


@dataclass
class Found:
    """``times`` of the survey, ``leaders`` by them, ``verdicts`` of fresh launches about leaders
    that are not native; ``winners`` are those that the interval is for."""

    times: dict[Cell, dict[str, dict[int, float]]] = field(default_factory=dict)
    leaders: dict[Cell, str] = field(default_factory=dict)
    verdicts: dict[Cell, Verdict] = field(default_factory=dict)
    pruned: dict[Cell, Pruned] = field(default_factory=dict)
    failures: dict[tuple[Cell, str], str] = field(default_factory=dict)
    crossovers: list[Crossover] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def winners(self) -> dict[Cell, str]:
        return {cell: v.way for cell, v in self.verdicts.items() if v.is_faster}

    @property
    def missed(self) -> dict[Cell, str]:
        """Ways that the model would have left out, and that lead their cell."""
        return {
            cell: way
            for cell, way in self.leaders.items()
            if cell in self.pruned and way in self.pruned[cell].sampled
        }

    @property
    def sampled(self) -> int:
        return sum(len(p.sampled) for p in self.pruned.values())


def search(bench: Bench, wanted: Wanted, say: Callable[[str], None]) -> Found:
    """Surveys, looks closer where leaders change, and confirms leaders by fresh launches."""
    found = Found()
    chance = random.Random(wanted.seed)
    cells = _that_fit(wanted, found)
    for cell in cells:
        found.pruned[cell] = prune(wanted.ways[cell.operation], cell, wanted.link, chance)
    ways = {cell: (*p.kept, *p.sampled) for cell, p in found.pruned.items()}
    points = sum(map(len, ways.values()))
    share_ns = round(SURVEY_SHARE * wanted.budget_ns) - bench.spent_ns()
    cap_ns = _cap(share_ns, points * SURVEY_LAUNCHES)
    say(f"survey: {format_count(points, 'way')} of {format_count(len(cells), 'cell')}")
    _take(found, bench.measure(ways, SURVEY_LAUNCHES, cap_ns, "survey", share_ns))
    found.leaders = leaders(found.times, wanted.least_gain)
    if (lacking := len(cells) - len(found.leaders)) > 0:
        found.notes.append(
            f"{format_count(lacking, 'cell')} not measured within the budget of "
            f"{format_duration(wanted.budget_ns)}"
        )
    _look_closer(bench, wanted, found, cap_ns, say)
    found.crossovers = crossovers(found.times, found.leaders)
    _confirm(bench, wanted, found, cap_ns, say)
    return found


def _that_fit(wanted: Wanted, found: Found) -> list[Cell]:
    """Cells for whose survey there is time; of too many sizes every second one goes."""
    if wanted.costs is not None:
        return _that_cost_most(wanted, wanted.costs, found)
    cells = sorted(wanted.cells)
    left_out = 0
    while True:
        points = sum(len(wanted.ways[cell.operation]) for cell in cells)
        needs = SURVEY_LAUNCHES * points * (LEAST_CAP_NS + POINT_COST_NS)
        if needs <= SURVEY_SHARE * wanted.budget_ns or len(cells) <= 1:
            break
        sizes = sorted({cell.size_bytes for cell in cells})
        if len(sizes) < 2:
            break
        kept = set(sizes[::2])
        left_out += len(sizes) - len(kept)
        cells = [cell for cell in cells if cell.size_bytes in kept]
    if left_out:
        found.notes.append(
            f"{format_count(left_out, 'size')} left out: the survey of all does not fit "
            f"{format_duration(wanted.budget_ns)}; give a longer budget, fewer operations or sizes"
        )
    return cells


def _that_cost_most(wanted: Wanted, costs: Mapping[Cell, float], found: Found) -> list[Cell]:
    cells: list[Cell] = []
    left_ns = SURVEY_SHARE * wanted.budget_ns
    ordered = sorted(wanted.cells, key=lambda cell: (-costs.get(cell, 0.0), cell))
    for cell in ordered:
        ways = len(wanted.ways[cell.operation])
        left_ns -= SURVEY_LAUNCHES * ways * (LEAST_CAP_NS + POINT_COST_NS)
        if left_ns < 0 and cells:
            break
        cells.append(cell)
    if left_out := len(ordered) - len(cells):
        found.notes.append(
            f"{format_count(left_out, 'cell')} that cost least left out: the survey of all does "
            f"not fit {format_duration(wanted.budget_ns)}; give a longer budget"
        )
    return sorted(cells)


def _cap(time_ns: int, points: int) -> int:
    """How long a point is measured, so that all fit."""
    each = time_ns // max(points, 1) - POINT_COST_NS
    return min(max(each, LEAST_CAP_NS), MOST_CAP_NS)


def _take(found: Found, measured: Measured) -> None:
    for cell, ways in measured.times.items():
        for way, launches in ways.items():
            found.times.setdefault(cell, {}).setdefault(way, {}).update(launches)
    found.failures |= measured.failures


def _look_closer(
    bench: Bench, wanted: Wanted, found: Found, cap_ns: int, say: Callable[[str], None]
) -> None:
    if wanted.costs is not None:
        return  # a program does not call what lies between
    until_ns = (SURVEY_SHARE + REFINE_SHARE) * wanted.budget_ns
    for number in range(1, REFINE_ROUNDS + 1):
        between: dict[Cell, tuple[str, ...]] = {}
        for operation in sorted({cell.operation for cell in found.leaders}):
            of_it = {c: way for c, way in found.leaders.items() if c.operation == operation}
            multiple = operations()[operation].multiple_bytes
            for cell in sizes_between(of_it, REFINE_FACTOR, multiple):
                between[cell] = _around(cell, of_it)
        points = sum(map(len, between.values()))
        needs = SURVEY_LAUNCHES * (points * (cap_ns + POINT_COST_NS) + LAUNCH_COST_NS)
        if not between or bench.spent_ns() + needs > until_ns:
            return
        say(f"between sizes where the leader changes: {format_count(len(between), 'cell')}")
        left_ns = round(until_ns) - bench.spent_ns()
        _take(found, bench.measure(between, SURVEY_LAUNCHES, cap_ns, f"refine-{number}", left_ns))
        found.leaders = leaders(found.times, wanted.least_gain)


def _around(cell: Cell, chosen: Mapping[Cell, str]) -> tuple[str, ...]:
    """native, and the leaders of the sizes on either side."""
    same = [c for c in chosen if (c.ranks, c.ppn) == (cell.ranks, cell.ppn)]
    below = max((c for c in same if c.size_bytes < cell.size_bytes), default=None)
    above = min((c for c in same if c.size_bytes > cell.size_bytes), default=None)
    ways = [NATIVE, *(chosen[c] for c in (below, above) if c is not None)]
    return tuple(dict.fromkeys(ways))


def _confirm(
    bench: Bench, wanted: Wanted, found: Found, cap_ns: int, say: Callable[[str], None]
) -> None:
    """Fresh launches of native and each leader, the largest savings first where time is short."""
    led = [cell for cell, way in found.leaders.items() if way != NATIVE]
    costs = wanted.costs or {}
    led.sort(key=lambda cell: (_ratio(found, cell) - 1.0) * costs.get(cell, 1.0))
    each_ns = 2 * (cap_ns + POINT_COST_NS)
    left_ns = wanted.budget_ns - bench.spent_ns()
    fit = max(0, round((left_ns / FEWEST_PAIRS - LAUNCH_COST_NS) / each_ns))
    if fit < len(led):
        found.notes.append(
            f"{format_count(len(led) - fit, 'leader')} not confirmed: the budget of "
            f"{format_duration(wanted.budget_ns)} was spent; there the library chooses as before"
        )
        led = led[:fit]
    if not led:
        return
    launches = int(left_ns / (len(led) * each_ns + LAUNCH_COST_NS))
    launches = min(max(launches, FEWEST_PAIRS), MOST_PAIRS)
    say(f"fresh launches: {format_count(len(led), 'leader')} beside native, {launches} times")
    ways = {cell: (NATIVE, found.leaders[cell]) for cell in led}
    fresh = bench.measure(ways, launches, cap_ns, "confirm", left_ns)
    found.failures |= fresh.failures
    if not fresh.times and fresh.failures:
        found.notes.append(f"no leader confirmed: {next(iter(fresh.failures.values()))}")
    for cell in led:
        measured = fresh.times.get(cell, {})
        way = found.leaders[cell]
        found.verdicts[cell] = judge(way, measured.get(NATIVE, {}), measured.get(way, {}))


def _ratio(found: Found, cell: Cell) -> float:
    ways = found.times[cell]
    return median_ns(ways[found.leaders[cell]]) / median_ns(ways[NATIVE])
