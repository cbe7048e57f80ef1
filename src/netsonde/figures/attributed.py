"""Which of the factors that a run varies explains how much of a figure.

Method: docs/methods/simulations.md, "Effects".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from netsonde.catalogue.point import Scalar, Simulation
from netsonde.figures.gathers import line_uses, sink_rate_bit_per_s
from netsonde.figures.maker import MAKERS, Maker
from netsonde.records.data import Point, Run
from netsonde.stats.attribution import Attributed, attributed

USUAL = "line_use_ratio"
Row = tuple[dict[str, Scalar], list[float]]
"""What was chosen of each factor, and what was found: of each seed or batch."""


@dataclass(frozen=True)
class Effects:
    """Of one figure over points that differ in nothing but factors; ``where`` is their scenario or
    test."""

    where: str
    figure: str
    points: int
    found: Attributed


def effects_of(run: Run) -> list[Effects]:
    """Of all simulated points of one scenario together, and of all gathers; none where they are no
    full design of two factors or more."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Row]] = {}
    for where, figure, row in (*_simulated(run.points), *_measured(run)):
        if row[1]:
            groups.setdefault((where, figure, tuple(row[0])), []).append(row)
    effects = []
    for (where, figure, _), rows in groups.items():
        found = _attributed(rows)
        if found is not None:
            effects.append(Effects(where, figure, len(rows), found))
    return effects


def _simulated(points: Sequence[Point]) -> Iterator[tuple[str, str, Row]]:
    for point in points:
        if not point.kind.is_simulated:
            continue
        spec = point.spec.of(Simulation)
        figure = spec.compared or USUAL
        yield spec.scenario, figure, (dict(spec.swept or {}), _of_seeds(point, figure))


def _of_seeds(point: Point, figure: str) -> list[float]:
    makes = MAKERS[point.test]
    alone = (makes(Maker(replace(point, batches=[batch]))) for batch in point.batches)
    return [one.value for figures in alone for one in figures if one.name == figure]


def _measured(run: Run) -> Iterator[tuple[str, str, Row]]:
    for point in run.points:
        rate = sink_rate_bit_per_s(run, point) if point.kind.is_whole and point.batches else None
        if rate:
            chosen = {"bytes": point.message_bytes, **point.spec.chosen.to_json()}
            yield point.kind.title, USUAL, (chosen, line_uses(point, rate))


def _attributed(rows: Sequence[Row]) -> Attributed | None:
    """None of what is no full design; of cells with more values than others the first ones."""
    names = _factors([chosen for chosen, _ in rows])
    least = min(len(values) for _, values in rows)
    cells: dict[tuple[object, ...], list[float]] = {}
    for chosen, values in rows:
        cells.setdefault(tuple(chosen.get(name) for name in names), []).extend(values[:least])
    try:
        return attributed(names, cells)
    except ValueError:
        return None


def _factors(chosen: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """The keys of several values; of keys that change together the first."""
    names = list(dict.fromkeys(name for one in chosen for name in one))
    found: dict[tuple[int, ...], str] = {}
    for name in names:
        values = [one.get(name) for one in chosen]
        places = list(dict.fromkeys(values))
        if len(places) > 1:
            found.setdefault(tuple(places.index(value) for value in values), name)
    return list(found.values())
