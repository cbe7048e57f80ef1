"""Figures of a host's clocks and sleeps, from a worker's samples (docs/methods/host.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netsonde.records.data import Scalar, Series
from netsonde.stats.quantiles import least_samples, quantile


@dataclass(frozen=True)
class Spread:
    """Of a series, in ns."""

    min_ns: float
    median_ns: float
    mean_ns: float
    p99_ns: float | None  # of fewer than 100 none
    max_ns: float


@dataclass(frozen=True)
class ClockFigures:
    """One clock. ``cost`` is None where it cannot be read, which ``absent_because`` explains.

    ``smallest_step_ns`` is None where no step was seen, or its unit has no constant length.
    """

    clock: str
    readings: int
    cost: Spread | None
    stated_resolution_ns: float | None
    smallest_step_ns: float | None
    steps: int
    steps_back: int
    absent_because: str | None


@dataclass(frozen=True)
class SleepFigures:
    """One sleep: what was asked of a call, and how long it lasted."""

    call: str
    asked_ns: int
    count: int
    slept: Spread

    @property
    def late_ns(self) -> float:
        """By how much the median sleep was longer than asked."""
        return self.slept.median_ns - self.asked_ns


@dataclass(frozen=True)
class ClockTable:
    """The clocks of a host. ``reading_ns``: what the worker's own clock alone costs, which is taken
    off every cost; ``own_clock``: which clock that is and why, as its hello says."""

    host: str
    architecture: str
    clock_source: str | None
    own_clock: Mapping[str, Scalar]
    reading_ns: float
    clocks: tuple[ClockFigures, ...]

    def clock(self, name: str) -> ClockFigures:
        """The figures of a clock by the worker's name for it."""
        return next(found for found in self.clocks if found.clock == name)


@dataclass(frozen=True)
class SleepTable:
    """The sleeps of a host, and the timer slack that they were slept with."""

    host: str
    timer_slack_ns: int
    sleeps: tuple[SleepFigures, ...]


def spread(samples: Series, taken_off_ns: float = 0.0) -> Spread:
    """The spread of samples, shape (n,), in ns, each less ``taken_off_ns`` but not below 0."""
    rest = (samples - taken_off_ns).clip(min=0.0)
    return Spread(
        float(rest.min()),
        quantile(rest, 0.5),
        float(rest.mean()),
        quantile(rest, 0.99) if len(rest) >= least_samples(0.99) else None,
        float(rest.max()),
    )


def clock_figures(
    clock: str, call_ns: Series, reading_ns: float, values: Mapping[str, Scalar]
) -> ClockFigures:
    """The figures of one clock.

    ``call_ns``, shape (n,): from before a reading to after it, by the worker's clock, of which each
    contains one reading; ``reading_ns``: what that costs; ``values``: those of the worker's `done`.
    """
    present = bool(values["present"])
    return ClockFigures(
        clock,
        len(call_ns),
        spread(call_ns, reading_ns) if present else None,
        _number(values, "stated_resolution_ns"),
        _number(values, "smallest_step_ns"),
        int(values["steps"]),
        int(values["steps_back"]),
        None if present else str(values.get("absent_because", "")),
    )


def _number(values: Mapping[str, Scalar], name: str) -> float | None:
    return float(values[name]) if name in values else None
