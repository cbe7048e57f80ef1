"""Tables by size on a terminal, as wide as that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from netsonde.figures.headlines import Basis
from netsonde.report.quantity import list_in_words
from netsonde.report.size_table import FIGURE_SPACE, MISSING, POINT_SPACE, Column, Row, SizeTable

GAP = 2
_LEAST_WORDS = 20
"""Characters of a line of words."""
_PLAIN = str.maketrans({FIGURE_SPACE: " ", POINT_SPACE: " "})
BASES: dict[Basis, str] = {
    "launches": "95 % intervals of the median over launches",
    "span": "the span of all launches",
    "within": "95 % intervals within one launch",
    "runs": "95 % intervals over runs",
}


def print_size_tables(tables: Sequence[SizeTable], console: Console) -> None:
    """One after the other, and beneath all of them what their signs mean."""
    left_out: list[Column] = []
    for table in tables:
        left_out += _print_table(table, console)
        console.print()
    notes = notes_of(tables)
    if left_out:
        names = list_in_words(list(dict.fromkeys(column.heading for column in left_out)))
        notes.append(f"no room for {names}: a wider terminal and the report have them")
    for words in notes:
        console.print(Text(words, style="dim"))


def _print_table(table: SizeTable, console: Console) -> list[Column]:
    """The title, what the columns are, and a line for each row; the columns without room."""
    folded, more = fold_names(table.columns, console.width)
    columns, left_out = shown_columns(folded, console.width)
    console.print(Text(table.title, style="bold"))
    names = sum(column.role == "name" for column in columns)
    for head in ([c.heading for c in columns], [c.unit for c in columns]):
        if any(head):
            console.print(Text(_line(columns, head), style="dim"), no_wrap=True)
    for number, row in enumerate(table.rows):
        cells = [column.cells[number] for column in columns]
        if row.error:
            _print_failed(_line(columns[:names], cells[:names]), columns[:names], row, console)
        else:
            console.print(Text(_line(columns, cells)), no_wrap=True)
        for rest in more[number]:
            console.print(Text(_line(columns[: len(rest)], rest)), no_wrap=True)
        if row.note:
            console.print(Text(f"  {row.note}", style="dim"))
    return left_out


def fold_names(columns: Sequence[Column], width: int) -> tuple[list[Column], list[list[list[str]]]]:
    """The widest column of names, where the figures have no room beside it, is no wider than lets
    them have it, a third of the width at least; for each row the lines beneath it, as cells."""
    rows = len(columns[0].cells)
    narrow = [column for column in columns if column.role != "interval"]
    names = [column for column in narrow if column.is_words]
    widest = max(names, key=lambda column: column.width, default=None)
    if widest is None or _width(narrow) <= width:
        return list(columns), [[] for _ in range(rows)]
    limit = max(width - (_width(narrow) - widest.width), width // 3)
    pieces = [_pieces(cell.rstrip(), limit) for cell in widest.cells]
    place = list(columns).index(widest)
    first = replace(widest, cells=tuple(piece[0] for piece in pieces))
    before = [""] * place
    more = [[[*before, rest] for rest in piece[1:]] for piece in pieces]
    return [first if column is widest else column for column in columns], more


def _pieces(text: str, limit: int) -> list[str]:
    """Parts no longer than that, that begin with one of an algorithm's settings where they can."""
    found = []
    while len(text) > limit:
        at = text.rfind(":", limit // 3, limit)
        end = limit if at < 0 else at
        found.append(text[:end])
        text = text[end:]
    return [*found, text]


def _print_failed(line: str, names: Sequence[Column], row: Row, console: Console) -> None:
    """The reason begins where the figures would, and goes on beneath."""
    begin = _width(names) + GAP
    words = Text(f"failed: {row.error}").wrap(console, max(_LEAST_WORDS, console.width - begin))
    for number, part in enumerate(words):
        before = (line if number == 0 else "").ljust(begin)
        console.print(Text.assemble(before, (part.plain.rstrip(), "bold red")))


def shown_columns(columns: Sequence[Column], width: int) -> tuple[list[Column], list[Column]]:
    """Those that have room, and those left out: first the interval makes room, as its margin, then
    the last columns go."""
    wide = [column for column in columns if column.role != "margin"]
    narrow = [column for column in columns if column.role != "interval"]
    kept = wide if _width(wide) <= width else narrow
    left_out: list[Column] = []
    while _width(kept) > width and kept[-1].role == "value":
        left_out.insert(0, kept.pop())
    return kept, left_out


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def _line(columns: Sequence[Column], texts: Sequence[str]) -> str:
    """Cells and headings end where their column does, those of words begin where it does."""
    parts = []
    for column, text in zip(columns, texts, strict=True):
        fill = text.ljust if column.is_words else text.rjust
        parts.append(fill(column.width))
    return (" " * GAP).join(parts).translate(_PLAIN).rstrip()


def notes_of(tables: Sequence[SizeTable]) -> list[str]:
    """What the intervals are of, and what the signs mean."""
    bases = {basis for table in tables for basis in table.bases}
    words = [words for basis, words in BASES.items() if basis in bases]
    cells = {cell.strip() for t in tables for c in t.columns for cell in c.cells}
    words += [f"{MISSING} too few samples"] if MISSING in cells else []
    return ["; ".join(words)] if words else []
