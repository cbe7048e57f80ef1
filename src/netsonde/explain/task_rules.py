"""Which way messages of tasks went, and what a way through daemons is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import growth, ids_of, point_in_words
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_count, format_time

MEDIAN = "round_trip_median_ns"
ONE_FRAGMENT_BYTES = 4000
"""PVM's daemons send what fits into 4080 bytes with its headers as one datagram. Longer messages go
in several, whose hops overlap, so that their times do not add up."""
DAEMON_CPU = "pvm.daemon_cpu_ns"
TOLD = 4
DIRECT, NORMAL = "direct", "normal"


def route_not_taken(seen: Seen) -> Iterator[Finding]:
    """A direct route that was asked for and not had: the library goes back to the daemons without a
    word."""
    fell_back = [
        p
        for p in seen.run.points
        if _opened(p, "route_asked") == DIRECT and _opened(p, "route") == NORMAL
    ]
    if fell_back:
        yield Finding(
            "warning",
            f"{format_count(len(fell_back), 'point')} asked for the direct route and went through "
            "the daemons.",
            f"{point_in_words(fell_back[0])}: the library has no connection to the other task.",
            "The direct route is TCP from task to task: look for a firewall that refuses it.",
            ids_of(fell_back),
        )


@dataclass(frozen=True)
class _Hops:
    """Medians of round trips of one size, ns: through the daemons of two hosts, through that of
    one, and of a datagram between the two hosts."""

    size: int
    whole_ns: float
    local_ns: float
    datagram_ns: float
    points: tuple[str, ...]
    whole_cpu_ns: float | None = None
    local_cpu_ns: float | None = None
    """CPU time of the daemons for a round trip, ns: of both, and of the one; None where not told.
    """

    @property
    def sum_ns(self) -> float:
        return self.local_ns + self.datagram_ns

    @property
    def left_ratio(self) -> float:
        """What the sum lacks of the whole."""
        return (self.whole_ns - self.sum_ns) / self.whole_ns


def route_of_daemons(seen: Seen) -> Iterator[Finding]:
    """The normal route as the sum of its hops, where all of them were measured."""
    found = sorted(_hops(seen), key=lambda hops: hops.size)
    if not found:
        return
    least = found[0]
    told = "; ".join(
        f"{bytes_in_words(h.size)}: {format_time(h.whole_ns)} of which the hops make "
        f"{format_time(h.sum_ns)}, and {h.left_ratio:+.0%} are left"
        for h in found[:TOLD]
    )
    works = "; ".join(filter(None, map(_work_in_words, found[:TOLD])))
    yield Finding(
        "note",
        f"A round trip of {bytes_in_words(least.size)} through the daemons takes "
        f"{format_time(least.whole_ns)}: the local hops {format_time(least.local_ns)}, the UDP hop "
        f"{format_time(least.datagram_ns)}.",
        f"{told}. The local hops are those of two tasks on one host, the UDP hop is netsonde's own "
        f"round trip of a datagram.{f' {works}.' if works else ''}",
        points=tuple(dict.fromkeys(p for h in found for p in h.points)),
    )


def _work_in_words(hops: _Hops) -> str:
    """What two daemons do more than one, which is in no hop but for the datagram's two calls."""
    if hops.whole_cpu_ns is None or hops.local_cpu_ns is None:
        return ""
    return (
        f"Of {bytes_in_words(hops.size)} the two daemons take {format_time(hops.whole_cpu_ns)} of "
        f"CPU time, {format_time(hops.whole_cpu_ns - hops.local_cpu_ns)} more than the one, and "
        f"{format_time(hops.whole_ns - hops.sum_ns)} are left"
    )


def _daemons_ns(point: Point, ranks: tuple[int, ...]) -> float | None:
    """CPU time of the daemons of some ends for a round trip; None where a snapshot lacks it."""
    spent = [growth(point, rank, DAEMON_CPU) for rank in ranks]
    trips = point.counter("messages_sent", 0)
    return sum(spent) / trips if trips and all(spent) else None


def _hops(seen: Seen) -> Iterator[_Hops]:
    points = [p for p in seen.run.points if p.kind.asks_round_trip and seen.value(MEDIAN, p.id)]
    tasks = [p for p in points if p.carrier.has_tasks and _opened(p, "route") == NORMAL]
    datagrams = {p.message_bytes: p for p in points if p.carrier.counts_datagrams and _is_apart(p)}
    local = {_way(p): p for p in tasks if not _is_apart(p)}
    for whole in tasks:
        within, datagram = local.get(_way(whole)), datagrams.get(whole.message_bytes)
        is_one = whole.message_bytes <= ONE_FRAGMENT_BYTES
        if not _is_apart(whole) or within is None or datagram is None or not is_one:
            continue
        yield _Hops(
            whole.message_bytes,
            seen.value(MEDIAN, whole.id),
            seen.value(MEDIAN, within.id),
            seen.value(MEDIAN, datagram.id),
            ids_of((whole, within, datagram)),
            _daemons_ns(whole, (0, 1)),
            _daemons_ns(within, (0,)),
        )


def _way(point: Point) -> tuple[int, object, object]:
    """What has to be alike of the two hosts and of the one."""
    return point.message_bytes, _opened(point, "encoding"), _opened(point, "packing_timed")


def _opened(point: Point, name: str) -> object:
    opened: Mapping[str, object] = point.opened.get(0, {})
    return opened.get(name)


def _is_apart(point: Point) -> bool:
    ends = point.batches[0].ends if point.batches else {}
    return {0, 1} <= ends.keys() and ends[0].host != ends[1].host
