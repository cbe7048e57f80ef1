"""The tables of MPIBench's thesis as the page docs/reference/mpibench-tables.md."""

from __future__ import annotations

from netsonde.peers.mpibench_2008 import SOURCE, contention, duplex, errata, tables
from netsonde.published import markdown


def page() -> str:
    """docs/reference/mpibench-tables.md."""
    parts = [_HEADING]
    for table in tables().values():
        title = f"Table {table.number}: {table.title}"
        parts += table.section(title, markdown(table.columns, table.rows))
    parts += [
        "## Computed from them",
        "One pair's bandwidth over that of all pairs at once, 4 MB (contention):",
        _by_number("CPUs", {"Altix": contention("altix"), "Hydra": contention("hydra")}),
        "Sendrecv over Send/Recv, 256 KB on Hydra (1 is duplex, 2 takes turns):",
        _by_number("CPUs", {name: duplex(name) for name in ("Ethernet", "Myrinet")}),
        "## Known errors",
        "What is printed, and what is right. Tables above are as printed.",
        markdown(
            ("where", "printed", "right", "how that is known"),
            [(e.place, e.printed, e.right, e.why) for e in errata()],
        ),
        "## Source",
        f"{SOURCE}.",
    ]
    return "\n\n".join(parts) + "\n"


_HEADING = """<!-- Made by scripts/reference.py from src/netsonde/peers; do not edit. -->

# Tables of MPIBench's thesis

Measured 2003 to 2007 on a cluster of 128 nodes with two processors each (Hydra; Myrinet 2000 and
Fast Ethernet) and on an SGI Altix 3000. They are here to compare ways of measuring and ways of
reading results. What a network takes today they do not say. `netsonde.peers.mpibench_2008` has them
as data."""


def _by_number(first: str, columns: dict[str, dict[int, float]]) -> str:
    numbers = sorted({number for found in columns.values() for number in found})
    rows = [
        (number, *(f"{found[number]:.2f}" if number in found else "" for found in columns.values()))
        for number in numbers
    ]
    return markdown((first, *columns), rows)
