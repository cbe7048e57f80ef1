"""Silences in the middle of a test: how long, and what counters around them say of the cause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import STEAL_NOTABLE, ids_of, point_in_words, steal_share
from netsonde.explain.loss_rules import locate_datagrams, locate_segments
from netsonde.records.data import Batch, Point
from netsonde.units import format_count, format_time

OUTAGE_LEAST_NS = 250_000_000
"""One lost segment costs a timeout of 200 ms on Linux; what lasts longer lost more than one."""
SELDOM = 2
"""More silences than these, of a run's batches, are loss that goes on, not an interruption."""
EXPLAINED = 0.5
"""Of a silence: an end that was kept from running for so much of it is its cause."""
UNUSUAL = 20.0
"""How many times the usual distance between messages a silence is."""
TIME_OUTS = "netstat.TcpExt.TCPTimeouts"
WITHHELD = ("process.run_wait_ns", "process.throttled_ns")


def longest_silence_ns(point: Point, batch: Batch) -> float:
    """The longest time of a batch in which no message came: a round trip, or the distance between
    two arrivals (0 where no times were kept)."""
    longest = 0.0
    for end in batch.ends.values():
        times = end.series.get("round_trip_ns")
        if times is not None and len(times):
            longest = max(longest, float(times.max()))
        came = end.series.get("received_ns")
        if came is not None and len(came) > 1 and point.kind.is_stream:
            longest = max(longest, float(np.diff(np.sort(came), prepend=0).max()))
    return longest


def _usual_ns(batch: Batch) -> float:
    for end in batch.ends.values():
        for name, is_distance in (("round_trip_ns", True), ("received_ns", False)):
            times = end.series.get(name)
            if times is not None and len(times) > 1:
                return float(np.median(times if is_distance else np.diff(np.sort(times))))
    return 0.0


@dataclass(frozen=True)
class _Silence:
    point: Point
    batch: Batch
    silence_ns: float
    time_outs: int
    lost: int


def interrupted_way(seen: Seen) -> Iterator[Finding]:
    """A way that carried nothing for a while, by silences that no end's process explains and that
    timeouts or lost datagrams go with."""
    found: list[_Silence] = []
    for point in seen.run.points:
        if not point.carrier.has_sockets or point.flows > 1 or point.kind.is_open_loop:
            continue
        if steal_share(point) >= STEAL_NOTABLE:
            continue  # a silence may be the hypervisor's
        silences = [s for batch in point.batches if (s := _silence(point, batch))]
        if 0 < len(silences) <= SELDOM and len(silences) < max(2, len(point.batches)):
            found += silences
    if not found:
        return
    worst = max(found, key=lambda silence: silence.silence_ns)
    point = worst.point
    locate = locate_segments if point.carrier.has_connection else locate_datagrams
    located = locate(seen.run, point)
    counted = (
        f"{format_count(worst.time_outs, 'timeout')} of TCP"
        if point.carrier.has_connection
        else f"{worst.lost} datagrams lost"
    )
    where = f" Most losses were {located.words}: {located.evidence}." if located else ""
    yield Finding(
        "warning",
        f"The way was interrupted: nothing came through for {format_time(worst.silence_ns)}.",
        f"{point_in_words(point)}: {counted} in the batch with the silence, messages otherwise "
        f"come every {format_time(_usual_ns(worst.batch))}; the ends' processes were "
        f"kept from running for {format_time(_withheld_ns(worst.batch))} of it at most, and "
        f"were not stopped.{where}",
        "Look for what goes down at times: a cable or link (ethtool, dmesg), a spanning tree "
        "that settles, a route that changes.",
        ids_of({s.point.id: s.point for s in found}.values()),
        place=located.layer if located else "network",
        confidence="likely",
    )


def _silence(point: Point, batch: Batch) -> _Silence | None:
    silence_ns = longest_silence_ns(point, batch)
    ends = batch.ends.values()
    if silence_ns < OUTAGE_LEAST_NS or silence_ns < UNUSUAL * _usual_ns(batch):
        return None
    if any(end.difference("process.continued") for end in ends):
        return None
    if all(end.difference(WITHHELD[0]) is None for end in ends):
        return None  # whether an end ran is not known
    if _withheld_ns(batch) >= EXPLAINED * silence_ns:
        return None
    time_outs = max((end.difference(TIME_OUTS) or 0 for end in ends), default=0)
    lost = sum(end.counters.get(n, 0) for end in ends for n in ("lost", "unanswered"))
    if not (time_outs if point.carrier.has_connection else lost):
        return None
    return _Silence(point, batch, silence_ns, time_outs, lost)


def _withheld_ns(batch: Batch) -> int:
    """For how long an end's process was ready and not let run, at most, of both ends."""
    kept = (sum(end.difference(n) or 0 for n in WITHHELD) for end in batch.ends.values())
    return max(kept, default=0)
