"""How the ends of a round trip wait for its answer: asleep, or asking again and again."""

from __future__ import annotations

from typing import Literal

from netsonde.records.data import Point

Waits = Literal["sleeps", "spins"]
SWITCHES = "process.voluntary_switches"
SLEEPS_FROM, SPINS_TO = 0.7, 0.4
"""Voluntary context switches for each message that an end waits for. One that sleeps is switched
out once for each; what is between is neither."""


def waits_of(point: Point) -> Waits | None:
    """What both ends did, by the kernel's count of how often they gave up their CPU; None where it
    is not known, where the ends differ, and for tests without round trips."""
    if not point.kind.asks_round_trip:
        return None
    ratios = []
    for rank in (0, 1):
        found = [
            (grown, len(batch.ends[0].series.get("round_trip_ns", ())))
            for batch in point.batches
            if {0, rank} <= batch.ends.keys()
            and (grown := batch.ends[rank].difference(SWITCHES)) is not None
        ]
        messages = sum(count for _, count in found)
        if not messages:
            return None
        ratios.append(sum(grown for grown, _ in found) / messages)
    if min(ratios) >= SLEEPS_FROM:
        return "sleeps"
    return "spins" if max(ratios) <= SPINS_TO else None
