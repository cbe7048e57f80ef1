"""Plots of MPI operations: each rank's time, the slowest rank's, and the growth with size."""

from __future__ import annotations

import numpy as np

from netsonde.figures.data import Figure
from netsonde.figures.time_outs import stays_without_ns, waits_of
from netsonde.operations import GROUPS, operations
from netsonde.ranks.clocks import last_ranks
from netsonde.ranks.repetitions import completion_times_ns, has_summary
from netsonde.ranks.summaries import RANK_QUANTILES, Summary, durations_of, summary_of
from netsonde.records.data import Point
from netsonde.report.against import (
    OPERATION_AND_SIZE,
    SIZE_AXIS,
    Series,
    by_size,
    estimate_columns,
    figure_rows,
    series_panels,
)
from netsonde.report.lookup import Study, operation_place, point_label, shape_in_words
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, list_in_words, size_text
from netsonde.report.rank_names import ranks_on
from netsonde.report.shapes import TAIL_AXIS, tail_curve
from netsonde.report.theme import Look
from netsonde.report.thinning import slower_than_counts
from netsonde.stats.quantiles import least_samples, quantiles

RANKS_SHOWN = 8
BARS_SHOWN = 256
ORDERS = (0.5, 0.9, 0.95, 0.99)
SUMMARISED = (0.5, 0.9, 0.99)
"""What ranks that sum up their times themselves give, besides the largest."""


def distribution(study: Study) -> Plot | None:
    """How long each rank, and the slowest of each repetition, was inside each operation."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for operation in _operations(study):
        points = (p for p in study.run.of_operations if p.operation == operation)
        point = next((p for p in points if p.batches), None)
        if point is None:
            continue
        slowest = completion_times_ns(point.batches)
        if not len(slowest):  # every window was missed
            continue
        curves = _rank_curves(point)
        curves.append(tail_curve("slowest rank", slowest, Look("green"), width=2.4))
        panels.append(
            Panel(
                point_label(point),
                Axis("time inside", "time_ns", log=True),
                TAIL_AXIS,
                curves,
                height=280,
            )
        )
        rows += _rows(study, point, slowest)
        median = study.figure(point, "completion_median_ns")
        if median:
            words.append(f"{operation} {format_figure(median)}")
    return tabled(
        "collectives",
        "MPI operations: each rank, and the slowest",
        "Share of repetitions in which a rank (thin) or the slowest rank (bold) was inside "
        "the operation for at least so long; smallest size of each operation. Where ranks enter "
        "after a barrier, a rank's time holds the others' delay on leaving it. At most "
        f"{RANKS_SHOWN} ranks are drawn; the table has all of them, and in how many repetitions "
        "each was the last, by the common clock.",
        f"Median completion: {list_in_words(words)}.",
        panels,
        (
            *OPERATION_AND_SIZE,
            Column("rank", "Rank"),
            Column("repetitions", "Repetitions", "count"),
            *columns("time_ns", median="Median", p90="p90", p95="p95", p99="p99", max="Largest"),
            Column("without_time_outs_mean_ns", "Mean without timeouts", "time_ns"),
            *columns("ratio", last_in="Last to enter", last_out="Last to leave"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
        heading="MPI operations by rank",
    )


def against_size(study: Study) -> Plot | None:
    """Median completion of each operation against message size, one panel for each group."""
    found = _by_size(study)
    series = [Series(group, name, by_size(own)) for (group, name), own in found.items()]
    axis = Axis("completion", "time_ns", log=True)
    panels = series_panels(series, SIZE_AXIS, axis, least=2)
    if not panels:
        return None
    rows = figure_rows({(name,): own for (_, name), own in found.items()})
    return tabled(
        "collectives-size",
        "MPI operations against message size",
        "Median over repetitions of the slowest rank's time, with 95 % intervals.",
        f"{sum(len(panel.curves) for panel in panels)} operations over sizes up to "
        f"{size_text(max(int(str(r[1])) for r in rows))}.",
        panels,
        (
            *OPERATION_AND_SIZE,
            *estimate_columns("median_ns", "Median"),
            Column("samples", "Repetitions", "count"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
        heading="MPI operations by size",
        wide=True,
    )


def _by_size(study: Study) -> dict[tuple[str, str], list[Figure]]:
    """The medians by size of each operation and shape, with the title of the operation's group. Of
    several launches they are side by side instead."""
    found: dict[tuple[str, str], list[Figure]] = {}
    for operation in _operations(study):
        known = operations().get(operation)
        group = GROUPS.get(known.group, "") if known else ""
        for point in study.run.of_operations:
            figure = study.figure(point, "completion_median_ns")
            if point.operation == operation and figure and point.spec.launch is None:
                name = ", ".join(filter(None, (operation, shape_in_words(point))))
                found.setdefault((group, name), []).append(figure)
    return found


def _operations(study: Study) -> list[str]:
    found = {p.operation: operation_place(p) for p in study.run.of_operations if p.operation}
    return sorted(found, key=lambda operation: (found[operation], operation))


def _ranks(point: Point) -> list[int]:
    return [r for r in sorted(point.batches[0].ends) if len(point.series("duration_ns", r))]


def _rank_curves(point: Point) -> list[Curve]:
    """Of each rank; where ranks are only counted together, one of all."""
    if any(has_summary(batch) for batch in point.batches):
        together = slower_than_counts(durations_of(point.batches))
        return [tail_curve("all ranks", together, Look("other"), width=1.0)]
    return [
        tail_curve(
            f"rank {rank}" if place else "each rank",
            point.series("duration_ns", rank),
            Look("other"),
            width=1.0,
            opacity=0.8,
            in_legend=place == 0,
        )
        for place, rank in enumerate(_ranks(point)[:RANKS_SHOWN])
    ]


def _without_time_outs(study: Study, point: Point) -> dict[str, float]:
    """The mean of each rank's times without a timeout of its own, and that of the slowest rank's
    in repetitions without any; nothing where it is not decided which had one."""
    waits = waits_of(study.run, point)
    if waits is None or not waits.judgement.is_decided or not waits.time_outs:
        return {}
    own = stays_without_ns(waits.stays_ns, waits.least_ns)
    whole = waits.times_ns[waits.judgement.bands.waits == 0]
    return {
        **{str(rank): float(times.mean()) for rank, times in own.items()},
        **({"slowest": float(whole.mean())} if len(whole) else {}),
    }


def _rows(
    study: Study, point: Point, slowest: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> list[tuple[Cell, ...]]:
    last, without = last_ranks(point.batches), _without_time_outs(study, point)
    own = [
        (str(rank), number, quantiles_ns, last.get(rank))
        for rank, (number, quantiles_ns) in _of_ranks(point).items()
    ]
    joined = ("slowest", len(slowest), _orders(slowest), None)
    return [
        (
            *(point.operation, point.message_bytes, name, number),
            *_supported(number, values),
            without.get(name),
            *(shares or (None, None)),
        )
        for name, number, values, shares in (*own, joined)
    ]


def _of_ranks(point: Point) -> dict[int, tuple[int, tuple[float | None, ...]]]:
    """By rank, the number of repetitions, and median, p90, p95, p99 and largest of its times. Of a
    point that has summaries they are those of its longest batch: quantiles cannot be joined, and
    p95 is not among them."""
    summaries = [s for s in (summary_of(batch) for batch in point.batches) if s is not None]
    if not summaries:
        samples = {rank: point.series("duration_ns", rank) for rank in _ranks(point)}
        return {rank: (len(times), _orders(times)) for rank, times in samples.items()}
    longest = max(summaries, key=lambda summary: len(summary.completion_ns))
    table = np.stack([longest.rank_ns[name] for name in RANK_QUANTILES], axis=1).astype(float)
    number = len(longest.completion_ns)
    found = {}
    for rank, row in enumerate(table.tolist()):
        known = dict(zip(SUMMARISED, row[:-1], strict=True))
        found[rank] = number, (*(known.get(q) for q in ORDERS), row[-1])
    return found


def _orders(times: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[float | None, ...]:
    return (*(float(q) for q in quantiles(times, ORDERS)), float(times.max()))


def _supported(number: int, orders: tuple[float | None, ...]) -> tuple[float | None, ...]:
    """Without the quantiles that so few repetitions do not have."""
    *found, most = orders
    return (
        *(v if number >= least_samples(q) else None for q, v in zip(ORDERS, found, strict=True)),
        most,
    )


def slowest_repetitions(study: Study) -> Plot | None:
    """When each rank was inside in the slowest repetitions of what was summarised."""
    panels, rows = list[Panel](), list[tuple[Cell, ...]]()
    for point in study.run.of_operations:
        summaries = [s for s in (summary_of(batch) for batch in point.batches) if s is not None]
        if not summaries:
            continue
        found = max(summaries, key=lambda summary: int(summary.completion_ns.max()))
        for place, index in enumerate(found.slow_index.tolist()):
            begin = found.slow_begin_ns[place] - found.slow_begin_ns[place].min()
            end = begin + found.slow_duration_ns[place]
            rows.append(
                (
                    point.operation,
                    point.message_bytes,
                    index,
                    float(found.completion_ns[index]),
                    float(begin.max()),
                    *ranks_on(
                        point,
                        (
                            int(begin.argmax()),
                            int(end.argmax()),
                            int(found.slow_duration_ns[place].argmax()),
                        ),
                    ),
                )
            )
        panels.append(_slowest_panel(point_label(point), found))
    if not rows:
        return None
    return tabled(
        "collectives-slowest",
        "Slowest repetitions, rank by rank",
        "Time of each rank inside the operation in the slowest repetition of the batch that had "
        "it, on rank 0's clock since the first entry. The other ranks and repetitions of these "
        "points were summarised by the ranks themselves.",
        f"{len(rows)} slowest repetitions.",
        panels,
        (
            *OPERATION_AND_SIZE,
            Column("repetition", "Repetition", "count"),
            *columns("time_ns", completion="Completion", start_spread="First to last entry"),
            *columns("text", last_in="Last to enter", last_out="Last to leave"),
            Column("longest", "Longest inside"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
        heading="Slowest repetitions",
    )


def _slowest_panel(title: str, found: Summary) -> Panel:
    begin = (found.slow_begin_ns[0] - found.slow_begin_ns[0].min()).astype(float)
    end = begin + found.slow_duration_ns[0]
    step = max(1, len(begin) // BARS_SHOWN)
    chosen = range(0, len(begin), step)
    x, y = list[float | None](), list[float | None]()
    for rank in chosen:
        x += [float(begin[rank]), float(end[rank]), None]
        y += [float(rank), float(rank), None]
    return Panel(
        title,
        Axis("since the first entry", "time_ns"),
        Axis("rank", "count"),
        [Curve("inside", x, y, "green", width=2.0)],
        height=280,
    )
