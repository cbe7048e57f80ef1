"""Points with the slowest partner, once it is known: a pure function of plan and measurements."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.figures.data import Figure
from netsonde.figures.partners import slowest_of
from netsonde.records.data import Point
from netsonde.study.plan import PlannedPoint, parameters_of
from netsonde.study.spec import StudySpec


def points_with_the_slowest(
    spec: StudySpec,
    planned: Sequence[PlannedPoint],
    points: Sequence[Point],
    figures: Sequence[Figure],
) -> list[PlannedPoint]:
    """Of every search that has ended and has no points yet: those of the block's sizes, between
    rank 0 and the partner that was slowest. None where no partner could be measured."""
    added: list[PlannedPoint] = []
    done = {_search(p, "sought") for p in planned if "sought" in p.parameters}
    scouts = [p for p in planned if "scout" in p.parameters]
    for search in dict.fromkeys(_search(p, "scout") for p in scouts):
        if search in done:
            continue
        members = {p.id for p in scouts if _search(p, "scout") == search}
        found = slowest_of([p for p in points if p.id in members], figures)
        if found is None:
            continue
        number, ppn, mtu = search
        block = spec.measure[number]
        for size in block.sizes:
            (ranks,) = spec.mpi.ranks
            parameters = parameters_of(spec, block, "mpi", None, size, mtu, ranks)
            own = {"pair": list(found.ranks), "sought": number, "ranks": ranks}
            own |= {} if ppn is None else {"ppn": ppn}
            name = f"p{len(planned) + len(added) + 1:03d}"
            added.append(PlannedPoint(name, "mpi", block.test, {**parameters, **own}))
    return added


def _search(point: PlannedPoint, key: str) -> tuple[int, int | None, int | None]:
    """Which block's, with how many ranks a host and which MTU."""
    given = point.parameters
    return given[key], given.get("ppn"), given["options"].get("mtu")
