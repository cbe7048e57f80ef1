"""Frames at an end's interface that were not the test's."""

from __future__ import annotations

from netsonde.explain.data import Seen
from netsonde.explain.evidence import growth
from netsonde.figures.packets import packets_of
from netsonde.records.data import Point

FOREIGN_LEAST_PER_S = 500
FOREIGN_LEAST_SHARE = 0.1
"""Of the frames an interface received: what others' must be, and how many a second."""


def foreign_frames(seen: Seen, point: Point, rank: int) -> tuple[float, float, float] | None:
    """(frames a second, mean bytes, share) of what an interface received and was not the test's,
    at least; None where that is little or not known."""
    device = point.opened.get(rank, {}).get("interface")
    packets = packets_of(seen.run, point)
    if packets is None:
        return None
    frames = growth(point, rank, f"interface.{device}.rx_packets")
    size = growth(point, rank, f"interface.{device}.rx_bytes")
    own = sum(growth(point, rank, f"connection.{c}.segs_in") for c in ("test", "control"))
    moved = sum(growth(point, rank, f"connection.{c}.bytes_received") for c in ("test", "control"))
    own_bytes = moved + own * packets.ack.bytes
    if point.carrier.counts_datagrams:
        whole = point.counter("messages_sent", 1 - rank)
        own += whole * len(packets.expected)
        own_bytes += whole * sum(frame.bytes for frame in packets.expected)
    seconds = sum(
        (end.after.time_ns - end.before.time_ns) / 1e9
        for batch in point.batches
        if (end := batch.ends.get(rank)) and end.before and end.after
    )
    foreign = frames - own
    if not frames or not seconds or foreign < FOREIGN_LEAST_SHARE * frames:
        return None
    per_s = foreign / seconds
    if per_s < FOREIGN_LEAST_PER_S:
        return None
    return per_s, max(0.0, size - own_bytes) / foreign, foreign / frames
