"""Plots of MPI operations as MPIBench's users know them: histograms of several sizes over each
other, every rank's least, mean and largest time, and who is whose partner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Collective
from netsonde.figures.levels import hierarchy_of
from netsonde.operations import operations
from netsonde.ranks.repetitions import completion_times_ns, has_summary
from netsonde.records.data import Point
from netsonde.report.against import OPERATION_AND_SIZE
from netsonde.report.lookup import Study, operation_place, point_label, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Curve, Heat, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import size_text
from netsonde.report.rank_names import host_of_rank, named_axis, ranks_on
from netsonde.report.shapes import evenly, histogram_curve, map_panel
from netsonde.report.theme import SERIES, Look, series_look
from netsonde.units import format_count

OPERATIONS_SHOWN = 6
SIZES_SHOWN = 6
"""Histograms in one panel, evenly chosen; more cannot be told apart."""
RANKS_SHOWN = 256
PARTNERS_SHOWN = 32
Times = npt.NDArray[np.int64]


def histograms(study: Study) -> Plot | None:
    """The distribution of completion times, of several sizes in one panel; of one size with its
    least, its mean and its standard deviation."""
    panels, rows = list[Panel](), list[tuple[Cell, ...]]()
    for points in _by_operation(study)[:OPERATIONS_SHOWN]:
        found = [
            (point, times)
            for point in points
            if len(times := completion_times_ns(point.batches)) > 1
        ]
        if not found:
            continue
        shown = evenly(found, SIZES_SHOWN)
        curves = [
            histogram_curve(size_text(point.message_bytes), times, Look(series_look(number).colour))
            for number, (point, times) in enumerate(shown)
        ]
        marks = _moments(shown[0][1]) if len(shown) == 1 else []
        panels.append(
            Panel(
                what_was_measured(found[0][0], with_size=len(shown) == 1),
                Axis("completion", "time_ns", log=True),
                Axis("share per 1 % of time", "ratio", low=0),
                curves,
                marks,
                height=280,
            )
        )
        rows += [_moments_row(point, times) for point, times in found]
    return tabled(
        "collectives-histograms",
        "MPI operations: histograms",
        "Share of the repetitions whose slowest rank took so long, for each 1 % of time. Sizes of "
        "one operation lie over each other; of a single one, lines mark the least, the mean, and "
        f"one standard deviation on either side. At most {SIZES_SHOWN} sizes are drawn; the table "
        "has all of them.",
        f"{len(rows)} histograms of {len(panels)} operations.",
        panels,
        (
            *OPERATION_AND_SIZE,
            Column("repetitions", "Repetitions", "count"),
            *columns("time_ns", min="Least", mean="Mean", deviation="Standard deviation"),
            *columns("time_ns", median="Median", max="Largest"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
    )


def _by_operation(study: Study) -> list[list[Point]]:
    """Measured points of each operation and shape by size; of several launches the first."""
    groups: dict[tuple[str, str | None], list[Point]] = {}
    for point in study.run.of_operations:
        spec = point.spec
        if point.batches and (spec.launch or 1) == 1 and (spec.pass_number or 1) == 1:
            key = (what_was_measured(point, with_size=False), spec.like)
            groups.setdefault(key, []).append(point)
    return sorted(groups.values(), key=lambda own: operation_place(own[0]))


def _moments(times: Times) -> list[Mark]:
    mean, deviation = float(times.mean()), float(times.std(ddof=1))
    marks = [("least", float(times.min())), ("mean", mean), ("+ σ", mean + deviation)]
    marks += [("- σ", mean - deviation)] if mean - deviation > float(times.min()) else []
    return [Mark("x", value, word) for word, value in marks]


def _moments_row(point: Point, times: Times) -> tuple[Cell, ...]:
    return (
        point.operation,
        point.message_bytes,
        len(times),
        float(times.min()),
        float(times.mean()),
        float(times.std(ddof=1)),
        float(np.median(times)),
        float(times.max()),
    )


def ranks(study: Study) -> Plot | None:
    """Every rank's least, mean and largest time inside an operation, smallest size of each."""
    panels, rows = list[Panel](), list[tuple[Cell, ...]]()
    for points in _by_operation(study):
        own = [row for point in points for row in _of_ranks(point)]
        rows += own
        first = [row for row in own if row[1] == points[0].message_bytes]
        if len(first) > 1 and len(panels) < OPERATIONS_SHOWN:
            panels.append(_ranks_panel(points[0], first))
    return tabled(
        "collectives-each-rank",
        "MPI operations: least, mean and largest time of each rank",
        "How long each rank was inside; bars go from the least to the largest time, points are "
        "means. In a tree, ranks of one level are alike. Smallest size of each operation; the "
        f"table has all. Of more than {RANKS_SHOWN} ranks every few are drawn.",
        f"{len(panels)} operations of {len(rows)} lines of ranks.",
        panels,
        (
            *OPERATION_AND_SIZE,
            Column("rank", "Rank", "count"),
            Column("host", "Host"),
            *columns("time_ns", min="Least", mean="Mean", max="Largest"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
        heading="MPI operations: times of each rank",
    )


def _of_ranks(point: Point) -> Iterator[tuple[Cell, ...]]:
    """Of summarised batches there is no least time of a rank, so none."""
    if any(has_summary(batch) for batch in point.batches):
        return
    for rank in sorted(point.batches[0].ends):
        times = point.series("duration_ns", rank)
        if len(times):
            host = point.batches[0].ends[rank].host
            least, mean, most = float(times.min()), float(times.mean()), float(times.max())
            yield (point.operation, point.message_bytes, rank, host, least, mean, most)


def _ranks_panel(point: Point, rows: Sequence[tuple[Cell, ...]]) -> Panel:
    shown = evenly(rows, RANKS_SHOWN)
    numbers = [[float(str(cell)) for cell in (row[2], *row[4:])] for row in shown]
    names = ranks_on(point, range(int(str(rows[-1][2])) + 1))
    return Panel(
        point_label(point).removeprefix("MPI "),
        named_axis("rank", names, Axis("rank", "count", low=-0.5, high=len(rows) - 0.5)),
        Axis("time inside", "time_ns", log=True),
        [
            Curve(
                "mean, from least to largest",
                [rank for rank, *_ in numbers],
                [mean for _, _, mean, _ in numbers],
                SERIES[0],
                draw="points",
                low=[low for _, low, _, _ in numbers],
                high=[high for *_, high in numbers],
            )
        ],
        height=260,
    )


def who_with_whom(study: Study) -> Plot | None:
    """Which rank sends to which, of every pattern that was measured, and how far that is."""
    patterns: dict[str, Point] = {}
    for point in study.run.of_operations:
        known = operations().get(point.operation or "")
        if point.batches and known is not None and known.is_between_two:
            patterns.setdefault(_pattern(point), point)
    found = [(name, point, _partners(point)) for name, point in patterns.items()]
    found = [(name, point, to) for name, point, to in found if any(t is not None for t in to)]
    if not found:
        return None
    rows: list[tuple[Cell, ...]] = []
    for name, point, to in found:
        words = [_between(study, point, rank, other) for rank, other in enumerate(to)]
        rows += [
            (name, rank, None if other is None else other, host_of_rank(point, rank), between)
            for rank, (other, between) in enumerate(zip(to, words, strict=True))
        ]
    return tabled(
        "collectives-partners",
        "MPI operations: who sends to whom",
        "Each row is a rank, its coloured cell whom it sends to first: darker where that is on "
        f"another host. Of more than {PARTNERS_SHOWN} ranks the first are drawn.",
        f"{len(found)} patterns.",
        [_partners_panel(name, point, to) for name, point, to in found[:OPERATIONS_SHOWN]],
        (
            Column("pattern", "Pattern"),
            *columns("count", rank="Rank", partner="Sends to"),
            *columns("text", host="On", between="Between them"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
    )


def _pattern(point: Point) -> str:
    spec = point.spec.of(Collective)
    words = [spec.pattern or "half", "" if spec.distance is None else str(spec.distance)]
    words += [f"{format_count(spec.ppn, 'rank')} a host"] if spec.ppn else []
    return " ".join(word for word in words if word)


def _partners(point: Point) -> list[int | None]:
    ends = point.batches[0].ends
    partners = [ends[rank].counters.get("partner", -1) for rank in sorted(ends)]
    return [None if partner < 0 else partner for partner in partners]


def _between(study: Study, point: Point, rank: int, other: int | None) -> str:
    if other is None:
        return "nobody"
    first, second = host_of_rank(point, rank), host_of_rank(point, other)
    if first == second:
        return "one host"
    hierarchy = hierarchy_of(study.run)
    switches = hierarchy.switches_between(first, second) if hierarchy is not None else None
    if switches is None:
        return "another host"
    return "one switch" if switches == 1 else f"{switches} switches"


def _partners_panel(name: str, point: Point, to: Sequence[int | None]) -> Panel:
    count = min(len(to), PARTNERS_SHOWN)
    shares: list[list[float | None]] = [[0.0] * count for _ in range(count)]
    words = [[""] * count for _ in range(count)]
    for rank, other in enumerate(to[:count]):
        if other is not None and other < count:
            is_far = host_of_rank(point, rank) != host_of_rank(point, other)
            shares[rank][other] = 1.0 if is_far else 0.5
            words[rank][other] = "to another host" if is_far else "on one host"
    names = ranks_on(point, range(count))
    heat = Heat(
        names,
        [f"rank {n}" for n in names],
        shares,
        words,
        palest=0.0,
        meaning="",
        words_shown=False,
    )
    return map_panel(name, "sends to", heat, row_pixels=20)
