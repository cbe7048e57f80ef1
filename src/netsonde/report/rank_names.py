"""Ranks as readers look for them: by number and, where it is known, by host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netsonde.records.data import Point
from netsonde.report.plot import Axis

NAMED_MOST = 16
"""More names beneath an axis nobody can read: then it has numbers."""


def host_of_rank(point: Point, rank: int) -> str:
    """The host of a rank as its records say; empty where they do not."""
    end = point.batches[0].ends.get(rank) if point.batches else None
    return end.host if end is not None else ""


def rank_on(rank: int, host: str) -> str:
    """``3 (h2)``, or the number alone where the host is not known."""
    return f"{rank} ({host})" if host else str(rank)


def ranks_on(point: Point, ranks: Iterable[int]) -> list[str]:
    """The same of several ranks of a point."""
    return [rank_on(rank, host_of_rank(point, rank)) for rank in ranks]


def named_axis(label: str, names: Sequence[str], numbers: Axis) -> Axis:
    """Names at 0, 1, 2 and so on; of too many the axis of numbers."""
    return Axis(label, "text", names=list(names)) if len(names) <= NAMED_MOST else numbers
