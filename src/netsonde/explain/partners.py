"""Rules about where ranks are: pairs and uplinks that are slow, and all ranks on one host."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of, point_in_words
from netsonde.figures.alike import PAIR
from netsonde.figures.partners import Pair, Pairs, pairs_of_run
from netsonde.figures.uplinks import uplink_bounds
from netsonde.records.data import Point
from netsonde.units import format_size, format_time

NOTABLE = 1.1
"""How many times as long as the middle pair, from which on the slowest is worth an advice."""
MOST_FINDINGS = 3
NAMED = 3


def slowest_partner(seen: Seen) -> list[Finding]:
    """Of each test between several pairs: which is slowest, if that is decided."""
    return [_finding(pairs) for pairs in pairs_of_run(seen.run, seen.figures)[:MOST_FINDINGS]]


def _finding(pairs: Pairs) -> Finding:
    slowest, common = pairs.slowest, pairs.common_rank
    test = f"MPI {pairs.example.test} {format_size(pairs.example.message_bytes)}"
    points = tuple(pair.point.id for pair in pairs.pairs)
    evidence = (
        f"{_in_words(slowest)}: {_time(slowest)}; the fastest of {len(pairs.pairs)} pairs, "
        f"{_in_words(pairs.pairs[-1])}: {_time(pairs.pairs[-1])}."
    )
    is_notable = pairs.times >= NOTABLE
    advice = (
        "Compare those hosts (netsonde host) and what lies between them."
        if is_notable and (pairs.is_decided or common is not None)
        else ""
    )
    if common is not None:
        host = next(p.hosts[p.ranks.index(common)] for p in pairs.pairs if common in p.ranks)
        claim = f"{test}: rank {common} on {host} is slow with every partner."
    elif pairs.is_decided:
        claim = (
            f"{test}: the slowest pair is {_in_words(slowest)}, {pairs.times:.2f} times the middle "
            "one."
        )
    else:
        others = [_in_words(pair) for pair in pairs.as_slow[:NAMED]]
        more = len(pairs.as_slow) - len(others)
        named = "; ".join(others) + (f"; and {more} more" if more else "")
        claim = f"{test}: no pair is slower than all others beyond its interval."
        evidence += f" As slow as the slowest one may be {named}." if others else ""
    sides = tuple((point,) for point in points)
    return Finding("note", claim, evidence, advice, points, sides=sides, factor=PAIR.name)


def _in_words(pair: Pair) -> str:
    first, second = (
        f"{rank} on {host}" if host else str(rank)
        for rank, host in zip(pair.ranks, pair.hosts, strict=True)
    )
    return f"rank {first} with rank {second}"


def _time(pair: Pair) -> str:
    return f"{format_time(pair.median.value)} ({format_time(pair.low)} to {format_time(pair.high)})"


LIMITED = 0.7
"""A share of the median time that the uplink alone needs, from which on it is the limit."""
UPLINKS_TOLD = 3


def uplinks_limit(seen: Seen) -> list[Finding]:
    """Those that the uplink takes the largest share of, the worst first."""
    found = []
    for bound in uplink_bounds(seen.run):
        share = seen.figure("uplink_ratio", bound.point.id)
        median = seen.figure("completion_median_ns", bound.point.id)
        if share is not None and median is not None and share.value >= LIMITED:
            found.append((share.value, bound, median))
    found.sort(key=lambda item: -item[0])
    return [
        Finding(
            "note",
            f"{point_in_words(bound.point)} is limited by the uplink {bound.uplink}.",
            f"What must cross it takes {format_time(bound.least_ns)} at its rate, {share:.0%} of "
            f"the median {format_time(median.value)}.",
            "Place ranks so that partners share a switch, or give the uplink a higher rate.",
            (bound.point.id,),
        )
        for share, bound, median in found[:UPLINKS_TOLD]
    ]


def inside_one_host(seen: Seen) -> Iterator[Finding]:
    """Where hosts were named and the ranks that were measured are on one of them. Not of pairs that
    were asked for, nor where one host is compared with several by --ppn."""
    points = seen.run.where(lambda p: p.carrier.has_ranks and not p.kind.compares_clocks)
    path = seen.run.manifest.get("path") or {}
    if path.get("kind") == "loopback" or "within" in path or len({p.spec.ppn for p in points}) > 1:
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
