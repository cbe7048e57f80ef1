"""What the counters of both ends say about a point's packets, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.catalogue.figures.packets import INTERRUPTS
from netsonde.catalogue.method import method_anchor
from netsonde.figures.packets import Packets, packets_of
from netsonde.model.packets import CHECK_SEQUENCE_BYTES, Frame
from netsonde.records.data import Point
from netsonde.report.lookup import THROUGHPUT_TESTS, Study, point_label
from netsonde.report.quantity import format_value, group_digits, kind_of, no_interval

SIZES_SHOWN = 4
"""Fragments whose sizes are written out; more of them are counted."""
QUEUES_SHOWN = 64
"""A large card has more queues than a page should have rows; the rest stands together."""
_COUNTS_CUT_FRAMES = 1.02
"""An average above the largest frame by more than this was counted before frames were cut."""


@dataclass(frozen=True)
class PacketRow:
    """``anchor`` leads to the method, ``note`` says what the value is to be compared with."""

    name: str
    value: str
    note: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class PointPackets:
    point: str
    label: str
    rows: list[PacketRow]


def packets_of_points(study: Study, most: int | None = None) -> list[PointPackets]:
    """Every TCP and UDP point whose counters tell of packets, streams first; of the first ``most``
    points where that is given."""
    order = {row.name: place for place, row in enumerate(THROUGHPUT_TESTS)}
    points = sorted(study.run.select(), key=lambda p: order.get(p.test, len(order)))[:most]
    made = (PointPackets(p.id, point_label(p), packet_rows(study, p)) for p in points)
    return [packets for packets in made if packets.rows]


def packet_rows(study: Study, point: Point) -> list[PacketRow]:
    """The rows of one point; only those that have a value."""
    packets = packets_of(study.run, point)
    rows = _frame_rows(study, point, packets) if packets else []
    host = {
        end: card.host
        for end, card in (
            (("origin", packets.origin), ("target", packets.target)) if packets else ()
        )
    }
    sender, receiver = host.get("origin", "the origin"), host.get("target", "the target")
    named = (
        ("origin_frames_per_interrupt", f"Frames per interrupt, {sender}", "both directions"),
        ("target_frames_per_interrupt", f"Frames per interrupt, {receiver}", "both directions"),
        ("origin_sent_frames_per_interrupt", f"Frames sent per interrupt, {sender}", ""),
        ("origin_received_frames_per_interrupt", f"Frames received per interrupt, {sender}", ""),
        ("target_sent_frames_per_interrupt", f"Frames sent per interrupt, {receiver}", ""),
        ("target_received_frames_per_interrupt", f"Frames received per interrupt, {receiver}", ""),
        ("target_interrupts_per_s", f"Interrupts per second, {receiver}", ""),
        ("data_frames_per_ack", "Data frames per acknowledgement", ""),
        ("ack_frame_mean_bytes", "Average acknowledgement", _ack_note(packets)),
        ("tcp_overhead_ratio", "Overhead of TCP", "headers and acknowledgements, to payload"),
        ("wire_bit_per_s", "Taken of the line", "with headers, preamble and gap"),
        ("frame_interval_ns", "Time from frame to frame", "what a frame may cost the receiver"),
        ("delivered_ratio", "Delivered", f"payload of the bytes that reached {receiver}"),
        ("lost_sender_frames", f"Frames lost in {sender}", "socket, queue, driver, card"),
        ("lost_network_frames", "Frames lost in the network", "between the two cards"),
        ("lost_receiver_frames", f"Frames lost in {receiver}", "card's ring, reassembly, socket"),
        ("datagrams_lost_with_fragments", "Datagrams lost with them", "for a missing fragment"),
        ("path_round_trip_min_ns", "Shortest round trip", "of the test's own connection"),
        ("receive_window_limited_ratio", "Waited for the receiver's window", "of the busy time"),
        ("send_buffer_limited_ratio", "Waited for room to send", "of the busy time"),
        ("bandwidth_delay_bytes", "Under way on a full path", "rate times round trip"),
        ("recommended_buffer_bytes", "Buffer that does not limit", "twice that"),
    )
    rows += [row for name, title, note in named for row in _row(study, point, name, title, note)]
    return rows + (_queue_rows(packets) if packets else [])


def _row(study: Study, point: Point, name: str, title: str, note: str) -> list[PacketRow]:
    figure = study.figure(point, name)
    if figure is None:
        return []
    value = format_value(figure.value, kind_of(figure.unit))
    if figure.low is not None and figure.high is not None and figure.low < figure.high:
        low, high = (format_value(x, kind_of(figure.unit)) for x in (figure.low, figure.high))
        value = f"{low} to {high}"
    elif figure.low is None:
        value += f" [{no_interval(figure)}]"
    return [PacketRow(title, value, note, method_anchor(figure.method))]


def _queue_rows(packets: Packets) -> list[PacketRow]:
    """Interrupts of all queues of a card together and of each, where it has several."""
    rows = []
    for card in (packets.origin, packets.target):
        if len(card.queues) < 2 or not card.interrupts:
            continue
        anchor = method_anchor(INTERRUPTS)
        title = f"Interrupts of {card.device}, {card.host}"
        total = group_digits(card.interrupts)
        rows.append(PacketRow(title, total, f"of {len(card.queues)} queues together", anchor))
        for name, count in list(card.queues.items())[:QUEUES_SHOWN]:
            share = f"{100 * count / card.interrupts:.1f} %"
            rows.append(PacketRow(f"{name}, {card.host}", group_digits(count), share, anchor))
        left = list(card.queues.values())[QUEUES_SHOWN:]
        if left:
            title = f"{len(left)} more queues, {card.host}"
            rows.append(PacketRow(title, group_digits(sum(left)), "", anchor))
    return rows


def _frame_rows(study: Study, point: Point, packets: Packets) -> list[PacketRow]:
    rows = []
    ends = (
        ("sent_frame_mean_bytes", f"Average frame sent by {packets.origin.host}"),
        ("received_frame_mean_bytes", f"Average frame received by {packets.target.host}"),
    )
    for name, title in ends:
        figure = study.figure(point, name)
        note = _cut_note(figure.value, packets.expected) if figure else ""
        rows += _row(study, point, name, title, note)
    if not rows or not packets.expected:
        return rows
    mean = study.figure(point, "expected_frame_mean_bytes")
    value = f"{format_value(mean.value, 'bytes')} [computed]" if mean else ""
    whole = point.carrier.has_connection and point.kind.is_stream
    what = "a full segment" if whole else ""
    if len(packets.expected) > 1:
        what = f"{len(packets.expected)} frames: {sizes_in_words(packets.expected)}"
    first = frame_in_words(packets.expected[0])
    note = "; ".join(words for words in (what, first) if words)
    anchor = method_anchor(mean.method) if mean else ""
    return [*rows, PacketRow("Expected frame", value, note, anchor)]


def frame_in_words(frame: Frame) -> str:
    """A frame header by header: ``Ethernet 14, IP 20, UDP 8, payload 1460``, and what the check
    sequence and the line add."""
    transport = "TCP" if frame.transport_bytes >= 20 else "UDP"
    parts = (
        ("Ethernet", frame.ethernet_bytes),
        ("IP", frame.ip_bytes),
        ("fragment", frame.fragment_bytes),
        (transport, frame.transport_bytes),
        ("options", frame.option_bytes),
        ("payload", frame.payload_bytes),
    )
    words = ", ".join(f"{name} {size}" for name, size in parts if size)
    return (
        f"{words}: {frame.bytes}; with the check sequence {frame.bytes + CHECK_SEQUENCE_BYTES}, "
        f"with preamble and gap on the line {frame.wire_bytes()}"
    )


def sizes_in_words(frames: Sequence[Frame]) -> str:
    """``1514 + 1514 + 1178``; of many, ``44 of 1514 + 1178``."""
    sizes = [frame.bytes for frame in frames]
    if len(sizes) <= SIZES_SHOWN:
        return " + ".join(str(size) for size in sizes)
    same = sum(size == sizes[0] for size in sizes)
    rest = [size for size in sizes if size != sizes[0]]
    return " + ".join([f"{same} of {sizes[0]}", *(str(size) for size in rest[:SIZES_SHOWN])])


def _cut_note(mean_bytes: float, expected: Sequence[Frame]) -> str:
    largest = max((frame.bytes for frame in expected), default=0)
    if largest and mean_bytes > _COUNTS_CUT_FRAMES * (largest + CHECK_SEQUENCE_BYTES):
        return "counted before they were cut (segmentation offload)"
    return ""


def _ack_note(packets: Packets | None) -> str:
    if packets is None:
        return ""
    bare = packets.ack.bytes
    return f"a bare one has {group_digits(bare)}, with the check sequence {bare + 4}"
