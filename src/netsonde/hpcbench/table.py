"""Columns of text that people and gnuplot read alike."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | None
MISSING = "nan"  # what gnuplot leaves out


def table(heading: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Lines of columns, each as wide as its widest cell; the heading begins with ``#``."""
    texts = [list(heading), *([cell_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(heading))]
    return "".join(line(row, widths) for row in texts)


def line(cells: Sequence[Cell], widths: Sequence[int]) -> str:
    """One line of columns, to the right."""
    return (
        " ".join(
            cell_text(cell).rjust(width) for cell, width in zip(cells, widths, strict=True)
        ).rstrip()
        + "\n"
    )


def cell_text(cell: Cell) -> str:
    return MISSING if cell is None else str(cell)
