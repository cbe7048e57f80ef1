"""Straight lines and broken lines through measurements, with intervals.

The time of a message is t(m) = t0 + m / B over a range of sizes m, and changes its t0 and B where
the protocol changes (eager, rendezvous). Errors of times are relative to the times, so lines over
sizes are fitted to relative errors; otherwise the largest size alone would decide.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share
from netsonde.stats.quantiles import Interval
from netsonde.stats.student import two_sided_reach

Errors = Literal["absolute", "relative"]

MOST_SEGMENTS = 5
LEAST_POINTS = 4
PENALTY = 2.0
ERROR_FLOOR = 1e-3
MISSED = 0.25
"""A line that misses a point by more than this share of it does not describe its points."""
_LARGEST_SEGMENTED = 2000  # the table of segment costs has this number squared entries
_REWEIGHTINGS = 4  # the weights no longer change in the fourth digit


@dataclass(frozen=True, slots=True)
class LineFit:
    """y = intercept + slope x. Units: intercept of y, slope of y per x, as their intervals.

    ``covariance`` is (var intercept, covariance, var slope). ``residual`` is the standard deviation
    of the errors, in the unit of y for absolute errors, relative to y for relative ones.
    ``r_squared`` is the share of the variation of y that the line explains, both weighted as in the
    fit; 0 where y does not vary.
    """

    intercept: float
    slope: float
    intercept_interval: Interval
    slope_interval: Interval
    covariance: tuple[float, float, float]
    residual: float
    r_squared: float
    n: int
    errors: Errors

    def at(self, x: npt.ArrayLike) -> FloatArray:
        """The line's y at x, shape (m,), unit of y."""
        return np.asarray(self.intercept + self.slope * np.asarray(x, np.float64), np.float64)


@dataclass(frozen=True, slots=True)
class Segment:
    """A line and the range of x that it was fitted to: low <= x <= high, unit of x. ``farthest`` is
    by how much, as a share, it misses the y that lies farthest from it."""

    low: float
    high: float
    line: LineFit
    farthest: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the line says something of its points: none of them is missed by more than
        ``MISSED``."""
        return self.farthest <= MISSED


@dataclass(frozen=True, slots=True)
class SegmentedFit:
    """Segments in rising order of x, and the criterion ``bic`` that chose their number.

    A break lies between the high end of a segment and the low end of the next; the data cannot say
    where in between. The intervals of each line hold for given breaks.
    """

    segments: tuple[Segment, ...]
    bic: float

    @property
    def breaks(self) -> tuple[tuple[float, float], ...]:
        """For each break, the x below and the x above it that were measured."""
        pairs = pairwise(self.segments)
        return tuple((left.high, right.low) for left, right in pairs)

    def at(self, x: npt.ArrayLike) -> FloatArray:
        """The y of the segment that x lies in, shape (m,); between two, that of the left one."""
        places = np.asarray(x, np.float64)
        starts = [segment.low for segment in self.segments[1:]]
        which = np.searchsorted(np.asarray(starts), places, side="right")
        lines = [segment.line for segment in self.segments]
        intercepts = np.array([line.intercept for line in lines])
        slopes = np.array([line.slope for line in lines])
        return np.asarray(intercepts[which] + slopes[which] * places, np.float64)


@dataclass(frozen=True, slots=True)
class TransferParameters:
    """Hockney's parameters of t(m) = t0 + m / B, from a line over bytes and nanoseconds.

    ``half_performance_bytes`` is n_1/2 = t0 B, the size at which half of B is reached. An interval
    is None where it is not bounded (a slope that may be 0).
    """

    bandwidth_bit_per_s: float
    bandwidth_interval: Interval | None
    half_performance_bytes: float
    half_performance_interval: Interval | None


def fit_line(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    errors: Errors = "absolute",
    confidence: float = 0.95,
) -> LineFit:
    """The least-squares line through points, shapes (n,) and (n,), n >= 3.

    ``absolute``: errors of equal size, ordinary least squares. ``relative``: errors in proportion
    to y > 0; weights 1 / (fitted y)^2, iterated from 1 / y^2, because weights from the measured y
    favour the points that happen to lie low. Intervals are Student's t with n - 2 degrees of
    freedom, so errors must be independent; they are exact for normal errors and usable for medians.

    Sources: Draper and Smith, Applied Regression Analysis, 3rd edition 1998, sections 1.4 and 9.2;
    Carroll and Ruppert, Transformation and Weighting in Regression 1988, section 2.1 (iterated
    weights). Raises ``ValueError`` for unequal shapes, n < 3, all x equal, or relative y <= 0.
    """
    xs, ys = _points(x, y, errors)
    check_share("confidence", confidence)
    if np.ptp(xs) == 0.0:
        raise ValueError("all x are equal; a line needs two different ones")
    weights = np.ones(xs.size) if errors == "absolute" else ys**-2.0
    solution = _solve(xs, ys, weights)
    if errors == "relative":
        for _ in range(_REWEIGHTINGS):
            fitted = solution[0] + solution[1] * xs
            # A line that turns negative at a point says nothing about its error: keep y there.
            weights = np.where(fitted > 0.0, fitted, ys) ** -2.0
            solution = _solve(xs, ys, weights)
    return _with_intervals(xs, ys, weights, solution, errors, confidence)


def fit_segments(x: npt.ArrayLike, y: npt.ArrayLike) -> SegmentedFit:
    """The broken line through points, shapes (n,) and (n,), 3 <= n <= 2000; segments need not join.

    Errors are relative to y. For every number of segments up to ``MOST_SEGMENTS`` the breaks with
    the least sum of squares are found by dynamic programming over all breaks between different x,
    each segment holding ``LEAST_POINTS`` points (4: a line and two degrees of freedom). The number
    is chosen by BIC = n ln(RSS / n) + ``PENALTY`` p ln n with p = 3 k - 1 for k segments (two per
    line, one per break). A penalty of 1 is the plain criterion, which breaks a straight line of 20
    points in 3 of 10 cases; 2 does so in less than 1 of 100 and still finds changes of protocol.
    ``ERROR_FLOOR`` is the least believed error: no measurement repeats better than 0.1 %, and
    without it data without noise would be broken anywhere. x of any order; points may repeat an x.

    Sources: Bai and Perron, Computation and Analysis of Multiple Structural Change Models, Journal
    of Applied Econometrics 2003, section 3 (dynamic programming); Yao, Estimating the Number of
    Change-Points via Schwarz' Criterion, Statistics and Probability Letters 1988 (BIC). Raises
    ``ValueError`` as :func:`fit_line` does, and for more points.
    """
    xs, ys = _points(x, y, "relative")
    if xs.size > _LARGEST_SEGMENTED:
        raise ValueError(f"{xs.size} points given; at most {_LARGEST_SEGMENTED}: take medians")
    order = np.argsort(xs, kind="stable")
    xs, ys = xs[order], ys[order]
    n = xs.size
    costs = _segment_costs(xs, ys)
    best: tuple[float, list[int]] = (math.inf, [0])
    for count, (cost, starts) in enumerate(_best_partitions(costs), start=1):
        error = max(cost / n, ERROR_FLOOR**2)
        bic = n * math.log(error) + PENALTY * (3 * count - 1) * math.log(n)
        # A criterion that is not lower by more than rounding is not lower.
        if best[0] == math.inf or bic < best[0] - 1e-9 * n:
            best = (bic, starts)
    bounds = [*best[1], n]
    segments = []
    for begin, end in pairwise(bounds):
        line = fit_line(xs[begin:end], ys[begin:end], errors="relative")
        farthest = float(np.max(np.abs(line.at(xs[begin:end]) / ys[begin:end] - 1.0)))
        segments.append(Segment(float(xs[begin]), float(xs[end - 1]), line, farthest))
    return SegmentedFit(tuple(segments), best[0])


def transfer_parameters(line: LineFit) -> TransferParameters:
    """Asymptotic bandwidth and n_1/2 of a line over bytes (x) and nanoseconds (y).

    B = 1 / slope, its interval the inverted interval of the slope; n_1/2 = t0 / slope with
    Fieller's interval, which takes the correlation of both into account. Take the last segment for
    the asymptotic bandwidth. Sources: Hockney, The Communication Challenge for MPP, Parallel
    Computing 1994, equations 1-4; Fieller, Some Problems in Interval Estimation, JRSS B 1954.
    Raises ``ValueError`` for a slope <= 0: such a line has no bandwidth.
    """
    if not line.slope > 0.0:
        raise ValueError(
            f"the slope is {line.slope} ns per byte; a bandwidth needs a time that grows with size:"
            " measure larger sizes"
        )
    slope = line.slope_interval
    bandwidth = None
    if slope.low > 0.0:
        bandwidth = Interval(8e9 / slope.high, 8e9 / slope.low, slope.confidence)
    return TransferParameters(
        bandwidth_bit_per_s=8e9 / line.slope,
        bandwidth_interval=bandwidth,
        half_performance_bytes=line.intercept / line.slope,
        half_performance_interval=_fieller(line),
    )


def _points(x: npt.ArrayLike, y: npt.ArrayLike, errors: Errors) -> tuple[FloatArray, FloatArray]:
    xs, ys = as_samples(x, least=3), as_samples(y, least=3)
    if xs.size != ys.size:
        raise ValueError(f"{xs.size} x and {ys.size} y given; a point needs one of each")
    if errors == "relative" and ys.min() <= 0.0:
        raise ValueError("a y is 0 or less; relative errors need positive values")
    return xs, ys


def _solve(xs: FloatArray, ys: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Intercept and slope; x is centred first, which keeps large sizes from losing digits."""
    total = float(weights.sum())
    middle_x, middle_y = float(weights @ xs) / total, float(weights @ ys) / total
    away = xs - middle_x
    slope = float(weights @ (away * (ys - middle_y))) / float(weights @ away**2)
    return middle_y - slope * middle_x, slope


def _with_intervals(
    xs: FloatArray,
    ys: FloatArray,
    weights: FloatArray,
    solution: tuple[float, float],
    errors: Errors,
    confidence: float,
) -> LineFit:
    intercept, slope = solution
    free = xs.size - 2
    unexplained = float(weights @ (ys - intercept - slope * xs) ** 2)
    variance = unexplained / free
    total = float(weights.sum())
    variation = float(weights @ (ys - float(weights @ ys) / total) ** 2)
    middle = float(weights @ xs) / total
    spread = float(weights @ (xs - middle) ** 2)
    var_slope = variance / spread
    var_intercept = variance / total + middle**2 * var_slope
    reach = two_sided_reach(confidence, free)
    wide, steep = reach * math.sqrt(var_intercept), reach * math.sqrt(var_slope)
    return LineFit(
        intercept,
        slope,
        Interval(intercept - wide, intercept + wide, confidence),
        Interval(slope - steep, slope + steep, confidence),
        (var_intercept, -middle * var_slope, var_slope),
        math.sqrt(variance),
        max(0.0, 1.0 - unexplained / variation) if variation > 0.0 else 0.0,
        xs.size,
        errors,
    )


def _segment_costs(xs: FloatArray, ys: FloatArray) -> FloatArray:
    """Weighted sums of squares of the lines through points i..j-1, shape (n + 1, n + 1).

    Infinite where a segment is too short, has one x only, or would part points of equal x.
    """
    n = xs.size
    weights = ys**-2.0
    costs = np.full((n + 1, n + 1), np.inf)
    new_x = np.r_[True, xs[1:] != xs[:-1], True]
    for begin in np.flatnonzero(new_x[:-1]):
        # Sums from this point on, about this point: no digits are lost to a distant origin.
        w, x, y = weights[begin:], xs[begin:] - xs[begin], ys[begin:] - ys[begin]
        s, sx, sy = np.cumsum(w), np.cumsum(w * x), np.cumsum(w * y)
        sxx, sxy, syy = np.cumsum(w * x * x), np.cumsum(w * x * y), np.cumsum(w * y * y)
        vxx, vxy, vyy = sxx - sx * sx / s, sxy - sx * sy / s, syy - sy * sy / s
        rest = np.full(n - begin, np.inf)
        usable = (vxx > 1e-12 * sxx) & new_x[begin + 1 :] & (sxx > 0.0)
        rest[usable] = np.maximum(vyy[usable] - vxy[usable] ** 2 / vxx[usable], 0.0)
        rest[: LEAST_POINTS - 1] = np.inf
        costs[begin, begin + 1 :] = rest
    if not np.isfinite(costs[0, n]):  # too few points for one segment
        line = _solve(xs, ys, weights)
        costs[0, n] = float(weights @ (ys - line[0] - line[1] * xs) ** 2)
    return costs


def _best_partitions(costs: FloatArray) -> list[tuple[float, list[int]]]:
    """For 1, 2, ... segments, the least cost and the index at which each segment begins."""
    n = costs.shape[0] - 1
    reached = costs[0].copy()  # least cost of points 0..j-1 in the current number of segments
    begins = [np.zeros(n + 1, np.intp)]
    found = [(float(reached[n]), [0])]
    for _ in range(1, MOST_SEGMENTS):
        through = reached[:, None] + costs
        begins.append(np.argmin(through, axis=0))
        reached = through.min(axis=0)
        if not np.isfinite(reached[n]):
            break
        starts, end = [], n
        for begin in reversed(begins):
            end = int(begin[end])
            starts.append(end)
        found.append((float(reached[n]), starts[::-1]))
    return found


def _fieller(line: LineFit) -> Interval | None:
    """Interval of intercept / slope; None where the slope is not clearly above 0."""
    confidence = line.slope_interval.confidence
    reach = two_sided_reach(confidence, line.n - 2)
    var_a, cov, var_b = line.covariance
    g = reach**2 * var_b / line.slope**2
    if g >= 1.0:
        return None
    ratio = line.intercept / line.slope
    if var_b == 0.0:
        return Interval(ratio, ratio, confidence)
    inside = var_a - 2.0 * ratio * cov + ratio**2 * var_b - g * (var_a - cov**2 / var_b)
    half = reach / abs(line.slope) * math.sqrt(max(inside, 0.0))
    middle = ratio - g * cov / var_b
    return Interval((middle - half) / (1.0 - g), (middle + half) / (1.0 - g), confidence)
