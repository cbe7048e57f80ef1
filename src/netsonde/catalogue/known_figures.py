"""All figures that there are, found by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache

from netsonde.catalogue.figure import FigureKind, Unit, unit_in
from netsonde.catalogue.figures import (
    bounds,
    clocks,
    collectives,
    costs,
    datagrams,
    frames,
    hosts,
    latency,
    load,
    other_tools,
    packets,
    pairs,
    patterns,
    programs,
    ranks,
    simulation,
    throughput,
)

SUBJECTS = (
    *(latency, load, throughput, datagrams, packets, patterns, hosts, collectives, ranks, clocks),
    *(bounds, costs, frames),
    *(pairs, simulation, programs, other_tools),
)
ROWS: tuple[FigureKind, ...] = tuple(row for subject in SUBJECTS for row in subject.ROWS)
METHODS: Mapping[str, str] = {
    place: short for subject in SUBJECTS for place, short in subject.METHODS.items()
}
"""What each place of docs/methods says, in short, as ``page#anchor``."""


class UnknownFigureError(LookupError):
    """No row has the name."""


def figure_kind(name: str) -> FigureKind:
    """The row of a figure, all its parts filled in. Raises UnknownFigureError where none knows it:
    who makes a new figure gives it a row."""
    found = find_figure(name)
    if found is None:
        raise UnknownFigureError(f"no row of the catalogue knows the figure {name!r}")
    return found


@lru_cache(maxsize=4096)
def find_figure(name: str) -> FigureKind | None:
    """The same; None where no row knows it."""
    known, families = _index()
    if name in known:
        return known[name]
    for family in families:
        parts = family.match(name)
        if parts is not None:
            return replace(family.of(parts), unit=family.unit or _unit_of_part(parts))
    return None


def unit_of(name: str) -> Unit:
    """The unit of a figure; of one that no row knows, such as a program's own, that which ends its
    name, and ``count`` where none does."""
    found = find_figure(name)
    if found is not None and found.unit is not None:
        return found.unit
    return unit_in(name)


def label_of(name: str) -> str:
    """A figure's name for people; that which it has where no row knows it."""
    found = find_figure(name)
    return name.replace("_", " ") if found is None else found.label


def _unit_of_part(parts: Mapping[str, str]) -> Unit:
    return next(map(unit_of, parts.values()))


@cache
def _index() -> tuple[Mapping[str, FigureKind], tuple[FigureKind, ...]]:
    """Rows by name, and those whose names are not all known."""
    known: dict[str, FigureKind] = {}
    families = []
    for row in (member for each in ROWS for member in each.members()):
        if row.is_open:
            families.append(row)
        elif known.setdefault(row.name, row) is not row:
            raise ValueError(f"two rows have the figure {row.name}")
    return known, tuple(families)
