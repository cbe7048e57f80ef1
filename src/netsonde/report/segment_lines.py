"""The line of each segment of a sweep, for a terminal of 80 columns."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from netsonde.figures.sweeps import Sweep, sweep_fit, sweeps_of
from netsonde.report.lookup import Study
from netsonde.report.theme import transport_name
from netsonde.stats.fits import Segment
from netsonde.units import format_size

FAR_OFF = 0.05
"""A line that misses a size by more says so."""
SWEEPS_SHOWN = 4
"""Of more sweeps, the report has the lines."""


def print_segments(study: Study, console: Console) -> None:
    """Round trip against size, a line for each segment between breaks; nothing without a sweep."""
    sweeps = sweeps_of(study.run.points, study.figures)
    for sweep in sweeps[:SWEEPS_SHOWN]:
        label = f", {sweep.label}" if sweep.label else ""
        title = f"{transport_name(sweep.transport)} {sweep.test}{label}"
        console.print(Text(f"Round trip by size, {title}", style="bold"))
        for line in segment_lines(sweep):
            console.print(Text(f"  {line}"))
    if len(sweeps) > SWEEPS_SHOWN:
        console.print(Text(f"and {len(sweeps) - SWEEPS_SHOWN} more sweeps", style="dim"))


def segment_lines(sweep: Sweep) -> list[str]:
    """``1..1448 bytes: 54.7 µs + 53.6 ns/byte * size, r^2 0.9998`` for each segment.

    The fit is of one way; a round trip is twice that, and so are both parameters of its line. What
    a line does not say is not printed as if it did: no cost of a byte where its interval holds 0,
    and by how much sizes lie beside a line that misses them.
    """
    fit = sweep_fit(sweep)
    return [_in_words(segment, _farthest(sweep, segment)) for segment in fit.segments]


def _farthest(sweep: Sweep, segment: Segment) -> float:
    """By how much, as a share, the line misses the size that lies farthest from it."""
    curve = sweep.curve
    within = (curve.sizes >= segment.low) & (curve.sizes <= segment.high)
    times = curve.times[within]
    return float(np.max(np.abs(segment.line.at(curve.sizes[within]) / times - 1.0), initial=0.0))


def _in_words(segment: Segment, farthest: float) -> str:
    line = segment.line
    sizes = f"{format_size(round(segment.low))}..{format_size(round(segment.high))}"
    start_us, ns_per_byte = 2 * line.intercept / 1e3, 2 * line.slope
    quality = f"r^2 {line.r_squared:.4f}"
    if farthest > FAR_OFF:
        quality += f", off by {farthest:.0%}"
    if line.slope_interval.low <= 0.0:
        middle_us = 2 * float(line.at(np.array([(segment.low + segment.high) / 2]))[0]) / 1e3
        return f"{sizes} bytes: {_number(middle_us)} µs, cost of a byte not resolved, {quality}"
    start = f"{_number(start_us)} µs" if start_us > 0 else "no start-up resolved"
    return f"{sizes} bytes: {start} + {_number(ns_per_byte)} ns/byte * size, {quality}"


def _number(value: float) -> str:
    """Four digits, or all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
