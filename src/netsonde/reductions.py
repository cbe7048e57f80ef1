"""How operations such as reduce join the words of all ranks: what there is to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ReductionName = Literal["sum", "min", "max", "float-sum", "ordered", "own-sum", "null"]
USUAL = "sum"


@dataclass(frozen=True)
class Reduction:
    """``joins`` in a few words. ``made_by_mpi``: else it was made by MPI_Op_create, with what that
    was told of ``commutes``."""

    joins: str
    made_by_mpi: bool
    commutes: bool


REDUCTIONS: Mapping[ReductionName, Reduction] = {
    "sum": Reduction("MPI_SUM of unsigned integers", True, True),
    "min": Reduction("MPI_MIN of unsigned integers", True, True),
    "max": Reduction("MPI_MAX of unsigned integers", True, True),
    "float-sum": Reduction("MPI_SUM of doubles", True, True),
    "ordered": Reduction("one map of integers after the other", False, False),
    "own-sum": Reduction("the sum of unsigned integers", False, True),
    "null": Reduction("nothing is done", False, True),
}


def reduction_in_words(name: str) -> str:
    """``null: nothing is done, made by MPI_Op_create, commutes``."""
    found = next(each for known, each in REDUCTIONS.items() if known == name)
    made = "MPI's own" if found.made_by_mpi else "made by MPI_Op_create"
    return f"{name}: {found.joins}, {made}, {'commutes' if found.commutes else 'does not commute'}"


def reduction_briefly(name: str) -> str:
    """``null (own, commutes)``; of MPI's operations, all of which commute, the name alone."""
    found = next(each for known, each in REDUCTIONS.items() if known == name)
    if found.made_by_mpi:
        return name
    return f"{name} (own, {'commutes' if found.commutes else 'does not commute'})"
