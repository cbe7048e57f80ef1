"""What a platform foretells of the tests that measure it, term by term.

Equations and symbols: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity
Cluster, PhD thesis, The University of Hong Kong, 2001, sections 2.2.4 and 3.2. Times in ns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netsonde.model.platform import SYMBOLS, TRANSFER, PacketTimes, Platform

MOSTLY = 0.5
"""A term that makes up less of a prediction is not alone to blame."""


@dataclass(frozen=True, slots=True)
class Foretold:
    """``terms``: what each parameter adds, by its symbol, ns; they make up ``time_ns``."""

    time_ns: float
    terms: Mapping[str, float]

    @property
    def largest(self) -> str:
        """The term that weighs most."""
        return max(self.terms, key=lambda symbol: self.terms[symbol])


def one_way(platform: Platform, message_bytes: int, ranks: int = 2) -> Foretold:
    """A message of one packet or more, Eq. (2.6); by alpha and beta where packets are not known."""
    if not _has_packets(platform) and platform.messages is not None:
        line = platform.messages
        return _made({"alpha": line.alpha_ns, "beta": line.beta_ns * message_bytes})
    packets = platform.packets(message_bytes)
    times = platform.times(message_bytes if packets == 1 else None, ranks)
    between = _slowest(times)
    terms = {**_once(times), between[0]: 0.0}
    terms[between[0]] += (packets - 1) * between[1]
    return _made(terms)


def round_trip(platform: Platform, message_bytes: int, ranks: int = 2) -> Foretold:
    """There and back."""
    way = one_way(platform, message_bytes, ranks)
    return _made({symbol: 2.0 * time for symbol, time in way.terms.items()})


def in_a_stream(platform: Platform, message_bytes: int, ranks: int = 2) -> Foretold:
    """What each message of a stream takes: the slowest stage, section 3.2.2."""
    symbol, time = _slowest(platform.times(message_bytes, ranks))
    return _made({symbol: time})


def at_one_sink(platform: Platform, message_bytes: int, ranks: int) -> Foretold:
    """What each message takes of many that come to one host: g_r, or its CPU's work."""
    times = platform.times(message_bytes, ranks)
    work = 0.0 if platform.receives_beside else times.receive_overhead_ns + times.user_overhead_ns
    if work > times.receive_gap_ns:
        return _made({"O_r + U_r": work})
    return _made({"g_r": times.receive_gap_ns})


def gather(platform: Platform, message_bytes: int, each: int, senders: int) -> Foretold:
    """Until the last of ``each`` messages from each of so many senders is there, all begun at once:
    Eq. (2.6) with the packets of all."""
    times = platform.times(message_bytes, senders + 1)
    sink = at_one_sink(platform, message_bytes, senders + 1)
    terms = dict(_once(times))
    terms[sink.largest] = terms.get(sink.largest, 0.0) + (each * senders - 1) * sink.time_ns
    return _made(terms)


def _has_packets(platform: Platform) -> bool:
    return all(name in platform.costs for name in TRANSFER)


def _once(times: PacketTimes) -> dict[str, float]:
    return {
        SYMBOLS["send_overhead"]: times.send_overhead_ns,
        SYMBOLS["latency"]: times.latency_ns,
        SYMBOLS["receive_overhead"]: times.receive_overhead_ns,
        SYMBOLS["user_overhead"]: times.user_overhead_ns,
    }


def _slowest(times: PacketTimes) -> tuple[str, float]:
    """The stage that sets the pace: card, wire, or a host's work for each packet."""
    stages = {
        SYMBOLS["send_gap"]: times.send_gap_ns,
        SYMBOLS["receive_gap"]: times.receive_gap_ns,
        SYMBOLS["send_overhead"]: times.send_overhead_ns,
    }
    symbol = max(stages, key=lambda name: stages[name])
    return symbol, stages[symbol]


def _made(terms: Mapping[str, float]) -> Foretold:
    return Foretold(sum(terms.values()), dict(terms))
