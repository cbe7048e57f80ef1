"""Algorithms of collective operations that ranks can execute, and how a person names one of them.

``sonde-sim schedule list`` has the same list, and a test compares them. What each does is in
docs/methods/schedules.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.point import AskedFrames, AskedSchedule
from netsonde.errors import UsageError
from netsonde.operations import Operation, nearest
from netsonde.schedules.settings import Part, in_messages, read_settings

NATIVE = "native"
"""The library's own way."""
ALL = "all"
"""The library's own, and each of ours."""
LIBRARY = "library:"
"""How an algorithm of the library's begins that it is told to take: ``library:ring``."""
LIBRARY_ALL = LIBRARY + ALL
"""Each that the library lists."""
_LIBRARY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
Listing = Callable[[Operation], Sequence[str]]
"""The names that an MPI library lists for an operation."""


@dataclass(frozen=True)
class Algorithm:
    """``family/name`` as the engine calls it; ``uses`` are fields of a request that it has a use
    for. ``commutative``: joins words in any order."""

    family: str
    name: str
    uses: tuple[str, ...] = ()
    commutative: bool = False


_CUT = ("segment_bytes",)
_PLACED = (*_CUT, "hierarchy", "remap")
_PERMUTED = (*_PLACED, "permutation")

ALGORITHMS = (
    Algorithm("broadcast", "linear"),
    Algorithm("broadcast", "binomial"),
    Algorithm("broadcast", "chain", _CUT),
    Algorithm("broadcast", "tree", _CUT),
    Algorithm("broadcast", "scatter-recursive-doubling"),
    Algorithm("broadcast", "scatter-ring"),
    Algorithm("scatter", "linear"),
    Algorithm("scatter", "binomial"),
    Algorithm("gather", "linear"),
    Algorithm("gather", "binomial"),
    Algorithm("allgather", "recursive-doubling"),
    Algorithm("allgather", "bruck"),
    Algorithm("allgather", "ring"),
    Algorithm("alltoall", "bruck"),
    Algorithm("alltoall", "aggregated", ("hierarchy",)),
    Algorithm("alltoall", "uncoordinated", _CUT),
    Algorithm("alltoall", "staggered", _CUT),
    Algorithm("alltoall", "shift", _PLACED),
    Algorithm("alltoall", "pairwise-xor", _PLACED),
    Algorithm("alltoall", "pairwise", _PLACED),
    Algorithm("alltoall", "synchronous-shuffle", _PERMUTED),
    Algorithm("alltoall", "group-shuffle", (*_PERMUTED, "fan_out")),
    Algorithm("alltoall", "modified-shuffle", (*_PERMUTED, "window")),
    Algorithm("barrier", "dissemination"),
    Algorithm("barrier", "tree"),
    Algorithm("reduce", "binomial"),
    Algorithm("reduce", "rabenseifner", commutative=True),
    Algorithm("allreduce", "recursive-doubling"),
    Algorithm("allreduce", "rabenseifner", commutative=True),
    Algorithm("allreduce", "ring", commutative=True),
    Algorithm("reduce-scatter", "recursive-halving", commutative=True),
    Algorithm("reduce-scatter", "recursive-doubling"),
    Algorithm("reduce-scatter", "pairwise"),
)


def algorithms_of(operation: Operation) -> Mapping[str, Algorithm]:
    """Those that do the same as an operation, by their names."""
    return {row.name: row for row in ALGORITHMS if row.family == operation.schedules}


def named_ways(
    text: str, operation: Operation, commutes: bool = True, listing: Listing | None = None
) -> list[str]:
    """``native,pairwise,library:ring``: each of them; ``all`` stands for the library's own way and
    each of ours, of a reduction that does not commute for those that keep the ranks' order;
    ``library:all`` for each that ``listing`` names.

    Raises UsageError, also for a name that is not listed."""
    found: list[str] = []
    for part in text.split(","):
        if part == ALL:
            rows = algorithms_of(operation).values()
            found += [NATIVE, *(r.name for r in rows if commutes or not r.commutative)]
        elif part.startswith(LIBRARY):
            found += _of_library(part, operation, listing)
        else:
            schedule_of(part, operation)
            found.append(part)
    return list(dict.fromkeys(found))


def _of_library(part: str, operation: Operation, listing: Listing | None) -> list[str]:
    name = library_of(part)
    if listing is None:
        if part == LIBRARY_ALL:
            raise UsageError(
                f"{part} needs one MPI, which is asked for its names; `netsonde tune algorithms` "
                "lists them"
            )
        return [part]
    listed = listing(operation)
    if not listed:
        raise UsageError(
            f"{part[:80]!r}: this MPI has no variable that chooses how it does {operation.name}"
        )
    if part == LIBRARY_ALL:
        return [LIBRARY + each for each in listed]
    if name not in listed:
        raise UsageError(
            f"{part[:80]!r} is no algorithm of this MPI for "
            f"{operation.name}{nearest(str(name), list(listed))}; it has {', '.join(listed)}"
        )
    return [part]


def library_of(text: str | None) -> str | None:
    """The name in ``library:NAME``; None for what is none of the library's. Raises UsageError."""
    if text is None or not text.startswith(LIBRARY):
        return None
    name = text.removeprefix(LIBRARY)
    if not _LIBRARY_NAME.match(name):
        raise UsageError(f"{text[:80]!r} names no algorithm of a library; write library:ring")
    return name


def schedule_of(
    text: str | None, operation: Operation, message_bytes: int | None = None
) -> AskedSchedule | None:
    """``pairwise`` or ``synchronous-shuffle:segment=1460:permutation=xor``, as a rank is asked for
    it; None for the library's own way, or one of those. ``message_bytes`` are a block's, by which
    buffers of frames become windows of messages. Raises UsageError."""
    found = _row_and_settings(text, operation)
    if found is None:
        return None
    row, settings = found
    asked = in_messages(settings, message_bytes)
    return AskedSchedule(algorithm=f"{row.family}/{row.name}", **asked)


def frames_of(text: str | None, operation: Operation) -> AskedFrames | None:
    """What carries the messages of ``pairwise:over=link``; None for MPI. Raises UsageError."""
    found = _row_and_settings(text, operation)
    return AskedFrames(**found[1]["frames"]) if found and found[1]["frames"] else None


def _row_and_settings(
    text: str | None, operation: Operation
) -> tuple[Algorithm, Mapping[Part, Any]] | None:
    if text is None or text == NATIVE or library_of(text) is not None:
        return None
    name, *settings = text.split(":")
    known = algorithms_of(operation)
    row = known.get(name)
    if row is None:
        raise UsageError(
            f"{name[:80]!r} is no algorithm for {operation.name}{nearest(name, list(known))}; "
            f"there are {', '.join([NATIVE, *known])}, {ALL}, and {LIBRARY}NAME"
        )
    return row, read_settings(text, settings, row.uses)
