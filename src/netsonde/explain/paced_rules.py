"""Streams that were to go at a rate and went slower."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netsonde.explain.bottleneck_rules import (
    QUEUE_LEAST_NS,
    STEADY,
    held_by_a_processor,
    own_shaper,
)
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import allowed_bit_per_s, host_of, point_in_words
from netsonde.explain.own_queue import own_queue
from netsonde.figures.one_way import one_way_delays
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.records.data import Point
from netsonde.units import format_rate, format_time

REACHED = 0.9
"""Of the rate that was asked for, or of what the link allows where that is less."""
BATCHES_LEAST = 4
LOST = 0.01
STANDING = 0.1
"""Of the datagrams: a queue through which even these quickest wait is a standing one. What waits
for a processor at times leaves others quick."""


def slower_than_asked(seen: Seen) -> Iterator[Finding]:
    """Datagrams with a rate of their own that a place on the way lets through at a lower one: they
    pile up before it, or the sender's socket waits for its buffer, and nothing need be lost."""
    found = []
    for point in seen.run.where(lambda p: p.carrier.counts_datagrams and p.kind.is_one_way_stream):
        asked = point.spec.rate_bit_per_s
        if not asked or point.flows > 1 or len(point.batches) < BATCHES_LEAST:
            continue
        goal = min(asked, allowed_bit_per_s(seen, point) or asked)
        rate = min(_rates(seen, point))
        if 0 < rate < REACHED * goal:
            found.append((rate / goal, point, goal))
    if found:
        _, point, goal = min(found, key=lambda item: item[0])
        yield from _slower(seen, point, goal)


def _rates(seen: Seen, point: Point) -> tuple[float, float]:
    """By the origin and by the target; of a lossy point the first twice, for what is lost is
    another rule's."""
    sent = seen.value("throughput_origin_bit_per_s", point.id)
    is_lossy = point.counter("lost", 1) > LOST * point.counter("messages_sent")
    return sent, sent if is_lossy else seen.value("throughput_bit_per_s", point.id)


def _slower(seen: Seen, point: Point, goal: float) -> Iterator[Finding]:
    sent, received = _rates(seen, point)
    rate = min(sent, received)
    asked = format_rate(point.spec.rate_bit_per_s or 0)
    queue_ns = _standing_queue_ns(point)
    own = own_queue(seen.run, point, 0)
    link = link_rate_bit_per_s(seen.run, point) or float("inf")
    if own and own.is_reached(link, rate):
        yield own_shaper(point, own, rate, f"{asked} were to be sent")
        return
    is_narrow = (
        queue_ns >= QUEUE_LEAST_NS and _is_steady(point) and not held_by_a_processor(seen, point)
    )
    if not is_narrow and sent >= REACHED * goal:
        return  # late at the other end, and nothing says why
    if not is_narrow:
        yield Finding(
            "warning",
            f"Datagrams that were to be sent at {asked} left at {format_rate(sent)}.",
            f"{point_in_words(point)}, by the clock of {host_of(point, 0)}.",
            "See who used the sender's processor, and its queue (tc -s qdisc); or ask for a "
            "lower --rate.",
            (point.id,),
        )
        return
    if own and own.shapes(link, rate):
        yield own_shaper(point, own, rate, f"{asked} were to be sent")
        return
    device = point.opened.get(0, {}).get("interface", "DEVICE")
    yield Finding(
        "warning",
        f"Something on the way carries {format_rate(rate)} of payload and no more, and {asked} "
        "were to be sent.",
        f"{point_in_words(point)} was sent at {format_rate(sent)} and arrived at "
        f"{format_rate(received)}, steady from batch to batch; even the quickest tenth of the "
        f"datagrams took {format_time(queue_ns)} longer than the quickest, so they wait in a "
        "queue, and neither end's processor holds them.",
        f"Look for a shaper or a slower link: tc -s qdisc show dev {device} at "
        f"{host_of(point, 0)}, then the switch ports between.",
        (point.id,),
        kind="bottleneck",
        place="sender kernel or network",
        confidence="likely",
    )


def _is_steady(point: Point) -> bool:
    rates = np.array([min(stream_rates_bit_per_s(batch)) for batch in point.batches[1:]])
    return float(np.ptp(np.quantile(rates, (0.1, 0.9)))) <= STEADY * float(np.median(rates))


def _standing_queue_ns(point: Point) -> float:
    """How much longer than the quickest of all the quicker ones of the second half took; 0 where
    nothing tells."""
    times = one_way_delays(point.batches)
    if times is None or len(times.delay_ns) < 1 / STANDING:
        return 0.0
    delays = times.delay_ns
    return float(np.quantile(delays[len(delays) // 2 :], STANDING) - delays.min())
