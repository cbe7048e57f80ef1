"""netsonde beside itself: the same batches done in two ways, in turn."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from netsonde.stats.compare import RatioInterval
from netsonde.stats.quantiles import quantile_interval

Way = TypeVar("Way")
Value = TypeVar("Value")
MOST_PAIRS = 5000
CONFIDENCE = 0.95
_SCALES = {"bit_per_s": (1e6, "Mbit/s"), "ns": (1e3, "µs")}


@dataclass(frozen=True)
class Beside:
    """A figure of batches in one way (``first``) and in another (``second``).

    Medians over the pairs in ``unit`` (bit_per_s or ns), and the median of the pairs' ratios, first
    over second, with its 95 % interval by order statistics: what slows both batches of a pair down
    is not in it. ``reading_ns`` is what the counters cost an end in one batch, where the
    first way reads them.
    """

    title: str
    unit: str
    first: float
    second: float
    ratio: RatioInterval
    reading_ns: float | None = None

    def lies(self, low: float, high: float) -> bool | None:
        """Whether the ratio is between these; None where its interval leaves that open."""
        found = self.ratio
        if found.low is None or found.high is None:
            return None
        if low < found.low and found.high < high:
            return True
        return False if found.high <= low or found.low >= high else None


def in_turn(
    ways: Mapping[Way, Callable[[], Value]], seconds: float, draw: random.Random
) -> list[dict[Way, Value]]:
    """Rounds of one call of each way, their order drawn for each; at least one round."""
    rounds: list[dict[Way, Value]] = []
    end_s = time.monotonic() + seconds
    while not rounds or (time.monotonic() < end_s and len(rounds) < MOST_PAIRS):
        order = list(ways)
        draw.shuffle(order)
        rounds.append({way: ways[way]() for way in order})
    return rounds


def beside(
    title: str,
    unit: str,
    first: Sequence[float],
    second: Sequence[float],
    reading_ns: float | None = None,
) -> Beside:
    """The two ways of paired batches compared, one value above 0 for each batch."""
    ratios = np.asarray(first, np.float64) / np.asarray(second, np.float64)
    interval = quantile_interval(ratios, 0.5)
    ratio = RatioInterval(
        float(np.median(ratios)),
        interval.low if interval else None,
        interval.high if interval else None,
        CONFIDENCE,
        len(ratios),
    )
    return Beside(title, unit, float(np.median(first)), float(np.median(second)), ratio, reading_ns)


def line(found: Beside, met: bool | None) -> str:
    """For the terminal: both medians, the ratio with its interval, and whether the goal is met."""
    scale, unit = _SCALES[found.unit]
    ratio = found.ratio
    interval = "-" if ratio.low is None else f"{ratio.low:.3f}-{ratio.high:.3f}"
    word = {None: "not decided", True: "met", False: "missed"}[met]
    return (
        f"{found.title:<18}{found.first / scale:9.2f}{found.second / scale:9.2f} {unit:<7}"
        f"{ratio.ratio:6.3f} {interval:<13}{word}"
    )
