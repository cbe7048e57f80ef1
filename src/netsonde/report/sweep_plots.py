"""Sweeps as NetPIPE draws them: throughput against time and size, time against size; and the line
of each segment for a terminal of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import starmap

import numpy as np
from rich.console import Console
from rich.text import Text

from netsonde.figures import Figure
from netsonde.figures.sweeps import Sweep, sweep_fit, sweeps_of
from netsonde.report.against import RATE_AXIS, SIZE_AXIS, Between, curve, estimate_columns
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, tabled
from netsonde.report.quantity import format_figure, list_in_words, size_text
from netsonde.report.shapes import fitted_curves
from netsonde.report.theme import Look, series_look, transport_look, transport_name
from netsonde.stats.fits import Segment
from netsonde.stats.sweeps import find_dips
from netsonde.units import format_size

Values = list[float]
Make = Callable[[Sequence[Figure]], Values]
TIME_AXIS = Axis("time of a message, one way", "time_ns", log=True)
DRAWN_WITH_LINES = 3
"""More sweeps than this get the full width, and no fitted lines."""


def swept(study: Study) -> Plot | None:
    """Signature graph, throughput against size, saturation graph; the table has every size."""
    sweeps = sweeps_of(study.run.points, study.figures)
    if not sweeps:
        return None
    looks = _looks(sweeps)
    many = len(sweeps) > DRAWN_WITH_LINES
    height = 460 if many else 320
    alone = sweeps[0] if len(sweeps) == 1 else None
    bandwidth = _figure(study, alone, "asymptotic_bit_per_s")
    marks = [] if bandwidth is None else [Mark("y", bandwidth.value, "r_inf", "limit", "dash")]
    panels = [
        Panel(
            "Signature graph",
            TIME_AXIS,
            RATE_AXIS,
            [curve for s in sweeps for curve in _rate_curves(s, looks[s.name], _times)],
            marks,
            height=height,
        ),
        Panel(
            "Throughput against size",
            SIZE_AXIS,
            RATE_AXIS,
            [curve for s in sweeps for curve in _rate_curves(s, looks[s.name], _sizes)],
            marks + _size_marks(study, alone, "half_performance_bytes", "n_1/2"),
            height=height,
        ),
        Panel(
            "Saturation graph",
            SIZE_AXIS,
            TIME_AXIS,
            [curve for s in sweeps for curve in _time_curves(s, looks[s.name], not many)],
            _size_marks(study, alone, "saturation_bytes", "saturated"),
            height=height,
        ),
    ]
    return tabled(
        "sweep",
        "Sweep over message sizes",
        "Time of a message: half of the median round trip, so that a byte counts once. Pale "
        "symbols are sizes a few bytes beside, crosses where throughput dips. Grey: r_inf, n_1/2 "
        "and the size from which on throughput is at 90 % of r_inf. Thin lines: t0 + m / B.",
        f"{list_in_words([_in_words(study, s) for s in sweeps])}.",
        panels,
        (
            Column("sweep", "Sweep"),
            Column("message_bytes", "Size", "size"),
            *estimate_columns("time_ns", "One way"),
            Column("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("kind", "Size was"),
        ),
        _rows(sweeps),
        wide=many,
        methods=("sweeps#",),
        heading="Sweeps",
    )


def _figure(study: Study, sweep: Sweep | None, name: str) -> Figure | None:
    if sweep is None:
        return None
    return next((f for f in study.figures if f.point == sweep.name and f.name == name), None)


def _name(sweep: Sweep) -> str:
    what = transport_name(sweep.transport) + (
        f" {sweep.test}" if not sweep.kind.asks_round_trip else ""
    )
    return f"{what}, {sweep.label}" if sweep.label else what


def _looks(sweeps: Sequence[Sweep]) -> dict[str, Look]:
    """By transport where that tells them apart, else by number."""
    if len({sweep.transport for sweep in sweeps}) == len(sweeps):
        return {s.name: transport_look(s.transport) for s in sweeps}
    return {s.name: series_look(place) for place, s in enumerate(sweeps)}


def _sizes(figures: Sequence[Figure]) -> Values:
    return [float(f.message_bytes) for f in figures]


def _times(figures: Sequence[Figure]) -> Values:
    return [f.value / 2 for f in figures]


def _rates(figures: Sequence[Figure]) -> Values:
    return [16e9 * f.message_bytes / f.value for f in figures]


def _beside(sweep: Sweep) -> list[Figure]:
    """The sizes a few bytes beside."""
    return [f for below, _, above in sweep.perturbed for f in (below, above)]


def _dipped(sweep: Sweep) -> list[Figure]:
    at = {int(dip.bottom) for dip in find_dips(sweep.curve)}
    return [f for f in sweep.medians if f.message_bytes in at]


def _rate_curves(sweep: Sweep, look: Look, place: Make) -> Iterator[Curve]:
    rates = zip(*sweep.rates(), strict=True)
    found = zip(place(sweep.medians), starmap(Between, rates), strict=True)
    yield curve(_name(sweep), found, look)
    yield from _extra(sweep, look, place, _rates)


def _time_curves(sweep: Sweep, look: Look, with_lines: bool) -> list[Curve]:
    half = [
        Between(f.value / 2, *(None if end is None else end / 2 for end in (f.low, f.high)))
        for f in sweep.medians
    ]
    found = zip(_sizes(sweep.medians), half, strict=True)
    return [
        *(fitted_curves(sweep_fit(sweep).segments, 1.0, 0.7) if with_lines else []),
        curve(_name(sweep), found, replace(look, dash="solid"), draw="points"),
        *_extra(sweep, look, _sizes, _times),
    ]


def _extra(sweep: Sweep, look: Look, x: Make, y: Make) -> Iterator[Curve]:
    """Perturbed sizes and the bottoms of dips, where there are any."""
    for figures, colour, symbol, opacity in (
        (_beside(sweep), look.colour, look.symbol, 0.4),
        (_dipped(sweep), "loss", "cross", 1.0),
    ):
        if figures:
            yield Curve(
                f"{_name(sweep)}: {'dip' if symbol == 'cross' else 'beside'}",
                [*x(figures)],
                [*y(figures)],
                colour,
                draw="points",
                symbol=symbol,
                opacity=opacity,
                in_legend=False,
            )


def _size_marks(study: Study, sweep: Sweep | None, name: str, word: str) -> list[Mark]:
    figure = _figure(study, sweep, name)
    if figure is None or not math.isfinite(figure.value):
        return []
    return [Mark("x", figure.value, f"{word} {size_text(round(figure.value))}", "limit")]


def _in_words(study: Study, sweep: Sweep) -> str:
    peak = _figure(study, sweep, "peak_bit_per_s")
    latency = _figure(study, sweep, "half_round_trip_ns")
    if peak is None or latency is None:
        return _name(sweep)
    words = f"{_name(sweep)} from {format_figure(latency)} to "
    words += f"{format_figure(peak)} at {size_text(peak.message_bytes)}"
    bandwidth = _figure(study, sweep, "asymptotic_bit_per_s")
    return words + (f", towards {format_figure(bandwidth)}" if bandwidth else "")


def _rows(sweeps: Sequence[Sweep]) -> Iterator[tuple[Cell, ...]]:
    for sweep in sweeps:
        own = {id(f): point for f, point in zip(sweep.medians, sweep.points, strict=True)}
        low = {int(dip.bottom) for dip in find_dips(sweep.curve)}
        figures = sorted([*sweep.medians, *_beside(sweep)], key=lambda f: f.message_bytes)
        for figure in figures:
            added = own[id(figure)].spec.refined if id(figure) in own else None
            kind = "beside" if id(figure) not in own else "added" if added else "asked for"
            ends = (figure.low, figure.high)
            yield (
                _name(sweep),
                figure.message_bytes,
                figure.value / 2,
                *(None if end is None else end / 2 for end in ends),
                16e9 * figure.message_bytes / figure.value,
                f"{kind}, a dip" if kind != "beside" and figure.message_bytes in low else kind,
            )


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
    by how much sizes lie beside a line, and no line where that is too much.
    """
    fit = sweep_fit(sweep)
    return [_segment_in_words(segment) for segment in fit.segments]


def _segment_in_words(segment: Segment) -> str:
    line, farthest = segment.line, segment.farthest
    sizes = f"{format_size(round(segment.low))}..{format_size(round(segment.high))}"
    if not segment.holds:
        return f"{sizes} bytes: no line, the nearest misses by {farthest:.0%}"
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
