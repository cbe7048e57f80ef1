"""Sizes at which an MPI library changes: from eager to rendezvous, or to another algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import LAUNCH, OPERATION, SIZE, alike, told_apart
from netsonde.figures.data import Figure
from netsonde.figures.guidelines import MEDIAN
from netsonde.figures.protocols import Modes, modes_of
from netsonde.records.data import Point
from netsonde.stats.sweeps import DECIDED, LEAST_SIZES, broken_gaps, size_curve
from netsonde.units import format_rate, format_size, format_time


def protocol_of_sending(seen: Seen) -> list[Finding]:
    """Where a plain send changes from eager to rendezvous, by its own modes."""
    found = (_finding(modes) for modes in modes_of(seen.run, seen.figures)[:2])
    return [finding for finding in found if finding is not None]


def _finding(modes: Modes) -> Finding | None:
    change, copy = modes.rendezvous_from, modes.copy_ns_per_byte
    if change is None and copy is None:
        return None
    parts, claim = [], ""
    if change is not None:
        last, first = change
        claim = (
            f"MPI_Send waits for the receiver from {format_size(first)} on (rendezvous); up to "
            f"{format_size(last)} it does not (eager)."
        )
        parts.append(
            f"MPI_Ssend takes {_times(modes, 'ssend', last)} at {format_size(last)} and "
            f"{_times(modes, 'ssend', first)} at {format_size(first)} times as long."
        )
    if copy is not None:
        claim = claim or "A buffered send pays for its copy."
        rate = format_rate(8e9 / copy)
        parts.append(f"MPI_Bsend's copy takes {format_time(1024 * copy)} for each KiB ({rate}).")
    sides = tuple(tuple(f.point for f in own.values()) for own in modes.medians.values())
    return Finding(
        "note",
        claim,
        " ".join(parts),
        points=tuple(dict.fromkeys(point for side in sides for point in side)),
        sides=sides,
        factor=(OPERATION | SIZE).name,
    )


def _times(modes: Modes, mode: str, size: int) -> str:
    ratio = modes.ratio(mode, size)
    return "" if ratio is None else f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


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
        yield from [_break(gap, found, under) for gap, found in sorted(gaps.items())]


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


def _break(gap: Gap, found: Sequence[Curve], under: str) -> Finding:
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
