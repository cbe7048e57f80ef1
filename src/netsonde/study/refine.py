"""Further sizes for a sweep, where its curve breaks: a pure function of plan and measurements.

The plan of a run grows by rounds. A round is made when everything before it has been measured, from
nothing but the points and their medians, so a run that was killed and goes on makes the same one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from netsonde.catalogue.point import Collective, PointSpec
from netsonde.figures.sweeps import (
    Sweep,
    odd_one,
    sweep_fit,
    sweep_key,
    uneven_sizes,
)
from netsonde.operations import operations
from netsonde.records.data import Point
from netsonde.stats.sweeps import broken_gaps
from netsonde.study.plan import PlannedPoint, numbered, round_of

ROUNDS = 8
"""Halving a factor of two between sizes so often leaves 0.3 %."""
ROUND_POINTS = 6
"""Of one sweep: so that the later ones are placed by what the earlier ones have shown."""
TIMES = 3
"""So often a doubtful size is measured in all: the middle one of three outlives one disturbance."""
CLOSE = 1 + 1 / 128
"""Two sizes are close enough to say where a break is."""


def further_points(planned: Sequence[PlannedPoint], sweeps: Sequence[Sweep]) -> list[PlannedPoint]:
    """The next round's points: none where nothing breaks, or the limits are reached.

    ``planned`` are all points so far, ``sweeps`` what was measured of them. Ids go on from those of
    the plan. A sweep takes part whose points carry ``refine``, the number that it may add.
    """
    added: list[tuple[str, str, PointSpec]] = []
    number = max((round_of(point) for point in planned), default=0) + 1
    if number > ROUNDS:
        return []
    keys = {point.id: sweep_key(point.transport, point.test, point.spec) for point in planned}
    for sweep in sweeps:
        example = sweep.points[0]
        key = sweep_key(example.transport, example.test, example.spec)
        members = [point for point in planned if keys[point.id] == key]
        used = sum(round_of(point) > 0 for point in members)
        left = min((example.spec.refine or 0) - used, ROUND_POINTS)
        known = {point.spec.message_bytes for point in members}
        sizes = possible_sizes(example.operation, further_sizes(sweep, known), known)
        for size, shift in sizes[: max(left, 0)]:
            own = _of_size(example.spec, size, shift or None, number)
            added.append((example.transport, example.test, own))
    return numbered(added, len(planned))


def _of_size(example: PointSpec, size: int, shift: int | None, number: int) -> PointSpec:
    own = replace(example, message_bytes=size, refined=number, perturbed_bytes=shift)
    if isinstance(own, Collective) and own.total_bytes is not None:
        own = replace(own, total_bytes=size * (own.ranks or 1))
    return own


def further_sizes(sweep: Sweep, known: Collection[int]) -> list[tuple[int, int]]:
    """Sizes that would say more, the most telling first, each with its perturbation or 0.

    They are: the odd one of a size and its perturbed neighbours, and a size with a break on either
    side, again, since they may have been disturbed; a full segment, as the connection names it, and
    one byte more; the middle of each gap across which the curve breaks, but those beside such a
    size. ``known`` are sizes that are not added, except to be measured again.
    """
    breaks = broken_gaps(sweep.curve)
    breaks += [gap for gap in sweep_fit(sweep).breaks if gap not in breaks]
    boundary = segment_bytes(sweep.points[0])
    gaps = pairwise(sweep.curve.sizes.tolist())
    is_inside = any(low <= boundary < high for low, high in gaps)
    sizes = [boundary, boundary + 1] if is_inside else []
    odd = {high for _, high in breaks} & {low for low, _ in breaks}
    doubtful = {size for size in odd if sweep.worth_at(size) < TIMES}
    again = {(int(size), 0) for size in doubtful} | {odd_one(u) for u in uneven_sizes(sweep)}
    sizes += [
        round(math.sqrt(low * high))
        for low, high in breaks
        if high > max(low * CLOSE, low + 1) and not {low, high} & doubtful
    ]
    repeats = [one for one in sorted(again) for _ in range(TIMES - sweep.count_at(one[0]))]
    return repeats + [(size, 0) for size in dict.fromkeys(sizes) if size not in known]


def possible_sizes(
    operation: str | None, sizes: Sequence[tuple[int, int]], known: Collection[int]
) -> list[tuple[int, int]]:
    """Sizes as an operation of whole words takes them, rounded down, without those that are known
    then; those that are to be measured again stay."""
    multiple = operations()[operation].multiple_bytes if operation is not None else 1
    rounded = [(size // multiple * multiple, shift) for size, shift in sizes]
    return [
        after
        for before, after in zip(sizes, rounded, strict=True)
        if after == before or (after[0] not in known and after[0] > 0)
    ]


def segment_bytes(point: Point) -> int:
    """The payload of a full TCP segment as the origin's kernel said on opening; 0 elsewhere."""
    return int(point.opened.get(0, {}).get("max_segment_bytes", 0))
