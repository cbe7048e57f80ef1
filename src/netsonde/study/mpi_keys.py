"""What keys of MPI in a study's block come to: pairs of ranks, ways of threads, parts of sizes
(docs/methods/collectives.md)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from netsonde.operations import Operation


def pairs_of(pair: tuple[int, int] | str | None, ranks: int) -> list[tuple[int, int]]:
    """The pairs of ranks that a key ``pair`` asks for; none where it is left to the worker."""
    if pair is None:
        return []
    if isinstance(pair, tuple):
        return [pair]
    if pair == "all":
        return list(combinations(range(ranks), 2))
    return [(0, rank) for rank in range(1, ranks)]


def thread_ways(threads: Sequence[int], like: str | None) -> list[dict[str, Any]]:
    """The points of one size of test threads: one thread as any program has it, one where threads
    may call MPI at the same time, and so many, with a communicator each and with one of all. A tool
    that is followed has one communicator only."""
    one = [{"threads": 1, "thread_level": level} for level in ("funneled", "multiple")]
    kinds = ("own", "shared") if like is None else ("shared",)
    several = [
        {"threads": number, "thread_level": "multiple", "communicators": kind}
        for number in threads
        if number > 1
        for kind in kinds
    ]
    return [*one, *several]


def part_bytes(total_bytes: int, ranks: int, operation: Operation) -> int:
    """What each of the ranks has of a total: whole elements, rounded down.

    Raises ValueError where nothing would be left of something.
    """
    part = total_bytes // ranks // operation.multiple_bytes * operation.multiple_bytes
    if total_bytes and not part:
        least = ranks * operation.multiple_bytes
        raise ValueError(
            f"size {total_bytes} in total leaves nothing for each of {ranks} ranks in "
            f"{operation.name}; the least is {least}"
        )
    return part
