"""The tables of MPIBench's thesis as the page docs/reference/mpibench-tables.md, and where they are
wrong.

A corrected value stands beside what was printed, and is computed from the tables wherever they
decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from netsonde.peers.mpibench_2008 import FILE, PACKAGE, SOURCE, tables
from netsonde.published import PublishedTable, content_of, markdown

RING_FROM_BYTES = 370_728
"""From this size on, table 6.7 has another column of table 6.4 than it says."""


@dataclass(frozen=True)
class Erratum:
    """What is printed where, what is right, and how that is known."""

    place: str
    printed: str
    right: str
    why: str


@cache
def errata() -> tuple[Erratum, ...]:
    """All known errors, with what is computed from the tables filled in."""
    known = _computed()
    return tuple(
        Erratum(**{name: text.format(**known) for name, text in found.items()})
        for found in content_of(PACKAGE, FILE)["erratum"]
    )


def contention(machine: str) -> dict[int, float]:
    """One pair's bandwidth over that of all pairs at once, 4 MB, by number of CPUs;
    ``altix`` or ``hydra``."""
    table = tables()[f"bandwidth_{machine}"]
    columns = (table.numbers(name) for name in ("CPUs", "MPBench, 4 MB", "MPIBench, 4 MB"))
    return {int(cpus): one / all_ for cpus, one, all_ in zip(*columns, strict=True)}


def duplex(network: str) -> dict[int, float]:
    """Sendrecv over Send/Recv of 256 KB on Hydra: 1 is duplex; ``Ethernet`` or ``Myrinet``."""
    table = tables()["duplex_hydra"]
    names = ("CPUs", f"{network} Sendrecv", f"{network} Send/Recv")
    columns = (table.numbers(name) for name in names)
    return {int(cpus): both / one for cpus, both, one in zip(*columns, strict=True)}


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

Measured 2003 to 2007 on a cluster of 128 nodes with two CPUs each (Hydra; Myrinet 2000 and
Fast Ethernet) and on an SGI Altix 3000. They are here to compare ways of measuring and ways of
reading results. What a network takes today they do not say. `netsonde.peers.mpibench_2008` has them
as data."""


def _computed() -> dict[str, float]:
    """Numbers that errors are corrected by."""
    bcast = tables()["time_outs_bcast"]
    shares = [
        without / mean
        for without, mean in zip(bcast.numbers("mean without"), bcast.numbers("mean"), strict=True)
    ]
    networks = {name: tables()[f"bcast_{name}"] for name in ("myrinet", "ethernet")}
    gains = [
        1 - min(algorithms) / default
        for table in networks.values()
        for cpus in (8, 32)
        for default, *algorithms in zip(*_bcast_columns(table, cpus), strict=True)
    ]
    versions = tables()["bcast_versions"]
    at = versions.column("Bytes").index(RING_FROM_BYTES)
    ethernet = networks["ethernet"]
    default = ethernet.numbers("8 CPUs, default")[ethernet.column("Bytes").index(RING_FROM_BYTES)]
    processes = tables()["bcast_processes"]
    pairs = (processes.column("one each, binomial"), processes.column("one each, ring"))
    small = tables()["time_outs_alltoall"].rows
    return {
        "bcast_without": min(shares),
        "binomial_best": _binomial_best(networks["myrinet"]),
        "binomial_best_ethernet": _binomial_best(ethernet),
        "sizes": len(ethernet.rows),
        "best_gain": max(gains),
        "equal_rows": sum(a == b for a, b in zip(*pairs, strict=True)),
        "printed_gain": versions.numbers("gain")[at],
        "right_gain": 1 - default / versions.numbers("MPICH")[at],
        "small_time_outs": next(float(r[3]) for r in small if r[:2] == (128, "256 B")),
    }


def _bcast_columns(table: PublishedTable, cpus: int) -> list[tuple[float, ...]]:
    names = ("default", "binomial", "recursive doubling", "ring")
    return [table.numbers(f"{cpus} CPUs, {name}") for name in names]


def _binomial_best(table: PublishedTable) -> int:
    """At how many sizes the binomial tree is the fastest of the three at 8 CPUs."""
    _, *algorithms = _bcast_columns(table, 8)
    return sum(found[0] == min(found) for found in zip(*algorithms, strict=True))


def _by_number(first: str, columns: dict[str, dict[int, float]]) -> str:
    numbers = sorted({number for found in columns.values() for number in found})
    rows = [
        (number, *(f"{found[number]:.2f}" if number in found else "" for found in columns.values()))
        for number in numbers
    ]
    return markdown((first, *columns), rows)
