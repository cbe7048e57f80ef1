"""Parameters of a platform from what a run observed, with intervals.

An observation is a time at a size of packet; which ones there can be and how a run gives them is in
docs/methods/communication-model.md. Source of the methods: A. T. C. Tam, Performance Studies of
High-Speed Communication on Commodity Cluster, PhD thesis, The University of Hong Kong, 2001,
appendix A. Times in ns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from netsonde.model.platform import (
    Architecture,
    Buffer,
    Cost,
    MessageLine,
    Origin,
    Platform,
    fit_cost,
)
from netsonde.stats.fits import fit_line
from netsonde.stats.quantiles import Interval

Kind = Literal[
    "one_way",
    "send_overhead",
    "send_gap",
    "receive_gap",
    "both_ways_gap",
    "busy_host",
    "receive_work",
    "network",
]
"""one_way: half a round trip, or a packet's whole way, O_s + L + O_r + U_r. both_ways_gap: between
sends of a host that receives as many. busy_host: the same where the CPU limits it, so
O_s + O_r + U_r. receive_work: O_r + U_r. network: L."""
LEAST_SIZES = 3
"""A line with an interval needs as many."""
ALIKE = 0.02
"""Two gaps closer than this are one: which of two stages limits cannot be told then."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A time in ns at a packet of so many bytes; ``run`` is the run directory."""

    kind: Kind
    size_bytes: int
    time_ns: float
    run: str


@dataclass(frozen=True, slots=True)
class BurstLoss:
    """Of a burst of ``packets`` in all from ``sources`` to ``sinks`` this share arrived."""

    sources: int
    sinks: int
    packets: int
    received_ratio: float
    run: str


@dataclass(frozen=True, slots=True)
class Observed:
    """All that runs showed of one platform. ``kind`` of their origins; ``messages``: size in bytes
    and one-way time in ns of whole messages, of any length."""

    name: str
    about: str
    packet_bytes: int
    header_bytes: int
    link_bit_per_s: float
    serialisations: int
    ranks: int
    kind: Literal["measured", "emulated", "simulated"]
    observations: Sequence[Observation] = ()
    bursts: Sequence[BurstLoss] = ()
    messages: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True, slots=True)
class BufferFit:
    """B_L of a port, by how the slopes of Eq. (A.2) change with sources and sinks; ``slopes``:
    (sources, sinks) -> packets, with the interval of the line."""

    architecture: Architecture
    packets: float
    slopes: Mapping[tuple[int, int], tuple[float, Interval]]
    told_apart: bool


@dataclass(frozen=True)
class Fitted:
    """The platform, sentences about what could not be found and why, and what lies beside it:
    ``message_intervals`` of alpha and beta, by their names in :class:`MessageLine`."""

    platform: Platform
    notes: list[str] = field(default_factory=list)
    message_intervals: Mapping[str, Interval] = field(default_factory=dict)
    buffer: BufferFit | None = None


def fit_platform(observed: Observed) -> Fitted:
    """Lines over sizes through what was observed, Eqs. (2.1)-(2.5) and (A.1)-(A.4).

    O_r and U_r are only seen together, and stand in O_r. Where they cannot be told from L, L holds
    them. Raises ``ValueError`` where not even a line of whole messages can be fitted.
    """
    fitted = Fitted(_bare(observed))
    costs: dict[str, Cost] = {}
    _fit_sends(observed, costs, fitted.notes)
    _fit_receives(observed, costs, fitted.notes)
    _fit_latency(observed, costs, fitted.notes)
    messages, intervals = _fit_messages(observed, fitted.notes)
    buffer = fit_buffer(observed.bursts, fitted.notes)
    if not costs and messages is None:
        raise ValueError(
            "no parameter can be fitted: the runs have neither round trips nor packets' times at "
            f"{LEAST_SIZES} sizes or more"
        )
    platform = replace(fitted.platform, costs=costs, messages=messages)
    if buffer is not None:
        origin = _origin(observed, "bursts, Eq. (A.2)", observed.bursts[0].run)
        found = Buffer(buffer.architecture, max(1, round(buffer.packets)), origin)
        platform = replace(platform, buffer=found)
    return Fitted(platform, fitted.notes, intervals, buffer)


def _bare(observed: Observed) -> Platform:
    return Platform(
        name=observed.name,
        about=observed.about,
        packet_bytes=observed.packet_bytes,
        link_bit_per_s=observed.link_bit_per_s,
        costs={},
        header_bytes=observed.header_bytes,
        serialisations=observed.serialisations,
        ranks=observed.ranks,
    )


def _origin(observed: Observed, source: str, run: str | None) -> Origin:
    return Origin(observed.kind, source, run)


def _points(observed: Observed, kind: Kind) -> dict[int, list[float]]:
    """The times of one kind by size."""
    found: dict[int, list[float]] = {}
    for one in observed.observations:
        if one.kind == kind:
            found.setdefault(one.size_bytes, []).append(one.time_ns)
    return found


def _run_of(observed: Observed, kind: Kind) -> str | None:
    return next((one.run for one in observed.observations if one.kind == kind), None)


def _line(
    observed: Observed, kind: Kind, source: str, of: Callable[[int, float], float] | None = None
) -> Cost | None:
    """A line through a kind's points, each changed by ``of``(size, time); None if sizes are few."""
    points = _points(observed, kind)
    if len(points) < LEAST_SIZES:
        return None
    pairs = [(size, time) for size, times in points.items() for time in times]
    sizes = [size for size, _ in pairs]
    times = [time if of is None else of(size, time) for size, time in pairs]
    return fit_cost(sizes, times, _origin(observed, source, _run_of(observed, kind)))


_SIMULATED: Mapping[Kind, str] = {
    "send_overhead": "time between sends that find room, A.4",
    "send_gap": "time between sends in equilibrium, A.4",
    "receive_gap": "time between packets taken of many to one, A.3",
}
_MEASURED: Mapping[Kind, str] = {
    "send_overhead": "kernel's times: send call to driver",
    "send_gap": "UDP streams, payload over the sent rate",
    "receive_gap": "UDP streams, payload over the received rate",
}


def _source(observed: Observed, kind: Kind) -> str:
    return (_SIMULATED if observed.kind == "simulated" else _MEASURED)[kind]


def _fit_sends(observed: Observed, costs: dict[str, Cost], notes: list[str]) -> None:
    overhead = _line(observed, "send_overhead", _source(observed, "send_overhead"))
    gap = _line(observed, "send_gap", _source(observed, "send_gap"))
    if overhead is not None:
        costs["send_overhead"] = overhead
    else:
        notes.append(_too_few(observed, "send_overhead", "O_s"))
    if gap is not None:
        costs["send_gap"] = gap
    else:
        notes.append(_too_few(observed, "send_gap", "g_s"))


def _fit_receives(observed: Observed, costs: dict[str, Cost], notes: list[str]) -> None:
    gap = _line(observed, "receive_gap", _source(observed, "receive_gap"))
    if gap is not None:
        costs["receive_gap"] = gap
    elif "send_gap" in costs:
        same = costs["send_gap"]
        costs["receive_gap"] = replace(same, origin=Origin("derived", "as g_s", same.origin.run))
        notes.append(_too_few(observed, "receive_gap", "g_r") + "; it is taken as g_s")
    work = _line(observed, "receive_work", "kernel's times: driver to receive")
    if work is None and "send_overhead" in costs:
        overhead = costs["send_overhead"]
        work = _line(
            observed,
            "busy_host",
            "gap of a host that its CPU limits, less O_s",
            lambda size, time: time - overhead.at(size),
        )
    if work is not None:
        costs["receive_overhead"] = work
        costs["user_overhead"] = Cost(0.0, origin=Origin("assumed", "O_r holds it"))


def _fit_latency(observed: Observed, costs: dict[str, Cost], notes: list[str]) -> None:
    """L by Eq. (A.4), where O_s is known; else nothing of a packet's way can be taken apart."""
    latency = _line(observed, "network", "kernel's times: between the hosts")
    if latency is None and "send_overhead" in costs:
        known = [costs[name] for name in ("send_overhead", "receive_overhead") if name in costs]
        source = "one way less O_s, O_r and U_r, Eq. (A.4)"
        if "receive_overhead" not in costs:
            source = "one way less O_s; it holds O_r and U_r"
        latency = _line(
            observed,
            "one_way",
            source,
            lambda size, time: time - sum(cost.at(size) for cost in known),
        )
    if latency is None:
        notes.append(_too_few(observed, "one_way", "L"))
        return
    costs["latency"] = latency
    if "receive_overhead" not in costs:
        within = Origin("assumed", "not told from L, which holds it")
        costs["receive_overhead"] = Cost(0.0, origin=within)
        costs["user_overhead"] = Cost(0.0, origin=within)
        notes.append(
            "O_r and U_r are within L: no load at 3 sizes kept a host's CPU busy (both ways "
            "at once with small packets does)"
        )


def _too_few(observed: Observed, kind: Kind, symbol: str) -> str:
    sizes = len(_points(observed, kind))
    return f"{symbol} is not known from 3 sizes or more: it was seen at {sizes}"


def _fit_messages(
    observed: Observed, notes: list[str]
) -> tuple[MessageLine | None, dict[str, Interval]]:
    """Hockney's alpha and beta over whole messages: relative errors, Student's t."""
    if len({size for size, _ in observed.messages}) < LEAST_SIZES:
        return None, {}
    sizes, times = zip(*observed.messages, strict=True)
    line = fit_line(sizes, times, errors="relative")
    if line.intercept < 0.0 or line.slope <= 0.0:
        notes.append("times of messages do not grow along a line from above 0: no alpha and beta")
        return None, {}
    source = f"line through one-way times of {min(sizes)} to {max(sizes)} bytes"
    run = next((one.run for one in observed.observations), None)
    found = MessageLine(line.intercept, line.slope, _origin(observed, source, run))
    return found, {"alpha_ns": line.intercept_interval, "beta_ns": line.slope_interval}


# The buffer.


def fit_buffer(bursts: Sequence[BurstLoss], notes: list[str]) -> BufferFit | None:
    """B_L from the shares of bursts that arrived: the slope over 1/k of Eq. (A.2) is what the
    buffers held in all, which grows with the sources where inputs have buffers, with the sinks
    where outputs have, and with neither where they share one. None with fewer than three bursts
    that lost packets."""
    slopes: dict[tuple[int, int], tuple[float, Interval]] = {}
    for place in sorted({(one.sources, one.sinks) for one in bursts}):
        lossy = [
            one for one in bursts if (one.sources, one.sinks) == place and one.received_ratio < 1.0
        ]
        if len({one.packets for one in lossy}) >= LEAST_SIZES:
            line = fit_line([1.0 / b.packets for b in lossy], [b.received_ratio for b in lossy])
            slopes[place] = (line.slope, line.slope_interval)
    if not slopes:
        if bursts:
            notes.append("B_L is not known: fewer than 3 bursts of one shape lost packets")
        return None
    units: dict[Architecture, Callable[[int, int], int]] = {
        "input": lambda sources, _: sources,
        "output": lambda _, sinks: sinks,
        "shared": lambda _, __: 1,
    }
    spread: dict[Architecture, float] = {}
    for architecture, unit in units.items():
        each = np.array([slope / unit(*place) for place, (slope, _) in slopes.items()])
        spread[architecture] = float(np.ptp(each) / abs(each.mean()))
    best = sorted(spread, key=spread.__getitem__)
    told_apart = len(slopes) > 1 and spread[best[1]] > 3.0 * spread[best[0]]
    chosen: Architecture = best[0] if told_apart else "output"
    if not told_apart:
        notes.append(
            "bursts do not tell the switch's architecture: vary sources and sinks; B_L is as if "
            "outputs have buffers"
        )
    each = np.array([slope / units[chosen](*place) for place, (slope, _) in slopes.items()])
    return BufferFit(chosen, float(each.mean()), slopes, told_apart)
