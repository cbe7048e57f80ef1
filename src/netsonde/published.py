"""Tables that others have printed, as data: a file of TOML beside the module that knows them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Value = int | float | str


@dataclass(frozen=True)
class PublishedTable:
    """Values stay as they were printed.

    ``number`` in the source, or of the section whose text has the figures; ``unit`` of all columns
    but those that say what of. ``kinds`` says of each column how it was obtained, where the file
    has that.
    """

    id: str
    number: str
    title: str
    unit: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    kinds: tuple[str, ...] = ()

    def column(self, name: str) -> tuple[Value, ...]:
        """The values of a column. Raises ``ValueError`` for a name that it has not."""
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def numbers(self, name: str) -> tuple[float, ...]:
        """The same where all are numbers."""
        return tuple(float(value) for value in self.column(name))

    def section(self, title: str, body: str) -> list[str]:
        """Paragraphs of a page of tables."""
        note = f" {self.note}" if self.note else ""
        return [f"## {title}", f"In {self.unit}.{note}", body]


@cache
def content_of(package: str, file: str) -> dict[str, Any]:
    """All that such a file has."""
    from importlib import resources  # late, as in tables.py

    return tomllib.loads(resources.files(package).joinpath(file).read_text(encoding="utf-8"))


@cache
def tables_of(package: str, file: str) -> dict[str, PublishedTable]:
    """Its tables, by id."""
    return {
        found["id"]: PublishedTable(
            **{
                **found,
                "columns": tuple(found["columns"]),
                "rows": tuple(tuple(row) for row in found["rows"]),
                "kinds": tuple(found.get("kinds", ())),
            }
        )
        for found in content_of(package, file)["table"]
    }


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a page."""
    lines: list[Sequence[object]] = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
