"""Which ways an operation is measured in: the library's own, those that it can be told to take, and
ours; and which of them a model leaves out before anything is measured.

The model is Hockney's: the formulas of :mod:`netsonde.model.collectives` with the time of a message
and of a byte between two ranks of this job. A way without a formula is never left out.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netsonde.model.collectives import FORMULAS, counts_of
from netsonde.operations import Operation, operations
from netsonde.schedules.algorithms import NATIVE, library_of, schedule_of

PRUNED_FROM = 4.0
"""A way whose predicted time is so many times the least is left out."""
SAMPLED_SHARE = 0.1
"""Of what is left out, so much is measured all the same, one at least."""

LIKE: Mapping[str, str] = {
    "alltoall/brucks": "alltoall/bruck",
    "alltoall/modified_bruck": "alltoall/bruck",
    "alltoall/pairwise": "alltoall/pairwise",
    "broadcast/basic_linear": "broadcast/linear",
    "broadcast/binomial": "broadcast/binomial",
    "broadcast/scatter_recursive_doubling_allgather": "broadcast/scatter-recursive-doubling",
    "broadcast/scatter_allgather": "broadcast/scatter-recursive-doubling",
    "broadcast/scatter_ring_allgather": "broadcast/scatter-ring",
    "broadcast/scatter_allgather_ring": "broadcast/scatter-ring",
    "scatter/binomial": "scatter/binomial",
    "scatter/basic_linear": "scatter/linear",
    "gather/binomial": "gather/binomial",
    "gather/basic_linear": "gather/linear",
    "allgather/brucks": "allgather/bruck",
    "allgather/bruck": "allgather/bruck",
    "allgather/recursive_doubling": "allgather/recursive-doubling",
    "allgather/ring": "allgather/ring",
    "reduce/binomial": "reduce/binomial",
    "reduce/reduce_scatter_gather": "reduce/rabenseifner",
    "reduce/rabenseifner": "reduce/rabenseifner",
    "allreduce/recursive_doubling": "allreduce/recursive-doubling",
    "allreduce/ring": "allreduce/ring",
    "allreduce/rabenseifner": "allreduce/rabenseifner",
    "allreduce/reduce_scatter_allgather": "allreduce/rabenseifner",
    "reduce-scatter/recursive_halving": "reduce-scatter/recursive-halving",
    "reduce-scatter/recursive_doubling": "reduce-scatter/recursive-doubling",
    "reduce-scatter/pairwise": "reduce-scatter/pairwise",
}
"""Of a family and a library's own name, our schedule of the same steps."""


@dataclass(frozen=True)
class Link:
    """Between two ranks: ``alpha_ns`` of a message, ``beta_ns`` of each byte of it."""

    alpha_ns: float
    beta_ns: float


@dataclass(frozen=True, order=True)
class Cell:
    """What is measured in several ways: an operation of so many bytes, as ``netsonde mpi`` has
    them, between so many ranks, ``ppn`` on a host."""

    operation: str
    ranks: int
    ppn: int
    size_bytes: int


@dataclass(frozen=True)
class Pruned:
    """``kept`` are to be measured, ``sampled`` too, though the model would leave them out;
    ``left_out`` are not."""

    kept: tuple[str, ...]
    sampled: tuple[str, ...]
    left_out: tuple[str, ...]


def formula_of(way: str, operation: Operation) -> str | None:
    """The name of the formula that a way's time is predicted by; None where there is none."""
    if way == NATIVE:
        return None
    if (name := library_of(way)) is not None:
        name = LIKE.get(f"{operation.schedules}/{name}")
    else:
        asked = schedule_of(way, operation)
        # Settings change what the formula is about.
        name = asked.algorithm if asked is not None and ":" not in way else None
    return name if name in FORMULAS else None


def predicted_ns(way: str, cell: Cell, link: Link) -> float | None:
    """How long a way should take, ns; None where the model has no formula of it."""
    operation = operations()[cell.operation]
    name = formula_of(way, operation)
    if name is None:
        return None
    total = cell.size_bytes * (cell.ranks if operation.is_per_rank else 1)
    return counts_of(name, total, cell.ranks).time_ns(link.alpha_ns, link.beta_ns)


def prune(ways: Sequence[str], cell: Cell, link: Link, chance: random.Random) -> Pruned:
    """Of the ways of a cell those that are worth measuring. native and ways without a formula
    always are."""
    times = {way: predicted_ns(way, cell, link) for way in ways}
    known = [time for time in times.values() if time is not None]
    most = PRUNED_FROM * min(known) if known else 0.0
    out = [way for way, time in times.items() if time is not None and time > most]
    count = min(len(out), max(1, round(SAMPLED_SHARE * len(out))))
    sampled = chance.sample(out, count)
    return Pruned(
        tuple(way for way in ways if way not in out),
        tuple(sampled),
        tuple(way for way in out if way not in sampled),
    )
