"""Rules about places on the way that carry less than the link, or than was to be sent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from netsonde.explain.cpu_rules import SATURATED, uses_of
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    allowed_bit_per_s,
    between_snapshots_ns,
    busiest_cpu,
    foreign_frames,
    growth,
    host_of,
    point_in_words,
    tcp_streams,
)
from netsonde.explain.loss_rules import SEGMENTS_LEAST, TCP_LOSS_NOTABLE, locate_segments
from netsonde.explain.own_queue import OwnQueue, own_queue
from netsonde.explain.packet_rules import LIMITED, limited_by_window, window_bound
from netsonde.figures.one_way import one_way_delays
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_rate, format_time

CEILING = 0.8
"""Of what the link allows: a stream that stays below this has another ceiling."""
STEADY = 0.1
"""Batches under one ceiling differ by less than this share of their median."""
WANTED = 0.4
"""Of a busy CPU: an end that used less of it did not want more, since an equal process beside
it would have left it a half."""
BATCHES_LEAST = 4
QUEUE_LEAST_NS = 2_000_000
"""What TCP leaves of its own in the sending host's queue lasts about a millisecond; what waits for
longer than this waits behind it."""
QUEUE_SEGMENTS = 3
"""Fewer that wait on average are no queue."""
USUAL_SEGMENT_BYTES = 1448
VARIES = 0.1
"""Of the median round trip between batches, when nothing is under way: by how much eight in ten of
them differ at most where only a queue delays. Under load a queue rises and falls as well."""
IDLE_LEAST_NS = 500_000
"""What processes and interrupts of the hosts may account for."""
WAITED = 0.05
"""Of the time, for a CPU: ends that waited longer vary by themselves, whatever the way does."""
LATE = 0.2
"""Of the variation: an emulated switch whose frames are later than this may be it."""


def bottleneck(seen: Seen) -> Iterator[Finding]:
    """Streams that stand at one rate well below the link's, with nothing at the ends to hold them:
    something on the way carries no more."""
    found = []
    for point in tcp_streams(seen.run):
        allowed = allowed_bit_per_s(seen, point)
        rates = np.array([stream_rates_bit_per_s(batch)[1] for batch in point.batches])
        if point.flows > 1 or not allowed or len(rates) < BATCHES_LEAST:
            continue
        rates = rates[1:]  # the first holds slow start
        rate = float(np.median(rates))
        if rate < CEILING * allowed and _is_set_at_home(seen, point, rate):
            found.append((rate / allowed, point, rate))
            continue
        is_steady = float(np.ptp(np.quantile(rates, (0.1, 0.9)))) <= STEADY * rate
        bound = window_bound(seen, point)  # a buffer that explains the rate is no bottleneck
        explained = bound is not None and bound.explains(rate)
        explained = explained or limited_by_window(seen, point)
        below = rate < CEILING * allowed and is_steady and not explained
        lossy = _lost_at_home(seen, point, rate) or _lost_without_queue(seen, point, rate)
        held = held_at_an_end(seen, point) or _shared(seen, point, rate)
        if below and not held and not lossy:
            found.append((rate / allowed, point, rate))
    if not found:
        return
    _, point, rate = min(found, key=lambda item: item[0])
    link, own = link_rate_bit_per_s(seen.run, point) or 0.0, own_queue(seen.run, point, 0)
    varies = _varies(seen, point)
    if own and own.shapes(link, _on_the_wire(seen, point, rate)):
        yield own_shaper(point, own, rate, f"the link has {format_rate(link)}")
    elif varies:
        yield _varying(seen, point, rate, varies)
    else:
        yield _narrow(seen, point, rate)


def _on_the_wire(seen: Seen, point: Point, rate: float) -> float:
    """A rate of payload with its headers; as it is where these are not known."""
    of_all = seen.value("throughput_bit_per_s", point.id) or 1.0
    return rate * (seen.value("wire_bit_per_s", point.id) / of_all or 1.0)


def _is_set_at_home(seen: Seen, point: Point, rate: float) -> bool:
    """Whether the sender's own shaper is set to just what the stream has: then nothing else is
    asked, for a taken CPU would hold it elsewhere."""
    link, own = link_rate_bit_per_s(seen.run, point) or 0.0, own_queue(seen.run, point, 0)
    return own is not None and own.is_reached(link, _on_the_wire(seen, point, rate))


def _shared(seen: Seen, point: Point, rate: float) -> bool:
    """Whether others' frames have the rest of the link at the receiver, as
    :func:`~netsonde.explain.path_rules.others_traffic` says."""
    foreign = foreign_frames(seen, point, 1)
    if foreign is None:
        return False
    per_s, mean_bytes, _ = foreign
    others = 8 * per_s * mean_bytes
    link = link_rate_bit_per_s(seen.run, point) or 0.0
    return others + _on_the_wire(seen, point, rate) >= CEILING * link


def _lost_at_home(seen: Seen, point: Point, rate: float) -> bool:
    """Whether the sender's own queue drops segments without shaping: what it loses slows the
    stream, and :func:`lost_segments` says so."""
    link, own = link_rate_bit_per_s(seen.run, point) or 0.0, own_queue(seen.run, point, 0)
    if own is None or not own.dropped or own.shapes(link, rate):
        return False
    located = locate_segments(seen.run, point)
    return located is not None and located.layer == "sender kernel"


def _lost_without_queue(seen: Seen, point: Point, rate: float) -> bool:
    """Whether a notable share was lost while hardly a packet waited: losses slow the stream, and
    :func:`lost_segments` says so. Delayed acknowledgements lengthen round trips, too."""
    again_sent = seen.value("retransmitted_segments", point.id)
    segments = growth(point, 0, "connection.test.data_segs_out")
    if again_sent < max(SEGMENTS_LEAST, TCP_LOSS_NOTABLE * segments):
        return False
    segment = int(point.opened.get(0, {}).get("max_segment_bytes", USUAL_SEGMENT_BYTES))
    return rate * _queue_ns(seen, point) / 8e9 < QUEUE_SEGMENTS * segment


def _queue_ns(seen: Seen, point: Point) -> float:
    """How much longer than the least a round trip under load usually takes; 0 if not known."""
    least = seen.value("path_round_trip_min_ns", point.id)
    usual = point.series("tcp_info_round_trip_ns")
    return float(np.median(usual)) - least if len(usual) and least else 0.0


def _varies(seen: Seen, point: Point) -> str:
    """What shows that the delay of the way varies, in words; empty where nothing does."""
    idle = [b.ends[0].counters.get("sync_round_trip_ns", 0) for b in point.batches if 0 in b.ends]
    low, median, high = np.quantile(idle, (0.1, 0.5, 0.9))
    varies = high - low >= max(IDLE_LEAST_NS, VARIES * median)
    if not varies or _queue_ns(seen, point) < QUEUE_LEAST_NS or _is_disturbed(point, high - low):
        return ""
    return (
        "between its batches, with nothing under way, the fastest of eight round trips took "
        f"{format_time(low)} to {format_time(high)}"
    )


def _is_disturbed(point: Point, variation_ns: float) -> bool:
    """Whether ends that waited for a CPU, or an emulated switch that was late, may be what
    varies."""
    late_ns = float((point.checks.get("lab") or {}).get("late_p99_ns") or 0)
    waits = (
        growth(point, rank, "process.run_wait_ns") / max(between_snapshots_ns(point, rank), 1)
        for rank in (0, 1)
    )
    return late_ns > LATE * variation_ns or max(waits) > WAITED


def held_at_an_end(seen: Seen, point: Point) -> bool:
    names = ("receive_window_limited_ratio", "send_buffer_limited_ratio")
    waited = sum(seen.value(name, point.id) for name in names)
    paced = point.spec.chosen.pacing
    return bool(waited >= LIMITED or paced or held_by_a_processor(seen, point))


def held_by_a_processor(seen: Seen, point: Point) -> bool:
    """Whether an end used much of a CPU that had nothing left."""
    uses = uses_of(seen.run, point)
    if uses:
        return any(u.busy >= SATURATED and u.own + u.interrupts >= WANTED for u in uses)
    # An end changed its CPU: any that was busy may have been its.
    return any(
        busiest_cpu(point, rank)[1] >= SATURATED and _own_share(point, rank) >= WANTED
        for rank in (0, 1)
    )


def _own_share(point: Point, rank: int) -> float:
    """Of one CPU, what the worker of an end used."""
    elapsed_ns = between_snapshots_ns(point, rank)
    used_ns = sum(growth(point, rank, f"process.{kind}_ns") for kind in ("user", "system"))
    return used_ns / elapsed_ns if elapsed_ns > 0 else 1.0


def _narrow(seen: Seen, point: Point, rate: float) -> Finding:
    least = seen.value("path_round_trip_min_ns", point.id)
    queue_ns = _queue_ns(seen, point)
    again_sent = seen.value("retransmitted_segments", point.id)
    beyond = queue_ns >= QUEUE_LEAST_NS or again_sent > 0
    link = link_rate_bit_per_s(seen.run, point) or 0.0
    wire = _on_the_wire(seen, point, rate)
    full = f", {format_rate(wire)} on the line" if wire > rate else ""
    where = (
        f"Under load a round trip takes {format_time(queue_ns + least)} instead of "
        f"{format_time(least)}, so about {bytes_in_words(round(rate * queue_ns / 8e9))} wait "
        "before the bottleneck."
        if queue_ns >= QUEUE_LEAST_NS
        else f"{again_sent:.0f} segments were lost and retransmitted."
        if beyond
        else "No queue and no loss was seen on the way: the bottleneck may be the sender's own "
        "queue."
    )
    device = point.opened.get(0, {}).get("interface", "DEVICE")
    return Finding(
        "warning",
        f"Something {'in the network' if beyond else 'on the way'} carries {format_rate(rate)} of "
        f"payload and no more, on a link of {format_rate(link)}.",
        f"{point_in_words(point)} stands at {format_rate(rate)}{full}, steady from batch to batch; "
        f"neither end's CPU nor a window holds it. {where}",
        f"Look for a shaper or a slower link: ethtool {device} and tc -s qdisc show dev {device} "
        "at both ends, then the switch ports between.",
        (point.id,),
        place="network" if beyond else "sender kernel or network",
        confidence="likely" if beyond else "possible",
    )


def own_shaper(point: Point, own: OwnQueue, rate: float, more: str) -> Finding:
    """The bottleneck is before the sender's own card; ``more`` says what it could have been."""
    limit = f"is set to {format_rate(own.rate_bit_per_s)}" if own.rate_bit_per_s else "shapes"
    why = (
        ", with headers what that queue is set to"
        if own.rate_bit_per_s
        else ", steady from batch to batch, and neither end's CPU nor a window holds it"
    )
    return Finding(
        "warning",
        f"The sender's own queue lets {format_rate(rate)} of payload pass and no more, and {more}: "
        f"{own.in_words} {limit}.",
        f"{point_in_words(point)} stands at {format_rate(rate)}{why}; that queue held packets back "
        f"{own.overlimits} times, sent {own.sent} and dropped {own.dropped}.",
        f"See tc -s qdisc show dev {own.device} at {own.host}; where nobody wants it: tc qdisc del "
        f"dev {own.device} root",
        (point.id,),
        kind="bottleneck",
        place="sender kernel",
        confidence="certain" if own.rate_bit_per_s else "likely",
    )


def _varying(seen: Seen, point: Point, rate: float, varies: str) -> Finding:
    """A queue, but none that is steady: two causes that counters do not tell apart."""
    link = link_rate_bit_per_s(seen.run, point) or 0.0
    return Finding(
        "warning",
        f"The delay of the way varies under a stream that stands at {format_rate(rate)}, on a link "
        f"of {format_rate(link)}: TCP takes the delays for a queue, or something in the network "
        "carries no more.",
        f"{point_in_words(point)}: {varies}. Neither end's CPU nor a window holds the stream.",
        "Look at round trips without a stream (netsonde tcp HOST latency): where they vary as "
        "well it is the delay, else a bottleneck with others' traffic before it.",
        (point.id,),
        kind="varying-way",
        place="network",
        confidence="possible",
    )


REACHED = 0.9
"""Of the rate that was asked for, or of what the link allows where that is less."""
LOST = 0.01
STANDING = 0.1
"""Of the datagrams: a queue through which even these quickest wait is a standing one. What waits
for a CPU at times leaves others quick."""


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
            "See who used the sender's CPU, and its queue (tc -s qdisc); or ask for a "
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
        "queue, and neither end's CPU holds them.",
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
