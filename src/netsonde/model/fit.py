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

from netsonde.model.buffers import BufferFit, BurstLoss, fit_buffer
from netsonde.model.latency_plane import Plane, fit_plane
from netsonde.model.platform import (
    MOST_SERIALISATIONS,
    SYMBOLS,
    Buffer,
    Cost,
    FitQuality,
    MessageLine,
    Origin,
    Platform,
    fit_cost,
)
from netsonde.stats.fits import fit_line
from netsonde.stats.quantiles import Interval

Kind = Literal[
    "one_way",
    "pair_trip",
    "send_overhead",
    "send_series",
    "send_call",
    "send_gap",
    "send_equilibrium",
    "receive_gap",
    "flooded",
    "both_ways_gap",
    "busy_host",
    "receive_call",
    "arrival",
    "receive_work",
    "network",
]
"""one_way: half a round trip, or a packet's whole way, O_s + L + O_r + U_r. pair_trip: the same of
pairs at once, for L(m, p). send_series and send_equilibrium: O_s and g_s of series of sends.
send_call, receive_call and arrival: O_s, U_r and O_r, each by itself. flooded: g_r of many to one.
both_ways_gap: between sends of a host that receives as many. busy_host: the same where the CPU
limits it, so O_s + O_r + U_r. receive_work: O_r + U_r. network: L."""
LEAST_SIZES = 3
"""A line with an interval needs as many."""
ALIKE = 0.02
"""Two gaps closer than this are one: which of two stages limits cannot be told then."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A time in ns at a packet of so many bytes, among so many processes; ``run`` is the run
    directory."""

    kind: Kind
    size_bytes: int
    time_ns: float
    run: str
    ranks: int = 2


@dataclass(frozen=True, slots=True)
class Observed:
    """All that runs showed of one platform. ``kind`` of their origins; ``messages``: size in bytes
    and one-way time in ns of whole messages, of any length; ``copies``: the same of copies of
    memory, by the parameter that they are; ``remarks``: what was left out of what the runs hold,
    and why."""

    name: str
    about: str
    packet_bytes: int
    header_bytes: int
    link_bit_per_s: float
    serialisations: int | None
    ranks: int
    kind: Literal["measured", "emulated", "simulated"]
    observations: Sequence[Observation] = ()
    bursts: Sequence[BurstLoss] = ()
    messages: Sequence[tuple[int, float]] = ()
    copies: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Fitted:
    """The platform, sentences about what could not be found and why, and what lies beside it:
    ``message_intervals`` of alpha and beta, by their names in :class:`MessageLine`; ``plane``, what
    pairs across the bisection say of shared links."""

    platform: Platform
    notes: list[str] = field(default_factory=list)
    message_intervals: Mapping[str, Interval] = field(default_factory=dict)
    buffer: BufferFit | None = None
    plane: Plane | None = None


def fit_platform(observed: Observed) -> Fitted:
    """Lines over sizes through what was observed, Eqs. (2.1)-(2.5) and (A.1)-(A.4).

    Of several methods for one parameter the first counts, and the others lie beside it. Where O_r
    and U_r are only seen together, they stand in O_r; where they cannot be told from L, L holds
    them. Raises ``ValueError`` where nothing can be fitted.
    """
    notes = list(observed.remarks)
    costs: dict[str, Cost] = {}
    others: dict[str, tuple[Cost, ...]] = {}
    _fit_sends(observed, costs, others, notes)
    _fit_receives(observed, costs, others, notes)
    plane = _fit_latency(observed, costs, others, notes)
    _fit_copies(observed, costs)
    messages, intervals = _fit_messages(observed, notes)
    buffer = fit_buffer(observed.bursts, notes)
    if not costs and messages is None and buffer is None:
        raise ValueError(
            "no parameter can be fitted: the runs have neither round trips nor packets' times at "
            f"{LEAST_SIZES} sizes or more"
        )
    platform = replace(_bare(observed), costs=costs, messages=messages, others=others)
    if observed.serialisations is None and "latency" in costs:
        platform = replace(platform, serialisations=_serialisations(platform))
    if buffer is not None:
        origin = _origin(observed, "bursts, Eq. (A.2)", observed.bursts[0].run)
        packets = max(1, round(buffer.packets))
        found = Buffer(buffer.architecture, packets, origin, buffer.low, buffer.high)
        platform = replace(platform, buffer=found)
    return Fitted(platform, notes, intervals, buffer, plane)


def _bare(observed: Observed) -> Platform:
    return Platform(
        name=observed.name,
        about=observed.about,
        packet_bytes=observed.packet_bytes,
        link_bit_per_s=observed.link_bit_per_s,
        costs={},
        header_bytes=observed.header_bytes,
        serialisations=observed.serialisations or 1,
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


_SOURCES: Mapping[Kind, str] = {
    "send_series": "series of n sends that find room, A.4",
    "send_call": "time of the send call",
    "send_overhead": "kernel's times: send call to driver",
    "send_equilibrium": "series of n sends in equilibrium, A.4",
    "send_gap": "streams, payload over the sent rate",
    "flooded": "time between packets of many to one, A.3",
    "receive_gap": "streams, payload over the received rate",
    "receive_call": "timed receive of what is there, A.2",
    "arrival": "gaps that arrivals make, A.2",
}
_SIMULATED: Mapping[Kind, str] = {
    "send_overhead": "time between sends that find room, A.4",
    "send_gap": "time between sends in equilibrium, A.4",
    "receive_gap": "time between packets taken of many to one, A.3",
}


def _source(observed: Observed, kind: Kind) -> str:
    of_simulation = _SIMULATED if observed.kind == "simulated" else {}
    return of_simulation.get(kind) or _SOURCES[kind]


def _first(
    observed: Observed,
    name: str,
    kinds: Sequence[Kind],
    costs: dict[str, Cost],
    others: dict[str, tuple[Cost, ...]],
) -> bool:
    """The line by the first method that gives one, and those of all others; False where none."""
    lines = [_line(observed, kind, _source(observed, kind)) for kind in kinds]
    return _take(name, [line for line in lines if line is not None], costs, others)


def _take(
    name: str, lines: Sequence[Cost], costs: dict[str, Cost], others: dict[str, tuple[Cost, ...]]
) -> bool:
    if lines:
        costs[name] = lines[0]
    if lines[1:]:
        others[name] = tuple(lines[1:])
    return bool(lines)


def _fit_sends(
    observed: Observed,
    costs: dict[str, Cost],
    others: dict[str, tuple[Cost, ...]],
    notes: list[str],
) -> None:
    overhead: tuple[Kind, ...] = ("send_series", "send_call", "send_overhead")
    if not _first(observed, "send_overhead", overhead, costs, others):
        notes.append(_too_few(observed, overhead, "O_s"))
    gap: tuple[Kind, ...] = ("send_equilibrium", "send_gap")
    if not _first(observed, "send_gap", gap, costs, others):
        notes.append(_too_few(observed, gap, "g_s"))


def _fit_receives(
    observed: Observed,
    costs: dict[str, Cost],
    others: dict[str, tuple[Cost, ...]],
    notes: list[str],
) -> None:
    gap: tuple[Kind, ...] = ("flooded", "receive_gap")
    found = _first(observed, "receive_gap", gap, costs, others)
    if not found and "send_gap" in costs:
        _as_the_other("receive_gap", "send_gap", costs)
        notes.append(_too_few(observed, gap, "g_r") + "; it is taken as g_s")
    elif found and "send_gap" not in costs:  # hosts are alike, section 2.2.4 of the source
        _as_the_other("send_gap", "receive_gap", costs)
        notes.append("g_s is taken as g_r")
    _first(observed, "user_overhead", ("receive_call",), costs, others)
    _take("receive_overhead", _receive_work(observed, costs), costs, others)
    if "receive_overhead" in costs and "user_overhead" not in costs:
        costs["user_overhead"] = Cost(0.0, origin=Origin("assumed", "O_r holds it"))


def _as_the_other(name: str, other: str, costs: dict[str, Cost]) -> None:
    same = costs[other]
    costs[name] = replace(same, origin=Origin("derived", f"as {SYMBOLS[other]}", same.origin.run))


def _receive_work(observed: Observed, costs: Mapping[str, Cost]) -> list[Cost]:
    """O_r by every method: arrivals by themselves; else what is left of O_r + U_r without U_r, and
    of a busy host without O_s too."""
    user = costs.get("user_overhead", Cost(0.0))
    overhead = costs.get("send_overhead", Cost(0.0))
    less = ", less U_r" if "user_overhead" in costs else ""
    found = [
        _line(observed, "arrival", _SOURCES["arrival"]),
        _line(
            observed,
            "receive_work",
            f"kernel's times: driver to receive{less}",
            lambda size, time: time - user.at(size),
        ),
    ]
    if "send_overhead" in costs:
        found.append(
            _line(
                observed,
                "busy_host",
                f"gap of a host that its CPU limits, less O_s{less}",
                lambda size, time: time - overhead.at(size) - user.at(size),
            )
        )
    sizes = (1, observed.packet_bytes)
    return [cost for cost in found if cost and all(cost.at(size) >= 0.0 for size in sizes)]


def _fit_latency(
    observed: Observed,
    costs: dict[str, Cost],
    others: dict[str, tuple[Cost, ...]],
    notes: list[str],
) -> Plane | None:
    """L by Eq. (A.4), where O_s is known; else nothing of a packet's way can be taken apart."""
    own = ("send_overhead", "receive_overhead", "user_overhead")
    known = [costs[name] for name in own if name in costs]

    def left(size: float, time: float) -> float:
        return time - sum(cost.at(size) for cost in known)

    lines, plane = list[Cost](), None
    if "send_overhead" in costs:
        source = "one way less O_s, O_r and U_r, Eq. (A.4)"
        if "receive_overhead" not in costs:
            source = "one way less O_s; it holds O_r"
            source += "" if "user_overhead" in costs else " and U_r"
        plane = _plane(observed, left, f"pairs across the bisection: {source}", notes)
        if plane is not None and plane.growth_interval.low > 0.0:
            lines.append(plane.cost)
        one = _line(observed, "one_way", source, left)
        lines += [one] if one is not None else []
        if plane is not None and plane.cost not in lines:
            lines.append(plane.cost)
    stamped = _line(observed, "network", "kernel's times: between the hosts")
    if stamped is not None:  # the parts of a packet's way are to make up the whole
        by_stamps = "send_overhead" not in costs or (
            costs["send_overhead"].origin.source == _SOURCES["send_overhead"]
        )
        lines.insert(0 if by_stamps else len(lines), stamped)
    possible = [line for line in lines if _is_possible(line, observed.packet_bytes)]
    if lines and not possible:
        for name in own:
            costs.pop(name, None)
        notes.append(
            "a send lasts about as long as its message is on its way, as where it waits for the "
            "other end: O_s, O_r, U_r and L cannot be told apart"
        )
    elif not _take("latency", possible, costs, others):
        notes.append(_too_few(observed, ("one_way",), "L"))
    elif "receive_overhead" not in costs:
        _receives_within(costs, notes)
    return plane


def _serialisations(platform: Platform) -> int:
    """How often a packet is certainly on the wire within L: so often as L grows with a byte by what
    a byte takes there, by the low end of the slope's interval; and no longer than L itself."""
    latency = platform.costs["latency"]
    slope_ns = latency.per_byte_ns
    if latency.fit is not None and "per_byte_ns" in latency.fit.intervals:
        slope_ns = latency.fit.intervals["per_byte_ns"].low
    times = round(slope_ns * platform.link_bit_per_s / 8e9)
    whole = latency.at(platform.packet_bytes) // platform.wire_ns()
    return max(1, min(times, int(whole), MOST_SERIALISATIONS))


def _is_possible(latency: Cost, packet_bytes: int) -> bool:
    """Whether something is left for the network, at the least size that was seen and at a full
    packet."""
    least = latency.sizes[0] if latency.sizes else 1
    return min(latency.at(least), latency.at(packet_bytes)) > 0.0


def _receives_within(costs: dict[str, Cost], notes: list[str]) -> None:
    within = Origin("assumed", "not told from L, which holds it")
    costs["receive_overhead"] = Cost(0.0, origin=within)
    if "user_overhead" in costs:
        notes.append(
            "O_r is within L: arrivals took none of the receiving program's time that could be "
            "told from noise, and the kernel's times were not asked for"
        )
        return
    costs["user_overhead"] = Cost(0.0, origin=within)
    notes.append(
        "O_r and U_r are within L: no load at 3 sizes kept a host's CPU busy (both ways "
        "at once with small packets does)"
    )


def _plane(
    observed: Observed, left: Callable[[float, float], float], source: str, notes: list[str]
) -> Plane | None:
    """L(m, p) where pairs were growing; single pairs of other tests are p = 2."""
    trips = [o for o in observed.observations if o.kind == "pair_trip"]
    if len({one.ranks for one in trips}) < 2:
        return None
    sizes, ranks = [one.size_bytes for one in trips], [one.ranks for one in trips]
    times = [left(one.size_bytes, one.time_ns) for one in trips]
    try:
        found = fit_plane(sizes, ranks, times, _origin(observed, source, trips[0].run))
    except ValueError as error:
        notes.append(str(error))
        return None
    low, high = found.growth_interval.low, found.growth_interval.high
    said = "links are shared on the way" if found.is_shared else "as over one switch"
    notes.append(
        f"L of {max(sizes)} bytes grows by {found.growth_ns / 1e3:.4g} us ({low / 1e3:.4g}.."
        f"{high / 1e3:.4g}) from {min(ranks)} to {max(ranks)} processes: {said}"
    )
    return found


def _fit_copies(observed: Observed, costs: dict[str, Cost]) -> None:
    """M_ctc, M_ctm and M_mtm: lines over the sizes that were copied, relative errors."""
    for name, pairs in observed.copies.items():
        if len({size for size, _ in pairs}) < LEAST_SIZES:
            continue
        sizes, times = [size for size, _ in pairs], [time for _, time in pairs]
        line = fit_line(sizes, times, errors="relative")
        intervals = {"start_ns": line.intercept_interval, "per_byte_ns": line.slope_interval}
        quality = FitQuality(line.n, line.residual, line.r_squared, intervals)
        run = next((one.run for one in observed.observations), None)
        costs[name] = Cost(
            line.intercept,
            line.slope,
            origin=_origin(observed, "timed copies of a worker", run),
            fit=quality,
        )


def _too_few(observed: Observed, kinds: Sequence[Kind], symbol: str) -> str:
    sizes = max(len(_points(observed, kind)) for kind in kinds)
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
    alpha, beta = line.intercept_interval, line.slope_interval
    found = MessageLine(line.intercept, line.slope, _origin(observed, source, run), alpha, beta)
    return found, {"alpha_ns": alpha, "beta_ns": beta}
