"""Rules about the way between two ends: what it carries, in which direction, in which packets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from netsonde.explain.bottleneck_rules import BATCHES_LEAST
from netsonde.explain.commands import advise, again
from netsonde.explain.cpu_rules import uses_of
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    allowed_bit_per_s,
    fills_the_link,
    foreign_frames,
    growth,
    host_of,
    ids_of,
    point_in_words,
    tcp_streams,
)
from netsonde.figures.alike import CONGESTION_CONTROL, LAUNCH, alike
from netsonde.figures.data import Figure
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.records.data import Point
from netsonde.units import format_rate

HEADERS_NOTABLE = 0.2
"""Of a full line: what headers must take to be called its limit."""
UNEVEN = 1.25
"""How many times as fast one direction must be."""
BETTER = 1.15
"""How many times as fast one congestion control must be."""
ONE_ACK_EACH = 1.2
THINNED_ACKS = 16.0
"""Data segments for an acknowledgement: one for each, and far fewer than one for two."""
SLOW_START = 0.8
"""Of the later batches' median: below it the first was still warming up."""
MODERATED = 8.0
"""Frames for an interrupt from which on the card gathers them."""
OFFLOADS = ("tso", "gso", "gro")
OFFLOADS_BUSY = 0.5
"""Of a CPU: what packets must cost before it matters who cuts them."""


def smaller_mtu(seen: Seen) -> Iterator[Finding]:
    """Ends whose interfaces have different MTUs: packets have the smaller one's size."""
    for point in seen.run.select():
        if not point.carrier.has_sockets or not point.batches:
            continue
        sizes = {rank: _mtu(seen, point, rank) for rank in (0, 1)}
        if None in sizes.values() or sizes[0] == sizes[1]:
            continue
        small, large = sorted((0, 1), key=lambda rank: sizes[rank] or 0)
        yield _mtus(point, sizes, small, large)
        return
    return


def _mtu(seen: Seen, point: Point, rank: int) -> int | None:
    device = point.opened.get(rank, {}).get("interface")
    found = seen.run.host_facts(host_of(point, rank)).get(f"interface.{device}.mtu")
    return found if isinstance(found, int) and device != "lo" else None


def _mtus(point: Point, sizes: Mapping[int, int | None], small: int, large: int) -> Finding:
    host, device = host_of(point, small), point.opened.get(small, {}).get("interface", "DEVICE")
    segment = point.opened.get(0, {}).get("max_segment_bytes")
    segments = growth(point, 0, "connection.test.data_segs_out")
    sent = growth(point, 0, "connection.test.bytes_sent")
    mean = f", {sent / segments:.0f} on average" if segments else ""
    words = f" TCP's segments carry {segment} bytes at most{mean}." if segment else ""
    return Finding(
        "warning",
        f"The two ends have different MTUs: {sizes[small]} bytes at {host}, {sizes[large]} at "
        f"{host_of(point, large)}. Packets to and from {host} are the smaller ones; larger "
        "datagrams may vanish.",
        f"{point_in_words(point)}: interface {device} of {host} has an MTU of {sizes[small]}."
        f"{words}",
        f"Set both alike, at {host}: ip link set dev {device} mtu {sizes[large]}",
        (point.id,),
        place=host,
    )


def full_of_headers(seen: Seen) -> Iterator[Finding]:
    """Streams of small messages that fill the line, mostly with headers."""
    found = []
    for point in seen.run.where(lambda p: p.kind.is_one_way_stream):
        link = link_rate_bit_per_s(seen.run, point)
        rate = seen.value("throughput_bit_per_s", point.id)
        if link and rate and fills_the_link(seen, point) and 1 - rate / link >= HEADERS_NOTABLE:
            found.append((1 - rate / link, point, rate, link))
    if not found:
        return
    share, point, rate, link = max(found, key=lambda item: item[0])
    frame = seen.value("sent_frame_mean_bytes", point.id)
    mean = f" The mean frame is {frame:.0f} bytes." if frame else ""
    yield Finding(
        "warning",
        f"The line is full, and headers take {share:.0%} of it: {point_in_words(point)} "
        f"carries {format_rate(rate)} of payload on {format_rate(link)}.",
        f"Allowed after headers are {format_rate(allowed_bit_per_s(seen, point))}.{mean}",
        advise("Put more into a message", again(seen.run, {"--sizes": "1472"})),
        ids_of(p for _, p, _, _ in found),
        place="line",
    )


def uneven_directions(seen: Seen) -> Iterator[Finding]:
    """Two directions of one path of which one carries far less."""
    found = []
    for point in seen.run.where(lambda p: p.kind.both_ways):
        there = seen.figure("throughput_bit_per_s", point.id)
        back = seen.figure("throughput_back_bit_per_s", point.id)
        if there and back and min(there.value, back.value) > 0:
            ratio = max(there.value, back.value) / min(there.value, back.value)
            if ratio >= UNEVEN and _apart(there, back):
                found.append((ratio, point, there.value, back.value))
    if not found:
        return
    ratio, point, there_value, back_value = max(found, key=lambda item: item[0])
    ends = (host_of(point, 0), host_of(point, 1))
    slow, fast = (ends, ends[::-1]) if there_value < back_value else (ends[::-1], ends)
    rates = sorted((there_value, back_value))
    yield Finding(
        "warning",
        f"The directions differ: from {slow[0]} to {slow[1]} {format_rate(rates[0])}, from "
        f"{fast[0]} to {fast[1]} {format_rate(rates[1])}.",
        f"{point_in_words(point)}: one direction is {ratio:.2f} times as fast as the other, "
        "both at once, with intervals apart.",
        f"Measure each direction alone, then look at the queue of {slow[0]}, the receiver at "
        f"{slow[1]} and the ports between in that direction (ethtool: speed, duplex, pause).",
        ids_of(p for _, p, _, _ in found),
        place=f"from {slow[0]} to {slow[1]}",
    )


def _apart(one: Figure, other: Figure) -> bool:
    """Whether intervals do not meet; without intervals the ratio alone decides."""
    if None in (one.low, one.high, other.low, other.high):
        return True
    low, high = sorted((one, other), key=lambda f: f.value)
    return bool((low.high or 0) < (high.low or 0))


def congestion_controls(seen: Seen) -> Iterator[Finding]:
    """Streams that differ in nothing but TCP's congestion control, and in throughput. Where they
    were repeated, the best of one and the worst of another would say nothing."""
    for same in alike(tcp_streams(seen.run), CONGESTION_CONTROL, LAUNCH):
        launches = [_of_controls(seen, points) for points in alike(same, CONGESTION_CONTROL)]
        decided = [launch for launch in launches if _is_decided(launch)]
        names = {(launch[0][0], launch[-1][0]) for launch in decided}
        if len(names) == 1 and len(decided) == len(launches):
            ratios = sorted(decided, key=lambda launch: launch[0][1].value / launch[-1][1].value)
            yield _controls(seen, ratios[len(ratios) // 2], decided)
            return
    return


Controlled = Sequence[tuple[str, Figure]]
"""Congestion controls with their throughput, the best first."""


def _of_controls(seen: Seen, points: Sequence[Point]) -> Controlled:
    found = [
        (str(control), figure)
        for point in points
        if (control := point.opened.get(0, {}).get("congestion_control"))
        and (figure := seen.figure("throughput_bit_per_s", point.id))
    ]
    return sorted(found, key=lambda item: -item[1].value)


def _is_decided(same: Controlled) -> bool:
    if len(same) < 2 or len({control for control, _ in same}) < len(same):
        return False
    (_, best), (_, worst) = same[0], same[-1]
    return best.value >= BETTER * worst.value and _apart(worst, best)


def _controls(seen: Seen, same: Controlled, launches: Sequence[Controlled]) -> Finding:
    best, worst = same[0], same[-1]
    points = {p.id: p for p in seen.run.points}
    words = []
    for control, figure in same:
        sent = growth(points[figure.point], 0, "connection.test.data_segs_out")
        share = seen.value("retransmitted_segments", figure.point) / sent if sent else 0.0
        words.append(
            f"{control} {format_rate(figure.value)}, {share:.2%} of its segments retransmitted"
        )
    return Finding(
        "warning",
        f"TCP's congestion control decides here: {best[0]} is {best[1].value / worst[1].value:.2f} "
        f"times as fast as {worst[0]} over the same path.",
        f"{'; '.join(words)}. The intervals are apart"
        f"{f' in each of {len(launches)} launches' if len(launches) > 1 else ''}.",
        advise(
            f"Where that is fair to others, take {best[0]} (sysctl -w "
            f"net.ipv4.tcp_congestion_control={best[0]})",
            again(seen.run, {"--congestion": best[0]}),
        ),
        tuple(figure.point for launch in launches for _, figure in launch),
        place="sender kernel",
        sides=tuple(
            tuple(f.point for launch in launches for name, f in launch if name == control)
            for control, _ in same
        ),
        factor=CONGESTION_CONTROL.name,
    )


def acknowledgements(seen: Seen) -> Iterator[Finding]:
    """One acknowledgement for each segment, or hardly any."""
    found = [f for f in seen.figures if f.name == "data_frames_per_ack"]
    odd = [f for f in found if f.value <= ONE_ACK_EACH or f.value >= THINNED_ACKS]
    if not odd:
        return
    figure = max(odd, key=lambda f: abs(f.value - 2))
    point = next(p for p in seen.run.points if p.id == figure.point)
    many = figure.value <= ONE_ACK_EACH
    yield Finding(
        "note",
        f"{'Every segment is acknowledged by itself' if many else 'Acknowledgements are rare'} "
        f"at {len(odd)} {'point' if len(odd) == 1 else 'points'}: {figure.value:.1f} data "
        "segments for each; two are usual.",
        f"{point_in_words(point)}: frames back "
        f"{seen.value('ack_frame_mean_bytes', point.id):.0f} bytes on average, all of TCP's "
        f"headers together {seen.value('tcp_overhead_ratio', point.id):.2%} of the payload.",
        "Each costs the receiver an interrupt's work: look at its offloads (ethtool -k)."
        if many
        else "The receiver joins segments (GRO, LRO), or was busy.",
        tuple(f.point for f in odd),
        place="receiver kernel",
    )


def gathered_interrupts(seen: Seen) -> Iterator[Finding]:
    """Cards that gather many frames for an interrupt."""
    found = [f for f in seen.figures if f.name.endswith("_frames_per_interrupt")]
    most = max(found, key=lambda f: f.value, default=None)
    if most is None or most.value < MODERATED:
        return
    point = next(p for p in seen.run.points if p.id == most.point)
    rank = 0 if most.name.startswith("origin") else 1
    device = point.opened.get(rank, {}).get("interface", "DEVICE")
    yield Finding(
        "note",
        f"The card of {host_of(point, rank)} gathers {most.value:.0f} frames for an interrupt: "
        "that saves CPU time and delays single messages.",
        f"{point_in_words(point)}: {most.value:.1f} frames for an interrupt of {device}.",
        f"For the shortest round trips compare with: ethtool -C {device} rx-usecs 0",
        (most.point,),
        place=f"card of {host_of(point, rank)}",
    )


def _lacks_offloads(facts: Mapping[str, object]) -> bool:
    return any(
        value is False and name.startswith("interface.") and name.endswith(OFFLOADS)
        for name, value in facts.items()
    )


def bundling_off(seen: Seen) -> Iterator[Finding]:
    """Cards that do not cut or join segments, where that keeps a CPU busy."""
    path = seen.run.manifest.get("path") or {}
    if path.get("segmentation_offload") is False:
        return  # a lab without them, on purpose
    hosts = seen.run.manifest.get("hosts") or {}
    if not any(_lacks_offloads(facts) for facts in hosts.values()):
        return  # spares the counters of every stream
    for point in tcp_streams(seen.run):
        for use in uses_of(seen.run, point):
            device = point.opened.get(use.rank, {}).get("interface")
            facts = seen.run.host_facts(use.host)
            off = [name for name in OFFLOADS if facts.get(f"interface.{device}.{name}") is False]
            if off and use.own + use.interrupts >= OFFLOADS_BUSY:
                yield Finding(
                    "warning",
                    f"Offloads are off at {use.host}: {', '.join(off)}. Its CPU handles "
                    "every packet by itself.",
                    f"{point_in_words(point)}: CPU {use.cpu} spent {use.own:.0%} of its "
                    f"time with the test and {use.interrupts:.0%} with interrupts.",
                    f"ethtool -K {device} {' '.join(f'{name} on' for name in off)}",
                    (point.id,),
                    place=use.host,
                    confidence="likely",
                )
                return
    return


def cut_datagrams(seen: Seen) -> Iterator[Finding]:
    """Datagrams that travel in fragments, none of which was lost."""
    whole = [
        f
        for f in seen.figures
        if f.name == "frames_per_datagram" and not seen.value("lost_ratio", f.point)
    ]
    if not whole:
        return
    most = max(whole, key=lambda f: f.value)
    point = next(p for p in seen.run.points if p.id == most.point)
    yield Finding(
        "note",
        f"Datagrams of {len(whole)} {'point travels' if len(whole) == 1 else 'points travel'} "
        "in fragments: one that is lost takes its datagram.",
        f"{point_in_words(point)}: {most.value:.0f} frames each, at an MTU of "
        f"{seen.run.mtu_bytes(point)}.",
        points=tuple(f.point for f in whole),
        place="network",
    )


def warming_up(seen: Seen) -> Iterator[Finding]:
    """Streams whose first batch was far slower than the others."""
    found = []
    for point in seen.run.where(lambda p: p.kind.is_one_way_stream):
        rates = [stream_rates_bit_per_s(batch)[1] for batch in point.batches]
        if len(rates) > BATCHES_LEAST and rates[0] < SLOW_START * float(np.median(rates[1:])):
            found.append((rates[0] / float(np.median(rates[1:])), point, rates))
    if not found:
        return
    share, point, rates = min(found, key=lambda item: item[0])
    yield Finding(
        "note",
        f"{len(found)} {'stream was' if len(found) == 1 else 'streams were'} still warming up "
        "in the first batch.",
        f"{point_in_words(point)}: {format_rate(rates[0])} first, {share:.0%} of the "
        f"{format_rate(float(np.median(rates[1:])))} of the others (median).",
        "The median of batches leaves it out; short transfers of yours will see it.",
        ids_of(p for _, p, _ in found),
        confidence="likely",
    )


SMALL_FRAME_BYTES = 200


def others_traffic(seen: Seen) -> Iterator[Finding]:
    """Frames at an end's interface that were not the test's."""
    found = []
    for point in seen.run.select():
        for rank in (0, 1):
            if (foreign := foreign_frames(seen, point, rank)) is not None:
                found.append((foreign[0], rank, point, foreign))
    if not found:
        return
    _, rank, point, (per_s, mean, share) = max(found, key=lambda item: item[0])
    host = host_of(point, rank)
    is_storm = mean <= SMALL_FRAME_BYTES
    softirqs = growth(point, rank, "softirq.NET_RX")
    size = f"{mean:.0f} bytes on average"
    yield Finding(
        "warning",
        f"{'A storm of small packets' if is_storm else 'Other traffic'} reached {host} beside "
        f"the test: {per_s:.0f} packets a second, {size}.",
        f"{point_in_words(point)}: {share:.0%} of the frames that its interface received were "
        f"not the test's; the machine handled {softirqs} receive interrupts (softirq NET_RX) "
        "meanwhile.",
        f"See who sends: tcpdump -ni {point.opened.get(rank, {}).get('interface', 'DEVICE')} "
        f"at {host}; measure again without it.",
        (point.id,),
        kind="packet-storm" if is_storm else "other-traffic",
        place=host,
    )
