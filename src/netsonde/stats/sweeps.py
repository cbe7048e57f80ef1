"""Curves of a time over message sizes: how even they are, where they break, fall and cross.

The time of a message is t(m) = t0 + m / B within one protocol, so between two sizes of one protocol
a straight line over (m, t) is exact: the "local line" of this module. In (log m, log t) the same
curve is bent, by up to 6 % between sizes that differ by a factor of two.

Times are in ns, sizes in bytes, throughput is 8e9 m / t in bit/s. Errors are relative standard
errors of the times. All decisions are made at ``DECIDED`` standard errors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples

DECIDED = 5.0
"""Standard errors that decide. A curve of 60 sizes has 1770 pairs, and its scatter is estimated
from the curve itself: by simulation 5 keeps false dips of even curves below 1 in 50."""
CHORD_SPAN = 8.0
"""A straight line in (log, log) over more than this from size to size would bridge whole protocols;
a size that is measured at every power of two has neighbours a factor of 4 apart."""
SUSPECTED = 3.0
"""Standard errors at which a gap is worth another size: a false suspicion costs one point."""
LEAST_SIZES = 6
"""Fewer sizes are no curve: its scatter could not be told from its shape."""
LEAST_DEPTH = 0.02
"""Dips, falls and breaks of less than this share are of no use to anybody, however certain."""
_NORMAL_MAD = 1.4826  # of the median absolute deviation to the standard deviation


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """Times over rising sizes > 0, shapes (n,): bytes, ns > 0, relative standard errors >= 0."""

    sizes: FloatArray
    times: FloatArray
    errors: FloatArray

    @property
    def rates(self) -> FloatArray:
        """Throughput in bit/s, shape (n,)."""
        return np.asarray(8e9 * self.sizes / self.times, np.float64)


@dataclass(frozen=True, slots=True)
class Dip:
    """Sizes at which throughput lies below what was reached at smaller and at larger ones.

    Bytes: ``before`` is the last size before the fall, ``first`` the first in the dip, ``bottom``
    the deepest, ``after`` the first behind it; None where throughput never came back (a fall).
    ``depth`` is the share of the throughput that is missing at the bottom, with its 95 % interval
    ``depth_low`` to ``depth_high``.
    """

    before: float
    first: float
    bottom: float
    after: float | None
    depth: float
    depth_low: float
    depth_high: float


@dataclass(frozen=True, slots=True)
class Crossover:
    """Two curves cross between the sizes ``low`` and ``high``, in bytes; ``size`` is interpolated.

    Below, the first is faster where ``first_leads``, and the second above; else the other way
    round. ``lead_below`` and ``lead_above`` are the ratios of the times, > 1, at low and high.
    """

    size: float
    low: float
    high: float
    first_leads: bool
    lead_below: float
    lead_above: float


@dataclass(frozen=True, slots=True)
class Unevenness:
    """A size that differs from those a few bytes beside it: ``step_down`` and ``step_up`` are log
    ratios of its time to that of the smaller, and of the larger one's to its own."""

    size: float
    below: float
    above: float
    step_down: float
    step_up: float
    decided_down: bool
    decided_up: bool


def size_curve(
    sizes: npt.ArrayLike, times: npt.ArrayLike, errors: npt.ArrayLike | None = None
) -> SizeCurve:
    """A curve of checked arrays, shapes (n,); without errors, they are taken to be 0.

    Raises ``ValueError`` for unequal shapes, sizes that are not positive and rising, times that are
    not positive, errors that are negative.
    """
    x, y = as_samples(sizes), as_samples(times)
    e = np.zeros(x.size) if errors is None else as_samples(errors)
    if not x.size == y.size == e.size:
        raise ValueError(f"{x.size} sizes, {y.size} times and {e.size} errors given")
    if x.size and (x[0] <= 0.0 or (np.diff(x) <= 0.0).any()):
        raise ValueError("sizes must be positive and rise")
    if x.size and (y.min() <= 0.0 or e.min() < 0.0):
        raise ValueError("times must be positive, errors must not be negative")
    return SizeCurve(x, y, e)


def local_residuals(curve: SizeCurve) -> tuple[FloatArray, FloatArray]:
    """Logs of the times over the local lines through their two neighbours, shape (n,), 0 at the
    ends; and the matrix, shape (n, n), that makes them of the relative errors of the times."""
    n = curve.sizes.size
    residuals, makes = np.zeros(n), np.zeros((n, n))
    for i in range(1, n - 1):
        left, right = curve.sizes[i - 1], curve.sizes[i + 1]
        share = (curve.sizes[i] - left) / (right - left)
        parts = (1.0 - share) * curve.times[i - 1], share * curve.times[i + 1]
        line = parts[0] + parts[1]
        residuals[i] = math.log(curve.times[i] / line)
        makes[i, i - 1 : i + 2] = -parts[0] / line, 1.0, -parts[1] / line
    return residuals, makes


def scatter(curve: SizeCurve) -> float:
    """By how much times at neighbouring sizes differ for no reason: a relative standard deviation.

    From the median of the residuals about the local lines, which a few breaks do not move. It holds
    what intervals of single points do not: that the next connection would have been another one.
    0 for fewer than 4 sizes.
    """
    residuals, makes = local_residuals(curve)
    if curve.sizes.size < 4:
        return 0.0
    gains = np.sqrt((makes[1:-1] ** 2).sum(axis=1))
    return float(_NORMAL_MAD * np.median(np.abs(residuals[1:-1]) / gains))


def with_scatter(curve: SizeCurve) -> SizeCurve:
    """The curve with no error smaller than its scatter."""
    return SizeCurve(curve.sizes, curve.times, np.maximum(curve.errors, scatter(curve)))


def broken_gaps(curve: SizeCurve, decided: float = SUSPECTED) -> list[tuple[float, float]]:
    """Neighbouring sizes between which the curve breaks, the clearest break first.

    Residuals about the local lines jump across a break, and change once on either side of a kink or
    of a single odd size. A gap counts where the residuals of its ends differ by ``decided``
    standard errors and by ``LEAST_DEPTH``, and by more than 3/4 of what they do across the gaps
    beside it: so a jump is one gap, and an odd size two. Fewer than ``LEAST_SIZES`` sizes have
    none.
    """
    if curve.sizes.size < LEAST_SIZES:
        return []
    curve = with_scatter(curve)
    residuals, makes = local_residuals(curve)
    jumps = np.abs(np.diff(residuals))
    errors = np.sqrt(np.diff(makes, axis=0) ** 2 @ curve.errors**2)
    beside = np.maximum(np.r_[0.0, jumps[:-1]], np.r_[jumps[1:], 0.0])
    found = np.flatnonzero(
        (jumps > decided * errors) & (jumps > LEAST_DEPTH) & (jumps > 0.75 * beside)
    )
    found = found[np.argsort(-jumps[found], kind="stable")]
    return [(float(curve.sizes[i]), float(curve.sizes[i + 1])) for i in found]


def find_dips(curve: SizeCurve, decided: float = DECIDED) -> list[Dip]:
    """Where throughput falls below its envelope, and a fall from which it does not come back.

    The envelope at a size is the most of what pairs of a smaller and a larger size promise for it.
    Any pair promises the lesser of its two throughputs (as water stands in a valley); a pair that
    is no more than a factor of ``CHORD_SPAN`` apart, the straight line between them in (log m, log
    throughput) as well, which no curve t0 + m / B falls below. Sizes that lie ``decided`` standard
    errors below a promise are in a dip, neighbouring ones in the same. Its depth is the share that
    is missing of the local line through the sizes beside the dip, where that is largest.

    A fall is what follows the last size within reach of the best throughput, where all larger ones
    lie below it; its ``after`` is None. Dips and falls of less than ``LEAST_DEPTH`` and those of
    curves of fewer than ``LEAST_SIZES`` sizes are left out.

    Each of n sizes is held against all pairs around it, n^3 / 6 promises: whether one decides
    depends on the errors of all three, so that no envelope of the best pairs stands for them. Of
    60 sizes that takes 6 ms, of 200 83 ms.
    """
    if curve.sizes.size < LEAST_SIZES:
        return []
    curve = with_scatter(curve)
    low = np.array([_is_below_envelope(curve, i, decided) for i in range(curve.sizes.size)])
    found = [_dip(curve, begin, end) for begin, end in _runs(low)]
    fall = _fall(curve, decided)
    dips = [dip for dip in found if dip.depth >= LEAST_DEPTH]
    if fall is None:
        return dips
    return [*(dip for dip in dips if dip.before != fall.before), fall]  # its edge is no dip


def find_crossovers(
    first: SizeCurve, second: SizeCurve, decided: float = DECIDED
) -> list[Crossover]:
    """Where the faster of two curves changes, over the sizes that both have.

    A lead counts where the times differ by ``decided`` standard errors and by ``LEAST_DEPTH``. Two
    leads of different sign with none in between enclose a crossing; its place is where the log
    ratio of the times, straight over log m between the sizes in between, passes 0 (the middle one
    of several).
    """
    sizes, mine, others = np.intersect1d(first.sizes, second.sizes, return_indices=True)
    a, b = with_scatter(first), with_scatter(second)
    ratios = np.log(a.times[mine] / b.times[others])
    errors = np.hypot(a.errors[mine], b.errors[others])
    leads = np.flatnonzero((np.abs(ratios) > decided * errors) & (np.abs(ratios) > LEAST_DEPTH))
    return [
        Crossover(
            _zero_place(sizes[i : j + 1], ratios[i : j + 1]),
            float(sizes[i]),
            float(sizes[j]),
            bool(ratios[i] < 0.0),
            math.exp(abs(float(ratios[i]))),
            math.exp(abs(float(ratios[j]))),
        )
        for i, j in pairwise(leads)
        if ratios[i] * ratios[j] < 0.0
    ]


def find_unevenness(
    triples: Sequence[tuple[SizeCurve, float]], decided: float = DECIDED
) -> list[Unevenness]:
    """Sizes whose times differ from those of sizes a few bytes beside them.

    Each triple is a curve of three neighbouring sizes, and what the curve as a whole lets the time
    grow by for a byte (ns per byte), which is taken off. The scatter is that of all triples: of at
    least ``LEAST_SIZES``, or nothing is decided.
    """
    if len(triples) < LEAST_SIZES:
        return []
    steps = np.array([_steps(curve, growth) for curve, growth in triples])
    spread = float(_NORMAL_MAD * np.median(np.abs(np.diff(steps, axis=1))) / math.sqrt(6.0))
    found = []
    for (curve, _), (down, up) in zip(triples, steps.tolist(), strict=True):
        errors = np.maximum(curve.errors, spread)
        limits = [max(decided * float(np.hypot(*pair)), LEAST_DEPTH) for pair in pairwise(errors)]
        decisions = abs(down) > limits[0], abs(up) > limits[1]
        if any(decisions):
            below, size, above = curve.sizes.tolist()
            found.append(Unevenness(size, below, above, down, up, *decisions))
    return found


def saturation_bytes(curve: SizeCurve, level_bit_per_s: float) -> float | None:
    """The size from which on throughput stays at or above a level.

    Between two sizes times are taken to lie on the local line. The least size where throughput
    always does, None where that of the largest does not.
    """
    below = np.flatnonzero(curve.rates < level_bit_per_s)
    if not curve.sizes.size or (below.size and below[-1] == curve.sizes.size - 1):
        return None
    if not below.size:
        return float(curve.sizes[0])
    i = int(below[-1])
    slope = float(np.diff(curve.times)[i] / np.diff(curve.sizes)[i])
    start_up = float(curve.times[i]) - slope * float(curve.sizes[i])
    return start_up / (8e9 / level_bit_per_s - slope)  # where 8e9 m / (start_up + slope m) is it


def _is_below_envelope(curve: SizeCurve, i: int, decided: float) -> bool:
    """Whether the throughput of size i is less than some pair of sizes around it promises."""
    if i in (0, curve.sizes.size - 1):
        return False
    places, logs, variances = np.log(curve.sizes), np.log(curve.rates), curve.errors**2
    left, right = np.meshgrid(np.arange(i), np.arange(i + 1, curve.sizes.size), indexing="ij")
    share = (places[i] - places[left]) / (places[right] - places[left])
    is_near = places[right] - places[left] <= math.log(CHORD_SPAN)
    lesser = np.where(logs[left] < logs[right], 0.0, 1.0)
    for part, usable in ((lesser, np.ones_like(is_near)), (share, is_near)):
        missing = (1.0 - part) * logs[left] + part * logs[right] - logs[i]
        error = np.sqrt(
            (1.0 - part) ** 2 * variances[left] + part**2 * variances[right] + variances[i]
        )
        if (usable & (missing > decided * error)).any():
            return True
    return False


def _runs(which: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(first, last) of each run of true values."""
    edges = np.flatnonzero(np.diff(np.r_[False, which, False]))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _dip(curve: SizeCurve, begin: int, end: int) -> Dip:
    """The dip of sizes begin..end, its depth against the local line through those beside it."""
    inside, left, right = slice(begin, end + 1), begin - 1, end + 1
    share = (curve.sizes[inside] - curve.sizes[left]) / (curve.sizes[right] - curve.sizes[left])
    parts = (1.0 - share) * curve.times[left], share * curve.times[right]
    missing = np.log(curve.times[inside] / (parts[0] + parts[1]))
    at = int(np.argmax(missing))
    weights = parts[0][at] / (parts[0] + parts[1])[at]
    error = math.hypot(
        curve.errors[begin + at],
        weights * curve.errors[left],
        (1.0 - weights) * curve.errors[right],
    )
    return Dip(
        float(curve.sizes[left]),
        float(curve.sizes[begin]),
        float(curve.sizes[begin + at]),
        float(curve.sizes[right]),
        *_depth(float(missing[at]), error),
    )


def _fall(curve: SizeCurve, decided: float) -> Dip | None:
    """From the last size that is within reach of the best, if all larger ones lie below it."""
    logs = np.log(curve.rates)
    best, last = int(np.argmax(logs)), logs.size - 1
    missing = logs[best] - logs
    errors = np.hypot(curve.errors, curve.errors[best])
    is_low = (missing > decided * errors) & (missing > -math.log1p(-LEAST_DEPTH))
    if not is_low[last]:
        return None
    first = int(np.flatnonzero(~is_low)[-1]) + 1
    bottom = first + int(np.argmax(missing[first:]))
    return Dip(
        float(curve.sizes[first - 1]),
        float(curve.sizes[first]),
        float(curve.sizes[bottom]),
        None,
        *_depth(float(missing[bottom]), float(errors[bottom])),
    )


def _depth(missing: float, error: float) -> tuple[float, float, float]:
    """Shares of log ratios: the depth and its 95 % interval."""
    ratios = (missing, missing - 1.96 * error, missing + 1.96 * error)
    depths = [-math.expm1(-ratio) for ratio in ratios]
    return depths[0], depths[1], depths[2]


def _zero_place(sizes: FloatArray, ratios: FloatArray) -> float:
    places = []
    logs = np.log(sizes)
    for i in range(sizes.size - 1):
        if ratios[i] == 0.0 or ratios[i] * ratios[i + 1] < 0.0:
            share = float(ratios[i] / (ratios[i] - ratios[i + 1]))
            places.append(float(logs[i] + share * (logs[i + 1] - logs[i])))
    return math.exp(places[len(places) // 2])


def _steps(curve: SizeCurve, growth: float) -> tuple[float, float]:
    """Log ratios of neighbouring times of a triple, the growth over the bytes between taken off."""
    times = curve.times - growth * (curve.sizes - curve.sizes[1])
    return float(np.log(times[1] / times[0])), float(np.log(times[2] / times[1]))
