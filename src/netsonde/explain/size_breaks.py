"""Sizes at which MPI operations change: where an algorithm or a protocol of the library begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import LAUNCH, OPERATION, SIZE, alike, told_apart
from netsonde.figures.data import Figure
from netsonde.figures.guidelines import MEDIAN
from netsonde.records.data import Point
from netsonde.stats.sweeps import DECIDED, LEAST_SIZES, broken_gaps, size_curve
from netsonde.units import format_size

STANDARD_ERRORS = 1.96
"""In half of a 95 % interval."""

Gap = tuple[float, float]
Curve = Sequence[Figure]


def breaks_over_sizes(seen: Seen) -> Iterator[Finding]:
    """Each gap between sizes once, with the operations that break there."""
    medians = {f.point: f for f in seen.figures if f.name == MEDIAN and f.message_bytes}
    points = [p for p in seen.run.of_operations if p.id in medians]
    conditions = alike(points, OPERATION, SIZE, LAUNCH)
    names = told_apart((same[0] for same in conditions), OPERATION, SIZE, LAUNCH)
    for same in conditions:
        gaps: dict[Gap, list[Curve]] = {}
        for curve in _curves(same, medians):
            for gap in _gaps(curve):
                gaps.setdefault(gap, []).append(curve)
        under = names.get(same[0].id, "")
        yield from [_finding(gap, found, under) for gap, found in sorted(gaps.items())]


def _curves(same: Sequence[Point], medians: Mapping[str, Figure]) -> list[Curve]:
    """Of each operation and launch, by rising size."""
    curves = list[Curve]()
    for points in alike(same, SIZE):
        by_size: dict[int, Figure] = {}
        for point in points:
            by_size.setdefault(point.message_bytes, medians[point.id])
        curves.append([by_size[size] for size in sorted(by_size)])
    return curves


def _gaps(figures: Sequence[Figure]) -> list[Gap]:
    known = [f for f in figures if f.low is not None and f.high is not None and f.value > 0]
    if len(known) < max(LEAST_SIZES, len(figures)):
        return []
    values = np.array([f.value for f in known])
    widths = np.array([(f.high or 0.0) - (f.low or 0.0) for f in known])
    errors = widths / (2 * STANDARD_ERRORS * values)
    return broken_gaps(size_curve([f.message_bytes for f in known], values, errors), DECIDED)


def _finding(gap: Gap, found: Sequence[Curve], under: str) -> Finding:
    operations = sorted({f.operation or "" for curve in found for f in curve})
    names = ", ".join(operations)
    low, high = (format_size(int(size)) for size in gap)
    alone = len(operations) == 1
    return Finding(
        "note",
        f"MPI {names}{under and f' ({under})'}: the time breaks between {low} and {high} bytes.",
        f"The medians of {'this operation' if alone else f'these {len(operations)}'} leave the "
        f"line through their neighbours there, by {DECIDED:g} standard errors or more. "
        + (
            "Of several operations one alone points to another algorithm of the library."
            if alone
            else "Several at the same place point to the protocol (eager, rendezvous)."
        ),
        "Measure the sizes between, and again with the library's own setting for it.",
        tuple(f.point for curve in found for f in curve if f.message_bytes in gap),
        sides=tuple(tuple(f.point for f in curve) for curve in found),
        factor=(OPERATION | SIZE | LAUNCH).name,
    )
