"""CSV: every file of it that netsonde writes, so that no text in it is a formula.

A spreadsheet computes a cell that begins with one of a few characters, whoever wrote it: a label or
a message of another machine could read files or call programs there. docs/reference/export.md says
what stands in its place.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any

BEGIN_FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""The second half is the first in full width, which some spreadsheets take alike."""
BEGIN_CELLS = ("\t", "\n")
"""A spreadsheet may drop them, and what follows begins the cell."""
MARK = "'"
"""Before such text; a spreadsheet then shows it and computes nothing."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def harmless(cell: Any) -> Any:
    """The cell as a spreadsheet may have it: only text can change, and none that is a number."""
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell):
        return cell
    if "\r" in cell:  # which the library does not quote, so that a new row would begin behind it
        cell = "\n".join(cell.replace("\r\n", "\n").split("\r"))
    is_formula = cell.startswith(BEGIN_CELLS) or cell.lstrip().startswith(BEGIN_FORMULAS)
    return MARK + cell if is_formula else cell


def write_rows(file: IO[str], rows: Iterable[Sequence[Any]]) -> None:
    """A line for each row, the heading among them; None is an empty cell."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerows([harmless(cell) for cell in row] for row in rows)
