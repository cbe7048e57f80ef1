"""How other MPI benchmarks measure: the settings that make netsonde measure as they do.

A technique says how ranks begin a repetition, which rank is the root, how many repetitions come
before those that count, and how many count. :mod:`netsonde.peers.mpi_told` computes the tool's
figure from the records; what remains different is said in ``said.toml`` and shown with the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.rule import Facts, Rule, first_given
from netsonde.catalogue.test import test_row
from netsonde.operations import operations
from netsonde.reductions import USUAL

MpiTool = Literal["osu", "imb", "pmb", "skampi", "mpptest", "mpbench", "reprompi", "mpibench"]
MPI_TOOLS: tuple[MpiTool, ...] = get_args(MpiTool)
OSU_LARGE_BYTES = 8192
OSU_WINDOW = 64
IMB_VOLUME_BYTES = 40 << 20
MPPTEST_AVERAGES = 30
MPPTEST_EACH = 50
"""The least of so many means, each of so many repetitions."""
SKAMPI_LEAST, SKAMPI_MOST = 8, 100
SKAMPI_ERROR = 0.03
"""Repetitions go on until the standard error is at most this share of the mean."""

Counts = Callable[[int], tuple[int, int]]
Joins = tuple[str, str]
"""A reduction and its datatype."""


@dataclass(frozen=True)
class MpiTechnique:
    """``counts`` takes the message size: (repetitions of warm-up, repetitions that count).
    ``operations`` are those it has of netsonde's; of other tests it is empty. ``fewer``: other
    numbers of repetitions that count, by operation. ``echo``: what the target of round trips sends
    back. ``joins``: how its reductions join what, None where that is not known; ``joins_also`` of
    single operations."""

    counts: Counts
    sizes: str
    start: str = "barrier"
    rotates_root: bool = False
    operations: tuple[str, ...] = ()
    outstanding: int | None = None
    cache: str = "warm"
    fewer: Mapping[str, int] = field(default_factory=dict)
    echo: str = "same"
    joins: Joins | None = None
    joins_also: Mapping[str, Joins] = field(default_factory=dict)

    def joins_of(self, operation: str) -> Joins | tuple[None, None]:
        """How one of its operations joins what; netsonde's own way where that is not known."""
        return self.joins_also.get(operation) or self.joins or (None, None)


def _osu(small: tuple[int, int], large: tuple[int, int], times: int = 1) -> Counts:
    def counts(message_bytes: int) -> tuple[int, int]:
        skip, loop = large if message_bytes > OSU_LARGE_BYTES else small
        return times * skip, times * loop

    return counts


def _imb(message_bytes: int) -> tuple[int, int]:
    """At most 40 MiB in all, between 1 and 1000 repetitions; a tenth of them before."""
    most = IMB_VOLUME_BYTES // message_bytes if message_bytes else 1000
    count = max(1, min(1000, most))
    return max(1, count // 10), count


def _fixed(warm_up: int, count: int) -> Counts:
    return lambda _message_bytes: (warm_up, count)


_ROOTED = ("bcast", "gather", "scatter", "reduce")
_FLAT = ("allgather", "alltoall", "allreduce", "barrier")
_V = ("gatherv", "scatterv", "allgatherv", "alltoallv")
_RING = "sendrecv"
"""Every tool that has it sends to the right and receives from the left."""
_SCATTERED = "reduce_scatter"
_SIZES, _CALLS = "1..1M", "8..1M:2"
_OTHER = "other"
"""Messages come into one buffer and leave from another."""

MPI_TECHNIQUES: Mapping[tuple[str, str], MpiTechnique] = {
    ("osu", "latency"): MpiTechnique(_osu((100, 10_000), (10, 1000)), _SIZES, echo=_OTHER),
    ("osu", "stream"): MpiTechnique(
        _osu((10, 100), (2, 20), OSU_WINDOW), _SIZES, outstanding=OSU_WINDOW
    ),
    ("osu", "collective"): MpiTechnique(
        _osu((100, 1000), (10, 100)),
        _CALLS,
        operations=(*_ROOTED, *_FLAT, *_V, _SCATTERED),
        joins=("sum", "char"),
    ),
    ("osu", "threads"): MpiTechnique(_osu((100, 10_000), (10, 1000)), _SIZES, echo=_OTHER),
    ("imb", "latency"): MpiTechnique(_imb, _SIZES, echo=_OTHER),
    ("imb", "collective"): MpiTechnique(
        _imb,
        _CALLS,
        operations=(*_ROOTED, *_FLAT, *_V, _SCATTERED, _RING),
        joins=("sum", "float"),
    ),
    ("pmb", "latency"): MpiTechnique(_imb, _SIZES, echo=_OTHER),
    ("pmb", "collective"): MpiTechnique(
        _imb,
        _CALLS,
        start="none",
        rotates_root=True,
        operations=(
            *("bcast", "reduce", "allreduce", "allgather", "allgatherv", "alltoall"),
            *(_SCATTERED, _RING),
        ),
        joins=("sum", "float"),
    ),
    ("skampi", "latency"): MpiTechnique(_fixed(1, SKAMPI_MOST), _SIZES, echo=_OTHER),
    ("skampi", "collective"): MpiTechnique(
        _fixed(1, SKAMPI_MOST),
        _CALLS,
        start="window",
        cache="fresh",
        operations=(*_ROOTED, *_FLAT, _SCATTERED, _RING),
        joins=("sum", "int"),
        joins_also={_SCATTERED: ("or", "int")},
    ),
    ("mpptest", "latency"): MpiTechnique(
        _fixed(1, MPPTEST_AVERAGES * MPPTEST_EACH), _SIZES, echo=_OTHER
    ),
    ("mpptest", "collective"): MpiTechnique(
        _fixed(1, MPPTEST_AVERAGES * MPPTEST_EACH),
        _CALLS,
        start="none",
        rotates_root=True,
        operations=("bcast", "scatter", "barrier", "allreduce"),
    ),
    ("mpbench", "latency"): MpiTechnique(_fixed(1, 100), _SIZES),
    ("mpbench", "collective"): MpiTechnique(
        _fixed(1, 100), _CALLS, operations=("bcast", "reduce", "allreduce", "alltoall")
    ),
    ("reprompi", "collective"): MpiTechnique(
        _fixed(0, 100),
        _CALLS,
        operations=(
            *("bcast", "gather", "scatter", "reduce", *_FLAT, "scan", "exscan"),
            *(_SCATTERED, "reduce_scatter_block"),
        ),
        joins=("or", "byte"),
    ),
    ("mpibench", "collective"): MpiTechnique(
        _fixed(10, 1000),
        _CALLS,
        operations=(
            *("one_way", "one_way_isend", _RING, "bcast", "barrier", "scatter", "gather"),
            *("allgather", "alltoall"),
        ),
        fewer={"alltoall": 100},
    ),
}
"""By tool and test. OSU 7, IMB 2021, PMB 2.2, SKaMPI 4.1, mpptest 1.4, llcbench's MPBench, ReproMPI
1; their sources, and of PMB, SKaMPI and MPBench the description of N. A. W. Abdul Hamid 2008,
section 3.3, of MPIBench sections 3.3.5 and 4.4."""


def mpi_technique(tool: str, test: str) -> MpiTechnique | None:
    """How the tool does it; None where it does not."""
    return MPI_TECHNIQUES.get((tool, test))


def ring_of(operation: str | None) -> str | None:
    """The pattern of partners that tools have for an operation, None where it is the usual one."""
    return "ring" if operation == _RING else None


def _joined(known: MpiTechnique, operation: str | None) -> Joins | tuple[None, None]:
    """The tool's, of an operation that joins words."""
    if operation is None or not operations()[operation].reduces:
        return (None, None)
    return known.joins_of(operation)


def settings(
    tool: str, test: str, operation: str | None, message_bytes: int, count: int | None
) -> dict[str, Any]:
    """The parameters of a point that is measured as the tool does. ``count`` is how many
    repetitions are to count where that was asked for."""
    known = mpi_technique(tool, test)
    if known is None:
        return {}
    warm_up, usual = known.counts(message_bytes)
    usual = known.fewer.get(operation or "", usual)
    rotates = known.rotates_root and operation in _ROOTED
    start = known.start if test_row(test).is_operation and known.start != "barrier" else None
    has_data = test_row(test).is_operation and operation != "barrier"
    reduction, datatype = _joined(known, operation)
    found = {
        "warm_up": warm_up,
        "count": warm_up + (count or usual),
        "start": start,
        "rotate_root": rotates or None,
        "pattern": ring_of(operation),
        "outstanding": known.outstanding,
        "cache": known.cache if has_data and known.cache != "warm" else None,
        "echo": known.echo if known.echo != "same" else None,
        "reduction": reduction if reduction != USUAL else None,
        "datatype": datatype,
    }
    return {name: value for name, value in found.items() if value is not None}


_OWN_WAY = [
    BLOCK[key]
    for key in ("root", "pattern", "uneven", "check_data", "outstanding", "keep", "overlap", "echo")
]
"""Options that would change how a tool measures."""
_WAYS = [BLOCK[key] for key in ("cache", "start")]
_JOINED = [BLOCK[key] for key in ("reduction", "datatype")]
"""Those whose word says how."""


def _not_measured(facts: Facts) -> Mapping[str, Any] | None:
    tool = facts["like"]
    if mpi_technique(tool, facts["test"]) is not None:
        return None
    return {"known": ", ".join(what for name, what in MPI_TECHNIQUES if name == tool)}


def _not_an_operation(facts: Facts) -> Mapping[str, Any] | None:
    known = mpi_technique(facts["like"], facts["test"])
    if known is None or facts["operation"] in known.operations:
        return None
    return {"known": ", ".join(known.operations)}


def _joined_otherwise(facts: Facts) -> Mapping[str, Any] | None:
    """Where it is known how the tool joins what."""
    known = mpi_technique(facts["like"], facts["test"])
    return first_given(facts, _JOINED) if known is not None and known.joins else None


def _other_way(facts: Facts) -> Mapping[str, Any] | None:
    by_windows = (facts["like"], facts["start"]) == ("reprompi", "window")  # another way it has
    return first_given({**facts, "start": None} if by_windows else facts, _WAYS)


_LEAVE_OUT = "do not go together: {like:value} has its own way there; leave one of them out"
MPI_TOOL_RULES = (
    Rule(
        _not_measured,
        "{like} {like:value} and mpi {test:value} do not go together; {like:value} measures mpi "
        "{known:value}",
    ),
    Rule(
        _not_an_operation,
        "{like} {like:value} and {operation:value} do not go together; of netsonde's operations "
        "{like:value} measures {known:value}",
        "operations",
    ),
    Rule(
        lambda b: first_given(b, _OWN_WAY),
        f"{{like}} {{like:value}} and {{given:key}} {_LEAVE_OUT}",
    ),
    Rule(_joined_otherwise, f"{{like}} {{like:value}} and {{given:key}} {_LEAVE_OUT}"),
    Rule(_other_way, f"{{like}} {{like:value}} and {{given:key=}} {_LEAVE_OUT}"),
)
"""Why a block cannot be measured as a tool does it, where one is asked for."""
