"""Plots of MPI collectives: each rank's time, the slowest rank's, and the growth with size."""

from __future__ import annotations

import numpy as np

from netsonde.figures.repetitions import repetition_times_ns
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, Table
from netsonde.report.quantity import format_figure, list_in_words, size_text
from netsonde.report.thinning import slower_than
from netsonde.stats.quantiles import quantiles

RANKS_SHOWN = 8
ORDERS = (0.5, 0.9, 0.99)
OPERATIONS = ("barrier", "bcast", "allreduce", "alltoall")
OPERATION_COLOURS = {"barrier": "other", "bcast": "tcp", "allreduce": "mpi", "alltoall": "udp"}
OPERATION_SYMBOLS = {
    "barrier": "cross",
    "bcast": "circle",
    "allreduce": "square",
    "alltoall": "diamond",
}


def distribution(study: Study) -> Plot | None:
    """How long each rank, and the slowest of each repetition, was inside each operation."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for operation in _operations(study):
        points = study.run.select("mpi", "collective", operation)
        point = next((p for p in points if p.batches), None)
        if point is None:
            continue
        slowest = np.concatenate([repetition_times_ns(batch) for batch in point.batches])
        curves = [
            _rank_curve(point, rank, first=i == 0)
            for i, rank in enumerate(_ranks(point)[:RANKS_SHOWN])
        ]
        times, shares = slower_than(slowest)
        curves.append(Curve("slowest rank", times.tolist(), shares.tolist(), "mpi", width=2.4))
        panels.append(
            Panel(
                point_label(point),
                Axis("time inside", "time_ns", log=True),
                Axis("share that took longer", "ratio", log=True),
                curves,
                height=280,
            )
        )
        rows += _rows(point, slowest)
        median = study.figure(point, "completion_median_ns")
        if median:
            words.append(f"{operation} {format_figure(median)}")
    if not panels:
        return None
    table = Table(
        "collectives",
        "Collectives by rank",
        (
            Column("operation", "Operation"),
            Column("message_bytes", "Size", "size"),
            Column("rank", "Rank"),
            Column("repetitions", "Repetitions", "count"),
            Column("median_ns", "Median", "time_ns"),
            Column("p90_ns", "p90", "time_ns"),
            Column("p99_ns", "p99", "time_ns"),
            Column("max_ns", "Largest", "time_ns"),
        ),
        rows,
    )
    return Plot(
        "collectives",
        "MPI collectives: each rank, and the slowest",
        "Share of repetitions in which a rank (thin) or the slowest rank (bold) was inside "
        "the operation for at least so long; smallest size of each operation. Ranks enter "
        "after a barrier, so a rank's time holds the others' delay on leaving it. At most "
        f"{RANKS_SHOWN} ranks are drawn; the table has all of them.",
        f"Median completion: {list_in_words(words)}.",
        panels,
        table,
    )


def against_size(study: Study) -> Plot | None:
    """Median completion of each operation against message size."""
    curves, rows = [], list[tuple[Cell, ...]]()
    for operation in _operations(study):
        found = [
            f
            for p in study.run.select("mpi", "collective", operation)
            if (f := study.figure(p, "completion_median_ns"))
        ]
        rows += [(operation, f.message_bytes, f.value, f.low, f.high, f.samples) for f in found]
        if len(found) > 1:
            curves.append(
                Curve(
                    operation,
                    [float(max(1, f.message_bytes)) for f in found],
                    [f.value for f in found],
                    OPERATION_COLOURS.get(operation, "mpi"),
                    draw="line+points",
                    low=[f.low for f in found],
                    high=[f.high for f in found],
                    symbol=OPERATION_SYMBOLS.get(operation, "circle"),
                )
            )
    if not curves:
        return None
    table = Table(
        "collectives_size",
        "Collectives by size",
        (
            Column("operation", "Operation"),
            Column("message_bytes", "Size", "size"),
            Column("median_ns", "Median", "time_ns"),
            Column("low_ns", "From", "time_ns"),
            Column("high_ns", "To", "time_ns"),
            Column("samples", "Repetitions", "count"),
        ),
        rows,
    )
    return Plot(
        "collectives-size",
        "MPI collectives against message size",
        "Median over repetitions of the slowest rank's time, with 95 % intervals.",
        f"{len(curves)} operations over sizes up to "
        f"{size_text(max(int(str(r[1])) for r in rows))}.",
        [
            Panel(
                "",
                Axis("message size", "size", log=True),
                Axis("completion", "time_ns", log=True),
                curves,
            )
        ],
        table,
        wide=True,
    )


def _operations(study: Study) -> list[str]:
    measured = {p.operation for p in study.run.select("mpi", "collective") if p.operation}
    known = [o for o in OPERATIONS if o in measured]
    return known + sorted(measured - set(known))


def _ranks(point: Point) -> list[int]:
    return [r for r in sorted(point.batches[0].ends) if len(point.series("duration_ns", r))]


def _rank_curve(point: Point, rank: int, *, first: bool) -> Curve:
    times, shares = slower_than(point.series("duration_ns", rank))
    label = "each rank" if first else f"rank {rank}"
    return Curve(
        label, times.tolist(), shares.tolist(), "other", width=1.0, opacity=0.8, in_legend=first
    )


def _rows(
    point: Point, slowest: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> list[tuple[Cell, ...]]:
    rows = []
    for name, times in [
        *((str(r), point.series("duration_ns", r)) for r in _ranks(point)),
        ("slowest", slowest),
    ]:
        rows.append(
            (
                point.operation,
                point.message_bytes,
                name,
                len(times),
                *(float(q) for q in quantiles(times, ORDERS)),
                float(times.max()),
            )
        )
    return rows
