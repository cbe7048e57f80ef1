"""Why throughput falls at a size: causes, each with its evidence, and whether that decides.

A cause is decided where a counter moved with the dip, where the dip moved with a setting, or where
the sizes around the beginning of the dip leave next to no room for chance. Everything else that
lies near is named as near, with the experiment that would decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from netsonde.explain.evidence import growth
from netsonde.figures.alike import BUFFER, SIZE, condition
from netsonde.figures.sweeps import Sweep
from netsonde.model.goodput import frames_of_datagram
from netsonde.records.data import Point
from netsonde.stats.sweeps import Dip
from netsonde.units import bytes_in_words, format_rate, format_time

CHANCE = 0.05
"""The beginning of a dip is known to lie between two sizes. A boundary that repeats every so many
bytes lies between them by chance in this share of cases, if they are this share of it apart."""
OTHER_SETTING = 4.0
"""Buffers that differ by less than this factor would not move a dip far enough to be sure."""
NEAR = 1.25
"""A dip that is to have moved with a setting must begin between sizes no further apart than this:
of ten octaves of sizes it is a thirtieth, so that two dips meet their buffers by chance in one of a
hundred cases, the eight boundaries that are looked at included."""
DELAYED_ACK_NS = (35e6, 45e6)
"""Linux waits 40 ms with an acknowledgement (TCP_DELACK_MIN) that nothing else carries."""
CACHES = ("l1d", "l2", "l3")


@dataclass(frozen=True)
class Cause:
    """``name`` completes "the cause is"; ``advice`` is the experiment that decides. ``is_of_lab``:
    it comes from how a link is emulated, and no network has it."""

    name: str
    evidence: str
    is_decided: bool
    advice: str = ""
    is_of_lab: bool = False


@dataclass(frozen=True)
class Case:
    """A dip of a sweep; what else was swept, with its dips; what is known of the origin's host and
    of the path between."""

    sweep: Sweep
    dip: Dip
    others: Sequence[tuple[Sweep, Sequence[Dip]]]
    facts: Mapping[str, Any]
    path: Mapping[str, Any] = field(default_factory=dict)

    @property
    def before(self) -> Point:
        return self.sweep.point_at(self.dip.before)

    @property
    def first(self) -> Point:
        return self.sweep.point_at(self.dip.first)

    @property
    def bottom(self) -> Point:
        return self.sweep.point_at(self.dip.bottom)

    def holds(self, size_bytes: float) -> bool:
        """Whether a message of more than so many bytes is the first that may be in the dip."""
        return self.dip.before <= size_bytes < self.dip.first


def causes_of(case: Case) -> list[Cause]:
    """Decided causes first."""
    found = [cause for rule in _RULES for cause in rule(case)]
    return sorted(found, key=lambda cause: not cause.is_decided)


def segments_per_message(point: Point) -> float | None:
    """Full and partial TCP segments with data that the origin sent for a message; None unknown."""
    messages = point.counter("messages_sent")
    segments = growth(point, 0, "connection.test.data_segs_out")
    return segments / messages if messages and segments else None


def _segments(case: Case) -> Iterator[Cause]:
    """One more TCP segment: the kernel counted it, between sizes that are near to each other.

    Without counters, the segment that the connection had on opening; a kernel may change it later.
    """
    if not case.sweep.carrier.has_connection:
        return
    before, first = case.dip.before, case.dip.first
    counted = [segments_per_message(point) for point in (case.before, case.first)]
    advice = "measure the sizes right around it, with --refine"
    if counted[0] is None or counted[1] is None:
        size = int(case.first.opened.get(0, {}).get("max_segment_bytes", 0))
        if size <= 0 or first - before > size or not case.holds((int(first) - 1) // size * size):
            return
        words = f"a multiple of {size} bytes lies between the two sizes"
        yield Cause("one more TCP segment", words, False, advice)
        return
    if not 0.5 < counted[1] - counted[0] < 1.5:
        return
    is_near = first - before <= CHANCE * first / max(1.0, counted[0])
    words = f"segments sent for a message: {counted[0]:.2f} and {counted[1]:.2f}"
    yield Cause("one more TCP segment", words, is_near, advice)


def _fragments(case: Case) -> Iterator[Cause]:
    """One more IP fragment of a datagram, which follows from the MTU."""
    device = case.first.opened.get(0, {}).get("interface")
    mtu = case.first.mtu_bytes or case.facts.get(f"interface.{device}.mtu")
    if not case.sweep.carrier.counts_datagrams or not isinstance(mtu, int):
        return
    version: Literal[4, 6] = 6 if ":" in str(case.first.opened[0].get("local_address", "")) else 4
    try:
        counts = [
            len(frames_of_datagram(int(size), mtu_bytes=mtu, ip_version=version))
            for size in (case.dip.before, case.dip.first)
        ]
    except ValueError:  # an MTU that no datagram fits
        return
    if counts[1] <= counts[0] or case.dip.first - case.dip.before > mtu:
        return
    yield Cause(
        f"one more IP fragment at an MTU of {mtu} bytes",
        f"datagrams leave in {counts[0]} and in {counts[1]} packets",
        case.dip.first - case.dip.before <= CHANCE * mtu,
        "measure the sizes right around it, with --refine",
    )


def _buffers(case: Case) -> Iterator[Cause]:
    """A socket buffer or half of it: decided where the dip moves along with the buffer."""
    for name, size in _buffer_sizes(case.first).items():
        for share, words in ((1.0, ""), (0.5, "half of ")):
            if not case.holds(share * size):
                continue
            moved = [other.name for other, dips in case.others if _moved(case, other, dips, share)]
            evidence = f"{words}the {name} of {bytes_in_words(size)} lies between the two sizes"
            if moved:
                evidence += f", and so it does in {', '.join(moved)} with another buffer"
            advice = "measure with another --buffer: if the dip moves along, it is the cause"
            yield Cause(f"the socket buffer ({words}{name})", evidence, bool(moved), advice)


def _buffer_sizes(point: Point) -> dict[str, int]:
    """Granted buffers by what they are; each size once."""
    sizes: dict[str, int] = {}
    for rank, end in ((0, "origin"), (1, "target")):
        for way in ("send", "receive"):
            size = point.opened.get(rank, {}).get(f"{way}_buffer_bytes")
            if isinstance(size, int) and size > 0 and size not in sizes.values():
                sizes[f"{end}'s {way} buffer"] = size
    return sizes


def _moved(case: Case, other: Sweep, dips: Sequence[Dip], share: float) -> bool:
    """Whether another sweep, which differs in nothing but the buffer, has its dip at the same share
    of that; both begin between sizes that are near enough to leave little room for chance."""
    mine, its = _buffer_sizes(case.first), _buffer_sizes(other.points[0])
    named = [name for name in mine if name in its and case.holds(share * mine[name])]
    boundaries = [
        share * its[name]
        for name in named
        if max(mine[name], its[name]) >= OTHER_SETTING * min(mine[name], its[name])
    ]
    return (
        case.dip.first <= NEAR * case.dip.before
        and condition(case.first, SIZE, BUFFER) == condition(other.points[0], SIZE, BUFFER)
        and any(
            dip.before <= boundary < dip.first <= NEAR * dip.before
            for dip in dips
            for boundary in boundaries
        )
    )


def _bursts(case: Case) -> Iterator[Cause]:
    """An emulated link passes a burst at once, so that short messages do not see its rate."""
    rate, burst = case.path.get("rate_bit_per_s"), case.path.get("burst_bytes")
    if not rate or not burst:
        return
    curve = case.sweep.curve
    faster = curve.rates[curve.sizes == case.dip.before][0]
    if faster <= rate:
        return
    yield Cause(
        f"the emulated link, which passes {bytes_in_words(burst)} at once after a pause",
        f"throughput before is {format_rate(faster)}, above the link's {format_rate(rate)}",
        True,
        is_of_lab=True,
    )


def _resent(case: Case) -> Iterator[Cause]:
    """Retransmitted segments for most messages of the dip, and for none before it."""
    again, messages = [], []
    for point in (case.before, case.first, case.bottom):
        again.append(sum(growth(point, rank, "connection.test.total_retrans") for rank in (0, 1)))
        messages.append(max(1, point.counter("messages_sent")))
    if again[0] or not again[2]:
        return
    yield Cause(
        "segments that were lost and retransmitted",
        f"{again[2]} segments were retransmitted for {messages[2]} messages at the bottom, "
        f"none at {bytes_in_words(int(case.dip.before))}",
        all(2 * a >= m for a, m in zip(again[1:], messages[1:], strict=True)),
        "look at the buffers on the way: a burst of this size may not fit",
    )


def _delayed_answers(case: Case) -> Iterator[Cause]:
    """Nagle's algorithm waits for an acknowledgement that the other end delays."""
    usual = case.sweep.curve.times[case.sweep.curve.sizes == case.dip.before][0]
    slow = case.sweep.curve.times[case.sweep.curve.sizes == case.dip.bottom][0]
    excess = float(2 * (slow - usual))
    low, high = DELAYED_ACK_NS
    if case.first.opened.get(0, {}).get("no_delay") is not False or not low <= excess <= 2 * high:
        return
    yield Cause(
        "Nagle's algorithm, which waits for an acknowledgement that the other end delays",
        f"a round trip takes {format_time(excess)} longer, and Linux delays by 40 ms",
        low <= excess <= high or 2 * low <= excess,
        "measure with --nodelay",
    )


def _protocol(case: Case) -> list[Cause]:
    """MPI's own switch of protocol, where its environment names the size."""
    if not case.sweep.carrier.has_ranks:
        return []
    found = []
    for name, value in case.facts.items():
        text = str(value)
        if name.startswith("mpi.environment.") and text.isdecimal() and case.holds(int(text)):
            variable = name.removeprefix("mpi.environment.")
            found.append(
                Cause(
                    f"MPI's change of protocol at {variable}={text}",
                    f"{text} bytes lie between the two sizes",
                    case.dip.first - case.dip.before <= CHANCE * int(text),
                    f"measure with another {variable}",
                )
            )
    if not found:
        found.append(
            Cause(
                "a change of MPI's protocol (eager to rendezvous)",
                "many libraries have one; this one does not say where",
                False,
                "set the library's eager limit and see whether the dip moves",
            )
        )
    return found


def _caches(case: Case) -> list[Cause]:
    """A CPU's cache or half of it. Nothing that is counted here decides it."""
    sizes = {level: case.facts.get(f"cpu.cache.{level}_bytes") for level in CACHES}
    return [
        Cause(
            f"the CPU's {level.upper()} cache",
            f"{words}its {bytes_in_words(size)} lies between the two sizes",
            False,
            "measure on a host with other caches",
        )
        for level, size in sizes.items()
        if isinstance(size, int)
        for share, words in ((1.0, ""), (0.5, "half of "))
        if case.holds(share * size)
    ]


def _paging(case: Case) -> Iterator[Cause]:
    """Pages that came from the disk while messages were sent."""
    faults = [
        max(growth(point, rank, "process.major_faults") for rank in (0, 1))
        for point in (case.before, case.bottom)
    ]
    if faults[0] or not faults[1]:
        return
    evidence = f"{faults[1]} page faults went to the disk at the bottom, none before"
    messages = max(1, case.bottom.counter("messages_sent"))
    yield Cause("memory: the host was paging", evidence, faults[1] >= messages / 2, "")


_RULES: tuple[Callable[[Case], Iterable[Cause]], ...] = (
    _segments,
    _fragments,
    _buffers,
    _bursts,
    _resent,
    _delayed_answers,
    _protocol,
    _caches,
    _paging,
)
