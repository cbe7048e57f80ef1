"""Predictions beside measurements: errors with intervals, their median, and what to blame.

Times in ns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from netsonde.model.foretold import MOSTLY, Foretold
from netsonde.stats.quantiles import Interval, quantile_interval

WITHIN = 0.05
"""An error of so much at most is none worth a word."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One prediction and what was measured: ``low`` and ``high`` bound the latter, None where too
    few samples do. ``beyond`` are symbols whose values were extrapolated. ``late``: the emulated
    network did not keep time meanwhile, so that it counts in no median. ``quantiles``: share ->
    (predicted, measured), where a distribution was foretold."""

    test: str
    what: str
    size_bytes: int
    ranks: int
    foretold: Foretold
    measured_ns: float
    low_ns: float | None
    high_ns: float | None
    beyond: tuple[str, ...] = ()
    late: bool = False
    quantiles: Mapping[float, tuple[float, float]] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """Measured over predicted, less 1."""
        return self.measured_ns / self.foretold.time_ns - 1.0

    @property
    def error_interval(self) -> tuple[float, float] | None:
        """By the interval of what was measured alone."""
        if self.low_ns is None or self.high_ns is None:
            return None
        return (
            self.low_ns / self.foretold.time_ns - 1.0,
            self.high_ns / self.foretold.time_ns - 1.0,
        )

    @property
    def is_misfit(self) -> bool:
        """Certainly more than 5 % beside it; without an interval, by its value."""
        low, high = self.error_interval or (self.error, self.error)
        return low > WITHIN or high < -WITHIN

    @property
    def blamed(self) -> str:
        """The term that weighs most, and how much; of several that share it, all of them."""
        share = self.foretold.terms[self.foretold.largest] / self.foretold.time_ns
        if share >= MOSTLY:
            return f"{self.foretold.largest} ({share:.0%} of it)"
        big = sorted(self.foretold.terms, key=lambda name: -self.foretold.terms[name])[:2]
        return " and ".join(big)


@dataclass(frozen=True, slots=True)
class Score:
    """All predictions; ``notes`` say what could not be foretold."""

    items: tuple[Scored, ...]
    notes: tuple[str, ...] = ()

    @property
    def counted(self) -> list[Scored]:
        """Those whose network was the one that was asked for; all where none was."""
        return [one for one in self.items if not one.late] or list(self.items)

    @property
    def median_error(self) -> float:
        """Of the errors' sizes."""
        return float(np.median([abs(one.error) for one in self.counted])) if self.items else 0.0

    @property
    def median_interval(self) -> Interval | None:
        """Of that median, by order statistics."""
        return quantile_interval(np.array([abs(one.error) for one in self.counted]), 0.5)

    @property
    def misfits(self) -> list[Scored]:
        """Of those that count."""
        return [one for one in self.counted if one.is_misfit]

    @property
    def blamed(self) -> list[tuple[str, int]]:
        """Terms of misfits, the most often blamed first."""
        return Counter(one.foretold.largest for one in self.misfits).most_common()

    def of_tests(self) -> dict[str, Sequence[Scored]]:
        """By test, in the order in which they came."""
        found: dict[str, list[Scored]] = {}
        for one in self.items:
            found.setdefault(one.test, []).append(one)
        return dict(found)
