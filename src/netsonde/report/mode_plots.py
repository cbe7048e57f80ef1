"""Ways of sending a message beside each other, by size: the best marked, and ratios to a plain
send."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.figures.protocols import Modes, modes_of
from netsonde.report.against import (
    OPERATION_AND_SIZE,
    SIZE_AXIS,
    curve,
    estimate_cells,
    estimate_columns,
    size_place,
)
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Heat, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_with_margin, size_text
from netsonde.report.shapes import map_panel
from netsonde.report.theme import series_look

SHAPES_SHOWN = 2
COLUMNS_MOST = 8
"""More have no room for their words."""
BEST = "★ "


def modes(study: Study) -> Plot | None:
    """A matrix of modes and sizes, and each mode's time over that of a plain send."""
    found = modes_of(study.run, study.figures)
    if not found:
        return None
    panels = [panel for own in found[:SHAPES_SHOWN] for panel in (_matrix(own), _ratios(own))]
    change = found[0].rendezvous_from
    words = (
        f"A plain send waits for the receiver from {size_text(change[1])} on."
        if change
        else "Where a plain send begins to wait for the receiver is not decided."
    )
    return tabled(
        "modes",
        "MPI operations: ways of sending",
        "Median round trips of each way of sending. In the matrix the darkest of a column is the "
        f"fastest, with how far the farther end of its 95 % interval is; {BEST.strip()} marks one "
        "that is so beyond all intervals. Below it the time "
        "over a plain send's: where a synchronous send is slower, the plain one is eager, where "
        "they are alike it waits for the receiver (rendezvous); what a buffered send takes more is "
        "a copy. Bounds are quotients of the intervals' outer ends. At most "
        f"{COLUMNS_MOST} sizes are in the matrix.",
        words,
        panels,
        (
            *OPERATION_AND_SIZE,
            *estimate_columns("median_ns", "Median"),
            *columns("number", ratio="× send", ratio_low="From", ratio_high="To"),
            Column("best", "Best"),
        ),
        [row for own in found for row in _rows(own)],
        methods=("latency#quantiles", "collectives#quantiles"),
        wide=True,
    )


def _matrix(own: Modes) -> Panel:
    step = -(-len(own.sizes) // COLUMNS_MOST)
    sizes = own.sizes[::step]
    shares: list[list[float | None]] = []
    words: list[list[str]] = []
    for mode, medians in own.medians.items():
        cells = [medians.get(size) for size in sizes]
        fastest = [
            min(of[size].value for of in own.medians.values() if size in of) for size in sizes
        ]
        shares.append(
            [None if c is None else best / c.value for c, best in zip(cells, fastest, strict=True)]
        )
        words.append(
            [
                ""
                if cell is None
                else (BEST if own.best(size) == mode else "") + format_with_margin(cell)
                for cell, size in zip(cells, sizes, strict=True)
            ]
        )
    heat = Heat([size_text(size) for size in sizes], list(own.medians), shares, words)
    return map_panel("", "message size", heat)


def _ratios(own: Modes) -> Panel:
    curves = []
    for number, mode in enumerate(mode for mode in own.medians if mode != "send"):
        found = [(size, own.ratio(mode, size)) for size in own.sizes]
        known = [(size_place(size), ratio) for size, ratio in found if ratio is not None]
        curves.append(curve(mode, known, series_look(number)))
    return Panel(
        "over a plain send",
        SIZE_AXIS,
        Axis("times send", "number", log=True),
        curves,
        [Mark("y", 1.0, "send")],
    )


def _rows(own: Modes) -> Iterator[tuple[Cell, ...]]:
    for mode, medians in own.medians.items():
        for size, figure in sorted(medians.items()):
            ratio = own.ratio(mode, size)
            best = "yes" if own.best(size) == mode else ""
            yield (mode, size, *estimate_cells(figure), *estimate_cells(ratio), best)
