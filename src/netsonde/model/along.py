"""An algorithm's time by its own messages, whatever the model says of one: steps one after the
other at each rank, the longest way to the end, and which term makes up how much of it.

A step's messages begin when the rank has ended all earlier ones. A sender is kept by each message,
so that the next of the step leaves later; a receiver takes one after the other. Models differ in
what a message, a sender and a receiver take: Hockney's alpha + beta n for all three; LogGP's
o + (n-1) G + L + o, o + (n-1) G and (n-1) G; and Eq. (2.6) with k g for both ends of k packets.
Sources: :mod:`netsonde.model.views`, :mod:`netsonde.model.transfers`. Times in ns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netsonde.model.convolved import MOST_MESSAGES, Message
from netsonde.model.foretold import Foretold, one_way
from netsonde.model.platform import SYMBOLS, PacketTimes, Platform
from netsonde.model.views import hockney, loggp

Terms = Mapping[str, float]
NOTHING: Terms = {}


@dataclass(frozen=True)
class Costs:
    """By the size of a message, bytes: its way from end to end, how long its sender is kept, and
    how long after the one before its receiver can have it; each term by its symbol."""

    way: Callable[[int], Terms]
    kept: Callable[[int], Terms]
    taken: Callable[[int], Terms]


@dataclass(frozen=True, slots=True)
class _At:
    """An instant, and what made it so late."""

    time_ns: float
    terms: Terms

    def after(self, terms: Terms) -> _At:
        if not terms:
            return self
        names = dict.fromkeys((*self.terms, *terms))
        both = {name: self.terms.get(name, 0.0) + terms.get(name, 0.0) for name in names}
        return _At(self.time_ns + sum(terms.values()), both)


_START = _At(0.0, NOTHING)


def completion(messages: Sequence[Message], ranks: int, costs: Costs) -> Foretold:
    """When the last rank is done, and the terms of the way that leads there, which add up to it.

    Raises ``ValueError`` for no messages, too many, or ranks that there are not.
    """
    if not messages or len(messages) > MOST_MESSAGES:
        raise ValueError(f"{len(messages)} messages; expected 1..{MOST_MESSAGES}")
    if max(max(one.sender, one.receiver) for one in messages) >= ranks:
        raise ValueError(f"a message is of a rank beyond the {ranks} that there are")
    steps: dict[int, list[Message]] = {}
    for one in messages:
        steps.setdefault(one.step, []).append(one)
    done = [_START] * ranks
    for number in sorted(steps):
        done = _step(steps[number], done, costs)
    last = max(done, key=lambda at: at.time_ns)
    return Foretold(last.time_ns, dict(last.terms))


def _step(messages: Sequence[Message], begun: Sequence[_At], costs: Costs) -> list[_At]:
    free, until = list(begun), list(begun)
    arrivals: dict[int, list[tuple[_At, Terms]]] = {}
    for one in messages:
        leaves = free[one.sender]
        arrivals.setdefault(one.receiver, []).append(
            (leaves.after(costs.way(one.size_bytes)), costs.taken(one.size_bytes))
        )
        free[one.sender] = leaves.after(costs.kept(one.size_bytes))
        until[one.sender] = _later(until[one.sender], free[one.sender])
    for receiver, came in arrivals.items():
        at: _At | None = None
        for arrival, taken in sorted(came, key=lambda item: item[0].time_ns):
            at = arrival if at is None else _later(arrival, at.after(taken))
        assert at is not None
        until[receiver] = _later(until[receiver], at)
    return until


def _later(one: _At, other: _At) -> _At:
    return one if one.time_ns >= other.time_ns else other


def by_hockney(platform: Platform, ranks: int) -> Costs:
    """alpha and beta. Raises ``ValueError`` where the platform lacks a parameter."""
    line = hockney(platform, ranks)

    def of(size: int) -> Terms:
        return {"alpha": line.alpha_ns, "beta": line.beta_ns * size}

    return Costs(of, of, of)


def by_loggp(platform: Platform, ranks: int) -> Costs:
    """o, L, g and G. Raises ``ValueError`` where the platform lacks a parameter."""
    found = loggp(platform, 1, ranks)
    small = found.small

    def more(size: int) -> float:
        return max(0, size - 1) * found.gap_per_byte_ns

    def way(size: int) -> Terms:
        return {"o": 2.0 * small.overhead_ns, "L": small.latency_ns, "G": more(size)}

    def kept(size: int) -> Terms:
        if small.gap_ns > small.overhead_ns + more(size):
            return {"g": small.gap_ns}
        return {"o": small.overhead_ns, "G": more(size)}

    return Costs(way, kept, kept)


def by_packets(platform: Platform, ranks: int) -> Costs:
    """The eight parameters, packet by packet. Raises ``ValueError`` where the platform lacks
    one."""
    platform.times(ranks=ranks)

    def way(size: int) -> Terms:
        return one_way(platform, max(1, size), ranks).terms

    def kept(size: int) -> Terms:
        packets, times = _packets(platform, size, ranks)
        if times.send_overhead_ns > times.send_gap_ns:
            return {SYMBOLS["send_overhead"]: packets * times.send_overhead_ns}
        return {SYMBOLS["send_gap"]: packets * times.send_gap_ns}

    def taken(size: int) -> Terms:
        packets, times = _packets(platform, size, ranks)
        return {SYMBOLS["receive_gap"]: packets * times.receive_gap_ns}

    return Costs(way, kept, taken)


def _packets(platform: Platform, size: int, ranks: int) -> tuple[int, PacketTimes]:
    packets = platform.packets(max(1, size))
    return packets, platform.times(max(1, size) if packets == 1 else None, ranks)


MODELS: Mapping[str, Callable[[Platform, int], Costs]] = {
    "Hockney": by_hockney,
    "LogGP": by_loggp,
    "packets": by_packets,
}
"""By what a report calls them, in the order of their numbers of parameters."""
