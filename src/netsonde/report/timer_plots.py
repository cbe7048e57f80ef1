"""Both timers' times of the same calls, over each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.figures.timers import PeakShift, Timers, agreement, step_ns, timers_of
from netsonde.records.data import Point
from netsonde.report.against import OPERATION_AND_SIZE, estimate_columns
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Axis, Cell, Column, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, list_in_words
from netsonde.report.shapes import histogram_curve
from netsonde.report.theme import Look

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
