"""Numbers that rules rest on, from the snapshots around a point's batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netsonde.catalogue.point import AllPairs, Program
from netsonde.catalogue.transport import transport_row
from netsonde.explain.data import Seen
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.figures.packets import packets_of
from netsonde.model.goodput import framing_that_counts, shaped_goodput_bit_per_s
from netsonde.records.data import Point, Run
from netsonde.records.negotiated import agreed
from netsonde.units import bytes_in_words

STEAL_NOTABLE = 0.01
STEAL_TICKS = 5
"""The kernel counts whole ticks of 10 ms: fewer of them are no share."""
"""Of all CPU time, given to other virtual machines."""
IDLE_KINDS = frozenset({"idle", "iowait"})
LINK_FULL = 0.95
"""Of what the link allows after headers: there nothing else is the limit."""
GUEST_KINDS = frozenset({"guest", "guest_nice"})  # the kernel counts these in user and nice too


def tcp_streams(run: Run) -> list[Point]:
    """Measured streams one way over the kernel's TCP, by message size."""
    return run.where(lambda point: point.carrier.has_connection and point.kind.is_one_way_stream)


def growth(point: Point, rank: int, name: str) -> int:
    """How much a snapshot value grew over all batches of a point."""
    return sum(
        (batch.ends[rank].difference(name) or 0) for batch in point.batches if rank in batch.ends
    )


def between_snapshots_ns(point: Point, rank: int) -> int:
    """The time between the snapshots around all batches."""
    ends = (batch.ends[rank] for batch in point.batches if rank in batch.ends)
    return sum(end.after.time_ns - end.before.time_ns for end in ends if end.before and end.after)


def cpu_shares(point: Point, rank: int) -> dict[str, dict[str, float]]:
    """Share of time by CPU and kind over all batches: {"0": {"user": 0.1}, "all": ..}."""
    jiffies: dict[str, dict[str, int]] = {}
    for batch in point.batches:
        if rank not in batch.ends:
            continue
        for name, value in batch.ends[rank].differences("cpu.").items():
            _, cpu, kind = name.split(".", 2)
            if kind not in GUEST_KINDS:
                kinds = jiffies.setdefault(cpu, {})
                kinds[kind] = kinds.get(kind, 0) + value
    shares = {}
    for cpu, kinds in jiffies.items():
        total = sum(kinds.values())
        if total > 0:
            shares[cpu] = {kind: value / total for kind, value in kinds.items()}
    return shares


def busiest_cpu(point: Point, rank: int) -> tuple[str, float]:
    """(CPU, busy share) of the busiest single CPU; ("", 0.0) where unknown."""
    busy = {
        cpu: 1 - sum(kinds.get(kind, 0.0) for kind in IDLE_KINDS)
        for cpu, kinds in cpu_shares(point, rank).items()
        if cpu != "all"
    }
    if not busy:
        return "", 0.0
    cpu = max(busy, key=lambda name: busy[name])
    return cpu, busy[cpu]


def steal_share(point: Point) -> float:
    """The largest share of CPU time that the hypervisor gave to others, over ranks."""
    ranks = {rank for batch in point.batches for rank in batch.ends}
    return max(
        (
            cpu_shares(point, rank).get("all", {}).get("steal", 0.0)
            for rank in ranks
            if growth(point, rank, "cpu.all.steal") >= STEAL_TICKS
        ),
        default=0.0,
    )


def ids_of(points: Iterable[Point]) -> tuple[str, ...]:
    return tuple(p.id for p in points)


def find_point(run: Run, point_id: str) -> Point:
    return next(p for p in run.points if p.id == point_id)


def point_in_words(point: Point) -> str:
    """``TCP stream of 128k bytes (p001)``."""
    if isinstance(point.spec, Program | AllPairs):
        return f"{point.spec.in_words} ({point.id})"
    what = point.operation or point.test
    size = f" of {bytes_in_words(point.message_bytes)}" if point.message_bytes else ""
    return f"{transport_row(point.transport).title} {what}{size} ({point.id})"


def facts_of(run: Run, point: Point, rank: int) -> tuple[str, dict[str, object]]:
    """(name, facts) of the host of a rank; empty where it wrote nothing."""
    host = next((b.ends[rank].host for b in point.batches if rank in b.ends), "")
    return host, dict(run.host_facts(host))


def host_of(point: Point, rank: int) -> str:
    """The host of a rank, or ``end 1`` where it wrote nothing."""
    return next((b.ends[rank].host for b in point.batches if rank in b.ends), f"end {rank}")


def allowed_bit_per_s(seen: Seen, point: Point) -> float:
    """The payload that the link carries at a point after headers; 0 where its rate is not known."""
    rate = link_rate_bit_per_s(seen.run, point)
    if not rate or not point.carrier.has_sockets:
        return 0.0
    path: Mapping[str, Any] = seen.run.manifest.get("path") or {}
    framing = framing_that_counts(path.get("counted_frame_header_bytes"))
    size = max(1, point.message_bytes)
    mtu_bytes = seen.run.mtu_bytes(point)
    timestamps = agreed(point, "timestamps", seen.run.facts_of_hosts(point))
    try:
        return shaped_goodput_bit_per_s(
            point.transport,
            rate,
            size,
            framing=framing,
            mtu_bytes=mtu_bytes,
            timestamps=timestamps,
        )
    except ValueError:  # an MTU that no packet fits
        return 0.0


def fills_the_link(seen: Seen, point: Point) -> bool:
    """Whether a stream carries what the link allows; False where the link's rate is not known."""
    allowed = allowed_bit_per_s(seen, point)
    return bool(allowed) and seen.value("throughput_bit_per_s", point.id) >= LINK_FULL * allowed


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
    if point.counts_datagrams:
        whole = point.counter("messages_sent", 1 - rank)
        own += whole * len(packets.expected)
        own_bytes += whole * sum(frame.bytes for frame in packets.expected)
    seconds = between_snapshots_ns(point, rank) / 1e9
    foreign = frames - own
    if not frames or not seconds or foreign < FOREIGN_LEAST_SHARE * frames:
        return None
    per_s = foreign / seconds
    if per_s < FOREIGN_LEAST_PER_S:
        return None
    return per_s, max(0.0, size - own_bytes) / foreign, foreign / frames
