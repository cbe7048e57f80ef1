"""Sizes at which MPI operations change: where an algorithm or a protocol of the library begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.figures.data import Figure
from netsonde.figures.guidelines import MEDIAN, SHAPE
from netsonde.stats.sweeps import DECIDED, LEAST_SIZES, broken_gaps, size_curve
from netsonde.units import format_size

STANDARD_ERRORS = 1.96
"""In half of a 95 % interval."""

Gap = tuple[float, float]


def breaks_over_sizes(seen: Seen) -> list[Finding]:
    """Each gap between sizes once, with the operations that break there."""
    gaps: dict[Gap, list[Figure]] = {}
    for figures in _curves(seen):
        for gap in _gaps(figures):
            gaps.setdefault(gap, []).append(next(f for f in figures if f.message_bytes == gap[1]))
    return [_finding(gap, found) for gap, found in sorted(gaps.items())]


def _curves(seen: Seen) -> list[list[Figure]]:
    """The medians of each operation and shape, by rising size above 0."""
    points = {point.id: point for point in seen.run.select("mpi", "collective")}
    curves: dict[tuple[object, ...], dict[int, Figure]] = {}
    for figure in seen.figures:
        if figure.name == MEDIAN and figure.point in points and figure.message_bytes:
            given = points[figure.point].parameters
            key = (figure.operation, *(given.get(name) for name in SHAPE))
            curves.setdefault(key, {}).setdefault(figure.message_bytes, figure)
    return [[found[size] for size in sorted(found)] for found in curves.values()]


def _gaps(figures: Sequence[Figure]) -> list[Gap]:
    known = [f for f in figures if f.low is not None and f.high is not None and f.value > 0]
    if len(known) < max(LEAST_SIZES, len(figures)):
        return []
    values = np.array([f.value for f in known])
    widths = np.array([(f.high or 0.0) - (f.low or 0.0) for f in known])
    errors = widths / (2 * STANDARD_ERRORS * values)
    return broken_gaps(size_curve([f.message_bytes for f in known], values, errors), DECIDED)


def _finding(gap: Gap, found: Sequence[Figure]) -> Finding:
    names = ", ".join(sorted({f.operation or "" for f in found}))
    low, high = (format_size(int(size)) for size in gap)
    alone = len(found) == 1
    return Finding(
        "note",
        f"MPI {names}: the time breaks between {low} and {high} bytes.",
        f"The medians of {'this operation' if alone else f'these {len(found)}'} leave the line "
        f"through their neighbours there, by {DECIDED:g} standard errors or more. "
        + (
            "Of several operations one alone points to another algorithm of the library."
            if alone
            else "Several at the same place point to the protocol (eager, rendezvous)."
        ),
        "Measure the sizes between, and again with the library's own setting for it.",
        tuple(f.point for f in found),
    )
