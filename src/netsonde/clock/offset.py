"""The offset between two clocks from bounds on it at some instants.

Every bound is certain: a message cannot arrive before it was sent. Between the instants both clocks
run at constant rates, so the offset is a line, and all lines within all bounds are possible. At any
instant the least and the greatest of them enclose the truth.

Source: S. B. Moon, P. Skelly, D. Towsley, Estimation and Removal of Clock Skew from Network Delay
Measurements, INFOCOM 1999: a linear program finds the line; here it is solved for both extremes,
in closed form over the corners of the bounds' convex hull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST_DRIFT = 2.5e-3
"""2500 ppm. Quartz stays below 100 ppm and Linux corrects by 500 at most, but it is the comparisons
that are to find the drift; this only bounds it where there are few."""


Reals = npt.NDArray[np.float64]
FEW_BOUNDS = 64
"""Of so many all pairs are looked at; of more, of those that a line can touch."""


@dataclass(frozen=True)
class OffsetBounds:
    """At at_ns of the first clock the second less the first was between low_ns and high_ns.

    Arrays of one length, in any order.
    """

    at_ns: npt.NDArray[np.int64]
    low_ns: npt.NDArray[np.int64]
    high_ns: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        if not len(self.at_ns) == len(self.low_ns) == len(self.high_ns) > 0:
            raise ValueError("bounds of an offset need times, least and greatest, of one length")


@dataclass(frozen=True)
class OffsetInterval:
    """What an offset was: between low_ns and high_ns. ``straight``: a line passes within all
    bounds; else a clock was set or changed its rate."""

    low_ns: float
    high_ns: float
    straight: bool = True

    @property
    def middle_ns(self) -> float:
        return (self.low_ns + self.high_ns) / 2

    @property
    def uncertainty_ns(self) -> float:
        """Half the width: the middle is wrong by no more."""
        return (self.high_ns - self.low_ns) / 2


def offset_at(bounds: OffsetBounds, at_ns: float, most_drift: float = MOST_DRIFT) -> OffsetInterval:
    """The offset at an instant of the first clock, in ns.

    Where no line fits (a clock was set meanwhile, or its rate changed), only the bound that is
    nearest in time is used, wider by what the drift may be.
    """
    # Small numbers: the clocks' own are too large for a solver's double precision.
    reference = int(bounds.low_ns[0])
    low = (bounds.low_ns - reference).astype(np.float64)
    high = (bounds.high_ns - reference).astype(np.float64)
    distance_s = (bounds.at_ns - np.int64(round(at_ns))).astype(np.float64) / 1e9
    if len(low) > FEW_BOUNDS:
        kept = _that_bound(low, high, distance_s)
        low, high, distance_s = low[kept], high[kept], distance_s[kept]
    ends = _extremes(low, high, distance_s, most_drift * 1e9)
    if ends is None:
        return _nearest(bounds, at_ns, most_drift)
    return OffsetInterval(ends[0] + reference, ends[1] + reference)


def _extremes(
    low: Reals, high: Reals, distance_s: Reals, steepest: float
) -> tuple[float, float] | None:
    """The least and the greatest value at distance 0 of lines that pass within all bounds, none of
    them steeper than ``steepest`` a second. None where there is no such line.

    Two conditions meet in each corner of what is possible, so the best of all pairs is exact.
    """
    apart = distance_s[None, :] - distance_s[:, None]  # of bound j after bound i
    follows = apart > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rises = np.where(follows, (high[None, :] - low[:, None]) / apart, np.inf)
        falls = np.where(follows, (low[None, :] - high[:, None]) / apart, -np.inf)
    together = (apart == 0) & (low[:, None] > high[None, :])
    least, most = max(-steepest, float(falls.max())), min(steepest, float(rises.min()))
    if together.any() or least > most:
        return None
    lowest = _highest(-high, -low, distance_s, steepest)
    return -lowest, _highest(low, high, distance_s, steepest)


def _highest(low: Reals, high: Reals, distance_s: Reals, steepest: float) -> float:
    """The greatest value at 0, where it is known that a line fits."""
    found = float((high + steepest * np.abs(distance_s)).min())
    here, there = distance_s[:, None], distance_s[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (high[:, None] * there - high[None, :] * here) / (there - here)
        beyond = (high[:, None] * there - low[None, :] * here) / (there - here)
    sides = (here <= 0) & (there > 0)
    farther = (here * there > 0) & (np.abs(there) > np.abs(here))
    if sides.any():
        found = min(found, float(between[sides].min()))
    if farther.any():
        found = min(found, float(beyond[farther].min()))
    return found


def _that_bound(low: Reals, high: Reals, distance_s: Reals) -> npt.NDArray[np.intp]:
    """The bounds that a line can touch: corners of the convex hull, of the least bounds from above
    and of the greatest from below. A line within these is within all."""
    kept = {*_lower_hull(distance_s, high), *_lower_hull(distance_s, -low)}
    return np.array(sorted(kept))


def _lower_hull(x: Reals, y: Reals) -> list[int]:
    """Source: A. Andrew, Information Processing Letters 9, 1979."""
    hull: list[int] = []
    xs, ys = x.tolist(), y.tolist()
    for place in np.lexsort((y, x)).tolist():
        while len(hull) > 1:
            a, b = hull[-2:]
            turn = (xs[b] - xs[a]) * (ys[place] - ys[a]) - (ys[b] - ys[a]) * (xs[place] - xs[a])
            if turn > 0.0:
                break
            hull.pop()
        hull.append(place)
    return hull


def _nearest(bounds: OffsetBounds, at_ns: float, most_drift: float) -> OffsetInterval:
    distance = np.abs(bounds.at_ns - at_ns)
    nearest = int(np.argmin(distance))
    drift = most_drift * float(distance[nearest])
    return OffsetInterval(
        float(bounds.low_ns[nearest]) - drift, float(bounds.high_ns[nearest]) + drift, False
    )
