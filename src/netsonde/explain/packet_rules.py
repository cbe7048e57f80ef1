"""Rules about packets and windows: where datagrams were lost, and what kept TCP from more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netsonde.explain.commands import advise, again
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import facts_of, fills_the_link, host_of, point_in_words, tcp_streams
from netsonde.figures.packets import loss_of, packets_of
from netsonde.model.limits import window_limited_bit_per_s
from netsonde.model.losses import FrameLoss, LossVerdict, Place
from netsonde.records.data import Point, Run
from netsonde.records.negotiated import agreed
from netsonde.units import bytes_in_words, format_count, format_rate, format_time

LIMITED = 0.25
"""Of the time in which TCP had something to send. Where it waited for a window for more of it, the
window is what limits; the kernel looks only when it sends and misses a part of the waiting."""
WINDOW_USED = 0.5
"""Of the rate that half of the buffer, in whole segments, allows in each round trip. A stream far
below that waited for a receiver that did not read, not for a buffer that is small."""
WAITED_LEAST = 0.15
AT_THE_BOUND = (0.8, 1.25)
"""Of that rate: a stream that has just this is held by the window where waits were seen at all,
for the kernel misses many."""
TINY_SEGMENTS = 4
"""A window of fewer segments than this waits for an acknowledgement, which may be delayed until
two have come, nearly all the time."""
WINDOW_EXCEEDED = 2.0
"""How far a stream may exceed what the usable part of a tiny buffer allows: bookkeeping takes less
of it where segments are full."""
UNSCALED_BYTES = 65535
"""The largest window of TCP without window scaling (RFC 7323)."""
USABLE = 0.5
"""The part of a buffer, as Linux reports it, that becomes window at first; the rest is for its
bookkeeping."""


def place_of_loss(run: Run, point: Point) -> Place | None:
    """Where most datagrams of a point were lost for certain, from both cards' counters."""
    verdict = verdict_of_loss(run, point)
    return verdict.place if verdict else None


COUNTED_BETWEEN: Mapping[Place, str] = {
    "sender host": "before the sending card counted them",
    "network": "between the counts of the two cards",
    "receiver host": "after the receiving card counted them",
}
"""What frames prove. A card drops what it does not count as received, so that its own loss is
between the counts of the two."""


def frames_lost(run: Run, point: Point) -> str:
    """How many frames were lost at each place, as a sentence with a space before it; empty where
    counters do not tell."""
    verdict = verdict_of_loss(run, point)
    if verdict is None:
        return ""
    lost: dict[Place, FrameLoss] = {
        "sender host": verdict.sender_host,
        "network": verdict.network,
        "receiver host": verdict.receiver_host,
    }
    words = [
        f"{_between(loss.least_frames, loss.most_frames)} {COUNTED_BETWEEN[place]}"
        for place, loss in lost.items()
        if loss.most_frames
    ]
    useless = verdict.incomplete_frames
    rest = f"; up to {useless} of the last for want of another fragment" if useless else ""
    return f" Frames lost: {', '.join(words)}{rest}." if words else ""


def _between(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def verdict_of_loss(run: Run, point: Point) -> LossVerdict | None:
    """What both cards' counters prove of a loss; None where they do not tell."""
    packets = packets_of(run, point)
    return None if packets is None else loss_of(point, packets)


def buffers_limit(seen: Seen) -> Iterator[Finding]:
    """TCP streams whose rate is a window in each round trip."""
    limited = [p for p in tcp_streams(seen.run) if limited_by_window(seen, p)]
    if not limited:
        return
    worst = min(limited, key=lambda p: seen.value("throughput_bit_per_s", p.id))
    rate = seen.value("throughput_bit_per_s", worst.id)
    round_trip_ns = seen.value("path_round_trip_min_ns", worst.id)
    waits = {
        "the receiver's window": seen.value("receive_window_limited_ratio", worst.id),
        "room in the send buffer": seen.value("send_buffer_limited_ratio", worst.id),
    }
    bound = window_bound(seen, worst)
    if bound is not None and bound.is_unscaled:
        yield _unscaled(seen, limited, worst, bound, waits)
        return
    if bound is not None and bound.held is not None:
        yield _held(seen, limited, worst, bound, bound.held)
        return
    allowed = window_limited_bit_per_s(USABLE * _least_buffer(seen.run, worst), round_trip_ns)
    cause = max(waits, key=lambda name: waits[name])
    under_way = seen.value("bandwidth_delay_bytes", worst.id)
    places = {
        "the receiver's window": f"receive buffer of {host_of(worst, 1)}",
        "room in the send buffer": f"send buffer of {host_of(worst, 0)}",
    }
    buffers = " and ".join(f"{bytes_in_words(size)} {end}" for end, size in _buffers(worst).items())
    yield Finding(
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


def _unscaled(
    seen: Seen,
    limited: Sequence[Point],
    point: Point,
    bound: WindowBound,
    waits: Mapping[str, float],
) -> Finding:
    hosts = [
        host
        for rank in (0, 1)
        if facts_of(seen.run, point, rank)[1].get("sysctl.net.ipv4.tcp_window_scaling") == 0
        and (host := host_of(point, rank))
    ]
    who = " and ".join(hosts) or "one of the hosts"
    waited = ", ".join(f"{share:.0%} for {what}" for what, share in waits.items())
    return Finding(
        "warning",
        f"TCP's window scaling is off, by {who}: no window is larger than 64 KB, and that limits "
        f"{format_count(len(limited), 'point')}.",
        f"{point_in_words(point)}: the ends did not agree on window scaling; "
        f"{format_rate(seen.value('throughput_bit_per_s', point.id))} over a round trip of "
        f"{format_time(bound.round_trip_ns)}, in which such a window allows "
        f"{format_rate(bound.rate_bit_per_s)} at most. Of its time TCP waited {waited}.",
        f"At {who}: sysctl -w net.ipv4.tcp_window_scaling=1",
        tuple(p.id for p in limited),
        place=f"window scaling of {who}" if hosts else "window scaling",
    )


def _held(
    seen: Seen, limited: Sequence[Point], point: Point, bound: WindowBound, held: HeldWindow
) -> Finding:
    waited = seen.value("receive_window_limited_ratio", point.id)
    rate = seen.value("throughput_bit_per_s", point.id)
    return Finding(
        "warning",
        f"The receiver's window does not grow, for {held.setting}: that limits "
        f"{format_count(len(limited), 'point')}.",
        f"{point_in_words(point)}: {format_rate(rate)} over "
        f"a round trip of {format_time(bound.round_trip_ns)}. {held.host} "
        f"{'offered' if held.is_told else 'can offer'} a window of "
        f"{bytes_in_words(held.window_bytes)}{'' if held.is_told else ' or so'} at most, which "
        f"allows {format_rate(bound.rate_bit_per_s)}; for {waited:.0%} of its time TCP waited for "
        "it.",
        held.undo,
        tuple(p.id for p in limited),
        place=f"receive window of {held.host}",
        confidence="likely",
    )


def _advice(seen: Seen, point: Point) -> str:
    wanted = seen.figure("recommended_buffer_bytes", point.id)
    if wanted is None:
        per_gbit = seen.value("path_round_trip_min_ns", point.id) / 4
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


@dataclass(frozen=True)
class WindowBound:
    """The least window that buffers and settings allow, and what it carries in each round trip."""

    window_bytes: int
    round_trip_ns: float
    segment_bytes: int
    is_unscaled: bool
    held: HeldWindow | None = None
    """The setting that makes it the least, where it is one."""

    @property
    def rate_bit_per_s(self) -> float:
        return window_limited_bit_per_s(self.window_bytes, self.round_trip_ns)

    @property
    def is_tiny(self) -> bool:
        """Whether so few segments fit that TCP waits for an acknowledgement all the time, which
        the kernel, that looks only when it sends, then hardly counts."""
        return self.window_bytes < TINY_SEGMENTS * self.segment_bytes

    def explains(self, rate_bit_per_s: float) -> bool:
        """Whether a stream of such a rate may be held by it, whatever waits were counted."""
        return self.is_tiny and rate_bit_per_s <= WINDOW_EXCEEDED * self.rate_bit_per_s


def window_bound(seen: Seen, point: Point) -> WindowBound | None:
    """None where neither buffers nor the round trip are known."""
    round_trip_ns = seen.value("path_round_trip_min_ns", point.id)
    segment = max(1, int(point.opened.get(0, {}).get("max_segment_bytes", 1)))
    usable = int(USABLE * _least_buffer(seen.run, point))
    unscaled = not agreed(point, "window_scaling", seen.run.facts_of_hosts(point))
    if unscaled and (usable == 0 or usable > UNSCALED_BYTES):
        usable = UNSCALED_BYTES
    else:
        unscaled = False
    held = held_window(seen.run, point, USABLE)
    if held is not None and (usable == 0 or held.window_bytes < usable):
        usable, unscaled = held.window_bytes, False
    else:
        held = None
    if not round_trip_ns or not usable:
        return None
    window = max(segment, usable // segment * segment)
    return WindowBound(window, round_trip_ns, segment, unscaled, held)


def limited_by_window(seen: Seen, point: Point) -> bool:
    """Whether a stream's rate is a window in each round trip, by its bound and what it waited."""
    rate = seen.value("throughput_bit_per_s", point.id)
    waited = seen.value("receive_window_limited_ratio", point.id) + seen.value(
        "send_buffer_limited_ratio", point.id
    )
    bound = window_bound(seen, point)
    if bound is None or fills_the_link(seen, point):
        return False
    if waited < LIMITED:
        low, high = (share * bound.rate_bit_per_s for share in AT_THE_BOUND)
        return bound.explains(rate) or (waited >= WAITED_LEAST and low <= rate <= high)
    if bound.held is not None and rate > WINDOW_EXCEEDED * bound.rate_bit_per_s:
        return False  # it is another route's
    return rate >= WINDOW_USED * bound.rate_bit_per_s


def _buffers(point: Point) -> dict[str, int]:
    """What the connection obtained on the way of a stream, in the system's count."""
    found = {
        "for sending": point.opened.get(0, {}).get("send_buffer_bytes"),
        "for receiving": point.opened.get(1, {}).get("receive_buffer_bytes"),
    }
    return {end: int(size) for end, size in found.items() if size is not None}


def _least_buffer(run: Run, point: Point) -> int:
    """The smallest buffer; one that was not asked for grows up to the system's limit."""
    options = point.spec.chosen
    asked = {
        "for sending": options.buffer is not None,
        "for receiving": options.sets_buffers,
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


def large_datagrams(seen: Seen) -> Iterator[Finding]:
    """Datagrams that are larger than the buffer that is to hold them."""
    found = []
    for point in seen.run.where(lambda p: p.carrier.counts_datagrams):
        sizes = {
            "send": point.opened.get(0, {}).get("send_buffer_bytes"),
            "receive": point.opened.get(1, {}).get("receive_buffer_bytes"),
        }
        for kind, size in sizes.items():
            if size is not None and point.message_bytes >= int(size) // 2:
                found.append((point, kind, int(size) // 2))
                break
    if not found:
        return
    point, kind, size = found[0]
    yield Finding(
        "warning",
        f"The datagrams of {len({p.id for p, _, _ in found})} points are as large as a socket "
        "buffer: it holds one at a time.",
        f"{point_in_words(point)}: the {kind} buffer is {bytes_in_words(size)}, as asked "
        "for; the system reports twice that.",
        "Take a larger --buffer or smaller --sizes.",
        tuple(p.id for p, _, _ in found),
    )


OFFERED = "connection.test.snd_wnd"
"""What the other end offers; after a batch, with all of it read, that is the whole window."""
MODERATE = "sysctl.net.ipv4.tcp_moderate_rcvbuf"
ROUTE = "route.window_bytes"
FIRST_BYTES = 65535
"""A route's window keeps Linux from offering more than it began with, which may be as much."""


@dataclass(frozen=True)
class HeldWindow:
    """``window_bytes``: the largest that was offered, and where the kernel does not tell
    (``is_told``), what the setting leaves. ``setting`` in words, ``undo`` what takes it away."""

    window_bytes: int
    is_told: bool
    host: str
    setting: str
    undo: str


def held_window(run: Run, point: Point, buffer_part: float) -> HeldWindow | None:
    """Of the receiver of a stream; ``buffer_part`` is what of a buffer becomes window. None where
    no setting holds it, or a larger window than that was offered."""
    host, facts = facts_of(run, point, 1)
    offered = _offered_bytes(point)
    buffer_bytes = point.opened.get(1, {}).get("receive_buffer_bytes")
    window = facts.get(ROUTE)
    if isinstance(window, int) and (offered or 0) <= max(window, FIRST_BYTES):
        return HeldWindow(
            offered or max(window, FIRST_BYTES),
            offered is not None,
            host,
            f"a route there sets window {window}",
            f"See ip route at {host} and take window {window} out of the route.",
        )
    if (
        facts.get(MODERATE) == 0
        and not point.spec.chosen.sets_buffers
        and (offered or buffer_bytes)
    ):
        return HeldWindow(
            offered or int(buffer_part * int(buffer_bytes or 0)),
            offered is not None,
            host,
            "net.ipv4.tcp_moderate_rcvbuf is 0 there",
            f"At {host}: sysctl -w net.ipv4.tcp_moderate_rcvbuf=1, or ask for a --receive-buffer.",
        )
    return None


def _offered_bytes(point: Point) -> int | None:
    """The largest window that the receiver offered when a batch began or was over."""
    found = [
        snapshot.values[OFFERED]
        for batch in point.batches
        if (end := batch.ends.get(0))
        for snapshot in (end.before, end.after)
        if snapshot is not None and OFFERED in snapshot.values
    ]
    return max(found, default=None)
