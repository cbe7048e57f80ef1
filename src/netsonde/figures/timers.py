"""MPI's timer beside the clock around the same calls, and what a reading of the timer takes
(docs/methods/timers.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.records.data import Point, Run
from netsonde.records.timer import costs_ns
from netsonde.stats.means import mean_interval
from netsonde.stats.modes import find_modes
from netsonde.stats.quantiles import quantile_interval

WTIME = "wtime_duration_ns"
ALIKE = 0.01
"""Timers agree within so much of the mean, or a step of the coarser one where that is more."""
LEAST_SHARE = 0.01
"""Samples near a peak, of all, that its shift is told of."""
Times = npt.NDArray[np.float64]
Agreement = Literal["agree", "differ", "open"]


@dataclass(frozen=True)
class PeakShift:
    """A peak of the clock's times, and how far the same calls lie by MPI_Wtime: the median of their
    differences with its interval, ns. ``wtime_ns``: MPI_Wtime's own nearest peak."""

    clock_ns: float
    wtime_ns: float
    share: float
    shift_ns: float
    low_ns: float | None
    high_ns: float | None


@dataclass(frozen=True)
class Timers:
    """Times of the same calls by both timers, of all ranks that made any, ns."""

    clock_ns: Times
    wtime_ns: Times

    @property
    def differences_ns(self) -> Times:
        """MPI_Wtime's less the clock's, call by call."""
        return self.wtime_ns - self.clock_ns

    @property
    def allowed_ns(self) -> float:
        """So far apart they may be, steps left out."""
        return ALIKE * float(self.clock_ns.mean())

    def mean_difference_interval_ns(self) -> tuple[float, float] | tuple[None, None]:
        """Of the mean of the differences; none of too few calls."""
        found = mean_interval(self.differences_ns)
        return (found.low, found.high) if found else (None, None)

    def shared(self, step_ns: float) -> float:
        """The share of both histograms that lies in common, 0 to 1; bins are as wide as a step, and
        as a hundredth of the median."""
        width = max(step_ns, ALIKE * float(np.median(self.clock_ns)), 1.0)
        both = [
            np.floor(times / width).astype(np.int64) for times in (self.clock_ns, self.wtime_ns)
        ]
        places, owner = np.unique(np.concatenate(both), return_inverse=True)
        heights = [
            np.bincount(part, minlength=len(places)) / len(own)
            for part, own in zip(np.split(owner, [len(both[0])]), both, strict=True)
        ]
        return float(np.minimum(*heights).sum())

    def peaks(self) -> list[PeakShift]:
        """Those of the clock's times, in rising order."""
        own = np.array([mode.location for mode in find_modes(self.clock_ns)])
        other = np.array([mode.location for mode in find_modes(self.wtime_ns)])
        edges = np.sqrt(own[:-1] * own[1:])
        home = np.searchsorted(edges, self.clock_ns)
        found = []
        for place, location in enumerate(own):
            shifts = self.differences_ns[home == place]
            share = len(shifts) / len(home)
            if share < LEAST_SHARE:
                continue
            interval = quantile_interval(np.sort(shifts), 0.5, presorted=True)
            found.append(
                PeakShift(
                    float(location),
                    float(other[np.abs(other - location).argmin()]),
                    share,
                    float(np.median(shifts)),
                    interval.low if interval else None,
                    interval.high if interval else None,
                )
            )
        return found


def timers_of(point: Point) -> Timers | None:
    """None where a point was measured by one timer only."""
    pairs = [
        (end.series["duration_ns"], end.series[WTIME])
        for rank in sorted({rank for batch in point.batches for rank in batch.ends})
        for batch in point.batches
        if (end := batch.ends.get(rank)) is not None and WTIME in end.series
    ]
    if not pairs:
        return None
    clock, wtime = (np.concatenate(parts).astype(np.float64) for parts in zip(*pairs, strict=True))
    return Timers(clock, wtime)


def step_ns(run: Run, point: Point) -> float:
    """The larger step of both timers, of the worst host, as the hosts say; 0 where they do not."""
    hosts = {end.host for batch in point.batches for end in batch.ends.values()}
    told = [run.host_facts(host).get(n) for host in hosts for n in _STEPS]
    return max((float(value) for value in told if isinstance(value, int | float)), default=0.0)


_STEPS = ("mpi.wtick_ns", "clock_resolution_ns")


def agreement(timers: Timers, coarser_step_ns: float) -> Agreement:
    """Of the means and of every peak: all intervals within what is allowed, or one wholly outside
    of it; else it is open."""
    allowed = max(timers.allowed_ns, coarser_step_ns)
    ends: list[tuple[float | None, float | None]] = [timers.mean_difference_interval_ns()]
    ends += [(peak.low_ns, peak.high_ns) for peak in timers.peaks()]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if any(low > allowed or high < -allowed for low, high in known):
        return "differ"
    inside = all(-allowed <= low and high <= allowed for low, high in known)
    return "agree" if inside and len(known) == len(ends) else "open"


def timer_figures(maker: Maker) -> list[Figure]:
    """Of a point with both timers how they differ; of one whose timer's cost was measured, that."""
    figures = []
    costs = costs_ns(end for batch in maker.point.batches for end in batch.ends.values())
    if len(costs):
        figures.append(maker.quantile("timer_overhead_ns", costs, 0.5))
    timers = timers_of(maker.point)
    if timers is None:
        return figures
    apart = maker.mean("timers_mean_difference_ns", timers.differences_ns)
    figures.append(apart)
    peaks = timers.peaks()
    if peaks:
        worst = max(peaks, key=lambda peak: abs(peak.shift_ns))
        figures.append(
            maker.figure(
                "timers_peak_difference_ns",
                worst.shift_ns,
                len(timers.clock_ns),
                worst.low_ns,
                worst.high_ns,
            )
        )
    shared = timers.shared(0.0)
    figures.append(maker.figure("timers_shared_ratio", shared, len(timers.clock_ns)))
    return figures
