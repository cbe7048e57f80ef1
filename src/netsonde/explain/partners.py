"""The slowest partner of a rank, or the slowest of all pairs."""

from __future__ import annotations

from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import PAIR
from netsonde.figures.partners import Pair, Pairs, pairs_of_run
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
