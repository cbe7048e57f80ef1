"""The clocks of MPI ranks: each one's lead over rank 0, and how well every method knows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.figures.clock_quality import RankClock, clock_quality
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, list_in_words
from netsonde.report.shapes import tail_curve
from netsonde.report.theme import Look, series_look
from netsonde.units import format_time

LINES_SHOWN = 16
"""Ranks of a table in the terminal; of more, those that are known worst."""


def rank_clocks(point: Point) -> tuple[RankClock, ...]:
    """Of the first batch of a point of test ``clock``; none where nothing was compared."""
    quality = clock_quality(point.batches[0]) if point.batches else None
    return quality.ranks if quality is not None else ()


def clocks_plot(study: Study) -> Plot | None:
    """How far off the clocks are by each method, where the truth is known; else what is left over
    the methods' lines."""
    panels, rows, words = list[Panel](), list[tuple[Cell, ...]](), list[str]()
    curves = list[Curve]()
    for point in study.run.where(lambda p: p.kind.compares_clocks):
        quality = clock_quality(point.batches[0]) if point.batches else None
        if quality is None:
            continue
        rows += [(point.label or "tree", *_row(clock)) for clock in quality.ranks]
        values = quality.error_ns if len(quality.error_ns) else quality.residual_ns
        if len(values):
            errors = np.maximum(1, np.abs(values).round()).astype(np.int64)
            look = Look(series_look(len(curves)).colour)
            curves.append(tail_curve(point.label or "tree", errors, look))
        figure = study.figure(point, "clock_error_p99_ns") or study.figure(
            point, "clock_residual_p99_ns"
        )
        if figure is not None:
            words.append(f"{point.label or point_label(point)} {format_figure(figure)}")
    if not rows:
        return None
    if curves:
        axes = (
            Axis("error, or residual", "time_ns", log=True),
            Axis("share that is larger", "ratio", log=True),
        )
        panels.append(Panel("", *axes, curves, height=280))
    return tabled(
        "clocks",
        "Clocks of the ranks",
        "Error of each method where all ranks read one clock, so that the truth is 0; else the "
        "distances of the comparisons from the method's line. The table has each rank's lead over "
        "rank 0 at the begin.",
        f"p99: {list_in_words(words)}." if words else "",
        panels,
        (
            *columns("text", method="Method", rank="Rank", host="Host", parent="Compared with"),
            Column("offset_ns", "Offset", "time_ns"),
            Column("drift_ppb", "Drift, ppb"),
            *columns("time_ns", residual="Largest residual", uncertainty="Known within"),
        ),
        rows,
        methods=("rank-clocks#",),
        heading="Clocks by rank",
    )


def _row(clock: RankClock) -> tuple[Cell, ...]:
    return (
        str(clock.rank),
        clock.host,
        "–" if clock.rank == 0 else str(clock.parent),
        clock.offset_ns,
        round(clock.drift_ppb, 1),
        clock.residual_ns,
        clock.uncertainty_ns,
    )


def clock_lines(clocks: Sequence[RankClock]) -> list[str]:
    """For the terminal: a line for each rank but rank 0, or for those known worst."""
    others = [clock for clock in clocks if clock.rank != 0]
    if not others:
        return []
    shown = sorted(others, key=lambda c: c.uncertainty_ns, reverse=True)[:LINES_SHOWN]
    lines = [f"{'rank':>6} {'offset':>14} {'drift, ppb':>11} {'residual':>10} {'within':>10}  host"]
    for clock in sorted(shown, key=lambda c: c.rank):
        residual = "–" if clock.residual_ns is None else format_time(clock.residual_ns)
        lines.append(
            f"{clock.rank:>6} {_signed(clock.offset_ns):>14} {clock.drift_ppb:>11.1f} "
            f"{residual:>10} {format_time(clock.uncertainty_ns):>10}  {clock.host}"[:79]
        )
    if len(others) > len(shown):
        lines.append(f"  and {len(others) - len(shown)} ranks that are known better")
    return lines


def _signed(value_ns: float) -> str:
    return f"{'-' if value_ns < 0 else ''}{format_time(abs(value_ns))}"
