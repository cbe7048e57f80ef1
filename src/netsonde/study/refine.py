"""Further sizes for a sweep, where its curve breaks: a pure function of plan and measurements.

The plan of a run grows by rounds. A round is made when everything before it has been measured, from
nothing but the points and their medians, so a run that was killed and goes on makes the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from netsonde.figures.sweeps import Sweep, sweep_fit, sweep_key
from netsonde.records.data import Point
from netsonde.stats.sweeps import broken_gaps
from netsonde.study.plan import PlannedPoint, round_of

ROUNDS = 8
"""Halving a factor of two between sizes so often leaves 0.3 %."""
ROUND_POINTS = 6
"""Of one sweep: so that the later ones are placed by what the earlier ones have shown."""
CLOSE = 1 + 1 / 128
"""Two sizes are close enough to say where a break is."""


def further_points(planned: Sequence[PlannedPoint], sweeps: Sequence[Sweep]) -> list[PlannedPoint]:
    """The next round's points: none where nothing breaks, or the limits are reached.

    ``planned`` are all points so far, ``sweeps`` what was measured of them. Ids go on from those of
    the plan. A sweep takes part whose points carry ``refine``, the number that it may add.
    """
    added: list[PlannedPoint] = []
    number = max((round_of(point) for point in planned), default=0) + 1
    if number > ROUNDS:
        return []
    for sweep in sweeps:
        example = sweep.points[0]
        key = sweep_key(example.transport, example.test, example.parameters)
        members = [p for p in planned if sweep_key(p.transport, p.test, p.parameters) == key]
        used = sum(round_of(point) > 0 for point in members)
        left = min(int(example.parameters.get("refine", 0)) - used, ROUND_POINTS)
        known = {point.parameters["message_bytes"] for point in members}
        sizes = [size for size in further_sizes(sweep) if size not in known]
        for size in sizes[: max(left, 0)]:
            own = {**example.parameters, "message_bytes": size, "refined": number}
            name = f"p{len(planned) + len(added) + 1:03d}"
            added.append(PlannedPoint(name, example.transport, example.test, own))
    return added


def further_sizes(sweep: Sweep) -> list[int]:
    """Sizes that would say more, the most telling first: either side of a boundary that the
    connection itself names, then the middle of each gap across which the curve breaks."""
    curve = sweep.curve
    breaks = broken_gaps(curve)
    breaks += [gap for gap in sweep_fit(sweep).breaks if gap not in breaks]
    boundary = segment_bytes(sweep.points[0])
    inside = [gap for gap in pairwise(curve.sizes.tolist()) if gap[0] <= boundary < gap[1]]
    sizes = [boundary, boundary + 1] if inside else []
    sizes += [round(math.sqrt(a * b)) for a, b in breaks if b > a * CLOSE and b > a + 1]
    return list(dict.fromkeys(sizes))


def segment_bytes(point: Point) -> int:
    """The payload of a full TCP segment as the origin's kernel said on opening; 0 elsewhere."""
    return int(point.opened.get(0, {}).get("max_segment_bytes", 0))
