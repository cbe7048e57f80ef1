"""MPI's performance guidelines: each against each size, as a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netsonde.figures.alike import LAUNCH, OPERATION, PASS, SIZE, told_apart
from netsonde.figures.guidelines import Compared, compare_guidelines
from netsonde.report.against import estimate_cells, estimate_columns
from netsonde.report.lookup import Study
from netsonde.report.plot import Cell, Column, Heat, Panel, Plot, columns, tabled
from netsonde.report.quantity import size_text, times_text
from netsonde.report.shapes import map_panel

ROWS_MOST = 24


def guidelines(study: Study) -> Plot | None:
    """By how much each left side is slower than its right side, at every size."""
    compared = compare_guidelines(study.run, study.figures)
    own = [c for c in compared if c.kind == "composition"]
    if not own:
        return None
    violated = [c for c in compared if c.is_violated]
    conditions = _conditions(study, compared)
    return tabled(
        "collectives-guidelines",
        "MPI operations: performance guidelines",
        "The time of the operation on the left of each line over that of those on its right, which "
        "do the same, where each rank's part has so many bytes, and what the outer ends of the "
        "95 % intervals make of it. A line for each MPI, number of ranks or of ranks on a host "
        "where there are several. Coloured: more than 1 beyond the intervals and a tenth, so that "
        f"something is to be gained. At most {ROWS_MOST} lines are drawn; the table also has the "
        "guidelines over sizes: a larger message takes no less time, and no longer than in parts.",
        f"{len(violated)} of {len(compared)} guidelines are violated.",
        [_panel(own, conditions)],
        (
            Column("kind", "Kind"),
            *columns("text", guideline="Guideline", condition="Of"),
            Column("message_bytes", "Size", "size"),
            *estimate_columns("left_ns", "Left", low="left_low_ns", high="left_high_ns"),
            *estimate_columns("right_ns", "Right", low="right_low_ns", high="right_high_ns"),
            *columns("ratio", gain="To be gained", certain_gain="Certain"),
            Column("violated", "Violated"),
        ),
        [_row(c, conditions[c.left.point]) for c in sorted(compared, key=lambda c: -c.gain)],
        methods=("collectives#", "rank-clocks#"),
        wide=True,
    )


def _conditions(study: Study, compared: Sequence[Compared]) -> Mapping[str, str]:
    """By the point on the left, in what its guideline differs from the same of other points: the
    MPI, the number of ranks. Launches are judged together and are no difference."""
    points = {point.id: point for point in study.run.points}
    lefts = [points[name] for name in dict.fromkeys(c.left.point for c in compared)]
    return told_apart(lefts, OPERATION, SIZE, LAUNCH, PASS)


def _panel(own: Sequence[Compared], conditions: Mapping[str, str]) -> Panel:
    found: dict[str, dict[int, Compared]] = {}
    for c in own:
        name = ", ".join(filter(None, (c.words, conditions[c.left.point])))
        found.setdefault(name, {})[c.part_bytes] = c
    rows = list(found)[:ROWS_MOST]
    sizes = sorted({c.part_bytes for c in own})
    cells = [[found[row].get(size) for size in sizes] for row in rows]
    heat = Heat(
        [size_text(size) for size in sizes],
        rows,
        [[None if c is None else _share(c) for c in row] for row in cells],
        [["" if c is None else _times(c) for c in row] for row in cells],
        palest=0.0,
        meaning="to be gained",
    )
    return map_panel("", "part of each rank", heat)


def _share(c: Compared) -> float:
    return float(c.is_violated) * min(1, c.gain + 0.3)


def _times(c: Compared) -> str:
    """``3.02 [2.94, 3.10]``: left over right."""
    low, high = (times_text(x) for x in _ends(c))
    return f"{times_text(c.left.value / c.right_ns)} [{low}, {high}]"


def _ends(c: Compared) -> tuple[float, float]:
    """Left over right by the outer ends of their intervals, which all of them have."""
    low, high = _right_ends(c)
    return (c.left.low or c.left.value) / high, (c.left.high or c.left.value) / low


def _right_ends(c: Compared) -> tuple[float, float]:
    low = c.times * sum(f.value if f.low is None else f.low for f in c.right)
    return low, c.times * sum(f.value if f.high is None else f.high for f in c.right)


def _row(c: Compared, condition: str) -> tuple[Cell, ...]:
    return (
        *(c.kind, c.words, condition),
        c.left.message_bytes,
        *estimate_cells(c.left),
        *(c.right_ns, *_right_ends(c)),
        *(c.gain, c.certain_gain),
        "yes" if c.is_violated else "no",
    )
