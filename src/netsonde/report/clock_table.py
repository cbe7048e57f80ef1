"""The clocks of MPI ranks: each one's lead over rank 0, and how well every method knows it; and
both timers' times of the same calls, over each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from netsonde.figures.clock_quality import RankClock, clock_quality
from netsonde.figures.timers import PeakShift, Timers, agreement, step_ns, timers_of
from netsonde.records.data import Point
from netsonde.report.against import OPERATION_AND_SIZE, estimate_columns
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, list_in_words
from netsonde.report.shapes import histogram_curve, tail_curve
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


POINTS_SHOWN = 6
VERDICTS = {"agree": "agree", "differ": "differ", "open": "not decided"}


def timers(study: Study) -> Plot | None:
    """Histograms of what the clock and MPI_Wtime gave of the same calls, with means and peaks."""
    panels, rows, words = list[Panel](), list[tuple[Cell, ...]](), list[str]()
    for point in study.run.of_operations:
        found = timers_of(point)
        if found is None:
            continue
        step = step_ns(study.run, point)
        if len(panels) < POINTS_SHOWN:
            panels.append(_panel(point, found))
        rows += _rows(point, found, step)
        mean = study.figure(point, "timers_mean_difference_ns")
        verdict = VERDICTS[agreement(found, step)]
        apart = f", means {format_figure(mean)} apart" if mean else ""
        words.append(f"{point_label(point)}: {verdict}{apart}")
    if not rows:
        return None
    return tabled(
        "timers",
        "Two timers around the same calls",
        "Share of the calls for each 1 % of time, by the clock and by MPI_Wtime, which was read "
        "beside it before and after the same call. The table has means, and each peak of the "
        "clock's times with MPI_Wtime's nearest one and how far the same calls lie apart.",
        f"{list_in_words(words)}.",
        panels,
        _COLUMNS,
        rows,
        methods=("timers#",),
        heading="Two timers",
    )


_COLUMNS = (
    *OPERATION_AND_SIZE,
    Column("what", "What"),
    Column("calls", "Calls", "count"),
    *columns("time_ns", clock="By the clock", wtime="By MPI_Wtime"),
    *estimate_columns("difference_ns", "Difference"),
    Column("allowed_ns", "Alike within", "time_ns"),
)


def _rows(point: Point, found: Timers, step: float) -> list[tuple[Cell, ...]]:
    allowed = max(found.allowed_ns, step)
    low, high = found.mean_difference_interval_ns()
    clock, wtime = float(found.clock_ns.mean()), float(found.wtime_ns.mean())
    start = (point.operation, point.message_bytes)
    mean = (*start, "mean", len(found.clock_ns), clock, wtime, wtime - clock, low, high, allowed)
    return [mean, *(_peak_row(point, found, peak, allowed) for peak in found.peaks())]


def _peak_row(point: Point, found: Timers, peak: PeakShift, allowed: float) -> tuple[Cell, ...]:
    return (
        point.operation,
        point.message_bytes,
        "peak",
        round(peak.share * len(found.clock_ns)),
        peak.clock_ns,
        peak.wtime_ns,
        peak.shift_ns,
        peak.low_ns,
        peak.high_ns,
        allowed,
    )


def _panel(point: Point, found: Timers) -> Panel:
    return Panel(
        point_label(point),
        Axis("time of a call", "time_ns", log=True),
        Axis("share per 1 % of time", "ratio", low=0),
        [
            histogram_curve("clock", _whole(found.clock_ns), Look("green")),
            histogram_curve("MPI_Wtime", _whole(found.wtime_ns), Look("orange")),
        ],
        height=280,
    )


def _whole(times: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.maximum(1, np.rint(times)).astype(np.int64)
