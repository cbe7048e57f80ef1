"""The algorithms that an MPI library can be told to take, as it lists them itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from netsonde.launch.mpi import open_mpi
from netsonde.operations import Operation, operations


def listing_of(mpi: str) -> Callable[[Operation], list[str]]:
    """What the library of an MPI, by its name or path, lists for an operation; its first answer is
    kept. Raises UsageError and HostError where it is asked, as open_mpi() does."""

    def names(operation: Operation) -> list[str]:
        return list(library_ways(mpi).get(operation.name, ()))

    return names


@cache
def library_ways(mpi: str) -> Mapping[str, list[str]]:
    """Of each blocking collective. Starts one rank to ask. Raises UsageError and HostError."""
    asked = [name for name, operation in operations().items() if operation.is_collective_call]
    session = open_mpi(None, 1, mpi=mpi, forced=True)
    try:
        return session.algorithms(asked)
    finally:
        session.close()
