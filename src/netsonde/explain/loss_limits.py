"""Streams whose congestion control makes much of losses that no full queue brought about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from netsonde.explain.bottleneck_rules import CEILING, QUEUE_LEAST_NS, held_at_an_end
from netsonde.explain.commands import advise, again
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    allowed_bit_per_s,
    growth,
    host_of,
    point_in_words,
    tcp_streams,
)
from netsonde.explain.loss_rules import NEAR_BOUND, SEGMENTS_LEAST, locate_segments
from netsonde.model.limits import loss_limited_bit_per_s
from netsonde.records.data import Point
from netsonde.units import format_rate, format_time


@dataclass(frozen=True)
class Control:
    """A congestion control that takes each loss for congestion: the rate it keeps of segment
    bytes, round trip (ns) and share lost, and the option to compare with."""

    bound: Callable[[int, float, float], float]
    other: str


BY_LOSS: Mapping[str, Control] = {"reno": Control(loss_limited_bit_per_s, "bbr")}
"""CUBIC is not here: on a long way it has outgrown this bound, and on a short one it is what
systems take anyway, so that the losses are the finding."""


def control_and_losses(seen: Seen) -> list[Finding]:
    """A control that halves its window at each loss, over a way that loses without a full queue,
    and a rate which is about what that leaves."""
    found = [f for p in tcp_streams(seen.run) if (f := _of_point(seen, p))]
    return found[:1]


def _of_point(seen: Seen, point: Point) -> Finding | None:
    name = str(point.opened.get(0, {}).get("congestion_control"))
    control = BY_LOSS.get(name)
    again_sent = seen.value("retransmitted_segments", point.id)
    segments = growth(point, 0, "connection.test.data_segs_out")
    segment = point.opened.get(0, {}).get("max_segment_bytes")
    if control is None or point.flows > 1 or again_sent < SEGMENTS_LEAST or not segments:
        return None
    least_ns = seen.value("path_round_trip_min_ns", point.id)
    under_load = point.series("tcp_info_round_trip_ns")
    if not least_ns or not segment or not len(under_load):
        return None
    round_trip_ns, lost = float(np.median(under_load)), again_sent / segments
    if round_trip_ns - least_ns >= QUEUE_LEAST_NS:
        return None  # a queue was full: losses follow the rate, not the rate the losses
    rate, allowed = (
        seen.value("throughput_bit_per_s", point.id),
        allowed_bit_per_s(seen, point),
    )
    bound = control.bound(int(segment), round_trip_ns, lost)
    is_near = NEAR_BOUND[0] * bound <= rate <= NEAR_BOUND[1] * bound
    if not is_near or (allowed and rate >= CEILING * allowed) or held_at_an_end(seen, point):
        return None
    located = locate_segments(seen.run, point)
    if located is not None and located.layer != "network":
        return None
    return Finding(
        "warning",
        f"TCP's congestion control takes each loss for a full network: {name} carries "
        f"{format_rate(rate)} where {lost:.2%} is lost on the way.",
        f"{point_in_words(point)}: {again_sent:.0f} of {segments} segments were retransmitted over "
        f"a round trip of {format_time(round_trip_ns)}, {format_time(least_ns)} at least, so that "
        f"no queue was full; there {name} keeps about {format_rate(bound)} (Mathis).",
        advise(
            "Look for what loses segments; and see what a control that goes by more than losses "
            f"makes of the same way, {control.other} say",
            again(seen.run, {"--congestion": control.other}),
        ),
        (point.id,),
        kind="congestion-control",
        place=f"sender kernel of {host_of(point, 0)}",
        confidence="likely",
    )
