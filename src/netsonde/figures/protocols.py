"""Eager or rendezvous, with a copy or without: what the modes of sending say of a library.

A synchronous send waits for the receiver by definition; a buffered one copies the message first; a
ready one needs no word from the receiver. So a plain send that takes as long as a synchronous one
waits for the receiver as well (rendezvous), one that is faster does not (eager), and what a
buffered one takes longer is the copy. Definitions are in docs/methods/agreement.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netsonde.figures.alike import OPERATION, SIZE, alike
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run

MEDIAN = "completion_median_ns"
MODES = ("send", "ssend", "bsend", "rsend", "isend", "issend", "irecv", "send_init")
"""Ways to send a message there and back, the plain one first."""
LEAST_SPAN = 16
"""The largest size is so many times the smallest, so that a slope is one of bytes."""
ALIKE = 0.05
"""Medians this near, interval and all, are alike."""


@dataclass(frozen=True)
class Ratio:
    """One mode's median over the plain send's; the bounds are of the intervals' outer ends, and so
    wider than 95 %."""

    value: float
    low: float
    high: float

    @property
    def is_more(self) -> bool:
        return self.low > 1

    @property
    def is_alike(self) -> bool:
        return self.low <= 1 + ALIKE and self.high >= 1 - ALIKE and abs(self.value - 1) <= ALIKE


@dataclass(frozen=True)
class Modes:
    """Ways of sending at the sizes that a plain send was measured at too. ``medians`` by mode and
    size."""

    example: Point
    medians: Mapping[str, Mapping[int, Figure]]

    @property
    def sizes(self) -> list[int]:
        return sorted({size for own in self.medians.values() for size in own})

    def ratio(self, mode: str, size: int) -> Ratio | None:
        own, plain = self.medians.get(mode, {}).get(size), self.medians["send"].get(size)
        if own is None or plain is None or not plain.value:
            return None
        return Ratio(
            own.value / plain.value,
            (own.low or own.value) / (plain.high or plain.value),
            (own.high or own.value) / (plain.low or plain.value),
        )

    def best(self, size: int) -> str | None:
        """The mode whose interval lies below that of every other one; None where none does."""
        found = [(own[size].value, mode) for mode, own in self.medians.items() if size in own]
        if len(found) < 2:
            return None
        _, best = min(found)
        high = self.medians[best][size].high
        others = [
            own[size].low for mode, own in self.medians.items() if size in own and mode != best
        ]
        decided = high is not None and all(low is not None and low > high for low in others)
        return best if decided else None

    @property
    def rendezvous_from(self) -> tuple[int, int] | None:
        """The sizes between which a plain send begins to wait for the receiver: the largest at
        which it is faster than a synchronous one, and the next one, from which on it is alike
        everywhere. None where it never changes, or the intervals do not decide."""
        found = [(size, ratio) for size in self.sizes if (ratio := self.ratio("ssend", size))]
        eager = [size for size, ratio in found if ratio.is_more and not ratio.is_alike]
        if not eager:
            return None
        later = [(size, ratio) for size, ratio in found if size > eager[-1]]
        if not later or not all(ratio.is_alike for _, ratio in later):
            return None
        return eager[-1], later[0][0]

    @property
    def copy_ns_per_byte(self) -> float | None:
        """What a buffered send takes longer for each byte, one way: how much more at the largest
        size than at the smallest, over the bytes between. None where sizes are too near, or it is
        not slower at the largest one for certain."""
        sizes = [size for size in self.sizes if self.ratio("bsend", size) is not None]
        if not sizes or sizes[-1] < LEAST_SPAN * max(sizes[0], 1):
            return None
        ratio = self.ratio("bsend", sizes[-1])
        small, large = (self._extra_ns(size) for size in (sizes[0], sizes[-1]))
        if ratio is None or not ratio.is_more or large <= small:
            return None
        return (large - small) / 2 / (sizes[-1] - sizes[0])

    def _extra_ns(self, size: int) -> float:
        return self.medians["bsend"][size].value - self.medians["send"][size].value


def modes_of(run: Run, figures: Sequence[Figure]) -> list[Modes]:
    """Every shape in which a plain send was measured beside another mode."""
    medians = {figure.point: figure for figure in figures if figure.name == MEDIAN}
    points = [p for p in run.points if p.operation in MODES and p.id in medians]
    found = []
    for same in alike(points, OPERATION, SIZE):
        own: dict[str, dict[int, Figure]] = {}
        for point in same:
            by_size = own.setdefault(str(point.operation), {})
            by_size.setdefault(point.message_bytes, medians[point.id])
        if "send" in own and len(own) > 1:
            found.append(Modes(same[0], {mode: own[mode] for mode in MODES if mode in own}))
    return found
