"""From the times of launches to winners, crossovers and rules (docs/methods/tune-mpi.md).

A survey of a few launches names a leader for each cell; fresh launches of it and of the library's
own way, in pairs, say whether it is faster. So what chose a leader by chance does not judge it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from netsonde.schedules.algorithms import NATIVE
from netsonde.stats.pairs import paired_interval
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.rules import Rule

CONFIDENCE = 0.95
Launches = Mapping[int, float]
"""Of each launch, by its number, the median time of an operation, ns."""
Times = Mapping[Cell, Mapping[str, Launches]]


@dataclass(frozen=True)
class Verdict:
    """A way beside the library's own, in the same launches. ``ratio`` is its time over native's:
    the Hodges-Lehmann centre over pairs of launches; None where there is no pair. ``low`` and
    ``high`` are its interval, of 95 % where one verdict is asked for; None where there are too few
    pairs for one."""

    way: str
    pairs: int
    ratio: float | None
    low: float | None
    high: float | None

    @property
    def is_faster(self) -> bool:
        """Whether the whole interval says so."""
        return self.high is not None and self.high < 1.0

    @property
    def is_slower(self) -> bool:
        return self.low is not None and self.low > 1.0


@dataclass(frozen=True)
class Crossover:
    """Between two neighbouring sizes one way takes over from another: above ``low_bytes``, at
    ``high_bytes`` at the latest; ``estimate_bytes`` is where their times would be equal, drawn
    straight between both sizes on logarithmic axes, None where a way was measured at one of them
    only."""

    cell: Cell
    before: str
    after: str
    low_bytes: int
    high_bytes: int
    estimate_bytes: float | None


def judge(way: str, native: Launches, other: Launches, among: int = 1) -> Verdict:
    """The launches that have both, in pairs. ``among``: so many verdicts hold together with the
    confidence, each with more."""
    shared = sorted(native.keys() & other.keys())
    logs = np.array([math.log(other[n] / native[n]) for n in shared])
    if not shared:
        return Verdict(way, 0, None, None, None)
    found = paired_interval(logs, 1.0 - (1.0 - CONFIDENCE) / among)
    low, high = (None if e is None else math.exp(e) for e in (found.low, found.high))
    return Verdict(way, len(shared), math.exp(found.estimate), low, high)


def median_ns(launches: Launches) -> float:
    return float(np.median(list(launches.values())))


def leader(ways: Mapping[str, Launches], least_gain: float) -> str:
    """The way with the least median, or native unless that is faster by ``least_gain`` (0.03 is
    3 %)."""
    medians = {way: median_ns(found) for way, found in ways.items() if found}
    best = min(medians, key=lambda way: (medians[way], way), default=NATIVE)
    native = medians.get(NATIVE)
    if native is None or medians[best] > native * (1.0 - least_gain):
        return NATIVE
    return best


def leaders(times: Times, least_gain: float) -> dict[Cell, str]:
    """Of each cell that has native's times."""
    return {
        cell: leader(ways, least_gain) for cell, ways in sorted(times.items()) if ways.get(NATIVE)
    }


def sizes_between(chosen: Mapping[Cell, str], factor: float, multiple: int = 1) -> list[Cell]:
    """Where the leader changes between neighbouring sizes that are further apart than ``factor``,
    the size in their middle, on a logarithmic axis."""
    found = []
    for one, other in _changes(chosen):
        if other.size_bytes <= factor * max(one.size_bytes, 1):
            continue
        middle = math.sqrt(max(one.size_bytes, 1) * other.size_bytes)
        size = max(round(middle / multiple) * multiple, multiple)
        if one.size_bytes < size < other.size_bytes:
            found.append(Cell(one.operation, one.ranks, one.ppn, size))
    return found


def crossovers(times: Times, chosen: Mapping[Cell, str]) -> list[Crossover]:
    """Each change of the leader."""
    found = []
    for one, other in _changes(chosen):
        before, after = chosen[one], chosen[other]
        found.append(
            Crossover(
                one, before, after, one.size_bytes, other.size_bytes,
                _equal_at(times, (one, other), (before, after)),
            )
        )  # fmt: skip
    return found


def _equal_at(times: Times, cells: tuple[Cell, Cell], ways: tuple[str, str]) -> float | None:
    try:
        apart = [
            math.log(median_ns(times[cell][ways[1]]) / median_ns(times[cell][ways[0]]))
            for cell in cells
        ]
    except (KeyError, ValueError):
        return None
    if not apart[0] > 0.0 > apart[1]:
        return None
    low, high = (math.log(max(cell.size_bytes, 1)) for cell in cells)
    return math.exp(low + (high - low) * apart[0] / (apart[0] - apart[1]))


def _changes(chosen: Mapping[Cell, str]) -> Iterator[tuple[Cell, Cell]]:
    for cells in _by_place(chosen):
        for one, other in pairwise(cells):
            if chosen[one] != chosen[other]:
                yield one, other


def _by_place(cells: Mapping[Cell, object]) -> list[list[Cell]]:
    """Cells that differ in size alone, from small to large."""
    ordered = sorted(cells)
    return [
        list(members)
        for _, members in groupby(ordered, key=lambda c: (c.operation, c.ranks, c.ppn))
    ]


def rules_of(
    winners: Mapping[Cell, str], measured: Sequence[Cell], has_hosts: bool
) -> tuple[Rule, ...]:
    """From the cells that were won, rules: from the first to the last of neighbouring sizes with
    the same winner. Between sizes of different winners, and outside of all, nothing was proven, and
    the library chooses as before."""
    all_won = {cell: winners.get(cell, NATIVE) for cell in measured}
    found = []
    for cells in _by_place(all_won):
        for way, run in groupby(cells, key=lambda cell: all_won[cell]):
            won = list(run)
            if way == NATIVE:
                continue
            first, last = won[0], won[-1]
            found.append(
                Rule(
                    first.operation, first.ranks, first.ppn if has_hosts else None,
                    first.size_bytes, last.size_bytes, way,
                )
            )  # fmt: skip
    return tuple(found)
