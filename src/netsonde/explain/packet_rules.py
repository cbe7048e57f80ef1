"""Rules about packets and windows: where datagrams were lost, and what kept TCP from more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.explain.commands import advise, again
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import facts_of, host_of, point_in_words
from netsonde.figures.packets import loss_of, packets_of
from netsonde.model.goodput import framing_that_counts, shaped_goodput_bit_per_s
from netsonde.model.limits import window_limited_bit_per_s
from netsonde.model.losses import FrameLoss, LossVerdict, Place
from netsonde.records.data import Point, Run
from netsonde.units import format_rate, format_size, format_time

PLACES: Mapping[Place, str] = {
    "sender host": "in the sending host",
    "network": "in the network",
    "receiver host": "in the receiving host",
}
LIMITED = 0.25
"""Of the time in which TCP had something to send. Where it waited for a window for more of it, the
window is what limits; the kernel looks only when it sends and misses a part of the waiting."""
WINDOW_USED = 0.5
"""Of the rate that half of the buffer, in whole segments, allows in each round trip. A stream far
below that waited for a receiver that did not read, not for a buffer that is small."""
LINK_FULL = 0.95
"""Of what the link allows after headers: there a larger buffer brings nothing."""
USABLE = 0.5
"""The part of a buffer, as Linux reports it, that becomes window at first; the rest is for its
bookkeeping."""


def place_of_loss(run: Run, point: Point) -> Place | None:
    """Where most datagrams of a point were lost for certain, from both cards' counters."""
    verdict = _verdict(run, point)
    return verdict.place if verdict else None


def frames_lost(run: Run, point: Point) -> str:
    """How many frames were lost at each place, as a sentence with a space before it; empty where
    counters do not tell."""
    verdict = _verdict(run, point)
    if verdict is None:
        return ""
    lost: dict[Place, FrameLoss] = {
        "sender host": verdict.sender_host,
        "network": verdict.network,
        "receiver host": verdict.receiver_host,
    }
    words = [
        f"{_between(loss.least_frames, loss.most_frames)} {PLACES[place]}"
        for place, loss in lost.items()
        if loss.most_frames
    ]
    useless = verdict.incomplete_frames
    rest = f"; up to {useless} of the last for want of another fragment" if useless else ""
    return f" Frames lost: {', '.join(words)}{rest}." if words else ""


def _between(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _verdict(run: Run, point: Point) -> LossVerdict | None:
    packets = packets_of(run, point)
    return None if packets is None else loss_of(point, packets)


def buffers_limit(seen: Seen) -> list[Finding]:
    """TCP streams whose rate is a window in each round trip."""
    limited = [p for p in seen.run.select("tcp", "stream") if _limited_by_window(seen, p)]
    if not limited:
        return []
    worst = min(limited, key=lambda p: _value(seen, "throughput_bit_per_s", p))
    rate = _value(seen, "throughput_bit_per_s", worst)
    round_trip_ns = _value(seen, "path_round_trip_min_ns", worst)
    allowed = window_limited_bit_per_s(USABLE * _least_buffer(seen.run, worst), round_trip_ns)
    waits = {
        "the receiver's window": _value(seen, "receive_window_limited_ratio", worst),
        "room in the send buffer": _value(seen, "send_buffer_limited_ratio", worst),
    }
    cause = max(waits, key=lambda name: waits[name])
    under_way = _value(seen, "bandwidth_delay_bytes", worst)
    places = {
        "the receiver's window": f"receive buffer of {host_of(worst, 1)}",
        "room in the send buffer": f"send buffer of {host_of(worst, 0)}",
    }
    buffers = " and ".join(
        f"{format_size(size)} bytes {end}" for end, size in _buffers(worst).items()
    )
    return [
        Finding(
            "warning",
            f"Socket buffers, not the network, limit TCP at {len(limited)} "
            f"{'point' if len(limited) == 1 else 'points'}.",
            f"{point_in_words(worst)}: {format_rate(rate)} over a round trip of "
            f"{format_time(round_trip_ns)} is a window of "
            f"{rate * round_trip_ns / 8e9:.0f} bytes. For {sum(waits.values()):.0%} of its time "
            f"TCP waited for a window, mostly for {cause}. The system reports buffers of "
            f"{buffers}; half of the smaller one allows {format_rate(allowed)}."
            + (f" The path holds {under_way:.0f} bytes." if under_way else ""),
            _advice(seen, worst),
            tuple(p.id for p in limited),
            place=places[cause],
        )
    ]


def _advice(seen: Seen, point: Point) -> str:
    wanted = seen.figure("recommended_buffer_bytes", point.id)
    if wanted is None:
        per_gbit = _value(seen, "path_round_trip_min_ns", point) / 4
        return (
            "Take a larger --buffer, or none, so that the system chooses: twice what is under "
            f"way, {per_gbit:.0f} bytes for each Gbit/s that the path is to carry."
        )
    size = f"{wanted.value:.0f}"
    return advise(
        f"Take --buffer {size} or more, twice what the path holds, or none, so that the system "
        "chooses",
        again(seen.run, {"--buffer": size}, ("--receive-buffer", "--target-buffer")),
    )


def _limited_by_window(seen: Seen, point: Point) -> bool:
    round_trip_ns = _value(seen, "path_round_trip_min_ns", point)
    rate = _value(seen, "throughput_bit_per_s", point)
    buffer_bytes = _least_buffer(seen.run, point)
    waited = _value(seen, "receive_window_limited_ratio", point) + _value(
        seen, "send_buffer_limited_ratio", point
    )
    if (
        waited < LIMITED
        or not round_trip_ns
        or not buffer_bytes
        or _fills_the_link(seen, point, rate)
    ):
        return False
    segment = int(point.opened.get(0, {}).get("max_segment_bytes", 1))
    window = max(segment, int(USABLE * buffer_bytes) // segment * segment)
    return rate >= WINDOW_USED * window_limited_bit_per_s(window, round_trip_ns)


def _fills_the_link(seen: Seen, point: Point, rate_bit_per_s: float) -> bool:
    path: Mapping[str, Any] = seen.run.manifest.get("path") or {}
    link = path.get("rate_bit_per_s")
    if not link:
        return False
    framing = framing_that_counts(path.get("counted_frame_header_bytes"))
    mtu_bytes = seen.run.mtu_bytes(point)
    allowed = shaped_goodput_bit_per_s("tcp", link, 1, framing=framing, mtu_bytes=mtu_bytes)
    return rate_bit_per_s >= LINK_FULL * allowed


def _buffers(point: Point) -> dict[str, int]:
    """What the connection obtained on the way of a stream, in the system's count."""
    found = {
        "for sending": point.opened.get(0, {}).get("send_buffer_bytes"),
        "for receiving": point.opened.get(1, {}).get("receive_buffer_bytes"),
    }
    return {end: int(size) for end, size in found.items() if size is not None}


def _least_buffer(run: Run, point: Point) -> int:
    """The smallest buffer; one that was not asked for grows up to the system's limit."""
    options = point.parameters.get("options") or {}
    asked = {
        "for sending": "buffer" in options,
        "for receiving": bool({"buffer", "receive_buffer", "target_buffer"} & options.keys()),
    }
    limits = {"for sending": (0, "tcp_wmem"), "for receiving": (1, "tcp_rmem")}
    sizes = []
    for end, size in _buffers(point).items():
        if asked[end]:
            sizes.append(size)
            continue
        rank, name = limits[end]
        _, facts = facts_of(run, point, rank)
        words = str(facts.get(f"sysctl.net.ipv4.{name}", "")).split()
        if len(words) == 3 and words[2].isdecimal():
            sizes.append(int(words[2]))
    return min(sizes, default=0)


def _value(seen: Seen, name: str, point: Point) -> float:
    figure = seen.figure(name, point.id)
    return figure.value if figure else 0.0


def large_datagrams(seen: Seen) -> list[Finding]:
    """Datagrams that are larger than the buffer that is to hold them."""
    found = []
    for point in seen.run.select("udp"):
        sizes = {
            "send": point.opened.get(0, {}).get("send_buffer_bytes"),
            "receive": point.opened.get(1, {}).get("receive_buffer_bytes"),
        }
        for kind, size in sizes.items():
            if size is not None and point.message_bytes >= int(size) // 2:
                found.append((point, kind, int(size) // 2))
                break
    if not found:
        return []
    point, kind, size = found[0]
    return [
        Finding(
            "warning",
            f"The datagrams of {len({p.id for p, _, _ in found})} points are as large as a socket "
            "buffer: it holds one at a time.",
            f"{point_in_words(point)}: the {kind} buffer is {format_size(size)} bytes, as asked "
            "for; the system reports twice that.",
            "Take a larger --buffer or smaller --sizes.",
            tuple(p.id for p, _, _ in found),
        )
    ]
