"""How operations such as reduce join the words of all ranks: what there is to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ReductionName = Literal["sum", "min", "max", "or", "float-sum", "ordered", "own-sum", "null"]
USUAL = "sum"
DATATYPES: Mapping[str, str] = {
    "char": "characters",
    "byte": "bytes",
    "int": "ints",
    "float": "floats",
    "double": "doubles",
    "uint64": "unsigned integers",
}
"""What MPI's own operations join, in words."""
USUAL_DATATYPE = "uint64"
FLOATING = ("float", "double")
"""Of these random bits are no numbers, and have no bits to be joined."""


@dataclass(frozen=True)
class Reduction:
    """``joins`` in a few words. ``made_by_mpi``: else it was made by MPI_Op_create, with what that
    was told of ``commutes``. ``datatypes``: those that may be chosen; none where it has its own."""

    joins: str
    made_by_mpi: bool
    commutes: bool
    datatypes: tuple[str, ...] = ()


_NUMBERS = tuple(name for name in DATATYPES if name != "byte")
_WITH_BITS = tuple(name for name in DATATYPES if name not in FLOATING)

REDUCTIONS: Mapping[ReductionName, Reduction] = {
    "sum": Reduction("MPI_SUM of {datatype}", True, True, _NUMBERS),
    "min": Reduction("MPI_MIN of {datatype}", True, True, _NUMBERS),
    "max": Reduction("MPI_MAX of {datatype}", True, True, _NUMBERS),
    "or": Reduction("MPI_BOR of {datatype}", True, True, _WITH_BITS),
    "float-sum": Reduction("MPI_SUM of doubles", True, True),
    "ordered": Reduction("one map of integers after the other", False, False),
    "own-sum": Reduction("the sum of unsigned integers", False, True),
    "null": Reduction("nothing is done", False, True),
}


def reduction_in_words(name: str, datatype: str = USUAL_DATATYPE) -> str:
    """``null: nothing is done, made by MPI_Op_create, commutes``."""
    found = next(each for known, each in REDUCTIONS.items() if known == name)
    made = "MPI's own" if found.made_by_mpi else "made by MPI_Op_create"
    joins = found.joins.format(datatype=DATATYPES[datatype])
    return f"{name}: {joins}, {made}, {'commutes' if found.commutes else 'does not commute'}"


def reduction_briefly(name: str, datatype: str = USUAL_DATATYPE) -> str:
    """``null (own, commutes)``; of MPI's operations, all of which commute, ``sum of floats``, and
    of the usual datatype the name alone."""
    found = next(each for known, each in REDUCTIONS.items() if known == name)
    if found.made_by_mpi:
        return name if datatype == USUAL_DATATYPE else f"{name} of {DATATYPES[datatype]}"
    return f"{name} (own, {'commutes' if found.commutes else 'does not commute'})"
