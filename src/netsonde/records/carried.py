"""What carried MPI's messages on one node, as the points of a run have it."""

from __future__ import annotations

from collections.abc import Iterable

from netsonde.catalogue.within import CARRIED, Carried
from netsonde.records.data import Point

NODE = "node"
"""The kind of a path where ranks of one node are all that is measured, and the MPI chooses."""
ONE_MACHINE = ("lab", "loopback", NODE)
"""Kinds of paths whose hosts, or whose ends, are all one machine."""
NETWORK = ("netmod", "provider")
"""What ends were opened with: which part of a library carries messages between hosts, and by what
of libfabric; as the library itself says."""


def network_in_words(point: Point) -> str:
    """``ofi, tcp`` of MPI, ``tcp;ofi_rxm`` of libfabric; empty where nothing says it."""
    opened = point.opened.get(0, {})
    return ", ".join(str(opened[key]) for key in NETWORK if opened.get(key))


def carried_of(point: Point) -> Carried | None:
    """What carried the messages of ranks on one node; None of other points, and of ranks that
    are on several hosts."""
    if not point.carrier.has_ranks:
        return None
    if check := point.checks.get("carried"):
        return CARRIED.get(check.get("by"), CARRIED["unknown"])
    transport = point.checks.get("transport") or {}  # a run of before this was checked
    is_loopback = transport.get("interface") == "lo" and transport.get("verified") is True
    return CARRIED["loopback"] if is_loopback else None


def carried_by(points: Iterable[Point]) -> list[Carried]:
    """Everything that carried messages of some points, each once, in their order."""
    found = (carried_of(point) for point in points)
    return list(dict.fromkeys(row for row in found if row is not None))


def carried_in_words(rows: Iterable[Carried]) -> str:
    """``shared memory of one node``, ``shared memory of one node or TCP over loopback``."""
    return " or ".join(row.title for row in rows)
