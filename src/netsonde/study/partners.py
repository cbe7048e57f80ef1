"""Points with the slowest partner, once it is known: a pure function of plan and measurements."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.catalogue.point import PointSpec
from netsonde.figures.data import Figure
from netsonde.figures.partners import slowest_of
from netsonde.records.data import Point
from netsonde.study.plan import PlannedPoint, numbered, spec_of_block
from netsonde.study.spec import StudySpec


def points_with_the_slowest(
    spec: StudySpec,
    planned: Sequence[PlannedPoint],
    points: Sequence[Point],
    figures: Sequence[Figure],
) -> list[PlannedPoint]:
    """Of every search that has ended and has no points yet: those of the block's sizes, between
    rank 0 and the partner that was slowest. None where no partner could be measured."""
    added: list[tuple[str, str, PointSpec]] = []
    done = {_search(p, p.spec.sought) for p in planned if p.spec.sought is not None}
    scouts = [p for p in planned if p.spec.scout is not None]
    for search in dict.fromkeys(_search(p, p.spec.scout) for p in scouts):
        if search in done:
            continue
        of_search = [p for p in scouts if _search(p, p.spec.scout) == search]
        members = {p.id for p in of_search}
        found = slowest_of([p for p in points if p.id in members], figures)
        if found is None:
            continue
        number, ppn, mtu = search
        block, transport = spec.measure[number], of_search[0].transport
        (ranks,) = spec.mpi.ranks
        told = {"pair": found.ranks, "sought": number, "ranks": ranks, "ppn": ppn}
        for size in block.sizes:
            own = spec_of_block(spec, block, transport, None, size, mtu, told=told)
            added.append((transport, block.test, own))
    return numbered(added, len(planned))


def _search(point: PlannedPoint, block: int | None) -> tuple[int, int | None, int | None]:
    """Which block's, with how many ranks a host and which MTU."""
    return block or 0, point.spec.ppn, point.spec.chosen.mtu
