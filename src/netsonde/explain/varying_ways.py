"""Rules about delays on the way: those that a host's own queue adds, and those that vary."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    STEAL_NOTABLE,
    growth,
    ids_of,
    point_in_words,
    steal_share,
)
from netsonde.explain.own_queue import own_queue
from netsonde.records.data import Point
from netsonde.units import format_time

DELAY_NOTABLE = 0.2
"""Of the median round trip: what a queue of the ends' own must add."""
SPREAD_NOTABLE = 0.1
"""Of the median: between the quarters of the round trips."""
SPREAD_LEAST_NS = 500_000
"""Schedulers, timers and interrupts of the hosts account for less on a machine that is not busy."""
WAITED_LITTLE = 0.2
"""Of the spread, for each round trip: where ends waited longer for a CPU they may be it."""
ROUND_TRIPS_LEAST = 12
"""The fewest whose quarters are worth looking at; a long way has no more of them in a second."""
LATE_SHARE = 0.2
"""Of the spread: an emulated switch whose frames are later than this may be it."""


def own_queue_delays(seen: Seen) -> Iterator[Finding]:
    """Round trips that wait in a queue which is set to delay packets, at an end's own card."""
    found = []
    for point in _of_round_trips(seen):
        median = float(np.median(point.series("round_trip_ns")))
        for rank in (0, 1):
            own = own_queue(seen.run, point, rank)
            if own and own.delay_ns + own.jitter_ns >= DELAY_NOTABLE * median:
                found.append((own.delay_ns + own.jitter_ns, point, own, median))
    if not found:
        return
    _, point, own, median = max(found, key=lambda item: item[0])
    varied = f", varied by {format_time(own.jitter_ns)}" if own.jitter_ns else ""
    yield Finding(
        "warning",
        f"Packets are delayed on purpose before they leave {own.host}: {own.in_words} is set "
        f"to {format_time(own.delay_ns)}{varied}.",
        f"{point_in_words(point)}: the median round trip is {format_time(median)}; that queue "
        f"sent {own.sent} packets.",
        f"See tc -s qdisc show dev {own.device} at {own.host}; where nobody wants it: tc qdisc "
        f"del dev {own.device} root",
        ids_of({p.id: p for _, p, _, _ in found}.values()),
        place=f"sender kernel of {own.host}",
    )


def varying_way(seen: Seen) -> Iterator[Finding]:
    """Round trips that vary widely all the time while the ends hardly waited for CPUs."""
    found = []
    for point in _of_round_trips(seen):
        if steal_share(point) >= STEAL_NOTABLE:
            continue  # the hypervisor delays ends and way alike, and nothing here tells which
        times = point.series("round_trip_ns")
        low, median, high = np.quantile(times, (0.25, 0.5, 0.75))
        spread = float(high - low)
        if len(times) < ROUND_TRIPS_LEAST or spread < max(SPREAD_LEAST_NS, SPREAD_NOTABLE * median):
            continue
        waited_ns = _waited_ns(point)
        if waited_ns is None:
            continue
        waited = waited_ns / len(times)
        late = float((point.checks.get("lab") or {}).get("late_p99_ns") or 0)
        queues = [own_queue(seen.run, point, rank) for rank in (0, 1)]
        on_purpose = any(q and q.jitter_ns for q in queues)
        if waited <= WAITED_LITTLE * spread and late <= LATE_SHARE * spread and not on_purpose:
            found.append((spread, point, waited, (float(low), float(median), float(high))))
    if not found:
        return
    spread, point, waited, (low, median, high) = max(found, key=lambda item: item[0])
    yield Finding(
        "warning",
        "The delay of the way varies: half of the round trips differ by "
        f"{format_time(spread)} or more, and it is not the ends' processes.",
        f"{point_in_words(point)}: quarters at {format_time(low)}, {format_time(median)} and "
        f"{format_time(high)}; the ends' processes waited for a CPU for "
        f"{format_time(waited)} of a round trip.",
        "Look for queues that fill and empty on the way (others' traffic at a switch's port), "
        "a radio link, or a virtual machine's host.",
        ids_of(p for _, p, _, _ in found),
        place="network",
        confidence="likely",
    )


def _of_round_trips(seen: Seen) -> list[Point]:
    points = (p for p in seen.run.select() if p.kind.is_round_trip)
    return [p for p in points if not p.carrier.has_ranks and len(p.series("round_trip_ns"))]


def _waited_ns(point: Point) -> int | None:
    """For how long the ends' processes were ready and not let run; None where nothing tells."""
    ends = [end for batch in point.batches for end in batch.ends.values()]
    if all(end.difference("process.run_wait_ns") is None for end in ends):
        return None
    names = ("process.run_wait_ns", "process.throttled_ns")
    return sum(growth(point, rank, name) for rank in (0, 1) for name in names)
