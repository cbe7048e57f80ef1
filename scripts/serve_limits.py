"""The tables of limits in docs/reference/serve.md, from the rows of netsonde.serve.limits."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from netsonde.serve.limits import DoorLimits, Limits, QueueLimits, Row, Table

TABLES: dict[str, type[Table]] = {"clients": Limits, "queue": QueueLimits, "strangers": DoorLimits}
"""By the word of the marks between which a table stands."""


def page(path: Path) -> str:
    """The text of the page with its tables as the rows are."""
    text = path.read_text()
    for name, table in TABLES.items():
        begin, end = f"<!-- limits: {name} -->\n", "\n<!-- end -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end.strip())
        made = begin + "\n" + _table(list(table.rows().values())) + end
        found = re.findall(pattern, text, re.DOTALL)
        if len(found) != 1:
            sys.exit(f"{path} has {len(found)} tables between {begin.strip()} and {end.strip()}")
        text = text.replace(found[0], made)
    return text


def _table(rows: list[Row]) -> str:
    has_keys, has_flags = any(row.key for row in rows), any(row.flag for row in rows)
    has_words = any(row.sentence for row in rows)
    heads = ["what it bounds", "default"]
    heads += ["option"] * has_flags + ["in a file"] * has_keys + ["what is said"] * has_words
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        cells = [row.bounds, row.words(row.default)]
        cells += [_code(row.flag)] * has_flags + [_code(row.key)] * has_keys
        cells += [row.sentence.format(allowed="LIMIT", asked="ASKED")] * has_words
        lines.append(cells)
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
