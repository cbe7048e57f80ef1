"""MPI tests between hosts whose ranks are all on one of them: no network is in their figures."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of, point_in_words
from netsonde.records.data import Point


def inside_one_host(seen: Seen) -> Iterator[Finding]:
    """Where hosts were named and the ranks that were measured are on one of them. Not of pairs that
    were asked for, nor where one host is compared with several by --ppn."""
    points = seen.run.where(lambda p: p.carrier.has_ranks and not p.kind.compares_clocks)
    kind = (seen.run.manifest.get("path") or {}).get("kind")
    if kind == "loopback" or len({p.spec.ppn for p in points}) > 1:
        return
    found = [p for p in points if p.spec.pair is None and len(_hosts(p)) == 1]
    if not found:
        return
    (host,) = _hosts(found[0])
    every = "MPI tests were" if len(found) == len(points) else f"{len(found)} of the MPI tests were"
    yield Finding(
        "warning",
        f"{every} inside of one host ({host}): no network is in their figures.",
        f"All ranks of {point_in_words(found[0])} were on {host}.",
        "Name more hosts, or fewer ranks on each (--ppn); of tests between two ranks name the "
        "pair (--rank-pair).",
        ids_of(found),
        place=host,
    )


def _hosts(point: Point) -> set[str]:
    ends = [end for batch in point.batches for end in batch.ends.values()]
    return {end.host for end in ends} if len({end.rank for end in ends}) > 1 else set()
