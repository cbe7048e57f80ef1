"""Rules about what both ends of TCP agreed on, about segments that overtook each other, and about a
congestion control that makes much of losses that no full queue brought about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from netsonde.explain.bottleneck_rules import CEILING, QUEUE_LEAST_NS, held_at_an_end
from netsonde.explain.commands import advise, again
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    allowed_bit_per_s,
    fills_the_link,
    growth,
    host_of,
    ids_of,
    point_in_words,
    tcp_streams,
)
from netsonde.explain.loss_rules import (
    NEAR_BOUND,
    SEGMENTS_LEAST,
    TCP_LOSS_NOTABLE,
    locate_segments,
    segment_counts,
)
from netsonde.model.limits import loss_limited_bit_per_s
from netsonde.records.data import Point, Run
from netsonde.records.negotiated import OPTION_SETTINGS, agreed
from netsonde.units import format_rate, format_time

OVERTOOK_NOTABLE = 0.005
"""Of what came: a share of it that came out of order and was not lost."""


def refusing_hosts(run: Run, point: Point, option: str) -> list[str]:
    """Hosts whose settings keep an option of TCP from being agreed on."""
    setting = f"sysctl.net.ipv4.{OPTION_SETTINGS[option]}"
    hosts = (host_of(point, rank) for rank in (0, 1))
    return [host for host in hosts if run.host_facts(host).get(setting) == 0]


def no_selective_acknowledgements(seen: Seen) -> Iterator[Finding]:
    """Streams that lost segments while their ends had not agreed on SACK: TCP then finds one loss
    in each round trip (RFC 2018, RFC 6582)."""
    found = []
    for point in tcp_streams(seen.run):
        again = seen.value("retransmitted_segments", point.id)
        sent = growth(point, 0, "connection.test.data_segs_out")
        without = not agreed(point, "selective", seen.run.facts_of_hosts(point))
        if without and again >= max(SEGMENTS_LEAST, TCP_LOSS_NOTABLE * sent):
            found.append((again / max(1, sent), point))
    if not found:
        return
    share, point = max(found, key=lambda item: item[0])
    hosts = refusing_hosts(seen.run, point, "selective")
    who = " and ".join(hosts) or "one of the hosts"
    rate, allowed = seen.value("throughput_bit_per_s", point.id), allowed_bit_per_s(seen, point)
    of = f" of {format_rate(allowed)} that the link allows" if allowed else ""
    yield Finding(
        "warning",
        f"Selective acknowledgements (SACK) are off, by {who}, and segments are lost: TCP "
        "recovers from one loss a round trip, or waits for its timer.",
        f"{point_in_words(point)}: {share:.2%} of its segments were retransmitted, "
        f"{growth(point, 0, 'netstat.TcpExt.TCPTimeouts')} timeouts; it reached "
        f"{format_rate(rate)}{of}.",
        f"At {who}: sysctl -w net.ipv4.tcp_sack=1; and see below where segments are lost.",
        ids_of(p for _, p in found),
        place=who if hosts else "",
    )


def overtaken(seen: Seen) -> Iterator[Finding]:
    """Segments and datagrams that overtook each other on the way, without being lost."""
    found = [item for point in seen.run.points if (item := _overtaken(seen, point))]
    if not found:
        return
    share, point, words = max(found, key=lambda item: item[0])
    is_stream = point.carrier.has_connection
    slower = is_stream and not fills_the_link(seen, point)
    yield Finding(
        "warning",
        f"{'Segments' if is_stream else 'Datagrams'} overtake each other on the "
        f"way: {share:.1%} came out of order at {point_in_words(point)}"
        + (", which TCP may take for loss." if slower else "."),
        words,
        "Look for a path over several links that is chosen packet by packet (bonding in round "
        "robin, ECMP without a hash of flows), or queues of a card that share a flow.",
        ids_of(p for _, p, _ in found),
        place="network",
        confidence="likely",
    )


def _overtaken(seen: Seen, point: Point) -> tuple[float, Point, str] | None:
    if not point.kind.is_one_way_stream or point.flows > 1:
        return None
    if point.carrier.counts_datagrams:
        came = point.counter("messages_received", 1)
        late = point.counter("reordered", 1)
        words = f"{late} of {came} datagrams came after one that was sent later."
    elif point.carrier.has_connection:
        came = growth(point, 1, "connection.test.data_segs_in")
        late = growth(point, 1, "netstat.TcpExt.TCPOFOQueue")
        counts = segment_counts(seen.run, point)
        if counts is None or not counts.is_complete:
            return None  # what is missing makes the rest come out of order as well
        words = (
            f"{late} of {came} segments came before one that had been sent earlier, and the "
            f"sender saw that {growth(point, 0, 'connection.test.reord_seen')} times; none was "
            f"lost, and {seen.value('retransmitted_segments', point.id):.0f} were retransmitted."
        )
    else:
        return None
    return (late / came, point, words) if came and late >= OVERTOOK_NOTABLE * came else None


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
