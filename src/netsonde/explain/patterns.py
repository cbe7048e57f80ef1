"""Rules about tests of many hosts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Pattern
from netsonde.catalogue.transport import transport_row
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of
from netsonde.figures.alike import HOSTS, LAUNCH, alike
from netsonde.figures.patterns import (
    flow_times_ns,
    round_times_ns,
    time_outs,
)
from netsonde.figures.throughput import flow_rates_bit_per_s
from netsonde.figures.time_outs import least_time_out_ns
from netsonde.model.capacity import ceiling
from netsonde.model.goodput import LINE, shaped_goodput_bit_per_s
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_count, format_rate, format_time

LEAST_HIT = 2
"""Rounds with timeouts from which on they are no accident."""
LOST_NOTABLE = 0.05
"""A share of all time from which on timeouts are worth a word: few rounds may cost most of it."""
COLLAPSED = 0.8
"""Below this share of what the link carries in full rounds, throughput has collapsed."""
SUM = "throughput_bit_per_s"
SPREAD_NOTABLE = 0.1
"""Starts that are apart by such a share of a round do not count as common."""


def incast_collapse(seen: Seen) -> list[Finding]:
    """Rounds of many senders to one that wait for retransmission timers. One such round alone is
    no pattern.

    Source: A. Phanishayee et al., Measurement and Analysis of TCP Throughput Collapse in
    Cluster-based Storage Systems, FAST 2008.
    """
    found = (
        _collapse(seen, point)
        for point in seen.run.where(lambda p: p.carrier.has_connection and p.kind.has_rounds)
    )
    return [finding for finding in found if finding is not None]


def _collapse(seen: Seen, point: Point) -> Finding | None:
    counted = time_outs(point.batches)
    if counted is None:
        return None
    hit = counted > 0
    times = round_times_ns(point.batches)
    if hit.sum() < LEAST_HIT or _lost_to_time_outs(times, hit) < LOST_NOTABLE:
        return None
    figures = {f.name: f for f in seen.figures if f.point == point.id}
    throughput = figures["throughput_bit_per_s"].value
    possible, of_what = _possible(seen, point, times, hit)
    share = throughput / possible
    least = least_time_out_ns(seen.run, point)
    stalled = (flow_times_ns(point.batches)[hit] >= least).sum()
    senders = len([rank for rank in point.batches[0].ends if rank % 2 == 0])
    what = f"TCP incast of {senders} senders, {bytes_in_words(point.message_bytes)} each"
    in_time = bool(point.checks.get("lab", {}).get("valid", True))
    claim = (
        f"{what}: throughput collapsed to {share:.0%} of {of_what}, because senders waited for "
        "their retransmission timers."
        if share < COLLAPSED and in_time
        else f"{what}: some senders waited for their retransmission timers."
    )
    evidence = [
        f"The senders' kernels counted {counted.sum()} timeouts (TCPTimeouts), in "
        f"{int(hit.sum())} of {len(hit)} rounds, which took {_median(times[hit])} in the median"
        + ("." if hit.all() else f"; the others took {_median(times[~hit])}."),
        f"{int(stalled)} flows ended later than {format_time(least)}, the least timeout of these "
        "hosts, after the start.",
    ]
    if "retransmitted_segments" in figures:
        evidence.append(
            f"{figures['retransmitted_segments'].value:.0f} segments were retransmitted."
        )
    if not in_time:
        evidence.append("The lab's switch was late itself, which senders may have waited for too.")
    return Finding(
        "warning",
        claim,
        " ".join(evidence),
        "Compare with paced senders (--rate, the link's rate over their number), fewer senders at "
        "once, smaller blocks, a larger buffer before the receiver, or a shorter least timeout "
        "(ip route ... rto_min).",
        (point.id,),
    )


def _lost_to_time_outs(times_ns: npt.NDArray[np.float64], hit: npt.NDArray[np.bool_]) -> float:
    """The share of all time by which rounds with timeouts were longer than the others' median."""
    if hit.all():
        return 1.0
    usual = float(np.median(times_ns[~hit]))
    return float((times_ns[hit] - usual).sum() / times_ns.sum())


def _median(times_ns: npt.NDArray[np.float64]) -> str:
    return format_time(float(np.median(times_ns)))


def _possible(
    seen: Seen, point: Point, times: npt.NDArray[np.float64], hit: npt.NDArray[np.bool_]
) -> tuple[float, str]:
    """What a round could reach at most, and what that is."""
    rate = seen.run.manifest["path"].get("rate_bit_per_s")
    if rate:
        allowed = shaped_goodput_bit_per_s(
            point.transport,
            rate,
            point.message_bytes,
            framing=LINE,
            mtu_bytes=seen.run.mtu_bytes(point),
        )
        return allowed, f"what the link carries, {format_rate(allowed)}"
    bits = 8 * point.message_bytes * sum(rank % 2 for rank in point.batches[0].ends)
    fastest = float(times[~hit].min() if not hit.all() else times.min())
    return bits / fastest * 1e9, "the fastest round"


def common_start(seen: Seen) -> Iterator[Finding]:
    """Flows that did not begin together although they were to."""
    late = []
    for point in seen.run.points:
        if not point.kind.has_like_flows or not point.batches:
            continue  # a victim is to be alone in every other batch
        figures = {f.name: f.value for f in seen.figures if f.point == point.id}
        length = min(float(round_times_ns(point.batches).min()), 1e9)
        spread = figures.get("start_spread_median_ns", 0.0)
        if spread > SPREAD_NOTABLE * length:
            late.append((spread / length, spread, point))
    if not late:
        return
    share, spread, point = max(late, key=lambda item: item[0])
    yield Finding(
        "warning",
        f"The flows of {format_count(len(late), 'point')} did not begin together.",
        f"Worst at {point.id}: {format_time(spread)} in the median between the first and the "
        f"last, {share:.0%} of the shortest round.",
        "Give the hosts more CPUs, or use fewer flows.",
        tuple(p.id for _, _, p in late),
    )


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
        f"{transport_row(point.transport).title} {point.test} of {len(best)} equal hosts "
        f"({point.id}), best flow of each: {shown}; the others {format_rate(others[0])} "
        f"to {format_rate(others[-1])}, median {format_rate(usual)}.{partner}",
        f"Compare {names[0]} with another: ethtool (speed, errors), load, CPU frequency; "
        f"netsonde host {names[0]}",
        ids_of([point]),
        place=", ".join(names[:4]),
    )


def sum_of_pairs(seen: Seen) -> Iterator[Finding]:
    """Where the sum of pairs that stream at once stops growing with their number."""
    found = [p for p in seen.run.points if p.kind.in_pairs and p.batches and _hosts_of(p)]
    for same in alike(found, HOSTS, LAUNCH):
        rates: dict[int, list[float]] = {}
        for point in same:
            if value := seen.value(SUM, point.id):
                rates.setdefault(_hosts_of(point) // 2, []).append(value)
        sums = {pairs: float(np.median(values)) for pairs, values in rates.items()}
        end = ceiling(sums)
        if end is None:
            continue
        shown = ", ".join(f"{n} {format_rate(sums[n])}" for n in sorted(sums))
        yield Finding(
            "note",
            f"From {format_count(end.pairs, 'pair')} at once on the sum does not grow: all carry "
            f"{format_rate(end.rate)} together ({same[0].carrier.title}).",
            f"By pairs at once: {shown}. So many as {max(sums)} that share nothing would carry "
            f"{format_rate(end.free)}.",
            "It may be what a switch or a link between switches carries in all. Hosts of one "
            "machine share its CPUs, which has the same look: see their load.",
            tuple(p.id for p in same),
        )


def _hosts_of(point: Point) -> int:
    """Of those that are named the first so many; 0 where all took part."""
    return point.spec.of(Pattern).hosts or 0
