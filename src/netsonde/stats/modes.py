"""How many modes the samples have, and where.

Latencies often have several: a receiver that was awake and one that had to be woken, two paths, two
clock frequencies. One median for two modes says nothing about either.

The modes are the maxima of a kernel density of log(x) that stand out of the valleys beside them by
more than chance and that hold a share of the samples. Logarithms make the method independent of the
unit and give the heavy tail of one mode no maxima of its own.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, check_share, sorting_order

LEAST_DEPTH = 0.3
LEAST_Z = 3.5
_LEAST_SAMPLES = 30
_STEPS_PER_BANDWIDTH = 4
_LARGEST_GRID = 1 << 16
_KERNEL_REACH = 4.0
"""Bandwidths to either side, beyond which the kernel is cut off."""


@dataclass(frozen=True, slots=True)
class Mode:
    """``location``: where the density of log x is largest, unit of the samples; ``share``: 0..1."""

    location: float
    share: float


def find_modes(samples: npt.ArrayLike, *, minimum_share: float = 0.05) -> tuple[Mode, ...]:
    """The modes of positive samples, shape (n,), in rising order of location; at least one.

    A valley separates two modes if its density is below the lower peak by ``LEAST_DEPTH`` (a dent
    of less is no second mode in practice) and by ``LEAST_Z`` standard errors (3.5, because many
    pairs of maxima are compared), and if each side holds ``minimum_share`` of the samples (what is
    rarer is a tail, which quantiles show better). The kernel is never narrower than the usual
    distance of neighbouring values, so that a clock's ticks are no modes. Samples that are not all
    positive are treated without logarithms. Fewer than 30 samples are one mode.

    Sources: Silverman, Density Estimation 1986, sections 2.4 and 3.4 (kernel, bandwidth 0.9 s
    n^-1/5, here with s from the shortest quarter of the samples, which two modes do not widen) and
    equation 3.18 (standard error); merging the least persistent maximum first: Minnotte, Annals of
    Statistics 1997. Raises ``ValueError`` for no samples or shares outside (0, 1).
    """
    array = as_samples(samples, least=1)
    check_share("minimum share", minimum_share)
    ordered = array[sorting_order(samples)]
    if ordered.size < _LEAST_SAMPLES or ordered[0] == ordered[-1]:
        return (Mode(float(np.median(ordered)), 1.0),)
    logarithmic = bool(ordered[0] > 0.0)
    tick = _tick(ordered, np.asarray(samples).dtype)
    middle = float(ordered[ordered.size // 2])
    least_bandwidth = tick / middle if logarithmic else tick
    values = np.log(ordered) if logarithmic else ordered
    # What lies outside these cannot hold minimum_share, but could stretch the grid.
    outside = int(0.1 * minimum_share * ordered.size)
    values = values[outside : ordered.size - outside]
    bandwidth = max(least_bandwidth, 0.9 * _scale(values) * values.size**-0.2)
    grid, density, bandwidth = _density(values, bandwidth)
    # Variance of the density is density * R / (n h), R = 1 / (2 sqrt(pi)) for the normal kernel.
    unit = 1.0 / (2.0 * math.sqrt(math.pi) * values.size * bandwidth)
    peaks, valleys = _persistent_peaks(density, unit)
    return _modes(values, grid, density, peaks, valleys, minimum_share, logarithmic)


def _tick(ordered: FloatArray, dtype: np.dtype[np.generic]) -> float:
    """The usual step of the values; less where there are too few values to see the clock's tick."""
    gaps = np.diff(ordered)
    step = float(np.median(gaps[gaps > 0.0]))
    seen = min(step, 0.1 * float(ordered[-1] - ordered[0]))
    return max(1.0, seen) if np.issubdtype(dtype, np.integer) else seen


def _scale(values: FloatArray) -> float:
    """Standard deviation of the normal whose shortest quarter is as long as that of the values."""
    quarter = max(1, values.size // 4)
    shortest = float((values[quarter:] - values[:-quarter]).min())
    return shortest / 0.6373  # 2 * 0.31864: the middle quarter of the standard normal


def _kernel() -> FloatArray:
    """A normal density at the steps of the grid; its sum is 1."""
    reach = math.ceil(_KERNEL_REACH * _STEPS_PER_BANDWIDTH)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / _STEPS_PER_BANDWIDTH) ** 2)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _density(values: FloatArray, bandwidth: float) -> tuple[FloatArray, FloatArray, float]:
    low, high = float(values[0]), float(values[-1])
    least = _STEPS_PER_BANDWIDTH * (high - low) / _LARGEST_GRID
    bandwidth = max(bandwidth, least, np.finfo(np.float64).eps * max(abs(low), abs(high), 1e-300))
    step = bandwidth / _STEPS_PER_BANDWIDTH
    start = low - 4.0 * bandwidth
    size = math.ceil((high - start + 4.0 * bandwidth) / step) + 1
    place = ((values - start) * (1.0 / step) + 0.5).astype(np.intp)
    counts = np.bincount(place, minlength=size).astype(np.float64)
    smooth = np.convolve(counts, _kernel(), mode="same")
    grid = start + step * np.arange(counts.size, dtype=np.float64)
    return grid, np.asarray(smooth / (values.size * step), dtype=np.float64), bandwidth


def _persistent_peaks(density: FloatArray, unit: float) -> tuple[list[int], list[int]]:
    """Indices of the maxima that remain, and of the valleys between them."""
    inner = density[1:-1]
    maxima = np.flatnonzero((inner > density[:-2]) & (inner >= density[2:])) + 1
    # A peak too low to stand out of an empty valley cannot stand out of any.
    peaks = [int(p) for p in maxima if density[p] > LEAST_Z**2 * unit]
    peaks = peaks or [int(np.argmax(density))]
    valleys = [a + int(np.argmin(density[a:b])) for a, b in pairwise(peaks)]
    while valleys:
        tops, bottom = density[peaks], density[valleys]
        lower = np.minimum(tops[:-1], tops[1:])
        z = (lower - bottom) / np.sqrt((lower + bottom) * unit)
        z[1.0 - bottom / lower < LEAST_DEPTH] = -1.0
        weakest = int(np.argmin(z))
        if z[weakest] >= LEAST_Z:
            break
        _merge(density, peaks, valleys, weakest)
    return peaks, valleys


def _merge(density: FloatArray, peaks: list[int], valleys: list[int], valley: int) -> None:
    """Forgets a valley and the lower of the peaks beside it."""
    lower = valley if density[peaks[valley]] < density[peaks[valley + 1]] else valley + 1
    del peaks[lower]
    del valleys[valley]


def _modes(
    values: FloatArray,
    grid: FloatArray,
    density: FloatArray,
    peaks: list[int],
    valleys: list[int],
    minimum_share: float,
    logarithmic: bool,
) -> tuple[Mode, ...]:
    while True:
        cuts = np.searchsorted(values, grid[valleys])
        shares = np.diff(np.r_[0, cuts, values.size]) / values.size
        smallest = int(np.argmin(shares))
        if not valleys or shares[smallest] >= minimum_share:
            break
        beside = [v for v in (smallest - 1, smallest) if 0 <= v < len(valleys)]
        shallow = max(beside, key=lambda v: float(density[valleys[v]]))
        del peaks[smallest]
        del valleys[shallow]
    places = np.exp(grid[peaks]) if logarithmic else grid[peaks]
    return tuple(Mode(float(p), float(s)) for p, s in zip(places, shares, strict=True))
