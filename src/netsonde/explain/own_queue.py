"""The queueing discipline before a host's own card: its settings, and what it did to a test."""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.explain.evidence import growth, host_of
from netsonde.records.data import Point, Run

HELD_BACK = 0.1
"""Of the packets sent: a shaper whose rate is not known holds back more than this of them."""


REACHED = (0.85, 1.1)
"""Of the rate that a shaper is set to: a stream within it is held by that, whoever uses CPUs
and however it sways. Headers are not always known, and a bucket lets a burst pass."""


@dataclass(frozen=True)
class OwnQueue:
    """``kinds`` as ``tc`` names them, the outermost first; rate and times 0 where none is set or
    the kernel does not tell; counts over all batches."""

    host: str
    device: str
    kinds: str
    rate_bit_per_s: float
    delay_ns: float
    jitter_ns: float
    sent: int
    dropped: int
    overlimits: int

    @property
    def in_words(self) -> str:
        kinds = f" ({self.kinds})" if self.kinds else ""
        return f"the queueing discipline{kinds} of {self.device} at {self.host}"

    def is_reached(self, link_bit_per_s: float, wire_bit_per_s: float) -> bool:
        """Whether it is set to less than the link, and a stream has just what it is set to."""
        low, high = (share * self.rate_bit_per_s for share in REACHED)
        return self._is_below(link_bit_per_s) and low <= wire_bit_per_s <= high

    def _is_below(self, link_bit_per_s: float) -> bool:
        return 0 < self.rate_bit_per_s < 0.95 * link_bit_per_s

    def shapes(self, link_bit_per_s: float, wire_bit_per_s: float) -> bool:
        """Whether it is what holds a stream on a faster link: it is set to less than the link, and
        the stream comes near that; or, where its rate is not known, it held packets back."""
        if self.rate_bit_per_s:
            nearly = 0.8 * self.rate_bit_per_s
            return self._is_below(link_bit_per_s) and wire_bit_per_s >= nearly
        return self.overlimits > HELD_BACK * max(1, self.sent)


def own_queue(run: Run, point: Point, rank: int) -> OwnQueue | None:
    """None where the host does not tell, or the traffic left by no card."""
    device = point.opened.get(rank, {}).get("interface")
    host = host_of(point, rank)
    facts = run.host_facts(host)
    if device in (None, "lo") or f"interface.{device}.queueing" not in facts:
        return None

    def number(name: str) -> float:
        found = facts.get(f"interface.{device}.queueing_{name}", 0)
        return float(found) if isinstance(found, int | float) else 0.0

    counted = (growth(point, rank, f"qdisc.{device}.{n}") for n in COUNTERS)
    return OwnQueue(
        host,
        str(device),
        str(facts[f"interface.{device}.queueing"]),
        number("rate_bit_per_s"),
        number("delay_ns"),
        number("jitter_ns"),
        *counted,
    )


def dropped_in_batch(point: Point, number: int | None, rank: int) -> int:
    """What the queueing disciplines of an end's own card dropped in a batch."""
    device = point.opened.get(rank, {}).get("interface")
    end = next((b.ends.get(rank) for b in point.batches if b.index == number), None)
    return (end.difference(f"qdisc.{device}.dropped") or 0) if end else 0


COUNTERS = ("sent_packets", "dropped", "overlimits")
