"""docs/reference/from-other-tools.md: what users of other tools type, and what netsonde calls it,
from the rows of netsonde.catalogue.reflexes."""

from __future__ import annotations

from itertools import groupby

from netsonde.catalogue.reflexes import CALLS, REFLEXES, Place

HEADER = """<!-- Made by scripts/reference.py from the rows of netsonde.catalogue.reflexes. -->

# From other tools

You know a call of another tool: here is netsonde's. Nothing has to be started at the other end
where ssh leads there; else start `netsonde serve` there and give `HOST:PORT` with the pairing code
that it prints. [Which figure is which](../how-to/other-tools.md#which-figure-is-which) says why
numbers differ.
"""
PLACES: dict[Place, str] = {
    "sockets": "Options of `netsonde tcp` and `udp`",
    "mpi": "Options of `netsonde mpi`",
    "serve": "Options of `netsonde serve`",
    "test": "Tests of `netsonde tcp` and `udp`",
    "command": "Commands",
}


def page() -> str:
    """The page, in Markdown."""
    parts = [HEADER, "## Calls\n", "| tool | its call | netsonde's |", "| --- | --- | --- |"]
    for tool, calls in groupby(CALLS, lambda call: call.tool):
        parts += [f"| {tool} | `{call.theirs}` | `{call.ours}` |" for call in calls]
    parts.append("\n## Words\n\nWho types one of these is told the same.\n")
    for place, title in PLACES.items():
        parts += [f"### {title}\n", "| word | netsonde says | |", "| --- | --- | --- |"]
        for row in (row for row in REFLEXES if place in row.places):
            words = ", ".join(f"`{word}`" for word in row.words)
            says = f"`{row.says}`" if row.says else ""
            parts.append(f"| {words} | {says} | {row.note} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"
