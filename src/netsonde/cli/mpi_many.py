"""Several MPIs, launches and numbers of ranks: which are here, and what is asked of them all."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from netsonde.errors import UsageError
from netsonde.launch.mpi_build import is_built_on_first_use
from netsonde.launch.mpi_found import INSTALL, Mpi, found_mpis
from netsonde.units import format_count

ALL = "all"
ALL_TESTS = (
    *("latency", "pingpong", "stream", "duplex", "sendrecv", "put_flush"),
    *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
)
"""What most programs rest on: messages one way, both ways and one-sided, and the usual collectives.
"""
LIST_COLUMNS = 80


def numbers_of_ranks(text: str) -> list[int]:
    """``2,4,8`` or ``2..16``. Raises UsageError; limits are the study's to know."""
    from netsonde.study.values import expand_ranks  # late, as in study_of

    try:
        numbers: list[int] = expand_ranks(text)
    except ValueError as error:
        raise UsageError(f"-n {str(error)[:160]}") from error
    return numbers


USUAL_RANKS = 2


def usual_ranks(hosts: Sequence[str], ppn: Sequence[int]) -> int:
    """How many where it was not said: whoever names hosts gets a rank on each, or as many as
    ``ppn`` says (of several numbers the least); two between them at least."""
    return max(USUAL_RANKS, len(hosts) * min(ppn, default=1))


def hosts_left_out(hosts: Sequence[str], ppn: Sequence[int], ranks: int) -> str | None:
    """A sentence where so few ranks were asked for that hosts get none; else None."""
    used = -(-ranks // min(ppn, default=1))
    if used >= len(hosts):
        return None
    return (
        f"-n {ranks} has ranks on {format_count(used, 'host')} of the {len(hosts)} that are named"
    )


def with_all(tests: Sequence[str] | None) -> list[str]:
    """The tests, with what ``all`` stands for in its place. Raises UsageError for one twice."""
    found: list[str] = []
    for test in tests or ():
        found += ALL_TESTS if test == ALL else [test]
    twice = [test for test in found if found.count(test) > 1]
    if twice and ALL in (tests or ()):
        raise UsageError(f"{twice[0]} is one of {ALL}; name it once")
    return found


def mpi_listing() -> str:
    """The MPIs of this machine, in lines of at most 80 columns where paths allow."""
    found = found_mpis()
    if not found:
        return f"No MPI is found here; {INSTALL}"
    lines = [line for mpi in found for line in _lines(mpi)]
    hint = "Another one is named by the path of its mpiexec, its mpicc or its folder."
    return "\n".join([*lines, "", *textwrap.wrap(hint, LIST_COLUMNS)])


def _lines(mpi: Mpi) -> list[str]:
    if mpi.abi_folder is not None:
        how = "has the MPI 5 standard ABI: runs the installed sonde-mpi"
    elif is_built_on_first_use(mpi):
        how = f"sonde-mpi is built on first use, by {mpi.wrapper}"
    elif mpi.family == "openmpi":
        how = "cannot be measured: no mpicc beside its mpiexec"
    else:
        how = "has no mpicc: runs the installed sonde-mpi, if that was built for it"
    return [f"{mpi.name:<16}{mpi.title}", f"  {mpi.mpiexec}", f"  {how}"]
