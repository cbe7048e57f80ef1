"""Packets of a point, from the counters that both ends read around its batches.

What an interface counted is first freed of the control connection's frames, whose number and bytes
are known. Formulas: :mod:`netsonde.model.packets`, :mod:`netsonde.model.losses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from netsonde.model.goodput import IpVersion, WireCount, expected_wire_tcp
from netsonde.model.losses import LossVerdict, locate_loss
from netsonde.model.packets import Frame, link_frames, tcp_frame, udp_frames
from netsonde.records.data import USUAL_MTU_BYTES, Point, Run
from netsonde.records.interrupts import Way, counted_apart, in_order, names_of_interface
from netsonde.records.negotiated import agreed

OTHER_FRAMES_PER_S = 10
"""What else a quiet network brings, at most, besides what the protocols' counters show: address
resolution, spanning tree, discovery."""
ADDRESS_CHECK_S = 15
"""A Linux host asks for a neighbour's hardware address again after 15 to 45 s (half to one and a
half of ``base_reachable_time_ms``); no protocol counts these frames."""
SENDER_DROPS = ("tx_dropped", "tx_errors", "tx_fifo_errors", "tx_carrier_errors", "tx_fifo")
"""Counters of an interface for what its host handed over and it did not send."""
CONTROL_SLACK_FRAMES = 2
"""Frames of the control connection that the snapshots around a batch may put on the wrong side."""
_OWN_SEGMENTS = {
    "out": ("connection.test.segs_out", "connection.control.segs_out"),
    "in": ("connection.test.segs_in", "connection.control.segs_in"),
}
_ALL_PACKETS = {
    "out": (
        "snmp.Tcp.OutSegs",
        "snmp.Tcp.RetransSegs",
        "snmp.Udp.OutDatagrams",
        "snmp6.Udp6OutDatagrams",
        "snmp.Icmp.OutMsgs",
        "snmp6.Icmp6OutMsgs",
    ),
    "in": (
        "snmp.Tcp.InSegs",
        "snmp.Udp.InDatagrams",
        "snmp.Udp.InErrors",
        "snmp.Udp.NoPorts",
        "snmp6.Udp6InDatagrams",
        "snmp6.Udp6InErrors",
        "snmp6.Udp6NoPorts",
        "snmp.Icmp.InMsgs",
        "snmp6.Icmp6InMsgs",
    ),
}


@dataclass(frozen=True)
class Card:
    """What the interface of one end counted over all batches.

    ``sent`` and ``received`` are without the control connection, ``frames`` is everything both
    ways, ``frames_by`` the same by way. ``interrupts`` are those that name the device, None where
    none does; ``queues`` has them by name, in order, those without any too.
    """

    host: str
    device: str
    sent: WireCount
    received: WireCount
    frames: int
    interrupts: int | None
    queues: Mapping[str, int] = field(default_factory=dict)
    frames_by: Mapping[Way, int] = field(default_factory=dict)

    @property
    def interrupts_by(self) -> Mapping[Way, int]:
        """Interrupts by way, where the card counts them apart; else nothing."""
        return counted_apart(self.queues) or {}


@dataclass(frozen=True)
class Packets:
    """A point's frames: those of both cards, and those that its messages should make.

    ``expected`` are the frames of a message or datagram without padding and check sequence; of a
    TCP stream, one full segment, for TCP cuts a stream where it likes. ``others`` is how many
    frames at most each card counted that were not the test's: (sent by the origin's, received by
    the target's).
    """

    origin: Card
    target: Card
    expected: tuple[Frame, ...]
    ack: Frame
    others: tuple[int, int]


def packets_of(run: Run, point: Point) -> Packets | None:
    """The frames of a TCP or UDP point; None where counters or facts do not give them.

    Both ends on one interface (loopback) give none, for it counts both directions together, and
    neither do several flows, which share their hosts' counters.
    """
    is_alone = point.kind.is_round_trip or point.kind.is_stream
    if not (_has_known_frames(point) and is_alone) or point.flows > 1:
        return None
    cards = [_card(point, rank, run) for rank in (0, 1)]
    if cards[0] is None or cards[1] is None or cards[0].device == "lo":
        return None
    with suppress(ValueError):  # facts of a host that do not go together
        expected, ack = _expected(run, point, cards[0])
        lab = (run.manifest.get("path") or {}).get("kind") == "lab"
        others = _others(point, 0, "out", quiet=lab), _others(point, 1, "in", quiet=lab)
        return Packets(cards[0], cards[1], expected, ack, others)
    return None


def _has_known_frames(point: Point) -> bool:
    """Those of a protocol that repeats on its own are not."""
    return point.carrier.has_sockets or (point.carrier.has_frames and point.has_datagrams)


def loss_of(point: Point, packets: Packets) -> LossVerdict | None:
    """Where the datagrams of a one-way UDP stream were lost; None where counters cannot tell.

    They cannot where datagrams came twice, or were cut below the counters.
    """
    offloaded = point.spec.chosen.segment_offload
    if not point.counts_datagrams or not point.kind.is_one_way_stream or offloaded:
        return None
    if point.counter("duplicates", 1) or not point.counter("messages_sent"):
        return None
    many, arrived = len(packets.expected), point.counter("messages_received", 1)
    # A device may count a frame of the control connection a little before or after the connection.
    slack = CONTROL_SLACK_FRAMES * len(point.batches)
    received = _at_least(packets.target.received.packets, many * arrived, slack)
    # Where nothing at the sender says that it dropped, what little is missing was counted late.
    least = received if _sender_dropped(point) else many * point.counter("messages_sent")
    with suppress(ValueError):  # more arrived than was sent: others' frames beyond the bound
        return locate_loss(
            point.counter("messages_sent"),
            _at_least(packets.origin.sent.packets, least, slack),
            received,
            arrived,
            frames_per_datagram=many,
            other_frames=max(packets.others),
        )
    return None


def _sender_dropped(point: Point) -> bool:
    """Whether the sender's queue or card counted drops, or nobody reads what its queue drops."""
    device = point.opened.get(0, {}).get("interface")
    queue = growth(point, 0, f"qdisc.{device}.dropped")
    card = (growth(point, 0, f"interface.{device}.{name}") for name in SENDER_DROPS)
    return queue is None or queue > 0 or any(card)


def _at_least(count: int, least: int, slack: int) -> int:
    return least if least - slack <= count < least else count


def growth(point: Point, rank: int, name: str) -> int | None:
    """How much a snapshot value grew over all batches; None where no batch read it."""
    found = [
        value
        for batch in point.batches
        if rank in batch.ends and (value := batch.ends[rank].difference(name)) is not None
    ]
    return sum(found) if found else None


def _card(point: Point, rank: int, run: Run) -> Card | None:
    device = point.opened.get(rank, {}).get("interface")
    host = next((b.ends[rank].host for b in point.batches if rank in b.ends), None)
    if device is None or host is None:
        return None
    facts = run.host_facts(host)
    counted = {
        way: (
            growth(point, rank, f"interface.{device}.{way}_packets"),
            growth(point, rank, f"interface.{device}.{way}_bytes"),
        )
        for way in ("tx", "rx")
    }
    (sent, sent_bytes), (received, received_bytes) = counted["tx"], counted["rx"]
    if sent is None or sent_bytes is None or received is None or received_bytes is None:
        return None
    own = [_control(run, point, rank, way) for way in ("out", "in")]
    bus_name = facts.get(f"interface.{device}.device")
    queues = _interrupts(point, rank, str(device), None if bus_name is None else str(bus_name))
    return Card(
        host,
        str(device),
        WireCount(max(0, sent - own[0].packets), max(0, sent_bytes - own[0].bytes)),
        WireCount(max(0, received - own[1].packets), max(0, received_bytes - own[1].bytes)),
        sent + received,
        sum(queues.values()) or None,
        queues,
        {"sent": sent, "received": received},
    )


def _control(run: Run, point: Point, rank: int, way: str) -> WireCount:
    """The control connection's frames, whose segments the kernel counted by themselves."""
    moved = "bytes_sent" if way == "out" else "bytes_received"
    return expected_wire_tcp(
        growth(point, rank, f"connection.control.segs_{way}") or 0,
        growth(point, rank, f"connection.control.{moved}") or 0,
        ip_version=_ip_version(point),
        timestamps=agreed(point, "timestamps", run.facts_of_hosts(point), "control"),
    )


def _expected(run: Run, point: Point, card: Card) -> tuple[tuple[Frame, ...], Frame]:
    """The frames of a message, and a bare acknowledgement."""
    mtu = run.host_facts(card.host).get(f"interface.{card.device}.mtu", USUAL_MTU_BYTES)
    mtu_bytes = point.mtu_bytes or int(mtu)
    version = _ip_version(point)
    timestamps = agreed(point, "timestamps", run.facts_of_hosts(point))
    ack = tcp_frame(0, mtu_bytes=mtu_bytes, ip_version=version, timestamps=timestamps)
    if point.carrier.has_frames:
        return link_frames(point.message_bytes, int(point.opened[0]["fragment_bytes"])), ack
    if point.carrier.counts_datagrams:
        return udp_frames(point.message_bytes, mtu_bytes=mtu_bytes, ip_version=version), ack
    segment = (
        int(point.opened[0]["max_segment_bytes"])
        if "max_segment_bytes" in (point.opened.get(0, {}))
        else mtu_bytes - ack.packet_bytes
    )
    left = segment if point.kind.is_stream else point.message_bytes
    frames = []
    while left > 0:
        payload = min(left, segment)
        frames.append(
            tcp_frame(payload, mtu_bytes=mtu_bytes, ip_version=version, timestamps=timestamps)
        )
        left -= payload
    return tuple(frames), ack


def _ip_version(point: Point) -> IpVersion:
    return 6 if ":" in str(point.opened.get(0, {}).get("local_address", "")) else 4


def _interrupts(point: Point, rank: int, device: str, bus_name: str | None) -> dict[str, int]:
    """How often each interrupt of the interface came, over all batches, by name in order."""
    wanted = names_of_interface(device, bus_name)
    first = next((b.ends[rank] for b in point.batches if rank in b.ends), None)
    if first is None or first.before is None:
        return {}
    prefix = "interrupt."
    found = (n.removeprefix(prefix) for n in first.before.values if n.startswith(prefix))
    names = in_order(name for name in found if wanted.search(name))
    return {name: growth(point, rank, prefix + name) or 0 for name in names}


def _others(point: Point, rank: int, way: str, *, quiet: bool) -> int:
    """Frames of a host at most that were not the test's, from its protocols' counters.

    A quiet network, such as a lab's, has few but those: the last frames of a connection that was
    closed before, where they were lost and came again, and a question for a hardware address with
    the answer to the other host's.
    """
    everything = sum(growth(point, rank, name) or 0 for name in _ALL_PACKETS[way])
    own = sum(growth(point, rank, name) or 0 for name in _OWN_SEGMENTS[way])
    counted = ("messages_sent",) if way == "out" else ("messages_received", "duplicates")
    if point.counts_datagrams:
        own += sum(point.counter(name, rank) for name in counted)
    if way == "in":
        own += growth(point, rank, "connection.test.drops") or 0
    seconds = sum(
        (end.after.time_ns - end.before.time_ns) / 1e9
        for batch in point.batches
        if (end := batch.ends.get(rank)) and end.before and end.after
    )
    beside = 2 * int(seconds / ADDRESS_CHECK_S) if quiet else round(OTHER_FRAMES_PER_S * seconds)
    return max(0, everything - own) + beside
