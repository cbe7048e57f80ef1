"""The tables of MPIBench's thesis of 2008 as data, and where they are wrong.

Printed values stay as they were printed; a corrected value stands beside, and is computed from the
tables wherever they decide. Old absolute times are a reference and no limit for anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from netsonde.published import PublishedTable, content_of, tables_of

PACKAGE = "netsonde.peers"
FILE = "mpibench_2008.toml"
SOURCE = (
    "N. A. W. Abdul Hamid, *Communication Performance Measurement and Analysis on Commodity "
    "Clusters*, PhD thesis, University of Adelaide, 2008"
)
RING_FROM_BYTES = 370_728
"""From this size on, table 6.7 has another column of table 6.4 than it says."""


@dataclass(frozen=True)
class Erratum:
    """What is printed where, what is right, and how that is known."""

    place: str
    printed: str
    right: str
    why: str


def tables() -> dict[str, PublishedTable]:
    """All tables by id."""
    return tables_of(PACKAGE, FILE)


@cache
def errata() -> tuple[Erratum, ...]:
    """All known errors, with what is computed from the tables filled in."""
    known = _computed()
    return tuple(
        Erratum(**{name: text.format(**known) for name, text in found.items()})
        for found in content_of(PACKAGE, FILE)["erratum"]
    )


def contention(machine: str) -> dict[int, float]:
    """One pair's bandwidth over that of all pairs at once, 4 MB, by number of processors;
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
    """At how many sizes the binomial tree is the fastest of the three at 8 processors."""
    _, *algorithms = _bcast_columns(table, 8)
    return sum(found[0] == min(found) for found in zip(*algorithms, strict=True))
