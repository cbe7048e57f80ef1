"""The two hosts between which a point was measured."""

from __future__ import annotations

from netsonde.records.data import Point


def ends_of(point: Point) -> tuple[str, str] | None:
    """(origin, target) of a point of one pair; None for one of ranks, of several flows or of
    nothing that answered."""
    for batch in point.batches:
        hosts = {rank: end.host for rank, end in batch.ends.items() if end.host}
        if set(hosts) == {0, 1} and not point.carrier.has_ranks:
            return hosts[0], hosts[1]
    return None
