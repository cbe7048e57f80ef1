"""Round trips of several threads at the same time, against their number."""

from __future__ import annotations

from netsonde.catalogue.point import Threads
from netsonde.figures.threads import MEDIAN, RATE, level_of, thread_medians_ns
from netsonde.records.data import Point
from netsonde.report.against import curve, estimate_cells, estimate_columns
from netsonde.report.lookup import Study, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Curve, Draw, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, size_text
from netsonde.report.theme import Look

PANELS_SHOWN = 4
KINDS = {
    "own": ("a communicator each", Look("green", "square")),
    "shared": ("one communicator, tags", Look("orange", "diamond")),
}
EACH = "each thread"


def against_threads(study: Study) -> Plot | None:
    """Median round trip of all threads together and of each, a panel for each size."""
    points = study.run.where(lambda p: p.kind.has_threads)
    points = [p for p in points if study.figure(p, MEDIAN) is not None]
    if not points:
        return None
    sizes = sorted({p.message_bytes for p in points})
    panels = [
        _panel(study, size, [p for p in points if p.message_bytes == size])
        for size in sizes[:PANELS_SHOWN]
    ]
    most = max(points, key=lambda p: _threads(p))
    median = study.figure(most, MEDIAN)
    assert median is not None
    return tabled(
        "threads",
        "Round trips of several threads at the same time",
        "Median with its 95 % interval, of the round trips that were made while all threads of the "
        "two ranks were at it; small points are the threads by themselves. The circle at one "
        "thread is MPI_THREAD_FUNNELED, all others MPI_THREAD_MULTIPLE. Pairs of threads have a "
        "communicator each, or tags on one of all.",
        f"{what_was_measured(most)}: {format_figure(median)}.",
        panels,
        (
            Column("message_bytes", "Size", "size"),
            Column("threads", "Threads", "count"),
            *columns("text", level="MPI_THREAD_", communicators="Communicators", mpi="MPI"),
            *estimate_columns("median_ns", "Median"),
            *columns("time_ns", quickest="Quickest thread", slowest="Slowest thread", p99="p99"),
            *columns("number", times="Times one thread", messages_per_s="Messages a second"),
            Column("joint_ratio", "While all were at it", "ratio"),
        ),
        [_row(study, point) for point in points],
        methods=("threads#",),
    )


def _row(study: Study, point: Point) -> tuple[Cell, ...]:
    spec = point.spec.of(Threads)
    mpi = f"{spec.mpi} launch {spec.launch}" if spec.launch is not None else ""
    names = (
        f"quickest_thread_{MEDIAN}",
        f"slowest_thread_{MEDIAN}",
        "round_trip_p99_ns",
        "thread_contention_times",
        RATE,
        "joint_ratio",
    )
    return (
        point.message_bytes,
        spec.threads,
        level_of(point).upper(),
        spec.communicators or "",
        mpi,
        *estimate_cells(study.figure(point, MEDIAN)),
        *(study.value(point, name) for name in names),
    )


def _panel(study: Study, size: int, points: list[Point]) -> Panel:
    curves = []
    multiple = [p for p in points if level_of(p) == "multiple"]
    one = [p for p in multiple if _threads(p) == 1]
    for kind, (label, look) in KINDS.items():
        several = [p for p in multiple if p.spec.of(Threads).communicators == kind]
        if several:
            curves.append(_curve(study, label, [*one, *several], look))
            curves.append(_each(several, look.colour))
    alone = [p for p in points if level_of(p) == "funneled"]
    if alone:
        curves.append(_curve(study, "one thread, funneled", alone, Look("blue"), "points"))
    axes = Axis("threads of each rank", "number", low=0.5), Axis("round trip", "time_ns", log=True)
    return Panel(f"{size_text(size)}", *axes, curves)


def _curve(
    study: Study, label: str, points: list[Point], look: Look, draw: Draw = "line+points"
) -> Curve:
    rising = sorted(points, key=_threads)
    found = [(float(_threads(p)), f) for p in rising if (f := study.figure(p, MEDIAN)) is not None]
    return curve(label, found, look, draw)


def _threads(point: Point) -> int:
    return point.spec.of(Threads).threads


def _each(points: list[Point], colour: str) -> Curve:
    places = [(float(_threads(p)), time) for p in points for time in thread_medians_ns(p)]
    return Curve(
        EACH,
        [x for x, _ in places],
        [y for _, y in places],
        colour,
        draw="points",
        symbol="cross",
        opacity=0.5,
        in_legend=False,
    )
