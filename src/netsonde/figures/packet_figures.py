"""Figures of packets: frames, interrupts, acknowledgements, the line, where packets were lost, and
whether a window limited TCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.figures.packets import Packets, growth, loss_of, packets_of
from netsonde.model.goodput import WireCount
from netsonde.model.limits import bandwidth_delay_bytes, recommended_buffer_bytes
from netsonde.model.losses import datagrams_lost, delivered_share
from netsonde.model.packets import (
    average_frame_bytes,
    data_frames_per_ack,
    expected_mean_frame_bytes,
    interrupts_per_s,
    packet_interval_ns,
    packets_per_interrupt,
    tcp_frame,
    tcp_overhead_share,
    wire_rate_bit_per_s,
)
from netsonde.records.data import Point, Run


@dataclass(frozen=True)
class _Maker:
    point: Point

    def figure(self, name: str, value: float, bounds: tuple[float, float] | None = None) -> Figure:
        """``bounds`` are certain: they follow from counters and have a confidence of 1."""
        low, high = bounds or (None, None)
        made = Maker(self.point).figure(name, float(value), len(self.point.batches), low, high)
        return made if bounds is None else replace(made, confidence=1.0)


def packet_figures(run: Run, point: Point, figures: Sequence[Figure]) -> list[Figure]:
    """The figures of packets of one point, beside those that it has already; none where its
    counters do not tell."""
    rate = next((f.value for f in figures if f.name == "throughput_bit_per_s"), 0.0)
    made = limit_figures(run, point)
    packets = packets_of(run, point)
    if packets is None:
        return made
    maker = _Maker(point)
    return [
        *_frames(maker, packets),
        *_interrupts(maker, packets),
        *_acknowledgements(maker, packets),
        *_line(maker, packets, rate),
        *_losses(maker, packets),
        *made,
    ]


def _frames(maker: _Maker, packets: Packets) -> list[Figure]:
    counted = {
        "sent_frame_mean_bytes": packets.origin.sent,
        "received_frame_mean_bytes": packets.target.received,
    }
    figures = [
        maker.figure(name, average_frame_bytes(count.bytes, count.packets))
        for name, count in counted.items()
        if count.packets and count.bytes
    ]
    if packets.expected:
        expected = expected_mean_frame_bytes(packets.expected)
        figures.append(maker.figure("expected_frame_mean_bytes", expected))
    if len(packets.expected) > 1 and maker.point.carrier.counts_datagrams:
        figures.append(maker.figure("frames_per_datagram", len(packets.expected)))
    return figures


def _interrupts(maker: _Maker, packets: Packets) -> list[Figure]:
    ends = {"origin": packets.origin, "target": packets.target}
    return [
        maker.figure(
            f"{end}_frames_per_interrupt", packets_per_interrupt(card.frames, card.interrupts)
        )
        for end, card in ends.items()
        if card.interrupts
    ] + [
        maker.figure(
            f"{end}_{way}_frames_per_interrupt", packets_per_interrupt(card.frames_by[way], count)
        )
        for end, card in ends.items()
        for way, count in card.interrupts_by.items()
        if count
    ]


def _acknowledgements(maker: _Maker, packets: Packets) -> list[Figure]:
    point = maker.point
    found = _data_and_acks(point)
    if not point.carrier.has_connection or not point.kind.is_one_way_stream or found is None:
        return []
    data_frames, acks, payload_bytes = found
    back = packets.target.sent
    figures = [maker.figure("data_frames_per_ack", data_frames_per_ack(data_frames, acks))]
    if back.packets and back.bytes:
        size = average_frame_bytes(back.bytes, back.packets)
        figures.append(maker.figure("ack_frame_mean_bytes", size))
        share = tcp_overhead_share(
            data_frames, round(acks * size), payload_bytes, frame=packets.ack
        )
        figures.append(maker.figure("tcp_overhead_ratio", share))
    return figures


def _data_and_acks(point: Point) -> tuple[int, int, int] | None:
    """(data segments that left, bare acknowledgements that came back, payload that arrived)."""
    data = growth(point, 0, "connection.test.data_segs_out")
    back = growth(point, 1, "connection.test.segs_out")
    with_data = growth(point, 1, "connection.test.data_segs_out")
    payload = point.counter("bytes_received", 1)
    if data is None or back is None or not payload or back <= (with_data or 0):
        return None
    return data, back - (with_data or 0), payload


def _line(maker: _Maker, packets: Packets, rate: float) -> list[Figure]:
    """What a stream takes of the line, and how often a frame comes."""
    point = maker.point
    frames = packets.expected
    if not point.kind.is_one_way_stream or not frames or rate <= 0:
        return []
    if point.carrier.has_connection:
        sent = growth(point, 0, "connection.test.bytes_sent") or 0
        segments = growth(point, 0, "connection.test.data_segs_out") or 0
        mean = round(sent / segments) if segments else 0
        headers = packets.ack
        if not mean:
            return []
        # Segments that were not full: the mean one stands for them.
        frames = (
            tcp_frame(
                mean,
                mtu_bytes=headers.packet_bytes + max(mean, frames[0].payload_bytes),
                ip_version=6 if headers.ip_bytes == 40 else 4,
                timestamps=headers.option_bytes > 0,
            ),
        )
    payload = sum(frame.payload_bytes for frame in frames) / len(frames)
    if not payload:
        return []
    figures = [
        maker.figure("wire_bit_per_s", wire_rate_bit_per_s(rate, frames)),
        maker.figure("frame_interval_ns", packet_interval_ns(rate, payload)),
    ]
    interrupts = packets.target.interrupts
    if interrupts and packets.target.received.packets:
        ratio = packets_per_interrupt(packets.target.received.packets, interrupts)
        per_s = interrupts_per_s(rate, payload, ratio)
        figures.append(maker.figure("target_interrupts_per_s", per_s))
    return figures


def _losses(maker: _Maker, packets: Packets) -> list[Figure]:
    point = maker.point
    verdict = loss_of(point, packets)
    if verdict is None:
        return []
    figures = _delivered(maker, packets.target.received)
    if not verdict.datagrams:
        return figures
    places = {
        "sender": verdict.sender_host,
        "network": verdict.network,
        "receiver": verdict.receiver_host,
    }
    for place, lost in places.items():
        bounds = (float(lost.least_frames), float(lost.most_frames))
        figures.append(maker.figure(f"lost_{place}_frames", bounds[0], bounds))
    many = len(packets.expected)
    # All three places together lost what the datagrams are made of; what the receiver did not lose
    # was lost before it.
    lost_frames = verdict.datagrams * many
    least = lost_frames - verdict.receiver_host.most_frames
    most = lost_frames - verdict.receiver_host.least_frames
    if many > 1 and least:
        datagrams = point.counter("messages_sent")
        bounds = (
            float(datagrams_lost(least, many, datagrams).least),
            float(datagrams_lost(most, many, datagrams).most),
        )
        figures.append(maker.figure("datagrams_lost_with_fragments", bounds[0], bounds))
    return figures


def _delivered(maker: _Maker, received: WireCount) -> list[Figure]:
    payload = maker.point.counter("bytes_received", 1)
    if not 0 < payload <= received.bytes:
        return []
    return [maker.figure("delivered_ratio", delivered_share(payload, received.bytes))]


def limit_figures(run: Run, point: Point) -> list[Figure]:
    """For how much of its time TCP waited for a window, over what round trip, and what buffer the
    path wants; only of one-way streams."""
    if not point.carrier.has_connection or not point.kind.is_one_way_stream or point.flows > 1:
        return []
    maker = _Maker(point)
    figures = []
    busy_us = growth(point, 0, "connection.test.busy_time")
    waited_us = [growth(point, 0, f"connection.test.{w}_limited") for w in ("rwnd", "sndbuf")]
    if busy_us:
        for name, value in zip(("receive_window", "send_buffer"), waited_us, strict=True):
            if value is not None:
                share = min(1.0, value / busy_us)
                figures.append(maker.figure(f"{name}_limited_ratio", share))
    round_trip_ns = least_round_trip_ns(point)
    if round_trip_ns:
        figures.append(maker.figure("path_round_trip_min_ns", round_trip_ns))
        rate = link_rate_bit_per_s(run, point)
        if rate:
            product = bandwidth_delay_bytes(rate, round_trip_ns)
            wanted = recommended_buffer_bytes(rate, round_trip_ns)
            figures.append(maker.figure("bandwidth_delay_bytes", product))
            figures.append(maker.figure("recommended_buffer_bytes", wanted))
    return figures


def least_round_trip_ns(point: Point) -> float | None:
    """The shortest round trip that the test's own connection saw, by its sender's kernel."""
    found = [
        end.after.values["connection.test.min_rtt"]
        for batch in point.batches
        if (end := batch.ends.get(0)) and end.after
        if end.after.values.get("connection.test.min_rtt", 0) > 0
    ]
    # Microseconds; 2^32 - 1 stands for none.
    least = min(found, default=0)
    return least * 1000.0 if 0 < least < 2**32 - 1 else None


def link_rate_bit_per_s(run: Run, point: Point) -> float | None:
    """What the path carries: as it was set, else the slower of both interfaces; None if unknown."""
    path: Mapping[str, Any] = run.manifest.get("path") or {}
    if path.get("rate_bit_per_s"):
        return float(path["rate_bit_per_s"])
    if path.get("kind") != "network":
        return None
    speeds = []
    for rank in (0, 1):
        host = next((b.ends[rank].host for b in point.batches if rank in b.ends), "")
        device = point.opened.get(rank, {}).get("interface")
        speed = run.host_facts(host).get(f"interface.{device}.speed_mbit")
        if not isinstance(speed, int) or speed <= 0:
            return None
        speeds.append(speed * 1e6)
    return min(speeds)
