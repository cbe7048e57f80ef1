"""Points that are measured again before an MPI library is accused: a pure function of plan and
measurements.

A guideline that seems to be violated may have been disturbed once. So both of its sides are
measured again, in rounds after all that was asked for, until each was measured ``TIMES`` times or
the guideline held once. What is left is decided by :mod:`netsonde.figures.guidelines`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from netsonde.catalogue.point import PointSpec
from netsonde.figures.data import Figure
from netsonde.figures.guidelines import compare_guidelines, points_of
from netsonde.records.data import Point, Run
from netsonde.study.plan import PlannedPoint, numbered, round_of

TIMES = 3
"""So often both sides are measured in all, in launches or again: one disturbance, and a second one
at the same operation, are outlived."""
MOST_POINTS = 24
"""Of a run: the operations of some eight guidelines."""
MOST_S = 120.0
"""By how long the same points lasted when they were measured first."""


def accused_again(
    planned: Sequence[PlannedPoint], run: Run, figures: Sequence[Figure]
) -> list[PlannedPoint]:
    """The next round's points, those of the violation that costs most first; none where none is
    left, or the limits are reached. ``run`` has what was measured of the plan, with its figures.
    Ids go on from those of the plan."""
    what = {point.id: _what(point) for point in planned}
    counts = Counter(what.values())
    lasted = {what[p.id]: _lasted_s(p) for p in run.points}
    left_s = MOST_S - sum((count - 1) * lasted.get(w, 0.0) for w, count in counts.items())
    left = MOST_POINTS - sum(count - 1 for count in counts.values())
    number = max((round_of(point) for point in planned), default=0) + 1
    added: list[tuple[str, str, PointSpec]] = []
    seen = set[str]()
    for sides in _violated(run, figures):
        # One that failed when it was measured again is not tried for ever.
        if any(counts[what[point.id]] >= TIMES for point in sides):
            continue
        new = {what[p.id]: p for p in sides if what[p.id] not in seen}
        left_s -= sum(lasted[w] for w in new)
        left -= len(new)
        if left_s < 0.0 or left < 0:
            break
        seen |= new.keys()
        for point in new.values():
            own = replace(point.spec, refine=None, refined=number)
            added.append((point.transport, point.test, own))
    return numbered(added, len(planned))


def _violated(run: Run, figures: Sequence[Figure]) -> list[list[Point]]:
    """The points on both sides of each violated guideline that was not measured often enough."""
    compared = compare_guidelines(run, figures)
    doubtful = [c for c in compared if c.is_violated and c.rounds < TIMES]
    return [points_of(run, c) for c in sorted(doubtful, key=lambda c: -c.gain)]


def _what(point: PlannedPoint | Point) -> str:
    """What a point has in common with those that measure the same again."""
    own = replace(point.spec, refine=None, refined=None).to_json()
    return json.dumps([point.transport, point.test, own], sort_keys=True)


def _lasted_s(point: Point) -> float:
    if not point.started_utc or not point.ended_utc:
        return 0.0
    begin, end = (datetime.fromisoformat(t) for t in (point.started_utc, point.ended_utc))
    return (end - begin).total_seconds()
