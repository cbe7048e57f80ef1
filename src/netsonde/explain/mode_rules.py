"""Round trips that gather around several values, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from netsonde.explain.commands import binding
from netsonde.explain.cpu_rules import is_one_machine
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import growth, ids_of, point_in_words
from netsonde.explain.timer_rules import BAND, DELAYED_ACK_NS, STALL, TIMER_COUNTERS
from netsonde.figures.time_outs import least_time_out_ns
from netsonde.records.data import Point, Run
from netsonde.stats.modes import find_modes
from netsonde.units import format_count, format_time

MODES_LEAST = 100
"""Fewer round trips than this say nothing of modes."""
PLACES_APART = 1.3
"""How many times as long the median is where ends had other CPUs, to be the cause."""
BATCHES_LEAST = 3
"""Batches at each place: two medians may differ by chance, and by whatever else came and went."""
MOVED_LEAST = 3
"""Moves to another CPU that are no accident."""


def several_modes(seen: Seen) -> Iterator[Finding]:
    """A median of round trips that have several usual values hides that."""
    found = []
    for point in seen.run.where(lambda p: p.kind.asks_round_trip):
        samples = point.series("round_trip_ns")
        modes = find_modes(samples) if len(samples) >= MODES_LEAST else ()
        if len(modes) > 1:
            found.append((point, modes))
    if not found:
        return
    point, modes = found[0]
    apart_ns = modes[-1].location - modes[0].location
    cause, evidence, advice = _cause(seen.run, point, apart_ns)
    places = ", ".join(format_time(mode.location) for mode in modes)
    yield Finding(
        "note",
        f"Round trips of {format_count(len(found), 'point')} gather around several values: a "
        f"median hides that.{cause}",
        f"{point_in_words(point)} has modes near {places}.{evidence}",
        advice,
        ids_of(p for p, _ in found),
        confidence="likely" if cause else "possible",
    )


def _known_waits(run: Run, point: Point) -> Sequence[tuple[float, tuple[float, float], str, str]]:
    """How far modes are apart by a known wait: its length, within which shares of it, words,
    advice. Where a route's timeout is as short as a delayed acknowledgement, what the kernels
    counted says which is looked at first."""
    least_ns = least_time_out_ns(run, point)
    delayed = (
        DELAYED_ACK_NS,
        STALL,
        "a delayed acknowledgement, which waits 40 ms on Linux",
        "Turn Nagle's algorithm off (--nodelay), or send a message in one call.",
    )
    timer = (
        least_ns,
        BAND,
        f"a retransmission timer, whose least is {format_time(least_ns)} here",
        "Find where packets are lost: the counters of the interfaces and of the switches.",
    )
    ran_out = any(growth(point, rank, name) for rank in (0, 1) for name in TIMER_COUNTERS)
    return (timer, delayed) if ran_out else (delayed, timer)


def _cause(run: Run, point: Point, apart_ns: float) -> tuple[str, str, str]:
    """(a sentence that names the cause, its evidence, advice); without one, how to find it."""
    placed = _by_placement(point, is_one_machine(run))
    if placed:
        return (
            " The cause is on which CPUs the ends ran.",
            f" {placed}",
            f"Pin both ends to CPUs of their own with {binding(point.transport, '0,1')}.",
        )
    for wait_ns, (low, high), words, advice in _known_waits(run, point):
        if low * wait_ns <= apart_ns <= high * wait_ns:
            return f" The cause is {words}.", f" They are {format_time(apart_ns)} apart.", advice
    moved = sum(growth(point, rank, "process.migrations") for rank in (0, 1))
    if moved >= MOVED_LEAST:
        return (
            "",
            f" The ends changed their CPU {moved} times.",
            f"Pin both ends ({binding(point.transport, '0,1')}) to see whether placement is the "
            "cause.",
        )
    pinned = binding(point.transport)
    return "", "", f"Pin both ends ({pinned}) to see whether placement is the cause."


def _by_placement(point: Point, one_machine: bool) -> str:
    """Whether batches with other CPUs have other medians, in words; empty where not."""
    medians: dict[str, list[float]] = defaultdict(list)
    for batch in point.batches:
        ends = [batch.ends[rank] for rank in (0, 1) if rank in batch.ends]
        times = ends[0].series.get("round_trip_ns") if ends else None
        if len(ends) < 2 or times is None or not len(times):
            continue
        cpus = [end.counters.get("cpu") for end in ends]
        same = "on one CPU" if cpus[0] == cpus[1] else "on two"
        where = same if one_machine else f"on {cpus[0]} and {cpus[1]}"
        medians[where].append(float(np.median(times)))
    medians = {w: values for w, values in medians.items() if len(values) >= BATCHES_LEAST}
    usual = {where: float(np.median(values)) for where, values in medians.items()}
    if len(usual) < 2 or max(usual.values()) < PLACES_APART * min(usual.values()):
        return ""
    fast, slow = (pick(usual, key=lambda where: usual[where]) for pick in (min, max))
    if max(medians[fast]) >= min(medians[slow]):
        return ""  # there are fast batches at the slow place, so that something else decides
    shown = sorted(usual.items(), key=lambda item: item[1])
    return (
        "; ".join(
            f"Batches with both ends {where}: median {format_time(value)}" for where, value in shown
        )
        + "."
    )
