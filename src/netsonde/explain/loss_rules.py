"""Rules about loss: where on the way datagrams and segments were lost, and by what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.transport import transport_row
from netsonde.explain.commands import advise, again, typed
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    allowed_bit_per_s,
    find_point,
    growth,
    host_of,
    ids_of,
    point_in_words,
    tcp_streams,
)
from netsonde.explain.packet_rules import frames_lost, place_of_loss, verdict_of_loss
from netsonde.figures.data import Figure
from netsonde.figures.packets import CONTROL_SLACK_FRAMES, SENDER_DROPS, packets_of
from netsonde.model.limits import loss_limited_bit_per_s
from netsonde.records.data import Point, Run
from netsonde.units import format_count, format_rate, format_size

LAYERS = (
    "sender application",
    "sender kernel",
    "sender card",
    "network",
    "receiver card",
    "receiver kernel",
    "receiver application",
)
"""Where a packet may be lost, in the order of its way."""
MOST = 0.5
"""A counter that explains so much of what was lost at a host names the layer there."""
TCP_LOSS_NOTABLE = 0.001
"""Of a stream's segments: congestion controls that go by loss are slowed by less already."""
SEGMENTS_LEAST = 10
AT_THE_SOCKET = LAYERS[-1]
OVERFLOWS = ("snmp.Udp.RcvbufErrors", "snmp6.Udp6RcvbufErrors")
REFUSED = ("snmp.Udp.SndbufErrors", "snmp6.Udp6SndbufErrors")
FAILED_REASSEMBLIES = ("snmp.Ip.ReasmFails", "snmp6.Ip6ReasmFails")
TOGETHER = 0.75
"""Of the frames of lost datagrams: where more than that were lost before the receiver, they were
lost together, and fewer to a datagram would not have saved it."""
_CARD_RECEIVED = ("rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx_errors", "rx_fifo")


@dataclass(frozen=True)
class Located:
    """Where most of a loss was: the layer, its words, and the counter that names it."""

    layer: str
    words: str
    evidence: str


def locate_datagrams(run: Run, point: Point) -> Located | None:
    """The layer at which most datagrams were lost; None where no counter tells. The cards' counters
    tell the host or the network, the kernels' own the layer there; of both ways at once and of
    several flows, those of all hosts together."""
    place = place_of_loss(run, point)
    lost = max(1, point.counter("lost", 1))
    if place is None:
        return _in_all_hosts(point)
    if place == "sender host":
        return _in_sender(point, lost, _sum(point, 0, REFUSED))
    if place == "receiver host":
        return _in_receiver(point, lost, _sum(point, 1, OVERFLOWS))
    if place == "network":
        card = _card(point, 1, _CARD_RECEIVED)
        if card >= MOST * lost:
            return Located(
                "receiver card",
                "by the receiving host's card",
                f"the card of {host_of(point, 1)} dropped {card} frames",
            )
        return Located(
            "network", "in the network", "more frames left one card than reached the other"
        )
    return None


def lost_of(point: Point) -> int:
    """Datagrams of all ends that did not arrive or were not answered."""
    ends = [end for batch in point.batches for end in batch.ends.values()]
    return sum(end.counters.get(name, 0) for end in ends for name in ("lost", "unanswered"))


def _in_all_hosts(point: Point) -> Located | None:
    """Where most of what all flows lost was, by the counters of all their hosts."""
    least = MOST * max(1, lost_of(point))
    refused, overflows = _by_host(point, REFUSED), _by_host(point, OVERFLOWS)
    if sum(refused.values()) >= least:
        most = max(refused, key=lambda host: refused[host])
        return Located(
            "sender kernel",
            "in the sending host's queue",
            f"the kernels counted {sum(refused.values())} datagrams that a queue refused "
            f"(SndbufErrors), {refused[most]} of them at {most}",
        )
    if sum(overflows.values()) >= least:
        most = max(overflows, key=lambda host: overflows[host])
        return Located(
            "receiver application",
            "in the receiver's socket buffer, which its process did not empty in time",
            f"the kernels counted {sum(overflows.values())} overflows of receive buffers "
            f"(RcvbufErrors), {overflows[most]} of them at {most}",
        )
    sent, received = (_frames_of_all(point, way) for way in ("tx", "rx"))
    if sent - received >= least:
        return Located(
            "network",
            "in the network",
            f"{sent} frames left the cards of all hosts, and {received} reached them",
        )
    return None


def _by_host(point: Point, names: Sequence[str]) -> dict[str, int]:
    """A sum of counters of each host, whose ranks all read the same ones."""
    found: dict[str, int] = {}
    for rank in {rank for batch in point.batches for rank in batch.ends}:
        host = host_of(point, rank)
        found[host] = max(found.get(host, 0), _sum(point, rank, names))
    return found


def _frames_of_all(point: Point, way: str) -> int:
    devices = {end.get("interface") for end in point.opened.values()} - {None, "lo"}
    names = [f"interface.{device}.{way}_packets" for device in sorted(map(str, devices))]
    return sum(_by_host(point, names).values())


def _in_sender(point: Point, lost: int, queue: int) -> Located:
    host = host_of(point, 0)
    card = _card(point, 0, SENDER_DROPS)
    if card >= MOST * lost and card > queue:
        return Located(
            "sender card", "by the sending host's card", f"the card of {host} dropped {card} frames"
        )
    if queue >= MOST * lost:
        words = (
            f"the kernel of {host} counted {queue} datagrams that its queue refused (SndbufErrors)"
        )
        return Located("sender kernel", "in the sending host's queue", words)
    device = point.opened.get(0, {}).get("interface")
    dropped = growth(point, 0, f"qdisc.{device}.dropped")
    if dropped >= MOST * lost:
        words = f"the queueing discipline of {device} at {host} dropped {dropped} packets"
        return Located("sender kernel", "in the sending host's queue", words)
    words = f"fewer frames left {host} than its process handed over"
    return Located("sender kernel", "in the sending host", words)


def _in_receiver(point: Point, lost: int, socket: int) -> Located:
    host = host_of(point, 1)
    if socket >= MOST * lost:
        return Located(
            "receiver application",
            "in the receiver's socket buffer, which its process did not empty in time",
            f"the kernel of {host} counted {socket} overflows of a receive buffer (RcvbufErrors)",
        )
    device = point.opened.get(1, {}).get("interface")
    kernel = {
        "packets before any protocol": growth(point, 1, "softnet.dropped"),
        "packets that filters dropped": growth(point, 1, f"qdisc.{device}.filter_dropped"),
        "failed reassemblies": _sum(point, 1, FAILED_REASSEMBLIES),
        "wrong checksums": _sum(point, 1, ("snmp.Udp.InCsumErrors", "snmp6.Udp6InCsumErrors")),
        "packets with nobody to take them": growth(point, 1, "snmp.Udp.NoPorts"),
    }
    counted = ", ".join(f"{count} {what}" for what, count in kernel.items() if count)
    words = counted or f"frames reached {host} and were taken by no counter of a protocol there"
    return Located("receiver kernel", "in the receiving host's kernel", words)


def loss_on_the_way(seen: Seen) -> list[Finding]:
    """Datagrams that were lost before they came to their socket, and those of which nobody knows
    where: each point with the layer where most were."""
    return [finding for finding in _losses(seen) if finding.place != AT_THE_SOCKET]


def loss_at_the_socket(seen: Seen) -> list[Finding]:
    """Datagrams that came to their socket and found it full: the process was too late."""
    return [finding for finding in _losses(seen) if finding.place == AT_THE_SOCKET]


def _losses(seen: Seen) -> Iterator[Finding]:
    for figure in seen.figures:
        losses = figure.name in ("lost_ratio", "unanswered_ratio") and not figure.kind.is_open_loop
        if not losses:
            continue
        point = find_point(seen.run, figure.point)
        if figure.value > 0 or (point.kind.both_ways and lost_of(point)):
            located = locate_datagrams(seen.run, point)
            make = _fragments if by_fragments(seen.run, point) else _lost
            yield make(seen, point, figure, located)


def _lost(seen: Seen, point: Point, figure: Figure, located: Located | None) -> Finding:
    overflows = sum(_by_host(point, OVERFLOWS).values())
    where = located.words if located else "between the sender's socket and the receiver's"
    layer = located.layer if located else ""
    told = f"; {located.evidence}" if located else ""
    return Finding(
        "warning",
        f"{transport_row(figure.transport).title} lost {_share_lost(point, figure):.3%} of "
        f"{format_size(figure.message_bytes)}-byte messages ({figure.test}), {where}.",
        f"{lost_of(point)} of {_messages(point)} messages{_each_way(point)}; receive buffer "
        f"overflows: {overflows}{told}.{frames_lost(seen.run, point)}",
        _advice(seen, point, layer),
        (point.id,),
        kind="datagrams-lost",
        place=layer,
        confidence="certain" if located else "possible",
    )


def _share_lost(point: Point, figure: Figure) -> float:
    """Of both ways at once, where the figure is that of one; else the figure."""
    if not point.kind.both_ways:
        return figure.value
    return lost_of(point) / max(1, _messages(point))


def _each_way(point: Point) -> str:
    if not point.kind.both_ways:
        return ""
    ways = (
        f"{point.counter('lost', 1 - rank)} of {point.counter('messages_sent', rank)} from "
        f"{host_of(point, rank)} to {host_of(point, 1 - rank)}"
        for rank in (0, 1)
    )
    return f" ({', '.join(ways)})"


def _messages(point: Point) -> int:
    ends = [end for batch in point.batches for end in batch.ends.values()]
    return sum(end.counters.get("messages_sent", 0) for end in ends)


def _advice(seen: Seen, point: Point, layer: str) -> str:
    device = point.opened.get(0, {}).get("interface", "DEVICE")
    rate = typed(point.transport, BLOCK["rate"])
    match layer:
        case "sender kernel":
            slower = f", or send with a {rate} below the link's" if rate else ""
            return (
                f"See which queue drops: tc -s qdisc show dev {device} at {host_of(point, 0)}; "
                f"then lengthen it{slower}."
            )
        case "receiver application":
            return _for_the_receiver(seen, point, rate)
        case "receiver kernel":
            return (
                f"See what drops at {host_of(point, 1)}: nstat -az, /proc/net/softnet_stat and the "
                "firewall's counters; raise net.core.netdev_max_backlog where softnet drops."
            )
        case "sender card" | "receiver card":
            return "See ethtool -S of the card; lengthen its ring with ethtool -G."
        case "network":
            slower = (
                f"; where a buffer is full, send with a {rate} below what the narrowest link "
                "carries"
            )
            return (
                f"See the counters of cables and switch ports on the way{slower if rate else ''}."
            )
        case _:
            return ""


def _for_the_receiver(seen: Seen, point: Point, rate: str) -> str:
    """A larger buffer or a lower rate, whichever the transport's command has."""
    buffer = typed(point.transport, SOCKETS["receive_buffer"])
    ways = [f"a larger {buffer}"] if buffer else []
    slower = 0.8 * seen.value("throughput_bit_per_s", point.id)
    options = {buffer: "4M"} if buffer else {}
    if rate:
        said = f", {format_rate(slower)} say" if slower else ""
        ways.append(f"a {rate} below what the receiver takes{said}")
        if not buffer and slower:
            options = {rate: f"{slower / 1e6:.0f}M"}
    if not ways:
        return ""
    command = again(seen.run, options, ("--target-buffer",)) if options else ""
    return advise(f"Use {' or '.join(ways)}", command)


def by_fragments(run: Run, point: Point) -> bool:
    """Whether fragments are why most datagrams were lost: reassembly failed for them at the
    receiver, or fewer frames were lost before it than these datagrams are made of. What a full
    socket or the sender's queue dropped was whole, whatever it travelled in."""
    packets, lost = packets_of(run, point), point.counter("lost", 1)
    if (
        packets is None
        or not point.carrier.counts_datagrams
        or len(packets.expected) < 2
        or not lost
    ):
        return False
    if _sum(point, 1, FAILED_REASSEMBLIES) >= MOST * lost:
        return True
    verdict = verdict_of_loss(run, point)
    whole = _sum(point, 1, OVERFLOWS) + _sum(point, 0, REFUSED)
    if verdict is None or whole >= MOST * lost:
        return False
    before = verdict.sender_host.most_frames + verdict.network.most_frames
    return 0 < before <= TOGETHER * len(packets.expected) * (lost - whole)


def _fragments(seen: Seen, point: Point, figure: Figure, located: Located | None) -> Finding:
    many = round(seen.value("frames_per_datagram", point.id))
    failed, overflows = (_sum(point, 1, names) for names in (FAILED_REASSEMBLIES, OVERFLOWS))
    mtu_bytes = seen.run.mtu_bytes(point)
    where = f", {located.words}" if located else ""
    told = f"{located.evidence}; " if located else ""
    return Finding(
        "warning",
        f"UDP lost {figure.value:.3%} of {format_size(point.message_bytes)}-byte messages, because "
        f"each travels in {many} fragments and one that is lost takes all{where}.",
        f"{point.counter('lost', 1)} of {point.counter('messages_sent')} messages; {told}"
        f"{failed} reassemblies failed at {host_of(point, 1)}, whose socket overflowed {overflows} "
        f"times.{frames_lost(seen.run, point)}",
        advise(
            f"Send messages that fit a frame of MTU {mtu_bytes}",
            again(seen.run, {"--sizes": str(mtu_bytes - 28)}),
        ),
        (point.id,),
        kind="fragments-lost",
        place=located.layer if located else "",
    )


def retransmits(seen: Seen) -> Iterator[Finding]:
    """How often TCP retransmitted; where and why is :func:`lost_segments`' to say."""
    found = [f for f in seen.figures if f.name == "retransmitted_segments" and f.value > 0]
    if not found:
        return
    worst = max(found, key=lambda f: f.value)
    point = find_point(seen.run, worst.point)
    yield Finding(
        "note",
        f"TCP retransmitted segments at {format_count(len(found), 'point')}.",
        f"Most at {point_in_words(point)}: {worst.value:.0f} segments.",
        points=tuple(f.point for f in found),
    )


@dataclass(frozen=True)
class SegmentCounts:
    """Segments and frames along the way of a TCP point: what the connection sent, both cards
    counted, and the connection there got; ``back`` is what was lost in the network on the way
    back, ``slack`` how many frames others' may account for."""

    segments: int
    sent: int
    received: int
    arrived: int
    back: int
    slack: int

    @property
    def gaps(self) -> dict[str, int]:
        """What is missing at each place."""
        return {
            "sender kernel": self.segments - self.sent,
            "network": max(self.sent - self.received, self.back),
            "receiver kernel": self.received - self.arrived,
        }

    @property
    def is_complete(self) -> bool:
        """Whether all that was sent arrived."""
        return max(self.gaps.values()) <= self.slack


SEGMENTS_LOST = {
    "sender kernel": "in the sending host's queue",
    "network": "in the network",
    "receiver kernel": "in the receiving host's kernel",
}


def segment_counts(run: Run, point: Point) -> SegmentCounts | None:
    """None where the counters do not tell."""
    packets = packets_of(run, point)
    segments = growth(point, 0, "connection.test.segs_out")
    arrived = growth(point, 1, "connection.test.segs_in")
    if packets is None or not segments or not arrived:
        return None
    return SegmentCounts(
        segments,
        packets.origin.sent.packets,
        packets.target.received.packets,
        arrived,
        packets.target.sent.packets - packets.origin.received.packets,
        sum(packets.others) + CONTROL_SLACK_FRAMES,
    )


def locate_segments(run: Run, point: Point) -> Located | None:
    """Where most segments of a TCP point were lost; None where none was, or nothing tells."""
    counts = segment_counts(run, point)
    if counts is None or counts.is_complete:
        return None
    layer = max(counts.gaps, key=lambda name: counts.gaps[name])
    evidence = (
        f"{counts.segments} segments were sent by the connection, {counts.sent} frames by the card "
        f"of {host_of(point, 0)}, {counts.received} reached that of {host_of(point, 1)}, and "
        f"{counts.arrived} the connection there"
    )
    card = _card(point, 1, _CARD_RECEIVED)
    if layer == "network" and card >= MOST * counts.gaps[layer]:
        words = f"{evidence}; the card of {host_of(point, 1)} dropped {card} frames"
        return Located("receiver card", "by the receiving host's card", words)
    return Located(layer, SEGMENTS_LOST[layer], evidence)


def lost_segments(seen: Seen) -> Iterator[Finding]:
    """TCP streams that sent a notable share of their segments again, and where they were lost."""
    lost: list[tuple[float, Point]] = []
    needless: list[tuple[float, Point]] = []
    for point in tcp_streams(seen.run):
        again_sent = seen.value("retransmitted_segments", point.id)
        segments = _of_senders(point, "data_segs_out")
        if not segments or again_sent < TCP_LOSS_NOTABLE * segments:
            continue
        if again_sent < SEGMENTS_LEAST and not few_slow_it(seen, point, again_sent, segments):
            continue
        which = needless if _all_came(seen.run, point, again_sent) else lost
        which.append((again_sent / segments, point))
    if lost:
        yield _segments_lost(seen, [p for _, p in lost], *max(lost, key=_share))
    if needless:
        share, point = max(needless, key=_share)
        yield _needless(seen, [p for _, p in needless], share, point)


def _of_senders(point: Point, name: str) -> int:
    """A counter of the test's connections, of all flows' origins together."""
    return sum(growth(point, r, f"connection.test.{name}") for r in range(0, 2 * point.flows, 2))


def _all_came(run: Run, point: Point, again_sent: float) -> bool:
    """Whether what was retransmitted had arrived already: by all counters on the way, or, where
    they do not tell, by receivers that said of most of it that they had it twice (RFC 2883)."""
    counts = segment_counts(run, point)
    if counts is not None:
        return counts.is_complete
    return _of_senders(point, "dsack_dups") > MOST * again_sent


def _share(found: tuple[float, Point]) -> float:
    return found[0]


def _segments_lost(seen: Seen, points: Sequence[Point], share: float, point: Point) -> Finding:
    located = locate_segments(seen.run, point)
    control = point.opened.get(0, {}).get("congestion_control", "not known")
    rate = seen.value("throughput_bit_per_s", point.id)
    return Finding(
        "warning",
        f"TCP sent {share:.2%} of its segments again at {point_in_words(point)}: they were "
        f"lost {located.words if located else 'somewhere on the way'}.",
        f"{seen.value('retransmitted_segments', point.id):.0f} segments; the stream reached "
        f"{format_rate(rate)} with {control}"
        + (f"; {located.evidence}." if located else "; no counter tells where."),
        _advice(seen, point, located.layer if located else "network"),
        ids_of(points),
        place=located.layer if located else "",
        confidence="certain" if located else "possible",
    )


def _needless(seen: Seen, points: Sequence[Point], share: float, point: Point) -> Finding:
    counted = (
        "all that the connection sent reached both cards and the connection there"
        if segment_counts(seen.run, point) is not None
        else f"of {_of_senders(point, 'dsack_dups')} the other end said that it had them twice"
    )
    return Finding(
        "note",
        f"TCP sent {share:.2%} of its segments again at {point_in_words(point)}, although none, or "
        "few, were lost: they were late.",
        f"{seen.value('retransmitted_segments', point.id):.0f} segments; {counted}.",
        "Look for what delays segments: a busy CPU, a virtual machine's pauses.",
        ids_of(points),
        kind="needless-segments",
        confidence="certain",
    )


def _sum(point: Point, rank: int, names: Sequence[str]) -> int:
    return sum(growth(point, rank, name) for name in names)


def _card(point: Point, rank: int, names: Sequence[str]) -> int:
    device = point.opened.get(rank, {}).get("interface")
    return max(growth(point, rank, f"interface.{device}.{name}") for name in names)


SEGMENTS_FEW = 4
"""So few are notable only where the rate is about what Mathis' bound leaves of them."""
NEAR_BOUND = (0.4, 2.0)
"""Of the bound: a stream in it may be held by losses. Some were lost together and halve the window
once, and timeouts cost more than the bound knows."""
BELOW_LINK = 0.8
"""Of what the link allows: a stream above it lacks nothing that losses could have taken."""


def few_slow_it(seen: Seen, point: Point, again_sent: float, segments: int) -> bool:
    """Whether a stream that sent few segments again is about as slow as their share makes it."""
    segment = point.opened.get(0, {}).get("max_segment_bytes")
    round_trips = point.series("tcp_info_round_trip_ns")
    if again_sent < SEGMENTS_FEW or point.flows > 1 or not segment or not len(round_trips):
        return False
    rate, allowed = seen.value("throughput_bit_per_s", point.id), allowed_bit_per_s(seen, point)
    bound = loss_limited_bit_per_s(
        int(segment), float(np.median(round_trips)), again_sent / segments
    )
    is_near = NEAR_BOUND[0] * bound <= rate <= NEAR_BOUND[1] * bound
    return is_near and rate <= BELOW_LINK * allowed
