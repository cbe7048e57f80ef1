"""Who came late to which repetition of an MPI operation, and who was held up by it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Collective
from netsonde.figures.stragglers import Lateness, lateness_of, stragglers
from netsonde.records.data import Point
from netsonde.report.against import OPERATION_AND_SIZE
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import Cell, Column, Heat, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value
from netsonde.report.rank_names import host_of_rank, ranks_on
from netsonde.report.shapes import map_panel

POINTS_SHOWN = 2
"""Those that lost the largest share of their time to late ranks."""
SLOWEST_SHOWN = 8
COLUMNS_MOST = 60
RANKS_SHOWN = 32
STRAGGLERS_LISTED = 100
Times = npt.NDArray[np.float64]


def late_ranks(study: Study) -> Plot | None:
    """Rank by repetition as a map, and the slowest repetitions one by one."""
    found = []
    for point in study.run.of_operations:
        late = lateness_of(point.batches) if point.spec.of(Collective).start != "none" else None
        if late is not None and late.stay.shape[1] > 1:
            found.append((_lost_share(late), point, late))
    if not found or not any(lost for lost, _, _ in found):
        return None
    found.sort(key=lambda item: -item[0])
    panels = list[Panel]()
    for lost, point, late in found[:POINTS_SHOWN]:
        if not lost:
            break
        panels += [_map(point, late), _slowest(point, late)]
    rows = [row for _, point, late in found for row in _rows(point, late)]
    lost, worst, _ = found[0]
    return tabled(
        "collectives-late",
        "MPI operations: who came late",
        "How much later than usual for it each rank entered a repetition, by the common clock and "
        "against the middle rank. First all repetitions in order, some to a cell, of which the "
        f"latest counts; then the {SLOWEST_SHOWN} slowest repetitions, in each cell how much "
        "later the rank entered and how much longer than usual it stayed. A coloured cell beside "
        "rows that stayed longer by as much is a rank that held up others. The points are those "
        "that lost the largest share of their time so; the table has the latest of all.",
        f"{point_label(worst)} lost most to ranks that came late: {lost:.1%} of its time.",
        panels,
        (
            *OPERATION_AND_SIZE,
            *columns("count", batch="Batch", repetition="Repetition"),
            *columns("text", rank="Rank", host="On"),
            *columns("time_ns", late="Late by", excess="Slowest rank longer by"),
            Column("held_up", "Held up"),
        ),
        rows,
        methods=("collectives#", "rank-clocks#"),
        wide=True,
    )


def _lost_share(late: Lateness) -> float:
    cost = {(s.batch, s.repetition): max(0.0, s.excess_ns) for s in stragglers(late)}
    return sum(cost.values()) / max(1.0, float(late.stay.max(axis=0).sum()))


def _beyond_usual(times: Times) -> Times:
    return times - np.median(times, axis=1, keepdims=True)


def _map(point: Point, late: Lateness) -> Panel:
    entered = np.maximum(_beyond_usual(late.entered), 0.0)
    rows = _rows_shown(entered)
    count = entered.shape[1]
    pieces = np.array_split(np.arange(count), min(count, COLUMNS_MOST))
    cells = np.stack([entered[:, piece].max(axis=1) for piece in pieces], axis=1)[rows]
    return _panel(
        f"{point_label(point)}: all repetitions",
        [str(piece[0] + 1) for piece in pieces],
        [f"rank {name}" for name in ranks_on(point, (late.ranks[row] for row in rows))],
        cells,
        [[format_value(float(v), "time_ns") for v in row] for row in cells],
        shown=False,
    )


def _slowest(point: Point, late: Lateness) -> Panel:
    entered, stay = _beyond_usual(late.entered), _beyond_usual(late.stay)
    rows = _rows_shown(np.maximum(entered, 0.0))
    order = np.argsort(-late.stay.max(axis=0), kind="stable")[:SLOWEST_SHOWN]
    words = [
        [f"{_signed(entered[r, c])}, {_signed(stay[r, c])}" for c in order.tolist()] for r in rows
    ]
    return _panel(
        f"{point_label(point)}: the slowest",
        [f"{late.batch[c]}/{late.repetition[c]}" for c in order.tolist()],
        [f"rank {name}" for name in ranks_on(point, (late.ranks[row] for row in rows))],
        np.maximum(entered[:, order], 0.0)[rows],
        words,
        shown=True,
    )


def _panel(
    title: str,
    columns: list[str],
    rows: list[str],
    cells: Times,
    words: list[list[str]],
    *,
    shown: bool,
) -> Panel:
    most = max(float(cells.max()), 1.0)
    heat = Heat(
        columns,
        rows,
        (cells / most).tolist(),
        words,
        palest=0.0,
        meaning="of the latest here",
        words_shown=shown,
    )
    return map_panel(title, "batch/repetition" if shown else "repetition", heat)


def _rows_shown(entered: Times) -> list[int]:
    """All rows, or those with the most lateness, in the order of ranks."""
    latest = np.argsort(-entered.sum(axis=1), kind="stable")[:RANKS_SHOWN]
    return sorted(latest.tolist())


def _signed(time_ns: float) -> str:
    """``+52 µs``, in three digits, so that eight columns fit."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(time_ns) >= scale:
            return f"{time_ns / scale:+.3g} {unit}"
    return f"{time_ns:+.0f} ns"


def _rows(point: Point, late: Lateness) -> list[tuple[Cell, ...]]:
    return [
        (
            point.operation,
            point.message_bytes,
            s.batch,
            s.repetition,
            str(s.rank),
            host_of_rank(point, s.rank),
            s.late_ns,
            s.excess_ns,
            ", ".join(ranks_on(point, s.held_up)),
        )
        for s in stragglers(late)[:STRAGGLERS_LISTED]
    ]
