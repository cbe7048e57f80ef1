"""What each transport adds to the one beneath, where all else is alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netsonde.catalogue.transport import TRANSPORTS, Transport, transport_row
from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import LAUNCH, SIZE, TRANSPORT, alike, condition, told_apart
from netsonde.figures.data import Figure
from netsonde.figures.side_by_side import spread
from netsonde.model.layers import drop_ratio
from netsonde.records.carried import carried_by, carried_in_words, network_in_words
from netsonde.records.data import Point
from netsonde.units import (
    bytes_in_words,
    change_in_words,
    format_count,
    format_rate,
    format_time,
)

MEDIAN = "round_trip_median_ns"
RATE = "throughput_bit_per_s"
TIME_UNIT, RATE_UNIT = "ns", "bit_per_s"
TOLD = 4
"""Conditions that are told one by one."""


@dataclass(frozen=True)
class Layer:
    """One transport under one condition: the median over launches of their medians, ns, or of their
    rates, bit/s."""

    points: tuple[Point, ...]
    name: str
    value: float

    @property
    def transport(self) -> str:
        return self.points[0].transport

    @property
    def carrier(self) -> Transport:
        """The transport's row."""
        return self.points[0].carrier


def layers(seen: Seen) -> list[Finding]:
    """What UDP adds to ICMP, TCP to UDP and MPI to TCP, at the smallest size that all have, of
    points that differ in nothing else: under each condition for itself."""
    medians = {f.point: f for f in seen.figures if f.name == MEDIAN and f.kind.asks_round_trip}
    measured = [
        p
        for p in seen.run.points
        if p.kind.asks_round_trip and p.id in medians and p.spec.perturbed_bytes is None
    ]
    conditions = alike(measured, TRANSPORT, LAUNCH, SIZE)
    found = [layer for same in conditions for layer in _at_common(same, medians, min)]
    if len({p.transport for p in measured}) > 1:
        found = [chosen for chosen in found if len({layer.transport for layer in chosen}) > 1]
    names = {}
    if len(found) > 1:
        names = told_apart((c[0].points[0] for c in found), TRANSPORT, LAUNCH, SIZE)
    findings = [_finding(c, names.get(c[0].points[0].id, "")) for c in found[:TOLD]]
    if len(found) > TOLD:
        rest = found[TOLD:]
        findings.append(
            Finding(
                "note",
                f"Round trips of {format_count(len(rest), 'more condition')} are in the report's "
                "table.",
                "; ".join(names[c[0].points[0].id] for c in rest) + ".",
            )
        )
    return findings


def throughput_layers(seen: Seen) -> list[Finding]:
    """What is left of one stream's rate above each transport, at the largest size that all have, of
    points that differ in nothing else."""
    rates = {f.point: f for f in seen.figures if f.name == RATE and f.kind.is_one_way_stream}
    measured = [
        p
        for p in seen.run.points
        if p.kind.is_one_way_stream and p.id in rates
        if p.spec.streams is None and p.spec.perturbed_bytes is None
    ]
    findings: list[Finding] = []
    for same in alike(measured, TRANSPORT, LAUNCH, SIZE):
        for chosen in _at_common(same, rates, max):
            several = len({layer.transport for layer in chosen}) > 1
            if several and len(findings) < TOLD:
                findings.append(_rate_finding(chosen))
    return findings


def _rate_finding(chosen: Sequence[Layer]) -> Finding:
    """Both are of one size: a peak beside the rate of one size says nothing of a layer."""
    size = bytes_in_words(chosen[0].points[0].message_bytes)
    shown = ", ".join(f"{layer.name} {format_rate(layer.value)}" for layer in chosen)
    steps = [
        f"{upper.name}: {change_in_words(1.0 - drop_ratio(lower.value, upper.value), RATE_UNIT)} "
        f"than {lower.name}"
        for lower, upper in _steps(chosen)
    ]
    return Finding(
        "note",
        f"One stream of {size}: {shown}.",
        "; ".join(steps) + ".",
        points=tuple(p.id for layer in chosen for p in layer.points),
        sides=tuple(tuple(p.id for p in layer.points) for layer in chosen),
        factor=TRANSPORT.name,
    )


def _at_common(
    same: Sequence[Point], figures: Mapping[str, Figure], choose: Callable[[set[int]], int]
) -> list[list[Layer]]:
    """The layers of one condition at one of the sizes that all have, the thinnest first; where
    hosts of the ends are known they are apart in all of them, or in none."""
    found = []
    for group in _by_whether_apart(same):
        sizes: dict[str, set[int]] = {}
        for point in group:
            sizes.setdefault(point.transport, set()).add(point.message_bytes)
        common = set.intersection(*sizes.values())
        if not common:
            continue
        chosen = [p for p in group if p.message_bytes == choose(common)]
        found.append(_layers(_of_common_launches(chosen), figures))
    return [each for each in found if each]


def _by_whether_apart(points: Sequence[Point]) -> list[list[Point]]:
    """Two ranks of MPI may share a host where sockets do not. A point whose ends are not known goes
    with all that are."""
    known = {point.id: _is_apart(point) for point in points}
    kinds = list[bool | None](sorted({k for k in known.values() if k is not None}, reverse=True))
    kinds = kinds or [None]
    return [[p for p in points if known[p.id] in (kind, None)] for kind in kinds]


def _is_apart(point: Point) -> bool | None:
    ends = point.batches[0].ends if point.batches else {}
    return ends[0].host != ends[1].host if {0, 1} <= ends.keys() else None


def _of_common_launches(points: Sequence[Point]) -> list[list[Point]]:
    """A group for each layer, with its launches; those that all have, where there are such."""
    groups = alike(points, LAUNCH)
    launches = [{p.spec.launch for p in group} for group in groups]
    common = set.intersection(*launches) if launches else set()
    if not common:
        return []
    return [[p for p in group if p.spec.launch in common] for group in groups]


def _layers(groups: Sequence[Sequence[Point]], medians: Mapping[str, Figure]) -> list[Layer]:
    ordered = sorted(groups, key=lambda group: _place(group[0]))
    names: dict[str, str] = {}
    for transport in {group[0].transport for group in ordered}:
        several = [group[0] for group in ordered if group[0].transport == transport]
        names |= told_apart(several, LAUNCH) if len(several) > 1 else {}
    return [
        Layer(
            tuple(group),
            f"{transport_row(group[0].transport).title} {_in_brackets(names, group[0])}".rstrip(),
            spread([medians[p.id].value for p in group]).median,
        )
        for group in ordered
    ]


def _place(point: Point) -> tuple[int, str]:
    return point.carrier.layer or len(TRANSPORTS), condition(point)


def _in_brackets(names: Mapping[str, str], point: Point) -> str:
    """What carries it, and what tells it from others of its transport."""
    words = filter(None, (network_in_words(point), names.get(point.id, "")))
    said = "; ".join(words)
    return f"({said})" if said else ""


def _finding(every: Sequence[Layer], under: str) -> Finding:
    chosen, apart = _without_unlike(every)
    size = bytes_in_words(chosen[0].points[0].message_bytes)
    shown = ", ".join(f"{layer.name} {format_time(layer.value)}" for layer in chosen)
    launches = len(chosen[0].points)
    over = f", median of {launches} launches" if launches > 1 else ", median"
    evidence = "; ".join(_step(lower, upper) for lower, upper in _steps(chosen))
    if chosen[0].carrier.is_echoed and len(chosen) > 1:
        evidence += ". The target's kernel answers ICMP itself and wakes no process"
    sockets = [layer for layer in chosen if layer.carrier.has_sockets]
    if sockets and chosen[-1].carrier.has_ranks and chosen[-1].value < sockets[0].value:
        evidence += (
            ". MPI polls for messages; the sockets sleep until the kernel wakes them, "
            "and that wake-up is most of their time"
        )
    evidence = ". ".join([evidence or "One transport was measured", *apart])
    several = len(chosen) > 1
    return Finding(
        "note",
        f"Round trip of {size}{over}{f' ({under})' if under else ''}: {shown}.",
        evidence + ".",
        points=tuple(p.id for layer in chosen for p in layer.points),
        sides=tuple(tuple(p.id for p in layer.points) for layer in chosen) if several else (),
        factor=TRANSPORT.name if several else "",
    )


def _without_unlike(every: Sequence[Layer]) -> tuple[Sequence[Layer], list[str]]:
    """The layers that go through the kernel's network stack where any does, and of those left out a
    sentence each: memory of a node is no layer above a socket."""
    unlike = [layer for layer in every if _is_past_the_stack(layer)]
    like = [layer for layer in every if layer not in unlike]
    if not like:
        return every, []
    return like, [
        f"{layer.name}, {format_time(layer.value)}, went over "
        f"{carried_in_words(carried_by(layer.points))}, which is not beside them"
        for layer in unlike
    ]


def _is_past_the_stack(layer: Layer) -> bool:
    return any(not row.is_network_stack for row in carried_by(layer.points))


def _steps(chosen: Sequence[Layer]) -> list[tuple[Layer, Layer]]:
    """Each layer with the next thinner transport: several MPIs each with the same one, and so those
    that stand on the same one side by side."""
    first: dict[str, Layer] = {}
    for layer in chosen:
        first.setdefault(layer.transport, layer)
    steps = []
    for layer in chosen:
        thinner = [one for one in first.values() if _can_stand_on(layer.carrier, one.carrier)]
        if thinner:
            steps.append((thinner[-1], layer))
    return steps


def _can_stand_on(above: Transport, beneath: Transport) -> bool:
    is_thinner = beneath.layer < above.layer
    return is_thinner and (not above.over or beneath.name in above.over)


def _step(lower: Layer, upper: Layer) -> str:
    more = upper.value >= lower.value
    return (
        f"{upper.name} {'adds' if more else 'takes'} "
        f"{format_time(abs(upper.value - lower.value))} "
        f"{'to' if more else 'less than'} {lower.name} "
        f"({change_in_words(upper.value / lower.value, TIME_UNIT)})"
    )
