"""Rules about hosts that should be equal: which one is slower than the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of
from netsonde.figures.throughput import flow_rates_bit_per_s
from netsonde.records.data import Point
from netsonde.units import format_rate

SLOW = 0.7
"""Of the others' median: below this a host is called slow."""
OTHERS_LEAST = 3
"""Equals that a host must be slower than."""


def slow_host(seen: Seen) -> Iterator[Finding]:
    """A host of which even the best flow is slower than the other hosts' best ones.

    A fast host has a slow flow with every slow partner, and a fast one with every other; a slow
    host has slow flows only.
    """
    for point in seen.run.points:
        if not point.kind.has_like_flows or not point.batches:
            continue
        best = _best_flows(point)
        if len(best) <= OTHERS_LEAST:
            continue
        usual = float(np.median(list(best.values())))
        slow = {host: rate for host, rate in best.items() if rate < SLOW * usual}
        if slow and len(best) - len(slow) >= OTHERS_LEAST:
            yield _finding(point, best, slow, usual)
            return
    return


def _best_flows(point: Point) -> dict[str, float]:
    """The median rate of the best flow of each host; of incast and outcast, which have one host in
    every flow, that host is left out."""
    rates = np.median([flow_rates_bit_per_s(batch) for batch in point.batches], axis=0)
    ends = point.batches[0].ends
    targets = [rank for rank in sorted(ends) if rank % 2 == 1 and "start_ns" in ends[rank].counters]
    best: dict[str, float] = {}
    flows = [(ends[rank - 1].host, ends[rank].host) for rank in targets if rank - 1 in ends]
    in_all = set.intersection(*(set(flow) for flow in flows)) if len(flows) > 1 else set()
    for flow, rate in zip(flows, rates, strict=False):
        for host in set(flow) - in_all:
            best[host] = max(best.get(host, 0.0), float(rate))
    return best


def _finding(point: Point, best: dict[str, float], slow: dict[str, float], usual: float) -> Finding:
    names = sorted(slow, key=lambda host: slow[host])
    others = sorted(rate for host, rate in best.items() if host not in slow)
    shown = ", ".join(f"{host} {format_rate(slow[host])}" for host in names[:4])
    who = names[0] if len(names) == 1 else f"{len(names)} hosts ({', '.join(names[:4])})"
    partner = (
        " In pairs, a slow host's partner is as slow: measure each with another host."
        if point.kind.in_pairs
        else ""
    )
    return Finding(
        "warning",
        f"{who} {'is' if len(names) == 1 else 'are'} slower than the other "
        f"{len(best) - len(slow)} hosts: every flow of it is.",
        f"{point.transport.upper()} {point.test} of {len(best)} equal hosts ({point.id}), best "
        f"flow of each: {shown}; the others {format_rate(others[0])} to {format_rate(others[-1])}, "
        f"median {format_rate(usual)}.{partner}",
        f"Compare {names[0]} with another: ethtool (speed, errors), load, processor frequency; "
        f"netsonde host {names[0]}",
        ids_of([point]),
        place=", ".join(names[:4]),
    )
