"""The line of each segment of a sweep, for a terminal of 80 columns."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from netsonde.figures.sweeps import Sweep, sweep_fit, sweeps_of
from netsonde.report.lookup import Study
from netsonde.report.theme import transport_name
from netsonde.stats.fits import Segment
from netsonde.units import format_size

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
    """``1..1448 bytes: 54.7 us + 53.6 ns/byte * size, r^2 0.9998`` for each segment.

    The fit is of one way; a round trip is twice that, and so are both parameters of its line.
    """
    return [_in_words(segment) for segment in sweep_fit(sweep).segments]


def _in_words(segment: Segment) -> str:
    line = segment.line
    sizes = f"{format_size(round(segment.low))}..{format_size(round(segment.high))}"
    sign = "-" if line.slope < 0 else "+"
    start_us, ns_per_byte = 2 * line.intercept / 1e3, 2 * abs(line.slope)
    return (
        f"{sizes} bytes: {_number(start_us)} us {sign} {_number(ns_per_byte)} ns/byte * size, "
        f"r^2 {line.r_squared:.4f}"
    )


def _number(value: float) -> str:
    """Four digits, or all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
